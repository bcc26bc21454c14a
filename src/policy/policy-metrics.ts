/**
 * What is measured of each policy, from its status: its collectors by where they stand, and its state with the reason, for alerts.
 *
 * Invariant: of each policy there is one series of its state, and none of a policy that is gone. Reasons are those of conditions, of
 * which there are few (`api/conditions.ts`).
 */
import { findCondition } from '../api/conditions.ts';
import type { Condition } from '../api/generated/collector-version-policy.ts';
import type { CollectorVersionPolicy } from '../api/kinds.ts';
import type { Gauge, Labels, Metrics } from '../base/metrics.ts';
import type { ResourceKey } from '../host/host.ts';

const standings = ['updated', 'inProgress', 'pending', 'failed', 'offline', 'newer', 'skipped', 'foreign'] as const;

export class PolicyMetrics {
  readonly #collectors: Gauge;
  readonly #states: Gauge;
  /** The labels of the series of each policy's state, by `namespace/name`. */
  readonly #shown = new Map<string, Labels>();

  constructor(metrics: Metrics) {
    this.#collectors = metrics.gauge('logfleet_policy_collectors', 'Collectors of a policy by where they stand.', [
      'namespace',
      'policy',
      'state',
    ]);
    this.#states = metrics.gauge(
      'logfleet_policy_state',
      '1 for the state of a policy (Ready, Reconciling, Stalled, NotReady, Unknown) with the reason of its condition Ready.',
      ['namespace', 'policy', 'state', 'reason'],
    );
  }

  /** Nothing changes where the policy has no status yet. */
  measure({ metadata: { namespace, name }, status }: CollectorVersionPolicy): void {
    const policy = { namespace, policy: name };
    const counts = status?.collectors;
    if (counts) for (const state of standings) this.#collectors.set({ ...policy, state }, counts[state]);
    const ready = findCondition(status?.conditions, 'Ready');
    if (!ready) return;
    this.#show({ namespace, name }, { ...policy, state: stateOf(ready, status?.conditions), reason: ready.reason });
  }

  /** Forgets the series of a policy that is gone. */
  forget({ namespace, name }: ResourceKey): void {
    for (const state of standings) this.#collectors.remove({ namespace, policy: name, state });
    this.#show({ namespace, name }, undefined);
  }

  #show({ namespace, name }: ResourceKey, labels: Labels | undefined): void {
    const key = `${namespace}/${name}`;
    const before = this.#shown.get(key);
    const isSame = before?.['state'] === labels?.['state'] && before?.['reason'] === labels?.['reason'];
    if (before && !isSame) this.#states.remove(before);
    if (!labels) {
      this.#shown.delete(key);
      return;
    }
    this.#shown.set(key, labels);
    this.#states.set(labels, 1);
  }
}

function stateOf(ready: Condition, conditions: readonly Condition[] | undefined): string {
  const holds = (type: 'Stalled' | 'Reconciling') => findCondition(conditions, type)?.status === 'True';
  if (holds('Stalled')) return 'Stalled';
  if (holds('Reconciling')) return 'Reconciling';
  return { True: 'Ready', False: 'NotReady', Unknown: 'Unknown' }[ready.status];
}

/** What is measured of each policy, from its status: its collectors by where they stand, and its state with the reason, for alerts. */
import type { CollectorVersionPolicy } from '../api/kinds.ts';
import type { Gauge, Metrics } from '../base/metrics.ts';
import { StateSeries } from '../controller/state-series.ts';
import type { ResourceKey } from '../host/host.ts';

const standings = ['updated', 'inProgress', 'pending', 'failed', 'offline', 'newer', 'skipped', 'foreign'] as const;

export class PolicyMetrics {
  readonly #collectors: Gauge;
  readonly #states: StateSeries;
  /** All that have series, by `namespace/name`. */
  readonly #shown = new Map<string, ResourceKey>();

  constructor(metrics: Metrics) {
    this.#collectors = metrics.gauge('logfleet_policy_collectors', 'Collectors of a policy by where they stand.', [
      'namespace',
      'policy',
      'state',
    ]);
    const states = metrics.gauge(
      'logfleet_policy_state',
      '1 for the state of a policy (Ready, Reconciling, Stalled, NotReady, Unknown) with the reason of its condition Ready.',
      ['namespace', 'policy', 'state', 'reason'],
    );
    this.#states = new StateSeries(states, 'policy');
  }

  /** Nothing changes where the policy has no status yet. */
  measure({ metadata: { namespace, name }, status }: CollectorVersionPolicy): void {
    const policy = { namespace, policy: name };
    this.#shown.set(`${namespace}/${name}`, { namespace, name });
    const counts = status?.collectors;
    if (counts) for (const state of standings) this.#collectors.set({ ...policy, state }, counts[state]);
    this.#states.measure({ namespace, name }, status?.conditions);
  }

  /** What another process leads from now on it measures itself: the same series from two would be two alerts, and ours would stand still. */
  clear(): void {
    for (const key of [...this.#shown.values()]) this.forget(key);
  }

  /** Forgets the series of a policy that is gone. */
  forget(key: ResourceKey): void {
    const { namespace, name } = key;
    for (const state of standings) this.#collectors.remove({ namespace, policy: name, state });
    this.#states.forget(key);
    this.#shown.delete(`${key.namespace}/${key.name}`);
  }
}

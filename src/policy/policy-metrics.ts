/** What is measured of policies, from their statuses: states with their reasons, for alerts; the collectors of each by where they stand (C3). */
import type { CollectorVersionPolicy } from '../api/kinds.ts';
import type { Gauge, Metrics } from '../base/metrics.ts';
import { StateSeries } from '../controller/state-series.ts';
import type { ResourceKey } from '../host/host.ts';

const standings = ['updated', 'inProgress', 'pending', 'failed', 'offline', 'newer', 'skipped', 'foreign'] as const;

export class PolicyMetrics {
  readonly #collectors: Gauge;
  readonly #states: StateSeries;

  constructor(metrics: Metrics) {
    this.#collectors = metrics.gauge('logfleet_policy_collectors', 'Collectors of a policy by where they stand.', [
      'namespace',
      'policy',
      'state',
    ]);
    const onHidden = (key: ResourceKey) => this.#hide(key);
    this.#states = new StateSeries({ metrics, kind: 'policy', plural: 'policies', onHidden });
  }

  /** Nothing changes where the policy has no status yet. */
  measure({ metadata: { namespace, name }, status }: CollectorVersionPolicy): void {
    const isShown = this.#states.measure({ namespace, name }, status?.conditions);
    const counts = status?.collectors;
    if (!isShown || !counts) return;
    const policy = { namespace, policy: name };
    for (const state of standings) this.#collectors.set({ ...policy, state }, counts[state]);
  }

  /** Forgets all of them, since another process leads and measures them. The same series from two processes would be two alerts. */
  clear(): void {
    this.#states.clear();
  }

  /** Forgets a policy that is gone. */
  forget(key: ResourceKey): void {
    this.#states.forget(key);
  }

  #hide({ namespace, name }: ResourceKey): void {
    for (const state of standings) this.#collectors.remove({ namespace, policy: name, state });
  }
}

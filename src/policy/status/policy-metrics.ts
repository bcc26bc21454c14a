/** Metrics of policies, computed from their statuses: state and reason for alerts, and number of collectors by state (C3). */
import type { CollectorVersionPolicy } from '../../api/kinds.ts';
import type { Gauge, Metrics } from '../../base/metrics.ts';
import { StateSeries } from '../../controller/state-series.ts';
import type { ResourceKey } from '../../host/host.ts';

const states = ['updated', 'inProgress', 'pending', 'failed', 'offline', 'newer', 'skipped', 'foreign'] as const;

export class PolicyMetrics {
  readonly #collectors: Gauge;
  readonly #quiet: Gauge;
  readonly #states: StateSeries;

  constructor(metrics: Metrics) {
    this.#collectors = metrics.gauge('logfleet_policy_collectors', 'Collectors of a policy by where they stand.', [
      'namespace',
      'policy',
      'state',
    ]);
    this.#quiet = metrics.gauge(
      'logfleet_policy_quiet_collectors',
      'Number of collectors that send too few messages since their upgrade, in the stages of policies with a message analysis.',
      ['namespace', 'policy'],
    );
    const onHidden = (key: ResourceKey) => this.#hide(key);
    this.#states = new StateSeries({ metrics, kind: 'policy', plural: 'policies', onHidden });
  }

  /** Updates the metrics of a policy. Changes nothing while the policy has no status. */
  measure({ metadata: { namespace, name }, status }: CollectorVersionPolicy): void {
    const isShown = this.#states.measure({ namespace, name }, status?.conditions);
    const counts = status?.collectors;
    if (!isShown || !counts) return;
    const policy = { namespace, policy: name };
    for (const state of states) this.#collectors.set({ ...policy, state }, counts[state]);
    const analyses = (status.stages ?? []).flatMap(({ analysis }) => analysis ?? []);
    if (analyses.length === 0) this.#quiet.remove(policy);
    else
      this.#quiet.set(
        policy,
        analyses.reduce((sum, { quiet = 0 }) => sum + quiet, 0),
      );
  }

  /** Removes the metrics of all policies when another process leads and reports them, so that no alert fires twice. */
  clear(): void {
    this.#states.clear();
  }

  /** Removes the metrics of a deleted policy. */
  forget(key: ResourceKey): void {
    this.#states.forget(key);
  }

  #hide({ namespace, name }: ResourceKey): void {
    for (const state of states) this.#collectors.remove({ namespace, policy: name, state });
    this.#quiet.remove({ namespace, policy: name });
  }
}

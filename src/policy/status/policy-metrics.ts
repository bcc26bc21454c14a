/** Metrics of policies, computed from their statuses: state and reason, current stage, and number of collectors by state (C3). */
import type { CollectorVersionPolicyStatus, StageStatus } from '../../api/generated/collector-version-policy.ts';
import type { CollectorVersionPolicy } from '../../api/kinds.ts';
import { keyText } from '../../base/key-text.ts';
import type { Gauge, Labels, Metrics } from '../../base/metrics.ts';
import { StateSeries } from '../../controller/state-series.ts';
import type { ResourceKey } from '../../host/host.ts';

const states = ['updated', 'inProgress', 'pending', 'failed', 'offline', 'newer', 'skipped', 'foreign'] as const;

export class PolicyMetrics {
  readonly #collectors: Gauge;
  readonly #quiet: Gauge;
  readonly #rollout: Gauge;
  /** Labels of the series `logfleet_policy_rollout_state` of each policy, by `namespace/name`. */
  readonly #rollouts = new Map<string, Labels>();
  readonly #states: StateSeries;

  constructor(metrics: Metrics) {
    this.#collectors = metrics.gauge(
      'logfleet_policy_collectors',
      'Number of collectors of a policy, by state as in status.collectors.',
      ['namespace', 'policy', 'state'],
    );
    this.#quiet = metrics.gauge(
      'logfleet_policy_quiet_collectors',
      'Number of collectors that send too few messages since their upgrade. Absent without a message analysis.',
      ['namespace', 'policy'],
    );
    this.#rollout = metrics.gauge(
      'logfleet_policy_rollout_state',
      '1 while a policy has a rollout. The labels show its current stage, empty without stages, and the state of the stage as in status.stages.',
      ['namespace', 'policy', 'stage', 'state'],
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
    this.#showRollout({ namespace, name }, rolloutState(status));
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
    this.#showRollout({ namespace, name }, undefined);
  }

  #showRollout({ namespace, name }: ResourceKey, state: ShownRollout | undefined): void {
    const key = keyText({ namespace, name });
    const before = this.#rollouts.get(key);
    if (before) this.#rollout.remove(before);
    this.#rollouts.delete(key);
    if (!state) return;
    const labels = { namespace, policy: name, ...state };
    this.#rollouts.set(key, labels);
    this.#rollout.set(labels, 1);
  }
}

/** Current stage of a rollout, empty without stages, and the state of this stage. */
interface ShownRollout {
  readonly stage: string;
  readonly state: StageStatus['state'];
}

function rolloutState({ rollout, stages = [] }: CollectorVersionPolicyStatus): ShownRollout | undefined {
  if (!rollout) return undefined;
  const stage = stages.find(({ name }) => name === rollout.stage);
  const state = rollout.stopped ? 'Stopped' : (stage?.state ?? 'Progressing');
  return { stage: rollout.stage ?? '', state };
}

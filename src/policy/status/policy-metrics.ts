/** Metrics of policies: state and reason, current stage, and number of collectors by state (C3). */
import { findCondition, reasons } from '../../api/conditions.ts';
import type { CollectorVersionPolicyStatus } from '../../api/generated/collector-version-policy.ts';
import type { CollectorVersionPolicy } from '../../api/kinds.ts';
import type { Metrics, Sample } from '../../base/metrics.ts';
import { measureStatuses, type StatusFigure } from '../../controller/status-metrics.ts';

const states = ['updated', 'inProgress', 'pending', 'failed', 'offline', 'newer', 'skipped', 'foreign'] as const;

const figures: readonly StatusFigure<CollectorVersionPolicy>[] = [
  [
    'logfleet_policy_collectors',
    "Number of a policy's collectors in each state. The states are those in status.collectors.",
    ({ collectors }) => collectors && states.map((state) => [{ state }, collectors[state]] as const),
    ['state'],
  ],
  [
    'logfleet_policy_quiet_collectors',
    'Number of collectors that have sent too few messages since their upgrade. Absent if there is no message analysis.',
    quietCollectors,
  ],
  [
    'logfleet_policy_rollout_state',
    'Always 1, for each policy that has a rollout. The labels show the current stage (empty if the policy has no stages) and the state of that stage, as in status.stages. Without stages, the state is Progressing, Failed or Stopped.',
    rolloutState,
    ['stage', 'state'],
  ],
];

/**
 * Registers the metrics of policies.
 * @param policies function that returns the policies to measure, or none while another process is the leader
 */
export function measurePolicies(metrics: Metrics, policies: () => Iterable<CollectorVersionPolicy>): void {
  measureStatuses({ metrics, kind: 'policy', plural: 'policies', figures, resources: policies });
}

function quietCollectors({ stages = [] }: CollectorVersionPolicyStatus): number | undefined {
  const analyses = stages.flatMap(({ analysis }) => analysis ?? []);
  return analyses.length === 0 ? undefined : analyses.reduce((sum, { quiet = 0 }) => sum + quiet, 0);
}

function rolloutState({ rollout, stages = [], conditions }: CollectorVersionPolicyStatus): readonly Sample[] {
  if (!rollout) return [];
  const stage = stages.find(({ name }) => name === rollout.stage);
  const hasFailed = findCondition(conditions, 'Ready')?.reason === reasons.collectorsFailed;
  const state = rollout.stopped ? 'Stopped' : (stage?.state ?? (hasFailed ? 'Failed' : 'Progressing'));
  return [[{ stage: rollout.stage ?? '', state }, 1]];
}

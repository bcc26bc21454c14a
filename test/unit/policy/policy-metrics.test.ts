/** Tests a policy's metrics: its collector counts and its state. */
import { expect, test } from 'vitest';
import type {
  CollectorVersionPolicyStatus,
  Condition,
  StageStatus,
} from '../../../src/api/generated/collector-version-policy.ts';
import { PrometheusMetrics } from '../../../src/base/prometheus-metrics.ts';
import { measurePolicies } from '../../../src/policy/status/policy-metrics.ts';
import { policy } from './builders.ts';

const collectors = {
  ...{ matched: 3, updated: 2, inProgress: 0, pending: 0, failed: 1 },
  ...{ offline: 0, newer: 0, skipped: 0, foreign: 0 },
};

function condition(type: string, status: Condition['status'], reason: string): Condition {
  return { type, status, reason, message: 'x', lastTransitionTime: '2026-11-01T00:00:00Z' };
}

function measured() {
  const registry = new PrometheusMetrics();
  let status: CollectorVersionPolicyStatus | undefined;
  let exists = true;
  measurePolicies(registry, () => (exists ? [{ ...policy(), ...(status && { status }) }] : []));
  const { namespace, name } = policy().metadata;
  return {
    measure: (...conditions: Condition[]) => {
      status = { collectors, conditions };
    },
    show: (shown: CollectorVersionPolicyStatus) => {
      status = { collectors, ...shown };
      return registry.render();
    },
    forget: () => {
      exists = false;
    },
    series: async (metric: string) => {
      const lines = (await registry.render()).split('\n').filter((line) => line.startsWith(`${metric}{`));
      return lines.map((line) => line.replace(`namespace="${namespace}",policy="${name}",`, ''));
    },
  };
}

test.each<[string, Condition[], string]>([
  ['ready', [condition('Ready', 'True', 'AllUpdated')], 'state="Ready",reason="AllUpdated"'],
  [
    'at work',
    [condition('Ready', 'False', 'Soaking'), condition('Reconciling', 'True', 'Soaking')],
    'state="Reconciling",reason="Soaking"',
  ],
  [
    'stalled',
    [condition('Ready', 'False', 'RolloutStopped'), condition('Stalled', 'True', 'RolloutStopped')],
    'state="Stalled",reason="RolloutStopped"',
  ],
  ['observing', [condition('Ready', 'False', 'Observing')], 'state="NotReady",reason="Observing"'],
  ['paused', [condition('Ready', 'Unknown', 'Paused')], 'state="Unknown",reason="Paused"'],
])('a policy that is %s has one series with this state', async (_, conditions, labels) => {
  const { measure, series } = measured();
  measure(condition('Ready', 'False', 'Progressing'), condition('Reconciling', 'True', 'Progressing'));
  await series('logfleet_policy_state');
  measure(...conditions);
  expect(await series('logfleet_policy_state')).toEqual([`logfleet_policy_state{${labels}} 1`]);
});

test('collectors are counted by state, and all series are removed with the policy', async () => {
  const { measure, forget, series } = measured();
  measure(condition('Ready', 'True', 'AllUpdated'));
  expect(await series('logfleet_policy_collectors')).toContain('logfleet_policy_collectors{state="failed"} 1');
  expect(await series('logfleet_policy_collectors')).toHaveLength(8);
  forget();
  expect(await series('logfleet_policy_collectors')).toEqual([]);
  expect(await series('logfleet_policy_state')).toEqual([]);
});

test('the current stage of a rollout has one series with its state, which ends with the rollout', async () => {
  const { show } = measured();
  const conditions = [condition('Ready', 'False', 'RollingOut')];
  const stages: StageStatus[] = [{ name: 'canary', members: 2, updated: 2, failed: 0, state: 'Soaking' }];
  const rollout = { id: '1-19.500-1', startTime: '2026-11-01T00:00:00Z', stage: 'canary' };
  const stopped = { reason: 'RolloutStopped', time: '2026-11-01T00:00:00Z', message: 'x' } as const;
  const states = async (status: object) => {
    const text = await show({ conditions, ...status });
    return [...text.matchAll(/^logfleet_policy_rollout_state\{.*(stage=.*)\} 1$/gm)].map(([, labels]) => labels);
  };
  expect(await states({})).toEqual([]);
  expect(await states({ rollout, stages })).toEqual(['stage="canary",state="Soaking"']);
  expect(await states({ rollout: { ...rollout, stopped }, stages })).toEqual(['stage="canary",state="Stopped"']);
  const unstaged = { id: '2-19.501-1', startTime: rollout.startTime };
  expect(await states({ rollout: unstaged })).toEqual(['stage="",state="Progressing"']);
  const failed = [condition('Ready', 'False', 'CollectorsFailed')];
  expect(await states({ rollout: unstaged, conditions: failed })).toEqual(['stage="",state="Failed"']);
  expect(await states({})).toEqual([]);
});

test('a policy without a status has no series', async () => {
  const { series } = measured();
  expect([...(await series('logfleet_policy_collectors')), ...(await series('logfleet_policy_state'))]).toEqual([]);
});

test('collectors that stopped sending logs are counted while the policy has a message analysis', async () => {
  const { show } = measured();
  const conditions = [condition('Ready', 'True', 'AllUpdated')];
  const stage = (name: string, quiet?: number): StageStatus => ({
    ...{ name, members: 20, updated: 20, failed: 0, state: 'Completed' },
    ...(quiet !== undefined && { analysis: { state: quiet > 0 ? 'Failed' : 'Passed', judged: 20, quiet } }),
  });
  const measure = (...stages: StageStatus[]) => show({ conditions, stages });
  const series = /^logfleet_policy_quiet_collectors\{.*\} (\d+)$/m;
  expect(await measure(stage('canary'))).not.toMatch(series);
  expect(series.exec(await measure(stage('canary', 6), stage('tenth', 0), stage('rest')))?.[1]).toBe('6');
  expect(await measure(stage('canary'))).not.toMatch(series);
});

/** Tests how `logfleet plan` predicts rollouts with several policies, user actions and failures. */
import { describe, expect, test } from 'vitest';
import type { Scenario } from '../../../simulator/scenario/scenario.ts';
import { annotations } from '../../../src/api/annotations.ts';
import { hourMs, minuteMs } from '../../../src/base/time-units.ts';
import { renderPlans } from '../../../src/cli/plan/plan-view.ts';
import type { Outlook, Planned } from '../../../src/cli/plan/planner.ts';
import { countUpgrades, type RolloutPlan } from '../../../src/policy/plan/rollout-plan.ts';
import { type PlanInWorld, planInWorld } from '../../support/planned-world.ts';
import { policiesPath, World } from '../../support/world.ts';

const [before, target, beyond] = ['19.100-1', '19.200-1', '19.300-1'] as const;

function fleet(scenario: Partial<Scenario> = {}, spec: object = {}): World {
  const world = new World({
    scenario: {
      builds: ['19.50-1', before, target, beyond],
      groups: { web: { count: 20, name: 'web-##', version: before } },
      upgrade: { duration: '2m' },
      ...scenario,
    },
  });
  world.addSecret();
  world.addPolicy('fleet', { target: { version: target }, offlinePolicy: 'Skip', ...spec });
  return world;
}

async function plan(world: World, options: Partial<PlanInWorld> = {}): Promise<Planned> {
  return planInWorld(world, { wanted: ['fleet'], ...options });
}

async function rolloutPlan(world: World, options: Partial<PlanInWorld> = {}): Promise<RolloutPlan> {
  const [outlook] = (await plan(world, options)).outlooks;
  if (outlook?.kind !== 'plan') throw new Error(`no plan: ${JSON.stringify(outlook)}`);
  return outlook.plan;
}

async function problem(world: World, options: Partial<PlanInWorld> = {}): Promise<Outlook | undefined> {
  return (await plan(world, options)).outlooks[0];
}

function leftOut({ leftOut: groups }: RolloutPlan): readonly unknown[] {
  return groups.map(({ reason, policy, collectors }) => [reason, policy, collectors.length]);
}

describe('a plan', () => {
  test('changes nothing in the service or the cluster', async () => {
    const world = fleet();
    const resources = JSON.stringify(world.policy('fleet'));
    expect(countUpgrades(await rolloutPlan(world))).toBe(20);
    const methods = new Set(world.journal.map(({ method }) => method));
    expect([...methods]).toEqual(['GET']);
    expect(world.snapshot().tasks).toEqual([]);
    expect(JSON.stringify(world.policy('fleet'))).toBe(resources);
  });

  test('lists the collectors that are left out, with reasons', async () => {
    const world = fleet({
      list: { hosted: true },
      groups: {
        web: { count: 3, version: before },
        there: { count: 2, version: target },
        newer: { count: 4, version: beyond },
        off: { count: 5, version: before, running: false },
        hosted: { count: 1, collectorType: 'Hosted' },
      },
    });
    // Waits for more than half an hour, so that collectors without a heartbeat count as offline.
    await world.clock.advance(hourMs);
    const found = await rolloutPlan(world);
    expect(found).toMatchObject({ matched: 15, begins: true, target });
    expect(found.stages).toMatchObject([{ name: undefined, members: 5, counts: { updated: 2 } }]);
    expect(countUpgrades(found)).toBe(3);
    expect(leftOut(found)).toEqual([
      ['Offline', undefined, 5],
      ['Newer', undefined, 4],
      ['HostedCollector', undefined, 1],
    ]);
  });

  test('leaves out collectors that belong to other policies', async () => {
    const world = fleet({}, { priority: 1 });
    world.addPolicy('stronger', { target: { version: target }, priority: 2, selector: { matchNames: ['web-0*'] } });
    world.addPolicy('weaker', { target: { version: target }, selector: { matchNames: ['web-1*'] } });
    world.addPolicy('observer', { target: { version: target }, priority: 9, mode: 'Observe' });
    const found = await rolloutPlan(world, { beside: ['stronger', 'weaker', 'observer'] });
    const [group] = leftOut(found) as [unknown];
    expect(group).toEqual(['Foreign', 'logging/stronger', 20 - countUpgrades(found)]);
    expect(countUpgrades(found)).toBeGreaterThan(0);
    expect(countUpgrades(await rolloutPlan(world))).toBe(20);
  });

  test('shows each of several policies with its own collectors', async () => {
    const world = fleet({}, { priority: 1, selector: { matchNames: ['web-1*'] } });
    world.addPolicy('rest', { target: { version: target } });
    const { outlooks } = await plan(world, { wanted: ['fleet', 'rest'] });
    const counts = outlooks.map((outlook) => (outlook.kind === 'plan' ? countUpgrades(outlook.plan) : -1));
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(20);
    expect(Math.min(...counts)).toBeGreaterThan(0);
  });

  test('reports policies that cannot claim collectors, and continues', async () => {
    const world = fleet();
    world.addPolicy('broken', { target: { version: target }, priority: 2, credentialsSecretRef: { name: 'none' } });
    const { outlooks, others } = await plan(world, { beside: ['broken'] });
    expect(outlooks).toMatchObject([{ kind: 'plan' }]);
    expect(others).toMatchObject([{ reason: 'SecretNotFound', resource: { metadata: { name: 'broken' } } }]);
  });

  test.each([
    ['spec.paused', { paused: true }, {}],
    ['spec.mode', { mode: 'Observe' }, {}],
    ['everything', {}, { settings: { pausedBy: 'everything' } }],
  ])('shows the plan and its obstacle: %s', async (by, spec, options) => {
    const found = await rolloutPlan(fleet({}, spec), options);
    expect(countUpgrades(found)).toBe(20);
    expect(found.forecast?.totalMs).toBeGreaterThan(2 * minuteMs);
    expect(found.hindrances).toEqual([expect.stringContaining(by)]);
  });

  test('shows a rollout that is complete', async () => {
    const found = await rolloutPlan(fleet({ groups: { there: { count: 4, version: target } } }));
    expect(countUpgrades(found)).toBe(0);
    expect(found).toMatchObject({ forecast: { totalMs: 0, requests: { posts: 0 } }, hindrances: [] });
  });

  test('reports a wait with an unknown end', async () => {
    const scenario = {
      groups: { web: { count: 4, version: before }, off: { count: 1, version: before, running: false } },
    };
    const world = fleet(scenario, { offlinePolicy: 'Wait' });
    await world.clock.advance(hourMs);
    const found = await rolloutPlan(world);
    expect(found.forecast).toMatchObject({ totalMs: undefined, waitsForEver: { kind: 'online', collectors: 1 } });
    expect(found.forecast?.requests.posts).toBe(4);
  });

  test('uses the given upgrade duration, or else an assumption', async () => {
    const world = fleet();
    const [assumed, given] = [await rolloutPlan(world), await rolloutPlan(world, { upgradeMs: 20 * minuteMs })];
    expect(assumed.upgrade).toEqual({ ms: 3 * minuteMs, source: 'assumed' });
    expect(given.upgrade).toEqual({ ms: 20 * minuteMs, source: 'given' });
    expect((given.forecast?.totalMs ?? 0) - (assumed.forecast?.totalMs ?? 0)).toBeGreaterThan(16 * minuteMs);
  });

  test('respects the rate in the Secret', async () => {
    const world = fleet();
    world.addSecret('slow', { requestsPerSecond: '0.5' });
    world.addPolicy('slow', { target: { version: target }, credentialsSecretRef: { name: 'slow' } });
    const [usual, slow] = [await rolloutPlan(world), await rolloutPlan(world, { wanted: ['slow'] })];
    expect([usual.requestsPerSecond, slow.requestsPerSecond]).toEqual([4, 0.5]);
    expect(slow.forecast?.totalMs).toBeGreaterThan((usual.forecast?.totalMs ?? 0) + 20_000);
  });
});

describe('a current rollout', () => {
  const stages = [
    { name: 'canary', size: 2, soakDuration: '0s' },
    { name: 'rest', soakDuration: '0s', approval: 'Required' },
  ];
  const staged = { strategy: { maxInProgress: 5, order: 'Name', stages } };

  async function until(world: World, reason: string): Promise<void> {
    const replica = world.start();
    expect(await world.until(() => world.ready('fleet')?.reason === reason, 10 * hourMs)).toBe(true);
    replica.kill();
  }

  test('keeps its stages and approvals', async () => {
    const world = fleet({}, staged);
    await until(world, 'AwaitingApproval');
    const found = await rolloutPlan(world);
    expect(found).toMatchObject({ begins: false, rolloutId: world.policy('fleet')?.status?.rollout?.id });
    expect(found.stages).toMatchObject([
      { name: 'canary', state: 'ended', counts: { updated: 2 }, approval: 'none' },
      { name: 'rest', state: 'pending', approval: 'needed', afterApproval: true },
    ]);
    const value = `${found.rolloutId}/rest`;
    world.api.patch(`${policiesPath}/fleet`, { metadata: { annotations: { [annotations.approve]: value } } });
    expect((await rolloutPlan(world)).stages[1]).toMatchObject({ approval: 'given', afterApproval: false });
  });

  test('has no estimated end while a failure needs a user', async () => {
    const outcomes = [{ share: 1, end: 'fail', message: 'disk full' }] as const;
    const strategy = { ...staged.strategy, stages: [stages[0], { name: 'rest', soakDuration: '0s' }] };
    const once = { retryPolicy: { limit: 0, backoff: { duration: '1m', factor: 1, cap: '1m' } } };
    const world = fleet({ upgrade: { duration: '2m', outcomes } }, { strategy, ...once });
    await until(world, 'CollectorsFailed');
    const { forecast } = await rolloutPlan(world);
    expect(forecast).toMatchObject({ totalMs: undefined, waitsForEver: { kind: 'failures', failed: 2 } });
  });

  test('is replaced by a rollout to another target', async () => {
    const world = fleet({}, staged);
    await until(world, 'AwaitingApproval');
    world.api.patch(`${policiesPath}/fleet`, { spec: { target: { version: beyond } } });
    const found = await rolloutPlan(world);
    expect(found).toMatchObject({ begins: true, target: beyond });
    expect(found.stages.map(({ state, upgrades }) => [state, upgrades.length])).toEqual([
      ['pending', 2],
      ['pending', 18],
    ]);
  });

  test('upgrades nothing during a rollback, and reports it', async () => {
    const outcomes = [{ share: 0.5, end: 'fail', message: 'disk full' }] as const;
    const once = { retryPolicy: { limit: 0, backoff: { duration: '1m', factor: 1, cap: '1m' } } };
    const failurePolicy = { maxFailures: 2, minSamples: 1, action: 'Rollback' };
    const strategy = { maxInProgress: 4, order: 'Name' };
    const world = fleet({ upgrade: { duration: '2m', outcomes } }, { strategy, failurePolicy, ...once });
    await until(world, 'RollingBack');
    const found = await rolloutPlan(world);
    expect(countUpgrades(found)).toBe(0);
    expect(found.hindrances).toEqual([expect.stringMatching(/failures in the rollout.* rolled back/)]);
  });

  test.each(['Pause', 'Rollback'])('starts nothing after a stop with %s, and reports it', async (action) => {
    const outcomes = [{ share: 1, end: 'fail', message: 'disk full' }] as const;
    const world = fleet(
      { upgrade: { duration: '2m', outcomes } },
      {
        failurePolicy: { maxFailures: 0, minSamples: 1, action },
        retryPolicy: { limit: 0, backoff: { duration: '1m', factor: 1, cap: '1m' } },
      },
    );
    await until(world, action === 'Pause' ? 'RolloutStopped' : 'RolledBack');
    const found = await rolloutPlan(world);
    expect(found.forecast).toBeUndefined();
    expect(found.hindrances).toEqual([expect.stringContaining('logfleet retry')]);
  });
});

describe('a problem', () => {
  test('with the target is reported immediately', async () => {
    expect(await problem(fleet({}, { target: { version: '19.999-1' } }))).toMatchObject({
      kind: 'problem',
      reason: 'VersionNotOffered',
      message: expect.stringContaining('19.999-1'),
    });
  });

  test('does not include builds that are too young', async () => {
    const world = fleet({}, { target: { channel: 'Latest', minAge: '24h' } });
    expect(await problem(world)).toMatchObject({ kind: 'waiting', nextBuild: { version: beyond } });
    expect(world.api.get(`${policiesPath}/fleet`)).not.toHaveProperty('status');
  });

  test('with the key is reported immediately, as in the condition', async () => {
    const world = fleet();
    world.addSecret('wrong', { accessKey: 'nonsense' });
    world.addPolicy('locked', { target: { version: target }, credentialsSecretRef: { name: 'wrong' } });
    const begunMs = world.clock.monotonic();
    expect(await problem(world, { wanted: ['locked'] })).toMatchObject({ kind: 'problem', reason: 'Unauthorized' });
    expect(world.clock.monotonic() - begunMs).toBeLessThan(10_000);
  });

  test('that might pass is retried for a limited time', async () => {
    const world = fleet();
    world.addSecret('elsewhere', { baseURL: 'https://nowhere.example.com/api' });
    world.addPolicy('lost', { target: { version: target }, credentialsSecretRef: { name: 'elsewhere' } });
    const begunMs = world.clock.monotonic();
    const troubles: number[] = [];
    const onTrouble = () => troubles.push(world.clock.monotonic() - begunMs);
    expect(await problem(world, { wanted: ['lost'], onTrouble })).toMatchObject({
      kind: 'problem',
      message: expect.stringContaining('nowhere.example.com'),
    });
    const tookMs = world.clock.monotonic() - begunMs;
    expect(tookMs).toBeGreaterThanOrEqual(30_000);
    expect(tookMs).toBeLessThan(60_000);
    expect(troubles[0]).toBeLessThan(2_000);
    expect(troubles.length).toBeGreaterThan(2);
  });

  test('that passes is not reported', async () => {
    const world = fleet({ faults: { down: { kind: 'status', status: 503 } } });
    world.clock.after(10_000, () => world.model.patch({ faults: { down: null } }, world.service.nowMs()));
    expect(countUpgrades(await rolloutPlan(world))).toBe(20);
  });

  test('that lasts is reported after the timeout', async () => {
    const world = fleet({ groups: { web: { count: 500, version: before } }, list: { maxLimit: 50 } });
    world.addSecret('slow', { requestsPerSecond: '0.01' });
    world.addPolicy('slow', { target: { version: target }, credentialsSecretRef: { name: 'slow' } });
    const found = await problem(world, { wanted: ['slow'], timeoutMs: 60_000 });
    expect(found).toMatchObject({ kind: 'problem', reason: 'TimedOut', message: expect.stringContaining('60 s') });
    expect(world.clock.monotonic()).toBeLessThan(70_000);
  });
});

test('shows a rollout as complete unless a late joiner is left', async () => {
  const world = fleet();
  world.start();
  const reported = async () => {
    const [outlook] = (await plan(world)).outlooks;
    const lines = renderPlans([outlook as Outlook], { wide: false, width: 100, colour: false });
    return lines.find((line) => line.startsWith('  Rollout:'));
  };
  await world.until(() => world.snapshot().tasks.length > 0, hourMs);
  expect(await reported()).toMatch(/^ {2}Rollout: +1-19\.200-1, which continues$/);
  expect(await world.until(() => world.ready('fleet')?.reason === 'AllUpdated', hourMs)).toBe(true);
  expect(await reported()).toMatch(/, which is complete$/);
  world.model.patch({ groups: { late: { count: 1, version: before } } }, world.service.nowMs());
  expect(await reported()).toMatch(/, which continues$/);
});

/** Tests faults that could damage collectors while no user watches, for example on a weekend. */
import { describe, expect, test } from 'vitest';
import { annotations } from '../../../src/api/annotations.ts';
import { hourMs } from '../../../src/base/time-units.ts';
import { before, canary, middle, rest, staged, target } from './staged-world.ts';

const fails = { outcomes: [{ share: 1, end: 'fail', message: 'disk full' }] } as const;

describe('a rollout that is complete (R5)', () => {
  test('is not rolled back if maxFailures is lowered afterwards', async () => {
    const { world, tasks, patch, untilReason } = staged({
      scenario: {
        groups: { web: { count: 10, version: before }, bad: { count: 2, version: before, upgrade: fails } },
      },
      stages: [],
      spec: {
        strategy: { maxInProgress: 5, order: 'Name' },
        failurePolicy: { maxFailures: 5, minSamples: 1, action: 'Rollback' },
      },
    });
    world.start();
    await untilReason('AllUpdated');
    patch({ spec: { failurePolicy: { maxFailures: 0 } } });
    await world.clock.advance(2 * hourMs);
    expect(world.ready('production')?.reason).toBe('AllUpdated');
    expect(tasks()).toHaveLength(12);
  });

  test('is stopped by failures of newly selected collectors, without a rollback of the others', async () => {
    const { world, tasks, at, patch, untilReason } = staged({
      scenario: {
        groups: { web: { count: 10, version: before }, bad: { count: 20, version: before, upgrade: fails } },
      },
      stages: [],
      spec: {
        selector: { matchNames: ['web-*'] },
        strategy: { maxInProgress: 2, order: 'Name' },
        failurePolicy: { maxFailures: 1, minSamples: 1, action: 'Rollback' },
      },
    });
    world.start();
    await untilReason('AllUpdated');
    patch({ spec: { selector: { matchNames: ['web-*', 'bad-*'] } } });
    expect(await untilReason('RolloutStopped')).toBe(true);
    await world.clock.advance(2 * hourMs);
    expect(tasks().length).toBeLessThanOrEqual(14);
    expect(at(target)).toBe(10);
  });
});

test('a stage that starts stops the rollout if too many of its collectors have failed before (R5)', async () => {
  const { world, status, at, patch, untilReason } = staged({
    scenario: {
      groups: { bad: { count: 2, version: before, upgrade: fails }, web: { count: 10, version: before } },
      upgrade: { duration: '2m' },
    },
    stages: [],
    spec: { strategy: { maxInProgress: 2, order: 'Name' }, retryPolicy: { limit: 0 } },
  });
  world.start();
  expect(await world.until(() => status()?.collectors?.failed === 2, hourMs)).toBe(true);
  patch({ spec: { strategy: { stages: [{ name: 'all', selector: {}, soakDuration: '0s', maxFailures: 1 }] } } });
  expect(await untilReason('RolloutStopped')).toBe(true);
  await world.clock.advance(2 * hourMs);
  expect(at(target)).toBeLessThanOrEqual(2);
});

describe('a rollout with nothing left to upgrade is complete (R2)', () => {
  /** Fails the first attempt of the collectors named `bad-*`. */
  const failsOnce = (action: string, stages: readonly object[], failurePolicy: object = { maxFailures: 0 }) =>
    staged({
      scenario: {
        groups: { web: { count: 10, version: before }, bad: { count: 1, version: before, upgrade: fails } },
        upgrade: { duration: '2m' },
      },
      stages,
      spec: {
        resyncInterval: '10m',
        retryPolicy: { limit: 20, backoff: { duration: '10m', factor: 1, cap: '10m' } },
        failurePolicy: { minSamples: 1, action, ...failurePolicy },
      },
    });
  const all = { name: 'all', soakDuration: '0s' };
  const empty = { name: 'empty', selector: { matchNames: ['other-*'] }, soakDuration: '0s' };

  test.each([
    ['after a retried failure with action Continue', 'Continue', [all], { maxFailures: 0 }, { action: 'Rollback' }],
    [
      'while its last stage has no collectors',
      'Rollback',
      [{ ...all, selector: {} }, empty],
      { maxFailures: 5 },
      { maxFailures: 0 },
    ],
  ])('%s, and a later edit of failurePolicy has no effect', async (_, action, stages, policy, edit) => {
    const { world, tasks, at, status, patch, untilReason } = failsOnce(action, stages, policy);
    world.start();
    expect(await world.until(() => tasks().some(({ status: code }) => code === 3), hourMs)).toBe(true);
    world.model.patch({ groups: { bad: { upgrade: null } } }, world.service.nowMs());
    expect(await untilReason('AllUpdated', 3 * hourMs)).toBe(true);
    expect(status()?.history).toMatchObject([{ outcome: 'Completed' }]);
    await world.clock.advance(24 * hourMs);
    patch({ spec: { failurePolicy: edit } });
    await world.clock.advance(2 * hourMs);
    expect(world.ready('production')?.reason).toBe('AllUpdated');
    expect(at(target)).toBe(11);
  });

  test('after its only failed collector was excluded with action Continue', async () => {
    const { world, at, status, patch, untilReason } = failsOnce('Continue', [all]);
    world.start();
    await world.until(() => (status()?.collectors?.updated ?? 0) === 10, hourMs);
    patch({ spec: { exclude: [{ matchNames: ['bad-*'] }] } });
    expect(await untilReason('AllUpdated', 3 * hourMs)).toBe(true);
    expect(status()?.history).toMatchObject([{ outcome: 'Completed' }]);
    patch({ spec: { failurePolicy: { action: 'Rollback' } } });
    await world.clock.advance(2 * hourMs);
    expect(at(target)).toBe(10);
  });

  test('while a stage that needs an approval has no collectors, and the approval is needed when they appear', async () => {
    const stages = [
      { ...canary, size: 10, maxFailures: 0 },
      { ...rest, approval: 'Required', maxFailures: 0 },
    ];
    const one = staged({ count: 10, stages, spec: { resyncInterval: '10m' } });
    const { world, tasks, status, annotate, untilReason } = one;
    world.start();
    expect(await untilReason('AllUpdated')).toBe(true);
    expect(status()?.history).toMatchObject([{ outcome: 'Completed' }]);
    world.model.patch({ groups: { late: { count: 5, version: before, upgrade: fails } } }, world.service.nowMs());
    expect(await untilReason('AwaitingApproval')).toBe(true);
    await world.clock.advance(5 * hourMs);
    expect(tasks()).toHaveLength(10);
    annotate(annotations.approve, `${status()?.rollout?.id}/rest`);
    // The stage starts after the rollout has completed, but its `maxFailures` still applies.
    expect(await untilReason('RolloutStopped')).toBe(true);
    await world.clock.advance(2 * hourMs);
    expect(one.at(target)).toBe(10);
  });
});

describe('a stage that starts after the completion (R5)', () => {
  async function soaking() {
    const one = staged({
      count: 3,
      stages: [
        { name: 'web', selector: { matchNames: ['web-*'] }, soakDuration: '0s', maxFailures: 0 },
        {
          name: 'late',
          selector: { matchNames: ['late-*', 'bad-*'] },
          soakDuration: '1h',
          maxFailures: 4,
          maxInProgress: 2,
        },
      ],
      spec: { resyncInterval: '10m' },
    });
    const { world, status, untilReason } = one;
    world.start();
    expect(await untilReason('AllUpdated')).toBe(true);
    expect(status()).not.toHaveProperty('rollout');
    const groups = { late: { count: 6, version: before }, bad: { count: 4, version: before, upgrade: fails } };
    world.model.patch({ groups }, world.service.nowMs());
    const hasEstimate = () => status()?.rollout?.estimatedCompletionTime !== undefined;
    expect(await world.until(hasEstimate, hourMs)).toBe(true);
    expect(await untilReason('Soaking')).toBe(true);
    return one;
  }

  test('is shown in the status while it soaks', async () => {
    const { status, annotate, untilReason } = await soaking();
    expect(status()?.rollout).toMatchObject({ id: `1-${target}`, stage: 'late' });
    annotate(annotations.abort, `${status()?.rollout?.id}`);
    expect(await untilReason('Aborted')).toBe(true);
  });

  test('ends with failures that its maxFailures tolerates', async () => {
    const { world, stage, untilReason } = await soaking();
    expect(await world.until(() => stage('late')?.state === 'Completed', 3 * hourMs)).toBe(true);
    expect(stage('late')).toMatchObject({ updated: 6, failed: 4 });
    expect(await untilReason('AllUpdated', hourMs)).toBe(true);
  });
});

describe('a rollout whose remaining collectors are offline is not complete (R2)', () => {
  const servers = { name: 'servers', selector: { matchNames: ['server-*'] }, soakDuration: '0s', maxFailures: 0 };

  /** Upgrades the servers while all laptops are offline, and then brings the laptops back online. */
  async function away(stage: object) {
    const half = { outcomes: [{ share: 0.5, end: 'fail', message: 'disk full' }] } as const;
    const laptop = { count: 20, version: before, running: false, upgrade: half };
    const one = staged({
      scenario: { groups: { server: { count: 3, version: before }, laptop }, upgrade: { duration: '2m' } },
      stages: [servers, { name: 'laptops', soakDuration: '0s', maxFailures: '10%', ...stage }],
      spec: { resyncInterval: '10m', failurePolicy: { minSamples: 50, action: 'Rollback' } },
    });
    one.world.start();
    expect(await one.world.until(() => one.at(target) === 3, hourMs)).toBe(true);
    await one.world.clock.advance(5 * hourMs);
    expect(one.status()?.history).toEqual([]);
    one.world.model.patch({ groups: { laptop: { running: true } } }, one.world.service.nowMs());
    return one;
  }

  test('and the stage that starts later can roll back the rollout', async () => {
    const { stage, untilReason } = await away({ selector: { matchNames: ['laptop-*'] } });
    expect(await untilReason('RolledBack', 3 * hourMs)).toBe(true);
    expect(stage('laptops')).toMatchObject({ state: 'Stopped' });
  });

  test('and the stage that starts later waits for its approval', async () => {
    const { status, untilReason } = await away({ approval: 'Required' });
    expect(await untilReason('AwaitingApproval')).toBe(true);
    expect(status()).toMatchObject({ history: [], rollout: { stage: 'laptops' } });
  });
});

describe('a canary whose collectors the service refuses (R1)', () => {
  test.each([
    ['collector.not.alive', '3s'],
    ['collector.not.alive', '6s'],
    ['collector.type.invalid', '4s'],
    ['collector.version.invalid', '4s'],
  ])('with %s until %s stops the rollout as inconclusive', async (code, until) => {
    const { world, tasks, stage, untilReason } = staged({
      scenario: {
        groups: { web: { count: 40, version: before } },
        upgrade: { duration: '2m', ...fails },
        faults: { lag: { kind: 'status', status: 400, code, operations: ['createTask'], until } },
      },
      stages: [{ ...canary, size: 2, maxFailures: 0 }, rest],
      spec: { offlinePolicy: 'Skip' },
    });
    world.start();
    expect(await untilReason('StageInconclusive', 4 * hourMs)).toBe(true);
    await world.clock.advance(hourMs);
    expect(tasks()).toHaveLength(0);
    expect(stage('canary')).toMatchObject({ state: 'Stopped', members: 2 });
  });
});

test.each([
  ['that soaks', 'Soaking', '12h', {}],
  ['that has ended', 'AwaitingApproval', '0s', { approval: 'Required' }],
])('a canary %s gets no more members when the fleet grows (R1, R4)', async (_, reason, soakDuration, approval) => {
  const { world, tasks, stage, untilReason } = staged({
    count: 100,
    stages: [
      { ...canary, size: '1%', soakDuration },
      { ...rest, ...approval },
    ],
    spec: { resyncInterval: '1m' },
  });
  world.start();
  expect(await untilReason(reason)).toBe(true);
  world.model.patch({ groups: { more: { count: 150, version: target } } }, world.service.nowMs());
  await world.clock.advance(hourMs);
  expect(stage('canary')).toMatchObject({ members: 1 });
  expect(stage('rest')).toMatchObject({ members: 249 });
  expect(tasks()).toHaveLength(1);
});

describe('a canary of 10 % that has ended upgrades no collector before the approval (R1, R4)', () => {
  const tenth = { ...canary, size: '10%' };
  const stages = (first: object = {}) => [
    { ...tenth, ...first },
    { ...rest, approval: 'Required' },
  ];
  const more = { groups: { more: { count: 100, version: before } } };

  test('after a retry in its soak', async () => {
    const { world, tasks, status, stage, annotate, untilReason } = staged({
      count: 100,
      stages: stages({ soakDuration: '2h' }),
      spec: { resyncInterval: '1m' },
    });
    world.start();
    expect(await untilReason('Soaking')).toBe(true);
    const id = tasks()[0]?.collectorId;
    const name = world.snapshot().collectors.find((one) => one.id === id)?.name as string;
    world.model.patch({ collectors: { [name]: { running: false } } }, world.service.nowMs());
    expect(await untilReason('CollectorsFailed')).toBe(true);
    annotate(annotations.retry, `${status()?.rollout?.id}`);
    expect(await untilReason('AwaitingApproval', 4 * hourMs)).toBe(true);
    world.model.patch(more, world.service.nowMs());
    await world.clock.advance(hourMs);
    expect(tasks()).toHaveLength(10);
    expect(stage('rest')).toMatchObject({ members: 190, state: 'AwaitingApproval' });
  });

  test('after a change of the selection', async () => {
    const { world, tasks, stage, patch, untilReason } = staged({
      scenario: { groups: { web: { count: 100, version: before }, off: { count: 1, version: before } } },
      stages: stages(),
      spec: { resyncInterval: '1m', exclude: [{ matchNames: ['db-*'] }] },
    });
    world.start();
    expect(await untilReason('AwaitingApproval')).toBe(true);
    const begun = tasks().length;
    patch({ spec: { exclude: [{ matchNames: ['db-*', 'off-*'] }] } });
    await world.clock.advance(10 * 60_000);
    expect(stage('canary')).toMatchObject({ state: 'Completed' });
    world.model.patch(more, world.service.nowMs());
    await world.clock.advance(hourMs);
    expect(tasks()).toHaveLength(begun);
  });

  test('in place of an uninstalled collector that was at the target before', async () => {
    const { world, tasks, snapshot, stage, untilReason } = staged({
      scenario: { groups: { web: { count: 50, version: before }, hand: { count: 50, version: target } } },
      stages: stages(),
      spec: { resyncInterval: '1m' },
    });
    world.start();
    expect(await untilReason('AwaitingApproval')).toBe(true);
    const begun = tasks().length;
    expect(begun).toBe(10);
    const hand = snapshot().collectors.filter(({ name }) => name.startsWith('hand'));
    const absent = Object.fromEntries(hand.map(({ name }) => [name, { absent: true }]));
    world.model.patch({ collectors: absent, ...more }, world.service.nowMs());
    await world.clock.advance(hourMs);
    expect(tasks()).toHaveLength(begun);
    expect(stage('canary')).toMatchObject({ members: begun, state: 'Completed' });
  });
});

test('a canary that soaks keeps its collectors and its soak when its spec is edited (R2)', async () => {
  const stages = (size: string, soakDuration: string) => [{ ...canary, size, soakDuration }, rest];
  const { world, tasks, stage, patch, untilReason } = staged({ count: 100, stages: stages('1%', '12h') });
  world.start();
  expect(await untilReason('Soaking')).toBe(true);
  await world.clock.advance(hourMs);
  patch({ spec: { strategy: { stages: stages('5%', '1h') } } });
  await world.clock.advance(10 * hourMs);
  expect(stage('canary')).toMatchObject({ members: 1, updated: 1, state: 'Soaking' });
  expect(tasks()).toHaveLength(1);
  expect(await untilReason('AllUpdated', 4 * hourMs)).toBe(true);
});

describe('a stage without maxFailures (R5)', () => {
  const stalledBy = (world: ReturnType<typeof staged>['world']) =>
    world.policy('production')?.status?.conditions?.find(({ type }) => type === 'Stalled')?.reason;

  test('is held by a failure, is reported as Stalled, and continues after a retry', async () => {
    const { world, tasks, status, stage, annotate, untilReason } = staged({
      scenario: { upgrade: { duration: '2m', ...fails } },
    });
    world.start();
    expect(await untilReason('CollectorsFailed')).toBe(true);
    await world.clock.advance(5 * hourMs);
    expect(tasks()).toHaveLength(3);
    expect(stalledBy(world)).toBe('CollectorsFailed');
    expect(world.ready('production')?.message).toContain('3 collectors that failed');
    expect(world.ready('production')?.message).toContain('`logfleet retry`');
    expect(stage('rest')?.state).toBe('Pending');
    world.model.patch({ upgrade: { duration: '2m', outcomes: null } }, world.service.nowMs());
    annotate(annotations.retry, `${status()?.rollout?.id}`);
    expect(await untilReason('AllUpdated', 3 * hourMs)).toBe(true);
    expect(tasks()).toHaveLength(33);
  });

  test('is not held by a collector that reached the target with its next attempt', async () => {
    const { world, untilReason } = staged({
      scenario: { upgrade: { duration: '2m', ...fails } },
      spec: { retryPolicy: { limit: 20, backoff: { duration: '1m', factor: 1, cap: '1m' } } },
    });
    world.start();
    await world.clock.advance(10 * 60_000);
    world.model.patch({ upgrade: { duration: '2m', outcomes: null } }, world.service.nowMs());
    expect(await untilReason('AllUpdated', 3 * hourMs)).toBe(true);
  });

  test('is held by a collector that stopped running, is reported as Stalled, and continues without the collector after a retry', async () => {
    const { world, tasks, snapshot, status, annotate, untilReason } = staged({
      stages: [{ ...canary, soakDuration: '1h' }, rest],
    });
    world.start();
    await untilReason('Soaking');
    const [dead] = snapshot().collectors.filter(({ version }) => version === target);
    world.model.patch({ collectors: { [dead?.name ?? '']: { running: false } } }, world.service.nowMs());
    expect(await untilReason('CollectorsFailed')).toBe(true);
    expect(stalledBy(world)).toBe('CollectorsFailed');
    await world.clock.advance(5 * hourMs);
    expect(tasks()).toHaveLength(3);
    expect(world.ready('production')?.reason).toBe('CollectorsFailed');
    annotate(annotations.retry, `${status()?.rollout?.id}`);
    expect(await untilReason('AllUpdated', 3 * hourMs)).toBe(true);
    expect(tasks()).toHaveLength(30);
  });
});

describe.each([
  ['a stage without maxFailures', [canary, rest], 3],
  ['a policy without stages', [], 30],
])('%s: collectors that die during their upgrades (R5)', (_, stages, upgraded) => {
  async function dying() {
    const one = staged({
      scenario: { upgrade: { duration: '10m' } },
      stages,
      spec: { retryPolicy: { limit: 2, backoff: { duration: '1m', factor: 1, cap: '1m' } } },
    });
    one.world.start();
    expect(await one.world.until(() => one.tasks().length === upgraded, hourMs)).toBe(true);
    const names = one
      .tasks()
      .slice(0, 2)
      .map(({ collectorId }) => one.snapshot().collectors.find(({ id }) => id === collectorId)?.name ?? '');
    const run = (running: boolean) =>
      one.world.model.patch(
        { collectors: Object.fromEntries(names.map((name) => [name, { running }])) },
        one.world.service.nowMs(),
      );
    run(false);
    expect(await one.untilReason('CollectorsFailed', 4 * hourMs)).toBe(true);
    await one.world.clock.advance(5 * hourMs);
    expect(one.at(target)).toBe(upgraded - 2);
    expect(one.status()?.collectors).toMatchObject({ failed: 2, offline: 0 });
    expect(one.status()?.failureReasons?.reduce((sum, { count }) => sum + count, 0)).toBe(2);
    expect(one.status()?.history).toEqual([]);
    return { ...one, run };
  }

  test('count as failed until they are back online', async () => {
    const { run, at, untilReason } = await dying();
    run(true);
    expect(await untilReason('AllUpdated', 6 * hourMs)).toBe(true);
    expect(at(target)).toBe(30);
  });

  test('are left out after a retry', async () => {
    const { at, status, annotate, untilReason } = await dying();
    annotate(annotations.retry, `${status()?.rollout?.id}`);
    expect(await untilReason('AllUpdated', 6 * hourMs)).toBe(true);
    expect(at(target)).toBe(28);
    expect(status()?.collectors).toMatchObject({ failed: 0, offline: 2 });
  });
});

test('with offlinePolicy Wait, a stage waits for a collector that is offline after a failed upgrade (R2)', async () => {
  const { world, tasks, at, stage, untilReason } = staged({
    scenario: {
      groups: { bad: { count: 1, version: before, upgrade: fails }, web: { count: 9, version: before } },
      upgrade: { duration: '2m' },
    },
    stages: [
      { name: 'one', selector: { matchNames: ['bad-*', 'web-0001'] }, soakDuration: '0s', maxFailures: 1 },
      rest,
    ],
    spec: { offlinePolicy: 'Wait', retryPolicy: { limit: 5, backoff: { duration: '2h', factor: 1, cap: '2h' } } },
  });
  const bad = (change: object) => world.model.patch({ groups: { bad: change } }, world.service.nowMs());
  world.start();
  expect(await world.until(() => tasks().some(({ status }) => status === 3), hourMs)).toBe(true);
  bad({ running: false, upgrade: null });
  await world.clock.advance(5 * hourMs);
  expect(stage('one')).toMatchObject({ state: 'Progressing', updated: 1, failed: 0 });
  expect(at(target)).toBe(1);
  bad({ running: true });
  expect(await untilReason('AllUpdated', 5 * hourMs)).toBe(true);
  expect(at(target)).toBe(10);
});

describe('a stage whose collectors are no longer listed (R2)', () => {
  async function soaking(gone: number) {
    const one = staged({ stages: [{ ...canary, maxFailures: 0, soakDuration: '6h' }, rest] });
    one.world.start();
    await one.untilReason('Soaking');
    const there = one.snapshot().collectors.filter(({ version }) => version === target);
    const absent = there.slice(0, gone).map(({ name }) => [name, { absent: true }] as const);
    one.world.model.patch({ collectors: Object.fromEntries(absent) }, one.world.service.nowMs());
    await one.world.clock.advance(4 * hourMs);
    expect(one.tasks()).toHaveLength(3);
    return one;
  }

  test.each([1, 2])('continues without %d of 3 members', async (gone) => {
    const { untilReason } = await soaking(gone);
    expect(await untilReason('AllUpdated', 8 * hourMs)).toBe(true);
  });

  test('is inconclusive without any collector, and a retry starts it with other collectors', async () => {
    const { world, tasks, status, stage, annotate, untilReason } = await soaking(3);
    expect(await untilReason('StageInconclusive', 8 * hourMs)).toBe(true);
    await world.clock.advance(12 * hourMs);
    expect(tasks()).toHaveLength(3);
    annotate(annotations.retry, `${status()?.rollout?.id}`);
    expect(await untilReason('Soaking')).toBe(true);
    expect(tasks()).toHaveLength(6);
    expect(stage('canary')).toMatchObject({ members: 3, updated: 3 });
  });

  test('is inconclusive without any collector, and an approval continues with the next stage', async () => {
    const { tasks, status, annotate, untilReason } = await soaking(3);
    expect(await untilReason('StageInconclusive', 8 * hourMs)).toBe(true);
    annotate(annotations.approve, `${status()?.rollout?.id}/canary`);
    expect(await untilReason('AllUpdated', 8 * hourMs)).toBe(true);
    expect(tasks()).toHaveLength(30);
  });
});

describe('maxFailures (R5)', () => {
  test('of the canary stage does not apply to other stages', async () => {
    const { world, status, untilReason } = staged({
      scenario: {
        groups: {
          web: { count: 3, version: before },
          xbad: { count: 27, version: before, osName: 'Windows', upgrade: fails },
        },
      },
      stages: [{ name: 'canary', selector: { matchNames: ['web-*'] }, soakDuration: '0s', maxFailures: 0 }, rest],
    });
    world.start();
    expect(await untilReason('CollectorsFailed')).toBe(true);
    await world.clock.advance(2 * hourMs);
    expect(world.ready('production')).toMatchObject({ status: 'False', reason: 'CollectorsFailed' });
    expect(status()?.history).toEqual([]);
  });

  test('of a stage does not apply to collectors that join after it has ended', async () => {
    const { world, untilReason } = staged({ stages: [canary, { ...rest, maxFailures: 1 }] });
    world.start();
    await untilReason('AllUpdated');
    world.model.patch({ groups: { bad: { count: 1, version: before, upgrade: fails } } }, world.service.nowMs());
    expect(await untilReason('CollectorsFailed', 4 * hourMs)).toBe(true);
  });

  test('with action Continue ends in Stalled when it is exceeded, with the figures', async () => {
    const { world, untilReason } = staged({
      scenario: {
        groups: { web: { count: 20, version: before }, bad: { count: 3, version: before, upgrade: fails } },
      },
      stages: [
        { ...canary, size: undefined, selector: { matchNames: ['bad-*', 'web-0001'] }, maxFailures: 0 },
        { ...rest, maxFailures: 30 },
      ],
      spec: { failurePolicy: { action: 'Continue', minSamples: 1 } },
    });
    world.start();
    expect(await untilReason('CollectorsFailed')).toBe(true);
    expect(world.ready('production')?.message).toContain('3 failures in stage canary, maxFailures is 0');
  });
});

describe('a target that changes and returns (R6)', () => {
  const stages = [{ ...canary, maxFailures: 0, soakDuration: '24h' }, rest];
  const spec = { allowDowngrade: true };

  test.each([1_000, 10_000, 60_000])('after %d ms still needs the soak of the canary', async (awayMs) => {
    const { world, tasks, patch, untilReason } = staged({ spec, stages });
    world.start();
    await untilReason('Soaking');
    patch({ spec: { target: { version: middle } } });
    await world.clock.advance(awayMs);
    patch({ spec: { target: { version: target } } });
    const begunMs = world.service.nowMs();
    await world.clock.advance(12 * hourMs);
    expect(new Set(tasks().map(({ collectorId }) => collectorId)).size).toBe(3);
    expect(await untilReason('AllUpdated', 20 * hourMs)).toBe(true);
    const others = tasks().slice(tasks().findLastIndex(({ requestTime }) => requestTime < begunMs + 12 * hourMs) + 1);
    expect(others).toHaveLength(27);
    expect(others[0]?.requestTime).toBeGreaterThanOrEqual(begunMs + 24 * hourMs);
  });

  test('during a pause still needs the soak of the canary', async () => {
    const { world, tasks, patch, untilReason } = staged({ spec, stages });
    world.start();
    await untilReason('Soaking');
    patch({ spec: { paused: true, target: { version: middle } } });
    await world.clock.advance(60_000);
    patch({ spec: { paused: false, target: { version: target } } });
    expect(await untilReason('Soaking')).toBe(true);
    await world.clock.advance(12 * hourMs);
    // Counts collectors instead of upgrades, because the operator might upgrade a collector twice: for a while, the
    // collector list can still show the old version.
    expect(new Set(tasks().map(({ collectorId }) => collectorId)).size).toBe(3);
  });

  test('stays stopped until a retry', async () => {
    const { world, tasks, snapshot, patch, status, annotate, untilReason } = staged({ spec, stages });
    world.start();
    await untilReason('Soaking');
    const dead = snapshot().collectors.filter(({ version }) => version === target);
    const all = Object.fromEntries(dead.map(({ name }) => [name, { running: false }]));
    world.model.patch({ collectors: all }, world.service.nowMs());
    expect(await untilReason('RolloutStopped')).toBe(true);
    patch({ spec: { target: { version: middle } } });
    await world.clock.advance(2_000);
    patch({ spec: { target: { version: target } } });
    await world.clock.advance(48 * hourMs);
    expect(world.ready('production')?.reason).toBe('RolloutStopped');
    expect(tasks().filter(({ toVersion }) => toVersion === target)).toHaveLength(3);
    annotate(annotations.retry, `${status()?.rollout?.id}`);
    expect(
      await world.until(() => tasks().filter(({ toVersion }) => toVersion === target).length > 3, 30 * hourMs),
    ).toBe(true);
  });

  test('stays aborted', async () => {
    const { world, tasks, patch, status, annotate, untilReason } = staged({
      spec,
      scenario: { upgrade: { duration: '2m', ...fails } },
    });
    world.start();
    expect(await untilReason('CollectorsFailed')).toBe(true);
    annotate(annotations.abort, `${status()?.rollout?.id}`);
    expect(await untilReason('Aborted')).toBe(true);
    patch({ spec: { paused: true, target: { version: middle } } });
    await world.clock.advance(60_000);
    patch({ spec: { paused: false, target: { version: target } } });
    expect(await untilReason('Aborted')).toBe(true);
    expect(tasks()).toHaveLength(3);
  });
});

describe('a retry after a rollback (R9)', () => {
  test('begins with the canary, its maxFailures and its soak, and needs new approvals', async () => {
    const { world, tasks, at, annotate, status, stage, untilReason } = staged({
      stages: [
        { ...canary, maxFailures: 0, soakDuration: '1h' },
        { ...rest, approval: 'Required' },
      ],
      spec: { failurePolicy: { maxFailures: 2, minSamples: 1, action: 'Rollback' } },
    });
    world.start();
    expect(await untilReason('AwaitingApproval', 3 * hourMs)).toBe(true);
    world.model.patch({ upgrade: { duration: '2m', ...fails } }, world.service.nowMs());
    annotate(annotations.approve, `${status()?.rollout?.id}/rest`);
    expect(await untilReason('RollingBack')).toBe(true);
    world.model.patch({ upgrade: { duration: '2m', outcomes: null } }, world.service.nowMs());
    expect(await untilReason('RolledBack')).toBe(true);
    expect(at(before)).toBe(30);
    const begun = tasks().length;
    annotate(annotations.retry, `${status()?.rollout?.id}`);
    expect(await untilReason('Soaking')).toBe(true);
    expect(tasks()).toHaveLength(begun + 3);
    expect(stage('rest')?.state).toBe('Pending');
    expect(await untilReason('AwaitingApproval', 3 * hourMs)).toBe(true);
    await world.clock.advance(5 * hourMs);
    expect(tasks()).toHaveLength(begun + 3);
    annotate(annotations.approve, `${status()?.rollout?.id}/rest/again`);
    expect(await untilReason('AllUpdated', 3 * hourMs)).toBe(true);
    expect(at(target)).toBe(30);
  });
});

test('a rollback includes a collector whose upgrade was running during a retry (R7, R9)', async () => {
  const { world, snapshot, tasks, annotate, status, untilReason } = staged({
    scenario: {
      groups: { bad: { count: 1, version: before, upgrade: fails }, web: { count: 4, version: before } },
      upgrade: { duration: '10m' },
    },
    stages: [{ name: 'one', selector: {}, soakDuration: '12h', maxFailures: 1 }, rest],
    spec: {
      resyncInterval: '10m',
      retryPolicy: { limit: 5, backoff: { duration: '1m', factor: 1, cap: '1m' } },
      failurePolicy: { action: 'Rollback', minSamples: 1 },
    },
  });
  world.start();
  expect(await world.until(() => tasks().some(({ status: code }) => code === 3), hourMs)).toBe(true);
  world.model.patch({ groups: { bad: { upgrade: null } } }, world.service.nowMs());
  expect(await world.until(() => tasks().length === 6, hourMs)).toBe(true);
  await world.clock.advance(60_000);
  annotate(annotations.retry, `${status()?.rollout?.id}`);
  expect(await untilReason('Soaking')).toBe(true);
  const dying = { 'web-0001': { running: false }, 'web-0002': { running: false } };
  world.model.patch({ collectors: dying }, world.service.nowMs());
  expect(await untilReason('RolledBack', 6 * hourMs)).toBe(true);
  expect(
    snapshot()
      .collectors.filter(({ version }) => version === target)
      .map(({ name }) => name),
  ).toEqual(Object.keys(dying));
});

describe('a soak (R3)', () => {
  const windows = {
    name: 'windows',
    selector: { matchFields: { osName: 'Windows' } },
    soakDuration: '35m',
    maxFailures: 0,
  };

  test('continues when collectors return during it, and they are upgraded with the last stage', async () => {
    const { world, at, stage, untilReason } = staged({
      scenario: {
        groups: {
          web: { count: 10, version: before },
          win: { count: 3, version: before, osName: 'Windows' },
          off: { count: 20, version: before, osName: 'Windows', running: false },
        },
      },
      stages: [windows, rest],
    });
    world.start();
    await untilReason('Soaking');
    const { soakedUntil } = stage('windows') ?? {};
    for (let round = 1; round <= 3; round++) {
      world.model.patch({ collectors: { [`off-000${round}`]: { running: true } } }, world.service.nowMs());
      await world.clock.advance(10 * 60_000);
      expect(at(target)).toBe(3);
    }
    expect(stage('windows')?.soakedUntil).toBe(soakedUntil);
    expect(await world.until(() => at(target) === 16, hourMs)).toBe(true);
  });
});

describe('status', () => {
  test('names the stage that was stopped, even when the same decision would have ended it', async () => {
    const { world, status, stage, untilReason } = staged({
      scenario: { upgrade: { duration: '2m', ...fails } },
      stages: [{ ...canary, size: 1, maxFailures: 0 }, rest],
    });
    world.start();
    expect(await untilReason('RolloutStopped')).toBe(true);
    expect(status()?.rollout).toMatchObject({ stage: 'canary', stopped: { stage: 'canary' } });
    expect(stage('canary')?.state).toBe('Stopped');
  });

  test('shows the target as the version from which a collector is rolled back', async () => {
    const { world, status, untilReason } = staged({
      scenario: {
        groups: { web: { count: 5, version: before }, zbad: { count: 1, version: before, upgrade: fails } },
      },
      stages: [],
      spec: {
        strategy: { maxInProgress: 2, order: 'Name' },
        failurePolicy: { maxFailures: 0, minSamples: 1, action: 'Rollback' },
      },
    });
    world.start();
    expect(await untilReason('RolledBack')).toBe(true);
    await world.clock.advance(hourMs);
    const back = status()?.tasks?.filter(({ to }) => to === before) ?? [];
    expect(back).toHaveLength(5);
    expect(new Set(back.map(({ from }) => from))).toEqual(new Set([target]));
  });
});

test('a rollback includes collectors whose upgrade to the only offered build ended during an outage (R7, U7)', async () => {
  const { world, status, at, untilReason } = staged({
    scenario: {
      builds: [target],
      groups: {
        web: { count: 3, version: before, upgrade: { duration: '20m' } },
        bad: { count: 1, version: before, upgrade: fails, running: false },
      },
      faults: { outage: { kind: 'reset', from: '10m', until: '50m' } },
    },
    stages: [],
    spec: { failurePolicy: { maxFailures: 0, minSamples: 1, action: 'Rollback' } },
  });
  world.start();
  await world.clock.advance(hourMs);
  expect(status()?.collectors).toMatchObject({ updated: 0, skipped: 3 });
  world.model.patch({ builds: [before, target], groups: { bad: { running: true } } }, world.service.nowMs());
  expect(await untilReason('RolledBack')).toBe(true);
  expect(at(before)).toBe(4);
});

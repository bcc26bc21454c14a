/** Tests staged rollouts with the whole operator. */
import { describe, expect, test } from 'vitest';
import { annotations } from '../../../src/api/annotations.ts';
import { hourMs, minuteMs } from '../../../src/base/time-units.ts';
import { waitText } from '../../../src/policy/status/wait-text.ts';
import { planInWorld } from '../../support/planned-world.ts';
import { before, canary, middle, rest, staged, target } from './staged-world.ts';

const figures = ({ name, members, updated }: { name: string; members: number; updated: number }) => [
  name,
  members,
  updated,
];

test('stages show the collectors that they will have, in status as in the plan', async () => {
  const groups = {
    web: { count: 20, version: before },
    there: { count: 4, version: target },
    hosted: { count: 1, collectorType: 'Hosted' as const },
    off: { count: 5, version: before, running: false },
  };
  const stages = [
    { name: 'canary', size: 3, soakDuration: '1h' },
    { name: 'tenth', size: '10%', soakDuration: '1h' },
    { name: 'there', selector: { matchNames: ['there-*', 'web-1'] } },
    rest,
  ];
  const { world, status, untilReason } = staged({ scenario: { list: { hosted: true }, groups }, stages });
  // Waits for more than half an hour, so that collectors without a heartbeat count as offline.
  await world.clock.advance(hourMs);
  world.start();
  for (const reason of ['RollingOut', 'Soaking']) {
    expect(await untilReason(reason)).toBe(true);
    await world.clock.advance(minuteMs);
    const [outlook] = (await planInWorld(world, { wanted: ['production'] })).outlooks;
    const plan = outlook?.kind === 'plan' ? outlook.plan.stages : [];
    const planned = plan.map(({ name = '', members, counts }) => figures({ name, members, updated: counts.updated }));
    expect(status()?.stages?.map(figures)).toEqual(planned);
  }
  const [canary, tenth, there, last] = status()?.stages ?? [];
  expect([canary?.members, tenth?.members]).toEqual([3, 3]);
  // The first two stages contain 6 of the 24 collectors that can be upgraded.
  expect((there?.members ?? 0) + (last?.members ?? 0)).toBe(24 - 6);
  expect([tenth, there, last].map((stage) => stage?.state)).toEqual(['Pending', 'Pending', 'Pending']);
});

describe('stages', () => {
  test('run one after the other, each with as many collectors as its size', async () => {
    const { world, tasks, status, untilReason, stage } = staged();
    world.start();
    await world.until(() => tasks().length >= 3, hourMs);
    await world.clock.advance(minuteMs);
    expect(tasks()).toHaveLength(3);
    expect(stage('canary')).toMatchObject({ members: 3, state: 'Progressing' });
    expect(stage('rest')).toMatchObject({ members: 27, state: 'Pending' });
    const waitingFor = waitText({ kind: 'stageEnd', stage: 'canary', offline: 0 });
    expect(status()?.rollout).toMatchObject({ stage: 'canary', waitingFor });
    expect(await untilReason('AllUpdated')).toBe(true);
    expect(status()?.stages?.map(({ state, updated }) => [state, updated])).toEqual([
      ['Completed', 3],
      ['Completed', 27],
    ]);
    const ended = Math.max(
      ...tasks()
        .slice(0, 3)
        .map(({ collectorEndTime }) => collectorEndTime ?? Number.NaN),
    );
    expect(
      Math.min(
        ...tasks()
          .slice(3)
          .map(({ requestTime }) => requestTime),
      ),
    ).toBeGreaterThan(ended);
  });

  test('choose the same canaries after a restart and in the next rollout', async () => {
    const { world, tasks, untilReason, patch } = staged();
    const first = world.start();
    await world.until(() => tasks().length >= 1, hourMs);
    first.kill();
    world.start();
    await untilReason('AllUpdated');
    patch({ spec: { target: { version: middle }, allowDowngrade: true } });
    await untilReason('RollingOut');
    expect(await untilReason('AllUpdated')).toBe(true);
    const ids = tasks().map(({ collectorId }) => collectorId);
    expect(ids).toHaveLength(60);
    expect(new Set(ids.slice(30, 33))).toEqual(new Set(ids.slice(0, 3)));
  });

  test('choose the collectors that their selector matches, and skip collectors that match no stage', async () => {
    const { world, tasks, status, untilReason } = staged({
      scenario: {
        groups: {
          linux: { count: 5, version: before, osName: 'Linux' },
          windows: { count: 4, version: before, osName: 'Windows' },
        },
      },
      stages: [{ name: 'linux', selector: { matchFields: { osName: 'Linux' } }, soakDuration: '0s' }],
    });
    world.start();
    expect(await untilReason('AllUpdated')).toBe(true);
    expect(tasks()).toHaveLength(5);
    expect(status()?.collectors).toMatchObject({ updated: 5, skipped: 4 });
    expect(status()?.skippedReasons).toMatchObject([{ reason: 'NoStage', count: 4 }]);
  });

  test('choose running collectors before offline ones', async () => {
    const { world, tasks, untilReason, stage } = staged({
      scenario: {
        groups: {
          off: { count: 27, version: before, running: false },
          web: { count: 3, version: before },
        },
      },
      stages: [{ ...canary, size: 2 }, rest],
    });
    world.start();
    await world.until(() => tasks().length >= 2, hourMs);
    expect(stage('canary')).toMatchObject({ members: 2, state: 'Progressing' });
    expect(await untilReason('AllUpdated')).toBe(true);
    expect(tasks()).toHaveLength(3);
  });

  test('respect their own maxInProgress and that of the policy', async () => {
    const stages = [{ ...canary, size: 10, maxInProgress: '20%' }, rest];
    const { world, snapshot, untilReason } = staged({
      stages,
      spec: { strategy: { maxInProgress: 5, order: 'Name', stages } },
    });
    world.start();
    const max = [0, 0];
    await world.until(() => {
      const { collectors, tasks } = snapshot();
      const busy = collectors.filter(({ upgrading }) => upgrading).length;
      const phase = tasks.length <= 10 ? 0 : 1;
      max[phase] = Math.max(max[phase] ?? 0, busy);
      return world.ready('production')?.reason === 'AllUpdated';
    }, 2 * hourMs);
    expect(await untilReason('AllUpdated')).toBe(true);
    expect(max).toEqual([2, 5]);
  });

  test('without collectors wait for an approval that skips them, and late joiners are upgraded later', async () => {
    const { world, tasks, untilReason, status, annotate } = staged({
      scenario: {
        groups: {
          web: { count: 6, version: before },
          late: { count: 1, version: before, running: false, osName: 'Windows' },
        },
      },
      stages: [
        { name: 'windows', selector: { matchFields: { osName: 'Windows' } }, soakDuration: '0s', maxFailures: 0 },
        rest,
      ],
    });
    world.start();
    expect(await untilReason('AwaitingApproval')).toBe(true);
    await world.clock.advance(hourMs);
    expect(tasks()).toHaveLength(0);
    annotate(annotations.approve, `${status()?.rollout?.id}/windows`);
    expect(await untilReason('AllUpdated')).toBe(true);
    expect(tasks()).toHaveLength(6);
    world.model.patch({ groups: { late: { running: true } } }, world.service.nowMs());
    expect(await world.until(() => status()?.collectors?.updated === 7, 2 * hourMs)).toBe(true);
  });

  test('wait for offline collectors under offlinePolicy Wait', async () => {
    const { world, tasks, untilReason, stage } = staged({
      scenario: {
        groups: {
          web: { count: 6, version: before },
          late: { count: 1, version: before, running: false, osName: 'Windows' },
        },
      },
      stages: [{ name: 'windows', selector: { matchFields: { osName: 'Windows' } }, soakDuration: '0s' }, rest],
      spec: { offlinePolicy: 'Wait' },
    });
    world.start();
    await world.clock.advance(hourMs);
    expect(tasks()).toHaveLength(0);
    expect(stage('windows')).toMatchObject({ state: 'Progressing' });
    expect(world.ready('production')?.message).toContain(waitText({ kind: 'stageEnd', stage: 'windows', offline: 1 }));
    world.model.patch({ groups: { late: { running: true } } }, world.service.nowMs());
    expect(await untilReason('AllUpdated', 3 * hourMs)).toBe(true);
    expect(tasks()).toHaveLength(7);
  });
});

describe('an approval', () => {
  const stages = [canary, { ...rest, approval: 'Required' }];

  test('is not required while all collectors run the target version', async () => {
    const { world, stage, untilReason } = staged({
      scenario: { groups: { web: { count: 30, version: target } } },
      stages,
    });
    world.start();
    expect(await untilReason('AllUpdated')).toBe(true);
    expect(stage('rest')?.state).toBe('Pending');
  });

  test('is required before its stage starts, and is recorded with its author', async () => {
    const { world, tasks, status, untilReason, annotate, stage } = staged({ stages });
    world.start();
    expect(await untilReason('AwaitingApproval')).toBe(true);
    expect(stage('rest')?.state).toBe('AwaitingApproval');
    await world.clock.advance(3 * hourMs);
    expect(tasks()).toHaveLength(3);
    expect(world.ready('production')?.reason).toBe('AwaitingApproval');
    annotate(annotations.approve, `2-${target}/rest`);
    await world.clock.advance(10 * minuteMs);
    expect(tasks()).toHaveLength(3);
    annotate(annotations.approve, `${status()?.rollout?.id}/rest`);
    expect(await untilReason('AllUpdated')).toBe(true);
    expect(tasks()).toHaveLength(30);
    expect(status()?.history?.[0]?.actions).toMatchObject([{ action: 'Approve', stage: 'rest' }]);
  });
});

describe('a soak', () => {
  const stages = [{ ...canary, soakDuration: '1h', maxFailures: 0 }, rest];

  test('lasts for soakDuration from the time at which the last collector reaches the target', async () => {
    const { world, tasks, untilReason, stage } = staged({ stages });
    world.start();
    expect(await untilReason('Soaking')).toBe(true);
    const soakedUntil = Date.parse(stage('canary')?.soakedUntil ?? '');
    const ended = Math.max(...tasks().map(({ collectorEndTime }) => collectorEndTime ?? Number.NaN));
    expect(soakedUntil).toBeGreaterThanOrEqual(ended + hourMs - 1_000);
    expect(await untilReason('AllUpdated', 4 * hourMs)).toBe(true);
    expect(tasks()[3]?.requestTime).toBeGreaterThanOrEqual(soakedUntil);
  });

  test('of the last stage belongs to the rollout, and a death in it stops the rollout', async () => {
    const { world, tasks, status, untilReason } = staged({ stages: [{ ...rest, soakDuration: '1h', maxFailures: 0 }] });
    world.start();
    expect(await untilReason('Soaking')).toBe(true);
    expect(tasks()).toHaveLength(30);
    expect(status()?.collectors).toMatchObject({ matched: 30, updated: 30 });
    expect(status()?.rollout?.waitingFor).toContain(waitText({ kind: 'soak', stage: 'rest', soakMs: hourMs }));
    expect(status()?.history).toEqual([]);
    world.model.patch({ collectors: { 'web-0001': { running: false } } }, world.service.nowMs());
    expect(await untilReason('RolloutStopped')).toBe(true);
    expect(status()?.history).toEqual([]);
  });

  test('continues after a restart and does not begin again', async () => {
    const { world, untilReason, stage } = staged({ stages });
    const first = world.start();
    await untilReason('Soaking');
    const soakedUntil = stage('canary')?.soakedUntil;
    await world.clock.advance(30 * minuteMs);
    first.kill();
    world.start();
    await world.clock.advance(10 * minuteMs);
    expect(stage('canary')).toMatchObject({ state: 'Soaking', soakedUntil });
  });

  test('stops the rollout when a collector stops running in it', async () => {
    const { world, tasks, untilReason } = staged({ stages });
    world.start();
    await untilReason('Soaking');
    const victim = tasks()[0]?.collectorId;
    const name = world.snapshot().collectors.find(({ id }) => id === victim)?.name as string;
    world.model.patch({ collectors: { [name]: { running: false } } }, world.service.nowMs());
    expect(await untilReason('RolloutStopped', 2 * hourMs)).toBe(true);
    expect(tasks()).toHaveLength(3);
    expect(world.ready('production')?.message).toContain('1 failure in stage canary');
  });

  test('does not end after a death when no maxFailures is set', async () => {
    const { world, tasks, untilReason } = staged({ stages: [{ ...canary, soakDuration: '1h' }, rest] });
    world.start();
    await untilReason('Soaking');
    const victim = tasks()[0]?.collectorId;
    const name = world.snapshot().collectors.find(({ id }) => id === victim)?.name as string;
    world.model.patch({ collectors: { [name]: { running: false } } }, world.service.nowMs());
    await world.clock.advance(5 * hourMs);
    expect(tasks()).toHaveLength(3);
    expect(world.ready('production')?.reason).toBe('CollectorsFailed');
    world.model.patch({ collectors: { [name]: { running: true } } }, world.service.nowMs());
    expect(await untilReason('AllUpdated', 3 * hourMs)).toBe(true);
  });
});

describe('the failure policy', () => {
  const breaks = { upgrade: { duration: '2m', outcomes: [{ share: 1, end: 'fail', message: 'disk full' }] } } as const;

  test('stops the rollout with the first failure above a number, and a retry continues it', async () => {
    const { world, tasks, status, untilReason, annotate, stage } = staged({
      scenario: breaks,
      stages: [{ ...canary, maxFailures: 0, maxInProgress: 1 }, rest],
    });
    world.start();
    expect(await untilReason('RolloutStopped')).toBe(true);
    expect(tasks()).toHaveLength(1);
    expect(stage('canary')?.state).toBe('Stopped');
    expect(world.ready('production')).toMatchObject({ status: 'False' });
    await world.clock.advance(5 * hourMs);
    expect(tasks()).toHaveLength(1);
    world.model.patch({ upgrade: { duration: '2m', outcomes: null } }, world.service.nowMs());
    annotate(annotations.retry, status()?.rollout?.id as string);
    expect(await untilReason('AllUpdated', 3 * hourMs)).toBe(true);
    expect(status()?.history?.[0]).toMatchObject({ outcome: 'Completed', actions: [{ action: 'Retry' }] });
  });

  test('checks a percentage after minSamples attempts', async () => {
    const { world, tasks, untilReason } = staged({
      scenario: breaks,
      stages: [],
      spec: {
        strategy: { maxInProgress: 2, order: 'Name' },
        failurePolicy: { maxFailures: '10%', minSamples: 6, action: 'Pause' },
      },
    });
    world.start();
    expect(await untilReason('RolloutStopped')).toBe(true);
    expect(tasks().length).toBeGreaterThanOrEqual(6);
    expect(tasks().length).toBeLessThanOrEqual(8);
  });

  test('tolerates maxFailures failures, and the policy is Ready', async () => {
    const { world, untilReason, status } = staged({
      scenario: {
        groups: {
          web: { count: 20, version: before },
          bad: { count: 1, version: before, upgrade: breaks.upgrade },
        },
      },
      stages: [],
      spec: {
        strategy: { maxInProgress: 5, order: 'Name' },
        failurePolicy: { maxFailures: 1, minSamples: 1, action: 'Pause' },
      },
    });
    world.start();
    expect(await untilReason('AllUpdated')).toBe(true);
    expect(status()?.collectors).toMatchObject({ updated: 20, failed: 1 });
    expect(world.ready('production')?.message).toContain('1 that failed, which is tolerated');
  });

  test('with action Continue continues the rollout and reports the exceeded tolerance', async () => {
    const { world, tasks, untilReason } = staged({
      scenario: breaks,
      stages: [],
      spec: {
        strategy: { maxInProgress: 5, order: 'Name' },
        failurePolicy: { maxFailures: 0, minSamples: 1, action: 'Continue' },
      },
    });
    world.start();
    await world.until(() => tasks().length > 10, hourMs);
    expect(world.ready('production')?.message).toContain('in the rollout, failurePolicy.maxFailures is 0');
    expect(await untilReason('CollectorsFailed')).toBe(true);
    expect(tasks()).toHaveLength(30);
  });

  test('rolls back the collectors that this rollout upgraded, and no others', async () => {
    const { world, tasks, at, untilReason, status } = staged({
      scenario: {
        groups: {
          web: { count: 10, version: before },
          other: { count: 2, version: middle },
          zbad: { count: 3, version: before, upgrade: breaks.upgrade },
          there: { count: 4, version: target },
        },
      },
      stages: [],
      spec: {
        strategy: { maxInProgress: 4, order: 'Name' },
        failurePolicy: { maxFailures: 1, minSamples: 1, action: 'Rollback' },
      },
    });
    world.start();
    expect(await untilReason('RollingBack')).toBe(true);
    expect(await untilReason('RolledBack')).toBe(true);
    expect([at(before), at(middle), at(target)]).toEqual([13, 2, 4]);
    const back = tasks().filter(({ toVersion }) => toVersion !== target);
    expect(back).toHaveLength(12);
    expect(world.ready('production')?.message).toContain('12 collectors were rolled back');
    await world.clock.advance(3 * hourMs);
    expect(tasks().filter(({ toVersion }) => toVersion === target)).toHaveLength(15);
    expect(status()?.conditions?.find(({ type }) => type === 'Stalled')?.reason).toBe('RolledBack');
  });

  test('continues a rollback after a restart', async () => {
    const { world, tasks, at, untilReason } = staged({
      scenario: {
        groups: {
          web: { count: 20, version: before },
          zbad: { count: 2, version: before, upgrade: breaks.upgrade },
        },
      },
      stages: [],
      spec: {
        strategy: { maxInProgress: 4, order: 'Name' },
        failurePolicy: { maxFailures: 0, minSamples: 1, action: 'Rollback' },
      },
    });
    let replica = world.start();
    for (const back of [1, 5, 12]) {
      await world.until(() => tasks().filter(({ toVersion }) => toVersion === before).length >= back, 3 * hourMs);
      replica.kill();
      replica = world.start();
    }
    expect(await untilReason('RolledBack', 3 * hourMs)).toBe(true);
    expect(at(before)).toBe(22);
    expect(tasks().filter(({ toVersion }) => toVersion === before)).toHaveLength(20);
  });
});

describe('users', () => {
  test('abort a rollout: no upgrade starts until another target is set', async () => {
    const { world, tasks, status, untilReason, annotate, patch } = staged({
      stages: [],
      spec: { strategy: { maxInProgress: 2, order: 'Name' } },
    });
    world.start();
    await world.until(() => tasks().length >= 4, hourMs);
    annotate(annotations.abort, `${status()?.rollout?.id}/now`);
    expect(await untilReason('Aborted', minuteMs)).toBe(true);
    const count = tasks().length;
    await world.clock.advance(2 * hourMs);
    expect(tasks()).toHaveLength(count);
    patch({ spec: { target: { version: middle }, allowDowngrade: true } });
    await untilReason('RollingOut');
    expect(await untilReason('AllUpdated')).toBe(true);
    expect(status()?.history?.map(({ outcome }) => outcome)).toEqual(['Completed', 'Aborted']);
  });
});

describe('a window', () => {
  test('is the only time in which upgrades start', async () => {
    const { world, tasks, untilReason, status } = staged({
      stages: [],
      spec: {
        strategy: { maxInProgress: 3, order: 'Name' },
        maintenance: {
          windows: [{ schedule: '0 22 * * *', duration: '40m', timeZone: 'Europe/Berlin' }],
          cutoff: '30m',
        },
      },
    });
    world.start();
    expect(await untilReason('WaitingForWindow')).toBe(true);
    expect(status()?.nextWindow).toBeDefined();
    expect(await untilReason('AllUpdated', 20 * 24 * hourMs)).toBe(true);
    expect(tasks()).toHaveLength(30);
    const nights = new Set(tasks().map(({ requestTime }) => Math.floor(requestTime / (24 * hourMs))));
    expect(nights.size).toBeGreaterThan(1);
    const minutes = tasks().map(({ requestTime }) => {
      const [hour, minute] = new Date(requestTime)
        .toLocaleTimeString('en-GB', { timeZone: 'Europe/Berlin' })
        .split(':')
        .map(Number) as [number, number];
      return hour * 60 + minute;
    });
    expect(Math.min(...minutes)).toBeGreaterThanOrEqual(22 * 60);
    expect(Math.max(...minutes)).toBeLessThan(22 * 60 + 10);
  });
});

describe('an approval, while no window is open,', () => {
  test('is reported as the reason for the wait, because an open window would change nothing', async () => {
    const { world, untilReason } = staged({
      stages: [canary, { ...rest, approval: 'Required' }],
      spec: { maintenance: { windows: [{ schedule: '0 22 * * *', duration: '40m' }], cutoff: '30m' } },
    });
    world.start();
    expect(await untilReason('AwaitingApproval', 25 * hourMs)).toBe(true);
    await world.clock.advance(2 * hourMs);
    expect(world.ready('production')?.reason).toBe('AwaitingApproval');
  });
});

test('a soak continues after a retry, and a later death in it counts as a failure (R5, R9)', async () => {
  const stages = [{ name: 'all', soakDuration: '3h', maxFailures: 0 }];
  const { world, tasks, status, untilReason, annotate } = staged({ count: 4, stages });
  const kill = (name: string) =>
    world.model.patch({ collectors: { [name]: { running: false } } }, world.service.nowMs());
  world.start();
  expect(await untilReason('Soaking')).toBe(true);
  kill('web-0001');
  expect(await untilReason('RolloutStopped')).toBe(true);
  annotate(annotations.retry, `${status()?.rollout?.id}`);
  expect(await untilReason('Soaking', minuteMs)).toBe(true);
  expect(status()?.history).toEqual([]);
  kill('web-0002');
  expect(await untilReason('RolloutStopped')).toBe(true);
  expect(tasks()).toHaveLength(4);
});

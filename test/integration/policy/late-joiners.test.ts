/**
 * Tests late joiners (collectors that are installed after a rollout has completed). Their failures are counted
 * separately (R5).
 */
import { describe, expect, test } from 'vitest';
import { annotations } from '../../../src/api/annotations.ts';
import { hourMs } from '../../../src/base/time-units.ts';
import { before, canary, middle, rest, type StagedSetting, staged, target } from './staged-world.ts';

const breaks = { outcomes: [{ share: 1, end: 'fail', message: 'disk full' }] } as const;

async function complete(setting: StagedSetting = {}) {
  const fleet = staged({ count: 10, ...setting, spec: { resyncInterval: '1h', ...setting.spec } });
  const { world, untilReason, tasks } = fleet;
  world.start();
  expect(await untilReason('AllUpdated')).toBe(true);
  const begun = tasks().length;
  return {
    ...fleet,
    /** Upgrade attempts since the rollout completed. */
    since: () => tasks().slice(begun),
    come: (name: string, count: number, more: object = { upgrade: breaks }) =>
      world.model.patch({ groups: { [name]: { count, version: before, ...more } } }, world.service.nowMs()),
  };
}

const tolerant = (maxFailures: number | string, action: string, minSamples = 1) => ({
  strategy: { maxInProgress: 2, order: 'Name' },
  failurePolicy: { maxFailures, minSamples, action },
});

describe('late joiners of a completed rollout', () => {
  test.each(['Pause', 'Rollback'])(
    'stop the rollout when their failures exceed the tolerance, without a rollback (%s)',
    async (action) => {
      const { world, since, at, come, status, untilReason } = await complete({ spec: tolerant(1, action) });
      come('bad', 36);
      expect(await untilReason('RolloutStopped', 4 * hourMs)).toBe(true);
      await world.clock.advance(6 * hourMs);
      // The second failure stops the rollout. At most two other upgrades start before the operator learns of the
      // failure.
      expect(since().length).toBeLessThanOrEqual(4);
      expect(world.ready('production')?.message).toContain('failures in the rollout, failurePolicy.maxFailures is 1');
      expect(since().filter(({ toVersion }) => toVersion !== target)).toEqual([]);
      expect(at(target)).toBe(10);
      expect(status()?.history).toMatchObject([{ outcome: 'Completed' }]);
    },
  );

  test('continue after a retry, with new counts of failures', async () => {
    const { world, since, at, come, status, annotate, untilReason } = await complete({ spec: tolerant(1, 'Pause') });
    come('bad', 12);
    await untilReason('RolloutStopped', 4 * hourMs);
    const stopped = since().length;
    annotate(annotations.retry, `${status()?.rollout?.id}`);
    expect(await world.until(() => since().length > stopped, hourMs)).toBe(true);
    expect(await untilReason('RolloutStopped', 4 * hourMs)).toBe(true);
    world.model.patch({ groups: { bad: { upgrade: null } } }, world.service.nowMs());
    annotate(annotations.retry, `${status()?.rollout?.id}/again`);
    expect(await untilReason('AllUpdated', 4 * hourMs)).toBe(true);
    expect(at(target)).toBe(22);
  });

  test('are all tried with action Continue', async () => {
    const { since, come, untilReason } = await complete({ spec: tolerant(1, 'Continue') });
    come('bad', 6);
    expect(await untilReason('CollectorsFailed', 4 * hourMs)).toBe(true);
    expect(since()).toHaveLength(6);
  });

  test('are judged by a percentage after minSamples attempts', async () => {
    const { since, come, untilReason } = await complete({ spec: tolerant('50%', 'Pause', 8) });
    come('bad', 30);
    expect(await untilReason('RolloutStopped', 4 * hourMs)).toBe(true);
    expect(since().length).toBeGreaterThanOrEqual(8);
    expect(since().length).toBeLessThanOrEqual(10);
  });

  test('are reported and do not stop the rollout below minSamples', async () => {
    const { since, come, untilReason } = await complete({ spec: tolerant('5%', 'Pause', 8) });
    come('bad', 3);
    expect(await untilReason('CollectorsFailed', 4 * hourMs)).toBe(true);
    expect(since()).toHaveLength(3);
  });

  test('also count if they were at the target before and another tool downgraded them', async () => {
    const { world, since, untilReason } = await complete({
      scenario: {
        groups: { web: { count: 10, version: before } },
        upgrade: { duration: '2m' },
        events: { hand: { at: '2h', collectors: ['web-*'], setVersion: middle } },
      },
      spec: tolerant(1, 'Rollback'),
    });
    world.model.patch({ upgrade: { duration: '2m', ...breaks } }, world.service.nowMs());
    expect(await untilReason('RolloutStopped', 8 * hourMs)).toBe(true);
    await world.clock.advance(4 * hourMs);
    expect(since().length).toBeLessThanOrEqual(4);
    expect(since().every(({ toVersion }) => toVersion === target)).toBe(true);
  });
});

test('a rollout without collectors is not complete, and runs its stages when collectors appear (R2)', async () => {
  const stages = [
    { ...canary, maxFailures: 0, soakDuration: '1h' },
    { ...rest, approval: 'Required' },
  ];
  const { world, tasks, snapshot, status, untilReason } = staged({
    count: 10,
    scenario: { groups: { web: { count: 10, version: before, running: false } } },
    stages,
    spec: { resyncInterval: '10m' },
  });
  world.start();
  expect(await untilReason('AllUpdated')).toBe(true);
  await world.clock.advance(10 * hourMs);
  const all = snapshot().collectors.map(({ name }) => [name, { running: true }] as const);
  world.model.patch({ collectors: Object.fromEntries(all) }, world.service.nowMs());
  expect(await untilReason('Soaking')).toBe(true);
  expect(tasks()).toHaveLength(3);
  expect(await untilReason('AwaitingApproval')).toBe(true);
  expect(tasks()).toHaveLength(3);
  expect(status()?.history).toEqual([]);
});

test('the failure count starts again when all collectors are at the target, not while some have failed', async () => {
  const { world, since, come, untilReason } = await complete({ spec: tolerant(1, 'Pause') });
  const fail = async (name: string, reason: string) => {
    const attempts = since().length;
    come(name, 1);
    expect(await world.until(() => since().length > attempts, 4 * hourMs)).toBe(true);
    await world.clock.advance(10 * 60_000);
    expect(await untilReason(reason, hourMs)).toBe(true);
  };
  await fail('first', 'AllUpdated');
  world.model.patch({ groups: { first: { upgrade: null, count: 0 } } }, world.service.nowMs());
  await world.clock.advance(2 * hourMs);
  await fail('second', 'AllUpdated');
  await fail('third', 'RolloutStopped');
});

test('a failed late joiner is reported when the rollout has no maxFailures', async () => {
  const stages = [canary, { ...rest, maxFailures: 5 }];
  const { come, untilReason } = await complete({ stages });
  come('bad', 1);
  expect(await untilReason('CollectorsFailed', 4 * hourMs)).toBe(true);
});

test('a rollout that late joiners stopped stays stopped when its target changes and returns (R6)', async () => {
  const { world, since, come, patch, untilReason } = await complete({
    spec: { ...tolerant(1, 'Pause'), allowDowngrade: true },
  });
  come('bad', 20);
  await untilReason('RolloutStopped', 4 * hourMs);
  const stopped = since().length;
  patch({ spec: { paused: true, target: { version: middle } } });
  await world.clock.advance(60_000);
  patch({ spec: { paused: false, target: { version: target } } });
  expect(await untilReason('RolloutStopped', hourMs)).toBe(true);
  await world.clock.advance(4 * hourMs);
  expect(since()).toHaveLength(stopped);
});

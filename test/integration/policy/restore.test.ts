/** Restores a backup that is an hour old. No upgrade may run twice, and a stopped rollout must stay stopped (U1). */
import { describe, expect, test } from 'vitest';
import type { Scenario } from '../../../simulator/scenario/scenario.ts';
import { annotations } from '../../../src/api/annotations.ts';
import { hourMs, minuteMs } from '../../../src/base/time-units.ts';
import { policiesPath, World } from '../../support/world.ts';
import { Backup } from './backup.ts';

const [before, target] = ['19.100-1', '19.200-1'] as const;
const fails = { upgrade: { duration: '2m', outcomes: [{ share: 1, end: 'fail', message: 'disk full' }] } } as const;
const stages = [
  { name: 'canary', size: 2, soakDuration: '45m' },
  { name: 'rest', soakDuration: '0s' },
] as const;

interface RestoredFleetSetting {
  readonly groups?: Scenario['groups'];
  readonly spec?: object;
}

function fleet({ groups, spec = {} }: RestoredFleetSetting = {}) {
  const world = new World({
    scenario: {
      builds: [before, target, '19.150-1'],
      groups: groups ?? { web: { count: 12, version: before } },
      upgrade: { duration: '2m' },
    },
  });
  world.addSecret();
  world.addPolicy('production', {
    target: { version: target },
    offlinePolicy: 'Skip',
    strategy: { maxInProgress: 1, order: 'Name' },
    retryPolicy: { limit: 0, backoff: { duration: '1m', factor: 1, cap: '1m' } },
    ...spec,
  });
  const snapshot = () => world.snapshot();
  const status = () => world.policy('production')?.status;
  return {
    world,
    status,
    tasks: () => snapshot().tasks,
    versions: () => {
      const found = new Map<string, number>();
      for (const { version } of snapshot().collectors) found.set(version, (found.get(version) ?? 0) + 1);
      return {
        true: Object.fromEntries([...found].sort()),
        reported: Object.fromEntries((status()?.versions ?? []).map(({ version, count }) => [version, count]).sort()),
      };
    },
    patch: (change: object) => world.api.patch(`${policiesPath}/production`, change),
    annotate: (name: string, value: string) =>
      world.api.patch(`${policiesPath}/production`, { metadata: { annotations: { [name]: value } } }),
    untilReason: (reason: string, atMostMs = 4 * hourMs) =>
      world.until(() => world.ready('production')?.reason === reason, atMostMs),
  };
}

type RestoredFleet = ReturnType<typeof fleet>;

/**
 * Restores the backup. If `how` is `beneath`, the operator is running during the restore. If `how` is `between`, the
 * operator is killed before the restore and started after it.
 */
function restore({ world }: RestoredFleet, how: 'beneath' | 'between', what: () => void): void {
  if (how === 'beneath') {
    what();
    return;
  }
  for (const replica of [...world.replicas]) replica.kill();
  what();
  world.start();
}

const perCollector = (tasks: readonly { readonly collectorId: string; readonly toVersion: string }[], to: string) => {
  const counts = new Map<string, number>();
  for (const { collectorId, toVersion } of tasks) {
    if (toVersion === to) counts.set(collectorId, (counts.get(collectorId) ?? 0) + 1);
  }
  return counts;
};

describe.each(['between', 'beneath'] as const)('a restore %s operators', (how) => {
  const bad = { web: { count: 8, version: before }, zbad: { count: 4, version: before, ...fails } };
  const stops = {
    failures: { failurePolicy: { maxFailures: 0, minSamples: 1, action: 'Pause' } },
    rollback: { failurePolicy: { maxFailures: 0, minSamples: 1, action: 'Rollback' } },
    abort: {},
  } as const;
  const reasons = { failures: 'RolloutStopped', rollback: 'RolledBack', abort: 'Aborted' } as const;

  /** Number of upgrades that the service has accepted when the backup is made. */
  const moments = [
    ['before the rollout', 0],
    ['with its first tasks', 1],
    ['during the rollout', 5],
  ] as const;

  const cases = (['failures', 'rollback', 'abort'] as const).flatMap((kind) =>
    moments.map(([moment, after]) => [kind, moment, after] as const),
  );

  test.each(cases)(
    'of the ledgers alone keeps a stop (%s) since the backup, which was made %s',
    async (kind, _, after) => {
      const one = fleet({ groups: bad, spec: stops[kind] });
      const { world, tasks, status, untilReason, annotate, versions } = one;
      let backup = new Backup(world);
      world.start();
      if (after > 0) {
        await world.until(() => tasks().length >= after, hourMs);
        await world.clock.advance(15_000);
        backup = new Backup(world);
      }
      if (kind === 'abort') {
        await world.until(() => tasks().length >= 7, hourMs);
        annotate(annotations.abort, `${status()?.rollout?.id}/now`);
      }
      expect(await untilReason(reasons[kind])).toBe(true);
      await world.clock.advance(hourMs);
      const count = tasks().length;
      restore(one, how, () => backup.restoreLedgers());
      await world.clock.advance(hourMs);
      expect(tasks()).toHaveLength(count);
      expect(status()?.rollout?.stopped?.reason).toBe(kind === 'rollback' ? 'RollingBack' : reasons[kind]);
      expect(versions().reported).toEqual(versions().true);

      world.model.patch({ groups: { zbad: { upgrade: null } } }, world.service.nowMs());
      const { id } = status()?.rollout ?? {};
      annotate(annotations.retry, `${id}/again`);
      await world.clock.advance(minuteMs);
      // The operator notices only at its next write that the ledger is lost. By then, it may have started another
      // rollout.
      const now = status()?.rollout ?? { id };
      if (now.id !== id) annotate(annotations.retry, now.id as string);
      expect(await untilReason('AllUpdated')).toBe(true);
      expect(versions()).toEqual({ true: { [target]: 12 }, reported: { [target]: 12 } });
    },
  );

  test.each([
    ['a pause', { paused: true }, 'Paused'],
    ['a selector without matches', { selector: { matchNames: ['none'] } }, 'NoCollectorsMatched'],
    ['a build that is no longer offered', undefined, 'VersionNotOffered'],
  ] as const)('of the ledgers alone keeps a stop, although the status shows %s first', async (_, spec, reason) => {
    const one = fleet({ groups: bad, spec: stops.failures });
    const { world, tasks, untilReason, patch, status } = one;
    world.start();
    await world.until(() => tasks().length >= 3, hourMs);
    const backup = new Backup(world);
    expect(await untilReason('RolloutStopped')).toBe(true);
    if (spec) patch({ spec });
    else world.model.patch({ builds: [before, '19.150-1'] }, world.service.nowMs());
    expect(await untilReason(reason, hourMs)).toBe(true);
    await world.clock.advance(hourMs);
    const count = tasks().length;
    restore(one, how, () => backup.restoreLedgers());
    await world.clock.advance(10 * minuteMs);
    patch({ spec: { paused: false, selector: { matchNames: null } } });
    world.model.patch({ builds: [before, target, '19.150-1'] }, world.service.nowMs());
    expect(await untilReason('RolloutStopped', hourMs)).toBe(true);
    await world.clock.advance(2 * hourMs);
    expect(tasks()).toHaveLength(count);
    expect(status()?.rollout?.stopped?.message).toContain('1 failure in the rollout');
  });

  const extents = [
    ['the ledgers alone', (backup: Backup) => backup.restoreLedgers()],
    ['everything', (backup: Backup) => backup.restoreAll()],
  ] as const;

  test.each(extents)('of %s upgrades no collector a second time', async (_, restored) => {
    const one = fleet({
      groups: { web: { count: 40, version: before } },
      spec: { strategy: { maxInProgress: 1, order: 'Name' } },
    });
    const { world, tasks, untilReason, versions } = one;
    world.start();
    await world.until(() => tasks().length >= 10, hourMs);
    const backup = new Backup(world);
    await world.clock.advance(hourMs);
    expect(tasks().length).toBeGreaterThan(25);
    restore(one, how, () => restored(backup));
    expect(await untilReason('AllUpdated', 6 * hourMs)).toBe(true);
    expect(new Set(perCollector(tasks(), target).values())).toEqual(new Set([1]));
    expect(versions()).toEqual({ true: { [target]: 40 }, reported: { [target]: 40 } });
  });

  test.each(extents)('of %s tries a failed collector at most once more', async (_, restored) => {
    const one = fleet({
      groups: { abad: { count: 6, version: before, ...fails }, web: { count: 6, version: before } },
    });
    const { world, tasks, untilReason, versions } = one;
    world.start();
    await world.until(() => tasks().length >= 2, hourMs);
    const backup = new Backup(world);
    await world.clock.advance(hourMs);
    expect(await untilReason('CollectorsFailed')).toBe(true);
    restore(one, how, () => restored(backup));
    await world.clock.advance(minuteMs);
    expect(await untilReason('CollectorsFailed')).toBe(true);
    await world.clock.advance(3 * hourMs);
    expect(Math.max(...perCollector(tasks(), target).values())).toBeLessThanOrEqual(2);
    expect(versions().reported).toEqual(versions().true);
  });

  test('of the ledgers alone restarts a soak that started after the backup', async () => {
    const one = fleet({ spec: { strategy: { maxInProgress: 2, order: 'Name', stages } } });
    const { world, tasks, untilReason } = one;
    const backup = new Backup(world);
    world.start();
    expect(await untilReason('Soaking')).toBe(true);
    await world.clock.advance(20 * minuteMs);
    const restoredMs = world.clock.now();
    restore(one, how, () => backup.restoreLedgers());
    expect(await world.until(() => tasks().length > 2, 4 * hourMs)).toBe(true);
    // The operator may notice the restore only at its next write to the ledger. In that case, the first soak ends as
    // planned, 25 minutes after the restore.
    expect(tasks()[2]?.requestTime).toBeGreaterThanOrEqual(restoredMs + 25 * minuteMs);
  });
});

test('a restore of everything keeps a stop from before the backup', async () => {
  const one = fleet({
    groups: { abad: { count: 4, version: before, ...fails }, web: { count: 8, version: before } },
    spec: { failurePolicy: { maxFailures: 0, minSamples: 1, action: 'Pause' } },
  });
  const { world, tasks, untilReason, status, annotate } = one;
  world.start();
  expect(await untilReason('RolloutStopped')).toBe(true);
  await world.clock.advance(minuteMs);
  const backup = new Backup(world);
  annotate(annotations.retry, `${status()?.rollout?.id}/1`);
  await world.until(() => tasks().length >= 2, hourMs);
  expect(await untilReason('RolloutStopped')).toBe(true);
  restore(one, 'between', () => backup.restoreAll());
  await world.clock.advance(3 * hourMs);
  expect(tasks()).toHaveLength(2);
  expect(world.ready('production')?.reason).toBe('RolloutStopped');
});

test('a restore keeps the failure of a collector that stopped running during a soak, although no listing shows it again (R5)', async () => {
  const { world, tasks, annotate, untilReason } = fleet({
    spec: {
      strategy: {
        maxInProgress: 5,
        order: 'Name',
        stages: [
          { name: 'canary', size: 2, soakDuration: '2h' },
          { name: 'rest', soakDuration: '0s' },
        ],
      },
    },
  });
  world.start();
  expect(await untilReason('Soaking')).toBe(true);
  const backup = new Backup(world);
  const there = world.snapshot().collectors.filter(({ version }) => version === target);
  const silent = Object.fromEntries(there.map(({ name }) => [name, { running: false }]));
  world.model.patch({ collectors: silent }, world.service.nowMs());
  expect(await untilReason('CollectorsFailed')).toBe(true);
  backup.restoreLedgers();
  // To pause the policy, the operator writes to the ledger. The write fails, because the restore has changed the
  // ledger.
  annotate(annotations.paused, 'true');
  expect(await untilReason('Paused')).toBe(true);
  annotate(annotations.paused, 'false');
  await world.clock.advance(10 * hourMs);
  expect(tasks()).toHaveLength(2);
  expect(world.ready('production')?.reason).toBe('CollectorsFailed');
});

/** Tests a target that is replaced and later set again. The operator keeps the results for the target (R6). */
import { describe, expect, test } from 'vitest';
import { hourMs } from '../../../src/base/time-units.ts';
import { Backup } from './backup.ts';
import { before, canary, middle, rest, type StagedSetting, staged, target } from './staged-world.ts';

const breaks = { outcomes: [{ share: 1, end: 'fail', message: 'disk full' }] } as const;
const stages = [{ ...canary, maxFailures: 0, soakDuration: '24h' }, rest];
const spec = { allowDowngrade: true };

function fleet(setting: StagedSetting = {}) {
  const world = staged({ stages, spec, ...setting });
  const { patch, tasks } = world;
  return {
    ...world,
    tried: () => new Set(tasks().flatMap((task) => (task.toVersion === target ? [task.collectorId] : []))).size,
    /** Changes the target and later changes it back, while the policy is paused. */
    away: async (awayMs: number) => {
      patch({ spec: { paused: true, target: { version: middle } } });
      await world.world.clock.advance(awayMs);
      patch({ spec: { paused: false, target: { version: target } } });
    },
  };
}

describe('an attempt in flight when the target changes', () => {
  test.each([1_000, 20_000])(
    'counts in its stage when it ends after the target returned, %d ms later',
    async (awayMs) => {
      const { world, tried, away, untilReason } = fleet({ scenario: { upgrade: { duration: '2m', ...breaks } } });
      world.start();
      expect(await world.until(() => tried() === 3, hourMs)).toBe(true);
      await away(awayMs);
      expect(await untilReason('RolloutStopped')).toBe(true);
      await world.clock.advance(48 * hourMs);
      expect(tried()).toBe(3);
    },
  );

  test('soaks when it succeeds after the target returned', async () => {
    const { world, snapshot, tried, away, untilReason } = fleet();
    world.start();
    expect(await world.until(() => tried() === 3, hourMs)).toBe(true);
    await away(1_000);
    expect(await untilReason('Soaking')).toBe(true);
    const [first] = snapshot().collectors.filter(({ version }) => version === target);
    world.model.patch({ collectors: { [first?.name ?? '']: { running: false } } }, world.service.nowMs());
    expect(await untilReason('RolloutStopped')).toBe(true);
    expect(tried()).toBe(3);
  });
});

describe('a collector that ran the target before the target changed', () => {
  test('soaks again, and a death after the return stops the rollout', async () => {
    const { world, snapshot, tried, away, untilReason } = fleet();
    world.start();
    await untilReason('Soaking');
    const [first] = snapshot().collectors.filter(({ version }) => version === target);
    await world.clock.advance(2 * hourMs);
    await away(10 * 60_000);
    await world.clock.advance(5 * 60_000);
    world.model.patch({ collectors: { [first?.name ?? '']: { running: false } } }, world.service.nowMs());
    expect(await untilReason('RolloutStopped')).toBe(true);
    await world.clock.advance(48 * hourMs);
    expect(tried()).toBe(3);
  });

  test('and stopped running before the target returned is no failure of this rollout', async () => {
    const { world, at, away, untilReason } = fleet({
      scenario: {
        groups: {
          web: { count: 10, version: before },
          dead: { count: 5, version: target, running: false, silentFor: '48h' },
        },
      },
    });
    world.start();
    await untilReason('Soaking');
    await away(hourMs);
    expect(await untilReason('AllUpdated', 30 * hourMs)).toBe(true);
    expect(at(target)).toBe(15);
  });
});

describe('a target that is set back to the version before the rollout (U8)', () => {
  const two = { ...spec, selector: { matchNames: ['web-0001', 'web-0002'] }, strategy: { maxInProgress: 2 } };

  function watched() {
    const made = staged({ spec: two });
    const { patch, status, world } = made;
    return {
      ...made,
      setBack: () => patch({ spec: { target: { version: before } } }),
      isReached: () => status()?.targetVersion === before && world.ready('production')?.reason === 'AllUpdated',
    };
  }

  test.each([1_000, 30_000])('is reached only once the collectors run it again, %d ms later', async (delayMs) => {
    const { world, at, setBack, isReached, untilReason } = watched();
    world.start();
    expect(await untilReason('AllUpdated')).toBe(true);
    expect(at(target)).toBe(2);
    await world.clock.advance(delayMs);
    setBack();
    expect(await world.until(isReached, hourMs)).toBe(true);
    expect(at(target)).toBe(0);
  });

  test('is reached only once upgrades in flight have ended and have been reversed', async () => {
    const { world, at, tasks, setBack, isReached } = watched();
    world.start();
    expect(await world.until(() => tasks().length === 2, hourMs)).toBe(true);
    setBack();
    expect(await world.until(isReached, hourMs)).toBe(true);
    expect([at(target), tasks().length]).toEqual([0, 4]);
  });
});

describe('after the ledger was restored or lost (U1)', () => {
  test('a rollout that was stopped since the return stays stopped', async () => {
    const { world, snapshot, tried, away, status, untilReason } = fleet();
    world.start();
    await untilReason('Soaking');
    const backup = new Backup(world);
    await away(60_000);
    await world.clock.advance(5 * 60_000);
    const there = snapshot().collectors.filter(({ version }) => version === target);
    const all = (running: boolean) => Object.fromEntries(there.map(({ name }) => [name, { running }]));
    world.model.patch({ collectors: all(false) }, world.service.nowMs());
    expect(await untilReason('RolloutStopped')).toBe(true);
    const numberOf = () => Number(status()?.rollout?.id.split('-')[0]);
    const number = numberOf();
    for (const replica of [...world.replicas]) replica.kill();
    backup.restoreLedgers();
    world.model.patch({ collectors: all(true) }, world.service.nowMs());
    world.start();
    await world.clock.advance(60 * hourMs);
    expect(world.ready('production')?.reason).toBe('RolloutStopped');
    expect(tried()).toBe(3);
    expect(numberOf()).toBeGreaterThan(number);
  });

  test.each(['lost', 'of before'])('while another target was set (%s), status shows the stop', async (how) => {
    const { world, tried, patch, untilReason, status } = fleet({
      scenario: { upgrade: { duration: '2m', ...breaks } },
    });
    const nothing = new Backup(world);
    world.start();
    expect(await world.until(() => tried() === 3, hourMs)).toBe(true);
    const begun = new Backup(world);
    expect(await untilReason('RolloutStopped')).toBe(true);
    patch({ spec: { paused: true, target: { version: middle } } });
    expect(await world.until(() => status()?.history?.[0]?.outcome === 'Stopped', hourMs)).toBe(true);
    for (const replica of [...world.replicas]) replica.kill();
    (how === 'lost' ? nothing : begun).restoreLedgers();
    patch({ spec: { paused: false, target: { version: target } } });
    world.start();
    await world.clock.advance(60 * hourMs);
    expect(world.ready('production')?.reason).toBe('RolloutStopped');
    expect(tried()).toBe(3);
  });
});

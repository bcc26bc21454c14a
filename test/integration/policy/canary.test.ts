/** Tests that a canary stage of 50 collectors detects a version that breaks 30 % of 5,000 collectors. */
import { describe, expect, test } from 'vitest';
import type { Scenario } from '../../../simulator/scenario/scenario.ts';
import { hourMs } from '../../../src/base/time-units.ts';
import { shareOf } from '../../support/random-runs.ts';
import { World } from '../../support/world.ts';

const [before, target] = ['19.100-1', '19.200-1'] as const;
const fleet = 5_000;
const canaries = 50;

function rollout(upgrade: Scenario['upgrade'], canary: object) {
  const world = new World({
    scenario: {
      builds: [before, target, '19.150-1'],
      groups: { web: { count: fleet, version: before } },
      ...(upgrade && { upgrade }),
    },
  });
  world.addSecret();
  world.addPolicy('production', {
    target: { version: target },
    offlinePolicy: 'Skip',
    strategy: {
      maxInProgress: '5%',
      order: 'Name',
      stages: [
        { name: 'canary', size: '1%', maxFailures: 0, soakDuration: '45m', ...canary },
        { name: 'rest', soakDuration: '0s' },
      ],
    },
  });
  world.start();
  const snapshot = () => world.snapshot();
  return {
    world,
    snapshot,
    tasks: () => snapshot().tasks,
    untilReason: (reason: string) => world.until(() => world.ready('production')?.reason === reason, 6 * hourMs),
  };
}

/** Returns the time in ms at which the operator first learned that an upgrade had failed. */
function failureKnownMs({ world, tasks }: ReturnType<typeof rollout>): number {
  const failed = tasks().filter(({ message }) => message === 'broken');
  const tellings = world.journal.filter(({ method, path, end }) =>
    failed.some(
      ({ id, endTime }) => method === 'GET' && path.split('/').includes(String(id)) && end >= (endTime ?? Number.NaN),
    ),
  );
  return Math.min(...tellings.map(({ end }) => end)) + 10;
}

const breaks = (duration: string) => ({
  duration,
  outcomes: [
    { share: 0.3, end: 'fail' as const, message: 'broken' },
    { share: 0.7, end: 'succeed' as const },
  ],
});

describe('a rollout in which 30 % of upgrades fail stops in the canary stage', () => {
  const timings = [
    ['when upgrades take longer than the start of all canaries', '2m', {}],
    ['when upgrades end while canaries still start', '5s', {}],
    ['when upgrades end one after the other', '30s', { maxInProgress: 4 }],
    ['when upgrades end at very different times', '20s..20m', {}],
  ] as const;
  test.each(shareOf(timings, 2, 0))('%s', async (_, duration, canary) => {
    const one = rollout(breaks(duration), canary);
    expect(await one.untilReason('RolloutStopped')).toBe(true);
    const knownMs = failureKnownMs(one);
    expect(Number.isFinite(knownMs)).toBe(true);
    expect(one.tasks().filter(({ requestTime }) => requestTime > knownMs)).toEqual([]);
    expect(one.tasks().length).toBeLessThanOrEqual(canaries);
    const count = one.tasks().length;
    await one.world.clock.advance(hourMs);
    expect(one.tasks()).toHaveLength(count);
    const broken = one.tasks().filter(({ message }) => message === 'broken');
    expect(broken.length).toBeGreaterThan(0);
    expect(one.world.policy('production')?.status?.stages).toMatchObject([
      { name: 'canary', members: canaries, state: 'Stopped' },
      { name: 'rest', members: fleet - canaries, updated: 0, failed: 0, state: 'Pending' },
    ]);
  });
});

test('the soak of the canary stage detects a version that kills 30 % of the collectors', async () => {
  const one = rollout({ duration: '2m' }, {});
  expect(await one.untilReason('Soaking')).toBe(true);
  const upgraded = one.snapshot().collectors.filter(({ version }) => version === target);
  expect(upgraded).toHaveLength(canaries);
  const victims = Object.fromEntries(upgraded.slice(0, 15).map(({ name }) => [name, { running: false }]));
  one.world.model.patch({ collectors: victims }, one.world.service.nowMs());
  expect(await one.untilReason('RolloutStopped')).toBe(true);
  await one.world.clock.advance(hourMs);
  expect(one.tasks()).toHaveLength(canaries);
  expect(one.world.ready('production')?.message).toMatch(/^(15 failures|1 failure) in stage canary/);
});

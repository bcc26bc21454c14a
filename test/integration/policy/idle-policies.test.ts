/** Tests that a paused policy becomes idle, and that a policy's status is correct after the process has ended. */
import { expect, test } from 'vitest';
import { minuteMs } from '../../../src/base/time-units.ts';
import { policiesPath, World } from '../../support/world.ts';

const scenario = {
  builds: ['19.100-1', '19.150-1', '19.200-1'],
  groups: { web: { count: 40, version: '19.100-1' } },
  upgrade: { duration: '2m' },
} as const;

function rolling(): World {
  const world = new World({ scenario });
  world.addSecret();
  world.addPolicy('production', { target: { version: '19.200-1' }, strategy: { maxInProgress: 10 } });
  return world;
}

const inProgress = (world: World) => world.policy('production')?.status?.collectors?.inProgress ?? 0;
const running = (world: World) => world.snapshot().collectors.filter(({ upgrading }) => upgrading).length;

test('a paused rollout is idle after the upgrades in flight, and its status no longer changes', async () => {
  const world = rolling();
  const process = world.start();
  expect(
    await world.until(() => (world.policy('production')?.status?.collectors?.updated ?? 0) >= 10, 20 * minuteMs),
  ).toBe(true);
  world.api.patch(`${policiesPath}/production`, { metadata: { annotations: { 'logfleet.dev/paused': 'true' } } });
  expect(
    await world.until(() => world.ready('production')?.reason === 'Paused' && inProgress(world) === 0, 20 * minuteMs),
  ).toBe(true);
  expect(await world.until(process.watchEnd(), minuteMs)).toBe(true);
  const { rollout } = world.policy('production')?.status ?? {};
  expect(Object.keys(rollout ?? {})).toEqual(['id', 'startTime', 'actions']);
  const version = world.policy('production')?.metadata.resourceVersion;
  await world.clock.advance(10 * minuteMs);
  expect(world.policy('production')?.metadata.resourceVersion).toBe(version);
});

test('U2: a process that ends while it sends POSTs leaves a status that counts the running upgrades', async () => {
  const world = rolling();
  const replica = world.start();
  expect(await world.until(() => running(world) >= 2, minuteMs)).toBe(true);
  expect(inProgress(world)).toBeGreaterThan(running(world));
  const stopped = replica.stop();
  await world.clock.advance(minuteMs);
  await stopped;
  expect(running(world)).toBeGreaterThanOrEqual(2);
  expect(inProgress(world)).toBe(running(world));
});

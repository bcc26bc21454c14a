/** Tests `minAge`, the minimum age of a build. */
import { expect, test } from 'vitest';
import { hourMs, minuteMs } from '../../../src/base/time-units.ts';
import { World } from '../../support/world.ts';

function fleet(): World {
  const world = new World({
    scenario: {
      builds: [{ version: '19.100-1' }, { version: '19.150-1' }, { version: '19.200-1', latest: true }],
      groups: { web: { count: 4, version: '19.100-1' } },
      upgrade: { duration: '30s' },
    },
  });
  world.addSecret();
  return world;
}

const tasks = (world: World) =>
  world.journal.filter(({ method, path }) => method === 'POST' && path.includes('upgrade'));

test('a rollout starts when a build reaches minAge, even after a takeover', async () => {
  const world = fleet();
  world.addPolicy('production', { target: { channel: 'Latest', minAge: '5h' } });
  const beganMs = world.clock.now();
  const first = world.start();
  expect(await world.until(() => world.ready('production')?.reason === 'WaitingForBuildAge', minuteMs)).toBe(true);
  const conditions = world.policy('production')?.status?.conditions;
  expect(conditions?.map(({ type, status }) => [type, status])).toEqual([
    ['Ready', 'False'],
    ['Reconciling', 'True'],
  ]);
  const untilMs = Date.parse(/until (\S+Z):/.exec(world.ready('production')?.message ?? '')?.[1] ?? '');
  expect(untilMs - beganMs - 5 * hourMs).toBeGreaterThanOrEqual(-1_000);
  expect(untilMs - beganMs - 5 * hourMs).toBeLessThan(10_000);

  await world.clock.advance(2 * hourMs);
  first.kill();
  await world.clock.advance(hourMs);
  world.start();
  await world.clock.advance(untilMs - world.clock.now() - minuteMs);
  expect(tasks(world)).toEqual([]);
  expect(world.ready('production')?.message).toContain(new Date(untilMs).toISOString().slice(0, 19));
  expect(await world.until(() => tasks(world).length > 0, 2 * minuteMs)).toBe(true);
  expect(await world.until(() => world.ready('production')?.status === 'True', 10 * minuteMs)).toBe(true);
  expect(world.policy('production')?.status?.targetVersion).toBe('19.200-1');
});

test('a policy keeps its target until a newer build reaches minAge', async () => {
  const world = fleet();
  world.addPolicy('production', { target: { channel: 'Latest', versionPattern: '19.*', minAge: '2h' } });
  world.start();
  const runs = (version: string) => () =>
    world.ready('production')?.status === 'True' && world.policy('production')?.status?.targetVersion === version;
  expect(await world.until(runs('19.200-1'), 3 * hourMs)).toBe(true);
  world.model.patch(
    { builds: ['19.100-1', '19.150-1', '19.200-1', { version: '19.300-1', latest: true }] },
    world.clock.now(),
  );
  await world.clock.advance(2 * hourMs - minuteMs);
  expect(runs('19.200-1')()).toBe(true);
  expect(tasks(world)).toHaveLength(4);
  expect(await world.until(runs('19.300-1'), hourMs)).toBe(true);
});

test('a run on a directory does not wait until a build reaches minAge', async () => {
  const world = fleet();
  world.addPolicy('production', { target: { channel: 'Latest', minAge: '168h' } });
  const process = world.start();
  expect(await world.until(process.watchEnd(), minuteMs)).toBe(true);
  expect(world.ready('production')?.reason).toBe('WaitingForBuildAge');
});

test('the age of a withdrawn build counts again from its return', async () => {
  const world = fleet();
  world.addPolicy('production', { target: { channel: 'Latest', minAge: '5h' } });
  world.start();
  const older = [{ version: '19.100-1' }, { version: '19.150-1', latest: true }];
  const all = [{ version: '19.100-1' }, { version: '19.150-1' }, { version: '19.200-1', latest: true }];
  await world.clock.advance(4 * hourMs);
  world.model.patch({ builds: older }, world.clock.now());
  await world.clock.advance(30 * minuteMs);
  expect(world.ready('production')?.message).toContain('build 19.150-1');
  world.model.patch({ builds: all }, world.clock.now());
  await world.clock.advance(4 * hourMs);
  expect(world.ready('production')?.message).toContain('build 19.200-1');
  expect(tasks(world)).toEqual([]);
  expect(await world.until(() => tasks(world).length > 0, 2 * hourMs)).toBe(true);
});

test('a policy whose target is withdrawn waits for another build to reach minAge, and is not stalled', async () => {
  const world = fleet();
  world.addPolicy('production', { target: { channel: 'Latest', minAge: '5h' } });
  world.start();
  expect(await world.until(() => world.ready('production')?.reason === 'AllUpdated', 7 * hourMs)).toBe(true);
  const builds = [{ version: '19.100-1' }, { version: '19.300-1', latest: true }];
  world.model.patch({ builds }, world.clock.now());
  expect(await world.until(() => world.ready('production')?.reason === 'WaitingForBuildAge', hourMs)).toBe(true);
  const conditions = world.policy('production')?.status?.conditions ?? [];
  expect(conditions.find(({ type }) => type === 'Stalled')).toBeUndefined();
  expect(conditions.find(({ type }) => type === 'Reconciling')?.reason).toBe('WaitingForBuildAge');
  expect(await world.until(() => world.ready('production')?.reason === 'AllUpdated', 7 * hourMs)).toBe(true);
  expect(world.policy('production')?.status?.targetVersion).toBe('19.300-1');
});

test('a pause is reported before the wait for minAge', async () => {
  const world = fleet();
  world.addPolicy('production', { target: { channel: 'Latest', minAge: '5h' }, paused: true });
  world.start();
  await world.clock.advance(minuteMs);
  expect(world.ready('production')).toMatchObject({ status: 'Unknown', reason: 'Paused' });
});

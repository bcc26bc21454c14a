/** Tests how many requests schedules send: to the service during a backfill, and to the API server while idle. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { reasons } from '../../../src/api/conditions.ts';
import { dayMs, hourMs, minuteMs } from '../../../src/base/time-units.ts';
import { minPerRun } from './min-requests.ts';
import { every, ScheduleWorld, startMs } from './schedule-world.ts';

test.each([
  ['of a second', '1s'],
  ['of five seconds', '5s'],
])(
  'a backfill during due runs needs at most 1.10 times the minimum number of requests, with searches %s',
  async (_, duration) => {
    const messages = every(20 * minuteMs, startMs - 3 * dayMs, startMs + 2 * dayMs);
    const world = new ScheduleWorld({ messages, scenario: { search: { duration } } });
    world.add({ startTime: new Date(startMs - 2 * dayMs).toISOString().replace('.000', '') });
    world.start();
    expect(await world.until(() => world.ready?.reason === reasons.upToDate)).toBe(true);
    await world.world.clock.advance(10 * minuteMs);
    const runs = world.records().length;
    expect(runs).toBeGreaterThanOrEqual(48);
    expect(world.world.journal.length / (runs * minPerRun)).toBeLessThanOrEqual(1.1);
  },
);

/** Returns the heap size in KB after a garbage collection. */
function heapKilobytes(): number {
  setFlagsFromString('--expose-gc');
  runInNewContext('gc')();
  return process.memoryUsage().heapUsed / 1_024;
}

test('a schedule takes at most 50 KB of memory', async () => {
  const count = 500;
  const world = new ScheduleWorld();
  const spec = { schedule: '0 5 * * *' };
  world.add(spec, {}, 'first');
  world.start();
  await world.world.clock.advance(minuteMs);
  const before = heapKilobytes();
  for (let index = 0; index < count; index++) world.add(spec, {}, `daily-${index}`);
  await world.world.clock.advance(3 * minuteMs);
  world.world.api.compact();
  expect(world.store.objects.size).toBe(count + 1);
  expect((heapKilobytes() - before) / count).toBeLessThanOrEqual(50);
});

test('after a restart, an idle schedule opens its destination only when a run is due', async () => {
  const count = 100;
  const world = new ScheduleWorld();
  for (let index = 0; index < count; index++) world.add({ schedule: '0 5 * * *' }, {}, `daily-${index}`);
  const first = world.start();
  await world.world.clock.advance(hourMs);
  expect(world.opened).toBeGreaterThanOrEqual(count);
  world.kill(first);
  const before = world.opened;
  world.start();
  await world.world.clock.advance(10 * hourMs);
  expect(world.opened).toBe(before);
  await world.world.clock.advance(14 * hourMs);
  expect(world.opened).toBeGreaterThanOrEqual(before + count);
});

test('a hundred idle schedules cause only watches and lists of each kind', async () => {
  const world = new ScheduleWorld();
  for (let index = 0; index < 100; index++) world.add({ schedule: '0 5 * * *' }, {}, `daily-${index}`);
  world.start();
  await world.world.clock.advance(hourMs);
  const { requests } = world.world.api;
  const before = requests.length;
  await world.world.clock.advance(10 * hourMs);
  const counts = new Map<string, number>();
  for (const { method, path } of requests.slice(before)) {
    counts.set(`${method} ${path}`, (counts.get(`${method} ${path}`) ?? 0) + 1);
  }
  const collections = [
    '/api/v1/namespaces/logfleet-system/configmaps',
    ...['collectorversionpolicies', 'searchexports', 'searchexportschedules'].map(
      (plural) => `/apis/logfleet.dev/v1alpha1/${plural}`,
    ),
  ];
  expect([...counts.keys()].sort()).toEqual(collections.flatMap((path) => [`GET ${path}`, `WATCH ${path}`]).sort());
  // The operator lists each kind of resource at random intervals of nine to eleven minutes.
  const maxLists = (10 * hourMs) / (9 * minuteMs);
  for (const path of collections) expect(counts.get(`GET ${path}`)).toBeLessThanOrEqual(maxLists);
});

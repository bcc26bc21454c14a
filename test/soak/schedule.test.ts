/** Tests an hourly schedule over a year, with clock changes, downtime, 200 kills and lost statuses. */
import { expect, test } from 'vitest';
import { reasons } from '../../src/api/conditions.ts';
import { type Random, seededRandom } from '../../src/base/random.ts';
import { dayMs, hourMs, minuteMs } from '../../src/base/time-units.ts';
import { ScheduleLayout } from '../../src/destination/schedule-records.ts';
import {
  every,
  exportsCollection,
  exportsPath,
  ScheduleWorld,
  schedulesPath,
  textsIn,
} from '../integration/schedule/schedule-world.ts';
import { countFrom, schedulePool } from '../simulation/history-pool.ts';

const epochMs = Date.UTC(2026, 0, 1);
const yearMs = 365 * dayMs;
const kills = 200;

/** Creates a year's messages. One in ten arrives up to two hours late. */
function lateMessages(random: Random) {
  return every(17 * minuteMs, epochMs, epochMs + yearMs + 5 * dayMs).map((message) => ({
    ...message,
    received: message.at + (random.next() < 0.1 ? Math.floor(random.next() * 2 * hourMs) : 0),
  }));
}

test.each([1, 2])('a year from seed %i covers every moment once', async (seed) => {
  const random = seededRandom(seed);
  const messages = lateMessages(random);
  const world = new ScheduleWorld({ messages, epochMs });
  const { clock } = world.world;
  const repeatedRuns = runsCreatedAgain(world);
  world.add({ timeZone: 'Europe/Berlin', startTime: '2026-01-01T00:00:00Z' }, { byReceiptTime: true });
  for (let kill = 0; kill < kills; kill++) {
    const replica = world.start();
    await clock.advance(random.next() * 2 * (yearMs / kills));
    world.kill(replica);
    // In half of the cases, the next process starts while the killed process's search jobs still exist.
    if (random.next() < 0.5) await clock.advance(random.next() * 3 * hourMs);
    if (kill === 100) await clock.advance(3 * dayMs);
    disturb(world, random);
  }
  world.patch({ spec: { schedule: '0 * * * *', paused: false } });
  world.start();
  await clock.advance(2 * hourMs);
  world.retry();
  expect(await world.until(() => world.ready?.reason === reasons.upToDate, 10 * dayMs)).toBe(true);
  await clock.advance(10 * minuteMs);

  const records = world.records();
  const untilMs = records.at(-1)?.toMs ?? 0;
  expect(untilMs).toBeGreaterThan(epochMs + 0.8 * yearMs);
  expect(repeatedRuns).toEqual([]);
  expect(records[0]?.fromMs).toBe(epochMs);
  expect(records.filter(({ fromMs }, index) => index > 0 && fromMs !== records[index - 1]?.toMs)).toEqual([]);
  const byReceipt = messages.map(({ received, raw }) => ({ at: received, raw }));
  expect(world.rows()).toEqual(textsIn(byReceipt, { fromMs: epochMs, toMs: untilMs }));
  const proven = { fromMs: epochMs, toMs: untilMs, runs: records.length, rows: world.rows().length };
  expect(await world.verify()).toMatchObject({ ...proven, gaps: [], overlaps: [], problems: [] });
});

const perTest = 100;
const firstSeeds = Array.from({ length: 10 }, (_, index) => 4 + index * perTest);

test.each(firstSeeds)('simulations of schedules from seed %i on', async (first) => {
  expect(await schedulePool.run({ seeds: countFrom(first, perTest) })).toEqual([]);
});

/**
 * Records the runs that the operator creates although they already have a schedule record. Returns the list to which
 * their names are added.
 */
function runsCreatedAgain(world: ScheduleWorld): readonly string[] {
  const names: string[] = [];
  const { store } = world.world.api;
  const { onEvent } = store;
  store.onEvent = (event) => {
    const { name } = event.object.metadata;
    const times = name.slice('hourly-'.length);
    const isNewRun = event.type === 'ADDED' && event.collection === exportsCollection;
    if (isNewRun && world.store.objects.has(ScheduleLayout.of('hourly').run(times))) names.push(name);
    onEvent(event);
  };
  return names;
}

/** Changes or removes schedule data while no operator is running. */
function disturb(world: ScheduleWorld, random: Random): void {
  const [run] = world.runs();
  const actions = [
    () => world.world.api.patch(`${schedulesPath}/hourly/status`, { status: null }),
    () => run && world.world.api.remove(`${exportsPath}/${run.metadata.name}`),
    () => world.patch({ spec: { template: { spec: { query: random.next() < 0.5 ? '*' : '_raw=*' } } } }),
    () => world.patch({ spec: { schedule: random.next() < 0.5 ? '0 * * * *' : '30 */5 * * *' } }),
    () => world.patch({ spec: { backfillOrder: random.next() < 0.5 ? 'OldestFirst' : 'NewestFirst' } }),
    () =>
      world.patch({
        spec: { template: { spec: { limits: random.next() < 0.3 ? { maxMessages: 1 } : { maxMessages: null } } } },
      }),
    () => world.retry(),
    () => {},
  ];
  actions[Math.floor(random.next() * actions.length)]?.();
}

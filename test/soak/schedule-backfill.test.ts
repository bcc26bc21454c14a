/** Tests a backfill of 1,000 runs: how many requests it sends, and how long it delays a new run. */
import { expect, test } from 'vitest';
import { reasons } from '../../src/api/conditions.ts';
import type { TimeRange } from '../../src/base/time-range.ts';
import { minuteMs } from '../../src/base/time-units.ts';
import { runName } from '../../src/schedule/run-name.ts';

import { minPerRun } from '../integration/schedule/min-requests.ts';
import { every, ScheduleWorld, startMs } from '../integration/schedule/schedule-world.ts';

const backfill = 1_000;
const stepMs = 10 * minuteMs;
const fromMs = startMs - backfill * stepMs;

/** Records when each run is created and completed, in ms, by run name. */
function followRuns({ world: { api, clock } }: ScheduleWorld) {
  const created = new Map<string, number>();
  const completed = new Map<string, number>();
  const { onEvent } = api.store;
  api.store.onEvent = (event) => {
    const { metadata, status } = event.object as { metadata: { name: string }; status?: { completionTime?: string } };
    if (event.collection.endsWith('/searchexports')) {
      if (event.type === 'ADDED') created.set(metadata.name, clock.now());
      if (status?.completionTime !== undefined && !completed.has(metadata.name))
        completed.set(metadata.name, clock.now());
    }
    onEvent(event);
  };
  return { created, completed };
}

test.each([
  ['NewestFirst', 1],
  ['NewestFirst', 2],
  ['OldestFirst', 2],
] as const)(
  'a backfill of 1,000 runs, %s, %i at a time, needs at most 1.10 times the minimum number of requests, and a due run waits for at most one other run',
  async (backfillOrder, maxActive) => {
    const messages = every(3 * minuteMs, fromMs, startMs + 48 * 60 * minuteMs);
    const world = new ScheduleWorld({ messages, scenario: { search: { duration: '5s' } } });
    const { created, completed } = followRuns(world);
    const startTime = new Date(fromMs).toISOString().replace('.000', '');
    world.add({ schedule: '*/10 * * * *', startTime, backfillOrder, maxActive });
    world.start();
    expect(await world.until(() => world.ready?.reason === reasons.upToDate, 48 * 60 * minuteMs)).toBe(true);
    await world.world.clock.advance(8 * minuteMs);
    const records = world.records();
    expect(records.length).toBeGreaterThan(backfill);
    expect((await world.verify())?.gaps).toEqual([]);
    const ratio = world.world.journal.length / (records.length * minPerRun);
    const durationOf = (name: string) => (completed.get(name) ?? 0) - (created.get(name) ?? 0);
    const longestMs = Math.max(...records.map((span) => durationOf(runName('hourly', span))));
    // A run becomes due three minutes after the end of its time range, because the schedule's `settleDelay` is three
    // minutes.
    const dueMs = ({ toMs }: TimeRange) => toMs + 3 * minuteMs;
    const due = records.filter((span) => dueMs(span) > startMs);
    const waits = due.map((span) => (created.get(runName('hourly', span)) ?? dueMs(span)) - dueMs(span));
    expect(due.length).toBeGreaterThan(5);
    expect(ratio).toBeLessThanOrEqual(1.1);
    expect(Math.max(...waits)).toBeLessThanOrEqual(longestMs);
  },
);

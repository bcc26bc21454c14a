/** Tests a backfill of 1,000 runs: how many requests it sends, and how long it delays a new run. */
import { expect, test } from 'vitest';
import { reasons } from '../../src/api/conditions.ts';
import type { SearchExport } from '../../src/api/kinds.ts';
import type { TimeRange } from '../../src/base/time-range.ts';
import { minuteMs } from '../../src/base/time-units.ts';
import { runName } from '../../src/schedule/run-name.ts';

import { minPerRun } from '../integration/schedule/min-requests.ts';
import { every, ScheduleWorld, startMs } from '../integration/schedule/schedule-world.ts';
import { JobController } from '../support/job-controller.ts';

const backfill = 1_000;
const stepMs = 10 * minuteMs;
const fromMs = startMs - backfill * stepMs;

/** Records when each run is started and completed, in ms, by run name. A run in a Job starts when the Job is created. */
function followRuns({ world: { api, clock } }: ScheduleWorld) {
  const started = new Map<string, number>();
  const completed = new Map<string, number>();
  const { onEvent } = api.store;
  api.store.onEvent = (event) => {
    const { metadata, spec, status } = event.object as unknown as SearchExport;
    if (event.collection.endsWith('/searchexports')) {
      const isStarted = spec.execution.mode === 'Operator' || status?.kubernetesJob !== undefined;
      if (isStarted && !started.has(metadata.name)) started.set(metadata.name, clock.now());
      if (status?.completionTime !== undefined && !completed.has(metadata.name))
        completed.set(metadata.name, clock.now());
    }
    onEvent(event);
  };
  return { started, completed };
}

/** Exports everything, and checks that no due run waits longer than the longest run takes. */
async function expectShortWaits(world: ScheduleWorld): Promise<void> {
  const { started, completed } = followRuns(world);
  world.start();
  expect(await world.until(() => world.ready?.reason === reasons.upToDate, 48 * 60 * minuteMs)).toBe(true);
  await world.world.clock.advance(8 * minuteMs);
  expect((await world.verify())?.gaps).toEqual([]);
  const records = world.records();
  const durationOf = (name: string) => (completed.get(name) ?? 0) - (started.get(name) ?? 0);
  const longestMs = Math.max(...records.map((span) => durationOf(runName('hourly', span))));
  // A run becomes due three minutes after the end of its time range, because the schedule's `settleDelay` is three
  // minutes.
  const dueMs = ({ toMs }: TimeRange) => toMs + 3 * minuteMs;
  const due = records.filter((span) => dueMs(span) > startMs);
  const waits = due.map((span) => (started.get(runName('hourly', span)) ?? dueMs(span)) - dueMs(span));
  expect(due.length).toBeGreaterThan(5);
  expect(Math.max(...waits)).toBeLessThanOrEqual(longestMs);
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
    const startTime = new Date(fromMs).toISOString().replace('.000', '');
    world.add({ schedule: '*/10 * * * *', startTime, backfillOrder, maxActive });
    await expectShortWaits(world);
    const { length } = world.records();
    expect(length).toBeGreaterThan(backfill);
    expect(world.world.journal.length / (length * minPerRun)).toBeLessThanOrEqual(1.1);
  },
);

test.each([
  [1, 10],
  [2, 4],
  [3, 2],
])(
  'a due run waits for at most one other run if the runs are Jobs with %i workers, %i at a time',
  async (workers, maxActive) => {
    const fromMs = startMs - 60 * stepMs;
    const messages = every(3 * minuteMs, fromMs, startMs + 48 * 60 * minuteMs);
    const scenario = { search: { duration: '100s' } };
    const world = new ScheduleWorld({ messages, scenario, workerImage: 'logfleet:test' });
    new JobController(world.world, world.exports.options);
    const startTime = new Date(fromMs).toISOString().replace('.000', '');
    const execution = { mode: 'Job', job: { workers } };
    const destination = { s3: { bucket: 'logs', region: 'eu-central-1' } };
    world.add({ schedule: '*/10 * * * *', startTime, maxActive }, { execution, destination });
    await expectShortWaits(world);
  },
);

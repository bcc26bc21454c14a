/** Measures in virtual time how much faster several workers export than one worker. */
import { expect, test } from 'vitest';
import { type Clock, sleep } from '../../../src/base/clock.ts';
import { minuteMs } from '../../../src/base/time-units.ts';
import { JobController } from '../../support/job-controller.ts';
import type { MemoryDestination } from '../../support/memory-destination.ts';
import { shareOf } from '../../support/random-runs.ts';
import { ExportWorld, evenly } from './export-world.ts';

/** CPU time in ms that a worker needs per file. */
const fileMs = 2_500;

/** Simulates a worker with one CPU, which completes one file after another. */
function oneProcessor(destination: MemoryDestination, clock: Clock): void {
  let freeAtMs = 0;
  destination.strike = (call, name) => {
    if (call !== 'finish' || !name.includes('/data/')) return undefined;
    freeAtMs = Math.max(freeAtMs, clock.monotonic()) + fileMs;
    return { until: sleep(clock, freeAtMs - clock.monotonic()) };
  };
}

async function timeOf(workers: number): Promise<number> {
  const world = new ExportWorld({
    workerImage: 'logfleet:test',
    messages: evenly(12_000),
    scenario: {
      search: { messageLimit: 200, duration: '1s' },
      limits: { requestsPerSecond: 0, concurrentRequests: 0 },
    },
  });
  const { clock } = world.world;
  world.onOpen = (destination) => oneProcessor(destination, clock);
  const controller = new JobController(world.world, world.exports.options);
  controller.limitsInstead = { requestsPerSecond: 50, maxConcurrentRequests: 10 };
  const destination = { persistentVolumeClaim: { claimName: 'audit' } };
  world.add({ destination, parallelism: 8, execution: { mode: 'Job', job: { workers } } });
  world.start();
  await world.world.until(() => controller.running.length === workers, 30 * minuteMs);
  const startMs = clock.monotonic();
  const isOver = () => [...world.store.objects.keys()].some((name) => name.endsWith('/manifest.json'));
  expect(await world.world.until(isOver, 30 * minuteMs)).toBe(true);
  return clock.monotonic() - startMs;
}

const speeds = [
  [2, 1.8],
  [3, 2.4],
] as const;

test.each(shareOf(speeds, 2, 0))(
  'E16: %i workers with one CPU each export at least %d times as fast as one',
  async (workers, times) => {
    expect((await timeOf(1)) / (await timeOf(workers))).toBeGreaterThanOrEqual(times);
  },
);

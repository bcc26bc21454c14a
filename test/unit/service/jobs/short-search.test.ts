/** Tests how many status requests a short search needs (sections 2.3 and 3.1 of docs/service.md, B4). */
import { describe, expect, test } from 'vitest';
import type { Scenario } from '../../../../simulator/scenario/scenario.ts';
import { RowData } from '../../../../simulator/test/row-data.ts';
import { ClientWorld, messageCount } from '../../../support/client-world.ts';

describe('a search of at most ten seconds takes two status requests for any distribution of its messages', () => {
  const minute = 60_000;
  const spreads = {
    evenly: [0, 60 * minute],
    'in the oldest minute of the hour': [59 * minute, 60 * minute],
    'in the newest minute of the hour': [0, minute],
    'in the older half of the hour': [30 * minute, 60 * minute],
    nowhere: [0, 0],
  } as const;
  const shapes = {
    'a plain one': {},
    'a search with its histogram first (E13)': { histogramFirst: true },
    'a search with its complete histogram first in each status': { histogramFirst: true, status: { buckets: 'all' } },
  } as const satisfies Record<string, Scenario['search']>;
  const durations = [1, 3, 4.5, 6, 8, 9.5];
  const looksOf = async (search: Scenario['search'], [newestMs, oldestMs]: readonly [number, number]) => {
    const world = new ClientWorld(
      { search: { ...search, notStartedFor: '0s' } },
      {
        logData: (startMs) => {
          const count = oldestMs === 0 ? 0 : messageCount;
          const agoMs = (index: number) => newestMs + ((oldestMs - newestMs) * (index + 1)) / count;
          return new RowData(
            Array.from({ length: count }, (_, index) => ({ at: startMs - agoMs(index), raw: 'message' })),
          );
        },
      },
    );
    const job = await world.run(world.jobs.open(world.order));
    await world.run(job.whenFinished());
    const seenAtMs = world.clock.monotonic() - job.createdAtMs;
    return { looks: world.requests('getJob').length, seenAtMs };
  };

  for (const [spread, places] of Object.entries(spreads)) {
    for (const [shape, search] of Object.entries(shapes)) {
      test.each(durations)(`${shape} of %d s with messages ${spread}`, async (seconds) => {
        const { looks, seenAtMs } = await looksOf({ ...search, duration: `${seconds}s` }, places);
        expect(looks).toBeLessThanOrEqual(2);
        expect(seenAtMs).toBeLessThan(10_600);
      });
    }
    test.each(durations)(`a search of %d s, half of it for subqueries, with messages ${spread}`, async (seconds) => {
      const half = `${seconds / 2}s`;
      const { looks, seenAtMs } = await looksOf({ duration: half, subqueriesFor: half }, places);
      expect(looks).toBeLessThanOrEqual(2);
      expect(seenAtMs).toBeLessThan(10_600);
    });
  }
});

test('a search of 2 s is seen as done by its first status request, even if its histogram shows little progress', async () => {
  const world = new ClientWorld(
    { search: { duration: '2s' } },
    { logData: (startMs) => new RowData([{ at: startMs - 1_000, raw: 'message' }]) },
  );
  const job = await world.run(world.jobs.open(world.order));
  await world.run(job.whenFinished());
  expect(world.requests('getJob')).toHaveLength(1);
  expect(world.clock.monotonic() - job.createdAtMs).toBeLessThan(3_000);
});

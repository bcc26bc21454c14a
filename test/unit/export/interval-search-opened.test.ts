/** Tests interval searches that reuse a search job opened for planning the export. */
import { describe, expect, test } from 'vitest';
import type { Scenario } from '../../../simulator/scenario/scenario.ts';
import { hourMs } from '../../../src/base/time-units.ts';
import { evenly, hour, SearchWorld, type SearchWorldOptions, startMs } from './search-world.ts';

const limited = (more: Scenario['search'] = {}): Scenario => ({
  search: { messageLimit: 250, pages: { maxMessages: 50 }, status: { bucketLength: '10m' }, ...more },
});

async function takenOver(
  options: SearchWorldOptions,
  { fromMs, countedRows, isDone = true }: { fromMs: number; countedRows?: number; isDone?: boolean },
) {
  const world = new SearchWorld(options);
  const job = await world.simulated.run(world.jobs.open(world.definition.order(hour, world.quirks.isEndInclusive)));
  if (isDone) await world.simulated.run(job.whenFinished());
  const opened = { job, countedRows };
  const outcome = await world.search({ fromMs }, { opened });
  return { world, outcome };
}

/** Start of the interval, which covers the last 20 minutes and contains 200 of the 600 messages. */
const fromMs = startMs - hourMs / 3;

describe('a job that was opened for a longer range', () => {
  test.each<[string, Scenario, number | undefined, string, number]>([
    // The search reads the four full pages of the 200 messages. It then reads a fifth page, because the message count
    // might be one too low.
    ['whole buckets', limited(), undefined, 'Histogram', 5],
    ['what an aggregation has counted', limited(), 200, 'Aggregate', 5],
    ['a separate count', limited({ status: { bucketLength: '2h' } }), undefined, 'Aggregate', 5],
  ])('commits the interval by %s', async (_name, scenario, countedRows, source, pages) => {
    const { world, outcome } = await takenOver({ scenario }, { fromMs, ...(countedRows && { countedRows }) });
    expect(outcome).toMatchObject({
      kind: 'committed',
      record: { fromMs, toMs: startMs, written: 200, count: { rows: 200, source } },
    });
    const [record] = await world.records();
    expect(record && (await world.complaints(record))).toEqual([]);
    expect(world.countOf('listMessages')).toBe(pages);
    const isCounted = source === 'Aggregate' && countedRows === undefined;
    expect(world.countOf('createJob')).toBe(isCounted ? 2 : 1);
  });

  test('is used with all pages that its interval needs', async () => {
    const { world, outcome } = await takenOver({}, { fromMs });
    expect(outcome).toMatchObject({ kind: 'committed', record: { fromMs, written: 200 } });
    const [record] = await world.records();
    expect(record && (await world.complaints(record))).toEqual([]);
  });

  test('is awaited while it still searches', async () => {
    const { world, outcome } = await takenOver({ scenario: limited({ duration: '60s' }) }, { fromMs, isDone: false });
    expect(outcome).toMatchObject({ kind: 'committed', record: { fromMs, written: 200 } });
    expect(await world.leftovers((await world.records())[0]?.files.map(({ name }) => name))).toEqual([]);
    // The duration of a longer search says nothing about the search of a shorter interval.
    expect(world.quirks.searchMs).toBeUndefined();
  });

  test('that does not cover the start of the interval commits its part, and the rest is searched again', async () => {
    const far = { fromMs: startMs - hourMs / 2 };
    const { world, outcome } = await takenOver({ scenario: limited({ status: { bucketLength: '2h' } }) }, far);
    expect(outcome).toMatchObject({ kind: 'committed', record: { written: 249, count: { source: 'Aggregate' } } });
    const [record] = await world.records();
    expect(record?.fromMs).toBeGreaterThan(far.fromMs);
    expect(record && (await world.complaints(record))).toEqual([]);
  });

  test('that has more or fewer rows than counted is read completely, and not committed with a different count (E6)', async () => {
    for (const countedRows of [150, 190, 210]) {
      const { world, outcome } = await takenOver({ scenario: limited() }, { fromMs, countedRows });
      expect(outcome).toMatchObject({ kind: 'again', isFailure: true });
      expect(await world.records()).toEqual([]);
      expect(await world.leftovers()).toEqual([]);
    }
  });

  test('is not used for an interval whose newest rows it lacks, because rows at the end displaced them (E10)', async () => {
    const atEnd = Array.from({ length: 20 }, (_, index) => ({ at: startMs, raw: `${index} at the end` }));
    const messages = [...evenly(600), ...atEnd];
    const { world, outcome } = await takenOver({ scenario: limited({ toInclusive: true }), messages }, { fromMs });
    expect(world.quirks.isEndInclusive).toBe(true);
    expect(outcome).toMatchObject({ kind: 'committed', record: { fromMs, written: 200, outside: 20 } });
    const [record] = await world.records();
    expect(record && (await world.complaints(record))).toEqual([]);
  });
});

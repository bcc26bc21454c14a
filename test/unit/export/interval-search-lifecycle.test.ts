/**
 * Tests how an interval search proceeds: when it reads pages, how it ends or is stopped, and what it does if another
 * process commits the interval first.
 */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { describe, expect, test } from 'vitest';
import type { BoundaryMessage } from '../../../src/base/boundary.ts';
import { sleep } from '../../../src/base/clock.ts';
import { hourMs } from '../../../src/base/time-units.ts';
import { SearchJob } from '../../../src/service/jobs/search-job.ts';
import type { SearchJobs } from '../../../src/service/jobs/search-jobs.ts';
import { plainOutput } from '../../support/export-definition.ts';
import { MemoryDestination } from '../../support/memory-destination.ts';
import { evenly, hour, SearchWorld, startMs } from './search-world.ts';

test('pages are read after the search has ended (E7)', async () => {
  const world = new SearchWorld({ scenario: { search: { duration: '40s' } }, messages: evenly(25_500) });
  const record = await world.committed();
  expect(record).toMatchObject({ written: 25_500, count: { rows: 25_500, source: 'Job' } });
  expect(await world.complaints(record)).toEqual([]);
  expect(world.countOf('listMessages')).toBe(3);
  expect(world.requests.indexOf('listMessages')).toBeGreaterThan(world.requests.lastIndexOf('getJob'));
});

describe('an inclusive end (E10)', () => {
  const atEnd = { at: startMs, raw: 'at the end' };
  const scenario = { search: { toInclusive: true } } as const;

  test('is detected by a row at the end, and later searches request an earlier end', async () => {
    const world = new SearchWorld({ scenario, messages: [...evenly(600), atEnd] });
    const record = await world.committed();
    expect(record).toMatchObject({ received: 601, written: 600, outside: 1, count: { rows: 601, source: 'Job' } });
    expect(world.quirks.isEndInclusive).toBe(true);
    expect(await world.complaints(record)).toEqual([]);
    const next = await world.committed({ segment: 1 });
    expect(next).toMatchObject({ received: 600, outside: 0 });
  });

  test('causes another search with a query whose limit counts rows at the end', async () => {
    const request = { query: '* | limit 10' };
    const world = new SearchWorld({ scenario, messages: [...evenly(600), atEnd], request });
    expect(await world.search()).toMatchObject({ kind: 'again', isFailure: false });
    const record = await world.committed();
    expect(world.rows(record).map((row) => row['_raw'])).toEqual(evenly(10).map((_, index) => `message ${index}`));
  });

  test('applies to the count of a cut interval', async () => {
    const search = { toInclusive: true, messageLimit: 250, status: { bucketLength: '2h' } } as const;
    const world = new SearchWorld({ scenario: { search }, messages: [...evenly(600), atEnd] });
    const record = await world.committed();
    expect(record).toMatchObject({ outside: 1, written: 248, count: { rows: 248, source: 'Aggregate' } });
    expect(await world.complaints(record)).toEqual([]);
  });

  test('causes another search when rows at the end displaced all others', async () => {
    const many = Array.from({ length: 300 }, (_, index) => ({ at: startMs, raw: `${index} at the end` }));
    const search = { toInclusive: true, messageLimit: 250 } as const;
    const world = new SearchWorld({ scenario: { search }, messages: [...evenly(200), ...many] });
    expect(await world.search()).toMatchObject({ kind: 'again', isFailure: false });
    const record = await world.committed();
    expect(record).toMatchObject({ ...hour, written: 200 });
  });
});

describe('a search that is stopped', () => {
  const slow = { search: { duration: '60s' } } as const;

  test('leaves no job and no file at any step', async () => {
    const whole = new SearchWorld({ scenario: slow });
    await whole.committed();
    const spanMs = whole.clock.monotonic();
    for (let part = 0; part < 20; part++) {
      const world = new SearchWorld({ scenario: slow });
      const search = world.begin();
      world.clock.after((part * spanMs) / 20, () => search.stop());
      expect(await world.simulated.run(search.done)).toEqual({ kind: 'stopped' });
      // If the search was stopped before the client received its job id, the client cannot delete the search job. The
      // job must then expire.
      await world.clock.advance(60_000);
      expect(await world.leftovers()).toEqual([]);
      expect(await world.records()).toEqual([]);
    }
  });

  test.each(['open', 'write', 'finish'] as const)('leaves no file during the %s of a file', async (call) => {
    const world = new SearchWorld();
    const search = world.begin();
    world.destination.strike = (each) => {
      if (each !== call) return undefined;
      search.stop();
      return { until: new Promise((resolve) => void world.clock.after(1_000, () => resolve(undefined))) };
    };
    expect(await world.simulated.run(search.done)).toEqual({ kind: 'stopped' });
    expect(await world.leftovers()).toEqual([]);
  });

  test('commits a record whose write has begun', async () => {
    const world = new SearchWorld();
    const search = world.begin();
    world.destination.strike = (call) => {
      if (call === 'create') search.stop();
      return undefined;
    };
    const outcome = await world.simulated.run(search.done);
    expect(outcome).toMatchObject({ kind: 'committed' });
    expect(await world.records()).toHaveLength(1);
  });

  test('commits the rows that it has found shortly before eight hours (E13)', async () => {
    const world = new SearchWorld({ scenario: { search: { duration: '5m' } } });
    const search = world.begin();
    world.clock.after(150_000, () => search.endAsCut());
    const outcome = await world.simulated.run(search.done);
    expect(outcome).toMatchObject({ kind: 'committed', record: { toMs: startMs, count: { source: 'Aggregate' } } });
    const [record] = await world.records();
    if (!record) throw new Error('there is no record');
    expect(record.fromMs).toBeGreaterThan(hour.fromMs + hourMs / 4);
    expect(record.written).toBeGreaterThan(100);
    expect(await world.complaints(record)).toEqual([]);
  });

  test('waits shortly before eight hours for the last status responses of a finished job (E5)', async () => {
    const world = new SearchWorld();
    const { clock, jobs } = world;
    let texts: readonly string[] = [];
    const open: SearchJobs['open'] = async (...given) => {
      const job = await jobs.open(...given);
      const answered = () => Reflect.get(SearchJob.prototype, 'progress', job);
      Object.defineProperty(job, 'progress', { get: () => ({ ...answered(), errors: texts }) });
      const whenFinished = job.whenFinished.bind(job);
      job.whenFinished = async (signal) => {
        await whenFinished(signal);
        search.endAsCut();
        await sleep(clock, 1_000);
        texts = ['the query broke'];
        return job.progress;
      };
      return job;
    };
    world.jobs = { open } as SearchJobs;
    const search = world.begin();
    expect(await world.simulated.run(search.done)).toMatchObject({
      kind: 'again',
      message: expect.stringContaining('the query broke'),
    });
    expect(await world.records()).toEqual([]);
  });
});

test('adopts the record of another process and deletes its own files (E3)', async () => {
  const theirs = new SearchWorld();
  const existing = await theirs.committed({ fromMs: startMs - hourMs / 2 });
  const ours = new SearchWorld({ destination: theirs.destination, token: 2 });
  expect(await ours.search()).toEqual({ kind: 'taken', existing });
  expect(await ours.complaints(existing)).toEqual([]);
  expect(await ours.records()).toEqual([existing]);
});

test('the view of a search shows its jobs', async () => {
  const lost = { kind: 'stall', effect: true, operations: ['getJob'], nth: [1] } as const;
  const world = new SearchWorld({ scenario: { search: { duration: '30s' }, faults: { lost } } });
  const seen = new Set<string>();
  const search = world.begin(
    {},
    {
      onProgress: () => {
        for (const { purpose, state } of search?.jobs ?? []) seen.add(`${purpose} ${String(state)}`);
      },
    },
  );
  expect([search.createdAtMs, search.isSearching, search.jobs]).toEqual([undefined, true, []]);
  await world.simulated.run(search.done);
  expect(seen).toContain('Rows gatheringResults');
  expect(seen).toContain('Count doneGatheringResults');
  expect([search.isSearching, search.jobs, search.messageCount]).toEqual([false, [], 600]);
  expect(search.scannedBytes).toBeGreaterThan(600 * 2 * 'message'.length);
});

describe('a process that dies at a boundary (E3, E15)', () => {
  const cases = ['export.createJob', 'export.readPage', 'export.stagePart', 'export.commit'].flatMap((boundary) =>
    (['before', 'after'] as const).map((phase) => [boundary, phase] as const),
  );

  test.each(cases)(
    '%s, %s, loses at most its interval, and leaves only files that the next process removes',
    async (name, phase) => {
      const request = { output: { ...plainOutput, maxPartBytes: 20_000 } };
      const dying = new SearchWorld({ request });
      let crossings = 0;
      const onMessage = (message: unknown) => {
        const crossed = message as BoundaryMessage;
        if (crossed.name !== name || crossed.phase !== phase) return;
        crossings++;
        if (crossings === (name === 'export.stagePart' ? 2 : 1)) dying.destination.die();
      };
      subscribe('logfleet:boundary', onMessage);
      void dying.begin();
      const isDead = () => dying.destination.isDead;
      await dying.clock.run(isDead, 600_000);
      await dying.clock.advance(30_000);
      unsubscribe('logfleet:boundary', onMessage);
      expect(isDead()).toBe(true);
      const successor = new SearchWorld({
        request,
        token: 2,
        destination: new MemoryDestination(dying.destination.store),
      });
      await successor.destination.abortLeftovers('', 'endedProcesses');
      expect(successor.destination.store.uploads.size).toBe(0);
      const outcome = await successor.search();
      const stands = name === 'export.commit' && phase === 'after';
      expect(outcome.kind).toBe(stands ? 'taken' : 'committed');
      const [record, ...others] = await successor.records();
      if (!record) throw new Error('no record stands');
      expect(others).toEqual([]);
      const complaints = await successor.complaints(record);
      expect(complaints.filter((each) => !each.endsWith('is left'))).toEqual([]);
    },
  );
});

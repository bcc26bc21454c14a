/**
 * Tests interval searches: their behaviour with a failing destination, their file formats, and their aggregation
 * records.
 */
import { describe, expect, test } from 'vitest';
import type { ExportOutput } from '../../../src/destination/fingerprint.ts';
import type { DestinationFailure } from '../../../src/destination/store/destination-error.ts';
import type { SearchJobs } from '../../../src/service/jobs/search-jobs.ts';
import { plainOutput } from '../../support/export-definition.ts';
import type { DestinationCall } from '../../support/memory-destination.ts';
import { evenly, hour, SearchWorld, startMs } from './search-world.ts';

const smallParts: ExportOutput = { ...plainOutput, maxPartBytes: 20_000 };

function failing(
  world: SearchWorld,
  call: DestinationCall,
  options: { nth?: number; times?: number; failure?: DestinationFailure; hasEffect?: boolean } = {},
): void {
  const { nth = 1, times = 1, failure = 'away', hasEffect = false } = options;
  let calls = 0;
  world.destination.strike = (each) => {
    if (each !== call || ++calls < nth || calls >= nth + times) return undefined;
    return { failure, hasEffect };
  };
}

describe('a destination that fails', () => {
  const calls: readonly [DestinationCall, number, boolean][] = (['open', 'write', 'finish'] as const).flatMap((call) =>
    [1, 2].flatMap((nth) =>
      [false, true].map((hasEffect) => [call, nth, hasEffect] as [DestinationCall, number, boolean]),
    ),
  );

  test.each(calls)(
    'in the %s number %d (with effect: %s) fails the search, which leaves nothing',
    async (call, nth, hasEffect) => {
      for (const [failure, handling] of [
        ['full', 'wait'],
        ['away', 'backoff'],
        ['denied', 'stall'],
      ] as const) {
        const world = new SearchWorld({ request: { output: smallParts } });
        failing(world, call, { nth, failure, hasEffect });
        const outcome = await world.search();
        expect(outcome).toMatchObject({
          kind: 'failed',
          error: { code: `destination.${failure}`, handling: { kind: handling } },
        });
        expect(await world.records()).toEqual([]);
        // If the response to `open` is lost, the export does not know that the upload exists, and cannot abort it.
        const leftovers = await world.leftovers();
        expect(call === 'open' && hasEffect ? leftovers.slice(1) : leftovers).toEqual([]);
        world.destination.strike = () => undefined;
        await world.destination.abortLeftovers('', 'all');
        expect(await world.complaints(await world.committed())).toEqual([]);
      }
    },
  );

  test('that cannot remove a file does not change the error of the search', async () => {
    const world = new SearchWorld({ request: { output: smallParts } });
    world.destination.strike = (call, name) => {
      if (call === 'remove') return { failure: 'denied' };
      return call === 'finish' && name.includes('-003-') ? { failure: 'full' } : undefined;
    };
    expect(await world.search()).toMatchObject({ kind: 'failed', error: { code: 'destination.full' } });
    expect(await world.leftovers()).not.toEqual([]);
  });
});

test('a slow destination delays the pages, which continue where they stopped', async () => {
  const messages = evenly(300).map((message) => ({ ...message, raw: `${message.raw} ${'x'.repeat(10_000)}` }));
  const world = new SearchWorld({ messages });
  const chunks: number[] = [];
  world.destination.strike = (call) => {
    if (call !== 'write') return undefined;
    chunks.push(world.countOf('listMessages'));
    return { until: new Promise((resolve) => void world.clock.after(7_000, () => resolve(undefined))) };
  };
  const record = await world.committed();
  expect(await world.complaints(record)).toEqual([]);
  expect(record).toMatchObject({ received: 300, duplicates: 0 });
  expect(world.countOf('listMessages')).toBeGreaterThan(2);
  expect(chunks[0]).toBe(1);
  expect(chunks.at(-1)).toBeGreaterThan(2);
});

describe('a record that cannot be written (E3)', () => {
  test.each([false, true])('because of a temporary failure is written later (with effect: %s)', async (hasEffect) => {
    const world = new SearchWorld();
    failing(world, 'create', { times: 3, hasEffect });
    const record = await world.committed();
    expect(await world.complaints(record)).toEqual([]);
    expect(await world.records()).toEqual([record]);
    expect(world.countOf('createJob')).toBe(1);
  });

  test('because its response was lost is valid, and its files stay', async () => {
    const world = new SearchWorld();
    world.destination.strike = (call) => (call === 'create' ? { failure: 'exists', hasEffect: true } : undefined);
    expect(await world.complaints(await world.committed())).toEqual([]);
  });

  test('keeps its files while it may exist, and the next search adopts it', async () => {
    const world = new SearchWorld();
    failing(world, 'create', { times: 100, hasEffect: true });
    expect(await world.search()).toMatchObject({ kind: 'failed', error: { code: 'destination.away' } });
    world.destination.strike = () => undefined;
    const [existing] = await world.records();
    if (!existing) throw new Error('no record stands');
    expect(await world.complaints(existing)).toEqual([]);
    expect(await world.search()).toEqual({ kind: 'taken', existing });
    expect(await world.complaints(existing)).toEqual([]);
  });

  test.each(['full', 'denied'] as const)('because the destination is %s loses its files', async (failure) => {
    const world = new SearchWorld();
    failing(world, 'create', { failure });
    expect(await world.search()).toMatchObject({ kind: 'failed', error: { code: `destination.${failure}` } });
    expect(await world.leftovers()).toEqual([]);
  });

  test.each(['full', 'denied'] as const)(
    'because the destination reports %s keeps its files if the record was stored nevertheless',
    async (failure) => {
      const world = new SearchWorld();
      failing(world, 'create', { failure, hasEffect: true });
      expect(await world.search()).toMatchObject({ kind: 'failed', error: { code: `destination.${failure}` } });
      const [existing] = await world.records();
      if (!existing) throw new Error('no record stands');
      expect(await world.complaints(existing)).toEqual([]);
    },
  );

  test.each<[string, (call: DestinationCall, attempt: number) => DestinationFailure | undefined]>([
    [
      'an earlier attempt may still store it',
      (call, attempt) => (call === 'read' ? undefined : attempt === 1 ? 'away' : 'denied'),
    ],
    ['logfleet cannot read whether it was stored', () => 'denied'],
  ])('keeps its files if %s', async (_, failureOf) => {
    const world = new SearchWorld();
    let attempts = 0;
    world.destination.strike = (call) => {
      if (call !== 'create' && call !== 'read') return undefined;
      if (call === 'create') attempts++;
      const failure = failureOf(call, attempts);
      return failure && { failure };
    };
    expect(await world.search()).toMatchObject({ kind: 'failed', error: { code: 'destination.denied' } });
    world.destination.strike = () => undefined;
    expect(await world.leftovers()).toHaveLength(1);
  });

  test('when the search is stopped may exist, so its files stay', async () => {
    const world = new SearchWorld();
    failing(world, 'create', { times: 100 });
    const search = world.begin();
    world.clock.after(12_000, () => search.stop());
    expect(await world.simulated.run(search.done)).toEqual({ kind: 'stopped' });
    expect(await world.leftovers()).toHaveLength(1);
  });
});

describe('the format of files', () => {
  test.each<[string, Partial<ExportOutput>, string, RegExp]>([
    ['chosen fields', { fields: ['_raw', '_messageid'] }, '.ndjson', /^\{"_raw":"message \d+","_messageid":"\d+"\}$/],
    ['CSV', { format: 'CSV', fields: ['_messageid', '_raw'] }, '.csv', /^(?:\d+,message \d+|_messageid,_raw)$/],
  ])('is used: %s', async (_name, output, suffix, line) => {
    const world = new SearchWorld({ request: { output: { ...smallParts, maxPartBytes: 10 ** 9, ...output } } });
    const record = await world.committed();
    expect(record.files[0]?.name.endsWith(suffix)).toBe(true);
    const [content = new Uint8Array()] = record.files.map(({ name }) =>
      world.destination.objects.get(world.definition.layout.within(name)),
    );
    const lines = Buffer.from(content).toString().trim().split(/\r?\n/);
    expect(lines.filter((each) => !line.test(each))).toEqual([]);
    expect(lines.length).toBe(output.format === 'CSV' ? 601 : 600);
  });
});

describe('records (4.4)', () => {
  const query = '* | timeslice 2m | count by _timeslice';

  test('are written as rows after the search has ended', async () => {
    const world = new SearchWorld({
      scenario: { search: { pages: { maxRecords: 7 } } },
      request: { query, results: 'Records' },
    });
    const record = await world.committed();
    expect(record).toMatchObject({ ...hour, received: 30, written: 30, count: { rows: 30, source: 'Job' } });
    const rows = world.rows(record);
    expect(new Set(rows.map((row) => row['_timeslice'])).size).toBe(30);
    expect(rows.reduce((sum, row) => sum + Number(row['_count']), 0)).toBe(600);
    expect(world.countOf('listRecords')).toBe(5);
    expect(await world.leftovers(record.files.map(({ name }) => name))).toEqual([]);
  });

  test('are complete although the number of messages is round', async () => {
    const world = new SearchWorld({ request: { query: '* | count', results: 'Records' } });
    world.quirks.searched({ ...(await sample()), isLimitReached: true, messageCount: 600 });
    expect(await world.committed()).toMatchObject({ written: 1, count: { rows: 1, source: 'Job' } });
  });

  test('do not show the message limit, even with a warning (E4)', async () => {
    const world = new SearchWorld({ request: { query, results: 'Records' } });
    const { jobs } = world;
    const open: SearchJobs['open'] = async (...given) => {
      const job = await jobs.open(...given);
      const whenFinished = job.whenFinished.bind(job);
      job.whenFinished = async (signal) => ({ ...(await whenFinished(signal)), isLimitReached: true });
      return job;
    };
    world.jobs = { open } as SearchJobs;
    expect(await world.committed()).toMatchObject({ written: 30 });
    expect(world.quirks.smallestLimit).toBeUndefined();
  });

  test('have their columns even if the first page is empty and describes no fields', async () => {
    const output: ExportOutput = { ...plainOutput, format: 'CSV' };
    const world = new SearchWorld({ request: { query: '* | count by _sourceHost', results: 'Records', output } });
    const { jobs } = world;
    const open: SearchJobs['open'] = async (...given) => {
      const job = await jobs.open(...given);
      const read = job.readRecordPage.bind(job);
      job.readRecordPage = async (reading) => {
        await reading.take({ fields: [], records: [], warning: undefined });
        return read(reading);
      };
      return job;
    };
    world.jobs = { open } as SearchJobs;
    const [file] = (await world.committed()).files;
    const content = world.destination.objects.get(world.definition.layout.within(file?.name ?? ''));
    const [header] = Buffer.from(content ?? '')
      .toString()
      .split('\r\n');
    expect(header).toBe('_sourceHost,_count,_rest');
  });

  test('of a query without an aggregation are refused', async () => {
    const world = new SearchWorld({ request: { results: 'Records' } });
    expect(await world.search()).toMatchObject({
      kind: 'failed',
      error: { handling: { kind: 'stall' }, reason: 'NotAnAggregation' },
    });
    expect(await world.leftovers()).toEqual([]);
  });

  test('that are missing are searched again, and are then incomplete', async () => {
    const scenario = { faults: { none: { kind: 'shortPage', rows: 0, operations: ['listRecords'] } } } as const;
    const world = new SearchWorld({ scenario, request: { query, results: 'Records' } });
    expect(await world.search()).toMatchObject({ kind: 'again', isFailure: true });
    expect(await world.search({}, { failedBefore: 1 })).toMatchObject({ kind: 'incomplete', reason: 'CountDiffers' });
  });

  test('of a search that was ended early are not kept', async () => {
    const world = new SearchWorld({
      scenario: { search: { duration: '5m' } },
      request: { query, results: 'Records' },
    });
    for (const policy of ['Fail', 'Keep'] as const) {
      world.policy = policy;
      const search = world.begin();
      world.clock.after(150_000, () => search.endAsCut());
      const outcome = await world.simulated.run(search.done);
      expect(outcome).toMatchObject({ kind: 'incomplete', reason: 'TimeOver' });
      expect(await world.leftovers()).toEqual([]);
    }
  });
});

async function sample() {
  const world = new SearchWorld();
  const job = await world.simulated.run(
    world.simulated.jobs.open({ query: '*', fromMs: startMs - 1_000, toMs: startMs }),
  );
  const progress = await world.simulated.run(job.whenFinished());
  await world.simulated.run(job.close());
  return progress;
}

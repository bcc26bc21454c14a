/** Tests the status of a search job over time. */
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { randomRuns } from '../../../test/support/random-runs.ts';
import type { SearchScenario } from '../../scenario/search-scenario.ts';
import type { Message } from '../row-data.ts';
import { everyMinute, hour, minute, type RequestedJob, SearchingService, startJob } from '../searching-service.ts';

interface Bucket {
  readonly startTimestamp: number;
  readonly length: number;
  readonly count: number;
}

const statesAt = (service: SearchingService, job: RequestedJob, timesMs: readonly number[]) =>
  timesMs.map((elapsedMs) => {
    service.after(elapsedMs);
    return job.status().state;
  });

describe('the states of a job (3.1)', () => {
  const cases: readonly [string, SearchScenario, readonly [number, string][]][] = [
    [
      'lead from NOT STARTED to DONE GATHERING RESULTS',
      { notStartedFor: '2s', duration: '10s' },
      [
        [0, 'NOT STARTED'],
        [1_999, 'NOT STARTED'],
        [2_000, 'GATHERING RESULTS'],
        [11_999, 'GATHERING RESULTS'],
        [12_000, 'DONE GATHERING RESULTS'],
        [3_000_000, 'DONE GATHERING RESULTS'],
      ],
    ],
    [
      'include one for subqueries, if the scenario says so',
      { notStartedFor: '1s', subqueriesFor: '2s', duration: '3s' },
      [
        [1_000, 'GATHERING RESULTS FROM SUBQUERIES'],
        [2_999, 'GATHERING RESULTS FROM SUBQUERIES'],
        [3_000, 'GATHERING RESULTS'],
        [6_000, 'DONE GATHERING RESULTS'],
      ],
    ],
    [
      'include one for a histogram that is complete first, if the scenario says so',
      { duration: '10s', histogramFirst: true },
      [
        [4_999, 'GATHERING RESULTS'],
        [5_000, 'DONE GATHERING HISTOGRAM'],
        [9_999, 'DONE GATHERING HISTOGRAM'],
        [10_000, 'DONE GATHERING RESULTS'],
      ],
    ],
    [
      'end with FORCE PAUSED at the message limit',
      { duration: '60s', messageLimit: 20 },
      [
        [19_999, 'GATHERING RESULTS'],
        [20_000, 'FORCE PAUSED'],
        [3_000_000, 'FORCE PAUSED'],
      ],
    ],
    [
      'end with DONE at the message limit, if the scenario says so',
      { duration: '60s', messageLimit: 20, atMessageLimit: 'done' },
      [
        [19_999, 'GATHERING RESULTS'],
        [20_000, 'DONE GATHERING RESULTS'],
      ],
    ],
    [
      'follow the speed of the search, if the scenario sets one',
      { rangePerSecond: '30m', duration: '9h' },
      [
        [1_999, 'GATHERING RESULTS'],
        [2_000, 'DONE GATHERING RESULTS'],
      ],
    ],
    ['end immediately with a duration of 0s', { duration: '0s' }, [[0, 'DONE GATHERING RESULTS']]],
  ];
  test.each(cases)('%s', (_, search, expected) => {
    const { service, job } = startJob(search);
    const times = expected.map(([atMs]) => atMs);
    expect(statesAt(service, job, times)).toEqual(expected.map(([, state]) => state));
  });

  test('the time scale changes only the speed of searches', () => {
    const { service, job } = startJob(
      { notStartedFor: '10s', subqueriesFor: '10s', duration: '10s', keepAlive: '25s', timeout: '40s' },
      {},
      { timeScale: 10 },
    );
    expect(statesAt(service, job, [999, 1_999, 2_999, 3_000, 27_999])).toEqual([
      'NOT STARTED',
      'GATHERING RESULTS FROM SUBQUERIES',
      'GATHERING RESULTS',
      'DONE GATHERING RESULTS',
      'DONE GATHERING RESULTS',
    ]);
    expect(service.after(39_999).state().jobs[0]).toMatchObject({ ended: null });
    expect(service.after(40_000).state().jobs[0]).toMatchObject({ ended: 'timeout' });
  });

  test('an aggregation has no message limit', () => {
    const { service, job } = startJob({ messageLimit: 20 }, { query: '* | count' });
    service.after(minute);
    expect(job.status()).toMatchObject({ state: 'DONE GATHERING RESULTS', messageCount: 60, recordCount: 1 });
  });

  test('a limit of the query is not the limit of the service', () => {
    const { service, job } = startJob({ messageLimit: 20 }, { query: '* | limit 5' });
    service.after(30_000);
    expect(job.status()).toMatchObject({ state: 'DONE GATHERING RESULTS', messageCount: 5 });
  });

  test('a duration is chosen for each job, and is the same in each run', () => {
    const lengths = () => {
      const service = new SearchingService({ search: { duration: ['10s', '50s'] } });
      const jobs = Array.from({ length: 20 }, () => service.job());
      const seconds = jobs.map(() => 0);
      for (let second = 1; second <= 60; second++) {
        service.after(second * 1_000);
        jobs.forEach((job, index) => {
          if (job.status().state === 'GATHERING RESULTS') seconds[index] = second;
        });
      }
      return seconds;
    };
    const drawn = lengths();
    expect(new Set(drawn).size).toBeGreaterThan(5);
    for (const length of drawn) expect(length >= 9 && length < 50).toBe(true);
    expect(lengths()).toEqual(drawn);
  });
});

describe('results', () => {
  test('are found from the end of the range to its start, and counted', () => {
    const { service, job } = startJob();
    const counts = [0, 1_000, 30_000, 59_999, 60_000].map((elapsedMs) => {
      service.after(elapsedMs);
      return job.status().messageCount;
    });
    expect(counts).toEqual([0, 1, 30, 59, 60]);
    expect(job.raws('offset=0&limit=2')).toEqual(['message 59', 'message 58']);
  });

  test('do not depend on earlier requests', () => {
    const times = fc.array(fc.integer({ min: 0, max: 70_000 }), { minLength: 1, maxLength: 20 });
    fc.assert(
      fc.property(times, (unordered) => {
        const timesMs = unordered.sort((left, right) => left - right);
        const often = startJob();
        const counts = timesMs.map((elapsedMs) => {
          often.service.after(elapsedMs);
          return often.job.status().messageCount;
        });
        timesMs.forEach((elapsedMs, index) => {
          const once = startJob();
          once.service.after(elapsedMs);
          expect(once.job.status().messageCount).toBe(counts[index]);
        });
        expect([...counts].sort((left, right) => left - right)).toEqual(counts);
      }),
      { numRuns: randomRuns(10) },
    );
  });

  test('match the query in [from, to)', () => {
    const { service, job } = startJob({}, { query: '5*', from: hour.from + minute, to: hour.from + 55 * minute });
    service.after(minute);
    expect(job.raws()).toEqual(['message 54', 'message 53', 'message 52', 'message 51', 'message 50', 'message 5']);
  });

  test('include the millisecond `to` if the scenario says so', () => {
    const inclusive = { from: hour.from, to: hour.from + minute };
    expect(startJob({ duration: '0s' }, inclusive).job.raws()).toEqual(['message 0']);
    expect(startJob({ duration: '0s', toInclusive: true }, inclusive).job.raws()).toEqual(['message 1', 'message 0']);
  });

  test('are selected by receipt time on request', () => {
    const messages: readonly Message[] = [
      { at: hour.from, received: hour.from + 50 * minute, raw: 'late' },
      { at: hour.from + 1, raw: 'early' },
    ];
    const service = new SearchingService({ search: { duration: '0s' } }, messages);
    const range = { from: hour.from + minute, byReceiptTime: true };
    expect(service.job(range).raws()).toEqual(['late']);
    expect(service.job({ from: hour.from + minute }).raws()).toEqual([]);
  });

  test('were received before the creation of the job if the scenario says so', () => {
    const messages: readonly Message[] = [
      { at: hour.from, received: hour.to, raw: 'just received' },
      { at: hour.from, received: hour.to + 1, raw: 'on its way' },
    ];
    const found = (onlyReceived: boolean) =>
      new SearchingService({ search: { duration: '0s', onlyReceived } }, messages).job().raws();
    expect(found(true)).toEqual(['just received']);
    expect(found(false)).toHaveLength(2);
  });

  test('include a late message only in jobs created after its receipt', () => {
    const messages: readonly Message[] = [
      { at: hour.from, raw: 'in time' },
      { at: hour.from, received: hour.to + minute, raw: 'late' },
    ];
    const service = new SearchingService({ search: { duration: '0s', onlyReceived: true } }, messages);
    const before = service.job();
    expect(before.raws()).toEqual(['in time']);
    service.after(minute - 1);
    expect(service.job().raws()).toEqual(['in time']);
    service.after(minute);
    expect(service.job().raws().toSorted()).toEqual(['in time', 'late']);
    expect(before.raws()).toEqual(['in time']);
  });

  test.each([false, true])(
    'finds the received messages among generated ones (by receipt time: %s)',
    (byReceiptTime) => {
      const logs = { from: hour.from, to: hour.to, perSecond: 2, receipt: { lateShare: 0.2, lateFor: '10m' } };
      const idsAt = (elapsedMs: number, to: number, onlyReceived: boolean) => {
        const service = new SearchingService({ search: { duration: '0s', onlyReceived }, logs }, []).after(elapsedMs);
        const { messages } = service.job({ to, byReceiptTime }).page().json;
        return messages.map(({ map }: { map: Record<string, string> }) => [
          map['_messageid'],
          Number(map['_receipttime']),
        ]);
      };
      for (const to of [hour.to, hour.to - 20 * minute]) {
        for (const elapsedMs of [0, 5 * minute, 10 * minute]) {
          const received = idsAt(elapsedMs, to, false).filter(
            ([, atMs]: [string, number]) => atMs <= hour.to + elapsedMs,
          );
          expect(idsAt(elapsedMs, to, true)).toEqual(received);
        }
      }
    },
  );

  test('count the scanned bytes', () => {
    const { service, job } = startJob({}, { query: '7' });
    const bytes = [0, 30_000, 60_000].map((elapsedMs) => {
      service.after(elapsedMs);
      return job.status().usageDetails.dataScannedInBytes;
    });
    const all = everyMinute.reduce((sum, { raw }) => sum + raw.length, 0);
    expect(bytes).toEqual([0, 300, all]);
  });
});

describe('histogram buckets', () => {
  const tenMinutes = { status: { bucketLength: '10m' } } as const;
  const bucket = (index: number, count = 10): Bucket => ({
    startTimestamp: hour.from + index * 10 * minute,
    length: 10 * minute,
    count,
  });
  const collect = (search: SearchScenario, timesMs: readonly number[]) => {
    const { service, job } = startJob({ duration: '60s', ...search });
    return timesMs.map((elapsedMs) => {
      service.after(elapsedMs);
      return job.status().histogramBuckets as Bucket[];
    });
  };

  test('are reported once, complete, and from the end on', () => {
    expect(collect(tenMinutes, [0, 9_999, 10_000, 35_000, 60_000, 61_000])).toEqual([
      [],
      [],
      [bucket(5)],
      [bucket(4), bucket(3)],
      [bucket(2), bucket(1), bucket(0)],
      [],
    ]);
  });

  test('are all reported each time if the scenario says so (10.2)', () => {
    const all = { status: { bucketLength: '10m', buckets: 'all' } } as const;
    expect(collect(all, [10_000, 35_000, 35_000])).toEqual([
      [bucket(5)],
      [bucket(5), bucket(4), bucket(3)],
      [bucket(5), bucket(4), bucket(3)],
    ]);
  });

  test('include a partial bucket when a job stops at its limit', () => {
    expect(collect({ ...tenMinutes, messageLimit: 25 }, [60_000])).toEqual([[bucket(5), bucket(4), bucket(3, 5)]]);
  });

  test('are reported before the messages if the scenario says so', () => {
    const { service, job } = startJob({ ...tenMinutes, duration: '60s', histogramFirst: true });
    service.after(30_000);
    const { histogramBuckets, messageCount } = job.status();
    expect([histogramBuckets.length, messageCount]).toEqual([6, 30]);
    service.after(60_000);
    expect(job.status()).toMatchObject({ histogramBuckets: [], messageCount: 60 });
  });

  test('are at most 10,000 for any range, however short they should be', () => {
    const order = { from: hour.to - 30 * 24 * 60 * minute };
    const { job } = startJob({ duration: '0s', status: { bucketLength: '1s' } }, order);
    const { histogramBuckets } = job.status();
    expect(histogramBuckets.map(({ length }: Bucket) => length)).toEqual(Array(15).fill(259_200));
  });

  test('are omitted if they are empty', () => {
    const service = new SearchingService({ search: { duration: '0s', ...tenMinutes } }, [
      { at: hour.from + 1, raw: 'one' },
      { at: hour.to - 1, raw: 'two' },
    ]);
    expect(service.job().status().histogramBuckets).toEqual([bucket(5, 1), bucket(0, 1)]);
  });

  test('add up to the messages, whatever the range, width and times of requests', () => {
    const scenario = fc.record({
      fromMs: fc.integer({ min: -10_000, max: 30 * minute }),
      lengthMs: fc.integer({ min: 0, max: 40 * minute }),
      bucketLength: fc.constantFrom('1ms', '7s', '1m', '13m', '2h'),
      messageLimit: fc.integer({ min: 1, max: 70 }),
      histogramFirst: fc.boolean(),
      timesMs: fc.array(fc.integer({ min: 0, max: 60_000 }), { maxLength: 8 }),
    });
    fc.assert(
      fc.property(scenario, ({ fromMs, lengthMs, bucketLength, messageLimit, histogramFirst, timesMs }) => {
        const { service, job } = startJob(
          { duration: '60s', messageLimit, histogramFirst, status: { bucketLength } },
          { from: hour.from + fromMs, to: hour.from + fromMs + lengthMs },
        );
        const reported: Bucket[] = [];
        for (const elapsedMs of [...timesMs.sort((left, right) => left - right), 60_000]) {
          service.after(elapsedMs);
          reported.push(...job.status().histogramBuckets);
        }
        expect(reported.reduce((sum, { count }) => sum + count, 0)).toBe(job.status().messageCount);
        expect(new Set(reported.map(({ startTimestamp }) => startTimestamp)).size).toBe(reported.length);
      }),
      { numRuns: randomRuns(15) },
    );
  });
});

describe('errors and warnings', () => {
  const faulty = (pending: 'new' | 'all' = 'new') =>
    new SearchingService({
      search: { status: { pending } },
      faults: {
        error: { kind: 'pendingError', message: 'A shard is gone.', nth: [2] },
        warning: { kind: 'pendingWarning', message: 'Slow.', nth: [1] },
      },
    });

  test('are those since the last status', () => {
    const job = faulty().job();
    const reported = Array.from({ length: 4 }, () => {
      const { pendingErrors, pendingWarnings } = job.status();
      return [pendingErrors, pendingWarnings];
    });
    expect(reported).toEqual([
      [[], ['Slow.']],
      [['A shard is gone.'], []],
      [[], []],
      [[], []],
    ]);
  });

  test('are repeated if the scenario says so (10.2)', () => {
    const job = faulty('all').job();
    const reported = Array.from({ length: 3 }, () => job.status().pendingErrors);
    expect(reported).toEqual([[], ['A shard is gone.'], ['A shard is gone.']]);
  });

  test('report the message limit if the scenario says so (10.2)', () => {
    const { service, job } = startJob({ messageLimit: 20, atMessageLimit: 'doneWithWarning', duration: '60s' });
    service.after(19_999);
    expect(job.status()).toMatchObject({ state: 'GATHERING RESULTS', pendingWarnings: [] });
    service.after(20_000);
    expect(job.status()).toMatchObject({
      state: 'DONE GATHERING RESULTS',
      messageCount: 20,
      pendingWarnings: ['Max results reached'],
    });
    expect(job.status().pendingWarnings).toEqual([]);
  });

  test('report that an aggregation gave up, which then has no records', () => {
    const long = 'x'.repeat(1_000_000);
    const messages = Array.from({ length: 12 }, (_, index) => ({
      at: hour.from + index * 5 * minute,
      raw: `${index}${long}`,
    }));
    const service = new SearchingService({ search: { duration: '60s' } }, messages);
    const job = service.job({ query: '* | count_distinct(_raw)' });
    service.after(30_000);
    expect(job.status()).toMatchObject({ messageCount: 6, recordCount: 1, pendingErrors: [] });
    service.after(60_000);
    expect(job.records().json.records).toEqual([]);
    expect(job.status()).toMatchObject({
      state: 'DONE GATHERING RESULTS',
      messageCount: 12,
      recordCount: 0,
      pendingErrors: ['The query has no records: the groups and values of all queries would take more than 20 MB.'],
    });
    expect(job.status().pendingErrors).toEqual([]);
  });
});

test('an aggregation frees its memory when its job ends for any reason', () => {
  const long = 'x'.repeat(1_000_000);
  const messages = Array.from({ length: 15 }, (_, index) => ({ at: hour.from + index, raw: `${index}${long}` }));
  const search: SearchScenario = { duration: '0s', keepAlive: '10s', aggregationMb: 50 };
  const service = new SearchingService({ search }, messages);
  const found = () => {
    const job = service.job({ query: '* | count by _raw' });
    const { recordCount, pendingErrors } = job.status();
    return { job, recordCount, errors: pendingErrors.length };
  };
  const first = found();
  expect([first, found()]).toMatchObject([
    { recordCount: 15, errors: 0 },
    { recordCount: 0, errors: 1 },
  ]);
  first.job.ask('DELETE');
  expect(found()).toMatchObject({ recordCount: 15, errors: 0 });
  service.after(10_000);
  expect(found()).toMatchObject({ recordCount: 15, errors: 0 });
  service.patch({ search: { aggregationMb: 100 } });
  expect(found()).toMatchObject({ recordCount: 15, errors: 0 });
});

describe('the status document', () => {
  test('has the members of 2.3, and the notice about cookies (10.2)', () => {
    expect(startJob().job.status()).toEqual({
      warning: expect.stringContaining('cookie'),
      state: 'GATHERING RESULTS',
      messageCount: 0,
      recordCount: 0,
      histogramBuckets: [],
      pendingErrors: [],
      pendingWarnings: [],
      usageDetails: { dataScannedInBytes: 0 },
    });
  });

  test('has no notice if the scenario says so', () => {
    expect(startJob({ status: { cookieNotice: false } }).job.status().warning).toBe('');
  });

  test('has undocumented members if the scenario says so (10.2)', () => {
    const { service, job } = startJob({ duration: '10s', status: { extraMembers: true } });
    service.after(20_000);
    const status = job.status();
    expect(status).toMatchObject({ searchedTimeRange: expect.any(Object), timeElapsed: 10_000 });
    expect(status.histogramBuckets[0]).toMatchObject({ logLevel: null, count: expect.any(Number) });
  });

  test('has an unknown state with a fault (10.2)', () => {
    const service = new SearchingService({ faults: { odd: { kind: 'unknownState', state: 'PONDERING', times: 1 } } });
    const job = service.job();
    expect([job.status().state, job.status().state]).toEqual(['PONDERING', 'GATHERING RESULTS']);
    expect(service.state().jobs[0]?.state).toBe('GATHERING RESULTS');
  });
});

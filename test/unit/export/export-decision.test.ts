import { describe, expect, test } from 'vitest';
import { hourMs } from '../../../src/base/time-units.ts';
import type { CommitRecord } from '../../../src/destination/commit-record.ts';
import type { RunningSearch } from '../../../src/export/search/search-tools.ts';
import {
  decideExport,
  type ExportDecideInput,
  type ExportLimits,
  type ExportMoment,
  type IntervalDelay,
} from '../../../src/export/work/export-decision.ts';
import { onlyWorker } from '../../../src/export/work/worker-segments.ts';

const now: ExportMoment = { wallMs: 10_000, monotonicMs: 500_000, clockBehindMs: 0 };

function record(segment: number, fromMs: number, toMs: number, written = 5): CommitRecord {
  const sha256 = 'a'.repeat(64);
  const file = {
    name: `data/${segment}-${toMs}`,
    rows: written,
    bytes: 10 * written,
    encodedBytes: 0,
    misfits: 0,
    sha256,
  };
  const figures = { received: written + 1, written, outside: 0, duplicates: 1, left: 0 };
  return { segment, fromMs, toMs, ...figures, count: { rows: written + 1, source: 'Job' }, files: [file] };
}

function search(segment: number, fromMs: number, toMs: number, more: Partial<RunningSearch> = {}): RunningSearch {
  return {
    segment,
    fromMs,
    toMs,
    createdAtMs: now.monotonicMs,
    isSearching: true,
    messageCount: 0,
    scannedBytes: 0,
    ...more,
  };
}

function input(more: Partial<ExportDecideInput> = {}, limits: Partial<ExportLimits> = {}): ExportDecideInput {
  return {
    plan: { boundariesMs: [0, 100, 200, 300] },
    records: [],
    verdicts: [],
    wantsDigest: false,
    running: [],
    delays: [],
    narrowed: [],
    scannedBytes: 0,
    byReceiptTime: false,
    worker: onlyWorker,
    yieldsUntilMs: 0,
    replacesFirstAtMs: 0,
    limits: {
      isPaused: false,
      parallelism: 2,
      settleDelayMs: 1_000,
      maxMessages: undefined,
      maxBytesScanned: undefined,
      deadlineMs: undefined,
      smallestLimit: undefined,
      ...limits,
    },
    now,
    ...more,
  };
}

const order = (segment: number, fromMs: number, toMs: number) => ({ segment, fromMs, toMs });

describe('the searches to start', () => {
  test.each<[string, ExportDecideInput, ReturnType<typeof order>[]]>([
    ['fill parallelism', input(), [order(0, 0, 100), order(1, 100, 200)]],
    ['are not already running', input({ running: [search(0, 0, 100)] }), [order(1, 100, 200)]],
    ['are none when parallelism allows no more', input({ running: [search(0, 0, 100), search(2, 200, 300)] }), []],
    [
      'are none when more run than allowed',
      input({ running: [search(0, 0, 100), search(2, 200, 300)] }, { parallelism: 1 }),
      [],
    ],
    [
      'begin where the last record begins (E3)',
      input({ records: [record(0, 40, 100), record(1, 100, 200)] }),
      [order(0, 0, 40), order(2, 200, 300)],
    ],
    [
      'are shorter after a cut without a committed part',
      input({ narrowed: [order(0, 50, 100)] }, { parallelism: 1 }),
      [order(0, 50, 100)],
    ],
    [
      'have the usual size when that part is committed',
      input({ records: [record(0, 50, 100)], narrowed: [order(0, 50, 100)] }, { parallelism: 1 }),
      [order(0, 0, 50)],
    ],
    [
      'reach as far as rows were dense, in a search by receipt time',
      input({ byReceiptTime: true, records: [record(0, 90, 100, 50)] }, { parallelism: 1, smallestLimit: 100 }),
      [order(0, 78, 90)],
    ],
    [
      'grow in steps over a time with few rows',
      input({ byReceiptTime: true, records: [record(0, 90, 100, 0)] }, { parallelism: 1 }),
      [order(0, 50, 90)],
    ],
    [
      'reach at most to the end of the segment',
      input({ byReceiptTime: true, records: [record(0, 50, 100, 0)] }, { parallelism: 1 }),
      [order(0, 0, 50)],
    ],
    ['are none in a range that is too new (E11)', input({ now: { ...now, wallMs: 1_150 } }), [order(0, 0, 100)]],
    [
      'are none in a range that is too new by the clock of the service',
      input({ now: { ...now, clockBehindMs: 8_850 } }),
      [order(0, 0, 100)],
    ],
    [
      'include a range as soon as it is settled',
      input({ now: { ...now, wallMs: 1_200 } }),
      [order(0, 0, 100), order(1, 100, 200)],
    ],
    [
      'are none in a delayed interval',
      input({ delays: [{ segment: 0, toMs: 100, untilMs: undefined, message: '' }] }),
      [order(1, 100, 200), order(2, 200, 300)],
    ],
    [
      'include an interval whose delay was ended by a commit of another process',
      input({ records: [record(0, 40, 100)], delays: [{ segment: 0, toMs: 100, untilMs: undefined, message: '' }] }),
      [order(0, 0, 40), order(1, 100, 200)],
    ],
    [
      'include an interval whose delay has passed',
      input({ delays: [{ segment: 0, toMs: 100, untilMs: now.monotonicMs, message: '' }] }, { parallelism: 1 }),
      [order(0, 0, 100)],
    ],
    ['are none during a pause', input({}, { isPaused: true }), []],
    ['are none while a failure delays all searches', input({ troubleUntilMs: now.monotonicMs + 1 }), []],
    [
      'are possible again after that delay',
      input({ troubleUntilMs: now.monotonicMs }, { parallelism: 1 }),
      [order(0, 0, 100)],
    ],
    ['are none when maxMessages is reached', input({ records: [record(0, 0, 100)] }, { maxMessages: 5 }), []],
    [
      'are none when found rows reach maxMessages',
      input({ running: [search(0, 0, 100, { messageCount: 5 })] }, { maxMessages: 5 }),
      [],
    ],
    [
      'are possible with fewer rows',
      input({ records: [record(0, 0, 100)] }, { maxMessages: 6, parallelism: 1 }),
      [order(1, 100, 200)],
    ],
    [
      'are too few to exceed maxMessages, even if parallelism allows more',
      input({}, { maxMessages: 101, smallestLimit: 100, parallelism: 3 }),
      [order(0, 0, 100), order(1, 100, 200)],
    ],
    ['are one if a single search may reach maxMessages', input({}, { maxMessages: 1_000 }), [order(0, 0, 100)]],
    [
      'are none while running searches may reach maxMessages',
      input({ running: [search(0, 0, 100, { messageCount: 5 })] }, { maxMessages: 100, smallestLimit: 100 }),
      [],
    ],
    [
      'are possible when running searches have found fewer rows',
      input(
        { running: [search(0, 0, 100, { messageCount: 99, isSearching: false })] },
        { maxMessages: 100, smallestLimit: 100, parallelism: 3 },
      ),
      [order(1, 100, 200)],
    ],
    [
      'are one while it may find as many rows as the largest search, if the limit is unknown',
      input({ records: [record(0, 0, 100, 200_000)] }, { maxMessages: 400_000, parallelism: 3 }),
      [order(1, 100, 200)],
    ],
    [
      'are none while the largest search may occur again',
      input(
        { running: [search(0, 0, 100, { messageCount: 200_000 }), search(1, 100, 200)] },
        { maxMessages: 400_000, parallelism: 3 },
      ),
      [],
    ],
    ['are none when maxBytesScanned is reached', input({ scannedBytes: 7 }, { maxBytesScanned: 7 }), []],
    ['are none after the deadline', input({}, { deadlineMs: now.wallMs }), []],
    ['are none while records contradict each other', input({ records: [record(0, 0, 50)] }), []],
    [
      'are none when records cover the range',
      input({ records: [record(0, 0, 100), record(1, 100, 200), record(2, 200, 300)] }),
      [],
    ],
    [
      'replace a stopped search',
      input({ records: [record(0, 40, 100)], running: [search(0, 0, 100)] }, { parallelism: 1 }),
      [order(0, 0, 40)],
    ],
  ])('%s', (_, given, expected) => {
    expect(decideExport(given).start).toEqual(expected);
  });
});

describe('running searches', () => {
  test.each<[string, ExportDecideInput, boolean]>([
    ['goes on', input({ running: [search(0, 0, 100)] }), false],
    ['continue during a pause', input({ running: [search(0, 0, 100)] }, { isPaused: true }), false],
    [
      'stop during a pause before they have a job',
      input({ running: [search(0, 0, 100, { createdAtMs: undefined })] }, { isPaused: true }),
      true,
    ],
    [
      'stop when another process committed a part (E3)',
      input({ records: [record(0, 40, 100)], running: [search(0, 0, 100)] }),
      true,
    ],
    [
      'stop when another process committed the whole interval',
      input({ records: [record(0, 0, 100)], running: [search(0, 0, 100)] }),
      true,
    ],
    ['stop after the deadline', input({ running: [search(0, 0, 100)] }, { deadlineMs: now.wallMs }), true],
    [
      'stop when maxBytesScanned is exceeded',
      input({ scannedBytes: 3, running: [search(0, 0, 100, { scannedBytes: 4 })] }, { maxBytesScanned: 7 }),
      true,
    ],
    [
      'are read to the end after the search has ended',
      input({ scannedBytes: 7, running: [search(0, 0, 100, { isSearching: false })] }, { maxBytesScanned: 7 }),
      false,
    ],
  ])('%s', (_, given, isStopped) => {
    expect(decideExport(given).stop).toEqual(isStopped ? given.running : []);
  });

  test('are ended as cut off shortly before eight hours (E13)', () => {
    const old = search(0, 0, 100, { createdAtMs: now.monotonicMs - 8 * hourMs + 60_000 });
    const young = search(1, 100, 200, { createdAtMs: now.monotonicMs - 7 * hourMs });
    const decision = decideExport(input({ running: [old, young] }));
    expect(decision.endAsCut).toEqual([old]);
    expect(decision.requeueAfterMs).toBe(40 * 60_000);
    expect(decideExport(input({ running: [{ ...old, isSearching: false }] })).endAsCut).toEqual([]);
  });
});

describe('the reason for waiting', () => {
  const delay = (segment: number, untilMs?: number): IntervalDelay => {
    return { segment, toMs: 100 * (segment + 1), untilMs, message: 'differs' };
  };
  const laterMs = now.monotonicMs + 30_000;
  test.each<[string, ExportDecideInput, object | undefined]>([
    ['is absent while a search starts', input({ delays: [delay(0)] }), undefined],
    ['is absent while a search runs', input({ running: [search(0, 0, 100)], delays: [delay(1), delay(2)] }), undefined],
    [
      'is a later retry if a user also has to act',
      input({ delays: [delay(0), delay(1, laterMs), delay(2)] }),
      { kind: 'retry', delays: [delay(1, laterMs)] },
    ],
    [
      'is a user if no other interval remains',
      input({ records: [record(1, 100, 200)], delays: [delay(0), delay(2)] }),
      { kind: 'people', delays: [delay(0), delay(2)], isRest: true },
    ],
    [
      'is a user if all other ranges are too new',
      input({ records: [record(1, 100, 200)], delays: [delay(0)] }, { settleDelayMs: now.wallMs - 250 }),
      { kind: 'people', delays: [delay(0)], isRest: false },
    ],
    ['is a later retry', input({ delays: [0, 1, 2].map((segment) => delay(segment, laterMs)) }), { kind: 'retry' }],
    ['is a range that is too new', input({ now: { ...now, wallMs: 50 } }), { kind: 'settling', untilMs: 1_100 }],
    [
      'is a range that is too new according to a slow clock',
      input({ now: { ...now, wallMs: 50, clockBehindMs: 20 } }),
      { kind: 'settling', untilMs: 1_120 },
    ],
    ['is a pause', input({ running: [search(0, 0, 100)] }, { isPaused: true }), { kind: 'paused' }],
    ['is a failure that may pass', input({ troubleUntilMs: laterMs }), { kind: 'trouble' }],
    ['is maxMessages', input({ records: [record(0, 0, 100)] }, { maxMessages: 5 }), { kind: 'maxMessages' }],
    [
      'is maxMessages if running searches have found enough rows',
      input({ running: [search(0, 0, 100, { messageCount: 5 })] }, { maxMessages: 5 }),
      { kind: 'maxMessages' },
    ],
    ['is maxBytesScanned', input({ scannedBytes: 7 }, { maxBytesScanned: 7 }), { kind: 'maxBytesScanned' }],
    ['is only the deadline after the deadline', input({}, { deadlineMs: 5, isPaused: true }), { kind: 'deadline' }],
    [
      'is a contradiction at the destination',
      input({ records: [record(0, 0, 50)] }),
      { kind: 'disorder', strays: [record(0, 0, 50)] },
    ],
    [
      'is absent when the range is covered, with any limits',
      input(
        { plan: { boundariesMs: [0, 100] }, records: [record(0, 0, 100)] },
        { maxMessages: 1, deadlineMs: 5, isPaused: true },
      ),
      undefined,
    ],
  ])('%s', (_, given, expected) => {
    const { waitsFor } = decideExport(given);
    if (expected) expect(waitsFor).toMatchObject(expected);
    else expect(waitsFor).toBeUndefined();
  });

  test('is the first unfinished delay of an interval that has several delays', () => {
    const delays = [delay(0, now.monotonicMs), delay(0, laterMs), delay(0)];
    const { waitsFor } = decideExport(input({ plan: { boundariesMs: [0, 100] }, delays }));
    expect(waitsFor).toEqual({ kind: 'retry', delays: [delay(0, laterMs)] });
  });

  test('reads each delay only a few times, even if a thousand intervals are delayed', () => {
    const segments = Array.from({ length: 1_000 }, (_, segment) => segment);
    let reads = 0;
    const delays = segments.map((segment) => ({
      ...delay(segment, segment % 2 === 0 ? laterMs : undefined),
      get segment() {
        reads++;
        return segment;
      },
    }));
    const plan = { boundariesMs: [...segments, segments.length].map((boundary) => 100 * boundary) };
    const { waitsFor } = decideExport(input({ plan, delays }));
    expect(reads).toBeLessThan(5 * segments.length);
    expect(waitsFor).toEqual({ kind: 'retry', delays: delays.filter(({ untilMs }) => untilMs !== undefined) });
  });

  test.each<[string, ExportDecideInput, number]>([
    ['until a change, if nothing else is due', input(), Number.POSITIVE_INFINITY],
    ['until a range has settled', input({ now: { ...now, wallMs: 50 } }), 1_050],
    ['until a retry is due', input({ delays: [delay(0, laterMs)] }), 30_000],
    ['until the failure may be over', input({ troubleUntilMs: laterMs }), 30_000],
    ['until the deadline', input({}, { deadlineMs: now.wallMs + 7 }), 7],
  ])('lasts %s', (_, given, expected) => {
    expect(decideExport(given).requeueAfterMs).toBe(expected);
  });
});

describe('the progress', () => {
  test('is the share of each segment, and the committed rows', () => {
    const records = [record(0, 40, 100), record(1, 100, 200, 7)];
    const decision = decideExport(
      input({ records, running: [search(0, 0, 40, { scannedBytes: 3 })], scannedBytes: 4 }),
    );
    expect(decision.progress).toMatchObject({
      ...{ intervalsDone: 2, intervalsPlanned: 4, rows: 12, bytes: 120, duplicates: 2, scannedBytes: 7 },
      coveredRatio: expect.closeTo(160 / 300, 9),
      searchesDone: expect.closeTo(160 / 300, 9),
    });
    expect(decision.isCovered).toBe(false);
  });

  test('is a third when one of three segments is done, for any length of the segments (H3)', () => {
    const plan = { boundariesMs: [0, 9_900, 9_950, 10_000] };
    const { progress } = decideExport(input({ plan, records: [record(0, 0, 9_900)] }));
    expect(progress.coveredRatio).toBeCloseTo(1 / 3, 9);
  });

  test('stays at 99 % until the digest, while the ratio of finished searches increases', () => {
    const plan = { boundariesMs: [0, 1_000] };
    const figuresAt = (fromMs: number) =>
      decideExport(input({ plan, records: [record(0, fromMs, 1_000)], wantsDigest: true }));
    const ratios = [5, 2].map((leftMs) => figuresAt(leftMs).progress);
    expect(ratios.map(({ coveredRatio }) => coveredRatio)).toEqual([0.99, 0.99]);
    expect(ratios.map(({ searchesDone }) => searchesDone)).toEqual([0.995, 0.998]);
  });

  test('is computed for as many intervals of one segment as a manifest can have', () => {
    const count = 240_000;
    const records = Array.from({ length: count - 1 }, (_, index) => record(0, index + 1, index + 2, 1));
    const { start, progress } = decideExport(input({ plan: { boundariesMs: [0, count] }, records }));
    expect(start).toEqual([order(0, 0, 1)]);
    expect(progress).toMatchObject({ intervalsDone: count - 1, intervalsPlanned: count, rows: count - 1 });
  });

  test('is complete when records cover the range', () => {
    const decision = decideExport(
      input({ plan: { boundariesMs: [0, 100] }, records: [record(0, 0, 40), record(0, 40, 100)] }),
    );
    expect(decision).toMatchObject({ isCovered: true, progress: { coveredRatio: 1 } });
  });
});

test('a digest can void very many intervals at once', () => {
  const ranges = Array.from({ length: 140_000 }, (_, index) => ({ fromMs: index, toMs: index + 1 }));
  const records = ranges.map(({ fromMs, toMs }) => record(0, fromMs, toMs));
  const verdict = { round: 1, proven: [], differing: [], segments: ranges, incomplete: [] };
  const plan = { boundariesMs: [0, ranges.length] };
  const decided = decideExport(input({ plan, records, verdicts: [verdict] }, { settleDelayMs: 1e12 }));
  expect([decided.coverage.voided.length, decided.coverage.remaining.length]).toEqual([140_000, 140_000]);
  expect(decided.waitsFor).toEqual({ kind: 'settling', untilMs: 1e12 + 1 });
});

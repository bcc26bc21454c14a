import { describe, expect, test } from 'vitest';
import type { CommitRecord } from '../../../src/destination/commit-record.ts';
import type { RunningSearch } from '../../../src/export/search/search-tools.ts';
import {
  decide,
  type ExportDecideInput,
  type ExportLimits,
  type ExportMoment,
  type IntervalDelay,
} from '../../../src/export/work/export-decision.ts';

const hourMs = 3_600_000;
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
    running: [],
    delays: [],
    narrowed: [],
    scannedBytes: 0,
    byReceiptTime: false,
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

describe('what starts', () => {
  test.each<[string, ExportDecideInput, ReturnType<typeof order>[]]>([
    ['is as much as may run at once', input(), [order(0, 0, 100), order(1, 100, 200)]],
    ['is not what runs already', input({ running: [search(0, 0, 100)] }), [order(1, 100, 200)]],
    ['is nothing when as many run', input({ running: [search(0, 0, 100), search(2, 200, 300)] }), []],
    [
      'is nothing when more run than now may',
      input({ running: [search(0, 0, 100), search(2, 200, 300)] }, { parallelism: 1 }),
      [],
    ],
    [
      'goes on where the last record begins (E3)',
      input({ records: [record(0, 40, 100), record(1, 100, 200)] }),
      [order(0, 0, 40), order(2, 200, 300)],
    ],
    [
      'is narrower behind a cut without a whole part',
      input({ narrowed: [order(0, 50, 100)] }, { parallelism: 1 }),
      [order(0, 50, 100)],
    ],
    [
      'is not, once that part is committed',
      input({ records: [record(0, 50, 100)], narrowed: [order(0, 50, 100)] }, { parallelism: 1 }),
      [order(0, 0, 50)],
    ],
    [
      'reaches as far as rows were dense, by receipt time',
      input({ byReceiptTime: true, records: [record(0, 90, 100, 50)] }, { parallelism: 1, smallestLimit: 100 }),
      [order(0, 78, 90)],
    ],
    [
      'reaches over a quiet time in steps',
      input({ byReceiptTime: true, records: [record(0, 90, 100, 0)] }, { parallelism: 1 }),
      [order(0, 50, 90)],
    ],
    [
      'reaches to the end of the segment at most',
      input({ byReceiptTime: true, records: [record(0, 50, 100, 0)] }, { parallelism: 1 }),
      [order(0, 0, 50)],
    ],
    ['is nothing that is not settled (E11)', input({ now: { ...now, wallMs: 1_150 } }), [order(0, 0, 100)]],
    [
      'is nothing that is not settled by the clock of the service',
      input({ now: { ...now, clockBehindMs: 8_850 } }),
      [order(0, 0, 100)],
    ],
    [
      'is settled from the first moment on',
      input({ now: { ...now, wallMs: 1_200 } }),
      [order(0, 0, 100), order(1, 100, 200)],
    ],
    [
      'is nothing that is delayed',
      input({ delays: [{ segment: 0, toMs: 100, untilMs: undefined, message: '' }] }),
      [order(1, 100, 200), order(2, 200, 300)],
    ],
    [
      'is what was delayed before somebody committed it',
      input({ records: [record(0, 40, 100)], delays: [{ segment: 0, toMs: 100, untilMs: undefined, message: '' }] }),
      [order(0, 0, 40), order(1, 100, 200)],
    ],
    [
      'is what was delayed for a time',
      input({ delays: [{ segment: 0, toMs: 100, untilMs: now.monotonicMs, message: '' }] }, { parallelism: 1 }),
      [order(0, 0, 100)],
    ],
    ['is nothing while paused', input({}, { isPaused: true }), []],
    ['is nothing while something fails for all', input({ troubleUntilMs: now.monotonicMs + 1 }), []],
    [
      'is something once that may be over',
      input({ troubleUntilMs: now.monotonicMs }, { parallelism: 1 }),
      [order(0, 0, 100)],
    ],
    ['is nothing with as many messages as may be', input({ records: [record(0, 0, 100)] }, { maxMessages: 5 }), []],
    [
      'is nothing with as many found as may be',
      input({ running: [search(0, 0, 100, { messageCount: 5 })] }, { maxMessages: 5 }),
      [],
    ],
    [
      'is something with fewer',
      input({ records: [record(0, 0, 100)] }, { maxMessages: 6, parallelism: 1 }),
      [order(1, 100, 200)],
    ],
    [
      'is so much as may bring as many messages as may be, whatever may run at once',
      input({}, { maxMessages: 101, smallestLimit: 100, parallelism: 3 }),
      [order(0, 0, 100), order(1, 100, 200)],
    ],
    ['is one where a search may bring as many as may be', input({}, { maxMessages: 1_000 }), [order(0, 0, 100)]],
    [
      'is nothing while those that search may bring as many as may be',
      input({ running: [search(0, 0, 100, { messageCount: 5 })] }, { maxMessages: 100, smallestLimit: 100 }),
      [],
    ],
    [
      'is something once they have found fewer',
      input(
        { running: [search(0, 0, 100, { messageCount: 99, isSearching: false })] },
        { maxMessages: 100, smallestLimit: 100, parallelism: 3 },
      ),
      [order(1, 100, 200)],
    ],
    [
      'is one while that may bring what the largest before brought, where the service calls nothing a limit',
      input({ records: [record(0, 0, 100, 200_000)] }, { maxMessages: 400_000, parallelism: 3 }),
      [order(1, 100, 200)],
    ],
    [
      'is nothing while the largest found so far may come once more',
      input(
        { running: [search(0, 0, 100, { messageCount: 200_000 }), search(1, 100, 200)] },
        { maxMessages: 400_000, parallelism: 3 },
      ),
      [],
    ],
    ['is nothing with as many bytes scanned as may be', input({ scannedBytes: 7 }, { maxBytesScanned: 7 }), []],
    ['is nothing past the deadline', input({}, { deadlineMs: now.wallMs }), []],
    ['is nothing where records do not fit', input({ records: [record(0, 0, 50)] }), []],
    [
      'is nothing when all is covered',
      input({ records: [record(0, 0, 100), record(1, 100, 200), record(2, 200, 300)] }),
      [],
    ],
    [
      'takes the place of what is stopped',
      input({ records: [record(0, 40, 100)], running: [search(0, 0, 100)] }, { parallelism: 1 }),
      [order(0, 0, 40)],
    ],
  ])('%s', (_, given, expected) => {
    expect(decide(given).start).toEqual(expected);
  });
});

describe('what runs', () => {
  test.each<[string, ExportDecideInput, string[]]>([
    ['goes on', input({ running: [search(0, 0, 100)] }), []],
    ['goes on while paused', input({ running: [search(0, 0, 100)] }, { isPaused: true }), []],
    [
      'stops while paused when it has no job yet',
      input({ running: [search(0, 0, 100, { createdAtMs: undefined })] }, { isPaused: true }),
      ['Paused'],
    ],
    [
      'stops when somebody else committed it (E3)',
      input({ records: [record(0, 40, 100)], running: [search(0, 0, 100)] }),
      ['Overtaken'],
    ],
    [
      'stops when somebody else committed all of it',
      input({ records: [record(0, 0, 100)], running: [search(0, 0, 100)] }),
      ['Overtaken'],
    ],
    [
      'stops past the deadline',
      input({ running: [search(0, 0, 100)] }, { deadlineMs: now.wallMs }),
      ['DeadlineExceeded'],
    ],
    [
      'stops when too much is scanned',
      input({ scannedBytes: 3, running: [search(0, 0, 100, { scannedBytes: 4 })] }, { maxBytesScanned: 7 }),
      ['MaxBytesScanned'],
    ],
    [
      'is read to its end even so',
      input({ scannedBytes: 7, running: [search(0, 0, 100, { isSearching: false })] }, { maxBytesScanned: 7 }),
      [],
    ],
  ])('%s', (_, given, expected) => {
    expect(decide(given).stop.map(({ reason }) => reason)).toEqual(expected);
  });

  test('is ended as cut near its eight hours (E13)', () => {
    const old = search(0, 0, 100, { createdAtMs: now.monotonicMs - 8 * hourMs + 60_000 });
    const young = search(1, 100, 200, { createdAtMs: now.monotonicMs - 7 * hourMs });
    const decision = decide(input({ running: [old, young] }));
    expect(decision.endAsCut).toEqual([old]);
    expect(decision.requeueAfterMs).toBe(40 * 60_000);
    expect(decide(input({ running: [{ ...old, isSearching: false }] })).endAsCut).toEqual([]);
  });
});

describe('what it waits for', () => {
  const delay = (segment: number, untilMs?: number): IntervalDelay => {
    return { segment, toMs: 100 * (segment + 1), untilMs, message: 'differs' };
  };
  const laterMs = now.monotonicMs + 30_000;
  test.each<[string, ExportDecideInput, object | undefined]>([
    ['is nothing while something starts', input({ delays: [delay(0)] }), undefined],
    [
      'is nothing while something runs',
      input({ running: [search(0, 0, 100)], delays: [delay(1), delay(2)] }),
      undefined,
    ],
    [
      'is the time to try others again before it is a person',
      input({ delays: [delay(0), delay(1, laterMs), delay(2)] }),
      { kind: 'retry', delays: [delay(1, laterMs)] },
    ],
    [
      'is for people where nothing else is left',
      input({ records: [record(1, 100, 200)], delays: [delay(0), delay(2)] }),
      { kind: 'people', delays: [delay(0), delay(2)], isRest: true },
    ],
    [
      'is for people while the rest is to settle',
      input({ records: [record(1, 100, 200)], delays: [delay(0)] }, { settleDelayMs: now.wallMs - 250 }),
      { kind: 'people', delays: [delay(0)], isRest: false },
    ],
    [
      'is the time to try again',
      input({ delays: [0, 1, 2].map((segment) => delay(segment, laterMs)) }),
      { kind: 'retry' },
    ],
    ['is what has to settle', input({ now: { ...now, wallMs: 50 } }), { kind: 'settling', untilMs: 1_100 }],
    [
      'is what has to settle by a clock that is behind',
      input({ now: { ...now, wallMs: 50, clockBehindMs: 20 } }),
      { kind: 'settling', untilMs: 1_120 },
    ],
    ['is that it goes on', input({ running: [search(0, 0, 100)] }, { isPaused: true }), { kind: 'paused' }],
    ['is that trouble passes', input({ troubleUntilMs: laterMs }), { kind: 'trouble' }],
    ['is more messages', input({ records: [record(0, 0, 100)] }, { maxMessages: 5 }), { kind: 'maxMessages' }],
    ['is more to scan', input({ scannedBytes: 7 }, { maxBytesScanned: 7 }), { kind: 'maxBytesScanned' }],
    [
      'is nothing that could come past the deadline',
      input({}, { deadlineMs: 5, isPaused: true }),
      { kind: 'deadline' },
    ],
    [
      'is order at the destination',
      input({ records: [record(0, 0, 50)] }),
      { kind: 'disorder', strays: [record(0, 0, 50)] },
    ],
    [
      'is nothing when all is covered, whatever the limits',
      input(
        { plan: { boundariesMs: [0, 100] }, records: [record(0, 0, 100)] },
        { maxMessages: 1, deadlineMs: 5, isPaused: true },
      ),
      undefined,
    ],
  ])('%s', (_, given, expected) => {
    const { waitsFor } = decide(given);
    if (expected) expect(waitsFor).toMatchObject(expected);
    else expect(waitsFor).toBeUndefined();
  });

  test.each<[string, ExportDecideInput, number]>([
    ['when nothing but news changes it', input(), Number.POSITIVE_INFINITY],
    ['until something has settled', input({ now: { ...now, wallMs: 50 } }), 1_050],
    ['until it may try again', input({ delays: [delay(0, laterMs)] }), 30_000],
    ['until trouble may be over', input({ troubleUntilMs: laterMs }), 30_000],
    ['until the deadline', input({}, { deadlineMs: now.wallMs + 7 }), 7],
  ])('and how long, %s', (_, given, expected) => {
    expect(decide(given).requeueAfterMs).toBe(expected);
  });
});

describe('how far it is', () => {
  test('is the share of each segment, and what is committed', () => {
    const records = [record(0, 40, 100), record(1, 100, 200, 7)];
    const decision = decide(input({ records, running: [search(0, 0, 40, { scannedBytes: 3 })], scannedBytes: 4 }));
    expect(decision.progress).toEqual({
      ...{ intervalsDone: 2, intervalsPlanned: 4, rows: 12, bytes: 120, duplicates: 2, scannedBytes: 7 },
      coveredRatio: expect.closeTo(160 / 300, 9),
    });
    expect(decision.isCovered).toBe(false);
  });

  test('is a third when one of three segments is done, however much of the time that is (H3)', () => {
    const plan = { boundariesMs: [0, 9_900, 9_950, 10_000] };
    const { progress } = decide(input({ plan, records: [record(0, 0, 9_900)] }));
    expect(progress.coveredRatio).toBeCloseTo(1 / 3, 9);
  });

  test('is known of as many intervals of one segment as a manifest has', () => {
    const count = 240_000;
    const records = Array.from({ length: count - 1 }, (_, index) => record(0, index + 1, index + 2, 1));
    const { start, progress } = decide(input({ plan: { boundariesMs: [0, count] }, records }));
    expect(start).toEqual([order(0, 0, 1)]);
    expect(progress).toMatchObject({ intervalsDone: count - 1, intervalsPlanned: count, rows: count - 1 });
  });

  test('is all when records cover it', () => {
    const decision = decide(
      input({ plan: { boundariesMs: [0, 100] }, records: [record(0, 0, 40), record(0, 40, 100)] }),
    );
    expect(decision).toMatchObject({ isCovered: true, progress: { coveredRatio: 1 } });
  });
});

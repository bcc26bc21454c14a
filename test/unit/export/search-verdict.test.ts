import { describe, expect, test } from 'vitest';
import { summaryOf } from '../../../src/destination/slice-figures.ts';
import type { RowFigures } from '../../../src/export/search/row-filter.ts';
import { judge, type SearchFacts, showsInclusiveEnd, type Verdict } from '../../../src/export/search/search-verdict.ts';

const interval = { fromMs: 100, toMs: 200 };

function figures(more: Partial<RowFigures> = {}): RowFigures {
  const [outside, duplicates, left] = [more.outside ?? 0, more.duplicates ?? 0, more.left ?? 0];
  const written = more.written ?? 10;
  return {
    received: written + outside + duplicates + left,
    overlapping: 0,
    written,
    outside,
    duplicates,
    duplicatesOfWritten: duplicates,
    left,
    atEnd: 0,
    strayMs: outside > (more.atEnd ?? 0) ? 201 : undefined,
    oldestMs: 120,
    isDisordered: false,
    areDuplicatesSure: true,
    messages: {},
    slices: undefined,
    repeated: undefined,
    ...more,
  };
}

function run(more: Partial<SearchFacts> = {}): SearchFacts {
  return {
    interval,
    results: 'Messages',
    byReceiptTime: false,
    isSplittable: true,
    isEndMoved: false,
    sign: undefined,
    jobCount: 10,
    pendingErrors: [],
    hasLostStatus: false,
    figures: figures(),
    isReadInPart: false,
    isReadAgain: false,
    isReadTwice: false,
    keepsIncomplete: false,
    failedBefore: 0,
    ...more,
  };
}

function cutRun(more: Partial<SearchFacts> = {}): SearchFacts {
  return run({ sign: 'forcePaused', jobCount: 12, figures: figures({ left: 2 }), ...more });
}

const counted = (fromMs: number, rows: number, source: 'Aggregate' | 'Histogram' = 'Aggregate') => ({
  interval: { fromMs, toMs: 200 },
  rows,
  source,
});

describe('a whole interval', () => {
  test.each<[string, SearchFacts, Partial<Verdict>]>([
    ['is committed when the job counts the received rows (E6)', run(), { kind: 'commit' }],
    [
      'is committed when it has no rows',
      run({ jobCount: 0, figures: figures({ written: 0, oldestMs: undefined }) }),
      { kind: 'commit' },
    ],
    [
      'is committed with rows at an inclusive end (E10)',
      run({ jobCount: 11, figures: figures({ outside: 1, atEnd: 1 }) }),
      { kind: 'commit' },
    ],
    [
      'is searched again when rows are outside the range (E6)',
      run({ jobCount: 11, isReadAgain: true, figures: figures({ outside: 1 }) }),
      { kind: 'searchAgain', isFailure: true },
    ],
    [
      'is searched again when rows are at its end although an earlier end was sent',
      run({ jobCount: 11, isReadAgain: true, isEndMoved: true, figures: figures({ outside: 1, atEnd: 1 }) }),
      { kind: 'searchAgain' },
    ],
    [
      'is incomplete when rows are outside again',
      run({ jobCount: 11, isReadAgain: true, figures: figures({ outside: 1 }), failedBefore: 1 }),
      { kind: 'incomplete', reason: 'RowsOutside' },
    ],
    [
      'is read again when a page repeats rows of a short page (E9)',
      run({ jobCount: 11, figures: figures({ duplicates: 1, overlapping: 1 }) }),
      { kind: 'read', anyOrder: false },
    ],
    [
      'is searched again when a page repeats rows elsewhere',
      run({ jobCount: 11, isReadAgain: true, isReadTwice: true, figures: figures({ duplicates: 1, overlapping: 1 }) }),
      { kind: 'searchAgain', isFailure: true },
    ],
    [
      'is read again when repeated rows may have replaced others (E9)',
      run({ jobCount: 13, figures: figures({ outside: 1, atEnd: 1, duplicates: 2 }) }),
      { kind: 'read', anyOrder: false, mayLeave: false },
    ],
    [
      'is read again, and compared with all rows before, if rows are out of order',
      run({ jobCount: 12, figures: figures({ duplicates: 2, isDisordered: true }) }),
      { kind: 'read', anyOrder: true, mayLeave: false },
    ],
    [
      'is committed when rows were repeated in both readings',
      run({ jobCount: 13, figures: figures({ outside: 1, atEnd: 1, duplicates: 2 }), isReadTwice: true }),
      { kind: 'commit' },
    ],
    ['is searched again when rows are missing', run({ jobCount: 11, isReadAgain: true }), { kind: 'searchAgain' }],
    [
      'is searched again when there are too many rows',
      run({ jobCount: 9, isReadAgain: true }),
      { kind: 'searchAgain' },
    ],
    ['is read again first when pages lack rows', run({ jobCount: 11 }), { kind: 'read', anyOrder: false }],
    [
      'is read again first when rows are outside',
      run({ jobCount: 11, figures: figures({ outside: 1 }) }),
      { kind: 'read', anyOrder: false },
    ],
    [
      'is incomplete when rows are missing again',
      run({ jobCount: 11, isReadAgain: true, failedBefore: 1 }),
      { kind: 'incomplete', reason: 'CountDiffers' },
    ],
    ['is never committed with a pending error (E5)', run({ pendingErrors: ['no such view'] }), { kind: 'searchAgain' }],
    ['is counted when a status was lost (E5)', run({ hasLostStatus: true }), { kind: 'count', interval }],
    [
      'is committed when the count is the same',
      run({ hasLostStatus: true, counted: counted(100, 10) }),
      { kind: 'commit' },
    ],
    [
      'is searched again when the count differs',
      run({ hasLostStatus: true, counted: counted(100, 11) }),
      { kind: 'searchAgain' },
    ],
    [
      'is searched again if the query cannot be counted',
      run({ hasLostStatus: true, isSplittable: false }),
      { kind: 'searchAgain', isFailure: false },
    ],
    [
      'is not judged by the count of another interval',
      run({ hasLostStatus: true, counted: counted(101, 10) }),
      { kind: 'count' },
    ],
    [
      'is read only when the search is done',
      run({ figures: undefined }),
      { kind: 'read', anyOrder: false, mayLeave: false },
    ],
  ])('%s', (_, one, expected) => {
    expect(judge(one)).toMatchObject(expected);
  });

  test('has a record with its figures', () => {
    const slice = { fromMs: 190, rows: 10, bytes: 70, oldestMs: 191, newestMs: 192 };
    const slices = { lengthMs: 20, slices: [slice] };
    const one = run({
      jobCount: 13,
      figures: figures({ outside: 1, atEnd: 1, duplicates: 2, messages: { bytes: 70 }, slices }),
      isReadTwice: true,
    });
    expect(judge(one)).toEqual({
      kind: 'commit',
      record: {
        ...{ fromMs: 100, toMs: 200, received: 13, written: 10, outside: 1, duplicates: 2, left: 0 },
        count: { rows: 13, source: 'Job' },
        figures: { bytes: 70 },
        slices: { lengthMs: 20, shared: [slice], whole: summaryOf({ lengthMs: 20, slices: [] }, interval).whole },
        endInclusive: true,
      },
    });
  });

  test('keeps nothing of a search with errors (E5)', () => {
    const verdict = judge(run({ pendingErrors: ['a', 'b', 'c', 'd'], failedBefore: 1 }));
    expect(verdict).toEqual({
      kind: 'incomplete',
      reason: 'PendingErrors',
      record: undefined,
      message: 'the search reported errors: a; b; c',
    });
  });

  test('is kept with a flag when rows are missing', () => {
    const verdict = judge(run({ jobCount: 11, isReadAgain: true, failedBefore: 1 }));
    expect(verdict).toMatchObject({
      record: { written: 10, count: { rows: 11, source: 'Job' }, incomplete: { reason: 'CountDiffers' } },
      message: expect.stringContaining('the search job reports 11 rows, but its result pages contain 10 rows'),
    });
  });
});

describe('records', () => {
  const records = (more: Partial<SearchFacts> = {}) =>
    run({ results: 'Records', isSplittable: false, figures: figures({ areDuplicatesSure: false }), ...more });
  test.each<[string, SearchFacts, Partial<Verdict>]>([
    ['are committed when their number equals that of the job', records(), { kind: 'commit' }],
    ['are searched again when their number differs', records({ jobCount: 11 }), { kind: 'searchAgain' }],
    ['are searched again when a status was lost', records({ hasLostStatus: true }), { kind: 'searchAgain' }],
  ])('%s', (_, one, expected) => {
    expect(judge(one)).toMatchObject(expected);
  });
});

describe('a cut interval (E4)', () => {
  test.each<[string, SearchFacts, Partial<Verdict>]>([
    ['is counted without its oldest millisecond', cutRun(), { kind: 'count', interval: { fromMs: 121, toMs: 200 } }],
    ['is committed when the count equals the written rows', cutRun({ counted: counted(121, 10) }), { kind: 'commit' }],
    [
      'is committed although a status was lost',
      cutRun({ counted: counted(121, 10), hasLostStatus: true }),
      { kind: 'commit' },
    ],
    ['is searched again when the count differs', cutRun({ counted: counted(121, 11) }), { kind: 'searchAgain' }],
    [
      'is incomplete when the count differs again',
      cutRun({ counted: counted(121, 11), failedBefore: 1 }),
      { kind: 'incomplete', reason: 'CountDiffers' },
    ],
    [
      'is committed with repeated rows if the others are counted (E9)',
      cutRun({ jobCount: 14, figures: figures({ left: 2, duplicates: 2 }), counted: counted(121, 10) }),
      { kind: 'commit' },
    ],
    [
      'is read again before a count when rows were repeated',
      cutRun({ jobCount: 14, figures: figures({ left: 2, duplicates: 2 }) }),
      { kind: 'read', anyOrder: false, mayLeave: true },
    ],
    [
      'is committed when rows were repeated in both readings, and the count includes them',
      cutRun({
        ...{ jobCount: 14, isReadTwice: true, counted: counted(121, 12) },
        figures: figures({ left: 2, duplicates: 2 }),
      }),
      { kind: 'commit', record: { written: 10, duplicates: 2, count: { rows: 12 } } as never },
    ],
    [
      'is searched again when a status was lost, and repeated rows may hide missing ones',
      cutRun({
        ...{ jobCount: 14, isReadTwice: true, counted: counted(121, 12), hasLostStatus: true },
        figures: figures({ left: 2, duplicates: 2 }),
      }),
      { kind: 'searchAgain' },
    ],
    [
      'is searched again when rows of the next interval were repeated, and the count differs',
      cutRun({
        ...{ jobCount: 14, isReadTwice: true, counted: counted(121, 12) },
        figures: figures({ left: 2, duplicates: 2, duplicatesOfWritten: 0 }),
      }),
      { kind: 'searchAgain' },
    ],
    ['is searched again when pages lack rows', cutRun({ jobCount: 13, isReadAgain: true }), { kind: 'searchAgain' }],
    [
      'is never committed with a pending error (E5)',
      cutRun({ counted: counted(121, 10), pendingErrors: ['a'] }),
      { kind: 'searchAgain' },
    ],
    [
      'is read before the position of the cut is known',
      cutRun({ figures: undefined }),
      { kind: 'read', mayLeave: true },
    ],
    [
      'is committed by whole buckets',
      cutRun({ writtenFromMs: 140, counted: counted(140, 10, 'Histogram') }),
      { kind: 'commit' },
    ],
    [
      'is counted when a status and perhaps its buckets were lost',
      cutRun({ writtenFromMs: 140, counted: counted(140, 10, 'Histogram'), hasLostStatus: true }),
      { kind: 'count', interval: { fromMs: 140, toMs: 200 } },
    ],
    [
      'is counted when whole buckets have another number',
      cutRun({ writtenFromMs: 140, counted: counted(140, 11, 'Histogram') }),
      { kind: 'count', interval: { fromMs: 140, toMs: 200 } },
    ],
    [
      'is committed by whole buckets that have as many rows as were read, whatever the job counts',
      cutRun({
        ...{ isReadInPart: true, jobCount: 99, writtenFromMs: 115, counted: counted(115, 10, 'Histogram') },
        figures: figures({ left: 2, oldestMs: 118 }),
      }),
      { kind: 'commit' },
    ],
    [
      'is read completely when a repeated row displaced the one after the buckets, which may lack a late row',
      cutRun({
        ...{ isReadInPart: true, jobCount: 99, writtenFromMs: 115, counted: counted(115, 10, 'Histogram') },
        figures: figures({ duplicates: 1, oldestMs: 118 }),
      }),
      { kind: 'read', mayLeave: true },
    ],
    [
      'is read completely when no row after the counted part shows that the part is complete',
      cutRun({
        ...{ isReadInPart: true, jobCount: 99, writtenFromMs: 115, counted: counted(115, 10, 'Aggregate') },
        figures: figures({ oldestMs: 118 }),
      }),
      { kind: 'read', mayLeave: true },
    ],
    [
      'is read completely when the count differs',
      cutRun({ isReadInPart: true, jobCount: 99, writtenFromMs: 115, counted: counted(115, 9, 'Aggregate') }),
      { kind: 'read', mayLeave: true },
    ],
    [
      'is halved when rows of the counted part were out of order',
      cutRun({
        ...{ isReadInPart: true, writtenFromMs: 115, counted: counted(115, 10, 'Histogram') },
        figures: figures({ left: 2, isDisordered: true }),
      }),
      { kind: 'bisect', atMs: 150 },
    ],
    [
      'that was ended early may find more rows while it is read (E13)',
      cutRun({ sign: 'timeOver', jobCount: 9, counted: counted(121, 10) }),
      { kind: 'commit' },
    ],
    [
      'that was ended early has at least the rows it had found',
      cutRun({ sign: 'timeOver', jobCount: 13, isReadAgain: true, counted: counted(121, 10) }),
      { kind: 'searchAgain', isFailure: true },
    ],
    [
      'is read again when repeated rows reach its oldest row',
      cutRun({ writtenFromMs: 120, counted: counted(120, 10, 'Histogram') }),
      { kind: 'read', mayLeave: true },
    ],
    [
      'is halved when rows were out of order',
      cutRun({ figures: figures({ left: 2, isDisordered: true, areDuplicatesSure: false }) }),
      { kind: 'bisect', atMs: 150 },
    ],
    [
      'is searched with an earlier end when all rows lie at it (E10)',
      cutRun({ figures: figures({ written: 0, outside: 12, atEnd: 12, oldestMs: undefined }) }),
      { kind: 'endsInclusive' },
    ],
    [
      'is incomplete if it cannot be split (E8)',
      cutRun({ isSplittable: false, figures: figures({ written: 12 }) }),
      { kind: 'incomplete', reason: 'LimitReached' },
    ],
    [
      'is incomplete without being read',
      cutRun({ isSplittable: false, figures: undefined }),
      { kind: 'incomplete', reason: 'LimitReached', record: undefined },
    ],
    [
      'is reported as out of time, not as too large, when it was ended early (E13)',
      cutRun({ sign: 'timeOver', isSplittable: false, figures: figures({ written: 12 }) }),
      { kind: 'incomplete', reason: 'TimeOver', message: expect.stringContaining('eight hours') as string },
    ],
    [
      'keeps nothing of an aggregation that was ended early',
      cutRun({ sign: 'timeOver', isSplittable: false, results: 'Records', figures: undefined, keepsIncomplete: true }),
      { kind: 'incomplete', reason: 'TimeOver', record: undefined },
    ],
    [
      'with a round count explains this number in its message',
      cutRun({ sign: 'roundCount', jobCount: 10_000, isSplittable: false, figures: undefined }),
      { kind: 'incomplete', message: expect.stringContaining('limits its rows to 10000') as string },
    ],
    [
      'with a known limit names this limit in its message',
      cutRun({ sign: 'smallestLimit', jobCount: 300_000, isSplittable: false, figures: undefined }),
      {
        kind: 'incomplete',
        message: expect.stringContaining(
          'found 300000 rows, and the service has already cut off an earlier search',
        ) as string,
      },
    ],
    [
      'is read if incomplete intervals are kept',
      cutRun({ isSplittable: false, figures: undefined, keepsIncomplete: true }),
      { kind: 'read', mayLeave: false },
    ],
  ])('%s', (_, one, expected) => {
    expect(judge(one)).toMatchObject(expected);
  });

  test('has a record of its newer part, and names the source of the count', () => {
    expect(judge(cutRun({ counted: counted(121, 10) }))).toEqual({
      kind: 'commit',
      record: {
        ...{ fromMs: 121, toMs: 200, received: 12, written: 10, outside: 0, duplicates: 0, left: 2 },
        count: { rows: 10, source: 'Aggregate' },
        figures: {},
      },
    });
  });

  test('that is kept with a flag has only the part that was written', () => {
    const verdict = judge(cutRun({ jobCount: 13, isReadAgain: true, failedBefore: 1 }));
    expect(verdict).toMatchObject({
      kind: 'incomplete',
      record: { fromMs: 121, incomplete: { reason: 'CountDiffers' } },
    });
  });

  test('by receipt time is halved without being read', () => {
    const one = cutRun({ byReceiptTime: true, figures: undefined });
    expect(judge(one)).toEqual({ kind: 'bisect', atMs: 150 });
    expect(judge({ ...one, interval: { fromMs: 100, toMs: 101 } })).toEqual({
      kind: 'read',
      anyOrder: false,
      mayLeave: false,
    });
  });
});

describe('a dense millisecond (E4)', () => {
  const dense = (more: Partial<SearchFacts> = {}) =>
    cutRun({ figures: figures({ written: 12, oldestMs: 199 }), ...more });
  test.each<[string, SearchFacts, Partial<Verdict>]>([
    ['is counted first', dense(), { kind: 'count', interval: { fromMs: 199, toMs: 200 } }],
    ['is committed when the count equals the found rows', dense({ counted: counted(199, 12) }), { kind: 'commit' }],
    [
      'is searched again when rows outside displaced its rows',
      dense({
        ...{ jobCount: 13, isReadAgain: true },
        isEndMoved: true,
        figures: figures({ written: 12, outside: 1, oldestMs: 199 }),
        counted: counted(199, 13),
      }),
      { kind: 'searchAgain' },
    ],
    [
      'is searched again when a status was lost',
      dense({ counted: counted(199, 13), hasLostStatus: true }),
      { kind: 'searchAgain' },
    ],
    [
      'is committed when the service stores and counts rows twice (E9)',
      dense({
        ...{ jobCount: 14, isReadTwice: true, counted: counted(199, 14) },
        figures: figures({ written: 12, duplicates: 2, oldestMs: 199 }),
      }),
      { kind: 'commit' },
    ],
    [
      'is searched again when the search job found as many rows as are counted',
      dense({
        ...{ jobCount: 14, counted: counted(199, 14) },
        figures: figures({ written: 12, duplicates: 2, oldestMs: 199 }),
      }),
      { kind: 'searchAgain', isFailure: true },
    ],
    ['is dense when the count is larger', dense({ counted: counted(199, 13) }), { kind: 'dense' }],
    [
      'is searched again with an earlier end first (E10)',
      dense({ jobCount: 13, figures: figures({ written: 12, outside: 1, atEnd: 1, oldestMs: 199 }) }),
      { kind: 'endsInclusive' },
    ],
  ])('%s', (_, one, expected) => {
    expect(judge(one)).toMatchObject(expected);
  });

  test('can be kept with a flag and its figures', () => {
    expect(judge(dense({ counted: counted(199, 13) }))).toMatchObject({
      record: {
        fromMs: 199,
        toMs: 200,
        written: 12,
        count: { rows: 13 },
        incomplete: { reason: 'MillisecondTooDense' },
      },
      message: 'the millisecond 1970-01-01T00:00:00.199Z has 13 rows, but the search returned only 12 of them',
    });
  });
});

describe('rows out of order', () => {
  test('are read again, and compared with all rows before (E9)', () => {
    const one = run({ figures: figures({ isDisordered: true, areDuplicatesSure: false }) });
    expect(judge(one)).toEqual({ kind: 'read', anyOrder: true, mayLeave: false });
    expect(judge({ ...one, figures: figures({ isDisordered: true }) })).toMatchObject({ kind: 'commit' });
  });
});

describe('an inclusive end (E10)', () => {
  test.each<[string, boolean, SearchFacts]>([
    ['is shown by a row at the last millisecond', true, run({ figures: figures({ outside: 1, atEnd: 1 }) })],
    ['is not shown by a row after it', false, run({ figures: figures({ outside: 1 }) })],
    [
      'is not shown if an earlier end was sent',
      false,
      run({ isEndMoved: true, figures: figures({ outside: 1, atEnd: 1 }) }),
    ],
    ['is not shown before rows are read', false, run({ figures: undefined })],
  ])('%s', (_, expected, one) => {
    expect(showsInclusiveEnd(one)).toBe(expected);
  });
});

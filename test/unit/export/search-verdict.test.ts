import { describe, expect, test } from 'vitest';
import { summaryOf } from '../../../src/destination/slice-figures.ts';
import type { RunFigures } from '../../../src/export/search/run-tally.ts';
import { judge, type SearchFacts, showsInclusiveEnd, type Verdict } from '../../../src/export/search/search-verdict.ts';

const interval = { fromMs: 100, toMs: 200 };

function figures(more: Partial<RunFigures> = {}): RunFigures {
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
    isTainted: false,
    figures: figures(),
    isReadInPart: false,
    isReadAgain: false,
    isReadTwice: false,
    keepsIncomplete: false,
    failedBefore: 0,
    ...more,
  };
}

/** Search result that the service truncated at 12 rows, of which two are in the oldest millisecond. */
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
    ['counts when its job counts what came (E6)', run(), { kind: 'commit' }],
    [
      'counts when it has nothing',
      run({ jobCount: 0, figures: figures({ written: 0, oldestMs: undefined }) }),
      { kind: 'commit' },
    ],
    [
      'counts with rows at an end that is inclusive (E10)',
      run({ jobCount: 11, figures: figures({ outside: 1, atEnd: 1 }) }),
      { kind: 'commit' },
    ],
    [
      'is searched again when rows lie outside (E6)',
      run({ jobCount: 11, isReadAgain: true, figures: figures({ outside: 1 }) }),
      { kind: 'searchAgain', isFailure: true },
    ],
    [
      'is searched again when rows lie at its end although an earlier end was sent',
      run({ jobCount: 11, isReadAgain: true, isEndMoved: true, figures: figures({ outside: 1, atEnd: 1 }) }),
      { kind: 'searchAgain' },
    ],
    [
      'is incomplete when rows lie outside again',
      run({ jobCount: 11, isReadAgain: true, figures: figures({ outside: 1 }), failedBefore: 1 }),
      { kind: 'incomplete', reason: 'RowsOutside' },
    ],
    [
      'is searched again when rows have a time that no date shows',
      run({ jobCount: 11, isReadAgain: true, figures: figures({ outside: 1, strayMs: 9e15 }) }),
      { kind: 'searchAgain' },
    ],
    [
      'is read again when a page repeated rows of a short page (E9)',
      run({ jobCount: 11, figures: figures({ overlapping: 1 }) }),
      { kind: 'read', anyOrder: false },
    ],
    [
      'is searched again when a page does so at another place',
      run({ jobCount: 11, isReadAgain: true, isReadTwice: true, figures: figures({ overlapping: 1 }) }),
      { kind: 'searchAgain', isFailure: true },
    ],
    [
      'is read again when rows came again, which may have come in the place of others (E9)',
      run({ jobCount: 13, figures: figures({ outside: 1, atEnd: 1, duplicates: 2 }) }),
      { kind: 'read', anyOrder: false, mayLeave: false },
    ],
    [
      'is so with all rows remembered where they are out of order',
      run({ jobCount: 12, figures: figures({ duplicates: 2, isDisordered: true }) }),
      { kind: 'read', anyOrder: true, mayLeave: false },
    ],
    [
      'counts when they came again so twice',
      run({ jobCount: 13, figures: figures({ outside: 1, atEnd: 1, duplicates: 2 }), isReadTwice: true }),
      { kind: 'commit' },
    ],
    ['is searched again when rows are missing', run({ jobCount: 11, isReadAgain: true }), { kind: 'searchAgain' }],
    ['is searched again when there are too many', run({ jobCount: 9, isReadAgain: true }), { kind: 'searchAgain' }],
    ['is read again first when pages lack rows', run({ jobCount: 11 }), { kind: 'read', anyOrder: false }],
    [
      'is read again first when rows lie outside',
      run({ jobCount: 11, figures: figures({ outside: 1 }) }),
      { kind: 'read', anyOrder: false },
    ],
    [
      'is incomplete when they are missing again',
      run({ jobCount: 11, isReadAgain: true, failedBefore: 1 }),
      { kind: 'incomplete', reason: 'CountDiffers' },
    ],
    ['is never committed with a pending error (E5)', run({ pendingErrors: ['no such view'] }), { kind: 'searchAgain' }],
    ['is counted when a status was lost (E5)', run({ isTainted: true }), { kind: 'count', interval }],
    [
      'counts in spite of it when that count is the same',
      run({ isTainted: true, counted: counted(100, 10) }),
      { kind: 'commit' },
    ],
    ['is searched again when it is not', run({ isTainted: true, counted: counted(100, 11) }), { kind: 'searchAgain' }],
    [
      'is searched again where the query cannot be counted',
      run({ isTainted: true, isSplittable: false }),
      { kind: 'searchAgain', isFailure: false },
    ],
    [
      'is not counted by what was counted elsewhere',
      run({ isTainted: true, counted: counted(101, 10) }),
      { kind: 'count' },
    ],
    ['is read only when it is done', run({ figures: undefined }), { kind: 'read', anyOrder: false, mayLeave: false }],
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

  test('keeps what there is when rows are missing, and says so', () => {
    const verdict = judge(run({ jobCount: 11, isReadAgain: true, failedBefore: 1 }));
    expect(verdict).toMatchObject({
      record: { written: 10, count: { rows: 11, source: 'Job' }, incomplete: { reason: 'CountDiffers' } },
      message: expect.stringContaining('the job counts 11 rows, but its pages have 10'),
    });
  });
});

describe('records', () => {
  const records = (more: Partial<SearchFacts> = {}) =>
    run({ results: 'Records', isSplittable: false, figures: figures({ areDuplicatesSure: false }), ...more });
  test.each<[string, SearchFacts, Partial<Verdict>]>([
    ['count when there are as many as the job says', records(), { kind: 'commit' }],
    ['are searched again when there are not', records({ jobCount: 11 }), { kind: 'searchAgain' }],
    ['are searched again when a status was lost', records({ isTainted: true }), { kind: 'searchAgain' }],
  ])('%s', (_, one, expected) => {
    expect(judge(one)).toMatchObject(expected);
  });
});

describe('a cut interval (E4)', () => {
  test.each<[string, SearchFacts, Partial<Verdict>]>([
    ['is counted behind its oldest millisecond', cutRun(), { kind: 'count', interval: { fromMs: 121, toMs: 200 } }],
    ['counts when that is what was written', cutRun({ counted: counted(121, 10) }), { kind: 'commit' }],
    ['counts in spite of a lost status', cutRun({ counted: counted(121, 10), isTainted: true }), { kind: 'commit' }],
    ['is searched again when it is not', cutRun({ counted: counted(121, 11) }), { kind: 'searchAgain' }],
    [
      'is incomplete when it is not again',
      cutRun({ counted: counted(121, 11), failedBefore: 1 }),
      { kind: 'incomplete', reason: 'CountDiffers' },
    ],
    [
      'counts with rows that came again, of which others are counted (E9)',
      cutRun({ jobCount: 14, figures: figures({ left: 2, duplicates: 2 }), counted: counted(121, 10) }),
      { kind: 'commit' },
    ],
    [
      'is read again before it is counted when rows came again',
      cutRun({ jobCount: 14, figures: figures({ left: 2, duplicates: 2 }) }),
      { kind: 'read', anyOrder: false, mayLeave: true },
    ],
    [
      'counts when they came again so twice, and are counted so',
      cutRun({
        ...{ jobCount: 14, isReadTwice: true, counted: counted(121, 12) },
        figures: figures({ left: 2, duplicates: 2 }),
      }),
      { kind: 'commit', record: { written: 10, duplicates: 2, count: { rows: 12 } } as never },
    ],
    [
      'is searched again when a status was lost, and maybe as many rows as came again',
      cutRun({
        ...{ jobCount: 14, isReadTwice: true, counted: counted(121, 12), isTainted: true },
        figures: figures({ left: 2, duplicates: 2 }),
      }),
      { kind: 'searchAgain' },
    ],
    [
      'is searched again when rows of the next interval came again, and the count differs',
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
    ['is read before it is known where it is cut', cutRun({ figures: undefined }), { kind: 'read', mayLeave: true }],
    [
      'counts by whole buckets',
      cutRun({ writtenFromMs: 140, counted: counted(140, 10, 'Histogram') }),
      { kind: 'commit' },
    ],
    [
      'is counted when a status was lost, and maybe buckets with it',
      cutRun({ writtenFromMs: 140, counted: counted(140, 10, 'Histogram'), isTainted: true }),
      { kind: 'count', interval: { fromMs: 140, toMs: 200 } },
    ],
    [
      'is counted when whole buckets have something else',
      cutRun({ writtenFromMs: 140, counted: counted(140, 11, 'Histogram') }),
      { kind: 'count', interval: { fromMs: 140, toMs: 200 } },
    ],
    [
      'counts by whole buckets of which no more was read than they have, whatever its job counts',
      cutRun({
        ...{ isReadInPart: true, jobCount: 99, writtenFromMs: 115, counted: counted(115, 10, 'Histogram') },
        figures: figures({ left: 2, oldestMs: 118 }),
      }),
      { kind: 'commit' },
    ],
    [
      'is read whole when a row that came again took the room of the one behind those: buckets may lack one that came late',
      cutRun({
        ...{ isReadInPart: true, jobCount: 99, writtenFromMs: 115, counted: counted(115, 10, 'Histogram') },
        figures: figures({ duplicates: 1, oldestMs: 118 }),
      }),
      { kind: 'read', mayLeave: true },
    ],
    [
      'is read whole when no row behind what an aggregation counts shows that it lacks none',
      cutRun({
        ...{ isReadInPart: true, jobCount: 99, writtenFromMs: 115, counted: counted(115, 10, 'Aggregate') },
        figures: figures({ oldestMs: 118 }),
      }),
      { kind: 'read', mayLeave: true },
    ],
    [
      'is read whole when that is something else',
      cutRun({ isReadInPart: true, jobCount: 99, writtenFromMs: 115, counted: counted(115, 9, 'Aggregate') }),
      { kind: 'read', mayLeave: true },
    ],
    [
      'is halved when rows of that were out of order',
      cutRun({
        ...{ isReadInPart: true, writtenFromMs: 115, counted: counted(115, 10, 'Histogram') },
        figures: figures({ left: 2, isDisordered: true }),
      }),
      { kind: 'bisect', atMs: 150 },
    ],
    [
      'that was given up may find more while it is read (E13)',
      cutRun({ sign: 'timeOver', jobCount: 9, counted: counted(121, 10) }),
      { kind: 'commit' },
    ],
    [
      'that was given up has what it had found at least',
      cutRun({ sign: 'timeOver', jobCount: 13, isReadAgain: true, counted: counted(121, 10) }),
      { kind: 'searchAgain', isFailure: true },
    ],
    [
      'is read again when those reach its oldest row',
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
      'is incomplete where it cannot be split (E8)',
      cutRun({ isSplittable: false, figures: figures({ written: 12 }) }),
      { kind: 'incomplete', reason: 'LimitReached' },
    ],
    [
      'is so without being read',
      cutRun({ isSplittable: false, figures: undefined }),
      { kind: 'incomplete', reason: 'LimitReached', record: undefined },
    ],
    [
      'is short of time, and not at a limit, when it was given up while it ran (E13)',
      cutRun({ sign: 'timeOver', isSplittable: false, figures: figures({ written: 12 }) }),
      { kind: 'incomplete', reason: 'TimeOver', message: expect.stringContaining('eight hours') as string },
    ],
    [
      'keeps nothing of an aggregation that was given up',
      cutRun({ sign: 'timeOver', isSplittable: false, results: 'Records', figures: undefined, keepsIncomplete: true }),
      { kind: 'incomplete', reason: 'TimeOver', record: undefined },
    ],
    [
      'at a round count explains the number in its query',
      cutRun({ sign: 'roundCount', jobCount: 10_000, isSplittable: false, figures: undefined }),
      { kind: 'incomplete', message: expect.stringContaining('limits its rows to 10000') as string },
    ],
    [
      'at a limit that another search has shown is told of that one',
      cutRun({ sign: 'smallestLimit', jobCount: 300_000, isSplittable: false, figures: undefined }),
      {
        kind: 'incomplete',
        message: expect.stringContaining('found 300000 rows, and the service has cut an earlier search') as string,
      },
    ],
    [
      'is read where that is kept',
      cutRun({ isSplittable: false, figures: undefined, keepsIncomplete: true }),
      { kind: 'read', mayLeave: false },
    ],
  ])('%s', (_, one, expected) => {
    expect(judge(one)).toMatchObject(expected);
  });

  test('has a record of its newer part, and says what counted it', () => {
    expect(judge(cutRun({ counted: counted(121, 10) }))).toEqual({
      kind: 'commit',
      record: {
        ...{ fromMs: 121, toMs: 200, received: 12, written: 10, outside: 0, duplicates: 0, left: 2 },
        count: { rows: 10, source: 'Aggregate' },
        figures: {},
      },
    });
  });

  test('keeps, flagged, only the part that it wrote', () => {
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
    ['counts when it has just as many as were found', dense({ counted: counted(199, 12) }), { kind: 'commit' }],
    [
      'is searched again when rows outside took their room',
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
      dense({ counted: counted(199, 13), isTainted: true }),
      { kind: 'searchAgain' },
    ],
    [
      'counts when the service has rows of it twice, and counts them so (E9)',
      dense({
        ...{ jobCount: 14, isReadTwice: true, counted: counted(199, 14) },
        figures: figures({ written: 12, duplicates: 2, oldestMs: 199 }),
      }),
      { kind: 'commit' },
    ],
    ['is dense when it has more', dense({ counted: counted(199, 13) }), { kind: 'dense' }],
    [
      'is searched again with an earlier end first (E10)',
      dense({ jobCount: 13, figures: figures({ written: 12, outside: 1, atEnd: 1, oldestMs: 199 }) }),
      { kind: 'endsInclusive' },
    ],
  ])('%s', (_, one, expected) => {
    expect(judge(one)).toMatchObject(expected);
  });

  test('can be kept, flagged, with the figures', () => {
    expect(judge(dense({ counted: counted(199, 13) }))).toMatchObject({
      record: {
        fromMs: 199,
        toMs: 200,
        written: 12,
        count: { rows: 13 },
        incomplete: { reason: 'MillisecondTooDense' },
      },
      message: 'the millisecond 1970-01-01T00:00:00.199Z has 13 rows, but a search returns only 12 of them',
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
    ['shows by a row at its millisecond', true, run({ figures: figures({ outside: 1, atEnd: 1 }) })],
    ['does not show by one beyond', false, run({ figures: figures({ outside: 1 }) })],
    [
      'does not show where an earlier end was sent',
      false,
      run({ isEndMoved: true, figures: figures({ outside: 1, atEnd: 1 }) }),
    ],
    ['does not show before rows are read', false, run({ figures: undefined })],
  ])('%s', (_, expected, one) => {
    expect(showsInclusiveEnd(one)).toBe(expected);
  });
});

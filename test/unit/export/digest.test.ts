/** Tests how exported rows are compared with the counts, sizes and times that the service computes. */
import { describe, expect, test } from 'vitest';
import { type CommitRecord, sumOfFigures } from '../../../src/destination/commit-record.ts';
import { joinProven } from '../../../src/destination/proof-range.ts';
import { SliceSums, summaryOf, weightedSumsOf } from '../../../src/destination/slice-figures.ts';
import {
  againOf,
  compare,
  confirmedOf,
  type DigestSlice,
  digestSlices,
  groupsOf,
  hasUnconfirmed,
  readFigure,
  repeatedOf,
} from '../../../src/export/proof/digest.ts';

interface WrittenInterval {
  readonly fromMs: number;
  readonly toMs: number;
  readonly written: number;
}

function interval({ fromMs, toMs, written }: WrittenInterval, more: Partial<CommitRecord> = {}): CommitRecord {
  const figures = { received: written, written, outside: 0, duplicates: 0, left: 0 };
  const count = { rows: written, source: 'Job' as const };
  const own = { bytes: 10 * written, oldestMs: fromMs, newestMs: toMs - 1 };
  return { segment: 0, fromMs, toMs, ...figures, count, files: [], figures: own, ...more };
}

function slice(fromMs: number, toMs: number, rows: number, more: Partial<DigestSlice> = {}): DigestSlice {
  const exact = (value: number) => ({ value, reach: 0 });
  const times = { oldestMs: exact(fromMs), newestMs: exact(toMs - 1), offsetsMs: undefined };
  const figures = { bytes: exact(10 * rows), ...times };
  return { fromMs, toMs, rows, ...figures, ...more };
}

function recordsOf(...records: readonly Readonly<Record<string, string>>[]) {
  return records.map((record) => new Map(Object.entries(record)));
}

describe('a figure in the notation of the service', () => {
  test.each([
    ['0', 0, 0],
    ['59999', 59_999, 0],
    ['12.0', 12, 0],
    ['1.2345678E7', 12_345_678, 0],
    ['1.0E7', 10_000_000, 500_000],
    ['1.788E12', 1_788_000_000_000, 500_000_000],
    ['-3', -3, 0],
  ])('%s is %d, up to %d', (text, value, reach) => {
    expect(readFigure(text)).toEqual({ value, reach });
  });

  test.each(['', 'NaN', '1,000', '0x10', ' 1'])('%j is none', (text) => {
    expect(readFigure(text)).toBeUndefined();
  });
});

describe('records of a digest', () => {
  const fields = (start: string, count: string) => ({
    ...{ logfleet_slice: start, _count: count, _sum: '70' },
    ...{ _min: '5', _max: '9', logfleet_offsets: '49' },
  });

  test('are slices in order of time', () => {
    const slices = digestSlices(recordsOf(fields('200', '2'), fields('100', '7'), fields('300', '0')), 100);
    expect(slices).toEqual([
      {
        ...{ fromMs: 100, toMs: 200, rows: 7, bytes: { value: 70, reach: 0 } },
        ...{ oldestMs: { value: 105, reach: 0 }, newestMs: { value: 109, reach: 0 } },
        offsetsMs: { value: 49, reach: 0 },
      },
      expect.objectContaining({ fromMs: 200, rows: 2 }),
    ]);
  });

  test.each([
    ['two records for one slice', recordsOf(fields('100', '7'), fields('100', '2'))],
    ['a rounded number of rows', recordsOf(fields('100', '1.0E7'))],
    ['an empty slice', recordsOf({ _count: '7' })],
  ])('are unknown with %s', (_, records) => {
    expect(digestSlices(records, 100)).toBeUndefined();
  });
});

describe('a comparison (E6)', () => {
  const one = [interval({ fromMs: 0, toMs: 100, written: 4 })];
  const compared = (...slices: readonly DigestSlice[]) => compare({ intervals: one, slices });

  test('proves an interval by all figures, and reports that its slices are unknown', () => {
    expect(compared(slice(0, 100, 4))).toEqual({
      kind: 'same',
      range: {
        ...{ fromMs: 0, toMs: 100, figures: { rows: 4, bytes: 40, oldestMs: 0, newestMs: 99 } },
        compared: ['bytes', 'oldestMs', 'newestMs'],
        wholeIntervals: true,
      },
    });
  });

  test.each<[string, Partial<DigestSlice>]>([
    ['one row more', { rows: 5 }],
    ['one row less', { rows: 3 }],
    ['other bytes', { bytes: { value: 41, reach: 0 } }],
    ['an older row', { oldestMs: { value: -1, reach: 0 } }],
    ['a newer row', { newestMs: { value: 100, reach: 0 } }],
    ['bytes beyond what a double can hold', { bytes: { value: 60, reach: 5 } }],
  ])('differs by %s', (_, more) => {
    expect(compared(slice(0, 100, 4, more)).kind).toBe('differs');
  });

  test.each<[string, Partial<DigestSlice>, readonly string[]]>([
    ['bytes that are rounded', { bytes: { value: 44, reach: 5 } }, ['oldestMs', 'newestMs']],
    ['unknown bytes', { bytes: undefined }, ['oldestMs', 'newestMs']],
    ['rounded bytes that are equal', { bytes: { value: 40, reach: 5 } }, ['bytes', 'oldestMs', 'newestMs']],
  ])('omits %s', (_, more, names) => {
    expect(compared(slice(0, 100, 4, more))).toMatchObject({ kind: 'same', range: { compared: names } });
  });

  test('of no rows with no rows proves the interval', () => {
    const none = [interval({ fromMs: 0, toMs: 100, written: 0 }, { figures: { bytes: 0 } })];
    expect(compare({ intervals: none, slices: [] })).toMatchObject({ range: { compared: { length: 3 } } });
    expect(compare({ intervals: none, slices: [slice(0, 100, 1)] }).kind).toBe('differs');
  });

  test('counts rows that the service stores more than once as often as they are stored', () => {
    const twice = slice(0, 100, 6, { bytes: { value: 60, reach: 0 } });
    expect(compare({ intervals: one, slices: [twice] }, [{ atMs: 5, rows: 2, bytes: 20 }])).toMatchObject({
      kind: 'same',
      range: { figures: { rows: 4, bytes: 40 }, repeated: { rows: 2 } },
    });
  });
});

describe('a comparison by slices (E6)', () => {
  // The service counts rows in periods of 100 ms. Two intervals meet at 250 ms, so each of them has rows in the period
  // from 200 ms to 300 ms.
  const rows = [
    { atMs: 110, size: 5 },
    { atMs: 120, size: 6 },
    { atMs: 130, size: 7 },
    { atMs: 210, size: 8 },
    { atMs: 260, size: 9 },
    { atMs: 270, size: 9 },
    { atMs: 310, size: 10 },
  ];
  type Row = (typeof rows)[number];

  const slicesOf = (all: readonly Row[]) => {
    const sums = new SliceSums(100);
    for (const { atMs, size } of all) sums.add(atMs, size);
    return sums.slices;
  };
  const recordOf = (fromMs: number, toMs: number): CommitRecord => {
    const slices = slicesOf(rows.filter(({ atMs }) => atMs >= fromMs && atMs < toMs));
    const summary = summaryOf({ lengthMs: 100, slices }, { fromMs, toMs });
    const written = slices.reduce((sum, each) => sum + each.rows, 0);
    return interval({ fromMs, toMs, written }, { figures: sumOfFigures(slices), slices: summary });
  };
  const counted = (all: readonly Row[]): readonly DigestSlice[] =>
    slicesOf(all).map(({ fromMs, rows: count, bytes, oldestMs, newestMs, offsetsMs }) => ({
      ...{ fromMs, toMs: fromMs + 100, rows: count, bytes: { value: bytes ?? 0, reach: 0 } },
      ...{ oldestMs: { value: oldestMs, reach: 0 }, newestMs: { value: newestMs, reach: 0 } },
      offsetsMs: { value: offsetsMs ?? 0, reach: 0 },
    }));
  const intervals = [recordOf(0, 250), recordOf(250, 400)];
  const at = (index: number, change: Partial<Row>) => rows.with(index, { ...(rows[index] as Row), ...change });
  const differing = (all: readonly Row[]) => compare({ intervals, slices: counted(all) });

  test('proves intervals that share a slice', () => {
    const proven = differing(rows);
    expect(proven).toMatchObject({ kind: 'same', range: { compared: { length: 3 } } });
    expect(proven.range).not.toHaveProperty('wholeIntervals');
  });

  test('stores figures of slices in records only for shared slices', () => {
    expect(intervals.map(({ slices }) => slices?.shared)).toEqual([
      [{ fromMs: 200, rows: 1, bytes: 8, oldestMs: 210, newestMs: 210, offsetsMs: 10 }],
      [{ fromMs: 200, rows: 2, bytes: 18, oldestMs: 260, newestMs: 270, offsetsMs: 130 }],
    ]);
  });

  test.each<[string, readonly Row[], readonly string[] | undefined]>([
    ['the time of the oldest row of a slice', at(0, { atMs: 109 }), undefined],
    ['the time of the oldest row of a later slice', at(3, { atMs: 209 }), ['oldestMs', 'offsetsMs']],
    ['the time of the newest row of an earlier slice', at(2, { atMs: 131 }), ['newestMs', 'offsetsMs']],
    ['the newest row of a shared slice', at(5, { atMs: 271 }), ['newestMs', 'offsetsMs']],
    ['the slice of a row', at(1, { atMs: 220 }), ['rows', 'bytes', 'offsetsMs']],
    ['the slice of a row that is the only one in it', at(6, { atMs: 280 }), undefined],
    ['a row between the oldest and the newest of its slice', at(1, { atMs: 121 }), ['offsetsMs']],
    ['the sizes of two slices', at(1, { size: 7 }).with(3, { atMs: 210, size: 7 }), ['bytes']],
  ])('differs by %s', (_, all, inSlices) => {
    const found = differing(all);
    expect(found.kind).toBe('differs');
    if (inSlices) expect(found).toMatchObject({ range: { inSlices } });
  });

  describe('by receipt time', () => {
    const halves = [rows.filter((_, index) => index % 2 === 0), rows.filter((_, index) => index % 2 === 1)];
    const records = halves.map((half, index) => {
      const slices = slicesOf(half);
      return interval(
        { fromMs: 1_000 * index, toMs: 1_000 * (index + 1), written: half.length },
        { figures: sumOfFigures(slices), sliceSums: weightedSumsOf({ lengthMs: 100, slices }) },
      );
    });
    const compared = (slices: readonly DigestSlice[]) => compare({ intervals: records, slices });

    test('proves intervals whose rows share slices of message time', () => {
      const proven = compared(counted(rows));
      expect(proven).toMatchObject({ kind: 'same', range: { compared: { length: 3 } } });
      expect(proven.range).not.toHaveProperty('wholeIntervals');
    });

    test.each<[string, readonly Row[], readonly string[]]>([
      ['the slice of two rows whose totals are equal', at(1, { atMs: 220 }).with(4, { atMs: 160, size: 9 }), ['bytes']],
      ['a time between the oldest and the newest time', at(1, { atMs: 121 }), ['offsetsMs']],
      ['the sizes of two slices', at(1, { size: 7 }).with(3, { atMs: 210, size: 7 }), ['bytes']],
    ])('differs by %s', (_, all, inSlices) => {
      expect(compared(counted(all))).toMatchObject({
        kind: 'differs',
        range: { inSlices: expect.arrayContaining([...inSlices]) },
      });
    });

    test('compares only totals if the service divides time differently, or has rounded sums in slices', () => {
      const shifted = counted(rows).map((slice) => ({ ...slice, fromMs: slice.fromMs + 1, toMs: slice.toMs + 1 }));
      expect(compared(shifted)).toMatchObject({ kind: 'same', range: { wholeIntervals: true } });
      const rounded = counted(rows).map((slice) => ({ ...slice, bytes: { value: 10, reach: 20 } }));
      expect(compared(rounded)).toMatchObject({ kind: 'same', range: { compared: ['oldestMs', 'newestMs'] } });
    });

    test('compares only totals with a commit record of an older version', () => {
      const older = records.map(({ sliceSums: _, ...record }) => record);
      expect(compare({ intervals: older, slices: counted(rows) })).toMatchObject({
        kind: 'same',
        range: { wholeIntervals: true },
      });
    });
  });

  test('subtracts the rows that the service stores more than once', () => {
    const slices = counted([...rows, rows[1] as Row, rows[1] as Row, rows[4] as Row]);
    expect(compare({ intervals, slices }).kind).toBe('differs');
    const confirmed = [
      { atMs: 120, rows: 2, bytes: 12 },
      { atMs: 260, rows: 1, bytes: 9 },
    ];
    expect(compare({ intervals, slices }, confirmed)).toMatchObject({
      kind: 'same',
      range: { repeated: { rows: 3, bytes: 21 }, compared: { length: 3 } },
    });
    expect(compare({ intervals, slices }, [{ atMs: 310, rows: 3, bytes: 21 }]).kind).toBe('differs');
  });

  test.each<[string, number, 'same' | 'differs']>([
    ['in reach', 20, 'same'],
    ['beyond what a double can hold', 40, 'differs'],
  ])('omits a figure that is rounded, and %s', (_, value, kind) => {
    const slices = counted(rows).with(0, { ...(counted(rows)[0] as DigestSlice), bytes: { value, reach: 5 } });
    const found = compare({ intervals, slices });
    expect(found.kind).toBe(kind);
    if (kind === 'same') expect(found).toMatchObject({ range: { compared: ['oldestMs', 'newestMs'] } });
  });

  test("is not made if the service's slices begin at other times", () => {
    const slices = counted(rows.map((row) => ({ ...row, atMs: row.atMs - 50 }))).map((each) => ({
      ...each,
      ...{ fromMs: each.fromMs + 50, toMs: each.toMs + 50 },
      oldestMs: each.oldestMs && { ...each.oldestMs, value: each.oldestMs.value + 50 },
      newestMs: each.newestMs && { ...each.newestMs, value: each.newestMs.value + 50 },
    }));
    const range = { compared: { length: 3 }, wholeIntervals: true };
    expect(compare({ intervals, slices })).toMatchObject({ kind: 'same', range });
  });
});

describe('groups of intervals', () => {
  const intervals = [
    interval({ fromMs: 0, toMs: 150, written: 3 }),
    interval({ fromMs: 150, toMs: 200, written: 1 }),
    interval({ fromMs: 200, toMs: 300, written: 0 }),
    interval({ fromMs: 300, toMs: 400, written: 2 }),
  ];

  test('share a slice', () => {
    const groups = groupsOf(intervals, [slice(0, 100, 2), slice(100, 200, 2), slice(300, 400, 2)]);
    expect(groups.map((group) => [group.intervals.length, group.slices.length])).toEqual([
      [2, 2],
      [1, 0],
      [1, 1],
    ]);
  });

  test('include the slices before and after', () => {
    const groups = groupsOf(intervals.slice(1, 3), [slice(100, 200, 2), slice(400, 500, 1)]);
    expect(groups.map((group) => group.slices.map(({ fromMs }) => fromMs))).toEqual([[100], [400]]);
  });

  test('with the same proof form one range', () => {
    const ranges = intervals.map((each) => {
      const { fromMs, toMs, written } = each;
      return compare({ intervals: [each], slices: written === 0 ? [] : [slice(fromMs, toMs, written)] });
    });
    const proven = ranges.flatMap((found) => (found.kind === 'same' ? [found.range] : []));
    expect(joinProven(proven)).toEqual([
      expect.objectContaining({ fromMs: 0, toMs: 400, figures: { rows: 6, bytes: 60, oldestMs: 0, newestMs: 399 } }),
    ]);
  });
});

test('adjacent ranges that are not proven complete are not merged, because each has its own counts', () => {
  const unproven = { level: 'None', figures: { rows: 3 }, compared: [], counted: { rows: 5 } } as const;
  const ranges = [
    { fromMs: 0, toMs: 100, ...unproven },
    { fromMs: 100, toMs: 200, ...unproven },
  ];
  expect(joinProven(ranges)).toEqual(ranges);
});

describe('a range that differs is searched again', () => {
  const one = interval({ fromMs: 0, toMs: 400, written: 5_000 });
  const slices = [0, 100, 200, 300].map((fromMs) => slice(fromMs, fromMs + 100, 3_000));
  const options = { byReceiptTime: false, round: 2 };

  test('unchanged if it has all rows', () => {
    expect(againOf({ intervals: [one], slices: slices.slice(0, 1) }, options)).toEqual([{ fromMs: 0, toMs: 400 }]);
  });

  test('in segments with fewer rows than the former search found, if rows are missing', () => {
    expect(againOf({ intervals: [one], slices }, options).map(({ fromMs }) => fromMs)).toEqual([0, 100, 200, 300]);
  });

  test('in equal parts of a slice that has too many rows', () => {
    const few = interval({ fromMs: 0, toMs: 400, written: 2_500 });
    const [first] = slices;
    expect(againOf({ intervals: [few], slices: [{ ...(first as DigestSlice), toMs: 400 }] }, options)).toEqual([
      { fromMs: 0, toMs: 400 },
    ]);
    const many = againOf({ intervals: [few], slices: [slice(0, 400, 12_000)] }, options);
    expect(many.map(({ fromMs, toMs }) => toMs - fromMs)).toEqual([133, 133, 134]);
  });

  test.each<[string, readonly DigestSlice[]]>([
    ['before the range', [slice(-100, 0, 4_999), slice(0, 100, 4_999), slice(100, 200, 2)]],
    ['that overlap', [slice(0, 400, 12_000), slice(100, 500, 12_000)]],
  ])('in segments with a length, even if the service counts rows in periods %s', (_name, strange) => {
    const again = againOf({ intervals: [one], slices: strange }, options);
    expect(again.filter(({ fromMs, toMs }) => fromMs >= toMs)).toEqual([]);
    expect([again[0]?.fromMs, again.at(-1)?.toMs]).toEqual([0, 400]);
    expect(again.slice(1).map(({ fromMs }) => fromMs)).toEqual(again.slice(0, -1).map(({ toMs }) => toMs));
  });

  test('in halves in a search by receipt time', () => {
    expect(againOf({ intervals: [one], slices }, { ...options, byReceiptTime: true })).toEqual([
      { fromMs: 0, toMs: 200 },
      { fromMs: 200, toMs: 400 },
    ]);
  });
});

describe('rows that pages repeated (E9)', () => {
  const repeated = [
    { id: '-7', atMs: 3, bytes: 10, times: 1 },
    { id: '8', atMs: 4, bytes: 20, times: 2 },
  ];
  const own = { fromMs: 0, toMs: 100, written: 4 };

  test('are counted by id if records name all of them', () => {
    const named = interval(own, { duplicates: 3, repeated });
    const unnamed = interval(own, { duplicates: 3 });
    expect(repeatedOf({ intervals: [named], slices: [] })).toEqual(repeated);
    expect(repeatedOf({ intervals: [named, unnamed], slices: [] })).toBeUndefined();
    expect(repeatedOf({ intervals: [interval(own)], slices: [] })).toBeUndefined();
  });

  test.each<[string, Partial<CommitRecord>, boolean]>([
    ['are not named by their record', { duplicates: 3 }, true],
    ['have the same id twice', { duplicates: 2, repeated: repeated.slice(0, 1).flatMap((one) => [one, one]) }, true],
    ['are all named', { duplicates: 3, repeated }, false],
    ['do not exist', {}, false],
    ['were left to the next search', { duplicates: 3, left: 7, repeated: [] }, false],
  ])('%s', (_, more, isUnconfirmed) => {
    expect(hasUnconfirmed({ intervals: [interval(own, more)], slices: [] })).toBe(isUnconfirmed);
  });

  test.each<[string, readonly (readonly [string, string])[], object | undefined]>([
    [
      'as often as they occur in pages',
      [
        ['-7', '2'],
        ['8', '3'],
      ],
      [
        { atMs: 3, rows: 1, bytes: 10 },
        { atMs: 4, rows: 2, bytes: 40 },
      ],
    ],
    [
      'once, although pages repeated them',
      [
        ['-7', '1'],
        ['8', '1'],
      ],
      [
        { atMs: 3, rows: 0, bytes: 0 },
        { atMs: 4, rows: 0, bytes: 0 },
      ],
    ],
    ['one of them is missing', [['8', '3']], undefined],
    [
      'one of them occurs more often than in pages',
      [
        ['-7', '3'],
        ['8', '3'],
      ],
      undefined,
    ],
  ])('%s', (_, counts, expected) => {
    const records = recordsOf(...counts.map(([id, count]) => ({ _messageid: id, _count: count })));
    expect(confirmedOf(records, repeated)).toEqual(expected);
  });
});

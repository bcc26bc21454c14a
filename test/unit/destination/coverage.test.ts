/** Tests which time ranges still count as exported after a check has rejected some commit records. */
import { describe, expect, test } from 'vitest';
import type { CommitRecord } from '../../../src/destination/commit-record.ts';
import { coverageOf } from '../../../src/destination/coverage.ts';
import type { DigestVerdict } from '../../../src/destination/digest-verdict.ts';

const plan = { boundariesMs: [0, 100, 200] };

function record(segment: number, fromMs: number, toMs: number): CommitRecord {
  const figures = { received: 0, written: 0, outside: 0, duplicates: 0, left: 0 };
  return { segment, fromMs, toMs, ...figures, count: { rows: 0, source: 'Job' }, files: [] };
}

function verdict(round: number, ...segments: readonly (readonly [number, number])[]): DigestVerdict {
  const ranges = segments.map(([fromMs, toMs]) => ({ fromMs, toMs }));
  return { round, proven: [], differing: [], segments: ranges, incomplete: [] };
}

const first = [record(0, 0, 60), record(0, 60, 100), record(1, 100, 200)];

function shown(records: readonly { readonly fromMs: number; readonly toMs: number }[]) {
  return records.map(({ fromMs, toMs, ...more }) => {
    const { segment, index } = more as { readonly segment?: number; readonly index?: number };
    return `${segment ?? index}: ${fromMs}-${toMs}`;
  });
}

function cover(records: readonly CommitRecord[], ...verdicts: readonly DigestVerdict[]) {
  const { intervals, remaining, strays, voided } = coverageOf(plan, records, verdicts);
  return [shown(intervals), shown(remaining), shown(strays), shown(voided)];
}

describe('a range that a digest verdict searches again (E6)', () => {
  test('remains, in segments numbered after those of the plan', () => {
    expect(cover(first)).toEqual([['0: 0-60', '0: 60-100', '1: 100-200'], [], [], []]);
    expect(cover(first, verdict(1, [60, 100]))).toEqual([['0: 0-60', '1: 100-200'], ['2: 60-100'], [], ['0: 60-100']]);
    expect(cover([...first, record(2, 60, 100)], verdict(1, [60, 100]))).toEqual([
      ['0: 0-60', '2: 60-100', '1: 100-200'],
      [],
      [],
      ['0: 60-100'],
    ]);
  });

  test('can be searched again by a later verdict, with other boundaries', () => {
    const records = [...first, record(2, 60, 200)];
    const verdicts = [verdict(1, [60, 200]), verdict(2, [60, 130], [130, 200])];
    expect(cover(records, ...verdicts)).toEqual([
      ['0: 0-60'],
      ['3: 60-130', '4: 130-200'],
      [],
      ['0: 60-100', '1: 100-200', '2: 60-200'],
    ]);
    expect(cover([...records, record(4, 130, 200)], ...verdicts).slice(0, 2)).toEqual([
      ['0: 0-60', '4: 130-200'],
      ['3: 60-130'],
    ]);
  });

  test('does not change the remaining part of an older segment, even without its records', () => {
    const verdicts = [verdict(1, [60, 100])];
    expect(cover(first.slice(1), ...verdicts).slice(1)).toEqual([['0: 0-60', '2: 60-100'], [], ['0: 60-100']]);
    const gone = [record(0, 0, 60), record(1, 100, 200)];
    expect(cover(gone, ...verdicts)).toEqual([['0: 0-60', '1: 100-200'], ['2: 60-100'], [], []]);
  });

  test('excludes a record that begins before its segment', () => {
    expect(cover([record(1, 50, 200)])).toEqual([[], ['0: 0-100', '1: 100-200'], ['1: 50-200'], []]);
  });

  test('excludes a record that crosses its boundary', () => {
    expect(cover([...first.slice(1), record(0, 0, 70)], verdict(1, [60, 100]))[2]).toEqual(['0: 0-70']);
    expect(cover([...first, record(2, 60, 100)])[2]).toEqual(['2: 60-100']);
  });
});

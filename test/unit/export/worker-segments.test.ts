import { describe, expect, test } from 'vitest';
import { segmentsOf } from '../../../src/destination/plan-object.ts';
import { decideExport, type ExportDecideInput } from '../../../src/export/work/export-decision.ts';
import {
  limitOfWorker,
  onlyWorker,
  segmentsOfWorker,
  type WorkerIndex,
} from '../../../src/export/work/worker-segments.ts';

const plan = { boundariesMs: [0, 10, 20, 30, 40, 50, 60, 70, 80] };
const all = segmentsOf(plan);
const worker = (index: number, workers: number): WorkerIndex => ({ index, workers });

function indices(of: WorkerIndex, yieldsToOwners: boolean, remaining = all): readonly number[] {
  return segmentsOfWorker(remaining, plan, of, { yieldsToOwners, parallelism: 2 }).map(({ index }) => index);
}

describe('the segments of a worker', () => {
  test.each<[string, WorkerIndex, boolean, readonly number[]]>([
    ['a single worker takes all segments in order', onlyWorker, true, [0, 1, 2, 3, 4, 5, 6, 7]],
    ['the first worker begins with its own segments, and owns the last one', worker(0, 2), true, [1, 3, 5, 7, 6]],
    ['the second worker leaves two segments and half of the rest to the other', worker(1, 2), true, [0, 2, 4, 6, 7]],
    ['an impatient worker leaves no segment', worker(1, 2), false, [0, 2, 4, 6, 7, 5, 3, 1]],
    ['of four workers, the third helps the fourth first', worker(2, 4), false, [1, 5, 4, 0, 7, 3, 6, 2]],
  ])('%s', (_, of, yieldsToOwners, expected) => {
    expect(indices(of, yieldsToOwners)).toEqual(expected);
  });

  test.each([1, 2, 3, 4])('cover all segments once as own segments of %i workers', (workers) => {
    const own = Array.from({ length: workers }, (_, index) =>
      segmentsOfWorker(all, plan, worker(index, workers), { yieldsToOwners: true, parallelism: all.length }),
    );
    expect(
      own
        .flat()
        .map(({ index }) => index)
        .sort(),
    ).toEqual(all.map(({ index }) => index));
  });

  test('a segment of a later digest round has one owner', () => {
    const later = [{ index: 8, fromMs: 0, toMs: 5 }];
    const owners = [0, 1, 2].filter((index) => indices(worker(index, 3), true, later).length > 0);
    expect(owners).toHaveLength(1);
  });
});

test.each([
  [4, 1, [4]],
  [4, 3, [2, 1, 1]],
  [30, 4, [8, 8, 7, 7]],
  [1, 2, [1, 1]],
])('a limit of %i is divided among %i workers', (limit, workers, parts) => {
  expect(parts.map((_, index) => limitOfWorker(limit, worker(index, workers)))).toEqual(parts);
});

describe('the decision of one of several workers', () => {
  const record = (segment: number, fromMs: number, toMs: number) => ({
    ...{ segment, fromMs, toMs, received: 1, written: 1, outside: 0, duplicates: 0, left: 0 },
    ...{ count: { rows: 1, source: 'Job' as const }, files: [] },
  });
  const input = (more: Partial<ExportDecideInput>): ExportDecideInput => ({
    ...{ plan, records: [], running: [], delays: [], narrowed: [], scannedBytes: 0, byReceiptTime: false },
    limits: {
      ...{ isPaused: false, parallelism: 2, settleDelayMs: 0, smallestLimit: undefined },
      ...{ maxMessages: undefined, maxBytesScanned: undefined, deadlineMs: undefined },
    },
    now: { wallMs: 1_000, monotonicMs: 1_000, clockBehindMs: 0 },
    ...{ verdicts: [], wantsDigest: false, worker: worker(1, 2), yieldsUntilMs: 2_000, replacesFirstAtMs: 0 },
    ...more,
  });
  const records = all
    .filter(({ index }) => index !== 1 && index !== 3)
    .map(({ index, fromMs, toMs }) => record(index, fromMs, toMs));

  test('first waits for the other workers, and decides again at the end of this time', () => {
    expect(decideExport(input({ records }))).toMatchObject({
      ...{ start: [], waitsFor: { kind: 'workers' }, requeueAfterMs: 1_000 },
    });
    expect(decideExport(input({ records, yieldsUntilMs: 1_000 })).start.map(({ segment }) => segment)).toEqual([3, 1]);
  });

  test('waits for the others before it gives up an interval of its own', () => {
    const delays = [{ segment: 1, toMs: 20, untilMs: undefined, message: 'not proven' }];
    expect(decideExport(input({ records, delays })).waitsFor).toEqual({ kind: 'workers' });
    const done = [...records, record(3, 30, 40)];
    expect(decideExport(input({ records: done, delays })).waitsFor).toMatchObject({ kind: 'people', isRest: true });
  });

  test('leaves the digest to the first worker', () => {
    const covered = all.map(({ index, fromMs, toMs }) => record(index, fromMs, toMs));
    const given = { records: covered, wantsDigest: true };
    expect(decideExport(input({ ...given, replacesFirstAtMs: 2_000 })).waitsFor).toEqual({ kind: 'workers' });
    expect(decideExport(input({ ...given, replacesFirstAtMs: 2_000 })).requeueAfterMs).toBe(1_000);
    expect(decideExport(input({ ...given, replacesFirstAtMs: 1_000 })).waitsFor).toBeUndefined();
  });
});

/** Determines which time ranges of an export have commit records, and which must still be searched (E3, E6). */
import { type TimeRange, union } from '../base/time-range.ts';
import { type CommitRecord, recordKey } from './commit-record.ts';
import { type DigestVerdict, lowerBound } from './digest-verdict.ts';
import { type ExportPlan, type Segment, segmentsOf } from './plan-object.ts';

export interface Coverage {
  /** Valid commit records, in chronological order. */
  readonly intervals: readonly CommitRecord[];
  /** Time ranges that must still be searched, in chronological order. */
  readonly remaining: readonly Segment[];
  /** Commit records that contradict other commit records. They exist only if a user has changed files. */
  readonly strays: readonly CommitRecord[];
  /**
   * Commit records that are no longer valid, because a later comparison with the service's counts found a difference.
   */
  readonly voided: readonly CommitRecord[];
}

export function coverageOf(
  plan: ExportPlan,
  records: readonly CommitRecord[],
  verdicts: readonly DigestVerdict[] = [],
): Coverage {
  const byKey = new Map(records.map((record) => [recordKey(record), record]));
  const intervals: CommitRecord[] = [];
  const remaining: Segment[] = [];
  const voided: CommitRecord[] = [];
  for (const { segments, holes } of roundsOf(plan, verdicts)) {
    const indices = new Set(segments.map(({ index }) => index));
    if (holes.length > 0)
      for (const record of records) if (indices.has(record.segment) && isIn(holes, record)) voided.push(record);
    for (const segment of segments) {
      const { reached, left } = walk(segment, holes, byKey);
      for (const record of reached) intervals.push(record);
      if (left) remaining.push(left);
    }
  }
  if (verdicts.some(({ segments }) => segments.length > 0)) {
    intervals.sort(byTime);
    remaining.sort(byTime);
  }
  const known = new Set([...intervals, ...voided]);
  return { intervals, remaining, strays: [...byKey.values()].filter((record) => !known.has(record)), voided };
}

/**
 * Returns all segments of an export: the segments of the plan, followed by the segments that are searched again because
 * the service's counts differed from the written rows.
 */
export function allSegmentsOf(plan: ExportPlan, verdicts: readonly DigestVerdict[] = []): readonly Segment[] {
  return roundsOf(plan, verdicts).flatMap(({ segments }) => segments);
}

interface Round {
  readonly segments: readonly Segment[];
  /** Time ranges that are searched again in later rounds, in chronological order. */
  readonly holes: readonly TimeRange[];
}

function roundsOf(plan: ExportPlan, verdicts: readonly DigestVerdict[]): readonly Round[] {
  const all = [segmentsOf(plan)];
  let next = all[0]?.length ?? 0;
  for (const { segments } of verdicts) all.push(segments.map((range) => ({ index: next++, ...range })));
  return all.map((segments, round) => ({ segments, holes: union(all.slice(round + 1).flat()) }));
}

/** Finds the commit records of one segment, and the remaining part of the segment that must still be searched. */
function walk(segment: Segment, holes: readonly TimeRange[], byKey: ReadonlyMap<string, CommitRecord>) {
  const downwards: CommitRecord[] = [];
  let { toMs } = segment;
  while (toMs > segment.fromMs) {
    const below = lastBefore(holes, toMs);
    if (below && below.toMs >= toMs) {
      toMs = Math.max(segment.fromMs, below.fromMs);
      continue;
    }
    const fromMs = Math.max(segment.fromMs, below?.toMs ?? segment.fromMs);
    const record = byKey.get(recordKey({ segment: segment.index, toMs }));
    if (!record || record.fromMs < fromMs) return { reached: downwards.reverse(), left: { ...segment, fromMs, toMs } };
    downwards.push(record);
    toMs = record.fromMs;
  }
  return { reached: downwards.reverse(), left: undefined };
}

function isIn(holes: readonly TimeRange[], { fromMs, toMs }: TimeRange): boolean {
  const hole = lastBefore(holes, toMs);
  return hole !== undefined && hole.fromMs <= fromMs && toMs <= hole.toMs;
}

function lastBefore(holes: readonly TimeRange[], atMs: number): TimeRange | undefined {
  return holes[lowerBound(holes, atMs) - 1];
}

function byTime(left: TimeRange, right: TimeRange): number {
  return left.fromMs - right.fromMs;
}

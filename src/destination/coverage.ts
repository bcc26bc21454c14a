/**
 * What of an export is done: the plan, with the segments that digests have voided and replaced, minus the records. Nothing else is state
 * (E3, E6).
 */
import { type CommitRecord, recordKey } from './commit-record.ts';
import type { DigestVerdict, TimeRange } from './digest-verdict.ts';
import { type ExportPlan, type Segment, segmentsOf } from './plan-object.ts';

export interface Coverage {
  /** In order of time, without gaps inside a segment's done part. */
  readonly intervals: readonly CommitRecord[];
  /** What is left of each segment that is not done, in order of time. The next record of one is keyed by its `toMs`. */
  readonly rest: readonly Segment[];
  /** Records that begin or end where none should: somebody meddled. */
  readonly strays: readonly CommitRecord[];
  /** Records of intervals that are searched again, since a digest had other figures: neither they nor their files count. */
  readonly voided: readonly CommitRecord[];
}

/** The records may be in any order. */
export function coverageOf(
  plan: ExportPlan,
  records: readonly CommitRecord[],
  verdicts: readonly DigestVerdict[] = [],
): Coverage {
  const byKey = new Map(records.map((record) => [recordKey(record), record]));
  const intervals: CommitRecord[] = [];
  const rest: Segment[] = [];
  const voided: CommitRecord[] = [];
  for (const { segments, holes } of roundsOf(plan, verdicts)) {
    const indices = new Set(segments.map(({ index }) => index));
    if (holes.length > 0)
      voided.push(...records.filter((record) => indices.has(record.segment) && isIn(holes, record)));
    for (const segment of segments) {
      const { reached, left } = walk(segment, holes, byKey);
      for (const record of reached) intervals.push(record);
      if (left) rest.push(left);
    }
  }
  if (verdicts.some(({ segments }) => segments.length > 0)) {
    intervals.sort(byTime);
    rest.sort(byTime);
  }
  const known = new Set([...intervals, ...voided]);
  return { intervals, rest, strays: [...byKey.values()].filter((record) => !known.has(record)), voided };
}

/** Those of the plan, and then those of each verdict: a segment's index is its place. */
export function allSegmentsOf(plan: ExportPlan, verdicts: readonly DigestVerdict[] = []): readonly Segment[] {
  return roundsOf(plan, verdicts).flatMap(({ segments }) => segments);
}

interface Round {
  readonly segments: readonly Segment[];
  /** What later rounds search again, in order of time; no two of them meet. */
  readonly holes: readonly TimeRange[];
}

function roundsOf(plan: ExportPlan, verdicts: readonly DigestVerdict[]): readonly Round[] {
  const all = [segmentsOf(plan)];
  let next = all[0]?.length ?? 0;
  for (const { segments } of verdicts) all.push(segments.map((range) => ({ index: next++, ...range })));
  return all.map((segments, round) => ({ segments, holes: joined(all.slice(round + 1).flat()) }));
}

function joined(ranges: readonly TimeRange[]): readonly TimeRange[] {
  const holes: TimeRange[] = [];
  for (const { fromMs, toMs } of ranges.toSorted(byTime)) {
    const before = holes.at(-1);
    if (before && fromMs <= before.toMs) holes[holes.length - 1] = { ...before, toMs: Math.max(before.toMs, toMs) };
    else holes.push({ fromMs, toMs });
  }
  return holes;
}

/** From a segment's end downwards, over its holes: the records that follow one another, in order of time, and what is left below them. */
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

/** The last one that begins before that moment. */
function lastBefore(holes: readonly TimeRange[], atMs: number): TimeRange | undefined {
  let [low, high] = [0, holes.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((holes[middle] as TimeRange).fromMs < atMs) low = middle + 1;
    else high = middle;
  }
  return holes[low - 1];
}

function byTime(left: TimeRange, right: TimeRange): number {
  return left.fromMs - right.fromMs;
}

/** Determines the strongest check for missing rows that each time range has passed (E6). */
import type { TimeRange } from '../base/time-range.ts';
import { type CommitRecord, sumOfFigures } from './commit-record.ts';
import {
  type ComparableFigure,
  comparableFigures,
  type DifferingRange,
  type DigestVerdict,
  figuresOf,
  inSlices,
  lowerBound,
  type ProvenRange,
  provenMembers,
  type RepeatedRows,
  rangeFigures,
} from './digest-verdict.ts';
import { choice, object, optional, type Stored } from './stored-json.ts';

/** The checks for missing rows, ordered from the strongest to the weakest. */
export const proofLevels = [
  /**
   * After the search, the service counted the rows again, and its counts, sizes and times equal those of the written
   * rows.
   */
  'Digest',
  /** The number of rows equals the count returned by an aggregation. */
  'Count',
  /** The number of rows equals the number reported by the search job. */
  'Search',
  /** The time range is marked as incomplete. */
  'None',
] as const;
export type ProofLevel = (typeof proofLevels)[number];

/** Part of an export's time range, and the strongest check for missing rows that this part has passed. */
export const proofRange = object({
  ...provenMembers,
  level: choice(proofLevels),
  /**
   * Count, total size and time range of the rows according to the service. Present only if they differ from those of
   * the written rows.
   */
  counted: optional(rangeFigures),
  inSlices,
});
export type ProofRange = Stored<typeof proofRange>;

/**
 * Returns the strongest check that each time range has passed. Adjacent ranges that passed the same check are merged.
 */
export function proofRangesOf(
  intervals: readonly CommitRecord[],
  verdicts: readonly DigestVerdict[],
): readonly ProofRange[] {
  return joinProven(partsOf(intervals, verdicts));
}

/**
 * Returns all values that the field `proof` of a valid manifest may have. Several values are valid, because the process
 * that wrote the manifest may not have known the newest comparison results.
 */
export function possibleProofs(
  intervals: readonly CommitRecord[],
  verdicts: readonly DigestVerdict[],
): readonly (readonly ProofRange[])[] {
  const lastDiffering = verdicts.findLastIndex(({ differing, incomplete }) => differing.length + incomplete.length > 0);
  const proofs: (readonly ProofRange[])[] = [];
  for (let known = verdicts.length; known > lastDiffering; known--) {
    proofs.push(proofRangesOf(intervals, verdicts.slice(0, known)));
  }
  return proofs;
}

/** Returns the complete intervals that must still be compared with the service's counts. */
export function unprovenOf(
  intervals: readonly CommitRecord[],
  verdicts: readonly DigestVerdict[],
): readonly CommitRecord[] {
  const judged = judgedOf(intervals, verdicts);
  return intervals.filter((interval) => !judged.has(interval) && interval.incomplete === undefined);
}

/** Time range whose rows are written, but not proven complete. */
export interface IncompleteRange extends TimeRange {
  readonly reason: string;
  /** Number of received rows or, if the reason is `DigestDiffers`, of written rows. */
  readonly received: number;
  /** Number of rows according to the service. */
  readonly counted: number;
  /** Result of the comparison with the service's digest. Present only for the reason `DigestDiffers`. */
  readonly differing?: DifferingRange;
}

/**
 * Returns the incomplete time ranges in chronological order: the intervals whose commit records mark them as
 * incomplete, and the ranges that still differ from the service's digest after the last search.
 */
export function incompleteRanges(
  intervals: readonly CommitRecord[],
  proof: readonly ProofRange[],
): readonly IncompleteRange[] {
  const flagged = intervals.flatMap(({ fromMs, toMs, incomplete, received, count }) =>
    incomplete ? [{ fromMs, toMs, reason: incomplete.reason, received, counted: count.rows }] : [],
  );
  const differing = proof.flatMap(({ fromMs, toMs, counted, figures, inSlices }) => {
    if (!counted) return [];
    const range = { fromMs, toMs, counted, written: figures, ...(inSlices && { inSlices }) };
    return [{ fromMs, toMs, reason: 'DigestDiffers', received: figures.rows, counted: counted.rows, differing: range }];
  });
  return [...flagged, ...differing].sort((left, right) => left.fromMs - right.fromMs);
}

export function lowestLevel(ranges: readonly ProofRange[]): ProofLevel {
  const lowest = ranges.reduce((max, { level }) => Math.max(max, proofLevels.indexOf(level)), 0);
  return proofLevels[lowest] as ProofLevel;
}

function levelOf(compared: readonly ComparableFigure[]): ProofLevel {
  return comparableFigures.every((figure) => compared.includes(figure)) ? 'Digest' : 'Count';
}

function partsOf(intervals: readonly CommitRecord[], verdicts: readonly DigestVerdict[]): readonly ProofRange[] {
  const judged = judgedOf(intervals, verdicts);
  const parts: ProofRange[] = [];
  for (const interval of intervals) {
    const found = judged.get(interval);
    if (!found) parts.push(byItself(interval));
    else if (parts.at(-1) !== found) parts.push(found);
  }
  return parts;
}

/** Maps each interval to the result of its latest comparison with the service's counts. */
function judgedOf(
  intervals: readonly CommitRecord[],
  verdicts: readonly DigestVerdict[],
): ReadonlyMap<CommitRecord, ProofRange> {
  const judged = new Map<CommitRecord, ProofRange>();
  for (const { proven, incomplete } of verdicts.toReversed()) {
    const ranges = [
      ...proven.map((range): ProofRange => ({ ...range, level: levelOf(range.compared) })),
      ...incomplete.map(
        ({ fromMs, toMs, counted, written, inSlices }): ProofRange => ({
          ...{ fromMs, toMs, level: 'None', figures: written, compared: [], counted },
          ...(inSlices && { inSlices }),
        }),
      ),
    ];
    for (const range of ranges) {
      const inside = intervalsOf(intervals, range);
      if (inside.some((interval) => judged.has(interval)) || !isStillSo(range, inside)) continue;
      for (const interval of inside) judged.set(interval, range);
    }
  }
  return judged;
}

/** Returns the intervals inside a time range. Returns none if the range begins or ends in the middle of an interval. */
function intervalsOf(intervals: readonly CommitRecord[], { fromMs, toMs }: TimeRange): readonly CommitRecord[] {
  const first = lowerBound(intervals, fromMs);
  const inside = intervals.slice(first, lowerBound(intervals, toMs));
  return inside[0]?.fromMs === fromMs && inside.at(-1)?.toMs === toMs ? inside : [];
}

function isStillSo({ figures, compared }: ProofRange, inside: readonly CommitRecord[]): boolean {
  if (inside.length === 0) return false;
  const written = figuresOf(inside);
  return written.rows === figures.rows && compared.every((figure) => written[figure] === figures[figure]);
}

function byItself(interval: CommitRecord): ProofRange {
  const { fromMs, toMs, incomplete, count } = interval;
  const level = incomplete ? 'None' : count.source === 'Aggregate' ? 'Count' : 'Search';
  return { fromMs, toMs, level, figures: figuresOf([interval]), compared: [] };
}

/** Merges adjacent time ranges that passed the same check. */
export function joinProven<R extends ProvenRange & { readonly level?: ProofLevel }>(
  ranges: readonly R[],
): readonly R[] {
  const joined: R[] = [];
  for (const range of ranges) {
    const last = joined.at(-1);
    if (last?.toMs === range.fromMs && areProvenAlike(last, range)) joined[joined.length - 1] = join(last, range);
    else joined.push(range);
  }
  return joined;
}

function join<R extends ProvenRange>(before: R, range: R): R {
  const repeated = joinRepeated(before.repeated, range.repeated);
  return {
    ...before,
    toMs: range.toMs,
    figures: {
      rows: before.figures.rows + range.figures.rows,
      ...sumOfFigures([before.figures, range.figures]),
    },
    ...(repeated && { repeated }),
  };
}

/** Returns true if two time ranges passed the same check, with the same method and the same compared values. */
function areProvenAlike<R extends ProvenRange & { readonly level?: ProofLevel }>(left: R, right: R): boolean {
  if (left.level !== right.level || right.level === 'None') return false;
  return left.compared.join() === right.compared.join() && left.wholeIntervals === right.wholeIntervals;
}

function joinRepeated(left: RepeatedRows | undefined, right: RepeatedRows | undefined): RepeatedRows | undefined {
  return left && right ? { rows: left.rows + right.rows, ...sumOfFigures([left, right]) } : (left ?? right);
}

/**
 * How well the rows of each range of an export are proven, by its records and the verdicts on them (E6).
 *
 * Invariant: a verdict proves a range only as long as the records in it add up to the figures that it names, so that an interval that
 * was searched again since is not proven by what was compared before.
 */
import { type CommitRecord, readFigures } from './commit-record.ts';
import {
  type ComparableFigure,
  comparableFigures,
  type DigestVerdict,
  figuresOf,
  type RangeFigures,
  type RepeatedRows,
  readCompared,
  readRangeFigures,
  readRepeatedRows,
  type TimeRange,
} from './digest-verdict.ts';
import { type SliceFigureName, sliceFigureNames } from './slice-figures.ts';
import type { StoredMembers } from './stored-json.ts';

/** From the strongest to the weakest. */
export const proofLevels = [
  /** Number, bytes and times of the rows are those of an aggregation of the service, made after the last search. */
  'Digest',
  /** The number of the rows is that of an aggregation. */
  'Count',
  /** The number of the rows is that of the search that gave them. */
  'Search',
  /** Flagged as incomplete. */
  'None',
] as const;
export type ProofLevel = (typeof proofLevels)[number];

export interface ProofRange extends TimeRange {
  readonly level: ProofLevel;
  /** Of the rows that were written. */
  readonly figures: RangeFigures;
  /** Figures beside the number of rows that an aggregation has, too. */
  readonly compared: readonly ComparableFigure[];
  /** Rows that the service has more than once; each was written once. */
  readonly repeated?: RepeatedRows;
  /** What an aggregation counts, where that differs. */
  readonly counted?: RangeFigures;
  /** Figures that differ in a slice of the range, and not in the whole range (`DifferingRange`). */
  readonly inSlices?: readonly SliceFigureName[];
}

/** Of intervals in order of time: ranges in order of time, neighbours of the same kind joined. */
export function proofRangesOf(
  intervals: readonly CommitRecord[],
  verdicts: readonly DigestVerdict[],
): readonly ProofRange[] {
  const ranges: ProofRange[] = [];
  for (const part of partsOf(intervals, verdicts)) {
    const joined = join(ranges.at(-1), part);
    if (joined) ranges[ranges.length - 1] = joined;
    else ranges.push(part);
  }
  return ranges;
}

/**
 * All that a manifest of these intervals may say of their proof. By all verdicts first; then without the last ones, as long as these have
 * found no difference. A process with another `spec.proof` may have written the manifest before it knew them.
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

/** Those that no verdict proves or flags, and that are not flagged themselves. */
export function unprovenOf(
  intervals: readonly CommitRecord[],
  verdicts: readonly DigestVerdict[],
): readonly CommitRecord[] {
  const judged = judgedOf(intervals, verdicts);
  return intervals.filter((interval) => !judged.has(interval) && interval.incomplete === undefined);
}

/** The lowest of all. */
export function lowestLevel(ranges: readonly ProofRange[]): ProofLevel {
  const lowest = ranges.reduce((most, { level }) => Math.max(most, proofLevels.indexOf(level)), 0);
  return proofLevels[lowest] as ProofLevel;
}

export function levelOf(compared: readonly ComparableFigure[]): ProofLevel {
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

/** The range of a verdict that each interval is in. */
function judgedOf(
  intervals: readonly CommitRecord[],
  verdicts: readonly DigestVerdict[],
): ReadonlyMap<CommitRecord, ProofRange> {
  const judged = new Map<CommitRecord, ProofRange>();
  // What a later round has shown counts.
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

/** Empty where the range does not begin and end with intervals. */
function intervalsOf(intervals: readonly CommitRecord[], { fromMs, toMs }: TimeRange): readonly CommitRecord[] {
  const first = lowerBound(intervals, fromMs);
  const inside = intervals.slice(first, lowerBound(intervals, toMs));
  return inside[0]?.fromMs === fromMs && inside.at(-1)?.toMs === toMs ? inside : [];
}

/** Index of the first interval that begins at that moment or later. */
function lowerBound(intervals: readonly CommitRecord[], atMs: number): number {
  let [low, high] = [0, intervals.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((intervals[middle] as CommitRecord).fromMs < atMs) low = middle + 1;
    else high = middle;
  }
  return low;
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

/** Undefined where they are of different kinds, or something else differs in one of them. */
function join(before: ProofRange | undefined, range: ProofRange): ProofRange | undefined {
  if (before?.level !== range.level || range.level === 'None' || before.toMs !== range.fromMs) return undefined;
  if (before.compared.join() !== range.compared.join()) return undefined;
  const repeated = joinRepeated(before.repeated, range.repeated);
  return {
    ...{ fromMs: before.fromMs, toMs: range.toMs, level: range.level, compared: range.compared },
    figures: joinFigures(before.figures, range.figures),
    ...(repeated && { repeated }),
  };
}

export function joinFigures(left: RangeFigures, right: RangeFigures): RangeFigures {
  const { bytes, oldestMs, newestMs, rows } = right;
  const hasBytes = left.bytes !== undefined && bytes !== undefined;
  const oldest = Math.min(left.oldestMs ?? Number.POSITIVE_INFINITY, oldestMs ?? Number.POSITIVE_INFINITY);
  const newest = Math.max(left.newestMs ?? Number.NEGATIVE_INFINITY, newestMs ?? Number.NEGATIVE_INFINITY);
  return {
    rows: left.rows + rows,
    ...(hasBytes ? { bytes: (left.bytes ?? 0) + bytes } : {}),
    ...(Number.isFinite(oldest) ? { oldestMs: oldest, newestMs: newest } : {}),
  };
}

export function joinRepeated(
  left: RepeatedRows | undefined,
  right: RepeatedRows | undefined,
): RepeatedRows | undefined {
  if (!left || !right) return left ?? right;
  const hasBytes = left.bytes !== undefined && right.bytes !== undefined;
  return {
    rows: left.rows + right.rows,
    ...(hasBytes ? { bytes: (left.bytes ?? 0) + (right.bytes ?? 0) } : {}),
  };
}

/** As it stands in a manifest. */
export function readProofRange(members: StoredMembers): ProofRange {
  const repeated = members.optionalObject('repeated', readRepeatedRows);
  const counted = members.optionalObject('counted', readRangeFigures);
  const inSlices = members.optionalChoices('inSlices', sliceFigureNames);
  return {
    fromMs: members.moment('fromMs'),
    toMs: members.moment('toMs'),
    level: members.choice('level', proofLevels),
    figures: members.object('figures', (figures) => ({ rows: figures.integer('rows'), ...readFigures(figures) })),
    compared: readCompared(members),
    ...(repeated === undefined ? {} : { repeated }),
    ...(counted === undefined ? {} : { counted }),
    ...(inSlices === undefined ? {} : { inSlices }),
  };
}

/**
 * Stored result of a digest, which compares the written rows with the service's own counts (E6). Results are numbered
 * from 1. Time ranges with differences are searched again as new segments.
 */
import type { TimeRange } from '../base/time-range.ts';
import { type CommitRecord, messageFigures, sumOfFigures } from './commit-record.ts';
import type { ExportLayout } from './export-layout.ts';
import { sliceFigureNames } from './slice-figures.ts';
import type { Destination } from './store/destination.ts';
import {
  checked,
  choice,
  integer,
  list,
  moment,
  object,
  optional,
  type Stored,
  StoredKind,
  trueOrAbsent,
} from './stored-json.ts';

/** Start (inclusive) and end (exclusive) of a time range in ms since the epoch. */
const range = { fromMs: moment, toMs: moment };
const timeRange = object(range);

/** Returns the index of the first range that begins at or after `atMs`. `ranges` must be in chronological order. */
export function lowerBound(ranges: readonly TimeRange[], atMs: number): number {
  let [low, high] = [0, ranges.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((ranges[middle] as TimeRange).fromMs < atMs) low = middle + 1;
    else high = middle;
  }
  return low;
}

export const rangeFigures = object({ rows: integer(), ...messageFigures });
export type RangeFigures = Stored<typeof rangeFigures>;

/**
 * Names of the values, such as sizes, that are compared with the service's values in addition to the number of rows.
 */
export const comparableFigures = ['bytes', 'oldestMs', 'newestMs'] as const;
export type ComparableFigure = (typeof comparableFigures)[number];

/** Rows that the service stores more than once. logfleet writes each of them only once (E9). */
const repeatedRows = object({ rows: integer(1), bytes: optional(integer()) });
export type RepeatedRows = Stored<typeof repeatedRows>;

/**
 * Names of values, such as sizes, that differ in some short periods, although their totals for the whole time range are
 * equal.
 */
export const inSlices = optional(list(choice(sliceFigureNames)));

/** Time range in which the service's counts match the written rows. */
export const provenMembers = {
  ...range,
  /** Count, total size and time range of the written rows. */
  figures: rangeFigures,
  /** Names of the values, such as sizes, that were compared in addition to the number of rows. */
  compared: list(choice(comparableFigures)),
  /** Rows that the service stores more than once. Absent if there are none. */
  repeated: optional(repeatedRows),
  /** True if the totals of whole intervals were compared instead of the values for short periods. */
  wholeIntervals: trueOrAbsent,
};
const provenRange = object(provenMembers);
export type ProvenRange = Stored<typeof provenRange>;

/** Time range in which the service's counts do not match the written rows. */
const differingRange = object({
  ...range,
  /** Count, total size and time range of the rows in this range, according to the service. */
  counted: rangeFigures,
  written: rangeFigures,
  inSlices,
});
export type DifferingRange = Stored<typeof differingRange>;

const digestVerdict = object({
  round: integer(1),
  /** Time ranges in which the service's counts match the written rows, in chronological order. */
  proven: list(checked(provenRange, rangeProblem)),
  differing: list(checked(differingRange, rangeProblem)),
  /** Time ranges that are searched again. Together, they cover the ranges in `differing`. */
  segments: list(checked(timeRange, rangeProblem)),
  /**
   * Time ranges whose rows still do not match the service's counts after the last search. These ranges are marked as
   * incomplete.
   */
  incomplete: list(checked(differingRange, rangeProblem)),
});
export type DigestVerdict = Stored<typeof digestVerdict>;

export const verdictKind: StoredKind<DigestVerdict> = new StoredKind({
  kind: 'logfleet.dev/export-digest',
  form: digestVerdict,
});

/**
 * Stores the result of one comparison with the service's counts. If a result is already stored, returns the stored
 * result.
 */
export async function storeVerdictOnce(
  destination: Destination,
  layout: ExportLayout,
  ours: DigestVerdict,
): Promise<DigestVerdict> {
  const name = layout.verdict(ours.round);
  return checkRound(name, await verdictKind.storeOnce(destination, name, ours), ours.round);
}

/** Reads the stored comparison results, skipping the first `known` results. */
export async function readVerdicts(
  destination: Destination,
  layout: ExportLayout,
  known = 0,
): Promise<readonly DigestVerdict[]> {
  const verdicts: DigestVerdict[] = [];
  for (let round = known + 1; ; round++) {
    const name = layout.verdict(round);
    const verdict = await verdictKind.read(destination, name);
    if (!verdict) return verdicts;
    verdicts.push(checkRound(name, verdict, round));
  }
}

function checkRound(name: string, verdict: DigestVerdict, round: number): DigestVerdict {
  if (verdict.round === round) return verdict;
  throw verdictKind.damaged(name, `it is of round ${verdict.round}`);
}

function rangeProblem({ fromMs, toMs }: TimeRange): string | undefined {
  return fromMs < toMs
    ? undefined
    : `the time range of the digest ends at ${toMs}, which is not after its start, ${fromMs}`;
}

/** Adds up the row counts and sizes of several commit records, and merges their time ranges. */
export function figuresOf(intervals: readonly CommitRecord[]): RangeFigures {
  const rows = intervals.reduce((sum, { written }) => sum + written, 0);
  return { rows, ...sumOfFigures(intervals.map(({ figures = {} }) => figures)) };
}

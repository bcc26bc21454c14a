/**
 * Verdict of a digest: the stored result of one comparison of the written rows with numbers, sizes and times that the service computed
 * (E6).
 *
 * The verdicts of an export are numbered from 1 without gaps. For the time ranges that differ, a verdict contains new segments, which
 * logfleet searches again. Older commit records in these ranges are no longer valid.
 */

import { type CommitRecord, messageFigures, sumOfFigures } from './commit-record.ts';
import type { Destination } from './destination.ts';
import type { ExportLayout } from './export-layout.ts';
import { sliceFigureNames } from './slice-figures.ts';
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

/** Fields of a stored time range: its start (included) and end (excluded) in milliseconds since the epoch. */
const range = { fromMs: moment, toMs: moment };
const timeRange = object(range);
export type TimeRange = Stored<typeof timeRange>;

/** Returns the index of the first range that begins at or after `atMs`. The ranges are in order of time. */
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

/** Values that logfleet compares with an aggregation of the service for each time range, in addition to the number of rows. */
export const comparableFigures = ['bytes', 'oldestMs', 'newestMs'] as const;
export type ComparableFigure = (typeof comparableFigures)[number];

/** Rows that the service stores more than once, with the number of their extra copies. logfleet wrote each of these rows once (E9). */
const repeatedRows = object({ rows: integer(1), bytes: optional(integer()) });
export type RepeatedRows = Stored<typeof repeatedRows>;

/** Names of values (such as sizes) that differ in short periods, although their totals for the whole time range are equal. */
export const inSlices = optional(list(choice(sliceFigureNames)));

/** Time range in which numbers, sizes and times from the service equal those of the written rows. */
export const provenMembers = {
  ...range,
  /** Number, sizes and times of the rows that were written for this range. */
  figures: rangeFigures,
  /**
   * Names of the values that were compared with the service, besides the number of rows. The service rounded the other values, or did not
   * return them.
   */
  compared: list(choice(comparableFigures)),
  /** Rows that the service stores more than once; absent if there are none. */
  repeated: optional(repeatedRows),
  /** True if totals of whole intervals were compared with the service. Absent if the values of short periods were compared. */
  wholeIntervals: trueOrAbsent,
};
const provenRange = object(provenMembers);
export type ProvenRange = Stored<typeof provenRange>;

/** Time range in which numbers, sizes or times from the service differ from those of the written rows. */
const differingRange = object({
  ...range,
  /** Numbers, sizes and times that the service computed for this range. Values that the service rounded are left out. */
  counted: rangeFigures,
  written: rangeFigures,
  inSlices,
});
export type DifferingRange = Stored<typeof differingRange>;

const digestVerdict = object({
  round: integer(1),
  /** Time ranges in which the service's values equal those of the written rows, in order of time. */
  proven: list(checked(provenRange, rangeProblem)),
  differing: list(checked(differingRange, rangeProblem)),
  /** New segments (planned parts of the time range) for the ranges that differ, which are searched again. */
  segments: list(checked(timeRange, rangeProblem)),
  /** Time ranges that still differ after the last repeated search. Their rows are kept, but the ranges are marked as incomplete. */
  incomplete: list(checked(differingRange, rangeProblem)),
});
export type DigestVerdict = Stored<typeof digestVerdict>;

export const verdictKind: StoredKind<DigestVerdict> = new StoredKind({
  kind: 'logfleet.dev/export-digest',
  form: digestVerdict,
});

/** Writes the result of one comparison of the written rows with the service, or returns the result that another process has written. */
export async function settleVerdict(
  destination: Destination,
  layout: ExportLayout,
  ours: DigestVerdict,
): Promise<DigestVerdict> {
  const name = layout.verdict(ours.round);
  return checkRound(name, await verdictKind.settle(destination, name, ours), ours.round);
}

/** Reads the digest verdicts of an export in order of their numbers. Skips the first `known` verdicts. */
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

/** Adds up the numbers, sizes and times of rows in several commit records. */
export function figuresOf(intervals: readonly CommitRecord[]): RangeFigures {
  const rows = intervals.reduce((sum, { written }) => sum + written, 0);
  return { rows, ...sumOfFigures(intervals.map(({ figures = {} }) => figures)) };
}

/**
 * The verdict of a digest: the result of comparing an aggregation by the service with the numbers, sizes and times of the written rows
 * (E6). It is stored at the destination, once for each round of comparison.
 *
 * Invariants: the verdicts of an export are numbered from 1 without gaps. The segments of a verdict are numbered after those of the plan
 * and of earlier verdicts. Their ranges are searched again, so all older commit records in these ranges are void.
 */

import { type CommitRecord, messageFigures, sumOfFigures } from './commit-record.ts';
import type { Destination } from './destination.ts';
import { disappeared } from './destination-error.ts';
import type { ExportLayout } from './export-layout.ts';
import { sliceFigureNames } from './slice-figures.ts';
import {
  checked,
  choice,
  damaged,
  decodeStored,
  encodeStored,
  integer,
  list,
  moment,
  object,
  optional,
  type Stored,
  trueOrAbsent,
} from './stored-json.ts';

/** Range `[fromMs, toMs)` in milliseconds since the epoch. */
const range = { fromMs: moment, toMs: moment };
const timeRange = object(range);
export type TimeRange = Stored<typeof timeRange>;

/** Index of the first range that begins at or after the time. The ranges are ordered by time. */
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

/** Values that a digest compares in addition to the number of rows. */
export const comparableFigures = ['bytes', 'oldestMs', 'newestMs'] as const;
export type ComparableFigure = (typeof comparableFigures)[number];

/** Rows that the service stores several times, with the number of extra copies. Each row was written once (E9). */
const repeatedRows = object({ rows: integer(1), bytes: optional(integer()) });
export type RepeatedRows = Stored<typeof repeatedRows>;

/**
 * Values that differ in a slice of a range, but are equal or unknown over the whole range. Absent if there are none.
 */
export const inSlices = optional(list(choice(sliceFigureNames)));

/** Members of a range of whole intervals in which the aggregation equals the written rows. */
export const provenMembers = {
  ...range,
  /** Number, sizes and times of the rows that were written for this range. */
  figures: rangeFigures,
  /** Figures that the aggregation returned exactly; the others were rounded or unknown. The number of rows is always exact. */
  compared: list(choice(comparableFigures)),
  /** Rows that the service stores several times; absent if there are none. */
  repeated: optional(repeatedRows),
  /** True if whole intervals were compared; absent if each slice of time was compared. */
  wholeIntervals: trueOrAbsent,
};
const provenRange = object(provenMembers);
export type ProvenRange = Stored<typeof provenRange>;

/** Range of whole intervals in which the aggregation differs from the written rows. */
const differingRange = object({
  ...range,
  /** Values that the service's aggregation computed for this range, without those that the service rounded. */
  counted: rangeFigures,
  written: rangeFigures,
  inSlices,
});
export type DifferingRange = Stored<typeof differingRange>;

const digestVerdict = object({
  round: integer(1),
  /** Ranges in which the digest agrees with the written rows, in order of time. */
  proven: list(checked(provenRange, rangeProblem)),
  differing: list(checked(differingRange, rangeProblem)),
  /** Segments in which all differing ranges are searched again. */
  segments: list(checked(timeRange, rangeProblem)),
  /** Ranges that still differ after the last round. Their rows are kept and flagged as incomplete. */
  incomplete: list(checked(differingRange, rangeProblem)),
});
export type DigestVerdict = Stored<typeof digestVerdict>;

const verdictAdvice = 'restore the original object, or move the folder of this export away to start it again';

/** Writes the verdict of a digest round, or returns the verdict that already exists for this round. */
export async function settleVerdict(
  destination: Destination,
  layout: ExportLayout,
  ours: DigestVerdict,
): Promise<DigestVerdict> {
  const name = layout.verdict(ours.round);
  if ((await destination.create(name, encodeVerdict(ours))) === 'created') return ours;
  const existing = await destination.read(name);
  if (!existing) throw disappeared(name, destination.url);
  return decodeVerdict(name, existing, ours.round);
}

/** Reads all verdicts that are not in `known`, ordered by round. */
export async function readVerdicts(
  destination: Destination,
  layout: ExportLayout,
  known = 0,
): Promise<readonly DigestVerdict[]> {
  const verdicts: DigestVerdict[] = [];
  for (let round = known + 1; ; round++) {
    const name = layout.verdict(round);
    const content = await destination.read(name);
    if (!content) return verdicts;
    verdicts.push(decodeVerdict(name, content, round));
  }
}

const kind = 'logfleet.dev/export-digest';

export function encodeVerdict(verdict: DigestVerdict): Uint8Array {
  return encodeStored(kind, verdict);
}

export function decodeVerdict(name: string, content: Uint8Array, round: number): DigestVerdict {
  const stored = { name, advice: verdictAdvice };
  const verdict = decodeStored(stored, content, kind, digestVerdict);
  if (verdict.round === round) return verdict;
  throw damaged(stored, `it is of round ${verdict.round}`);
}

function rangeProblem({ fromMs, toMs }: TimeRange): string | undefined {
  return fromMs < toMs ? undefined : `it ends at ${toMs}, which is not after its start, ${fromMs}`;
}

/** Adds up the rows, sizes and times of several commit records. */
export function figuresOf(intervals: readonly CommitRecord[]): RangeFigures {
  const rows = intervals.reduce((sum, { written }) => sum + written, 0);
  return { rows, ...sumOfFigures(intervals.map(({ figures = {} }) => figures)) };
}

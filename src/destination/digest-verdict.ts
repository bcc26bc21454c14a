/**
 * The verdict of a digest: the result of comparing an aggregation by the service with the figures of the written rows (E6). It is stored at
 * the destination, once for each round.
 *
 * Invariants: the verdicts of an export are numbered from 1 without gaps. The segments of a verdict are numbered after those of the plan
 * and of earlier verdicts. The ranges of these segments are searched again, so all commit records of older segments in these ranges are
 * void.
 */

import { type CommitRecord, type MessageFigures, messageFigures, sumOfFigures } from './commit-record.ts';
import type { Destination } from './destination.ts';
import { goneAgain } from './destination-error.ts';
import type { ExportLayout } from './export-layout.ts';
import { type SliceFigureName, sliceFigureNames } from './slice-figures.ts';
import {
  choice,
  damaged,
  decodeStored,
  encodeStored,
  integer,
  list,
  moment,
  object,
  optional,
  trueOrAbsent,
} from './stored-json.ts';

/** Range `[fromMs, toMs)` in milliseconds since the epoch. */
export interface TimeRange {
  readonly fromMs: number;
  readonly toMs: number;
}

export interface RangeFigures extends MessageFigures {
  readonly rows: number;
}

/** Names of the figures, other than the number of rows, that a digest compares. */
export const comparableFigures = ['bytes', 'oldestMs', 'newestMs'] as const;
export type ComparableFigure = (typeof comparableFigures)[number];

/** Rows that the service stores several times, with the number of extra copies. Each row was written once (E9). */
export interface RepeatedRows {
  readonly rows: number;
  readonly bytes?: number;
}

/** Range of whole intervals in which the aggregation equals the written rows. */
export interface ProvenRange extends TimeRange {
  /** Figures of the rows that were written for this range. */
  readonly figures: RangeFigures;
  /** Figures that the aggregation returned exactly; the others were rounded or unknown. The number of rows is always exact. */
  readonly compared: readonly ComparableFigure[];
  /** Rows that the service stores several times; absent if there are none. */
  readonly repeated?: RepeatedRows;
  /** True if the figures of whole intervals were compared; absent if those of each slice were compared. */
  readonly wholeIntervals?: true;
}

/** Range of whole intervals in which the aggregation differs from the written rows. */
export interface DifferingRange extends TimeRange {
  /** Figures that the service's aggregation computed for this range, without figures that the service rounded. */
  readonly counted: RangeFigures;
  readonly written: RangeFigures;
  /** Names of figures that differ in a slice of the range but are equal or unknown over the whole range. Absent if there are none. */
  readonly inSlices?: readonly SliceFigureName[];
}

export interface DigestVerdict {
  readonly round: number;
  /** Ranges in which the digest agrees with the written rows, in order of time. */
  readonly proven: readonly ProvenRange[];
  readonly differing: readonly DifferingRange[];
  /** Segments in which all differing ranges are searched again. */
  readonly segments: readonly TimeRange[];
  /** Ranges that still differ after the last round. Their rows are kept and flagged as incomplete. */
  readonly incomplete: readonly DifferingRange[];
}

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
  if (!existing) throw goneAgain(name, destination.url);
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

const range = { fromMs: moment, toMs: moment };

/** Stored forms of figures and ranges in digest verdicts. Manifests use the same forms. */
export const rangeFigures = object<RangeFigures>({ rows: integer(), ...messageFigures });
export const repeatedRows = object<RepeatedRows>({ rows: integer(1), bytes: optional(integer()) });
export const comparedFigures = list(choice(comparableFigures));
export const figuresInSlices = optional(list(choice(sliceFigureNames)));

const provenRange = object<ProvenRange>(
  {
    ...range,
    figures: rangeFigures,
    compared: comparedFigures,
    repeated: optional(repeatedRows),
    wholeIntervals: trueOrAbsent,
  },
  rangeProblem,
);

const differingRange = object<DifferingRange>(
  { ...range, counted: rangeFigures, written: rangeFigures, inSlices: figuresInSlices },
  rangeProblem,
);

const digestVerdict = object<DigestVerdict>({
  round: integer(1),
  proven: list(provenRange),
  differing: list(differingRange),
  segments: list(object<TimeRange>(range, rangeProblem)),
  incomplete: list(differingRange),
});

function rangeProblem({ fromMs, toMs }: TimeRange): string | undefined {
  return fromMs < toMs ? undefined : `it ends at ${toMs}, which is not after its start, ${fromMs}`;
}

/** Adds up the figures of several commit records. */
export function figuresOf(intervals: readonly CommitRecord[]): RangeFigures {
  const rows = intervals.reduce((sum, { written }) => sum + written, 0);
  return { rows, ...sumOfFigures(intervals.map(({ figures = {} }) => figures)) };
}

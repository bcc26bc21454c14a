/**
 * Verdict of a digest: the comparison of the service's aggregation over a range of the export with the figures of the written rows
 * (E6). A verdict is an object that is written only if its round has none.
 *
 * Invariants: verdicts of an export are numbered from 1 without gaps. The segments of a verdict follow those of the plan and of
 * earlier verdicts. The ranges of these segments are searched again, and all records of older segments there are void.
 */

import { type CommitRecord, type MessageFigures, readFigures, sumOfFigures } from './commit-record.ts';
import type { Destination } from './destination.ts';
import { goneAgain } from './destination-error.ts';
import type { ExportLayout } from './export-layout.ts';
import { type SliceFigureName, sliceFigureNames } from './slice-figures.ts';
import { damaged, decodeStored, encodeStored, type StoredMembers } from './stored-json.ts';

/** Range `[fromMs, toMs)` in milliseconds since the epoch. */
export interface TimeRange {
  readonly fromMs: number;
  readonly toMs: number;
}

export interface RangeFigures extends MessageFigures {
  readonly rows: number;
}

/** Figures other than the number of rows. */
export const comparableFigures = ['bytes', 'oldestMs', 'newestMs'] as const;
export type ComparableFigure = (typeof comparableFigures)[number];

/** Rows that the service has several times, and the number of repetitions. Each is written once (E9). */
export interface RepeatedRows {
  readonly rows: number;
  readonly bytes?: number;
}

/** Range of whole intervals in which the aggregation equals the written rows. */
export interface ProvenRange extends TimeRange {
  /** Figures of the written rows. */
  readonly figures: RangeFigures;
  /** Figures that the aggregation returned exactly. Others were rounded or unknown. The number of rows is always exact. */
  readonly compared: readonly ComparableFigure[];
  /** Absent if there are none. */
  readonly repeated?: RepeatedRows;
  /** Whether the figures of whole intervals were compared. Absent if those of each slice were compared. */
  readonly wholeIntervals?: true;
}

/** Range of whole intervals in which the aggregation differs from the written rows. */
export interface DifferingRange extends TimeRange {
  /** Figures of the aggregation, without rounded ones. */
  readonly counted: RangeFigures;
  readonly written: RangeFigures;
  /** Figures that differ in a slice of the range but are equal or unknown for the whole range. Absent if there are none. */
  readonly inSlices?: readonly SliceFigureName[];
}

export interface DigestVerdict {
  readonly round: number;
  /** Ordered by time, like all lists. */
  readonly proven: readonly ProvenRange[];
  readonly differing: readonly DifferingRange[];
  /** Segments to search again: all differing ranges, divided into single searches. */
  readonly segments: readonly TimeRange[];
  /** Ranges that still differ after the maximum number of searches. They are kept and marked as incomplete. */
  readonly incomplete: readonly DifferingRange[];
}

const verdictAdvice = 'restore the original object, or move the folder of this export away to start it again';

/** Writes the verdict of a round, or returns the existing one. */
export async function settleVerdict(
  destination: Destination,
  layout: ExportLayout,
  ours: DigestVerdict,
): Promise<DigestVerdict> {
  const name = layout.verdict(ours.round);
  if ((await destination.create(name, encodeVerdict(ours))) === 'created') return ours;
  const standing = await destination.read(name);
  if (!standing) throw goneAgain(name, destination.url);
  return decodeVerdict(name, standing, ours.round);
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

export function encodeVerdict(verdict: DigestVerdict): Uint8Array {
  return encodeStored({ kind: 'logfleet.dev/export-digest', version: 1, ...verdict });
}

export function decodeVerdict(name: string, content: Uint8Array, round: number): DigestVerdict {
  const verdict = decodeStored({ name, advice: verdictAdvice }, content, (members) => {
    members.form('logfleet.dev/export-digest');
    return {
      round: members.integer('round', 1),
      proven: members.objects('proven', readProven),
      differing: members.objects('differing', readDiffering),
      segments: members.objects('segments', readRange),
      incomplete: members.objects('incomplete', readDiffering),
    };
  });
  if (verdict.round === round) return verdict;
  throw damaged({ name, advice: verdictAdvice }, `it is of round ${verdict.round}`);
}

function readRange(members: StoredMembers): TimeRange {
  const range = { fromMs: members.moment('fromMs'), toMs: members.moment('toMs') };
  if (range.fromMs < range.toMs) return range;
  throw members.wrong(`it ends at ${range.toMs}, which is not after its start, ${range.fromMs}`);
}

export function readRangeFigures(members: StoredMembers): RangeFigures {
  return { rows: members.integer('rows'), ...readFigures(members) };
}

export function readCompared(members: StoredMembers): readonly ComparableFigure[] {
  return members.choices('compared', comparableFigures);
}

export function readRepeatedRows(members: StoredMembers): RepeatedRows {
  const bytes = members.optionalInteger('bytes');
  return { rows: members.integer('rows', 1), ...(bytes === undefined ? {} : { bytes }) };
}

function readProven(members: StoredMembers): ProvenRange {
  const repeated = members.optionalObject('repeated', readRepeatedRows);
  const isWhole = members.optionalTrue('wholeIntervals');
  return {
    ...readRange(members),
    figures: members.object('figures', readRangeFigures),
    compared: readCompared(members),
    ...(repeated === undefined ? {} : { repeated }),
    ...(isWhole ? { wholeIntervals: true } : {}),
  };
}

function readDiffering(members: StoredMembers): DifferingRange {
  const inSlices = members.optionalChoices('inSlices', sliceFigureNames);
  return {
    ...readRange(members),
    counted: members.object('counted', readRangeFigures),
    written: members.object('written', readRangeFigures),
    ...(inSlices === undefined ? {} : { inSlices }),
  };
}

/** Combines the figures of the records of intervals. */
export function figuresOf(intervals: readonly CommitRecord[]): RangeFigures {
  const rows = intervals.reduce((sum, { written }) => sum + written, 0);
  return { rows, ...sumOfFigures(intervals.map(({ figures = {} }) => figures)) };
}

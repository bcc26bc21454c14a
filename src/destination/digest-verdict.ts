/**
 * What a digest has shown: the service's own aggregation over a range of the export, compared with the figures of the rows that were
 * written (E6). A verdict is an object of its own, written unless there is one of its round.
 *
 * Invariants: verdicts of an export are numbered from 1 without a gap. The segments of a verdict follow those of the plan and of the
 * verdicts before it. What they cover is searched again, and every record of an older segment there is void.
 */

import { type CommitRecord, type MessageFigures, readFigures, sumOfFigures } from './commit-record.ts';
import type { Destination } from './destination.ts';
import { goneAgain } from './destination-error.ts';
import type { ExportLayout } from './export-layout.ts';
import { type SliceFigureName, sliceFigureNames } from './slice-figures.ts';
import { damaged, decodeStored, encodeStored, type StoredMembers } from './stored-json.ts';

/** `[fromMs, toMs)` in milliseconds since the epoch. */
export interface TimeRange {
  readonly fromMs: number;
  readonly toMs: number;
}

export interface RangeFigures extends MessageFigures {
  readonly rows: number;
}

/** Figures beside the number of rows. */
export const comparableFigures = ['bytes', 'oldestMs', 'newestMs'] as const;
export type ComparableFigure = (typeof comparableFigures)[number];

/** Rows that the service has more than once, and how many more; each was written once (E9). */
export interface RepeatedRows {
  readonly rows: number;
  readonly bytes?: number;
}

/** A range of whole intervals in which the aggregation has what was written. */
export interface ProvenRange extends TimeRange {
  /** As they were written. */
  readonly figures: RangeFigures;
  /** Those that the aggregation has in full; others it rounds, or does not know. The number of rows always is. */
  readonly compared: readonly ComparableFigure[];
  /** Absent where there are none. */
  readonly repeated?: RepeatedRows;
}

/** A range of whole intervals in which the aggregation has something else. */
export interface DifferingRange extends TimeRange {
  /** By the aggregation; rounded ones are left out. */
  readonly counted: RangeFigures;
  readonly written: RangeFigures;
  /** Figures that differ in a slice of the range, and are the same, or not known, of the whole range. Absent where there are none. */
  readonly inSlices?: readonly SliceFigureName[];
}

export interface DigestVerdict {
  readonly round: number;
  /** In order of time, as all lists are. */
  readonly proven: readonly ProvenRange[];
  readonly differing: readonly DifferingRange[];
  /** What is searched again: all that differs, in pieces of one search each. */
  readonly segments: readonly TimeRange[];
  /** What differs and is kept as it is, flagged: it was searched again often enough. */
  readonly incomplete: readonly DifferingRange[];
}

const verdictAdvice = 'put back what stood there, or move the folder of this export away, and it begins anew';

/** The verdict of a round that counts: ours, or the one that somebody wrote before. */
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

/** All that stand there and are not `known`, in the order of their rounds. */
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
  throw members.wrong(`it ends at ${range.toMs}, which is not after its begin, ${range.fromMs}`);
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
  return {
    ...readRange(members),
    figures: members.object('figures', readRangeFigures),
    compared: readCompared(members),
    ...(repeated === undefined ? {} : { repeated }),
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

/** What the records of intervals add up to. */
export function figuresOf(intervals: readonly CommitRecord[]): RangeFigures {
  const rows = intervals.reduce((sum, { written }) => sum + written, 0);
  return { rows, ...sumOfFigures(intervals.map(({ figures = {} }) => figures)) };
}

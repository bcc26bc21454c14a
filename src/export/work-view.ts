/** Within which limits an export is worked on, and what can be seen of it: between the work and those who want it done. */
import type { LogfleetError } from '../base/errors.ts';
import type { CommitRecord } from '../destination/commit-record.ts';
import { type Manifest, totalsOf } from '../destination/manifest.ts';
import type { ExportLimits, ExportProgress, Wait } from './export-decision.ts';
import type { Trouble, Unproven } from './export-holds.ts';
import type { RowPiece } from './row-histogram.ts';
import type { JobView } from './search-tools.ts';

/** As the newest text of the export has them, and whoever else may say something. */
export interface WorkLimits extends Omit<ExportLimits, 'smallestLimit'> {
  readonly incompletePolicy: 'Fail' | 'Keep';
  /** How what was found is to be proven, where the query allows it (E6). */
  readonly proof: 'Digest' | 'Count';
}

export type WorkStage =
  /** What stands at the destination is being read. */
  | 'loading'
  /** Where the range is cut at first is being found out. */
  | 'planning'
  | 'exporting'
  /** All is searched, and compared with an aggregation of the service. */
  | 'proving'
  /** All is covered, and the manifest is to be written. */
  | 'finishing'
  | 'complete';

/** A manifest that stands at the destination. */
export interface StandingManifest {
  readonly url: string;
  /** Of its bytes, in hexadecimal digits. */
  readonly sha256: string;
  readonly manifest: Manifest;
}

/** Where an export stands. */
export interface WorkView {
  readonly stage: WorkStage;
  /** The address of the export's folder; undefined before the destination was opened. */
  readonly location: string | undefined;
  /** Undefined until it is known what stands at the destination. */
  readonly progress: ExportProgress | undefined;
  /** What is committed, in order of time. */
  readonly intervals: readonly CommitRecord[];
  /** How their rows lie in time, in at most `maxRowPieces`; computed only when it is asked for. */
  readonly histogram: () => readonly RowPiece[];
  /** How many searches are under way. */
  readonly searches: number;
  /** Of these, those that have had no job yet, although they have waited for longer than the creation of one takes. */
  readonly waitingSearches: number;
  readonly jobs: readonly JobView[];
  /** Why nothing starts although something is left. */
  readonly waitsFor: Wait | undefined;
  /** By how much the service's clock is behind ours, as far as is known; at least 0. */
  readonly clockBehindMs: number;
  /** What everything waits out. */
  readonly trouble: Trouble | undefined;
  /** What went wrong last, as long as nothing has succeeded since. */
  readonly lastError: LogfleetError | undefined;
  /** Whether so much has failed in a row that it may not pass by itself. */
  readonly isTroubleLasting: boolean;
  readonly unproven: readonly Unproven[];
  /** Why searches of intervals failed that are not done yet, the newest first. */
  readonly messages: readonly string[];
  /** What search jobs warned of, the newest first. */
  readonly warnings: readonly string[];
  /** Of `output.fields`, those that the service has described nowhere so far; none where others have read a part. */
  readonly undescribedFields: readonly string[];
  /** When it is complete. */
  readonly manifest: StandingManifest | undefined;
  /** After how long time alone may change something; infinite where it cannot. */
  readonly requeueAfterMs: number;
}

/** Of an export that is complete. */
export function progressOfManifest({ intervals }: Manifest): ExportProgress {
  const { rows, bytes, duplicates } = totalsOf(intervals);
  const done = intervals.length;
  return { coveredPart: 1, intervalsDone: done, intervalsPlanned: done, rows, bytes, duplicates, scannedBytes: 0 };
}

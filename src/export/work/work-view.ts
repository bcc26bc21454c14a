/** Types shared by the work on an export and its caller: the limits of the work, and its state for the status (`WorkView`). */
import type { LogfleetError } from '../../base/errors.ts';
import type { CommitRecord } from '../../destination/commit-record.ts';
import type { Manifest } from '../../destination/manifest.ts';
import type { JobView } from '../search/search-tools.ts';
import type { ExportLimits, ExportProgress, Wait } from './export-decision.ts';
import type { Trouble, Unproven } from './export-delays.ts';

/** Limits of the work on an export, from the latest spec and other sources. */
export interface WorkLimits extends Omit<ExportLimits, 'smallestLimit'> {
  readonly incompletePolicy: 'Fail' | 'Keep';
  /** How rows are proven, if the query allows it (E6). */
  readonly proof: 'Digest' | 'Count';
}

export type WorkStage =
  /** The state of the export is being read from the destination. */
  | 'loading'
  /** The first segments are being determined. */
  | 'planning'
  | 'exporting'
  /** All intervals are searched. The written rows are compared with an aggregation by the service. */
  | 'proving'
  /** Commit records cover the whole export. The manifest is written next. */
  | 'finishing'
  | 'complete';

/** A manifest at the destination. */
export interface StoredManifest {
  readonly url: string;
  /** Hash of its bytes, hexadecimal. */
  readonly sha256: string;
  readonly manifest: Manifest;
}

/** Current state of an export's work. */
export interface WorkView {
  readonly stage: WorkStage;
  /** URL of the export's folder; undefined before the destination is opened. */
  readonly location: string | undefined;
  /** Progress of the export; undefined until the destination has been read. */
  readonly progress: ExportProgress | undefined;
  /** Committed intervals in order of time. */
  readonly intervals: readonly CommitRecord[];
  /** Returns the number of rows for each slice of the time range (`row-histogram.ts`), computed on demand. */
  readonly histogram: () => readonly number[];
  /** Number of running searches. */
  readonly searches: number;
  /** Number of running searches that have waited for a job longer than its creation usually takes. */
  readonly waitingSearches: number;
  readonly jobs: readonly JobView[];
  /** Reason why no search starts although work is left. */
  readonly waitsFor: Wait | undefined;
  /** Time in ms by which the service's clock is behind the clock of logfleet, as far as known; at least 0. */
  readonly clockBehindMs: number;
  /** True once the service has created a search job for any export of this process. */
  readonly hasServiceAnswered: boolean;
  /** Failure that currently delays the whole export. */
  readonly trouble: Trouble | undefined;
  /** Last failure of the export; undefined if something has succeeded since. */
  readonly lastError: LogfleetError | undefined;
  /** True if so many failures followed each other that the problem is unlikely to end without a user's action. */
  readonly isTroubleLasting: boolean;
  readonly unproven: readonly Unproven[];
  /** Reasons for failed searches of unfinished intervals, newest first. */
  readonly messages: readonly string[];
  /** Warnings of search jobs, newest first. */
  readonly warnings: readonly string[];
  /** Selected fields (`output.fields`) that no page has described so far. Empty if other processes have read a part of the rows. */
  readonly undescribedFields: readonly string[];
  /** Number of files without a commit record that stay at the destination, because the store keeps them locked. */
  readonly lockedFiles: number;
  /** Manifest of a complete export; undefined while the export is not complete. */
  readonly manifest: StoredManifest | undefined;
  /** Time in ms after which this state may change without an event; infinite if it cannot. */
  readonly requeueAfterMs: number;
}

/** Input and output of the work on an export: its limits, and its state for the status. */
import type { LogfleetError } from '../../base/errors.ts';
import type { CommitRecord } from '../../destination/commit-record.ts';
import type { Manifest } from '../../destination/manifest.ts';
import type { JobView } from '../search/search-tools.ts';
import type { ExportLimits, ExportProgress, Wait } from './export-decision.ts';
import type { Trouble, Unproven } from './export-delays.ts';

/** Limits of the work on an export, such as those in its spec. */
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
  /** All intervals are committed. The service must still confirm their rows by an aggregation, the digest. */
  | 'proving'
  /** All rows are written and proven. The export manifest is written next. */
  | 'finishing'
  | 'complete';

/** An export manifest at the destination. */
export interface StoredManifest {
  readonly url: string;
  /** Hash of its bytes, hexadecimal. */
  readonly sha256: string;
  readonly manifest: Manifest;
}

export interface WorkView {
  readonly stage: WorkStage;
  /** URL of the export's folder; undefined before the destination is opened. */
  readonly location: string | undefined;
  /** Progress of the export; undefined until the destination has been read. */
  readonly progress: ExportProgress | undefined;
  /** Expected time in ms until the digest has confirmed all rows; 0 if no digest is left, undefined if unknown. */
  readonly digestMs: number | undefined;
  /** Committed intervals in order of time. */
  readonly intervals: readonly CommitRecord[];
  /** Returns the number of rows in each of 60 equal parts of the time range. */
  readonly histogram: () => readonly number[];
  /** Number of running searches. */
  readonly searches: number;
  /** Number of searches whose search job takes unusually long to be created. */
  readonly waitingSearches: number;
  readonly jobs: readonly JobView[];
  /** Reason why no search starts although parts of the export are left to search. */
  readonly waitsFor: Wait | undefined;
  /** Time in ms by which the service's clock is behind the clock of logfleet; at least 0. */
  readonly clockBehindMs: number;
  /** True once the service has created a search job for any export of this process, which shows that the service works. */
  readonly hasServiceAnswered: boolean;
  /** Failure that currently delays the whole export. */
  readonly trouble: Trouble | undefined;
  /** Last failure of the export; undefined if a search or another task has succeeded since. */
  readonly lastError: LogfleetError | undefined;
  /** True if the last failure is unlikely to end without a user's action, because many failures preceded it. */
  readonly isTroubleLasting: boolean;
  readonly unproven: readonly Unproven[];
  /** Messages about failed searches of intervals that still have no commit record, newest first. */
  readonly messages: readonly string[];
  /** Warnings of search jobs, newest first. */
  readonly warnings: readonly string[];
  /**
   * Names in `output.fields` that the service does not describe. Empty if another process read some of the rows, because this process does
   * not know the fields of those rows.
   */
  readonly undescribedFields: readonly string[];
  /** Number of files without a commit record that stay at the destination, because the store keeps them locked. */
  readonly lockedFiles: number;
  /** Manifest of a complete export; undefined for other exports. */
  readonly manifest: StoredManifest | undefined;
  /** Time in ms after which this state may change without an event; infinite if only an event can change it. */
  readonly requeueAfterMs: number;
}

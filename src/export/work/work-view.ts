/** Limits of the work on an export, and the state of this work, from which the export's status is built. */
import type { LogfleetError } from '../../base/errors.ts';
import type { CommitRecord } from '../../destination/commit-record.ts';
import type { Manifest } from '../../destination/manifest.ts';
import type { JobView } from '../search/search-tools.ts';
import type { ExportLimits, ExportProgress, SearchWait } from './export-decision.ts';
import type { Trouble, Unproven } from './export-delays.ts';

/** Limits of the work, such as those in the spec. */
export interface WorkLimits extends Omit<ExportLimits, 'smallestLimit'> {
  readonly incompletePolicy: 'Fail' | 'Keep';
  /** Check that logfleet uses to prove that no row is missing, if the query allows this check (E6). */
  readonly proof: 'Digest' | 'Count';
}

export type WorkStage =
  /** The destination is being read. */
  | 'loading'
  /** The first segments are being determined. */
  | 'planning'
  | 'exporting'
  /** All intervals are committed. The written rows must still be compared with the service's counts. */
  | 'proving'
  /** All rows are written and checked. The manifest is written next. */
  | 'finishing'
  | 'complete';

/** An export manifest stored at the destination. */
export interface StoredManifest {
  readonly url: string;
  /** SHA-256 of the manifest's bytes in hexadecimal. */
  readonly sha256: string;
  readonly manifest: Manifest;
}

export interface WorkView {
  readonly stage: WorkStage;
  /**
   * True while all objects at the destination must be read or are being read, for example when the work begins or after
   * a user has requested a check. A failure that a user must correct also ends the check.
   */
  readonly isChecking: boolean;
  /** URL of the export's folder; undefined until the destination has been opened. */
  readonly location: string | undefined;
  /** Progress of the export; undefined until the destination has been read. */
  readonly progress: ExportProgress | undefined;
  /**
   * Expected time in ms until the digest (the comparison with the service's counts) has confirmed all rows. It is 0 if
   * no digest remains, and undefined if unknown.
   */
  readonly digestMs: number | undefined;
  /** Committed intervals in chronological order. */
  readonly intervals: readonly CommitRecord[];
  /** Returns the row counts in 60 equal periods of the time range. */
  readonly histogram: () => readonly number[];
  /** Number of running searches. */
  readonly searches: number;
  /** Number of searches that have waited unusually long for their search job. */
  readonly waitingSearches: number;
  readonly jobs: readonly JobView[];
  /** Reason why no search starts, even though part of the time range has not been exported yet. */
  readonly waitsFor: SearchWait | undefined;
  /** Time in ms by which the service's clock is behind logfleet's clock; at least 0. */
  readonly clockBehindMs: number;
  /** True if the service has created a search job. */
  readonly hasServiceAnswered: boolean;
  /** Failure that currently delays the whole export. */
  readonly trouble: Trouble | undefined;
  /** Last failure; undefined after a success. */
  readonly lastError: LogfleetError | undefined;
  /** True if the last failure will probably last until a user acts. */
  readonly isTroubleLasting: boolean;
  /** True if several failures in a row preceded the last failure. */
  readonly hasFailedOften: boolean;
  readonly unproven: readonly Unproven[];
  /** Messages about failed searches, newest first. */
  readonly messages: readonly string[];
  /** Warnings from search jobs, newest first. */
  readonly warnings: readonly string[];
  /**
   * Names in `output.fields` that the service has not described in any response. Empty if another process read some of
   * the rows, because the service may have described the fields to that process.
   */
  readonly undescribedFields: readonly string[];
  /** Number of unneeded files that cannot be removed yet, because the store has locked them. */
  readonly lockedFiles: number;
  /** Manifest of the export; undefined until the export is complete. */
  readonly manifest: StoredManifest | undefined;
  /**
   * Time in ms after which the state of the work may change even if no event occurs. Infinity if only an event can
   * change the state.
   */
  readonly requeueAfterMs: number;
}

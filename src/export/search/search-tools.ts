/** Tools that the searches of an export use, and the outcomes that they return. */

import type { Clock } from '../../base/clock.ts';
import type { LogfleetError } from '../../base/errors.ts';
import type { Logger } from '../../base/log.ts';
import type { CommitRecord } from '../../destination/commit-record.ts';
import type { Destination } from '../../destination/destination.ts';
import type { Writer } from '../../destination/writer.ts';
import { type DescribedField, foldedName } from '../../output/columns.ts';
import type { SearchJob } from '../../service/jobs/search-job.ts';
import type { SearchJobs } from '../../service/jobs/search-jobs.ts';
import type { JobState } from '../../service/jobs/search-service.ts';
import type { ExportTask } from './export-task.ts';
import type { Shortcoming } from './search-verdict.ts';
import type { ServiceQuirks } from './service-quirks.ts';

/** Interval of a segment to be searched: `[fromMs, toMs)`. The segment's next commit record ends at `toMs`. */
export interface SearchOrder {
  readonly segment: number;
  readonly fromMs: number;
  readonly toMs: number;
}

/** A search of an interval that is not over: its job will be created, is running, or is being read. */
export interface RunningSearch extends SearchOrder {
  /** Monotonic time at which the search job was created; undefined while there is no job. */
  readonly createdAtMs: number | undefined;
  /** True while the search job is running, so that it may find and scan more rows. */
  readonly isSearching: boolean;
  readonly messageCount: number;
  readonly scannedBytes: number;
}

/** Reason why a running search ends without a commit record. */
export type StopReason =
  | 'Overtaken'
  | 'DeadlineExceeded'
  | 'MaxBytesScanned'
  /** The export is paused. This reason ends only a search without a job; searches with a job are read to the end. */
  | 'Paused'
  /** This process stops working on the export. */
  | 'ShutDown';

export interface SearchTools {
  readonly jobs: SearchJobs;
  readonly destination: Destination;
  readonly task: ExportTask;
  /**
   * Fields that the export's plan lists, so that all files have the same columns. They are not used for NDJSON and for
   * records of aggregations.
   */
  readonly describedFields: readonly DescribedField[];
  /** Receives the field descriptions of each page that has rows. */
  readonly chosenFields: ChosenFields;
  readonly quirks: ServiceQuirks;
  readonly writer: Writer;
  readonly clock: Clock;
  readonly log: Logger;
  /** The policy for incomplete intervals is a function, because users may change the policy while an export runs. */
  readonly incompletePolicy: () => 'Fail' | 'Keep';
  /**
   * Number of earlier searches of this interval that could not prove it complete. A user's request may reset the number
   * during the search.
   */
  readonly failedBefore: (order: SearchOrder) => number;
  /** Minimum age in ms of rows that may be searched (E11). */
  readonly settleDelayMs: () => number;
  /** Returns whether the limit of scanned bytes is reached, so that no further search may start. */
  readonly isScannedOut: () => boolean;
  /** Maximum number of search jobs that one search may run at the same time, so that the whole export keeps to `parallelism`. */
  readonly searchesAtOnce: () => number;
  /** Called when the state of a search job, as shown in the status, may have changed. */
  readonly onProgress: () => void;
}

/**
 * Search job that is already open. Its range ends where the interval to be searched ends, and starts where the interval
 * starts or earlier. The search closes the job.
 */
export interface OpenedJob {
  readonly job: SearchJob;
  /** Number of rows in the interval to be searched, if an aggregation counted them (E6); undefined otherwise. */
  readonly countedRows: number | undefined;
}

/** Data about a search job that is not closed yet. */
export interface JobView {
  readonly id: string;
  readonly fromMs: number;
  readonly toMs: number;
  readonly state: JobState;
  readonly messageCount: number;
  readonly recordCount: number | undefined;
  /** Warnings of the service, in order of arrival. */
  readonly warnings: readonly string[];
  /** Purpose of the search job: to return rows, or to count them. */
  readonly purpose: 'Rows' | 'Count';
}

export type SearchOutcome =
  | { readonly kind: 'committed'; readonly record: CommitRecord }
  /** Another process has committed a record for this interval first, and that record counts. */
  | { readonly kind: 'taken'; readonly existing: CommitRecord }
  /** A smaller part of the interval must be searched first. */
  | { readonly kind: 'narrowed'; readonly order: SearchOrder }
  /**
   * Search the same interval with a new job immediately. `isFailure` tells whether `failedBefore` counts this search.
   */
  | { readonly kind: 'again'; readonly isFailure: boolean; readonly message: string }
  /**
   * The interval cannot be proven complete, and another search would give the same result. With `incompletePolicy:
   * Keep`, usable rows are committed with a flag.
   */
  | {
      readonly kind: 'incomplete';
      readonly reason: Shortcoming;
      readonly message: string;
      /** Numbers of received and expected rows; undefined if they are not known. */
      readonly figures: { readonly received: number; readonly expected: number } | undefined;
    }
  | { readonly kind: 'failed'; readonly error: LogfleetError }
  | { readonly kind: 'stopped'; readonly reason: StopReason };

/**
 * Finds fields that the user selected (`output.fields`) but that no page described (2.4). Such fields are usually misspelled, and their
 * columns would be empty. The result is only shown to users. Nothing is reported for a service that does not describe its fields.
 */
export class ChosenFields {
  /** Selected field names that no page has described yet, by name without regard to case. */
  readonly #undescribed: Map<string, string>;
  #hasRows = false;

  constructor(fields: readonly string[]) {
    this.#undescribed = new Map(fields.map((name) => [foldedName(name), name]));
  }

  /** Selected fields that no page has described, in the order of selection. Empty before the first row. */
  get undescribed(): readonly string[] {
    return this.#hasRows ? [...this.#undescribed.values()] : [];
  }

  /** Records that a page with rows described these fields, so that they are not reported as missing. */
  saw(described: readonly { readonly name: string }[]): void {
    this.#hasRows = true;
    if (described.length === 0) this.#undescribed.clear();
    for (const { name } of described) this.#undescribed.delete(foldedName(name));
  }
}

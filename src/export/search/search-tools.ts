/** Tools that each search of an interval needs, and the possible outcomes of a search. */

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

/** Request to search the interval `[fromMs, toMs)` of a segment. */
export interface SearchOrder {
  readonly segment: number;
  readonly fromMs: number;
  readonly toMs: number;
}

/** A search of an interval that has not ended: its search job is being created, is running, or is being read. */
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
  /** The export is paused. Only searches that have no search job yet end for this reason; all others end normally. */
  | 'Paused'
  /** This process stops working on the export. */
  | 'ShutDown';

/** Tools of all work on an export. */
export interface ExportTools {
  readonly jobs: SearchJobs;
  readonly task: ExportTask;
  readonly quirks: ServiceQuirks;
  readonly writer: Writer;
  readonly clock: Clock;
  readonly log: Logger;
  /** Called when the status may have to show new data of a search job. */
  readonly onProgress: () => void;
}

export interface SearchTools extends ExportTools {
  readonly destination: Destination;
  /** Fields that the export's plan lists, which give all files the same columns. Used only for messages in CSV or Parquet. */
  readonly describedFields: readonly DescribedField[];
  /** Finds misspelled names in `output.fields`. */
  readonly chosenFields: ChosenFields;
  /** Policy for incomplete intervals. Users may change it while an export runs, so this is a function. */
  readonly incompletePolicy: () => 'Fail' | 'Keep';
  /** Number of earlier searches of this interval that could not prove it complete. A user who requests a retry resets this number. */
  readonly failedBefore: (order: SearchOrder) => number;
  /** Minimum age in ms of rows that may be searched, because newer rows may still arrive (E11). */
  readonly settleDelayMs: () => number;
  /** True if searches have scanned as many bytes as the export allows, so that no further search may start. */
  readonly isScannedOut: () => boolean;
  /**
   * Maximum number of search jobs that one search of an interval may run at the same time, so that the export stays within `parallelism`.
   */
  readonly searchesAtOnce: () => number;
}

/**
 * Search job that the planning of the export created, and that the search of the interval will close. Its time range may begin before the
 * interval.
 */
export interface OpenedJob {
  readonly job: SearchJob;
  /** Number of rows in the interval to be searched, as counted by an aggregation (E6); undefined if no aggregation counted them. */
  readonly countedRows: number | undefined;
}

/** Open search job, as shown in the status. */
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
  /** Another process has committed this interval first. */
  | { readonly kind: 'taken'; readonly existing: CommitRecord }
  /** The interval has too many rows for one search. `order` is the newer part of the interval, which must be searched first. */
  | { readonly kind: 'narrowed'; readonly order: SearchOrder }
  /** The interval must be searched again. `isFailure` is true if the finished search counts as failed. */
  | { readonly kind: 'again'; readonly isFailure: boolean; readonly message: string }
  /** The interval cannot be proven complete, and another search would have the same result. No row is committed. */
  | {
      readonly kind: 'incomplete';
      readonly reason: Shortcoming;
      readonly message: string;
      /** Numbers of received and expected rows, if known. */
      readonly figures: { readonly received: number; readonly expected: number } | undefined;
    }
  | { readonly kind: 'failed'; readonly error: LogfleetError }
  | { readonly kind: 'stopped'; readonly reason: StopReason };

/**
 * Finds names in `output.fields` that the service does not describe, because they are probably misspelled. The result is only shown
 * to users.
 */
export class ChosenFields {
  /** Names in `output.fields` that the service has not described, with the names in lower case as keys. */
  readonly #undescribed: Map<string, string>;
  #hasRows = false;

  constructor(fields: readonly string[]) {
    this.#undescribed = new Map(fields.map((name) => [foldedName(name), name]));
  }

  /** Names in `output.fields` that the service has not described, in the order of the spec. Empty until a row was read. */
  get undescribed(): readonly string[] {
    return this.#hasRows ? [...this.#undescribed.values()] : [];
  }

  /** Removes the names of fields that the service has described. */
  saw(described: readonly { readonly name: string }[]): void {
    this.#hasRows = true;
    if (described.length === 0) this.#undescribed.clear();
    for (const { name } of described) this.#undescribed.delete(foldedName(name));
  }
}

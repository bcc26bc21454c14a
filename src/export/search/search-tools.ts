/** Types for the search of one interval: what it needs, and its possible results. */

import type { Clock } from '../../base/clock.ts';
import type { LogfleetError } from '../../base/errors.ts';
import type { Logger } from '../../base/log.ts';
import type { TimeRange } from '../../base/time-range.ts';
import type { CommitRecord } from '../../destination/commit-record.ts';
import type { Destination } from '../../destination/store/destination.ts';
import type { Writer } from '../../destination/store/writer.ts';
import { type DescribedField, foldedName } from '../../output/columns.ts';
import type { SearchJob } from '../../service/jobs/search-job.ts';
import type { SearchJobs } from '../../service/jobs/search-jobs.ts';
import type { SearchJobState } from '../../service/jobs/search-service.ts';
import type { ExportDefinition } from './export-definition.ts';
import type { Shortcoming } from './search-verdict.ts';
import type { ServiceQuirks } from './service-quirks.ts';

/** Request to search the interval `[fromMs, toMs)`. */
export interface SearchOrder extends TimeRange {
  readonly segment: number;
}

/** A search that has not ended. */
export interface RunningSearch extends SearchOrder {
  /** Monotonic time at which the service created the search job. Undefined until then. */
  readonly createdAtMs: number | undefined;
  /** True while the search job may still find more rows and scan more bytes. */
  readonly isSearching: boolean;
  readonly messageCount: number;
  readonly scannedBytes: number;
}

/** Tools shared by all work on an export. */
export interface ExportTools {
  readonly jobs: SearchJobs;
  readonly definition: ExportDefinition;
  readonly quirks: ServiceQuirks;
  readonly writer: Writer;
  readonly clock: Clock;
  readonly log: Logger;
  /** Called when the status may need an update. */
  readonly onProgress: () => void;
}

export interface SearchTools extends ExportTools {
  readonly destination: Destination;
  /** Fields that become columns of CSV and Parquet files, as listed in the export's plan. */
  readonly describedFields: readonly DescribedField[];
  /** Finds misspelled names in `output.fields`. */
  readonly chosenFields: ChosenFields;
  /** Returns the current policy for incomplete intervals, because users may change this policy at any time. */
  readonly incompletePolicy: () => 'Fail' | 'Keep';
  /** Returns the number of earlier searches that could not show that the interval is complete. */
  readonly failedBefore: (order: SearchOrder) => number;
  /**
   * Returns the age in ms that rows must have before they are searched, because newer rows may still be arriving (E11).
   */
  readonly settleDelayMs: () => number;
  /** Returns true if the limit on scanned bytes has been reached. */
  readonly isScanLimitReached: () => boolean;
  /** Returns the maximum number of parallel search jobs for one interval. */
  readonly searchesAtOnce: () => number;
}

/** Search job that was created for planning. Its time range may begin before the interval that uses the job. */
export interface OpenedJob {
  readonly job: SearchJob;
  /**
   * Number of rows in the interval that is read from the job, according to an aggregation (E6). Undefined if there is
   * no such number, or if it cannot prove that the interval is complete.
   */
  readonly countedRows: number | undefined;
}

/** Open search job, as shown in the status. */
export interface JobView extends TimeRange {
  readonly id: string;
  readonly state: SearchJobState;
  readonly messageCount: number;
  readonly recordCount: number | undefined;
  /** Warnings from the service, in order of arrival. */
  readonly warnings: readonly string[];
  /** Purpose of the job: returning rows or counting them. */
  readonly purpose: 'Rows' | 'Count';
}

export type SearchResult =
  | { readonly kind: 'committed'; readonly record: CommitRecord }
  /** Another process committed this interval first. */
  | { readonly kind: 'taken'; readonly existing: CommitRecord }
  /**
   * The interval has too many rows for one search. `order` is the next search, which covers the newer part of the
   * interval.
   */
  | { readonly kind: 'narrowed'; readonly order: SearchOrder }
  /** The interval must be searched again. `isFailure` is true if the finished search counts as failed. */
  | { readonly kind: 'again'; readonly isFailure: boolean; readonly message: string }
  /** The interval is incomplete, and another search would not help. The rows are not committed. */
  | {
      readonly kind: 'incomplete';
      readonly reason: Shortcoming;
      readonly message: string;
      /** Numbers of received and expected rows, if known. */
      readonly figures: { readonly received: number; readonly expected: number } | undefined;
    }
  | { readonly kind: 'failed'; readonly error: LogfleetError }
  | { readonly kind: 'stopped' };

/** Finds names in `output.fields` that the service does not know. Such names are probably misspelled. */
export class ChosenFields {
  /** Names in `output.fields` that the service has not yet described. The keys are the names in lower case. */
  readonly #undescribed: Map<string, string>;
  #hasRows = false;

  constructor(fields: readonly string[]) {
    this.#undescribed = new Map(fields.map((name) => [foldedName(name), name]));
  }

  /** Names in `output.fields` that the service has not described. Empty until this process has read a row. */
  get undescribed(): readonly string[] {
    return this.#hasRows ? [...this.#undescribed.values()] : [];
  }

  /**
   * Removes the fields that the service has described from the undescribed names. If the service describes no fields at
   * all, removes all names.
   */
  saw(described: readonly { readonly name: string }[]): void {
    this.#hasRows = true;
    if (described.length === 0) this.#undescribed.clear();
    for (const { name } of described) this.#undescribed.delete(foldedName(name));
  }
}

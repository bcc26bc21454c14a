/** What the searches of one export work with, and what they come to. */

import type { Clock } from '../base/clock.ts';
import type { LogfleetError } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import type { CommitRecord } from '../destination/commit-record.ts';
import type { Destination } from '../destination/destination.ts';
import type { Writer } from '../destination/writer.ts';
import type { DescribedField } from '../output/columns.ts';
import type { SearchJob } from '../service/search-job.ts';
import type { SearchJobs } from '../service/search-jobs.ts';
import type { JobState } from '../service/search-service.ts';
import type { ChosenFields } from './chosen-fields.ts';
import type { SearchOrder, StopReason } from './export-decision.ts';
import type { ExportTask } from './export-task.ts';
import type { Shortcoming } from './proof.ts';
import type { ServiceTraits } from './service-traits.ts';

export interface SearchTools {
  readonly jobs: SearchJobs;
  readonly destination: Destination;
  readonly task: ExportTask;
  /** From the plan, so that all files have the same columns; of no use to NDJSON and to records. */
  readonly describedFields: readonly DescribedField[];
  /** Told of each page that has rows. */
  readonly chosenFields: ChosenFields;
  readonly traits: ServiceTraits;
  readonly writer: Writer;
  readonly clock: Clock;
  readonly log: Logger;
  /** These are asked when they are needed: people may change them while an export runs. */
  readonly incompletePolicy: () => 'Fail' | 'Keep';
  /** Nothing newer than now minus this is searched (E11). */
  readonly settleDelayMs: () => number;
  /** Whether so much was scanned that nothing more is to be searched. */
  readonly isScannedOut: () => boolean;
  /** How many search jobs one search may have side by side, so that all of the export keep to `parallelism`. */
  readonly searchesAtOnce: () => number;
}

/** A search job that was opened for more than one interval: its range begins at or before the order's, and ends where that does. */
export interface OpenedJob {
  readonly job: SearchJob;
  /** Rows of the order's interval, as an aggregation has counted them (E6); undefined where nobody has. */
  readonly countedRows: number | undefined;
}

/** How one search begins. */
export interface SearchStart {
  /** Searches of this interval before that have proved nothing; a person may have them forgotten while this one runs. */
  readonly failedBefore: number;
  /** One that is open already. The search closes it. */
  readonly opened?: OpenedJob;
  /** Of a search job, or of its end: something that is shown of it may have changed. */
  readonly onNews: () => void;
}

/** A search job that is alive now. */
export interface JobView {
  readonly id: string;
  readonly fromMs: number;
  readonly toMs: number;
  readonly state: JobState;
  readonly messageCount: number;
  readonly recordCount: number | undefined;
  /** What the service warned of, in the order in which it came. */
  readonly warnings: readonly string[];
  /** What it is for: rows, or how many of them there are. */
  readonly purpose: 'Rows' | 'Count';
}

export type SearchOutcome =
  | { readonly kind: 'committed'; readonly record: CommitRecord }
  /** Somebody else was first, and theirs counts. */
  | { readonly kind: 'taken'; readonly standing: CommitRecord }
  /** Search this first. */
  | { readonly kind: 'narrowed'; readonly order: SearchOrder }
  /** The same interval by a new job, at once. `isFailure`: it counts among those that have proved nothing (`failedBefore`). */
  | { readonly kind: 'again'; readonly isFailure: boolean; readonly message: string }
  /** Searching again gives nothing new. With `incompletePolicy: Keep` what can be kept is committed, flagged. */
  | {
      readonly kind: 'incomplete';
      readonly reason: Shortcoming;
      readonly message: string;
      /** Rows that the service gave, and those that there had to be; undefined where nothing can be said of them. */
      readonly figures: { readonly received: number; readonly expected: number } | undefined;
    }
  | { readonly kind: 'failed'; readonly error: LogfleetError }
  | { readonly kind: 'stopped'; readonly reason: StopReason };

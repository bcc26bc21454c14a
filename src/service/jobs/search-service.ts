/**
 * Interface of the service's search operations (4.1 to 4.5), with decoded answers, implemented by `client.ts`. To keep
 * a job alive and read it completely, use `search-job.ts` instead.
 *
 * Times are milliseconds since the epoch. Every call has a deadline and uses the request budget. Failures are
 * `ServiceError`s (`service-error.ts`).
 */
import type { PageField } from '../pages/page-field.ts';
import type { RowSink } from '../pages/page-row.ts';
import type { Answer, CallOptions } from '../requests/call.ts';

/** Query and time range for which a search job is created (4.1). Times are sent in milliseconds (E12). */
export interface JobOrder {
  readonly query: string;
  /** Start of the time range [from, to) in ms. The service may include or exclude the end of the range (10.2). */
  readonly fromMs: number;
  readonly toMs: number;
  /** Time zone for functions of the query that use days and hours; always sent, `UTC` by default. */
  readonly timeZone?: string;
  /** Whether the time range refers to the time of receipt (`_receipttime`) instead of the message time (`_messagetime`). */
  readonly byReceiptTime?: boolean;
  /** `AutoParse` extracts the fields of JSON messages during the search. Default: `Manual`. */
  readonly autoParsingMode?: 'AutoParse' | 'Manual';
  /** Whether the search job of an aggregation also keeps the raw messages. */
  readonly requiresRawMessages?: boolean;
}

/** State of a job (3.1). A state that is not in the specification is kept as text, and means that the job is running. */
export type JobState =
  | 'notStarted'
  | 'gatheringResults'
  | 'gatheringSubqueries'
  | 'forcePaused'
  | 'doneGatheringResults'
  | 'doneGatheringHistogram'
  | 'cancelled'
  | { readonly unknown: string };

/** Bucket of a histogram: the number of messages in [startMs, startMs + lengthMs) (2.3). */
export interface HistogramBucket {
  readonly startMs: number;
  readonly lengthMs: number;
  readonly count: number;
}

/** Answer to one status request of a job (2.3). Errors, warnings and buckets are returned only once. */
export interface JobStatus {
  readonly state: JobState;
  /** Number of messages that the search has found so far. */
  readonly messageCount: number;
  /**
   * Number of records that the search has produced so far; undefined if the service counts only messages.
   */
  readonly recordCount: number | undefined;
  /**
   * Message counts of short periods (buckets of the job's histogram). By the specification, a status contains only new
   * counts; according to one report, it contains all counts so far (10.2).
   */
  readonly buckets: readonly HistogramBucket[];
  /** Errors of the search that no earlier status contained. */
  readonly pendingErrors: readonly string[];
  /** Warnings of the search that no earlier status contained. */
  readonly pendingWarnings: readonly string[];
  readonly scannedBytes: number | undefined;
  /** Text of `warning` in the status, without the service's notice about cookies. */
  readonly warning: string | undefined;
}

export interface StatusOptions extends CallOptions {
  /** Monotonic time in ms at which the status request is due, so that the job stays alive (B4); now by default. */
  readonly dueMs?: number;
  /**
   * Whether the status request only checks progress. The job stays alive without a progress check, so other requests
   * may be sent first.
   */
  readonly isProgressCheck?: boolean;
  /** Called right before the request is written to its socket. If the function throws an error, the request is not sent. */
  readonly beforeSend?: () => void;
}

/** Range of rows to request from a search job's results. `limit` is at most `maxPageRows`. */
export interface PageQuery {
  /** Index of the first row to read, from 0. */
  readonly offset: number;
  readonly limit: number;
}

/** Maximum number of rows in a page. The service silently reduces a larger limit (10.3). */
export const maxPageRows = 10_000;

/**
 * Receives the rows of a page while the page arrives. An error that the receiver throws cancels the page, and the call
 * that reads the page rejects with it.
 */
export interface RowReceiver extends RowSink {
  /**
   * Returns undefined if the receiver accepts more rows now. Otherwise returns a promise that is fulfilled when the
   * receiver is ready; rows that have already arrived may still follow. A page that is paused for 5 s is cancelled
   * (B3). Another request continues it later, after the last row.
   */
  drained?(): Promise<void> | undefined;
}

/** Page of messages whose rows were already passed to the receiver (2.5). */
export interface MessagePage {
  readonly rows: number;
  readonly bytes: number;
  readonly fields: readonly PageField[];
  readonly warning: string | undefined;
}

/** Page of records, the results of an aggregation (2.6). */
export interface RecordPage {
  /** Fields of the records. `keyField` is true for the fields by which the aggregation groups. */
  readonly fields: readonly PageField[];
  /** Values of each record by field name, as the service wrote them. */
  readonly records: readonly ReadonlyMap<string, string>[];
  readonly warning: string | undefined;
}

/** Search job that was just created, with its cookies (5.3). */
export interface OpenJob {
  readonly id: string;
  /** Text of `warning` in the answer to the creation, without the service's notice about cookies. */
  readonly warning: string | undefined;
  /**
   * Send time of the newest request whose answer showed that the service knows the job. The service has kept the job
   * alive since then.
   */
  readonly heardAtMs: number;
  /**
   * Reads the status of the job and keeps the job alive (4.2). If the answer is lost, an error of the search may be
   * lost with it, so the `effect` of the failure is `unknown` (E5).
   */
  getStatus(options?: StatusOptions): Promise<Answer<JobStatus>>;
  /**
   * Reads a page of messages and keeps the job alive (4.3). A page may have fewer rows than requested, even none,
   * without being the last (10.3). After a failure, rows that were already passed to the receiver stay valid.
   */
  listMessages(query: PageQuery, receiver: RowReceiver, options?: CallOptions): Promise<Answer<MessagePage>>;
  /** Reads a page of records and keeps the job alive (4.4). Records of an unfinished job may be wrong (10.3). */
  listRecords(query: PageQuery, options?: CallOptions): Promise<Answer<RecordPage>>;
  /**
   * Deletes the job (4.5). A job that the service does not know counts as deleted, unless the job is so new that a
   * replica may not know it yet.
   */
  delete(options?: CallOptions): Promise<Answer<undefined>>;
}

export interface CreateJobOptions extends CallOptions {
  /** Called each time right before the creation request is written to a socket. */
  readonly beforeSend?: () => void;
}

export interface SearchService {
  /**
   * Creates a search job (4.1). The client never repeats a creation that may have had an effect, because the created job cannot
   * be found. A job that cannot be found expires after 30 s without requests.
   */
  createJob(order: JobOrder, options?: CreateJobOptions): Promise<Answer<OpenJob>>;
}

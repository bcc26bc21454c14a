/**
 * Interface to the service's search operations (sections 4.1 to 4.5 of docs/service.md). `search-job.ts` keeps a job
 * alive and reads it completely.
 *
 * Times are in milliseconds since the epoch. Every call has a deadline and uses the request budget. Failed calls reject
 * with a `ServiceError`.
 */
import type { PageField } from '../pages/page-field.ts';
import type { RowSink } from '../pages/page-row.ts';
import type { CallOptions, CallResponse } from '../requests/call.ts';

/** Query and time range of a new search job (E12, section 4.1 of docs/service.md). */
export interface JobOrder {
  readonly query: string;
  /** Start of the time range, in ms. */
  readonly fromMs: number;
  /**
   * End of the time range, in ms. The service may or may not include messages with exactly this time (section 10.2 of
   * docs/service.md).
   */
  readonly toMs: number;
  /** Time zone for functions in the query. Default: `UTC`. */
  readonly timeZone?: string;
  /** True to search by receipt time (`_receipttime`) instead of message time (`_messagetime`). */
  readonly byReceiptTime?: boolean;
  /** `AutoParse` extracts the fields of JSON messages. Default: `Manual`. */
  readonly autoParsingMode?: 'AutoParse' | 'Manual';
  /** True if an aggregation must also return the raw messages. */
  readonly requiresRawMessages?: boolean;
}

/** State of a search job (section 3.1 of docs/service.md). A job in an unknown state counts as running. */
export type SearchJobState =
  | 'notStarted'
  | 'gatheringResults'
  | 'gatheringSubqueries'
  | 'forcePaused'
  | 'doneGatheringResults'
  | 'doneGatheringHistogram'
  | 'cancelled'
  | { readonly unknown: string };

/**
 * Histogram bucket: the number of messages in the time range [startMs, startMs + lengthMs) (section 2.3 of
 * docs/service.md).
 */
export interface HistogramBucket {
  readonly startMs: number;
  readonly lengthMs: number;
  readonly count: number;
}

/**
 * Status of a search job (section 2.3 of docs/service.md). The service returns each error, warning and histogram bucket
 * only once.
 */
export interface JobStatus {
  readonly state: SearchJobState;
  /** Number of messages found so far. */
  readonly messageCount: number;
  /** Number of records found so far. Undefined if the service counts only messages. */
  readonly recordCount: number | undefined;
  /**
   * Message counts by time. Each status contains either only new counts (section 2.3 of docs/service.md), or all counts
   * so far (section 10.2 of docs/service.md).
   */
  readonly buckets: readonly HistogramBucket[];
  /** Errors that no earlier status contained. */
  readonly pendingErrors: readonly string[];
  /** Warnings that no earlier status contained. */
  readonly pendingWarnings: readonly string[];
  readonly scannedBytes: number | undefined;
  /** Text of the `warning` field in the response, without the service's cookie notice. */
  readonly warning: string | undefined;
}

export interface StatusOptions extends CallOptions {
  /** Monotonic time in ms at which the status request is due (B4). Default: now. */
  readonly dueMs?: number;
  /** True for a request that only checks progress, so other requests may be sent before it. */
  readonly isProgressCheck?: boolean;
}

/** Range of rows to request. `limit` is at most `maxPageRows`. */
export interface PageQuery {
  /** Index of the first row to read, from 0. */
  readonly offset: number;
  readonly limit: number;
}

/**
 * Maximum number of rows in a page. The service silently reduces higher limits to this number (section 10.3 of
 * docs/service.md).
 */
export const maxPageRows = 10_000;

/** Receives the rows of a page as they arrive. An error that the receiver throws cancels the page request. */
export interface RowReceiver extends RowSink {
  /**
   * Returns undefined if the receiver can accept more rows now. Otherwise, returns a promise that resolves when it can.
   * If that takes longer than 5 s, the page request is cancelled, and the remaining rows are requested later (B3).
   */
  drained?(): Promise<void> | undefined;
}

/**
 * Page of messages (section 2.5 of docs/service.md) without its rows, which have already been passed to the receiver.
 */
export interface MessagePage {
  readonly rows: number;
  readonly bytes: number;
  readonly fields: readonly PageField[];
  readonly warning: string | undefined;
}

/** Page of records, which are the results of an aggregation (section 2.6 of docs/service.md). */
export interface RecordPage {
  /** Fields of the records. `keyField` is true for a field by which the aggregation groups its rows. */
  readonly fields: readonly PageField[];
  /** Values of each record, by field name. */
  readonly records: readonly ReadonlyMap<string, string>[];
  readonly warning: string | undefined;
}

/** A new search job with its cookies (section 5.3 of docs/service.md). */
export interface OpenJob {
  readonly id: string;
  /** Text of the `warning` field in the response to the creation of the job, without the service's cookie notice. */
  readonly warning: string | undefined;
  /** Send time of the latest request whose response showed that the service knows the job. */
  readonly heardAtMs: number;
  /**
   * Reads the status and keeps the job alive (section 4.2 of docs/service.md). A lost response may have contained a
   * search error (E5).
   */
  getStatus(options?: StatusOptions): Promise<CallResponse<JobStatus>>;
  /**
   * Reads a page of messages and keeps the job alive (section 4.3 of docs/service.md). Any page may contain fewer rows
   * than requested (section 10.3 of docs/service.md).
   */
  listMessages(query: PageQuery, receiver: RowReceiver, options?: CallOptions): Promise<CallResponse<MessagePage>>;
  /**
   * Reads a page of records and keeps the job alive (section 4.4 of docs/service.md). Records of an unfinished job may
   * be wrong (section 10.3 of docs/service.md).
   */
  listRecords(query: PageQuery, options?: CallOptions): Promise<CallResponse<RecordPage>>;
  /**
   * Deletes the job (section 4.5 of docs/service.md). If the service does not know the job, the job counts as deleted,
   * unless it is so new that some replicas may not know it yet.
   */
  delete(options?: CallOptions): Promise<CallResponse<undefined>>;
}

export interface SearchService {
  /**
   * Creates a search job (section 4.1 of docs/service.md). If the response is lost, the request is not repeated,
   * because the job that it may have created cannot be found.
   */
  createJob(order: JobOrder, options?: CallOptions): Promise<CallResponse<OpenJob>>;
}

/**
 * Interface of the service's search operations (4.1 to 4.5), with decoded answers. Implemented by `client.ts`; tests use other
 * implementations. To keep a job alive and read it completely, use `search-job.ts` instead.
 *
 * Times are milliseconds since the epoch. Every call has a deadline and uses the request budget. Failures are `ServiceError`s
 * (`service-error.ts`).
 */
import type { PageField } from '../pages/page-field.ts';
import type { RowSink } from '../pages/page-row.ts';
import type { Answer, CallOptions } from '../requests/call.ts';

/** Order for a search job (4.1). Times are sent only in milliseconds (E12). */
export interface JobOrder {
  readonly query: string;
  /** Start of the time range [from, to) in ms. The service may treat the end of the range differently (10.2). */
  readonly fromMs: number;
  readonly toMs: number;
  /** Time zone for the query's functions on days and hours. Default: `UTC`. Always sent. */
  readonly timeZone?: string;
  /** Whether the range applies to `_receipttime` instead of `_messagetime`. */
  readonly byReceiptTime?: boolean;
  /** `AutoParse` extracts the fields of JSON messages during the search. Default: `Manual`. */
  readonly autoParsingMode?: 'AutoParse' | 'Manual';
  /** Whether an aggregation also keeps its raw messages. */
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

/** Number of messages in [startMs, startMs + lengthMs) (2.3). */
export interface HistogramBucket {
  readonly startMs: number;
  readonly lengthMs: number;
  readonly count: number;
}

/** Answer to one status request of a job (2.3). Errors, warnings and buckets are returned only once. */
export interface JobStatus {
  readonly state: JobState;
  /** Number of messages found so far. */
  readonly messageCount: number;
  /** Number of records produced so far. Undefined if the service counts only messages. */
  readonly recordCount: number | undefined;
  /** New buckets since the last status by the specification, or all buckets by one report (10.2). */
  readonly buckets: readonly HistogramBucket[];
  /** New errors since the last status. */
  readonly pendingErrors: readonly string[];
  /** New warnings since the last status. */
  readonly pendingWarnings: readonly string[];
  readonly scannedBytes: number | undefined;
  /** `warning` without the notice about cookies. */
  readonly warning: string | undefined;
}

export interface StatusOptions extends CallOptions {
  /** Monotonic time at which the job's keep-alive is due (B4). Default: now. */
  readonly dueMs?: number;
  /** Whether the request is not needed to keep the job alive, so that others may precede it. */
  readonly isProgressCheck?: boolean;
  /** Called right before the socket write. An error that it throws ends the call unsent. */
  readonly beforeSend?: () => void;
}

/** Range of rows to request from a search job's results. `limit` is at most `maxPageRows`. */
export interface PageQuery {
  /** First row, from 0. */
  readonly offset: number;
  readonly limit: number;
}

/** Maximum number of rows in a page. The service silently reduces a larger limit (10.3). */
export const maxPageRows = 10_000;

/** Receives the rows of a page while it arrives. An error that it throws cancels the page and is passed to the reader. */
export interface RowReceiver extends RowSink {
  /**
   * Returns a promise while the receiver accepts no more data, fulfilled when it does. Called regularly. Rows that are already read
   * may still follow. A page that is paused for 5 s is cancelled (B3) and continued after its last row.
   */
  drained?(): Promise<void> | undefined;
}

/** Complete page of messages (2.5). Its rows were passed to the receiver. */
export interface MessagePage {
  readonly rows: number;
  readonly bytes: number;
  readonly fields: readonly PageField[];
  readonly warning: string | undefined;
}

/** Page of records (2.6). */
export interface RecordPage {
  /** Fields of the records. Grouping fields have `keyField` true. */
  readonly fields: readonly PageField[];
  /** Values by field name, as the service wrote them. */
  readonly records: readonly ReadonlyMap<string, string>[];
  readonly warning: string | undefined;
}

/** Created search job and its cookies (5.3). */
export interface OpenJob {
  readonly id: string;
  /** Text of `warning` in the answer to the creation, without the notice about cookies. */
  readonly warning: string | undefined;
  /**
   * Time at which the newest request was sent whose answer showed that the service knows the job. This request certainly kept the job
   * alive.
   */
  readonly heardAtMs: number;
  /** Requests the status (4.2). Keeps the job alive. A lost answer may have contained errors: its `effect` is `unknown` (E5). */
  getStatus(options?: StatusOptions): Promise<Answer<JobStatus>>;
  /**
   * Reads a page of messages (4.3). Keeps the job alive. A page may have fewer rows than requested, even none, without being the
   * last (10.3). After a failure the rows already passed on stay valid, and the rest follows them.
   */
  listMessages(query: PageQuery, receiver: RowReceiver, options?: CallOptions): Promise<Answer<MessagePage>>;
  /** Reads a page of records (4.4). Keeps the job alive. Records of an unfinished job may be wrong (10.3). */
  listRecords(query: PageQuery, options?: CallOptions): Promise<Answer<RecordPage>>;
  /** Deletes the job (4.5). An unknown job counts as deleted, unless a replica may not know it yet. */
  delete(options?: CallOptions): Promise<Answer<undefined>>;
}

export interface CreateJobOptions extends CallOptions {
  /** Called right before each socket write of the creation. */
  readonly beforeSend?: () => void;
}

export interface SearchService {
  /**
   * Creates a search job (4.1). The client never repeats a creation that may have had an effect. Its job cannot be found, and
   * expires after 30 s of silence.
   */
  createJob(order: JobOrder, options?: CreateJobOptions): Promise<Answer<OpenJob>>;
}

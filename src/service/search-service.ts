/**
 * The search half of the service, as the rest of logfleet sees it: the five operations of the specification's sections 4.1 to 4.5,
 * decoded. `client.ts` is the one implementation; tests of the layers above may give another. Whoever wants a job kept alive,
 * watched and read to its end takes `search-job.ts` instead.
 *
 * Points in time are milliseconds since the epoch. Every call has a deadline of its own and spends the request budget. Failures are
 * `ServiceError`s (`service-error.ts`).
 */
import type { PageField } from './page-field.ts';
import type { RowTaker } from './page-row.ts';
import type { Answer, CallOptions } from './upgrade-service.ts';

/** What to search (4.1). Times go out in milliseconds alone (protocol E12). */
export interface JobOrder {
  readonly query: string;
  /** [from, to), where the service keeps to it (10.2); whole milliseconds. */
  readonly fromMs: number;
  readonly toMs: number;
  /** Time-zone code for what the query does with days and hours; `UTC` where absent. Always sent. */
  readonly timeZone?: string;
  /** The range is one of `_receipttime` instead of `_messagetime`. */
  readonly byReceiptTime?: boolean;
  /** `AutoParse` extracts the fields of JSON messages while searching; `Manual` where absent. */
  readonly autoParsingMode?: 'AutoParse' | 'Manual';
  /** Whether an aggregation keeps its raw messages, too. */
  readonly requiresRawMessages?: boolean;
}

/** 3.1. One that the specification does not name is kept as it came, and means: go on asking. */
export type JobState =
  | 'notStarted'
  | 'gatheringResults'
  | 'gatheringSubqueries'
  | 'forcePaused'
  | 'doneGatheringResults'
  | 'doneGatheringHistogram'
  | 'cancelled'
  | { readonly unknown: string };

/** Messages of [startMs, startMs + lengthMs) (2.3). */
export interface HistogramBucket {
  readonly startMs: number;
  readonly lengthMs: number;
  readonly count: number;
}

/** One answer to the question for a job's status (2.3). What it hands out once is not in the next one. */
export interface JobStatus {
  readonly state: JobState;
  /** Found so far. */
  readonly messageCount: number;
  /** Made so far; undefined where the service counts messages alone. */
  readonly recordCount: number | undefined;
  /** New since the last status by the specification, all of them by one report (10.2). */
  readonly buckets: readonly HistogramBucket[];
  /** New since the last status. */
  readonly pendingErrors: readonly string[];
  /** New since the last status. */
  readonly pendingWarnings: readonly string[];
  readonly scannedBytes: number | undefined;
  /** What `warning` says beyond its notice about cookies. */
  readonly warning: string | undefined;
}

export interface StatusOptions extends CallOptions {
  /** When the job's keep-alive is due, on the monotonic clock (protocol B4); now, where absent. */
  readonly dueMs?: number;
  /** The job does not need it to stay alive: others may go first. */
  readonly isLook?: boolean;
  /** Called right before the socket write. What it throws ends the call as never sent. */
  readonly beforeSend?: () => void;
}

/** Which part of the results. `limit` is at most `maxPageRows`. */
export interface PageQuery {
  /** The first one, from 0 on. */
  readonly offset: number;
  readonly limit: number;
}

/** The service cuts a larger limit down to it in silence (10.3). */
export const maxPageRows = 10_000;

/** Takes the rows of a page while it comes. What it throws gives the page up, and its reader gets it. */
export interface RowReceiver extends RowTaker {
  /**
   * Asked now and then: a promise while there is no room for more, fulfilled when there is. Rows that are on hand already may still
   * come. A page that is held up for 5 s is given up (protocol B3), and to be continued behind its rows.
   */
  room?(): Promise<void> | undefined;
}

/** A page of messages that came whole (2.5). Its rows went to the receiver. */
export interface MessagePage {
  readonly rows: number;
  readonly bytes: number;
  readonly fields: readonly PageField[];
  readonly warning: string | undefined;
}

/** A page of records (2.6). */
export interface RecordPage {
  /** The schema: what is grouped by has `keyField` true. */
  readonly fields: readonly PageField[];
  /** From field name to value, as the service wrote both. */
  readonly records: readonly ReadonlyMap<string, string>[];
  readonly warning: string | undefined;
}

/** A search job that was created, and the cookies that lead to it (5.3). */
export interface OpenJob {
  readonly id: string;
  /** What `warning` of its creation said beyond the notice about cookies. */
  readonly warning: string | undefined;
  /** When the newest request was sent that kept it alive for sure: on which the service showed that it knows the job. */
  readonly heardAtMs: number;
  /** 4.2. Keeps the job alive. A lost answer may have held errors: its `effect` is `unknown` (protocol E5). */
  getStatus(options?: StatusOptions): Promise<Answer<JobStatus>>;
  /**
   * 4.3. Keeps the job alive. A page may hold fewer rows than asked for, and none, without being the last one (10.3). Where it
   * fails, the rows given out before stand: the rest is behind them.
   */
  listMessages(query: PageQuery, receiver: RowReceiver, options?: CallOptions): Promise<Answer<MessagePage>>;
  /** 4.4. Keeps the job alive. What is read before the query is done may be wrong (10.3). */
  listRecords(query: PageQuery, options?: CallOptions): Promise<Answer<RecordPage>>;
  /** 4.5. That there is no such job any more is success; that a replica has not heard of it yet is none. */
  delete(options?: CallOptions): Promise<Answer<undefined>>;
}

export interface CreateJobOptions extends CallOptions {
  /** Called right before each socket write of it. */
  readonly beforeSend?: () => void;
}

export interface SearchService {
  /**
   * 4.1. Never sent again by the client where it may have taken effect: such a job cannot be found again, and dies by itself
   * after 30 s of silence.
   */
  createJob(order: JobOrder, options?: CreateJobOptions): Promise<Answer<OpenJob>>;
}

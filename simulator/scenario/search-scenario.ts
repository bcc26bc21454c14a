/** The part of a scenario about search jobs. */

import type { DurationRange } from '../base/span.ts';
import { duration, durationRange, flag, listOf, object, oneOf, positive } from './schema-parts.ts';

export interface SearchScenario {
  /** Duration of the state GATHERING RESULTS. */
  readonly duration?: DurationRange;
  /** Length of the time range that a search job searches in one second. If it is set, `duration` is ignored. */
  readonly rangePerSecond?: string;
  /** Duration of a search job's state NOT STARTED. */
  readonly notStartedFor?: string;
  /** Duration of a search job's state GATHERING RESULTS FROM SUBQUERIES. */
  readonly subqueriesFor?: string;
  /** Whether search jobs spend half of their time in the state DONE GATHERING HISTOGRAM. */
  readonly histogramFirst?: boolean;
  /** Maximum number of messages that a search without aggregation can return. */
  readonly messageLimit?: number;
  /** Maximum number of messages that a search examines one by one. */
  readonly scanLimit?: number;
  /** Maximum memory of all aggregations together, in million bytes. */
  readonly aggregationMb?: number;
  /**
   * State of a search job that stopped at the message limit: FORCE PAUSED, or DONE GATHERING RESULTS. `doneWithWarning`
   * also adds a warning to the status.
   */
  readonly atMessageLimit?: 'forcePaused' | 'done' | 'doneWithWarning';
  /** Time without requests after which a search job is cancelled. */
  readonly keepAlive?: DurationRange;
  /** Age at which a search job is cancelled. */
  readonly timeout?: string;
  /** Time for which a cancelled job can still be read. Requests after this time get status 404. */
  readonly cancelledFor?: string;
  /** Time for which requests for a new search job get status 404, because the service does not know the job yet. */
  readonly lag?: string;
  /** Whether a search includes messages whose time is exactly the end of its range. */
  readonly toInclusive?: boolean;
  /** Whether a search job finds only messages that were received before the job was created. */
  readonly onlyReceived?: boolean;
  /**
   * Requests for search jobs that must have a time zone: all requests (`required`), or only requests with local times
   * (`whereUsed`).
   */
  readonly timeZone?: 'required' | 'whereUsed';
  /** Response to a query with a syntax error. */
  readonly brokenQuery?: 'parseError' | 'creationError' | 'pendingError';
  readonly cookies?: CookieScenario;
  readonly status?: StatusScenario;
  readonly pages?: PageScenario;
}

export interface CookieScenario {
  /**
   * Names of the cookies that the service sets for a search job. Later requests for the job must send these cookies.
   */
  readonly names?: readonly string[];
  /** HTTP status for a request without the required cookies. */
  readonly missing?: 404 | 500;
}

export interface StatusScenario {
  /** Whether `warning` has the notice about cookies. */
  readonly cookieNotice?: boolean;
  /** Whether a status has the undocumented members `searchedTimeRange`, `timeElapsed` and `logLevel`. */
  readonly extraMembers?: boolean;
  /** Width of a histogram bucket. By default, the simulator chooses the width. */
  readonly bucketLength?: string;
  /** Whether a status contains only buckets that no earlier status contained (`new`), or all buckets (`all`). */
  readonly buckets?: 'new' | 'all';
  /**
   * Whether a status contains only errors and warnings that no earlier status contained (`new`), or all errors and
   * warnings (`all`).
   */
  readonly pending?: 'new' | 'all';
}

export interface PageScenario {
  readonly maxMessages?: number;
  readonly maxRecords?: number;
  readonly maxBytes?: number;
  /** HTTP status of the response to a page request for a search job that has never existed. */
  readonly unknownJob?: 400 | 404;
  /** HTTP status for page requests if the job is cancelled, or if the request lacks the job's cookie. */
  readonly lostJob?: 400 | 404;
  /** Whether messages always have the field `_raw`, or only if the request requires it. */
  readonly rawOfMessages?: 'always' | 'whereRequired';
  /**
   * Response to a request for the messages that an aggregation counted. The service gives this response if the search job was
   * created without `requiresRawMessages`. `refuse`: status 400. `withoutRaw`: messages without the field `_raw`.
   */
  readonly messagesOfAggregation?: 'refuse' | 'withoutRaw';
  /**
   * Records of an unfinished aggregation. `partial`: correct records of the messages so far. `wrong`: wrong numbers, so
   * that tests notice clients that use them.
   */
  readonly earlyRecords?: 'partial' | 'wrong';
  /** Format of computed numbers of ten million or more: `plain` (1788000000000) or `scientific` (1.788E12). */
  readonly largeFigures?: 'plain' | 'scientific';
}

const status = (...values: readonly number[]) => ({ enum: values, description: `one of ${values.join(', ')}` });

export const searchSchema = object({
  duration: durationRange,
  rangePerSecond: duration,
  notStartedFor: duration,
  subqueriesFor: duration,
  histogramFirst: flag,
  messageLimit: positive,
  scanLimit: positive,
  aggregationMb: positive,
  atMessageLimit: oneOf('forcePaused', 'done', 'doneWithWarning'),
  keepAlive: durationRange,
  timeout: duration,
  cancelledFor: duration,
  lag: duration,
  toInclusive: flag,
  onlyReceived: flag,
  timeZone: oneOf('required', 'whereUsed'),
  brokenQuery: oneOf('parseError', 'creationError', 'pendingError'),
  cookies: object({
    names: listOf({ type: 'string', pattern: "^[!#$%&'*+.^_`|~0-9A-Za-z-]+$", description: 'the name of a cookie' }),
    missing: status(404, 500),
  }),
  status: object({
    cookieNotice: flag,
    extraMembers: flag,
    bucketLength: duration,
    buckets: oneOf('new', 'all'),
    pending: oneOf('new', 'all'),
  }),
  pages: object({
    maxMessages: positive,
    maxRecords: positive,
    maxBytes: positive,
    unknownJob: status(400, 404),
    lostJob: status(400, 404),
    rawOfMessages: oneOf('always', 'whereRequired'),
    messagesOfAggregation: oneOf('refuse', 'withoutRaw'),
    earlyRecords: oneOf('partial', 'wrong'),
    largeFigures: oneOf('plain', 'scientific'),
  }),
});

/** The search-job settings in a scenario. */

import type { DurationRange } from '../base/span.ts';
import { duration, durationRange, flag, listOf, object, oneOf, positive } from './schema-parts.ts';

export interface SearchScenario {
  /** Time that a search job spends in the state GATHERING RESULTS. */
  readonly duration?: DurationRange;
  /**
   * Speed of a search job: the length of the time range that it searches per second. If this speed is set, `duration`
   * is ignored.
   */
  readonly rangePerSecond?: string;
  /** Time that a search job spends in the state NOT STARTED. */
  readonly notStartedFor?: string;
  /** Time that a search job spends in the state GATHERING RESULTS FROM SUBQUERIES. */
  readonly subqueriesFor?: string;
  /** Whether search jobs spend half their time in the state DONE GATHERING HISTOGRAM. */
  readonly histogramFirst?: boolean;
  /** Maximum number of messages that a search without an aggregation can return. */
  readonly messageLimit?: number;
  /**
   * Maximum number of messages that a search examines one by one. A search that reaches this limit ends with an error.
   */
  readonly scanLimit?: number;
  /** Maximum total memory of all aggregations, in MB. */
  readonly aggregationMb?: number;
  /**
   * State of a search job that stopped at the message limit: FORCE PAUSED or DONE GATHERING RESULTS. `doneWithWarning`
   * also adds a warning to the status.
   */
  readonly atMessageLimit?: 'forcePaused' | 'done' | 'doneWithWarning';
  /** Time without requests after which the service cancels a search job. */
  readonly keepAlive?: DurationRange;
  /** Age at which the service cancels a search job. */
  readonly timeout?: string;
  /** Time for which a cancelled job can still be read. Afterwards, requests for the job get status 404. */
  readonly cancelledFor?: string;
  /** Time for which requests for a new search job get status 404, because the service does not yet know the job. */
  readonly lag?: string;
  /** Whether a search includes messages whose time is exactly the end of its range. */
  readonly toInclusive?: boolean;
  /** Whether a search job finds only messages received before the job was created. */
  readonly onlyReceived?: boolean;
  /**
   * Which requests for new search jobs must have a time zone: all of them (`required`), or only those with local times
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
  /** HTTP status of the response to a request without the required cookies. */
  readonly missing?: 404 | 500;
}

export interface StatusScenario {
  /**
   * Whether the `warning` member of a search job's status contains the notice about cookies. Otherwise, this member is
   * empty.
   */
  readonly cookieNotice?: boolean;
  /**
   * Whether the status of a search job contains the undocumented members `searchedTimeRange`, `timeElapsed` and
   * `logLevel`.
   */
  readonly extraMembers?: boolean;
  /** Width of a histogram bucket. By default, the simulator chooses the width. */
  readonly bucketLength?: string;
  /**
   * Which histogram buckets the status of a search job contains: all buckets (`all`), or only those that no earlier
   * status contained (`new`).
   */
  readonly buckets?: 'new' | 'all';
  /**
   * Which errors and warnings the status of a search job contains: all of them (`all`), or only those that no earlier
   * status contained (`new`).
   */
  readonly pending?: 'new' | 'all';
}

export interface PageScenario {
  readonly maxMessages?: number;
  readonly maxRecords?: number;
  readonly maxBytes?: number;
  /** HTTP status of the response to a page request for a search job that has never existed. */
  readonly unknownJob?: 400 | 404;
  /**
   * HTTP status of the response to a page request if the job has been cancelled, or if the request lacks the job's
   * cookies.
   */
  readonly lostJob?: 400 | 404;
  /** Whether messages always have the field `_raw`, or only if it was requested. */
  readonly rawOfMessages?: 'always' | 'whereRequired';
  /**
   * Response to a request for messages if the query has an aggregation, and the search job was created without
   * `requiresRawMessages`. `refuse`: status 400. `withoutRaw`: the messages without the field `_raw`.
   */
  readonly messagesOfAggregation?: 'refuse' | 'withoutRaw';
  /**
   * Records returned while an aggregation is unfinished. `partial`: correct records for the messages so far. `wrong`:
   * wrong numbers, so that tests detect clients that use them.
   */
  readonly earlyRecords?: 'partial' | 'wrong';
  /** Format of computed numbers of at least ten million: `plain` (1788000000000) or `scientific` (1.788E12). */
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

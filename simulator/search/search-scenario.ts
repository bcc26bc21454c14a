/**
 * The part of a scenario about search jobs: their timing, and optional behaviour that was observed on real services.
 * `search-settings.ts` has the defaults.
 */
import { duration, durationRange, flag, listOf, object, oneOf, positive } from '../schema-parts.ts';
import type { DurationRange } from '../span.ts';

export interface SearchScenario {
  /** Duration of a search job's state GATHERING RESULTS. */
  readonly duration?: DurationRange;
  /** Length of the time range that a search job covers per second. If set, `duration` is ignored. */
  readonly rangePerSecond?: string;
  /** Duration of a search job's state NOT STARTED. */
  readonly notStartedFor?: string;
  /** Duration of a search job's state GATHERING RESULTS FROM SUBQUERIES. */
  readonly subqueriesFor?: string;
  /** Whether search jobs spend the second half of their time in DONE GATHERING HISTOGRAM, with a complete histogram. */
  readonly histogramFirst?: boolean;
  /** Maximum number of messages of a search without aggregation. A change applies to later search jobs. */
  readonly messageLimit?: number;
  /** Maximum number of messages that a search examines one by one. A change applies to later search jobs. */
  readonly scanLimit?: number;
  /** Maximum memory of all aggregations together, in million bytes. */
  readonly aggregationMb?: number;
  /** How a job reports that it reached the message limit. */
  readonly atMessageLimit?: 'forcePaused' | 'done' | 'doneWithWarning';
  /** Time without requests after which a search job is cancelled. */
  readonly keepAlive?: DurationRange;
  /** Maximum age of a search job, after which it is cancelled. */
  readonly timeout?: string;
  /** Time for which a cancelled job has the status CANCELLED. After that, requests for it get 404. */
  readonly cancelledFor?: string;
  /** Time after the creation of a search job for which requests for it get 404. */
  readonly lag?: string;
  /** Whether a search also finds messages whose time is exactly the end of its range (`to`). */
  readonly toInclusive?: boolean;
  /** Whether a search job finds only messages that the service received before the job was created. */
  readonly onlyReceived?: boolean;
  /** When requests need a time zone: always, or only with local times. */
  readonly timeZone?: 'required' | 'whereUsed';
  /** Answer to a query with a syntax error. */
  readonly brokenQuery?: 'parseError' | 'creationError' | 'pendingError';
  readonly cookies?: CookieScenario;
  readonly status?: StatusScenario;
  readonly pages?: PageScenario;
}

export interface CookieScenario {
  /** Names of the cookies that the service sets when it creates a search job, and requires in later requests for the job. */
  readonly names?: readonly string[];
  /** HTTP status for a request that lacks the required cookies. */
  readonly missing?: 404 | 500;
}

export interface StatusScenario {
  /** Whether `warning` has the notice about cookies. */
  readonly cookieNotice?: boolean;
  /** Whether a status has `searchedTimeRange`, `timeElapsed`, and `logLevel` in its buckets. */
  readonly extraMembers?: boolean;
  /** Width of a histogram bucket. Chosen automatically if absent. */
  readonly bucketLength?: string;
  /** Whether each status of a job contains only new histogram buckets, or all of them. */
  readonly buckets?: 'new' | 'all';
  /** Whether each status of a job contains only new errors and warnings, or all of them. */
  readonly pending?: 'new' | 'all';
}

export interface PageScenario {
  readonly maxMessages?: number;
  readonly maxRecords?: number;
  readonly maxBytes?: number;
  /** HTTP status of requests for pages of a job that never existed. */
  readonly unknownJob?: 400 | 404;
  /** HTTP status of requests for pages of a cancelled job, or without the job's cookie. */
  readonly lostJob?: 400 | 404;
  /** Whether messages of a query without aggregation have the field `_raw` even if the request does not require it. */
  readonly rawOfMessages?: 'always' | 'whereRequired';
  /**
   * Answer to a request for messages of an aggregation that was created without `requiresRawMessages`: status 400 with the code
   * `raw.messages.not.available`, or messages without `_raw`.
   */
  readonly messagesOfAggregation?: 'refuse' | 'withoutRaw';
  /** Records that an unfinished aggregation returns: the true records so far, or records with wrong numbers to mislead the client. */
  readonly earlyRecords?: 'partial' | 'wrong';
  /** Notation of computed numbers from ten million on: 1788000000000 or 1.788E12. */
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

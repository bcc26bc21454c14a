/**
 * What a scenario may say about searches: how they go, and which of the things the service does beyond its specification. All
 * members are optional; `search-settings.ts` fills in what is left out, `search-schema.ts` is the same in JSON Schema.
 */
import type { DurationRange } from '../scenario.ts';

export interface SearchScenario {
  /** From the beginning of GATHERING RESULTS to the end of it. */
  readonly duration?: DurationRange;
  /** Instead of `duration`: how much of its range a job gets through in a second. */
  readonly rangePerSecond?: string;
  /** How long a new job is NOT STARTED. */
  readonly notStartedFor?: string;
  /** How long it then is GATHERING RESULTS FROM SUBQUERIES. */
  readonly subqueriesFor?: string;
  /** The histogram is complete halfway, from when on the state is DONE GATHERING HISTOGRAM. */
  readonly histogramFirst?: boolean;
  /** Of a search without aggregation. Holds for jobs made from now on. */
  readonly messageLimit?: number;
  /** Messages that a search may look at one by one. Holds for jobs made from now on. */
  readonly scanLimit?: number;
  /** What the aggregations of all jobs may keep together, in millions of bytes. */
  readonly aggregationMb?: number;
  /** How a job shows that it is at the limit. */
  readonly atMessageLimit?: 'forcePaused' | 'done' | 'doneWithWarning';
  /** After so much silence a job is cancelled. */
  readonly keepAlive?: DurationRange;
  /** After so long a job is cancelled, however often it is asked for. */
  readonly timeout?: string;
  /** How long the status of a cancelled job says CANCELLED before it is 404. */
  readonly cancelledFor?: string;
  /** How long a new job is 404 for everything but its creation. */
  readonly lag?: string;
  /** Whether messages of the very millisecond `to` are in the range. */
  readonly toInclusive?: boolean;
  /** Whether only messages are found that were received by the creation of the job. */
  readonly onlyReceived?: boolean;
  /** Whether times in ms need a time zone, too. */
  readonly timeZone?: 'required' | 'whereUsed';
  /** What becomes of a query that cannot be parsed. */
  readonly brokenQuery?: 'parseError' | 'creationError' | 'pendingError';
  readonly cookies?: CookieScenario;
  readonly status?: StatusScenario;
  readonly pages?: PageScenario;
}

export interface CookieScenario {
  /** Set by each creation, and needed, all of them, by everything after it; none where empty. */
  readonly names?: readonly string[];
  /** What a request without them gets. */
  readonly missing?: 404 | 500;
}

export interface StatusScenario {
  /** Whether `warning` speaks of cookies, or is empty. */
  readonly cookieNotice?: boolean;
  /** `searchedTimeRange`, `timeElapsed`, and in buckets `logLevel`. */
  readonly extraMembers?: boolean;
  /** Width of a bucket; a fitting one where absent. */
  readonly bucketLength?: string;
  /** Whether a status has the buckets that are new, or all of them. */
  readonly buckets?: 'new' | 'all';
  /** The same for errors and warnings. */
  readonly pending?: 'new' | 'all';
}

export interface PageScenario {
  readonly maxMessages?: number;
  readonly maxRecords?: number;
  /** Of the messages of a page. */
  readonly maxBytes?: number;
  /** Pages of a job that never was. */
  readonly unknownJob?: 400 | 404;
  /** Pages of a job that was cancelled, or whose cookie is missing. */
  readonly lostJob?: 400 | 404;
  /** `_raw` in the messages of a query without aggregation that does not require it. */
  readonly rawOfMessages?: 'always' | 'whereRequired';
  /** Messages of an aggregation that does not require them: 400 `raw.messages.not.available`, or without `_raw`. */
  readonly messagesOfAggregation?: 'refuse' | 'withoutRaw';
  /** Records of an aggregation that is not done: as far as it has come, or wrong figures. */
  readonly earlyRecords?: 'partial' | 'wrong';
  /** Computed figures of ten million and more, as in 1788000000000 or 1.788E12. */
  readonly largeFigures?: 'plain' | 'scientific';
}

/**
 * A search job (2.1, 3.1) over time:
 *
 * NOT STARTED → GATHERING RESULTS FROM SUBQUERIES → GATHERING RESULTS → DONE GATHERING HISTOGRAM → DONE GATHERING RESULTS, or FORCE
 * PAUSED at the message limit.
 *
 * Silence, timeout or deletion → CANCELLED, from each state.
 *
 * Invariant: the due results depend on the time alone, and not on earlier requests. A job whose effort is spent stays GATHERING RESULTS,
 * and has the same results later. Counts never decrease, except that an aggregation without memory loses its records. A job that has
 * ended holds no results.
 */
import { reachedAt, type SearchCourse } from './search-course.ts';
import type { SearchOrder } from './search-order.ts';
import type { SearchResults } from './search-results.ts';
import type { SearchSettings } from './search-settings.ts';

export type JobState =
  | 'NOT STARTED'
  | 'GATHERING RESULTS FROM SUBQUERIES'
  | 'GATHERING RESULTS'
  | 'DONE GATHERING HISTOGRAM'
  | 'DONE GATHERING RESULTS'
  | 'FORCE PAUSED'
  | 'CANCELLED';

/** Reason of a job's end: no requests, its maximum age, a deletion, or a fault. */
export type JobEnd = 'silence' | 'timeout' | 'deleted' | 'fault';

export interface NewJob {
  readonly id: string;
  readonly user: string;
  readonly organisation: string;
  /** Session whose cookies its requests need. */
  readonly session: number;
  readonly order: SearchOrder;
  readonly course: SearchCourse;
  readonly createdMs: number;
  /** Time without requests after which the job is cancelled. */
  readonly silenceMs: number;
  /** Undefined for a broken query. */
  readonly results: SearchResults | undefined;
}

export class SearchJob {
  readonly id: string;
  readonly user: string;
  readonly organisation: string;
  readonly session: number;
  readonly order: SearchOrder;
  readonly course: SearchCourse;
  readonly createdMs: number;
  readonly silenceMs: number;
  readonly errors = new Notices();
  readonly warnings = new Notices();
  /** Time of the last request. */
  heardMs: number;
  /** Undefined while the job exists. */
  end: { readonly why: JobEnd; readonly atMs: number } | undefined;
  /** Counts at the last evaluation. */
  messageCount = 0;
  recordCount = 0;
  scannedBytes = 0;
  /** Whether the warning about the message limit was reported. */
  #warned = false;
  /** Whether the error of the aggregation was reported. */
  #failed = false;
  #results: SearchResults | undefined;
  /** Whether all due work is done. */
  #isUpToDate = true;

  constructor({ id, user, organisation, session, order, course, createdMs, silenceMs, results }: NewJob) {
    this.id = id;
    this.user = user;
    this.organisation = organisation;
    this.session = session;
    this.order = order;
    this.course = course;
    this.createdMs = createdMs;
    this.silenceMs = silenceMs;
    this.heardMs = createdMs;
    this.#results = results;
    if ('broken' in order.query) this.errors.add(order.query.broken);
  }

  get isAggregation(): boolean {
    const { query } = this.order;
    return !('broken' in query) && query.aggregate !== undefined;
  }

  cancel(why: JobEnd, atMs: number): void {
    this.end ??= { why, atMs };
    this.#results?.end();
    this.#results = undefined;
  }

  /** Returns the results at a time, which must not go back. Undefined for a broken query or an ended job. */
  resultsAt(atMs: number): SearchResults | undefined {
    const results = this.#results;
    if (!results) return undefined;
    const { course } = this;
    const reachedMs = reachedAt(course, course.doneMs, atMs);
    this.#isUpToDate = results.advance(reachedMs, reachedAt(course, course.histogramMs, atMs));
    this.messageCount = results.messages;
    this.recordCount = results.records;
    this.scannedBytes = results.scannedBytes;
    if (results.failure !== undefined) this.#fail(results.failure);
    return results;
  }

  /** Returns whether the job finds nothing more. */
  isThrough(atMs: number): boolean {
    if (this.end || !this.resultsAt(atMs)) return true;
    return this.#isUpToDate && atMs >= this.course.doneMs;
  }

  stateAt(atMs: number, settings: SearchSettings): JobState {
    const { startMs, gatherMs, histogramMs, doneMs } = this.course;
    if (this.end) return 'CANCELLED';
    if (atMs < startMs) return 'NOT STARTED';
    const results = this.resultsAt(atMs);
    if (!results) return 'DONE GATHERING RESULTS';
    if (atMs < gatherMs) return 'GATHERING RESULTS FROM SUBQUERIES';
    if (results.fullBy === 'service') this.#warn(settings);
    if (results.fullBy === 'service' && settings.atMessageLimit === 'forcePaused') return 'FORCE PAUSED';
    if (results.fullBy || results.isGivenUp) return 'DONE GATHERING RESULTS';
    if (this.#isUpToDate && atMs >= doneMs) return 'DONE GATHERING RESULTS';
    return atMs < histogramMs || !results.hasAllBuckets ? 'GATHERING RESULTS' : 'DONE GATHERING HISTOGRAM';
  }

  #fail(why: string): void {
    if (this.#failed) return;
    this.#failed = true;
    this.errors.add(why);
  }

  #warn({ atMessageLimit }: SearchSettings): void {
    if (this.#warned || atMessageLimit !== 'doneWithWarning') return;
    this.#warned = true;
    this.warnings.add('Max results reached');
  }
}

/** Errors or warnings of a job (2.3). Each is reported once, unless the scenario repeats them. */
class Notices {
  readonly #all: string[] = [];
  #told = 0;

  add(text: string): void {
    this.#all.push(text);
  }

  /** Returns the new notices, or all, and marks them as reported. */
  take(which: 'new' | 'all'): readonly string[] {
    const first = which === 'new' ? this.#told : 0;
    this.#told = this.#all.length;
    return this.#all.slice(first);
  }
}

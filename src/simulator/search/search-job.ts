/**
 * One search job (2.1, 3.1) through time.
 *
 *     NOT STARTED → GATHERING RESULTS FROM SUBQUERIES → GATHERING RESULTS → DONE GATHERING HISTOGRAM → DONE GATHERING RESULTS
 *                                                                         → FORCE PAUSED, at the message limit
 *     any of them, by silence, time-out or deletion → CANCELLED
 *
 * Invariant: what it should have found by a time depends on the clock alone and not on who looked before. Where that is more than
 * its effort allows, it goes on GATHERING RESULTS, and finds the same in the end. Counts only grow, but that an aggregation which would
 * keep too much, with what those of other jobs keep, has no records from then on. A job that has ended holds no results.
 */
import { Notices } from './notices.ts';
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

/** What ended a job: nobody asked for it, its eight hours were over, somebody deleted it, a fault of the scenario. */
export type JobEnd = 'silence' | 'timeout' | 'deleted' | 'fault';

export interface NewJob {
  readonly id: string;
  readonly user: string;
  readonly organisation: string;
  /** Whose cookies it needs. */
  readonly session: number;
  readonly order: SearchOrder;
  readonly course: SearchCourse;
  readonly createdMs: number;
  /** Of silence, after which it is cancelled. */
  readonly silenceMs: number;
  /** Undefined where its query is broken. */
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
  /** When it was last asked for. */
  heardMs: number;
  /** Undefined while it is there. */
  end: { readonly why: JobEnd; readonly atMs: number } | undefined;
  /** When it was last looked at. */
  messageCount = 0;
  recordCount = 0;
  scannedBytes = 0;
  /** Whether a warning has told that it is at the limit. */
  #warned = false;
  /** Whether an error has told that its aggregation was given up. */
  #failed = false;
  #results: SearchResults | undefined;
  /** Whether it has done all that the clock asks of it. */
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

  /** Its results at a time, not before the last one; undefined where the query is broken, or the job has ended. */
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

  /** Whether it will find nothing more. */
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

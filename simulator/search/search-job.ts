/**
 * The states of a search job, in chronological order:
 *
 * NOT STARTED → GATHERING RESULTS FROM SUBQUERIES → GATHERING RESULTS → DONE GATHERING HISTOGRAM → DONE GATHERING
 * RESULTS
 *
 * At the message limit, the last state is FORCE PAUSED instead. A job becomes CANCELLED if it is deleted, becomes too
 * old, or receives no requests for a while. A cancelled job has no results.
 *
 * The results depend only on the time of a request, not on earlier requests.
 */
import type { JobEnd } from '../requests/journal.ts';
import type { SearchSettings } from '../scenario/search-settings.ts';
import type { SearchDefinition } from './search-definition.ts';
import type { SearchResults } from './search-results.ts';
import { reachedAt, type SearchSchedule } from './search-schedule.ts';

export type SimulatedJobState =
  | 'NOT STARTED'
  | 'GATHERING RESULTS FROM SUBQUERIES'
  | 'GATHERING RESULTS'
  | 'DONE GATHERING HISTOGRAM'
  | 'DONE GATHERING RESULTS'
  | 'FORCE PAUSED'
  | 'CANCELLED';

export interface NewJob {
  readonly id: string;
  readonly user: string;
  readonly organisation: string;
  /** Cookie session of the job. Requests for the job must send the cookies of this session. */
  readonly session: number;
  readonly definition: SearchDefinition;
  readonly schedule: SearchSchedule;
  readonly createdMs: number;
  /** Time without requests after which the search job is cancelled, in ms. */
  readonly silenceMs: number;
  /** Results so far. Undefined if the query is invalid. */
  readonly results: SearchResults | undefined;
}

export class SimulatedSearchJob {
  readonly id: string;
  readonly user: string;
  readonly organisation: string;
  readonly session: number;
  readonly definition: SearchDefinition;
  readonly schedule: SearchSchedule;
  readonly createdMs: number;
  readonly silenceMs: number;
  readonly errors = new Notices();
  readonly warnings = new Notices();
  /** Time of the last request for the job, in ms. */
  heardMs: number;
  end: { readonly why: JobEnd; readonly atMs: number } | undefined;
  messageCount = 0;
  recordCount = 0;
  scannedBytes = 0;
  #warned = false;
  #failed = false;
  #results: SearchResults | undefined;
  /** True if the search has progressed at least as far as its schedule requires. */
  #isUpToDate = true;

  constructor({ id, user, organisation, session, definition, schedule, createdMs, silenceMs, results }: NewJob) {
    this.id = id;
    this.user = user;
    this.organisation = organisation;
    this.session = session;
    this.definition = definition;
    this.schedule = schedule;
    this.createdMs = createdMs;
    this.silenceMs = silenceMs;
    this.heardMs = createdMs;
    this.#results = results;
    if ('broken' in definition.query) this.errors.add(definition.query.broken);
  }

  get isAggregation(): boolean {
    const { query } = this.definition;
    return !('broken' in query) && query.aggregate !== undefined;
  }

  cancel(why: JobEnd, atMs: number): void {
    this.end ??= { why, atMs };
    this.#results?.end();
    this.#results = undefined;
  }

  /** Returns the results found by `atMs`, or undefined if the query is invalid or the job has ended. */
  resultsAt(atMs: number): SearchResults | undefined {
    const results = this.#results;
    if (!results) return undefined;
    const { schedule } = this;
    const reachedMs = reachedAt(schedule, schedule.doneMs, atMs);
    this.#isUpToDate = results.advance(reachedMs, reachedAt(schedule, schedule.histogramMs, atMs));
    this.messageCount = results.messages;
    this.recordCount = results.records;
    this.scannedBytes = results.scannedBytes;
    if (results.failure !== undefined) this.#fail(results.failure);
    return results;
  }

  /** Reports whether the search has ended. */
  isThrough(atMs: number): boolean {
    if (this.end || !this.resultsAt(atMs)) return true;
    return this.#isUpToDate && atMs >= this.schedule.doneMs;
  }

  stateAt(atMs: number, settings: SearchSettings): SimulatedJobState {
    const { startMs, gatherMs, histogramMs, doneMs } = this.schedule;
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

/** Errors or warnings of a search job. By default, a status contains only those that have not been reported yet. */
class Notices {
  readonly #all: string[] = [];
  #reported = 0;

  add(text: string): void {
    this.#all.push(text);
  }

  /** Returns all errors or warnings (`all`), or only those that have not been reported yet (`new`). */
  take(which: 'new' | 'all'): readonly string[] {
    const first = which === 'new' ? this.#reported : 0;
    this.#reported = this.#all.length;
    return this.#all.slice(first);
  }
}

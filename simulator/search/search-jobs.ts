/**
 * All search jobs. A job that becomes too old or receives no requests is cancelled. A job's id is still recognized
 * after the job has been removed.
 */

import type { Timeline } from '../base/timeline.ts';
import type { Effort } from '../log-data/effort.ts';
import type { JobEnd } from '../requests/journal.ts';
import { jobNumberOf } from './job-id.ts';
import type { SimulatedSearchJob } from './search-job.ts';

/** Maximum number of finished search jobs held in memory. */
const maxEndedKept = 5_000;

export class SimulatedSearchJobs {
  readonly #timeline: Timeline;
  readonly #seed: number;
  readonly #jobs = new Map<string, SimulatedSearchJob>();
  /** Ids of ended search jobs, in the order in which the jobs ended. */
  readonly #ended = new Set<string>();
  readonly #active = new Map<string, number>();
  /** Search jobs that have not ended. The first job in the list has waited longest for computing time. */
  readonly #unfinished = new Set<SimulatedSearchJob>();
  created = 0;
  lostToSilence = 0;

  constructor(timeline: Timeline, seed: number) {
    this.#timeline = timeline;
    this.#seed = seed;
  }

  /**
   * Returns the number of active jobs in an organisation, or the number of all active jobs if no organisation is given.
   */
  active(organisation?: string): number {
    if (organisation !== undefined) return this.#active.get(organisation) ?? 0;
    return this.#jobs.size - this.#ended.size;
  }

  all(): Iterable<SimulatedSearchJob> {
    return this.#jobs.values();
  }

  get(id: string): SimulatedSearchJob | undefined {
    return this.#jobs.get(id);
  }

  /** Reports whether a search job with this id has ever existed. */
  hasBeen(id: string): boolean {
    const number = jobNumberOf(id, this.#seed);
    return number !== undefined && number < this.created;
  }

  /** Adds a search job. `timeoutMs` is its maximum age in ms. */
  add(job: SimulatedSearchJob, timeoutMs: number): void {
    this.created++;
    this.#jobs.set(job.id, job);
    this.#unfinished.add(job);
    this.#active.set(job.organisation, this.active(job.organisation) + 1);
    this.#watch(job, job.createdMs + timeoutMs);
  }

  end(job: SimulatedSearchJob, why: JobEnd, atMs: number): void {
    if (job.end) return;
    job.cancel(why, atMs);
    if (why === 'silence') this.lostToSilence++;
    const left = this.active(job.organisation) - 1;
    if (left > 0) this.#active.set(job.organisation, left);
    else this.#active.delete(job.organisation);
    this.#unfinished.delete(job);
    this.#ended.add(job.id);
    const [oldest] = this.#ended;
    if (this.#ended.size <= maxEndedKept || oldest === undefined) return;
    this.#ended.delete(oldest);
    this.#jobs.delete(oldest);
  }

  /**
   * Continues searches that are behind schedule. Returns false if the computing time runs out before all of them have
   * caught up.
   */
  catchUp(atMs: number, effort: Effort): boolean {
    for (const job of [...this.#unfinished]) {
      if (effort.isSpent) return false;
      this.#unfinished.delete(job);
      if (!job.isThrough(atMs)) this.#unfinished.add(job);
    }
    return !effort.isSpent;
  }

  get hasUnfinished(): boolean {
    return this.#unfinished.size > 0;
  }

  /** Cancels the search job if it is too old or has not received a request for too long. */
  #watch(job: SimulatedSearchJob, lastMs: number): void {
    this.#timeline.at(Math.min(job.heardMs + job.silenceMs, lastMs), (atMs) => {
      if (job.end) return;
      if (atMs >= lastMs) this.end(job, 'timeout', atMs);
      else if (atMs >= job.heardMs + job.silenceMs) this.end(job, 'silence', atMs);
      else this.#watch(job, lastMs);
    });
  }
}

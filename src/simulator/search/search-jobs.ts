/**
 * All search jobs: who is there, who was, and when a job goes by itself.
 *
 * Invariant: a job ends once. Jobs that ended are kept for people and oracles to look at, the newest of them; that a job was there
 * is known by its id alone (`job-id.ts`).
 */
import type { Effort } from '../log-data/effort.ts';
import type { Timeline } from '../timeline.ts';
import { jobNumberOf } from './job-id.ts';
import type { JobEnd, SearchJob } from './search-job.ts';

/** Ended jobs hold a query and a few numbers. */
const mostEndedKept = 5_000;

export class SearchJobs {
  readonly #timeline: Timeline;
  readonly #seed: number;
  readonly #jobs = new Map<string, SearchJob>();
  /** Ids, the oldest end first. */
  readonly #ended = new Set<string>();
  readonly #active = new Map<string, number>();
  /** Jobs that may find more, those that had their turn longest ago first. */
  readonly #unfinished = new Set<SearchJob>();
  created = 0;
  lostToSilence = 0;

  constructor(timeline: Timeline, seed: number) {
    this.#timeline = timeline;
    this.#seed = seed;
  }

  /** Jobs of an organisation that are there; of all of them where it is left out. */
  active(organisation?: string): number {
    if (organisation !== undefined) return this.#active.get(organisation) ?? 0;
    return this.#jobs.size - this.#ended.size;
  }

  /** In the order in which they were made. */
  all(): Iterable<SearchJob> {
    return this.#jobs.values();
  }

  get(id: string): SearchJob | undefined {
    return this.#jobs.get(id);
  }

  /** Whether there ever was such a job. */
  hasBeen(id: string): boolean {
    const number = jobNumberOf(id, this.#seed);
    return number !== undefined && number < this.created;
  }

  /** `timeoutMs`: how long it may be there however often it is asked for. */
  add(job: SearchJob, timeoutMs: number): void {
    this.created++;
    this.#jobs.set(job.id, job);
    this.#unfinished.add(job);
    this.#active.set(job.organisation, this.active(job.organisation) + 1);
    this.#watch(job, job.createdMs + timeoutMs);
  }

  end(job: SearchJob, why: JobEnd, atMs: number): void {
    if (job.end) return;
    job.cancel(why, atMs);
    if (why === 'silence') this.lostToSilence++;
    const left = this.active(job.organisation) - 1;
    if (left > 0) this.#active.set(job.organisation, left);
    else this.#active.delete(job.organisation);
    this.#unfinished.delete(job);
    this.#ended.add(job.id);
    const [oldest] = this.#ended;
    if (this.#ended.size <= mostEndedKept || oldest === undefined) return;
    this.#ended.delete(oldest);
    this.#jobs.delete(oldest);
  }

  /** Takes jobs as far as they should be by then while the effort lasts; whether all of them are. */
  catchUp(atMs: number, effort: Effort): boolean {
    for (const job of [...this.#unfinished]) {
      if (effort.isSpent) return false;
      this.#unfinished.delete(job);
      if (!job.isThrough(atMs)) this.#unfinished.add(job);
    }
    return !effort.isSpent;
  }

  /** Whether a job may find more as time passes. */
  get hasUnfinished(): boolean {
    return this.#unfinished.size > 0;
  }

  /** Looks when the job's time is over, or when it would have been silent for too long had nobody asked for it meanwhile. */
  #watch(job: SearchJob, lastMs: number): void {
    this.#timeline.at(Math.min(job.heardMs + job.silenceMs, lastMs), (atMs) => {
      if (job.end) return;
      if (atMs >= lastMs) this.end(job, 'timeout', atMs);
      else if (atMs >= job.heardMs + job.silenceMs) this.end(job, 'silence', atMs);
      else this.#watch(job, lastMs);
    });
  }
}

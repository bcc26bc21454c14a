/**
 * Opens search jobs: as many at once as can be kept alive and as the service lets be active (protocol B4, B5), each with a permit that
 * is taken before its creation.
 *
 * A creation whose answer is lost is never sent again from here, and the job that may have come of it cannot be found: its permit is
 * kept until it must have died, and the caller is told by the error's `effect`.
 */
import { type Clock, sleep } from '../base/clock.ts';
import type { JobPermit } from './job-admission.ts';
import type { JobProgress } from './job-gathering.ts';
import { orphanLifeMs, SearchJob } from './search-job.ts';
import type { JobOrder, SearchService } from './search-service.ts';
import { ServiceError } from './service-error.ts';

/** Who says how many jobs there may be. */
export interface JobPermits {
  /** Waits for its turn; rejects with the signal's reason when it is aborted first. */
  admit(signal?: AbortSignal): Promise<JobPermit>;
}

export interface SearchJobsOptions {
  readonly service: SearchService;
  readonly permits: JobPermits;
  readonly clock: Clock;
}

export interface OpenOptions {
  /** Gives up waiting for the job's turn and for that of its creation; without effect once the job is open. */
  readonly signal?: AbortSignal;
  /** Called after each status that was answered. */
  readonly onProgress?: (progress: JobProgress) => void;
  /** How long after its creation the search should be over, by others of this service: a first look that comes right is the only one. */
  readonly expectedMs?: number | undefined;
}

/** Who has had a job a moment ago may be about to open another: to count what was found, or since one failed. */
const lingerMs = 10_000;

export class SearchJobs {
  readonly #options: SearchJobsOptions;
  /** Jobs with a permit, and those that are waited for. */
  #wanted = 0;
  #usedAtMs = Number.NEGATIVE_INFINITY;

  constructor(options: SearchJobsOptions) {
    this.#options = options;
  }

  /**
   * Resolves to a job that is kept alive until it is closed. Rejects with the signal's reason or a `ServiceError`. A creation that is under
   * way when the signal is aborted is waited for, since nobody could delete the job otherwise; it is closed again.
   */
  async open(order: JobOrder, options: OpenOptions = {}): Promise<SearchJob> {
    const { clock } = this.#options;
    const { signal } = options;
    const permit = await this.#admit(signal);
    let job: SearchJob;
    try {
      job = await this.#create(order, permit, options);
    } catch (error) {
      if (mayLive(error)) clock.after(orphanLifeMs, () => permit.end());
      else permit.end();
      throw error;
    }
    if (!signal?.aborted) return job;
    // The permit is the job's own now, and ends with it: one that could not be deleted lives on for a while.
    await job.close();
    throw signal.reason;
  }

  /** Resolves once there has been no job for a while and nobody waits for one, at once where there never was; or when it is aborted. */
  async whenUnused(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    while (!signal.aborted) {
      const idleMs = this.#wanted > 0 ? 0 : clock.monotonic() - this.#usedAtMs;
      if (idleMs >= lingerMs) return;
      await sleep(clock, lingerMs - idleMs, signal).catch(() => {});
    }
  }

  async #admit(signal: AbortSignal | undefined): Promise<JobPermit> {
    const { permits, clock } = this.#options;
    let isOver = false;
    const over = () => {
      if (isOver) return;
      isOver = true;
      this.#wanted--;
      this.#usedAtMs = clock.monotonic();
    };
    this.#wanted++;
    try {
      const permit = await permits.admit(signal);
      return {
        end: () => {
          over();
          permit.end();
        },
      };
    } catch (error) {
      over();
      throw error;
    }
  }

  async #create(order: JobOrder, permit: JobPermit, options: OpenOptions): Promise<SearchJob> {
    const { service, clock } = this.#options;
    const { signal, onProgress, expectedMs } = options;
    const unsent = new AbortController();
    const giveUp = () => unsent.abort(signal?.reason);
    const keep = () => signal?.removeEventListener('abort', giveUp);
    signal?.addEventListener('abort', giveUp, { once: true });
    if (signal?.aborted) giveUp();
    try {
      const { value: job, dateMs } = await service.createJob(order, { signal: unsent.signal, beforeSend: keep });
      return new SearchJob({ job, order, permit, clock, createdDateMs: dateMs, expectedMs, onProgress });
    } finally {
      keep();
    }
  }
}

function mayLive(error: unknown): boolean {
  return error instanceof ServiceError && error.effect === 'unknown';
}

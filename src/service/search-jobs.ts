/**
 * Opens search jobs: as many at once as can be kept alive and as the service lets be active (protocol B4, B5), each with a permit that
 * is taken before its creation.
 *
 * A creation whose answer is lost is never sent again from here, and the job that may have come of it cannot be found: its permit is
 * kept until it must have died, and the caller is told by the error's `effect`.
 */
import type { Clock } from '../base/clock.ts';
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
  /** Gives up waiting for the job's turn, and its creation; without effect once the job is open. */
  readonly signal?: AbortSignal;
  /** Called after each status that was answered. */
  readonly onProgress?: (progress: JobProgress) => void;
}

export class SearchJobs {
  readonly #options: SearchJobsOptions;

  constructor(options: SearchJobsOptions) {
    this.#options = options;
  }

  /** Resolves to a job that is kept alive until it is closed. Rejects with the signal's reason or a `ServiceError`. */
  async open(order: JobOrder, { signal, onProgress }: OpenOptions = {}): Promise<SearchJob> {
    const { service, permits, clock } = this.#options;
    const permit = await permits.admit(signal);
    try {
      const { value: job, dateMs: createdDateMs } = await service.createJob(
        order,
        signal === undefined ? {} : { signal },
      );
      return new SearchJob({ job, order, permit, clock, createdDateMs, onProgress });
    } catch (error) {
      if (mayLive(error)) clock.after(orphanLifeMs, () => permit.end());
      else permit.end();
      throw error;
    }
  }
}

function mayLive(error: unknown): boolean {
  return error instanceof ServiceError && error.effect === 'unknown';
}

/**
 * Opens search jobs within the limits of the service (B4, B5). If the response to a request that creates a job is lost,
 * the service may have created a job whose id is unknown. That job counts as active until `orphanLifeMs` has passed,
 * because the service cancels the job within this time.
 */
import { type Clock, sleep } from '../../base/clock.ts';
import { type Logger, silentLogger } from '../../base/log.ts';
import { type Counter, type Metrics, noMetrics } from '../../base/metrics.ts';
import type { JobAdmission, JobPermit } from '../budget/job-admission.ts';
import { ServiceError } from '../requests/service-error.ts';
import type { JobProgress } from './job-gathering.ts';
import { orphanLifeMs, SearchJob } from './search-job.ts';
import type { JobOrder, SearchJobState, SearchService } from './search-service.ts';

export interface SearchJobsOptions {
  readonly service: SearchService;
  /** Limits the number of search jobs. */
  readonly permits: Pick<JobAdmission, 'admit'>;
  readonly clock: Clock;
  readonly log?: Logger | undefined;
  readonly metrics?: Metrics;
}

export interface OpenOptions {
  /** When aborted, cancels a search job that is not open yet. Has no effect on an open job. */
  readonly signal?: AbortSignal;
  /** Called after each answered status request. */
  readonly onProgress?: (progress: JobProgress) => void;
}

/** Time in ms without search jobs after which `whenUnused` resolves. */
const lingerMs = 10_000;

export class SearchJobs {
  readonly #options: SearchJobsOptions;
  readonly #scannedBytes: Counter;
  /** Number of search jobs that hold or are waiting for a permit. */
  #wanted = 0;
  #usedAtMs = Number.NEGATIVE_INFINITY;
  /** Job states outside the service's specification that have already been logged. */
  readonly #unknownStates = new Set<string>();

  constructor(options: SearchJobsOptions) {
    this.#options = options;
    const { metrics = noMetrics } = options;
    this.#scannedBytes = metrics.counter(
      'logfleet_service_scanned_bytes_total',
      'Bytes scanned by the search jobs of this process, as reported by the service.',
      [],
    );
  }

  /**
   * Opens a job and keeps it alive until it is closed. Rejects with a `ServiceError` or the signal's reason. If the
   * signal is aborted after the job has been created, the job is closed before the promise rejects.
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
    await job.close();
    throw signal.reason;
  }

  /** Resolves when there has been no open or waiting job for `lingerMs`, or when the signal is aborted. */
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
    const over = () => {
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
    const { signal } = options;
    let scannedBefore = 0;
    const onProgress = (progress: JobProgress) => {
      this.#logUnknown(progress.state);
      const scannedBytes = Math.max(scannedBefore, progress.scannedBytes ?? 0);
      this.#scannedBytes.add({}, scannedBytes - scannedBefore);
      scannedBefore = scannedBytes;
      options.onProgress?.(progress);
    };
    const unsent = new AbortController();
    const giveUp = () => unsent.abort(signal?.reason);
    const keep = () => signal?.removeEventListener('abort', giveUp);
    signal?.addEventListener('abort', giveUp, { once: true });
    if (signal?.aborted) giveUp();
    try {
      const { value: job, dateMs } = await service.createJob(order, { signal: unsent.signal, beforeSend: keep });
      return new SearchJob({ job, order, permit, clock, createdDateMs: dateMs, onProgress });
    } finally {
      keep();
    }
  }

  /** Logs each unknown state once. A job in an unknown state counts as running (section 10.2 of docs/service.md). */
  #logUnknown(state: SearchJobState): void {
    if (typeof state === 'string' || this.#unknownStates.has(state.unknown)) return;
    this.#unknownStates.add(state.unknown);
    const { log = silentLogger } = this.#options;
    log.warn('a search job has an unknown state; logfleet treats it as running', { state: state.unknown });
  }
}

function mayLive(error: unknown): boolean {
  return error instanceof ServiceError && error.effect === 'unknown';
}

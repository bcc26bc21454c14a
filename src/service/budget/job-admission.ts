/**
 * Limits the number of active search jobs per user (B4, B5), because every active job needs regular status requests.
 * The limit drops when the service rejects a job, and then slowly rises again. Waiting jobs start in order of arrival.
 */
import type { Clock, Timer } from '../../base/clock.ts';
import { stepsSince } from './rate-pace.ts';

/** Time in ms without a rejected search job after which the limit on active search jobs is raised by one. */
const jobGrowthMs = 60_000;
/** Interval in ms at which logfleet checks whether waiting search jobs may start. */
const recheckMs = 10_000;

/** Permit to run one search job. It is acquired before the job is created, and held until the job ends. */
export interface JobPermit {
  /** Releases the permit. Must be called exactly once. */
  end(): void;
}

export class JobAdmission {
  readonly #clock: Clock;
  readonly #sustainable: () => number;
  readonly #waiting = new Set<() => void>();
  #active = 0;
  /** Limit on active search jobs that was set when a job was last rejected. Infinity if no job has been rejected. */
  #base = Number.POSITIVE_INFINITY;
  #refusedAtMs = Number.NEGATIVE_INFINITY;
  #timer: Timer | undefined;

  constructor(clock: Clock, sustainable: () => number) {
    this.#clock = clock;
    this.#sustainable = sustainable;
  }

  /** Number of search jobs that hold a permit. */
  get active(): number {
    return this.#active;
  }

  /** Current maximum number of active search jobs. */
  get limit(): number {
    return Math.max(1, Math.min(this.#base + this.#growth(), this.#sustainable()));
  }

  /** Waits for a permit to run a search job. Rejects with the signal's reason when the signal is aborted. */
  admit(signal?: AbortSignal): Promise<JobPermit> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) {
        reject(signal.reason);
        return;
      }
      const admit = () => {
        signal?.removeEventListener('abort', onAbort);
        resolve(this.#permit());
      };
      const onAbort = () => {
        this.#waiting.delete(admit);
        this.#admitWaiting();
        reject(signal?.reason);
      };
      signal?.addEventListener('abort', onAbort, { once: true });
      this.#waiting.add(admit);
      this.#admitWaiting();
    });
  }

  /**
   * Halves the limit on active search jobs after the service has rejected a job. `sentAtMs` is the time at which the
   * rejected request was sent.
   */
  refused(sentAtMs: number): void {
    if (sentAtMs <= this.#refusedAtMs) return;
    const limit = this.limit;
    this.#base = Math.max(1, Math.floor(Math.min(limit, Math.max(1, this.#active)) / 2));
    this.#refusedAtMs = this.#clock.monotonic();
    this.#admitWaiting();
  }

  #growth(): number {
    return stepsSince(this.#refusedAtMs, jobGrowthMs, this.#clock.monotonic());
  }

  #permit(): JobPermit {
    this.#active++;
    return {
      end: () => {
        this.#active--;
        this.#admitWaiting();
      },
    };
  }

  #admitWaiting(): void {
    for (const admit of this.#waiting) {
      if (this.#active >= this.limit) break;
      this.#waiting.delete(admit);
      admit();
    }
    this.#timer?.cancel();
    this.#timer =
      this.#waiting.size === 0 ? undefined : this.#clock.after(this.#nextCheckMs(), () => this.#admitWaiting());
  }

  #nextCheckMs(): number {
    if (this.#base === Number.POSITIVE_INFINITY) return recheckMs;
    const grownAtMs = this.#refusedAtMs + (this.#growth() + 1) * jobGrowthMs;
    return Math.min(recheckMs, grownAtMs - this.#clock.monotonic());
  }
}

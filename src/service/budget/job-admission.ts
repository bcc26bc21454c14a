/**
 * Limits the number of active search jobs of one user (B4, B5). The limit is the number of jobs that the user's request rate can keep
 * alive. It is lowered when the service rejects a job because of its own limit (8), which applies to the whole organisation and is unknown.
 *
 * Invariant: no job is admitted while `limit` jobs are active. Running jobs are never cancelled. Jobs are admitted in order of arrival.
 * `refusals.ts` decides what a rejection means.
 */
import type { Clock, Timer } from '../../base/clock.ts';
import { stepsSince } from './rate-pace.ts';

/** Time in ms after which the limit grows by one job, counted from a rejection. */
const jobGrowthMs = 60_000;
/** Interval in ms at which waiting jobs check the limit again, since the sustainable number can change at any time. */
const recheckMs = 10_000;

/** Permit for one job, from before its creation to its end. */
export interface JobPermit {
  /** Releases the permit when the job has ended or was not created. Repeated calls have no effect. */
  end(): void;
}

export interface JobAdmissionOptions {
  readonly clock: Clock;
  /** Returns the number of jobs that the current rate can keep alive. */
  readonly sustainable: () => number;
}

export class JobAdmission {
  readonly #clock: Clock;
  readonly #sustainable: () => number;
  readonly #waiting = new Set<() => void>();
  #active = 0;
  /** Limit right after the last rejected job; infinite if no job was rejected. */
  #base = Number.POSITIVE_INFINITY;
  #refusedAtMs = Number.NEGATIVE_INFINITY;
  #timer: Timer | undefined;

  constructor(options: JobAdmissionOptions) {
    this.#clock = options.clock;
    this.#sustainable = options.sustainable;
  }

  /** Number of jobs with a permit. */
  get active(): number {
    return this.#active;
  }

  /** Current maximum of active jobs, at least 1. */
  get limit(): number {
    const grown = this.#base === Number.POSITIVE_INFINITY ? this.#base : this.#base + this.#growth();
    return Math.max(1, Math.min(grown, this.#sustainable()));
  }

  /** Waits for a permit. Rejects with the signal's reason if it is aborted first. */
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
   * Records that a creation sent at `sentAtMs` was rejected because of the number of jobs. Halves the limit, but only once for all
   * creations sent before.
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
    let ended = false;
    return {
      end: () => {
        if (ended) return;
        ended = true;
        this.#active--;
        this.#admitWaiting();
      },
    };
  }

  /** Admits waiting search jobs up to the limit, and sets the timer for the others. */
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

/**
 * How many search jobs of one user may be active at once (B4, B5): as many as its rate can keep alive, fewer after the service
 * refused one for its limit of active jobs (chapter 8), which is the organisation's and which we cannot see.
 *
 * Invariant: no job is admitted while as many as `limit` are active; jobs that run are never taken back. First come, first
 * admitted. Leaves to others: which refusal means the jobs (`refusals.ts`), and polling them.
 */
import type { Clock, Timer } from '../base/clock.ts';
import { stepsSince } from './rate-pace.ts';

/** After a refusal one more job is admitted with each of these. */
const jobGrowthMs = 60_000;
/** What a rate keeps alive may change at any time; those who wait look again this often. */
const lookAgainMs = 10_000;

/** The right to have one job, from before its creation to its end. */
export interface JobPermit {
  /** The job has ended, or never came to be. Harmless when said twice. */
  end(): void;
}

export interface JobAdmissionOptions {
  readonly clock: Clock;
  /** How many jobs can be kept alive at present; asked again each time. */
  readonly sustainable: () => number;
}

export class JobAdmission {
  readonly #clock: Clock;
  readonly #sustainable: () => number;
  readonly #waiting = new Set<() => void>();
  #active = 0;
  /** The limit right after the last refusal; infinity before the first. */
  #base = Number.POSITIVE_INFINITY;
  #refusedAtMs = Number.NEGATIVE_INFINITY;
  #timer: Timer | undefined;

  constructor(options: JobAdmissionOptions) {
    this.#clock = options.clock;
    this.#sustainable = options.sustainable;
  }

  /** Jobs that hold a permit. */
  get active(): number {
    return this.#active;
  }

  /** How many may be active now; at least 1. */
  get limit(): number {
    const grown = this.#base === Number.POSITIVE_INFINITY ? this.#base : this.#base + this.#growth();
    return Math.max(1, Math.min(grown, this.#sustainable()));
  }

  /** Waits for its turn; rejects with the signal's reason when it is aborted first. */
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
        this.#look();
        reject(signal?.reason);
      };
      signal?.addEventListener('abort', onAbort, { once: true });
      this.#waiting.add(admit);
      this.#look();
    });
  }

  /** A creation sent at `sentAtMs` was refused for the number of jobs: halves it, once for all that were sent before. */
  refused(sentAtMs: number): void {
    if (sentAtMs <= this.#refusedAtMs) return;
    const limit = this.limit;
    this.#base = Math.max(1, Math.floor(Math.min(limit, Math.max(1, this.#active)) / 2));
    this.#refusedAtMs = this.#clock.monotonic();
    this.#look();
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
        this.#look();
      },
    };
  }

  /** Admits who may come in, and sets the one timer for those who may not. */
  #look(): void {
    for (const admit of this.#waiting) {
      if (this.#active >= this.limit) break;
      this.#waiting.delete(admit);
      admit();
    }
    this.#timer?.cancel();
    this.#timer = this.#waiting.size === 0 ? undefined : this.#clock.after(this.#nextLookMs(), () => this.#look());
  }

  #nextLookMs(): number {
    if (this.#base === Number.POSITIVE_INFINITY) return lookAgainMs;
    const grownAtMs = this.#refusedAtMs + (this.#growth() + 1) * jobGrowthMs;
    return Math.min(lookAgainMs, grownAtMs - this.#clock.monotonic());
  }
}

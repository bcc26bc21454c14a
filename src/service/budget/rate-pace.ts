/**
 * Request rate of this process: its share of the user's rate, reduced after a 429 and restored in steps (B5, B7).
 *
 * Invariant: the rate is between a quarter of the share and the whole share. Callers pass the current time.
 */

/** Minimum rate as a fraction of the share. */
const slowestFactor = 0.25;
/** Fraction of the share that each step restores. */
const stepFactor = 0.25;
/** Duration of a step in ms. */
const paceStepMs = 10_000;

/** Pace of requests: at most `starts` requests in any `periodMs`. */
export interface RequestPace {
  readonly starts: number;
  readonly periodMs: number;
}

/**
 * Converts a rate to whole requests per period. From 1 per second on the rate is rounded down, since 2.5 would otherwise allow a
 * second with 3 requests, and the shares of one rate would exceed it. A lower rate is one request in a longer period.
 */
export function paceOf(requestsPerSecond: number): RequestPace {
  if (requestsPerSecond >= 1) return { starts: Math.floor(requestsPerSecond), periodMs: 1000 };
  return { starts: 1, periodMs: 1000 / requestsPerSecond };
}

export class RatePace {
  /** This process's share of the request rate in requests per second, greater than 0. */
  requestsPerSecond: number;
  #factor = 1;
  #slowedAtMs = Number.NEGATIVE_INFINITY;

  constructor(requestsPerSecond: number) {
    this.requestsPerSecond = requestsPerSecond;
  }

  /** Pace of the whole share, without reductions after answers with 429. */
  get whole(): RequestPace {
    return paceOf(this.requestsPerSecond);
  }

  /** Current pace. */
  current(nowMs: number): RequestPace {
    return paceOf(this.requestsPerSecond * this.#factorAt(nowMs));
  }

  /** Halves the pace after an answer with 429. Has no effect if its request was sent before the last reduction. */
  slowDown(sentAtMs: number, nowMs: number): boolean {
    if (sentAtMs <= this.#slowedAtMs) return false;
    this.#factor = Math.max(slowestFactor, this.#factorAt(nowMs) / 2);
    this.#slowedAtMs = nowMs;
    return true;
  }

  /** Time at which the next step restores a part of the pace; infinite at full pace. */
  nextStepMs(nowMs: number): number {
    if (this.#factorAt(nowMs) >= 1) return Number.POSITIVE_INFINITY;
    return this.#slowedAtMs + (this.#steps(nowMs) + 1) * paceStepMs;
  }

  #factorAt(nowMs: number): number {
    if (this.#factor >= 1) return 1;
    return Math.min(1, this.#factor + this.#steps(nowMs) * stepFactor);
  }

  #steps(nowMs: number): number {
    return stepsSince(this.#slowedAtMs, paceStepMs, nowMs);
  }
}

/**
 * Number of completed steps. Rounding must not matter: at `sinceMs + n * stepMs`, where timers fire, the result must be n.
 * Otherwise the timer would fire again immediately, forever.
 */
export function stepsSince(sinceMs: number, stepMs: number, nowMs: number): number {
  const steps = Math.floor((nowMs - sinceMs) / stepMs);
  return sinceMs + (steps + 1) * stepMs <= nowMs ? steps + 1 : steps;
}

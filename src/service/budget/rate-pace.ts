/**
 * Request rate of this process: its share of the user's rate. An answer with 429 halves the rate,
 * which is then restored in steps (B5, B7).
 *
 * Invariant: the rate is between a quarter of the share and the whole share. Callers pass the
 * current time.
 */

/** Minimum request rate, as a fraction of the process's share. */
const slowestFactor = 0.25;
/** Fraction of the process's share by which each step raises the rate again after a 429. */
const stepFactor = 0.25;
/** Interval in ms between two steps that raise the request rate again after a 429. */
const paceStepMs = 10_000;

/** Maximum request rate: at most `starts` requests in any `periodMs`. */
export interface RequestPace {
  readonly starts: number;
  readonly periodMs: number;
}

/**
 * Converts a rate to whole requests per period. Rates of 1 per second and more are rounded down,
 * because 2.5 would otherwise allow a second with 3 requests. A lower rate is one request in a
 * longer period.
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

  /** Request rate of the process's whole share, without reductions after answers with 429. */
  get whole(): RequestPace {
    return paceOf(this.requestsPerSecond);
  }

  /** Request rate at this time, after reductions by answers with 429. */
  current(nowMs: number): RequestPace {
    return paceOf(this.requestsPerSecond * this.#factorAt(nowMs));
  }

  /**
   * Halves the request rate after an answer with 429. Has no effect if the answered request was
   * sent before the last reduction.
   */
  slowDown(sentAtMs: number, nowMs: number): boolean {
    if (sentAtMs <= this.#slowedAtMs) return false;
    this.#factor = Math.max(slowestFactor, this.#factorAt(nowMs) / 2);
    this.#slowedAtMs = nowMs;
    return true;
  }

  /** Time at which the next step raises the request rate; Infinity at the full rate. */
  nextStepMs(nowMs: number): number {
    if (this.#factorAt(nowMs) >= 1) return Number.POSITIVE_INFINITY;
    return this.#slowedAtMs + (this.#steps(nowMs) + 1) * paceStepMs;
  }

  #factorAt(nowMs: number): number {
    return Math.min(1, this.#factor + this.#steps(nowMs) * stepFactor);
  }

  #steps(nowMs: number): number {
    return stepsSince(this.#slowedAtMs, paceStepMs, nowMs);
  }
}

/**
 * Number of completed steps of the request rate since `sinceMs`. The result is exactly n at
 * `sinceMs + n * stepMs`, where timers fire. A rounding error there would make the timer fire again
 * immediately, forever.
 */
export function stepsSince(sinceMs: number, stepMs: number, nowMs: number): number {
  const steps = Math.floor((nowMs - sinceMs) / stepMs);
  return sinceMs + (steps + 1) * stepMs <= nowMs ? steps + 1 : steps;
}

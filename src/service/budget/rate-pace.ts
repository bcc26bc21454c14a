/** Request rate of this process. A 429 response halves the rate, which then rises again in steps (B5, B7). */

/** Minimum request rate after 429 responses, as a fraction of the full rate. */
const slowestFactor = 0.25;
/** Fraction of the full rate that each step adds. */
const stepFactor = 0.25;
/** Interval in ms between steps that raise the rate. */
const paceStepMs = 10_000;

/** Maximum request rate: at most `starts` requests may start in any period of `periodMs`. */
export interface RequestPace {
  readonly starts: number;
  readonly periodMs: number;
}

/**
 * Converts a rate to a whole number of requests per period. For example, 2.5 per second is rounded down to 2 per
 * second.
 */
export function paceOf(requestsPerSecond: number): RequestPace {
  if (requestsPerSecond >= 1) return { starts: Math.floor(requestsPerSecond), periodMs: 1000 };
  return { starts: 1, periodMs: 1000 / requestsPerSecond };
}

export class RatePace {
  /** Full rate in requests per second, greater than 0. */
  requestsPerSecond: number;
  #factor = 1;
  #slowedAtMs = Number.NEGATIVE_INFINITY;

  constructor(requestsPerSecond: number) {
    this.requestsPerSecond = requestsPerSecond;
  }

  /** Full request rate, which 429 responses do not reduce. */
  get whole(): RequestPace {
    return paceOf(this.requestsPerSecond);
  }

  current(nowMs: number): RequestPace {
    return paceOf(this.requestsPerSecond * this.#factorAt(nowMs));
  }

  /**
   * Halves the rate after a 429 response and returns true. If the rejected request was sent before the rate was last
   * halved, does nothing and returns false.
   */
  slowDown(sentAtMs: number, nowMs: number): boolean {
    if (sentAtMs <= this.#slowedAtMs) return false;
    this.#factor = Math.max(slowestFactor, this.#factorAt(nowMs) / 2);
    this.#slowedAtMs = nowMs;
    return true;
  }

  /** Returns the time of the next step that raises the request rate, or Infinity if the full rate has been reached. */
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
 * Returns the number of steps completed between `sinceMs` and `nowMs`. Corrects rounding errors, so that a step that
 * ends exactly at `nowMs` is counted.
 */
export function stepsSince(sinceMs: number, stepMs: number, nowMs: number): number {
  const steps = Math.floor((nowMs - sinceMs) / stepMs);
  return sinceMs + (steps + 1) * stepMs <= nowMs ? steps + 1 : steps;
}

/**
 * Request rate of this process: its share of the user's request rate, halved after an answer with 429 and then
 * restored in steps (B5, B7).
 *
 * Invariant: the rate is between a quarter of the share and the whole share.
 */

/** Minimum request rate after answers with 429, as a fraction of this process's share of the user's request rate. */
const slowestFactor = 0.25;
/** Amount by which each step raises the request rate again after a 429, as a fraction of this process's share. */
const stepFactor = 0.25;
/** Interval in ms between two steps that raise the request rate again after a 429. */
const paceStepMs = 10_000;

/** Maximum request rate: at most `starts` requests in any `periodMs`. */
export interface RequestPace {
  readonly starts: number;
  readonly periodMs: number;
}

/**
 * Converts a rate to a whole number of requests per period. A rate of at least 1 per second is rounded down, because
 * 2.5 would allow 3 requests in some seconds. A lower rate becomes one request in a longer period.
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

  /** Full request rate of this process, without the reductions after answers with 429. */
  get whole(): RequestPace {
    return paceOf(this.requestsPerSecond);
  }

  current(nowMs: number): RequestPace {
    return paceOf(this.requestsPerSecond * this.#factorAt(nowMs));
  }

  /**
   * Halves the request rate after an answer with 429. Does nothing if the rate was already halved after the answered
   * request was sent.
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
 * Number of whole steps of `stepMs` since `sinceMs`. The result is exactly n at `sinceMs + n * stepMs`, when the timer
 * for the step fires. With a rounding error, the timer would fire again and again.
 */
export function stepsSince(sinceMs: number, stepMs: number, nowMs: number): number {
  const steps = Math.floor((nowMs - sinceMs) / stepMs);
  return sinceMs + (steps + 1) * stepMs <= nowMs ? steps + 1 : steps;
}

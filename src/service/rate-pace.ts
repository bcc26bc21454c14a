/**
 * How fast we go: our share of the user's rate, and slower with all work after a 429, back by steps (B5, B7).
 *
 * Invariant: between a quarter of the share and the whole of it. Time is given with every question.
 */

/** Never slower than this part of the share. */
const slowestFactor = 0.25;
/** What comes back of the share with each step. */
const stepFactor = 0.25;
/** How long a step takes. */
const paceStepMs = 10_000;

/** At most `starts` in any `periodMs`. */
export interface Pace {
  readonly starts: number;
  readonly periodMs: number;
}

/**
 * The pace of a rate. From 1 a second on only whole starts count: any other reading of 2.5 has a second with 3 in it, and shares
 * of one rate would no longer add up to it. Below 1 it is one start in so much longer a time.
 */
export function paceOf(requestsPerSecond: number): Pace {
  if (requestsPerSecond >= 1) return { starts: Math.floor(requestsPerSecond), periodMs: 1000 };
  return { starts: 1, periodMs: 1000 / requestsPerSecond };
}

export class RatePace {
  /** Our share, in requests a second; more than 0. */
  requestsPerSecond: number;
  #factor = 1;
  #slowedAtMs = Number.NEGATIVE_INFINITY;

  constructor(requestsPerSecond: number) {
    this.requestsPerSecond = requestsPerSecond;
  }

  /** The pace of our share, whatever was refused. */
  get whole(): Pace {
    return paceOf(this.requestsPerSecond);
  }

  /** The pace of all work. */
  current(nowMs: number): Pace {
    return paceOf(this.requestsPerSecond * this.#factorAt(nowMs));
  }

  /** Halves the pace, unless the refused request was sent before it was last halved: that one is no news. */
  slowDown(sentAtMs: number, nowMs: number): boolean {
    if (sentAtMs <= this.#slowedAtMs) return false;
    this.#factor = Math.max(slowestFactor, this.#factorAt(nowMs) / 2);
    this.#slowedAtMs = nowMs;
    return true;
  }

  /** When the pace next changes by itself; infinity at full pace. */
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
 * How many whole steps have passed. What is rounded must not matter: at `sinceMs + n * stepMs`, which is when timers look
 * again, n have passed, or they would look again at once, for ever.
 */
export function stepsSince(sinceMs: number, stepMs: number, nowMs: number): number {
  const steps = Math.floor((nowMs - sinceMs) / stepMs);
  return sinceMs + (steps + 1) * stepMs <= nowMs ? steps + 1 : steps;
}

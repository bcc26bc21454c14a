/** Clock that shows one fixed time while decisions are made, so that all decisions use the same time. */
import { type Clock, type Instant, instant, type Timer } from './clock.ts';

export class HeldClock implements Clock {
  readonly #clock: Clock;
  #held: Instant | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  now(): number {
    return this.#held?.wallMs ?? this.#clock.now();
  }

  monotonic(): number {
    return this.#held?.monotonicMs ?? this.#clock.monotonic();
  }

  after(delayMs: number, callback: () => void): Timer {
    return this.#clock.after(delayMs, callback);
  }

  /** Calls `decide` with the clock stopped. */
  hold<T>(decide: () => T): T {
    this.#held = instant(this.#clock);
    try {
      return decide();
    } finally {
      this.#held = undefined;
    }
  }
}

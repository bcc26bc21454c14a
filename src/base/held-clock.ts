/** Clock that can be held while several decisions are made, so that nothing becomes due between the first and the last of them. */
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

  /** Calls `decide`, during which this clock shows the time of the call. */
  hold<T>(decide: () => T): T {
    this.#held = instant(this.#clock);
    try {
      return decide();
    } finally {
      this.#held = undefined;
    }
  }
}

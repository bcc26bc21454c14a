/** Aborts a signal when a request to a store makes no progress for too long. */
import type { Clock, Timer } from '../../base/clock.ts';

/**
 * Maximum time in ms that a request may go without progress. The total time of a request has no limit, because a large
 * upload over a slow network can take minutes.
 */
export const defaultSilenceMs = 60_000;

export class SilenceTimer {
  readonly #clock: Clock;
  readonly #silenceMs: number;
  readonly #silence = new AbortController();
  #timer: Timer | undefined;

  constructor(clock: Clock, silenceMs: number = defaultSilenceMs) {
    this.#clock = clock;
    this.#silenceMs = silenceMs;
    this.restart();
  }

  /** Signal that is aborted when `silenceMs` have passed since the last call of `restart`. */
  get signal(): AbortSignal {
    return this.#silence.signal;
  }

  restart(): void {
    this.stop();
    this.#timer = this.#clock.after(this.#silenceMs, () => this.#silence.abort());
  }

  stop(): void {
    this.#timer?.cancel();
  }
}

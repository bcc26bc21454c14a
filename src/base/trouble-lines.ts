/**
 * Writes messages about a failing operation that logfleet retries. A message is written when the failure begins, at
 * increasing intervals while it lasts, and when the operation works again (H2).
 */
import type { Clock } from './clock.ts';
import { renderDuration } from './duration.ts';
import { isoSeconds } from './time-text.ts';

const firstRepeatMs = 10_000;
const longestRepeatMs = 600_000;

interface TroubleState {
  /** Monotonic time in ms of the first failure. */
  readonly beganMs: number;
  /** ISO time of the first failure. */
  readonly since: string;
  nextMs: number;
  repeatMs: number;
}

export class TroubleLines {
  readonly #clock: Clock;
  readonly #write: (line: string) => void;
  readonly #troubles = new Map<string, TroubleState>();

  /** @param write writes a line, and adds the line break */
  constructor(clock: Clock, write: (line: string) => void) {
    this.#clock = clock;
    this.#write = write;
  }

  /** Reports that `subject` has failed and that logfleet will retry. `message` says what fails, why, and what to do. */
  failed(subject: string, message: string): void {
    const nowMs = this.#clock.monotonic();
    const known = this.#troubles.get(subject);
    if (!known) {
      const since = isoSeconds(this.#clock.now());
      const repeat = { nextMs: nowMs + firstRepeatMs, repeatMs: firstRepeatMs };
      this.#troubles.set(subject, { beganMs: nowMs, since, ...repeat });
      this.#write(`${subject}: trying again: ${message}`);
      return;
    }
    if (nowMs < known.nextMs) return;
    known.repeatMs = Math.min(2 * known.repeatMs, longestRepeatMs);
    known.nextMs = nowMs + known.repeatMs;
    const sentence = message.endsWith('.') ? message : `${message}.`;
    this.#write(`${subject}: trying again: ${sentence} This has lasted since ${known.since}.`);
  }

  /** Reports that `subject` works again. Writes nothing if its failure was not reported. */
  works(subject: string): void {
    const known = this.#troubles.get(subject);
    if (!known) return;
    this.#troubles.delete(subject);
    const seconds = Math.round((this.#clock.monotonic() - known.beganMs) / 1_000);
    this.#write(`${subject}: works again after failing for ${renderDuration(seconds * 1_000)}`);
  }
}

/**
 * Prints lines about failures that are retried. A failure is printed at once, and again at growing intervals with its duration while it
 * lasts. Its end is printed once.
 */
import type { Clock } from '../../base/clock.ts';
import { printable, renderAge } from '../render/text.ts';

const firstRepeatMs = 10_000;
const longestRepeatMs = 600_000;

interface Trouble {
  readonly sinceMs: number;
  message: string;
  nextMs: number;
  repeatMs: number;
}

export class TroubleLines {
  readonly #clock: Clock;
  readonly #write: (line: string) => void;
  readonly #troubles = new Map<string, Trouble>();

  constructor(clock: Clock, write: (line: string) => void) {
    this.#clock = clock;
    this.#write = write;
  }

  /** Reports a failure of `subject` that is retried. `message` is a sentence about the failure and its cause. */
  failed(subject: string, message: string): void {
    const nowMs = this.#clock.monotonic();
    const known = this.#troubles.get(subject);
    if (!known) {
      this.#troubles.set(subject, { sinceMs: nowMs, message, nextMs: nowMs + firstRepeatMs, repeatMs: firstRepeatMs });
      this.#tell(`${subject}: trying again`, message);
      return;
    }
    if (nowMs < known.nextMs) return;
    known.message = message;
    known.repeatMs = Math.min(2 * known.repeatMs, longestRepeatMs);
    known.nextMs = nowMs + known.repeatMs;
    const duration = renderAge(nowMs - known.sinceMs);
    this.#tell(`${subject}: failing for ${duration}, trying again`, message);
  }

  /** Prints that `subject` works again. Does nothing if no failure of `subject` was printed. */
  works(subject: string): void {
    const known = this.#troubles.get(subject);
    if (!known) return;
    this.#troubles.delete(subject);
    const duration = renderAge(this.#clock.monotonic() - known.sinceMs);
    this.#write(`${subject}: works again after failing for ${duration}\n`);
  }

  #tell(state: string, message: string): void {
    this.#write(`${printable(`${state}: ${message}`)}\n`);
  }
}

/**
 * Lines for a person who waits for something that does not work: at once what it is and that it is tried again; then, as long as it lasts,
 * since when, less and less often; and in the end that it works again.
 */
import type { Clock } from '../base/clock.ts';
import { renderAge } from './render/age.ts';
import { printable } from './render/palette.ts';

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

  /** Something failed once more. `subject` names it, and `message` says why, as a sentence. */
  failed(subject: string, message: string): void {
    const nowMs = this.#clock.monotonic();
    const known = this.#troubles.get(subject);
    if (!known) {
      this.#troubles.set(subject, { sinceMs: nowMs, message, nextMs: nowMs + firstRepeatMs, repeatMs: firstRepeatMs });
      this.#tell(subject, message, 'It is');
      return;
    }
    if (nowMs < known.nextMs) return;
    known.message = message;
    known.repeatMs = Math.min(2 * known.repeatMs, longestRepeatMs);
    known.nextMs = nowMs + known.repeatMs;
    this.#tell(subject, message, `It has failed for ${renderAge(nowMs - known.sinceMs)}, and is`);
  }

  /** It works, or nobody waits for it any more. */
  works(subject: string): void {
    const known = this.#troubles.get(subject);
    if (!known) return;
    this.#troubles.delete(subject);
    this.#write(`${subject}: it works again after ${renderAge(this.#clock.monotonic() - known.sinceMs)}\n`);
  }

  #tell(subject: string, message: string, since: string): void {
    this.#write(`${printable(`${subject}: ${message.replace(/\.$/, '')}. ${since} tried again.`)}\n`);
  }
}

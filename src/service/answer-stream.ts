/**
 * The body of one answer on its way from the transport to whoever takes it, and the time limits on that way: for its head, for silence
 * between two pieces, and for how long the taker may hold it up (protocol B3). The limit of the whole is `exchange.ts`'s.
 *
 * Invariant: at most one timer is set; a piece sets none and makes no promise, since they come by the ten thousand a second.
 */
import type { Clock, Timer } from '../base/clock.ts';
import { LogfleetError } from '../base/errors.ts';
import { DeadlineError } from './deadline.ts';
import type { StreamLimits } from './operation.ts';
import type { BodyReceiver, ResponseHead } from './transport.ts';

/** Takes the body of one answer of success. What it throws ends the call. */
export interface BodyTaker<T> {
  /** A piece, which is written over after the call. A promise holds the answer up until it is fulfilled. */
  write(chunk: Uint8Array): Promise<void> | undefined;
  /** The body is whole: what it came to. */
  end(): T;
}

/** The reason with which an answer is given up whose taker had no room for too long. */
export class HeldUpError extends LogfleetError {
  override readonly name = 'HeldUpError';

  constructor(heldUpMs: number) {
    const message = `held up for ${heldUpMs} ms`;
    super({ code: 'service.heldUp', message, handling: { kind: 'backoff' }, reason: 'DestinationSlow' });
  }
}

export class AnswerStream<T> implements BodyReceiver {
  readonly #clock: Clock;
  readonly #limits: StreamLimits;
  readonly #begin: (head: ResponseHead) => BodyTaker<T>;
  readonly #giveUp = new AbortController();
  /** Of the answer, once its head has come. */
  status: number | undefined;
  #taker: BodyTaker<T> | undefined;
  #timer: Timer | undefined;
  /** When the last piece came, or the last room was made. */
  #movedAtMs = 0;
  /** How many promises of room are open. */
  #waits = 0;
  #ended = false;

  /** `begin` is called with the head of an answer of success (2xx); the body of any other is left to the response. */
  constructor(clock: Clock, limits: StreamLimits, begin: (head: ResponseHead) => BodyTaker<T>) {
    this.#clock = clock;
    this.#limits = limits;
    this.#begin = begin;
  }

  /** Aborted when a limit is passed. */
  get signal(): AbortSignal {
    return this.#giveUp.signal;
  }

  /** The request goes out. */
  sent(): void {
    const { headMs } = this.#limits;
    this.#setTimer(headMs, () => this.#fail(new DeadlineError(headMs)));
  }

  begin(head: ResponseHead): boolean {
    this.#timer?.cancel();
    this.status = head.status;
    if (this.#ended || head.status < 200 || head.status > 299) return false;
    this.#taker = this.#begin(head);
    this.#movedAtMs = this.#clock.monotonic();
    this.#watchSilence();
    return true;
  }

  write(chunk: Uint8Array): Promise<void> | undefined {
    if (this.#ended) return undefined;
    this.#movedAtMs = this.#clock.monotonic();
    const room = this.#taker?.write(chunk);
    return room && this.#holdUp(room);
  }

  /** What the body came to; undefined where the answer was none of success. */
  end(): { readonly value: T } | undefined {
    return this.#taker && { value: this.#taker.end() };
  }

  /** The call is over: no timer is left, and nothing is taken any more. */
  stop(): void {
    this.#ended = true;
    this.#timer?.cancel();
  }

  async #holdUp(room: Promise<void>): Promise<void> {
    const { heldUpMs } = this.#limits;
    if (this.#waits++ === 0) this.#setTimer(heldUpMs, () => this.#fail(new HeldUpError(heldUpMs)));
    await room;
    if (--this.#waits > 0) return;
    this.#movedAtMs = this.#clock.monotonic();
    this.#watchSilence();
  }

  #watchSilence(): void {
    const { silenceMs } = this.#limits;
    const seenMs = this.#movedAtMs;
    this.#setTimer(seenMs + silenceMs - this.#clock.monotonic(), () => {
      if (this.#movedAtMs > seenMs) this.#watchSilence();
      else this.#fail(new DeadlineError(silenceMs));
    });
  }

  #setTimer(delayMs: number, callback: () => void): void {
    this.#timer?.cancel();
    if (!this.#ended) this.#timer = this.#clock.after(delayMs, callback);
  }

  #fail(error: Error): void {
    this.#giveUp.abort(error);
  }
}

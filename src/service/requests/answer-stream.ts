/**
 * Body of one answer on its way from the transport to its sink, with the time limits for the head, for silence between two chunks,
 * and for a sink that accepts no more data (B3). The deadline of the whole request is in `exchange.ts`.
 *
 * Invariant: at most one timer is set. A chunk creates neither a timer nor a promise, since tens of thousands of chunks arrive per
 * second.
 */
import type { Clock, Timer } from '../../base/clock.ts';
import { LogfleetError } from '../../base/errors.ts';
import { DeadlineError } from '../transport/deadline.ts';
import type { BodyReceiver, ResponseHead } from '../transport/transport.ts';
import type { StreamLimits } from './operation.ts';

/** Receiver of the body of a successful answer. An error that the receiver throws ends the call. */
export interface BodySink<T> {
  /**
   * Receives a chunk of the body, whose memory is reused after the call. A returned promise pauses
   * the answer until the promise is fulfilled.
   */
  write(chunk: Uint8Array): Promise<void> | undefined;
  /** Ends the body and returns the value that the receiver made from it. */
  end(): T;
}

/** Abort reason for an answer whose receiver accepted no data for too long. */
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
  readonly #begin: (head: ResponseHead) => BodySink<T>;
  readonly #giveUp = new AbortController();
  /** HTTP status of the answer; undefined until the head of the answer has arrived. */
  status: number | undefined;
  #sink: BodySink<T> | undefined;
  #timer: Timer | undefined;
  /** Time of the last chunk of the body, or the later time at which the receiver became ready. */
  #movedAtMs = 0;
  /**
   * Number of promises of the receiver that are not fulfilled yet. The answer is paused until there
   * are none.
   */
  #waits = 0;
  #ended = false;

  /** `begin` is called with the head of a successful answer (2xx). The bodies of other answers stay in the response. */
  constructor(clock: Clock, limits: StreamLimits, begin: (head: ResponseHead) => BodySink<T>) {
    this.#clock = clock;
    this.#limits = limits;
    this.#begin = begin;
  }

  /** Signal that is aborted when a time limit for the body is exceeded. */
  get signal(): AbortSignal {
    return this.#giveUp.signal;
  }

  /** Records that the request was sent, which starts the time limit for the head of the answer. */
  sent(): void {
    const { headMs } = this.#limits;
    this.#setTimer(headMs, () => this.#fail(new DeadlineError(headMs)));
  }

  begin(head: ResponseHead): boolean {
    this.#timer?.cancel();
    this.status = head.status;
    if (this.#ended || head.status < 200 || head.status > 299) return false;
    this.#sink = this.#begin(head);
    this.#movedAtMs = this.#clock.monotonic();
    this.#watchSilence();
    return true;
  }

  write(chunk: Uint8Array): Promise<void> | undefined {
    if (this.#ended) return undefined;
    this.#movedAtMs = this.#clock.monotonic();
    const drained = this.#sink?.write(chunk);
    return drained && this.#holdUp(drained);
  }

  /** Value that the receiver made from the body; undefined if the answer was not successful. */
  end(): { readonly value: T } | undefined {
    return this.#sink && { value: this.#sink.end() };
  }

  /** Ends the call: clears the timer and ignores data of the answer that arrives later. */
  stop(): void {
    this.#ended = true;
    this.#timer?.cancel();
  }

  async #holdUp(drained: Promise<void>): Promise<void> {
    const { heldUpMs } = this.#limits;
    if (this.#waits++ === 0) this.#setTimer(heldUpMs, () => this.#fail(new HeldUpError(heldUpMs)));
    await drained;
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

/**
 * Passes the body of a response to its receiver as the body arrives. Cancels the request if the response begins too
 * late, the next chunk takes too long, or the receiver pauses for too long (B3).
 */
import { assert } from '../../base/assert.ts';
import type { Clock, Timer } from '../../base/clock.ts';
import { DeadlineError } from '../../base/deadline.ts';
import type { BodyReceiver, ResponseHead } from '../transport/transport.ts';

/** Maximum time in ms between writing the request and receiving the head of the response. */
const headMs = 30_000;
/** Maximum time in ms between two chunks of the body. */
const silenceMs = 10_000;
/** Maximum time in ms for which the receiver may pause the response (B3). */
const heldUpMs = 5_000;

/** Creates the receiver for a response body. The receiver throws a `DecodeError` for invalid data. */
export interface Streaming<T> {
  begin(): BodySink<T>;
}

/** Receives the body of a successful response. An error that the receiver throws ends the call. */
export interface BodySink<T> {
  /**
   * Receives a chunk, whose memory is reused after the call. If this method returns a promise, the response is paused
   * until the promise resolves.
   */
  write(chunk: Uint8Array): Promise<void> | undefined;
  /** Ends the body and returns the result. */
  end(): T;
}

/** Error for a response that its receiver paused for too long. */
export class HeldUpError extends Error {
  override readonly name = 'HeldUpError';
}

export class ResponseStream<T> implements BodyReceiver {
  readonly #clock: Clock;
  readonly #giveUp: AbortController;
  readonly #reading: Streaming<T>;
  readonly #onHead: (head: ResponseHead) => void;
  /** HTTP status. Undefined until the head of the response has arrived. */
  status: number | undefined;
  #sink: BodySink<T> | undefined;
  #timer: Timer | undefined;
  /** Time at which the wait for the next chunk began: when the last chunk arrived, or when a later pause ended. */
  #movedAtMs = 0;
  /** Number of pending promises that pause the response. */
  #waits = 0;
  #ended = false;

  /**
   * @param giveUp controller that is aborted when a time limit passes, so that the request is cancelled
   * @param onHead receives the head of a successful response
   */
  constructor(clock: Clock, giveUp: AbortController, reading: Streaming<T>, onHead: (head: ResponseHead) => void) {
    this.#clock = clock;
    this.#giveUp = giveUp;
    this.#reading = reading;
    this.#onHead = onHead;
  }

  /** Starts the timer for the head of the response. */
  sent(): void {
    this.#setTimer(headMs, () => this.#giveUp.abort(new DeadlineError(`no response within ${headMs} ms`)));
  }

  begin(head: ResponseHead): boolean {
    this.#timer?.cancel();
    this.status = head.status;
    if (this.#ended || head.status < 200 || head.status > 299) return false;
    this.#onHead(head);
    this.#sink = this.#reading.begin();
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

  end(): T {
    assert(this.#sink, 'only a successful response has a value');
    return this.#sink.end();
  }

  /** Ends the call and ignores any data that arrives later. */
  stop(): void {
    this.#ended = true;
    this.#timer?.cancel();
  }

  async #holdUp(drained: Promise<void>): Promise<void> {
    if (this.#waits++ === 0)
      this.#setTimer(heldUpMs, () => this.#giveUp.abort(new HeldUpError(`held up for ${heldUpMs} ms`)));
    await drained;
    if (--this.#waits > 0) return;
    this.#movedAtMs = this.#clock.monotonic();
    this.#watchSilence();
  }

  #watchSilence(): void {
    const seenMs = this.#movedAtMs;
    this.#setTimer(seenMs + silenceMs - this.#clock.monotonic(), () => {
      if (this.#movedAtMs > seenMs) this.#watchSilence();
      else this.#giveUp.abort(new DeadlineError(`no data within ${silenceMs} ms`));
    });
  }

  #setTimer(delayMs: number, callback: () => void): void {
    this.#timer?.cancel();
    if (!this.#ended) this.#timer = this.#clock.after(delayMs, callback);
  }
}

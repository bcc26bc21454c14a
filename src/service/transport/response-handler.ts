/** Assembles the response to one request from the events that undici emits. */
import type { Dispatcher } from 'undici';
import type { Clock } from '../../base/clock.ts';
import type { ResponseHead, TransportRequest, TransportResponse } from './transport.ts';
import { asTransportError, TransportError } from './transport-failure.ts';

type Headers = Readonly<Record<string, string | string[] | undefined>>;

export class ResponseHandler implements Dispatcher.DispatchHandler {
  readonly #request: TransportRequest;
  readonly #clock: Clock;
  readonly #resolve: (response: TransportResponse) => void;
  readonly #reject: (error: unknown) => void;
  #controller: Dispatcher.DispatchController | undefined;
  #head: ResponseHead | undefined;
  /** True if a receiver reads the response body, in which case the body is not stored. */
  #received = false;
  readonly #chunks: Buffer[] = [];
  #bytes = 0;

  constructor(
    request: TransportRequest,
    clock: Clock,
    resolve: (response: TransportResponse) => void,
    reject: (error: unknown) => void,
  ) {
    this.#request = request;
    this.#clock = clock;
    this.#resolve = resolve;
    this.#reject = reject;
    request.signal.addEventListener('abort', this.#onAbort, { once: true });
  }

  /**
   * Called right before the request is written. If this function throws, the request is not sent, and the connection
   * can still be used.
   */
  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.#controller)
      throw new TransportError('connectionLost', 'the connection was lost after the request was written');
    try {
      this.#request.signal.throwIfAborted();
      this.#request.beforeWrite();
    } catch (error) {
      this.#reject(error);
      throw error;
    }
    this.#controller = controller;
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: Headers): void {
    if (status < 200) return;
    this.#head = {
      status,
      headers: firstValues(headers),
      setCookies: valuesOf(headers, 'set-cookie'),
      headAtMs: this.#clock.monotonic(),
    };
    const { receiver } = this.#request;
    if (!receiver) return;
    try {
      this.#received = receiver.begin(this.#head);
    } catch (error) {
      this.#giveUp(error);
    }
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#received) {
      this.#receive(controller, chunk);
      return;
    }
    this.#bytes += chunk.length;
    const { maxBodyBytes } = this.#request;
    // Copies the chunk, because undici reuses its memory.
    if (this.#bytes <= maxBodyBytes) this.#chunks.push(Buffer.from(chunk));
    else controller.abort(new TransportError('responseTooLarge', `the response is larger than ${maxBodyBytes} bytes`));
  }

  onResponseEnd(): void {
    this.#done();
    const body = Buffer.concat(this.#chunks, this.#bytes);
    if (this.#head) this.#resolve({ ...this.#head, body });
    else this.#reject(new TransportError('responseMalformed', 'the response has no head'));
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#done();
    this.#reject(asTransportError(error, 'waiting for the response'));
  }

  #receive(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    // Ignores the empty chunk that undici delivers when it resumes. Otherwise, the response would be paused again.
    if (chunk.length === 0) return;
    try {
      const drained = this.#request.receiver?.write(chunk);
      if (drained === undefined) return;
      controller.pause();
      // Resumes undici in a microtask, because undici must not be resumed while its parser is running.
      drained.then(
        () => controller.resume(),
        (error: unknown) => this.#giveUp(error),
      );
    } catch (error) {
      this.#giveUp(error);
    }
  }

  readonly #onAbort = () => this.#giveUp(this.#request.signal.reason);

  #giveUp(reason: unknown): void {
    this.#reject(reason);
    this.#controller?.abort(reason instanceof Error ? reason : new Error('given up', { cause: reason }));
  }

  #done(): void {
    this.#request.signal.removeEventListener('abort', this.#onAbort);
  }
}

function valuesOf(headers: Headers, name: string): readonly string[] {
  const value = headers[name];
  return value === undefined ? [] : Array.isArray(value) ? value : [value];
}

function firstValues(headers: Headers): ReadonlyMap<string, string> {
  const values = new Map<string, string>();
  for (const [name, value] of Object.entries(headers)) {
    const first = Array.isArray(value) ? value[0] : value;
    if (first !== undefined) values.set(name.toLowerCase(), first);
  }
  return values;
}

/** What undici tells about one request, turned into the one answer of the transport's port. */
import type { Dispatcher } from 'undici';
import type { Clock } from '../../base/clock.ts';
import { TransportError, type TransportRequest, type TransportResponse } from '../transport.ts';
import { asTransportError } from '../transport-failure.ts';

type Headers = Readonly<Record<string, string | string[] | undefined>>;

export class ResponseHandler implements Dispatcher.DispatchHandler {
  readonly #request: TransportRequest;
  readonly #clock: Clock;
  readonly #resolve: (response: TransportResponse) => void;
  readonly #reject: (error: unknown) => void;
  #controller: Dispatcher.DispatchController | undefined;
  /** What kept the request from being written. */
  #refusal: { readonly error: unknown } | undefined;
  #head: Omit<TransportResponse, 'body'> | undefined;
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

  /** The socket write is next. What is thrown here ends the request unsent, and leaves the connection as it is. */
  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.#controller)
      throw new TransportError('connectionLost', 'the connection broke after the request was written');
    try {
      this.#request.signal.throwIfAborted();
      this.#request.beforeWrite();
    } catch (error) {
      this.#refusal = { error };
      throw error;
    }
    this.#controller = controller;
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: Headers): void {
    if (status < 200) return;
    this.#head = { status, headers: firstValues(headers), headAtMs: this.#clock.monotonic() };
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#bytes += chunk.length;
    const { maxBodyBytes } = this.#request;
    if (this.#bytes <= maxBodyBytes) this.#chunks.push(chunk);
    else controller.abort(new TransportError('answerTooLarge', `the answer has more than ${maxBodyBytes} bytes`));
  }

  onResponseEnd(): void {
    this.#done();
    const body = Buffer.concat(this.#chunks, this.#bytes);
    if (this.#head) this.#resolve({ ...this.#head, body });
    else this.#reject(new TransportError('answerMalformed', 'the answer has no head'));
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#done();
    this.#reject(this.#refusal ? this.#refusal.error : asTransportError(error, 'waiting for the answer'));
  }

  readonly #onAbort = () => {
    this.#reject(this.#request.signal.reason);
    this.#controller?.abort(this.#request.signal.reason);
  };

  #done(): void {
    this.#request.signal.removeEventListener('abort', this.#onAbort);
  }
}

function firstValues(headers: Headers): ReadonlyMap<string, string> {
  const values = new Map<string, string>();
  for (const [name, value] of Object.entries(headers)) {
    const first = Array.isArray(value) ? value[0] : value;
    if (first !== undefined) values.set(name.toLowerCase(), first);
  }
  return values;
}

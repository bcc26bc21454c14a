/**
 * Sends a request and collects its whole answer. undici's `request` creates a stream per body, which doubles the cost. Answers of an API
 * server are short, except for watches.
 */
import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';

interface WholeAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/** Sends the request. Rejects with the request's error or the signal's reason. */
export function wholeAnswer(
  dispatcher: Dispatcher,
  options: Dispatcher.DispatchOptions,
  signal: AbortSignal,
): Promise<WholeAnswer> {
  return new Promise((resolve, reject) => {
    const gathering = new Gathering(signal, resolve, reject);
    if (gathering.begin()) dispatcher.dispatch(options, gathering);
  });
}

class Gathering implements Dispatcher.DispatchHandler {
  readonly #signal: AbortSignal;
  readonly #resolve: (answer: WholeAnswer) => void;
  readonly #reject: (error: unknown) => void;
  readonly #chunks: Buffer[] = [];
  #controller: Dispatcher.DispatchController | undefined;
  #status = 0;
  #headers: IncomingHttpHeaders = {};

  constructor(signal: AbortSignal, resolve: (answer: WholeAnswer) => void, reject: (error: unknown) => void) {
    this.#signal = signal;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  /** Starts the request. Returns false if the signal is already aborted. */
  begin(): boolean {
    if (this.#signal.aborted) this.#giveUp();
    else this.#signal.addEventListener('abort', this.#giveUp, { once: true });
    return !this.#signal.aborted;
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    // The request waited for a connection and was aborted meanwhile.
    if (this.#signal.aborted) this.#giveUp();
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    this.#status = status;
    this.#headers = headers;
  }

  onResponseData(_: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#chunks.push(chunk);
  }

  onResponseEnd(): void {
    this.#signal.removeEventListener('abort', this.#giveUp);
    const [first] = this.#chunks;
    const whole = this.#chunks.length === 1 && first ? first : Buffer.concat(this.#chunks);
    this.#resolve({ status: this.#status, headers: this.#headers, text: whole.toString('utf8') });
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    this.#signal.removeEventListener('abort', this.#giveUp);
    this.#reject(error);
  }

  readonly #giveUp = (): void => {
    this.#controller?.abort(this.#signal.reason instanceof Error ? this.#signal.reason : new Error('given up'));
    this.#reject(this.#signal.reason);
  };
}

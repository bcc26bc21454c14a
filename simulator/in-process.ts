/** The simulated service on a virtual clock, without sockets. */
import { Buffer } from 'node:buffer';
import type { Clock } from '../src/base/clock.ts';
import type { Random } from '../src/base/random.ts';
import { bytesOf, firstBytes, piecesOf, textOf } from './base/body.ts';
import type { ServedResponse, ServiceModel } from './model.ts';

export interface Network {
  /** Network latency of each request and each response, in ms. */
  readonly latencyMs?: number;
  /** Maximum random delay, in ms, that is added to the network latency of each request and each response. */
  readonly jitterMs?: number;
  /** Source of random numbers. Required if `jitterMs` is set. */
  readonly random?: Random;
}

export interface InProcessRequest {
  readonly method: string;
  /** Path and query string of the request. */
  readonly path: string;
  /** Header names are case-insensitive. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /**
   * Signal that aborts the request. An aborted request counts as in flight until the service has finished handling the
   * request.
   */
  readonly signal?: AbortSignal;
}

export interface InProcessResponse {
  readonly status: number;
  /** Response headers, by lower-case name. */
  readonly headers: Readonly<Record<string, string>>;
  /** Values of the `Set-Cookie` headers. They are not in `headers`, which stores only one value per name. */
  readonly cookies: readonly string[];
  readonly body: string;
}

/** Error for a reset connection (`ECONNRESET`). */
export class ConnectionReset extends Error {
  override readonly name = 'ConnectionReset';
  readonly code = 'ECONNRESET';
  /** Part of the response that the client received before the connection was reset. */
  readonly begun: BegunResponse | undefined;

  constructor(begun?: BegunResponse) {
    super('read ECONNRESET');
    this.begun = begun;
  }
}

/** A response that is incomplete because the connection was lost. */
export interface BegunResponse extends Omit<InProcessResponse, 'body'> {
  readonly bytes: Uint8Array;
}

export class InProcessService {
  readonly model: ServiceModel;
  readonly #clock: Clock;
  readonly #network: Network;
  /** Offset in ms from the clock's monotonic time to the service's time. */
  readonly #offsetMs: number;

  /** Creates the service. Its clock starts at the model's `startMs`. */
  constructor(model: ServiceModel, clock: Clock, network: Network = {}) {
    this.model = model;
    this.#clock = clock;
    this.#network = network;
    this.#offsetMs = model.startMs - clock.monotonic();
  }

  nowMs(): number {
    return this.#clock.monotonic() + this.#offsetMs;
  }

  request(request: InProcessRequest): Promise<InProcessResponse> {
    const { signal } = request;
    return new Promise((resolve, reject) => {
      if (signal?.aborted) {
        reject(signal.reason);
        return;
      }
      const exchange = new PendingResponse(resolve, reject);
      const giveUp = () => {
        exchange.end(() => reject(signal?.reason));
        this.#later(this.#wayMs(), () => exchange.hangUp(this.model, this.nowMs()));
      };
      signal?.addEventListener('abort', giveUp, { once: true });
      exchange.onEnd = () => signal?.removeEventListener('abort', giveUp);
      this.#later(this.#wayMs(), () => this.#arrive(request, exchange));
    });
  }

  /** Handles a request that arrives at the service. The client may already have aborted the request. */
  #arrive(request: InProcessRequest, exchange: PendingResponse): void {
    const headers = Object.fromEntries(
      Object.entries(request.headers).map(([name, value]) => [name.toLowerCase(), value]),
    );
    const { method, path, body = '' } = request;
    const response = this.model.handle({ method, path, headers, body }, this.nowMs());
    exchange.arrived(response);
    if (response.delivery.kind === 'stall') {
      if (exchange.ended) exchange.hangUp(this.model, this.nowMs());
      return;
    }
    this.#later(response.delayMs + transferMs(response), () => {
      exchange.leave(this.model, this.nowMs(), isWhole(response));
      this.#later(this.#wayMs(), () => exchange.deliver(response));
    });
  }

  #wayMs(): number {
    const { latencyMs = 0, jitterMs = 0, random } = this.#network;
    return latencyMs + (jitterMs > 0 && random ? random.next() * jitterMs : 0);
  }

  #later(delayMs: number, callback: () => void): void {
    this.#clock.after(delayMs, callback);
  }
}

/** The response to a request in flight. Its promise resolves or rejects when the client learns the outcome. */
class PendingResponse {
  ended = false;
  onEnd: () => void = () => {};
  #response: ServedResponse | undefined;
  readonly #resolve: (response: InProcessResponse) => void;
  readonly #reject: (error: unknown) => void;

  constructor(resolve: (response: InProcessResponse) => void, reject: (error: unknown) => void) {
    this.#resolve = resolve;
    this.#reject = reject;
  }

  arrived(response: ServedResponse): void {
    this.#response = response;
  }

  /** Tells the service that the request has ended. */
  leave(model: ServiceModel, atMs: number, answered = false): void {
    if (!this.#response) return;
    model.finish(this.#response.token, atMs, answered && !this.ended);
    this.#response = undefined;
  }

  /** Tells the service that the client has aborted the request. */
  hangUp(model: ServiceModel, atMs: number): void {
    if (this.#response?.delivery.kind === 'stall') this.leave(model, atMs);
  }

  end(settle: () => void): void {
    if (this.ended) return;
    this.ended = true;
    this.onEnd();
    settle();
  }

  deliver(response: ServedResponse): void {
    const { status, headers, cookies = [], body } = response;
    this.end(() => {
      if (isWhole(response)) this.#resolve({ status, headers, cookies, body: textOf(body) });
      else this.#reject(new ConnectionReset(begunOf(response)));
    });
  }
}

function begunOf({ delivery, status, headers, cookies = [], body }: ServedResponse): BegunResponse | undefined {
  if (delivery.kind !== 'truncate') return undefined;
  const half = firstBytes(piecesOf(body), Math.floor(bytesOf(body) / 2));
  return { status, headers, cookies, bytes: Buffer.concat([...half]) };
}

function isWhole({ delivery }: ServedResponse): boolean {
  return delivery.kind === 'whole' || delivery.kind === 'drip';
}

function transferMs({ delivery, body }: ServedResponse): number {
  return delivery.kind === 'drip' ? (bytesOf(body) / delivery.bytesPerSecond) * 1000 : 0;
}

/** Simulated service on a virtual clock, without sockets. */
import { Buffer } from 'node:buffer';
import type { Clock } from '../src/base/clock.ts';
import type { Random } from '../src/base/random.ts';
import { bytesOf, firstBytes, piecesOf, textOf } from './base/body.ts';
import type { ServedAnswer, ServiceModel } from './model.ts';

export interface Network {
  /** Time that each request and each answer takes on the network, in ms. */
  readonly latencyMs?: number;
  /** Maximum random latency that is added to each request and each answer, in ms. */
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
  /** Signal that aborts the request. The service still counts an aborted request as in flight until it has answered. */
  readonly signal?: AbortSignal;
}

export interface InProcessAnswer {
  readonly status: number;
  /** Headers of the answer, by lower-case name. */
  readonly headers: Readonly<Record<string, string>>;
  /**
   * Values of the `Set-Cookie` headers. `headers` does not contain them, because it stores only one value for each
   * name.
   */
  readonly cookies: readonly string[];
  readonly body: string;
}

/** Error of a reset connection (`ECONNRESET`). */
export class ConnectionReset extends Error {
  override readonly name = 'ConnectionReset';
  readonly code = 'ECONNRESET';
  /** Bytes that the client received before the reset. */
  readonly begun: BegunAnswer | undefined;

  constructor(begun?: BegunAnswer) {
    super('read ECONNRESET');
    this.begun = begun;
  }
}

/** An answer that is incomplete, because the connection broke. */
export interface BegunAnswer extends Omit<InProcessAnswer, 'body'> {
  readonly bytes: Uint8Array;
}

export class InProcessService {
  readonly model: ServiceModel;
  readonly #clock: Clock;
  readonly #network: Network;
  /** Number of ms that are added to the clock's monotonic time to get the service's time. */
  readonly #offsetMs: number;

  /** Creates the service. Its time starts at the model's `startMs`. */
  constructor(model: ServiceModel, clock: Clock, network: Network = {}) {
    this.model = model;
    this.#clock = clock;
    this.#network = network;
    this.#offsetMs = model.startMs - clock.monotonic();
  }

  nowMs(): number {
    return this.#clock.monotonic() + this.#offsetMs;
  }

  request(request: InProcessRequest): Promise<InProcessAnswer> {
    const { signal } = request;
    return new Promise((resolve, reject) => {
      if (signal?.aborted) {
        reject(signal.reason);
        return;
      }
      const exchange = new PendingAnswer(resolve, reject);
      const giveUp = () => {
        exchange.end(() => reject(signal?.reason));
        this.#later(this.#wayMs(), () => exchange.hangUp(this.model, this.nowMs()));
      };
      signal?.addEventListener('abort', giveUp, { once: true });
      exchange.onEnd = () => signal?.removeEventListener('abort', giveUp);
      this.#later(this.#wayMs(), () => this.#arrive(request, exchange));
    });
  }

  /** Handles a request when it arrives at the service. The client may already have aborted the request. */
  #arrive(request: InProcessRequest, exchange: PendingAnswer): void {
    const headers = Object.fromEntries(
      Object.entries(request.headers).map(([name, value]) => [name.toLowerCase(), value]),
    );
    const { method, path, body = '' } = request;
    const answer = this.model.handle({ method, path, headers, body }, this.nowMs());
    exchange.arrived(answer);
    if (answer.delivery.kind === 'stall') {
      if (exchange.ended) exchange.hangUp(this.model, this.nowMs());
      return;
    }
    this.#later(answer.delayMs + transferMs(answer), () => {
      exchange.leave(this.model, this.nowMs(), isWhole(answer));
      this.#later(this.#wayMs(), () => exchange.deliver(answer));
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

/** A request that has no answer yet, with a promise that resolves to the answer. */
class PendingAnswer {
  ended = false;
  onEnd: () => void = () => {};
  #answer: ServedAnswer | undefined;
  readonly #resolve: (answer: InProcessAnswer) => void;
  readonly #reject: (error: unknown) => void;

  constructor(resolve: (answer: InProcessAnswer) => void, reject: (error: unknown) => void) {
    this.#resolve = resolve;
    this.#reject = reject;
  }

  arrived(answer: ServedAnswer): void {
    this.#answer = answer;
  }

  /** Tells the service that the request has ended. */
  leave(model: ServiceModel, atMs: number, answered = false): void {
    if (!this.#answer) return;
    model.finish(this.#answer.token, atMs, answered && !this.ended);
    this.#answer = undefined;
  }

  /** Tells the service that the client has aborted the request. */
  hangUp(model: ServiceModel, atMs: number): void {
    if (this.#answer?.delivery.kind === 'stall') this.leave(model, atMs);
  }

  end(settle: () => void): void {
    if (this.ended) return;
    this.ended = true;
    this.onEnd();
    settle();
  }

  deliver(answer: ServedAnswer): void {
    const { status, headers, cookies = [], body } = answer;
    this.end(() => {
      if (isWhole(answer)) this.#resolve({ status, headers, cookies, body: textOf(body) });
      else this.#reject(new ConnectionReset(begunOf(answer)));
    });
  }
}

function begunOf({ delivery, status, headers, cookies = [], body }: ServedAnswer): BegunAnswer | undefined {
  if (delivery.kind !== 'truncate') return undefined;
  const half = firstBytes(piecesOf(body), Math.floor(bytesOf(body) / 2));
  return { status, headers, cookies, bytes: Buffer.concat([...half]) };
}

function isWhole({ delivery }: ServedAnswer): boolean {
  return delivery.kind === 'whole' || delivery.kind === 'drip';
}

function transferMs({ delivery, body }: ServedAnswer): number {
  return delivery.kind === 'drip' ? (bytesOf(body) / delivery.bytesPerSecond) * 1000 : 0;
}

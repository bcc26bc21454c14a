/**
 * The service on a clock that tests move: requests take their way there and back, answers are late, stalled or reset, and all
 * of it happens in virtual time. What a server does with sockets, this does with promises.
 */
import { Buffer } from 'node:buffer';
import type { Clock } from '../base/clock.ts';
import type { Random } from '../base/random.ts';
import { bytesOf, firstBytes, piecesOf, textOf } from './body.ts';
import type { ServedAnswer, ServiceModel } from './model.ts';

export interface Network {
  /** Of one way. */
  readonly latencyMs?: number;
  /** Up to so much more, drawn for each way. */
  readonly jitterMs?: number;
  /** Needed where there is jitter. */
  readonly random?: Random;
}

export interface InProcessRequest {
  readonly method: string;
  /** With the query. */
  readonly path: string;
  /** Names in any case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /**
   * The caller gives up: `request` rejects at once with the signal's reason. The service goes on with what it is busy with, and
   * the request counts as being in flight until then; a stalled one until the service learns of it, a way later.
   */
  readonly signal?: AbortSignal;
}

export interface InProcessAnswer {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** Values of `Set-Cookie`, which is not among the headers. */
  readonly cookies: readonly string[];
  readonly body: string;
}

/** What a reset connection looks like to the client, `ECONNRESET`; also one that broke off in the middle of a body. */
export class ConnectionReset extends Error {
  override readonly name = 'ConnectionReset';
  readonly code = 'ECONNRESET';
  /** What had come before it broke. */
  readonly begun: BegunAnswer | undefined;

  constructor(begun?: BegunAnswer) {
    super('read ECONNRESET');
    this.begun = begun;
  }
}

/** An answer whose body ends anywhere, in the midst of a character too. */
export interface BegunAnswer extends Omit<InProcessAnswer, 'body'> {
  readonly bytes: Uint8Array;
}

export class InProcessService {
  readonly model: ServiceModel;
  readonly #clock: Clock;
  readonly #network: Network;
  /** What to add to the clock's monotonic time for the model's. */
  readonly #offsetMs: number;

  /** The model's time begins now, on the scale of the clock's wall time at this moment if it was made so. */
  constructor(model: ServiceModel, clock: Clock, network: Network = {}) {
    this.model = model;
    this.#clock = clock;
    this.#network = network;
    this.#offsetMs = model.startMs - clock.monotonic();
  }

  /** The model's time. */
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
      const exchange = new Exchange(resolve, reject);
      const giveUp = () => {
        exchange.end(() => reject(signal?.reason));
        this.#later(this.#wayMs(), () => exchange.hangUp(this.model, this.nowMs()));
      };
      signal?.addEventListener('abort', giveUp, { once: true });
      exchange.onEnd = () => signal?.removeEventListener('abort', giveUp);
      this.#later(this.#wayMs(), () => this.#arrive(request, exchange));
    });
  }

  /** Bytes that are on their way arrive, whether or not somebody still waits for the answer. */
  #arrive(request: InProcessRequest, exchange: Exchange): void {
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

/** One request from both ends: the client's promise, and the service's count of what is in flight. */
class Exchange {
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

  /** The service is through with it; harmless when it has been before, or never had it. */
  leave(model: ServiceModel, atMs: number, answered = false): void {
    if (!this.#answer) return;
    model.finish(this.#answer.token, atMs, answered && !this.ended);
    this.#answer = undefined;
  }

  /** The service learns that the client is gone. What it is busy with it goes on with; only a stall ends here. */
  hangUp(model: ServiceModel, atMs: number): void {
    if (this.#answer?.delivery.kind === 'stall') this.leave(model, atMs);
  }

  /** The client is through with it. */
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

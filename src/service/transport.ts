/**
 * The port to the wire: one request out, one answer in, whole or piece by piece as it comes. It knows connections, proxies and
 * certificates; it knows neither credentials nor budgets, follows no redirect and sends nothing twice.
 *
 * Invariant: `beforeWrite` runs right before the first byte of a request is written, in the same turn of the event loop and on a
 * connection that stands. A request whose `beforeWrite` was not called, or threw, has not been sent.
 */
import { LogfleetError } from '../base/errors.ts';
import type { Departure } from './send-right.ts';

export interface TransportRequest {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** `https://host:port`, without a path. */
  readonly origin: string;
  /** Path and query, percent-encoded. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Gives the request up: its socket is destroyed, and `send` rejects with the signal's reason. */
  readonly signal: AbortSignal;
  /**
   * Asks the budget for the proof that the request may be written now (L1). What it throws ends the request unsent, and `send` rejects
   * with it. Called at most once.
   */
  readonly beforeWrite: () => Departure;
  /** A longer answer is given up with `answerTooLarge`; what a receiver takes is not counted. */
  readonly maxBodyBytes: number;
  /** Takes the body as it comes, so that it is never in memory as a whole. */
  readonly receiver?: BodyReceiver;
}

export interface ResponseHead {
  readonly status: number;
  /** Names in lower case; of a repeated header the first. */
  readonly headers: ReadonlyMap<string, string>;
  /** Each `Set-Cookie`, in the order of the answer. */
  readonly setCookies: readonly string[];
  /** When the head of the answer came, on the monotonic clock. */
  readonly headAtMs: number;
}

export interface TransportResponse extends ResponseHead {
  /** Empty where a receiver has taken it. */
  readonly body: Uint8Array;
}

/** Takes the body of one answer in pieces. What it throws gives the request up, and `send` rejects with it. */
export interface BodyReceiver {
  /** The head has come. False leaves the body to the response: it is the document of a refusal or of a redirect. */
  begin(head: ResponseHead): boolean;
  /**
   * A piece of the body, which is written over after the call. Whoever can take no more for a while returns a promise: nothing more
   * is read from the socket until it is fulfilled, but what has been read may still follow; its rejection gives the request up.
   */
  write(chunk: Uint8Array): Promise<void> | undefined;
}

export interface Transport {
  /**
   * Resolves once `wanted` connections to `origin` stand (busy ones count; never more than the transport's own limit), so that
   * who then takes a slot of the budget can write at once (protocol B1). Rejects only where not one stands.
   */
  ready(origin: string, wanted: number, signal: AbortSignal): Promise<void>;
  /** Opens one more connection to `origin`, without a request: resolves once the handshake is complete (`Path.probe`). */
  probe(origin: string): Promise<void>;
  /** Fails with a `TransportError`, with the signal's reason, or with what `beforeWrite` threw. */
  send(request: TransportRequest): Promise<TransportResponse>;
  /** Takes no more requests; resolves once those under way have ended and every socket is closed. */
  drain(): Promise<void>;
  /** Takes no more requests, waits for none: every socket is destroyed when this resolves. */
  close(): Promise<void>;
}

/**
 * What keeps a request from its answer. The first group stands before a connection does, so that nothing was sent;
 * the second can strike at any time.
 */
export type TransportFailure =
  | 'nameNotFound'
  | 'refused'
  | 'notReachable'
  | 'proxyFailed'
  | 'certificateUnknown'
  | 'certificateExpired'
  | 'certificateForAnother'
  | 'tlsFailed'
  | 'closed'
  | 'connectionLost'
  | 'answerTooLarge'
  | 'answerMalformed';

export class TransportError extends LogfleetError {
  override readonly name = 'TransportError';
  readonly failure: TransportFailure;

  constructor(failure: TransportFailure, message: string, cause?: unknown) {
    super({
      code: `transport.${failure}`,
      message,
      handling: { kind: 'backoff' },
      reason: 'ServiceUnreachable',
      cause,
    });
    this.failure = failure;
  }
}

/**
 * Interface to the network: sends one request and receives one answer, complete or as a stream. A transport handles
 * connections, proxies and certificates. It knows no credentials and no request budget, follows no redirects, and
 * repeats no request.
 *
 * Invariant: `beforeWrite` runs right before the first byte of a request is written, in the same turn of the event
 * loop. If `beforeWrite` was not called, or threw, the request was not sent.
 */
import { LogfleetError } from '../../base/errors.ts';
import type { Departure } from '../budget/send-right.ts';

/** Maximum time in ms for establishing a connection, also through a proxy. */
export const connectDeadlineMs = 10_000;

export interface TransportRequest {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** Origin of the service, `https://host:port`, without a path. */
  readonly origin: string;
  /** Path and query of the request, percent-encoded. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  /** Signal that cancels the request: its socket is closed, and `send` rejects with the signal's reason. */
  readonly signal: AbortSignal;
  /**
   * Returns the proof that the request may be written now (L1). If `beforeWrite` throws, the request is not sent, and
   * `send` rejects with the error. Called at most once.
   */
  readonly beforeWrite: () => Departure;
  /** Maximum size of an answer's body in bytes. A larger body fails with `answerTooLarge`, unless a receiver reads the body. */
  readonly maxBodyBytes: number;
  /** Receiver of the body while it arrives; undefined to return the complete body with the response. */
  readonly receiver?: BodyReceiver | undefined;
}

export interface ResponseHead {
  readonly status: number;
  /** Headers of the answer, with names in lower case. Only the first of repeated headers is kept. */
  readonly headers: ReadonlyMap<string, string>;
  /** All `Set-Cookie` headers of the answer, in order. */
  readonly setCookies: readonly string[];
  /** Monotonic time in ms at which the head of the answer arrived. */
  readonly headAtMs: number;
}

export interface TransportResponse extends ResponseHead {
  /** Body of the answer; empty if a receiver has read the body. */
  readonly body: Uint8Array;
}

/** Receives the body of one answer in chunks. An error that the receiver throws cancels the request and rejects `send`. */
export interface BodyReceiver {
  /** Called with the head of the answer. Returns false to leave the body in the response, as for errors and redirects. */
  begin(head: ResponseHead): boolean;
  /**
   * Receives a chunk of the body. The memory of the chunk is reused after the call. While a returned promise is
   * pending, nothing more is read from the socket, but data that was already read may follow. A rejected promise
   * cancels the request.
   */
  write(chunk: Uint8Array): Promise<void> | undefined;
}

export interface Transport {
  /**
   * Resolves when `wanted` connections to `origin` are established, including busy ones and up to the transport's own limit. A
   * request can then be written as soon as the request budget permits it (B1). Rejects only if there is no connection at all.
   */
  ready(origin: string, wanted: number, signal: AbortSignal): Promise<void>;
  /** Opens one more connection to `origin` without a request. Resolves when the handshake is complete (`Path.probe`). */
  probe(origin: string): Promise<void>;
  /** Sends a request. Rejects with a `TransportError`, with the signal's reason, or with an error of `beforeWrite`. */
  send(request: TransportRequest): Promise<TransportResponse>;
  /**
   * Closes the transport gently: it accepts no further requests. Resolves when all requests have ended and every socket
   * is closed.
   */
  drain(): Promise<void>;
  /** Closes the transport at once: it accepts no further requests and closes every socket, even while requests are in flight. */
  close(): Promise<void>;
}

/**
 * Reason why a request got no answer. The reasons in this list before `closed` occur only if the request was not sent.
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

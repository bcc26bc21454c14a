/**
 * Interface for sending one request over the network and receiving its response. A transport does not follow redirects
 * or repeat requests.
 *
 * `beforeWrite` runs right before the first byte is written. If this function throws or has not been called, the
 * request was not sent.
 */
import type { Departure } from '../budget/send-right.ts';

/** Maximum time in ms to establish a connection, either directly or through a proxy. */
export const connectDeadlineMs = 10_000;

export interface TransportRequest {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** Origin of the service, such as `https://host:port`. */
  readonly origin: string;
  /** Path and query of the request, percent-encoded. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  /** Cancels the request when aborted. `send` then rejects with the signal's reason. */
  readonly signal: AbortSignal;
  /**
   * Called right before the request is written, to check that the write is permitted (L1). If this function throws, the
   * request is not sent, and `send` rejects with the error.
   */
  readonly beforeWrite: () => Departure;
  /**
   * Maximum size of the response body in bytes. A larger body makes the request fail with `responseTooLarge`. There is
   * no maximum if a receiver reads the body.
   */
  readonly maxBodyBytes: number;
  /** Receives the response body as it arrives. If there is no receiver, the response contains the complete body. */
  readonly receiver?: BodyReceiver | undefined;
}

export interface ResponseHead {
  readonly status: number;
  /** Headers, with names in lower case. If a header is repeated, only its first value is kept. */
  readonly headers: ReadonlyMap<string, string>;
  /** All `Set-Cookie` headers of the response, in order. */
  readonly setCookies: readonly string[];
  /** Monotonic time in ms at which the head of the response arrived. */
  readonly headAtMs: number;
}

export interface TransportResponse extends ResponseHead {
  /** Body of the response. Empty if a receiver has read it. */
  readonly body: Uint8Array;
}

/** Receives a body in chunks. An error that the receiver throws cancels the request. */
export interface BodyReceiver {
  /**
   * Called with the head of the response. Returns false if this receiver does not read the body, in which case the
   * response contains the body.
   */
  begin(head: ResponseHead): boolean;
  /**
   * Receives a chunk, whose memory is reused after the call. If this method returns a promise, the response is paused
   * until the promise resolves.
   */
  write(chunk: Uint8Array): Promise<void> | undefined;
}

export interface Transport {
  /**
   * Opens connections until `wanted` connections are open (B1), the maximum number is open, or an attempt fails. Busy
   * connections count as open. Rejects if an attempt fails while no connection is open.
   */
  ready(origin: string, wanted: number, signal: AbortSignal): Promise<void>;
  /**
   * Opens one more connection, but sends no request on it. A completed handshake proves that earlier requests have
   * arrived (`Path.probe`).
   */
  probe(origin: string): Promise<void>;
  /** Sends a request. Rejects with a `TransportError`, the signal's reason, or the error that `beforeWrite` threw. */
  send(request: TransportRequest): Promise<TransportResponse>;
  /** Stops accepting requests. Resolves when all requests have ended and every socket is closed. */
  drain(): Promise<void>;
  /** Stops accepting requests and closes every socket immediately. */
  close(): Promise<void>;
}

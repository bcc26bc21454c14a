/**
 * Interface to the network: sends one request and receives one response. A transport follows no redirects and repeats no
 * request.
 *
 * `beforeWrite` runs right before the first byte is written. If it throws or was not called, the request was not sent.
 */
import type { Departure } from '../budget/send-right.ts';

/** Maximum time in ms to establish a connection, also through a proxy. */
export const connectDeadlineMs = 10_000;

export interface TransportRequest {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** Origin of the service, such as `https://host:port`. */
  readonly origin: string;
  /** Path and query of the request, percent-encoded. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  /** Cancels the request: `send` rejects with the signal's reason. */
  readonly signal: AbortSignal;
  /**
   * Called right before the request is written, to permit the write (L1). If this function throws, the request is not
   * sent, and `send` rejects with the error.
   */
  readonly beforeWrite: () => Departure;
  /** Maximum size of the body in bytes, unless a receiver reads it. A larger body fails with `responseTooLarge`. */
  readonly maxBodyBytes: number;
  /** Receives the body while it arrives. If there is no receiver, the response contains the complete body. */
  readonly receiver?: BodyReceiver | undefined;
}

export interface ResponseHead {
  readonly status: number;
  /** Headers with names in lower case. Only the first of repeated headers is kept. */
  readonly headers: ReadonlyMap<string, string>;
  /** All `Set-Cookie` headers of the response, in order. */
  readonly setCookies: readonly string[];
  /** Monotonic time in ms at which the head of the response arrived. */
  readonly headAtMs: number;
}

export interface TransportResponse extends ResponseHead {
  /** Body of the response; empty if a receiver read it. */
  readonly body: Uint8Array;
}

/** Receives a body in chunks. An error that it throws cancels the request. */
export interface BodyReceiver {
  /**
   * Called with the head of the response. Returns false if this receiver does not read the body. The response then
   * contains the body.
   */
  begin(head: ResponseHead): boolean;
  /**
   * Receives a chunk, whose memory is reused after the call. If a promise is returned, the response is paused until the
   * promise resolves.
   */
  write(chunk: Uint8Array): Promise<void> | undefined;
}

export interface Transport {
  /**
   * Opens connections until `wanted` connections are open (B1), or as many as possible. Busy connections count as open.
   * Rejects only if no connection is open.
   */
  ready(origin: string, wanted: number, signal: AbortSignal): Promise<void>;
  /**
   * Opens one more connection, but sends no request on it. A completed handshake can show that earlier requests have
   * arrived (`Path.probe`).
   */
  probe(origin: string): Promise<void>;
  /** Sends a request. Rejects with a `TransportError`, the signal's reason, or the error that `beforeWrite` threw. */
  send(request: TransportRequest): Promise<TransportResponse>;
  /** Accepts no further requests. Resolves when all requests have ended and every socket is closed. */
  drain(): Promise<void>;
  /** Accepts no further requests and closes every socket immediately. */
  close(): Promise<void>;
}

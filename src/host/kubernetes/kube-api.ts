/**
 * The port to an API server: one request and its answer, one watch and its lines, and nothing else. `api-transport.ts` speaks it
 * over HTTP; tests put a server in memory behind it.
 *
 * Invariant: an answer is an answer whatever its status; only the lack of one is an error. Deadlines, classification and
 * counting are left to `api-client.ts`.
 */

export interface KubeRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** From the root of the API server, with names percent-encoded. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  readonly body?: unknown;
  /** `application/json` unless told. */
  readonly contentType?: string;
  /** `application/json` unless told. */
  readonly accept?: string;
  readonly signal: AbortSignal;
}

export interface KubeResponse {
  readonly status: number;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** Decoded JSON; the bare text where it is none. */
  readonly body: unknown;
}

export interface WatchRequest {
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

export interface WatchResponse extends KubeResponse {
  /**
   * The decoded lines of a watch that was granted (status 200), none otherwise. Ends when the server ends it; throws when the
   * connection breaks, when a line is no JSON, and when the signal is aborted.
   */
  readonly lines: AsyncIterable<unknown>;
}

export interface KubeApi {
  /** Rejects when there is no answer: refused, reset, aborted. Whether the request took effect is then unknown. */
  request(request: KubeRequest): Promise<KubeResponse>;
  /** Rejects as `request` does while there is no answer yet. */
  watch(request: WatchRequest): Promise<WatchResponse>;
  /** Gives up all connections. */
  close(): Promise<void>;
}

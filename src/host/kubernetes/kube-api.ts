/**
 * The port to an API server: requests and watches. `api-transport.ts` implements it over HTTP; tests use a server in memory.
 *
 * Invariant: every status is a normal answer; only a missing answer is an error. `api-client.ts` adds deadlines, classification and
 * metrics.
 */

export interface KubeRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Path from the root of the API server, with percent-encoded names. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  /** Body, sent as JSON. */
  readonly body?: unknown;
  /** Content type; `application/json` by default. */
  readonly contentType?: string;
  /** Accepted media type; `application/json` by default. */
  readonly accept?: string;
  readonly signal: AbortSignal;
}

export interface KubeResponse {
  readonly status: number;
  /** Headers with lower-case names. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** Decoded JSON, or the text if it is not JSON. */
  readonly body: unknown;
}

export interface WatchRequest {
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

export interface WatchResponse extends KubeResponse {
  /**
   * Decoded lines of a successful watch (status 200), otherwise none. Ends when the server ends the watch. Throws if the connection breaks,
   * if a line is not JSON, or if the signal is aborted.
   */
  readonly lines: AsyncIterable<unknown>;
}

export interface KubeApi {
  /** Rejects if no answer arrives: refused, reset, aborted. It is then unknown whether the request took effect. */
  request(request: KubeRequest): Promise<KubeResponse>;
  /** Rejects like `request` before the answer begins. */
  watch(request: WatchRequest): Promise<WatchResponse>;
  /** Closes all connections. */
  close(): Promise<void>;
}

/** Connection options for Node's TLS. */
export interface ConnectionOptions {
  readonly ca?: string | undefined;
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
  readonly servername?: string | undefined;
  readonly rejectUnauthorized?: boolean | undefined;
}

export interface ClusterCredentials {
  readonly connection: ConnectionOptions;
  /** Headers with lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
}

export interface ClusterTarget {
  /** Context of the kubeconfig. */
  readonly context: string | undefined;
  /** Namespace of the context or the pod. */
  readonly namespace: string | undefined;
  /** URL as it was written. */
  readonly server: string | undefined;
  readonly proxyUrl: string | undefined;
  /** Current credentials. Files are read again, and a plugin may run. */
  credentials(): Promise<ClusterCredentials>;
}

/**
 * Interface for requests to an API server and for watches. `api-transport.ts` implements the interface over HTTP; tests
 * use an in-memory server. Responses with any HTTP status are returned. Only a missing response is an error.
 */
import type { IncomingHttpHeaders } from 'node:http';

export interface KubeRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Path from the root of the API server, with percent-encoded names. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  /** Content type of the body; `application/json` by default. */
  readonly contentType?: string;
  /** Media type to request for the response; `application/json` by default. */
  readonly accept?: string;
  readonly signal: AbortSignal;
}

export interface KubeResponse {
  readonly status: number;
  /** Headers of the response, with lower-case names. */
  readonly headers: Readonly<IncomingHttpHeaders>;
  /** Decoded JSON, or text if the body is not JSON. */
  readonly body: unknown;
}

export interface WatchRequest {
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

export interface WatchResponse extends KubeResponse {
  /**
   * Lines of a successful watch, each of which contains one event as JSON text. Iteration throws if the connection
   * breaks or the signal is aborted.
   */
  readonly lines: AsyncIterable<string>;
}

export interface KubeApi {
  /** Sends a request. Rejects if no response arrives. The request may still have taken effect. */
  request(request: KubeRequest): Promise<KubeResponse>;
  /** Starts a watch. Rejects if no response arrives. */
  watch(request: WatchRequest): Promise<WatchResponse>;
  close(): Promise<void>;
}

export interface ConnectionOptions {
  readonly ca?: string | undefined;
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
  readonly servername?: string | undefined;
  readonly rejectUnauthorized?: boolean | undefined;
}

export interface ClusterCredentials {
  readonly connection: ConnectionOptions;
  /** Headers that authenticate each request, with lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
}

export interface ClusterTarget {
  /** Context in the kubeconfig. Undefined if there is no kubeconfig. */
  readonly context: string | undefined;
  readonly namespace: string | undefined;
  /** URL of the API server, as written in the kubeconfig. */
  readonly server: string | undefined;
  readonly proxyUrl: string | undefined;
  /** Returns the current credentials. This may involve reading files or running a credential plugin. */
  credentials(): Promise<ClusterCredentials>;
}

/**
 * Sends HTTP requests to the API server through undici, with the credentials from a kubeconfig or a pod.
 *
 * Invariants:
 * - A connection pool is used until its credentials change.
 * - Credentials are read again when they are older than 10 s, and after a response with status 401.
 * - Only a proxy from the kubeconfig is used, never one from the environment.
 * - Only commands that access a cluster load this file.
 */

import { StringDecoder } from 'node:string_decoder';
import { Agent, type Dispatcher, ProxyAgent } from 'undici';
import { unlessAborted } from '../../base/aborted.ts';
import { sameValue } from '../../base/canonical-text.ts';
import type { Clock } from '../../base/clock.ts';
import { failure, type LogfleetError, messageOf } from '../../base/errors.ts';
import { withoutTrailingSlashes } from '../../base/trailing-slashes.ts';
import type {
  ClusterCredentials,
  ClusterTarget,
  ConnectionOptions,
  KubeApi,
  KubeRequest,
  KubeResponse,
  WatchRequest,
  WatchResponse,
} from './kube-api.ts';

/**
 * Time in ms for which idle connections are kept open. It is longer than the interval between Lease renewals, so that
 * renewals can use the same connection.
 */
const keepAliveMs = 30_000;
const connectTimeoutMs = 5_000;
/** Maximum age in ms of the credentials for the API server. Older credentials are reread. */
const credentialsFreshMs = 10_000;
/**
 * Maximum length of a line in a watch, in characters. Real lines are shorter, because each line contains one object,
 * and etcd accepts objects of at most 1.5 MiB.
 */
const longestLine = 16 * 1024 * 1024;

export class UndiciKubeApi implements KubeApi {
  readonly #target: ClusterTarget;
  readonly #clock: Clock;
  readonly #origin: string;
  /** Path prefix for requests to the API server, for example if the server is behind a gateway. */
  readonly #basePath: string;
  #credentials: { readonly read: Promise<ClusterCredentials>; readonly atMs: number } | undefined;
  #agent: { readonly dispatcher: Dispatcher; readonly connection: ConnectionOptions } | undefined;

  /**
   * Throws the error `host.misconfigured` if the kubeconfig does not name a cluster, or if the cluster's address is
   * invalid.
   */
  constructor(target: ClusterTarget, clock: Clock) {
    const url = target.server === undefined ? null : URL.parse(target.server);
    if (!url) throw misconfigured(target.context, target.server);
    this.#target = target;
    this.#clock = clock;
    this.#origin = url.origin;
    this.#basePath = withoutTrailingSlashes(url.pathname);
  }

  async request(request: KubeRequest): Promise<KubeResponse> {
    const { status, headers, body } = await this.#send(request);
    return { status, headers, body: decodeBody(await body.text()) };
  }

  async watch(request: WatchRequest): Promise<WatchResponse> {
    const { status, headers, body } = await this.#send({ ...request, method: 'GET' });
    if (status === 200) return { status, headers, body: undefined, lines: readLines(body) };
    return { status, headers, body: decodeBody(await body.text()), lines: noLines() };
  }

  async close(): Promise<void> {
    await this.#agent?.dispatcher.destroy();
  }

  /** Sends a request with the current credentials. */
  async #send({ path, method, query, body, contentType, accept, signal }: KubeRequest) {
    const credentials = await unlessAborted(signal, this.#current());
    const request = this.#dispatcher(credentials.connection).request({
      ...{ origin: this.#origin, path: `${this.#basePath}${path}`, method, signal },
      headers: {
        ...credentials.headers,
        accept: accept ?? 'application/json',
        'user-agent': 'logfleet',
        ...(body === undefined ? {} : { 'content-type': contentType ?? 'application/json' }),
      },
      ...(query ? { query } : {}),
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    // `unlessAborted` rejects as soon as the signal is aborted. undici would reject only after the request's connection
    // is open or has failed.
    const response = await unlessAborted(signal, request);
    // The API server has rejected the credentials, so the next request rereads them.
    if (response.statusCode === 401) this.#credentials = undefined;
    return { status: response.statusCode, headers: response.headers, body: response.body };
  }

  /** Returns the current credentials. Concurrent requests share one read of the credential files. */
  #current(): Promise<ClusterCredentials> {
    const nowMs = this.#clock.monotonic();
    if (this.#credentials && nowMs - this.#credentials.atMs < credentialsFreshMs) return this.#credentials.read;
    const read = this.#read();
    const known = { read, atMs: nowMs };
    this.#credentials = known;
    read.catch(() => {
      if (this.#credentials === known) this.#credentials = undefined;
    });
    return read;
  }

  /**
   * Reads the credentials. Callers retry after an error, because a file may be missing only while it is being replaced.
   */
  async #read(): Promise<ClusterCredentials> {
    try {
      return await this.#target.credentials();
    } catch (error) {
      const cause = messageOf(error).trim() || 'the credential plugin failed without a message';
      const message = `the credentials for the API server cannot be read: ${cause}`;
      throw failure('backoff', 'host.misconfigured', message, { reason: 'KubeconfigInvalid', cause: error });
    }
  }

  /** Returns the connection pool for these credentials. A pool with older credentials closes after its last request. */
  #dispatcher(connection: ConnectionOptions): Dispatcher {
    if (this.#agent && sameValue(this.#agent.connection, connection)) return this.#agent.dispatcher;
    this.#agent?.dispatcher.close().catch(() => undefined);
    // undici's timeouts are off, because callers set their own deadlines, and a watch may be silent for a long time.
    const options = {
      allowH2: false,
      keepAliveTimeout: keepAliveMs,
      headersTimeout: 0,
      bodyTimeout: 0,
      connectTimeout: connectTimeoutMs,
    };
    const dispatcher =
      this.#target.proxyUrl === undefined
        ? new Agent({ ...options, connect: { ...connection, timeout: connectTimeoutMs } })
        : new ProxyAgent({ ...options, uri: this.#target.proxyUrl, requestTls: { ...connection } });
    this.#agent = { dispatcher, connection };
    return dispatcher;
  }
}

/** Yields the lines of a watch. Throws if the stream ends mid-line. */
export async function* readLines(body: AsyncIterable<Uint8Array>): AsyncGenerator<string, void> {
  const decoder = new StringDecoder('utf8');
  let rest = '';
  for await (const chunk of body) {
    rest += decoder.write(chunk);
    let start = 0;
    for (let end = rest.indexOf('\n'); end >= 0; end = rest.indexOf('\n', start)) {
      if (end > start) yield rest.slice(start, end);
      start = end + 1;
    }
    rest = rest.slice(start);
    if (rest.length > longestLine) throw new Error('a line in the watch is too long');
  }
  if (rest.trim() !== '') throw new Error('the watch was cut off in the middle of a line');
}

async function* noLines(): AsyncGenerator<string, void> {}

function decodeBody(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function misconfigured(context: string | undefined, server: string | undefined): LogfleetError {
  const message = `the kubeconfig${wrongContext(context, server)}: choose another context with --context, or another kubeconfig with --kubeconfig`;
  return failure('stall', 'host.misconfigured', message, { reason: 'KubeconfigInvalid' });
}

function wrongContext(context: string | undefined, server: string | undefined): string {
  if (context === undefined) return ' has no current context';
  const named = server === undefined ? 'no cluster' : `a cluster whose address ${JSON.stringify(server)} is not valid`;
  return `'s context ${JSON.stringify(context)} names ${named}`;
}

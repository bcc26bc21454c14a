/**
 * The port to the API server over HTTP: undici, with the credentials of a kubeconfig or of the pod.
 *
 * Invariants: one agent, and with it one set of connections, for as long as the credentials of the connection stay the same; a bearer
 * token is asked for anew with each request, so that one that is rotated or expires is replaced. No proxy is taken from the environment;
 * only one that the kubeconfig names.
 *
 * This file and what it imports are loaded by commands that speak to a cluster, and by no others.
 */
import { StringDecoder } from 'node:string_decoder';
import type { KubeConfig } from '@kubernetes/client-node/dist/config.js';
import { Agent, type Dispatcher, ProxyAgent } from 'undici';
import { LogfleetError } from '../../base/errors.ts';
import type { KubeApi, KubeRequest, KubeResponse, WatchRequest, WatchResponse } from './kube-api.ts';

/** Idle connections are kept between the renewals of a lease, and not much longer. */
const keepAliveMs = 30_000;
const connectTimeoutMs = 5_000;
/** A watch in a cluster of ours has no line longer than what etcd takes, 1.5 MiB, and JSON around it. */
const longestLine = 16 * 1024 * 1024;

/** What of a kubeconfig makes a connection, as Node's TLS takes it. */
interface ConnectionOptions {
  readonly ca?: string | Buffer;
  readonly cert?: string | Buffer;
  readonly key?: string | Buffer;
  readonly servername?: string;
  readonly rejectUnauthorized?: boolean;
}

interface Credentials {
  readonly connection: ConnectionOptions;
  readonly headers: Readonly<Record<string, string>>;
}

export class UndiciKubeApi implements KubeApi {
  readonly #config: KubeConfig;
  readonly #origin: string;
  /** Of API servers that live below a path, as behind a gateway. */
  readonly #basePath: string;
  readonly #proxy: string | undefined;
  #agent: { readonly dispatcher: Dispatcher; readonly connection: string } | undefined;

  /** `host.misconfigured` when the kubeconfig names no cluster, or one whose address is none. */
  constructor(config: KubeConfig) {
    const cluster = config.getCurrentCluster();
    const url = cluster ? URL.parse(cluster.server) : null;
    if (!cluster || !url) throw misconfigured(config.getCurrentContext(), cluster?.server);
    this.#config = config;
    this.#origin = url.origin;
    this.#basePath = url.pathname.replace(/\/+$/, '');
    this.#proxy = cluster.proxyUrl;
  }

  async request(request: KubeRequest): Promise<KubeResponse> {
    const answer = await this.#send(request);
    return { status: answer.statusCode, headers: plainHeaders(answer), body: decodeBody(await answer.body.text()) };
  }

  async watch(request: WatchRequest): Promise<WatchResponse> {
    const answer = await this.#send({ ...request, method: 'GET' });
    const headers = plainHeaders(answer);
    if (answer.statusCode === 200) return { status: 200, headers, body: undefined, lines: readLines(answer.body) };
    return { status: answer.statusCode, headers, body: decodeBody(await answer.body.text()), lines: noLines() };
  }

  async close(): Promise<void> {
    await this.#agent?.dispatcher.destroy();
  }

  async #send(request: KubeRequest): Promise<Dispatcher.ResponseData> {
    const credentials = await unlessAborted(request.signal, readCredentials(this.#config));
    const { body } = request;
    return this.#dispatcher(credentials.connection).request({
      origin: this.#origin,
      path: `${this.#basePath}${request.path}`,
      method: request.method,
      headers: {
        ...credentials.headers,
        accept: 'application/json',
        'user-agent': 'logfleet',
        ...(body === undefined ? {} : { 'content-type': request.contentType ?? 'application/json' }),
      },
      signal: request.signal,
      ...(request.query ? { query: request.query } : {}),
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  }

  /** The agent for these credentials. Those before it finish what they have under way. */
  #dispatcher(connection: ConnectionOptions): Dispatcher {
    const identity = JSON.stringify(connection);
    if (this.#agent?.connection === identity) return this.#agent.dispatcher;
    this.#agent?.dispatcher.close().catch(() => undefined);
    // Deadlines are the caller's: a watch may be silent for longer than undici would bear.
    const options = {
      allowH2: false,
      keepAliveTimeout: keepAliveMs,
      headersTimeout: 0,
      bodyTimeout: 0,
      connectTimeout: connectTimeoutMs,
    };
    const dispatcher =
      this.#proxy === undefined
        ? new Agent({ ...options, connect: { ...connection, timeout: connectTimeoutMs } })
        : new ProxyAgent({ ...options, uri: this.#proxy, requestTls: { ...connection } });
    this.#agent = { dispatcher, connection: identity };
    return dispatcher;
  }
}

/**
 * Asks client-node, which knows token files, exec plugins and the rest. It renews what has expired, reads token files again
 * every minute, and answers from memory otherwise.
 */
async function readCredentials(config: KubeConfig): Promise<Credentials> {
  const options: ConnectionOptions & { auth?: string | null; headers?: Record<string, unknown> } = {};
  await config.applyToHTTPSOptions(options as Parameters<KubeConfig['applyToHTTPSOptions']>[0]);
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(options.headers ?? {})) headers[name.toLowerCase()] = String(value);
  if (options.auth) headers.authorization = `Basic ${Buffer.from(options.auth).toString('base64')}`;
  const { ca, cert, key, servername, rejectUnauthorized } = options;
  return {
    headers,
    connection: {
      ...(ca === undefined ? {} : { ca: String(ca) }),
      ...(cert === undefined ? {} : { cert: String(cert) }),
      ...(key === undefined ? {} : { key: String(key) }),
      ...(servername === undefined ? {} : { servername }),
      ...(rejectUnauthorized === undefined ? {} : { rejectUnauthorized }),
    },
  };
}

/** An exec plugin may hang; whoever asked must get on. */
function unlessAborted<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const giveUp = () => reject(signal.reason);
    if (signal.aborted) giveUp();
    signal.addEventListener('abort', giveUp, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', giveUp));
  });
}

/** The lines of a watch. What stands behind the last newline when the stream ends was cut off, and is an error. */
export async function* readLines(body: AsyncIterable<Uint8Array>): AsyncGenerator<unknown, void> {
  const decoder = new StringDecoder('utf8');
  let rest = '';
  for await (const chunk of body) {
    rest += decoder.write(Buffer.from(chunk));
    let start = 0;
    for (let end = rest.indexOf('\n'); end >= 0; end = rest.indexOf('\n', start)) {
      if (end > start) yield JSON.parse(rest.slice(start, end));
      start = end + 1;
    }
    rest = rest.slice(start);
    if (rest.length > longestLine) throw new Error('a line of the watch is too long');
  }
  if (rest.trim() !== '') throw new Error('the watch was cut off within a line');
}

async function* noLines(): AsyncGenerator<unknown, void> {}

function plainHeaders(answer: Dispatcher.ResponseData): Record<string, string | undefined> {
  const headers: Record<string, string | undefined> = {};
  for (const [name, value] of Object.entries(answer.headers)) headers[name] = Array.isArray(value) ? value[0] : value;
  return headers;
}

function decodeBody(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function misconfigured(context: string | undefined, server: string | undefined): LogfleetError {
  return new LogfleetError({
    code: 'host.misconfigured',
    reason: 'KubeconfigInvalid',
    handling: { kind: 'stall' },
    message: `the kubeconfig${wrongContext(context, server)}: choose another with --context, or name a kubeconfig with --kubeconfig`,
  });
}

function wrongContext(context: string | undefined, server: string | undefined): string {
  if (context === undefined) return ' has no current context';
  const named = server === undefined ? 'no cluster' : `a cluster with the address ${JSON.stringify(server)}`;
  return `'s context ${JSON.stringify(context)} names ${named}`;
}

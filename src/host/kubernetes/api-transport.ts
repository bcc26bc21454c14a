/**
 * The port to the API server over HTTP: undici, with the credentials of a kubeconfig or of the pod.
 *
 * Invariants: one agent, and with it one set of connections, lasts as long as the credentials of the connection stay the same. Credentials
 * are read again after 10 s and after a 401, so that a token that is rotated or expires is replaced. No proxy is taken from the environment;
 * only one that the kubeconfig names.
 *
 * This file and what it imports are loaded by commands that speak to a cluster, and by no others.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { StringDecoder } from 'node:string_decoder';
import { Agent, type Dispatcher, ProxyAgent } from 'undici';
import type { Clock } from '../../base/clock.ts';
import { LogfleetError } from '../../base/errors.ts';
import type { ClusterCredentials, ClusterTarget, ConnectionOptions } from './cluster-target.ts';
import type { KubeApi, KubeRequest, KubeResponse, WatchRequest, WatchResponse } from './kube-api.ts';
import { wholeAnswer } from './whole-answer.ts';

/** Idle connections are kept between the renewals of a lease, and not much longer. */
const keepAliveMs = 30_000;
const connectTimeoutMs = 5_000;
/** Credentials that were read longer ago are read again. */
const credentialsFreshMs = 10_000;
/** A watch in a cluster of ours has no line longer than what etcd takes, 1.5 MiB, and JSON around it. */
const longestLine = 16 * 1024 * 1024;

interface Prepared {
  readonly dispatcher: Dispatcher;
  readonly options: Dispatcher.DispatchOptions;
}

export class UndiciKubeApi implements KubeApi {
  readonly #target: ClusterTarget;
  readonly #clock: Clock;
  readonly #origin: string;
  /** Of API servers that live below a path, as behind a gateway. */
  readonly #basePath: string;
  #credentials: { readonly read: Promise<ClusterCredentials>; readonly atMs: number } | undefined;
  #agent: { readonly dispatcher: Dispatcher; readonly connection: ConnectionOptions } | undefined;

  /** `host.misconfigured` when the kubeconfig names no cluster, or one whose address is none. */
  constructor(target: ClusterTarget, clock: Clock) {
    const url = target.server === undefined ? null : URL.parse(target.server);
    if (!url) throw misconfigured(target.context, target.server);
    this.#target = target;
    this.#clock = clock;
    this.#origin = url.origin;
    this.#basePath = url.pathname.replace(/\/+$/, '');
  }

  async request(request: KubeRequest): Promise<KubeResponse> {
    const { dispatcher, options } = await this.#prepared(request);
    const { status, headers, text } = await wholeAnswer(dispatcher, options, request.signal);
    this.#heed(status);
    return { status, headers: plainHeaders(headers), body: decodeBody(text) };
  }

  async watch(request: WatchRequest): Promise<WatchResponse> {
    const { dispatcher, options } = await this.#prepared({ ...request, method: 'GET' });
    const answer = await dispatcher.request({ ...options, signal: request.signal });
    this.#heed(answer.statusCode);
    const headers = plainHeaders(answer.headers);
    if (answer.statusCode === 200) return { status: 200, headers, body: undefined, lines: readLines(answer.body) };
    return { status: answer.statusCode, headers, body: decodeBody(await answer.body.text()), lines: noLines() };
  }

  async close(): Promise<void> {
    await this.#agent?.dispatcher.destroy();
  }

  /** A request as the dispatcher takes it, with the credentials of this moment. */
  async #prepared(request: KubeRequest): Promise<Prepared> {
    const credentials = await unlessAborted(request.signal, this.#current());
    const { body } = request;
    const options = {
      origin: this.#origin,
      path: `${this.#basePath}${request.path}`,
      method: request.method,
      headers: {
        ...credentials.headers,
        accept: request.accept ?? 'application/json',
        'user-agent': 'logfleet',
        ...(body === undefined ? {} : { 'content-type': request.contentType ?? 'application/json' }),
      },
      ...(request.query ? { query: request.query } : {}),
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    };
    return { dispatcher: this.#dispatcher(credentials.connection), options };
  }

  /** Refused credentials are read again before they are used again. */
  #heed(status: number): void {
    if (status === 401) this.#credentials = undefined;
  }

  /** All requests of a moment share one reading of files. */
  #current(): Promise<ClusterCredentials> {
    const nowMs = this.#clock.monotonic();
    if (this.#credentials && nowMs - this.#credentials.atMs < credentialsFreshMs) return this.#credentials.read;
    const read = this.#target.credentials();
    const known = { read, atMs: nowMs };
    this.#credentials = known;
    read.catch(() => {
      if (this.#credentials === known) this.#credentials = undefined;
    });
    return read;
  }

  /** The agent for these credentials. Those before it finish what they have under way. */
  #dispatcher(connection: ConnectionOptions): Dispatcher {
    if (this.#agent?.connection === connection) return this.#agent.dispatcher;
    if (this.#agent && isSame(this.#agent.connection, connection)) {
      // The next request compares no texts.
      this.#agent = { ...this.#agent, connection };
      return this.#agent.dispatcher;
    }
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
      this.#target.proxyUrl === undefined
        ? new Agent({ ...options, connect: { ...connection, timeout: connectTimeoutMs } })
        : new ProxyAgent({ ...options, uri: this.#target.proxyUrl, requestTls: { ...connection } });
    this.#agent = { dispatcher, connection };
    return dispatcher;
  }
}

function isSame(left: ConnectionOptions, right: ConnectionOptions): boolean {
  return left === right || JSON.stringify(left) === JSON.stringify(right);
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

function plainHeaders(headers: IncomingHttpHeaders): Record<string, string | undefined> {
  const plain: Record<string, string | undefined> = {};
  for (const name in headers) {
    const value = headers[name];
    plain[name] = Array.isArray(value) ? value[0] : value;
  }
  return plain;
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

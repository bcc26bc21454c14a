/**
 * Sends requests to the JSON API of Google Cloud Storage.
 *
 * The library `@google-cloud/storage` (8.4.0) is not used, because its requests have no time limit and its uploads
 * cannot be cancelled.
 */
import { Agent, type Dispatcher, Pool, ProxyAgent, request } from 'undici';
import { unlessAborted } from '../../base/aborted.ts';
import { type Clock, sleep } from '../../base/clock.ts';
import { type Environment, proxyCredentials } from '../../base/proxy-environment.ts';
import { doubledMs } from '../../base/retry-delay.ts';
import { withoutTrailingSlashes } from '../../base/trailing-slashes.ts';
import { inPieces } from '../store/body-pieces.ts';
import { readResponse } from '../store/read-object.ts';
import { defaultSilenceMs } from '../store/silence-timer.ts';
import { maxConnections, storeProxy } from '../store/store-endpoint.ts';
import { gcsErrorOf, isTransient, tokenError } from './gcs-error.ts';
import { defaultEndpoint, type GcsSettings } from './gcs-settings.ts';
import { type AuthorizationHeaders, authorizationOf } from './gcs-tokens.ts';

/** Maximum number of attempts per request. */
const maxTries = 3;
const firstRetryMs = 500;
const defaultConnectTimeoutMs = 5_000;
/** Maximum time in ms to get a token, including retries. */
const tokenTimeoutMs = 60_000;
/** HTTP status of a response that asks for the next chunk of an upload. */
export const sessionIncomplete = 308;

export interface GcsRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Path and query of the request, without the host. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
  readonly stop?: AbortSignal;
}

export interface GcsResponse {
  /** HTTP status of the response: below 300, or `sessionIncomplete`. */
  readonly status: number;
  readonly headers: Dispatcher.ResponseData['headers'];
  readonly text: string;
}

export interface GcsClientOptions {
  readonly settings: GcsSettings;
  readonly environment: Environment;
  readonly clock: Clock;
  /** Time limit in ms for opening a connection. The default is 5 s. */
  readonly connectTimeoutMs?: number;
  /** Maximum time in ms that a request may go without progress. The default is 60 s. */
  readonly silenceMs?: number;
}

export class GcsClient {
  readonly #endpoint: string;
  readonly #authorization: AuthorizationHeaders;
  readonly #dispatcher: Dispatcher;
  readonly #clock: Clock;

  constructor(options: GcsClientOptions) {
    const { settings, clock } = options;
    this.#endpoint = withoutTrailingSlashes(settings.endpoint ?? defaultEndpoint);
    this.#authorization = authorizationOf(settings, this.#endpoint);
    this.#dispatcher = dispatcherFor(new URL(this.#endpoint), options);
    this.#clock = clock;
  }

  /** Sends a request, and reads the whole response. Throws a `GcsError` or a connection error. */
  send(wanted: GcsRequest): Promise<GcsResponse> {
    return this.#retried(wanted, async ({ statusCode: status, headers, body }) => {
      return { status, headers, text: await textOf(body, status) };
    });
  }

  /** Sends a request, and resolves when the response begins. The caller must read the body. */
  begin(wanted: GcsRequest): Promise<Dispatcher.ResponseData> {
    return this.#retried(wanted, async (response) => response);
  }

  async close(): Promise<void> {
    await this.#dispatcher.destroy();
  }

  async #retried<T>(wanted: GcsRequest, read: (response: Dispatcher.ResponseData) => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      const authorization = await this.#tokenHeaders();
      try {
        return await read(await this.#sendOnce(wanted, authorization));
      } catch (cause) {
        if (attempt === maxTries || wanted.stop?.aborted || !isTransient(cause)) throw cause;
        await sleep(this.#clock, doubledMs(firstRetryMs, attempt - 1), wanted.stop);
      }
    }
  }

  async #sendOnce(
    { method, path, headers, body, stop }: GcsRequest,
    authorization: Readonly<Record<string, string>>,
  ): Promise<Dispatcher.ResponseData> {
    const response = await request(`${this.#endpoint}${path}`, {
      dispatcher: this.#dispatcher,
      method,
      headers: { ...headers, ...authorization, ...(body && { 'content-length': String(body.length) }) },
      body: body ? inPieces(body) : null,
      signal: stop ?? null,
    });
    const isExpected = response.statusCode < 300 || (method === 'PUT' && response.statusCode === sessionIncomplete);
    if (!isExpected) throw gcsErrorOf(response.statusCode, await textOf(response.body, response.statusCode));
    return response;
  }

  async #tokenHeaders(): Promise<Record<string, string>> {
    const silence = new AbortController();
    const timer = this.#clock.after(tokenTimeoutMs, () => {
      silence.abort(Object.assign(new Error(`no response within ${tokenTimeoutMs / 1000} s`), { code: 'ETIMEDOUT' }));
    });
    try {
      return Object.fromEntries(await unlessAborted(silence.signal, this.#authorization()));
    } catch (cause) {
      throw tokenError(cause);
    } finally {
      timer.cancel();
    }
  }
}

async function textOf(body: AsyncIterable<Uint8Array>, status: number): Promise<string> {
  return new TextDecoder().decode(await readResponse(body, status));
}

function dispatcherFor(
  origin: URL,
  { environment, connectTimeoutMs = defaultConnectTimeoutMs, silenceMs = defaultSilenceMs }: GcsClientOptions,
): Dispatcher {
  const options = {
    connections: maxConnections,
    connectTimeout: connectTimeoutMs,
    // undici starts this timer when it has sent the last piece of the request's body.
    headersTimeout: silenceMs,
    bodyTimeout: silenceMs,
    allowH2: false,
  };
  const proxy = origin.protocol === 'https:' ? storeProxy(origin, environment) : undefined;
  if (!proxy) return new Agent(options);
  const { user, password } = proxyCredentials(proxy);
  const token = `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
  const clientFactory = (origin: URL, proxyOptions: object) =>
    new Pool(origin, { ...proxyOptions, headersTimeout: connectTimeoutMs });
  return new ProxyAgent({ ...options, clientFactory, uri: proxy.origin, ...(user === '' ? {} : { token }) });
}

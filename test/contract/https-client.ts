/** Simple HTTPS client for the contract tests, which must not depend on logfleet's own client. */
import { Agent, request as httpsRequest } from 'node:https';

export interface HttpsClientOptions {
  readonly baseURL: string;
  readonly ca: string | undefined;
  /** Credentials as `ID:KEY`. */
  readonly credentials: string;
}

export interface SendOptions {
  readonly body?: string | Uint8Array;
  /** Request headers. An undefined value removes a default header. */
  readonly headers?: Readonly<Record<string, string | undefined>>;
  /** Credentials to use instead of the default ones, or null to send no credentials. */
  readonly credentials?: string | null;
  readonly baseURL?: string;
  readonly signal?: AbortSignal;
}

export interface Received {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** Values of the `Set-Cookie` headers in the response. */
  readonly cookies: readonly string[];
  readonly text: string;
  /** Parsed response body, or undefined if the body is not JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: tests read responses of any shape.
  readonly json: any;
  /** True if the connection was closed before the end of the response. */
  readonly broken: boolean;
  readonly pieces: number;
}

export class HttpsClient {
  readonly #options: HttpsClientOptions;
  readonly #agent: Agent;

  constructor(options: HttpsClientOptions) {
    this.#options = options;
    this.#agent = new Agent({ keepAlive: true, ...(options.ca === undefined ? {} : { ca: options.ca }) });
  }

  /** Sends a request. Rejects if no response arrives. */
  send(method: string, path: string, { body, headers = {}, signal, ...rest }: SendOptions = {}): Promise<Received> {
    const { baseURL = this.#options.baseURL, credentials = this.#options.credentials } = rest;
    const sent = {
      accept: 'application/json',
      ...(credentials === null ? {} : { authorization: `Basic ${Buffer.from(credentials).toString('base64')}` }),
      ...(body === undefined
        ? {}
        : { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(body)) }),
      ...headers,
    };
    const present = Object.fromEntries(Object.entries(sent).filter(([, value]) => value !== undefined)) as Record<
      string,
      string
    >;
    const { hostname, port, pathname } = new URL(baseURL);
    const target = { hostname, port, path: pathname.replace(/\/$/, '') + path };
    return new Promise((resolve, reject) => {
      const options = { ...target, method, headers: present, agent: this.#agent, ...(signal ? { signal } : {}) };
      const request = httpsRequest(options, (response) => {
        const pieces: Buffer[] = [];
        const end = (broken: boolean) => {
          const text = Buffer.concat(pieces).toString('utf8');
          const status = response.statusCode ?? 0;
          resolve({
            status,
            headers: response.headers as Received['headers'],
            cookies: response.headers['set-cookie'] ?? [],
            text,
            // The body is parsed only when a test reads this property, because a result page can be as large as 100 MB.
            get json() {
              return parsed(text);
            },
            broken,
            pieces: pieces.length,
          });
        };
        response.on('data', (piece: Buffer) => pieces.push(piece));
        response.on('end', () => end(false));
        response.on('error', () => end(true));
      });
      request.on('error', (error) => reject(signal?.aborted ? Object.assign(error, { code: 'ECONNRESET' }) : error));
      request.end(body);
    });
  }

  close(): void {
    this.#agent.destroy();
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

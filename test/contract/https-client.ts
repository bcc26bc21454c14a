/**
 * A client without opinions: it sends what it is told and tells what came, down to a body that broke off. The suites here
 * look at the wire with it, not with logfleet's own client, so that the two cannot share a mistake.
 */
import { Agent, request as httpsRequest } from 'node:https';

export interface HttpsClientOptions {
  readonly baseURL: string;
  readonly ca: string | undefined;
  /** `ID:KEY` */
  readonly credentials: string;
}

export interface SendOptions {
  /** A text goes as UTF-8. */
  readonly body?: string | Uint8Array;
  /** Undefined leaves one out that is sent otherwise. */
  readonly headers?: Readonly<Record<string, string | undefined>>;
  /** Null sends none. */
  readonly credentials?: string | null;
  readonly baseURL?: string;
  readonly signal?: AbortSignal;
}

export interface Received {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** Values of `Set-Cookie`. */
  readonly cookies: readonly string[];
  readonly text: string;
  /** The body parsed, or undefined where it is no JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape.
  readonly json: any;
  /** Whether the connection ended before the body did. */
  readonly broken: boolean;
  /** In how many pieces the body came. */
  readonly pieces: number;
}

export class HttpsClient {
  readonly #options: HttpsClientOptions;
  readonly #agent: Agent;

  constructor(options: HttpsClientOptions) {
    this.#options = options;
    this.#agent = new Agent({ keepAlive: true, ...(options.ca === undefined ? {} : { ca: options.ca }) });
  }

  /** Rejects where no answer began. */
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
            // Only where somebody looks: a page may have 100 MB.
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

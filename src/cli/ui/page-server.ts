/**
 * HTTP server of `logfleet ui`, for a browser on the same machine.
 *
 * - It listens on 127.0.0.1 only, answers only GET and HEAD, and changes nothing.
 * - It refuses requests with a foreign `Host` or `Origin`, to protect against DNS rebinding.
 * - It sends at most four messages about changes per second.
 */
import { createHash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { kindNames } from '../../api/kinds.ts';
import type { Clock, Timer } from '../../base/clock.ts';
import {
  type HttpResponse,
  type HttpServer,
  methodRefusal,
  startHttpServer,
  textResponse,
  writeResponse,
} from '../command/http-server.ts';
import type { TargetOptions } from '../command/options.ts';
import type { ChangeMessage, PlaceMessage, StartData } from './page-data.ts';
import { type ListFilter, type ResourceModel, tones } from './resource-model.ts';
import { detailOf } from './resource-row.ts';

export interface PageServerOptions {
  /** Port on 127.0.0.1. Port 0 means any free port. */
  readonly port: number;
  readonly html: string;
  readonly model: ResourceModel;
  /** Flags that select the cluster or directory. The page adds them to each command that it shows. */
  readonly flags: TargetOptions;
  readonly clock: Clock;
}

const loopback = '127.0.0.1';
const shortestIntervalMs = 250;
/**
 * Maximum number of resources in one message about changes. If more resources change, the page reloads all its
 * data.
 */
const maxNamed = 200;
const maxRows = 200;
/**
 * Number of rows that are included in the HTML of the page, so that the page shows them without another request. Forty
 * rows fill even a tall screen.
 */
const startRows = 40;
/**
 * Interval in ms between keep-alive messages to the page. The page expects a message at least every 40 s (`silenceMs`
 * in `page/server-data.ts`).
 */
const aliveMs = 15_000;
/** HTML element that contains the first data of the page (`StartData`). */
const startElement = '<script type="application/json" id="start">';
/**
 * Maximum number of unsent bytes for a slow browser. If there are more, the server closes the stream, and the browser
 * reconnects.
 */
const maxUnsentBytes = 1_048_576;

const securityHeaders = {
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cache-Control': 'no-store',
} as const;

export class PageServer {
  readonly #options: PageServerOptions;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #streams = new Set<ServerResponse>();
  #server: HttpServer | undefined;
  #place: PlaceMessage;
  /** Identities of the resources that have changed since the last message. */
  #changed = new Set<string>();
  /** Monotonic time in ms at which the last message about changes was sent. */
  #sentMs = Number.NEGATIVE_INFINITY;
  #timer: Timer | undefined;
  #aliveTimer: Timer | undefined;

  constructor(options: PageServerOptions, place: PlaceMessage) {
    this.#options = options;
    this.#headers = { ...securityHeaders, 'Content-Security-Policy': securityPolicy(options.html) };
    this.#place = place;
    options.model.subscribe((changed) => this.#collect(changed));
  }

  /**
   * Starts the server, and resolves to the address of the page. Throws the error `cli.listen` if the port cannot be
   * used.
   */
  async listen(): Promise<string> {
    const remedy = 'choose another port with --port, or omit the flag to use a free port';
    const address = { host: loopback, port: this.#options.port };
    this.#server = await startHttpServer(address, remedy, (request, response) => this.#respond(request, response));
    this.#sendAlive();
    return `http://${loopback}:${this.#server.port}/`;
  }

  /** Sends information about the cluster or directory, and warnings, to all browsers. */
  showPlace(place: PlaceMessage): void {
    this.#place = place;
    for (const stream of this.#streams) send(stream, 'place', place);
  }

  async close(): Promise<void> {
    this.#timer?.cancel();
    this.#aliveTimer?.cancel();
    await this.#server?.close();
  }

  #respond(request: IncomingMessage, response: ServerResponse): void {
    for (const [name, value] of Object.entries(this.#headers)) response.setHeader(name, value);
    const content =
      refusalResponse(request, this.#server?.port ?? 0) ??
      this.#responseTo(URL.parse(request.url ?? '/', 'http://localhost'));
    if (content === 'stream') this.#openStream(request, response);
    else writeResponse(request, response, content);
  }

  /**
   * Returns the response to a request for this address. The address is null if the path in the request is invalid, such
   * as `//`.
   */
  #responseTo(address: URL | null): HttpResponse | 'stream' {
    if (!address) return textResponse(400, 'the path of the request is invalid; the page is at /');
    const { pathname, searchParams } = address;
    switch (pathname) {
      case '/':
        return { status: 200, contentType: 'text/html; charset=utf-8', body: this.#withStartData() };
      case '/api/list':
        return jsonResponse(200, this.#list(searchParams));
      case '/api/resource': {
        const detail = this.#detail(searchParams.get('id') ?? '');
        return jsonResponse(detail ? 200 : 404, detail ?? { problem: 'the resource does not exist' });
      }
      case '/api/changes':
        return 'stream';
      default:
        return textResponse(404, 'not found; the page is at /');
    }
  }

  #withStartData(): string {
    const start: StartData = { list: this.#options.model.list({ text: '' }, 0, startRows), place: this.#place };
    // Escapes `<`, so that no text in the JSON can end the HTML element around the JSON.
    const json = JSON.stringify(start).replaceAll('<', '\\u003c');
    return this.#options.html.replace(startElement, () => `${startElement}${json}`);
  }

  #list(parameters: URLSearchParams) {
    const filter: ListFilter = {
      kind: kindNames.find((kind) => kind === parameters.get('kind')),
      tone: tones.find((tone) => tone === parameters.get('tone')),
      text: parameters.get('text') ?? '',
    };
    const offset = Math.max(0, Number.parseInt(parameters.get('offset') ?? '', 10) || 0);
    const limit = Math.max(0, Number.parseInt(parameters.get('limit') ?? '', 10) || 0);
    return this.#options.model.list(filter, offset, Math.min(limit, maxRows));
  }

  #detail(id: string) {
    const resource = this.#options.model.find(id);
    return resource && detailOf(resource, this.#options.flags);
  }

  #openStream({ method }: IncomingMessage, response: ServerResponse): void {
    response.writeHead(200, { 'Content-Type': 'text/event-stream; charset=utf-8' });
    if (method === 'HEAD') {
      response.end();
      return;
    }
    this.#streams.add(response);
    response.on('close', () => this.#streams.delete(response));
    send(response, 'place', this.#place);
    // Tells the page to read all its data again, because it may have missed changes while the connection was lost.
    send(response, 'change', {});
  }

  /** Sends an empty keep-alive message to all pages now, and then every `aliveMs`. */
  #sendAlive(): void {
    for (const stream of this.#streams) send(stream, 'alive', {});
    this.#aliveTimer = this.#options.clock.after(aliveMs, () => this.#sendAlive());
  }

  #collect(changed: readonly string[]): void {
    // If no page is connected, no changes are recorded, because a page that connects later reads all its data.
    if (this.#streams.size === 0) return;
    for (const id of changed) this.#changed.add(id);
    const { clock } = this.#options;
    const waitMs = this.#sentMs + shortestIntervalMs - clock.monotonic();
    this.#timer ??= clock.after(Math.max(0, waitMs), () => this.#sendChanges());
  }

  #sendChanges(): void {
    this.#timer = undefined;
    this.#sentMs = this.#options.clock.monotonic();
    const message: ChangeMessage = this.#changed.size > maxNamed ? {} : { changed: [...this.#changed] };
    this.#changed = new Set();
    for (const stream of this.#streams) send(stream, 'change', message);
  }
}

/** Returns a Content-Security-Policy that allows only the script and styles in this HTML. */
function securityPolicy(html: string): string {
  const hashesOf = (element: RegExp) =>
    [...html.matchAll(element)].map(
      ([, text = '']) => ` 'sha256-${createHash('sha256').update(text).digest('base64')}'`,
    );
  return [
    "default-src 'none'",
    `script-src${hashesOf(/<script type="module">([\s\S]*?)<\/script>/g).join('')}`,
    `style-src${hashesOf(/<style>([\s\S]*?)<\/style>/g).join('')}`,
    ...["connect-src 'self'", 'img-src data:', "base-uri 'none'", "frame-ancestors 'none'", "form-action 'none'"],
  ].join('; ');
}

/**
 * Returns the response to a request that is not allowed, or undefined if the request is allowed. `Host` and `Origin`
 * must name the server's port, unless it is port 80, the default port of HTTP.
 */
export function refusalResponse(
  request: Pick<IncomingMessage, 'method' | 'headers'>,
  port: number,
): HttpResponse | undefined {
  const { headers } = request;
  const names = ['127.0.0.1', 'localhost', '[::1]'];
  const hosts = [...names.map((name) => `${name}:${port}`), ...(port === 80 ? names : [])];
  const advice = `open http://${loopback}:${port}/`;
  if (!hosts.includes(headers.host ?? ''))
    return textResponse(403, `the host ${headers.host} is not allowed; ${advice}`);
  if (headers.origin !== undefined && !hosts.includes(headers.origin.replace(/^http:\/\//, ''))) {
    return textResponse(403, `requests from pages on ${headers.origin} are not allowed; ${advice}`);
  }
  const { 'sec-fetch-site': site, 'sec-fetch-mode': mode } = headers;
  if ((site === 'cross-site' || site === 'same-site') && mode !== 'navigate') {
    return textResponse(403, `requests from pages on other websites are not allowed; ${advice}`);
  }
  return methodRefusal(request);
}

function jsonResponse(status: number, value: unknown): HttpResponse {
  return { status, contentType: 'application/json; charset=utf-8', body: JSON.stringify(value) };
}

function send(stream: ServerResponse, event: string, data: PlaceMessage | ChangeMessage): void {
  if (stream.writableLength > maxUnsentBytes) stream.destroy();
  else stream.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
}

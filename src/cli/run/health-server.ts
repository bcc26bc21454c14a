/**
 * HTTP server for the kubelet and Prometheus: `/healthz` (the loops of the operator run), `/readyz` (the operator can work, as leader or
 * not) and `/metrics`. It only reads.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { failure } from '../../base/errors.ts';

export interface HealthServerOptions {
  /** `HOST:PORT` or `:PORT`, with an IPv6 host in brackets. Port 0 takes a free port. */
  readonly listen: string;
  /** Sentences about loops that have stopped and need a restart. Empty if all loops run. */
  readonly unhealthy: () => readonly string[];
  /** Sentences about what keeps the operator from its work. Empty if it is ready. */
  readonly unready: () => readonly string[];
  readonly metrics: { readonly contentType: string; render(): Promise<string> };
}

export interface HealthServer {
  readonly host: string;
  readonly port: number;
  close(): Promise<void>;
}

interface Answer {
  readonly status: number;
  readonly body: string;
  readonly contentType?: string;
}

/** Resolves when the server listens. Throws `cli.listen` if the address is malformed or in use. */
export async function startHealthServer(options: HealthServerOptions): Promise<HealthServer> {
  const address = parseListenAddress(options.listen);
  const server = createServer({ requestTimeout: 10_000, headersTimeout: 10_000 }, (request, response) => {
    void respond(options, request, response);
  });
  server.maxConnections = 100;
  await listen(server, address, options.listen);
  const { address: host, port } = server.address() as AddressInfo;
  return { host, port, close: () => close(server) };
}

async function respond(
  options: HealthServerOptions,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { status, body, contentType } = await answer(options, request);
  response.writeHead(status, {
    'Content-Type': contentType ?? 'text/plain; charset=utf-8',
    'Content-Length': Buffer.byteLength(body),
    ...(status === 405 && { Allow: 'GET, HEAD' }),
  });
  response.end(request.method === 'HEAD' ? undefined : body);
}

async function answer({ unhealthy, unready, metrics }: HealthServerOptions, request: IncomingMessage): Promise<Answer> {
  if (request.method !== 'GET' && request.method !== 'HEAD')
    return { status: 405, body: 'allowed methods: GET, HEAD\n' };
  switch ((request.url ?? '/').split('?', 1)[0]) {
    case '/healthz':
      return verdict('not healthy', unhealthy());
    case '/readyz':
      return verdict('not ready', unready());
    case '/metrics':
      return renderMetrics(metrics);
    default:
      return { status: 404, body: 'known paths: /healthz, /readyz, /metrics\n' };
  }
}

function verdict(what: string, reasons: readonly string[]): Answer {
  if (reasons.length === 0) return { status: 200, body: 'ok\n' };
  return { status: 503, body: reasons.map((reason) => `${what}: ${reason}\n`).join('') };
}

async function renderMetrics(metrics: HealthServerOptions['metrics']): Promise<Answer> {
  try {
    return { status: 200, body: await metrics.render(), contentType: metrics.contentType };
  } catch {
    return { status: 500, body: 'the metrics cannot be rendered\n' };
  }
}

function parseListenAddress(listen: string): { readonly host: string | undefined; readonly port: number } {
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]]*)):(\d{1,5})$/.exec(listen);
  const port = Number(match?.[3]);
  if (!match || port > 65_535) {
    throw failure(
      'stall',
      'cli.listen',
      `"${listen}" is not an address to listen on: write HOST:PORT such as 127.0.0.1:8080, or :8080 for all interfaces`,
    );
  }
  return { host: match[1] ?? (match[2] || undefined), port };
}

function listen(server: Server, address: ReturnType<typeof parseListenAddress>, text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (cause) => {
      const message = `cannot listen on ${text}: ${cause.message}; free the port or choose another address`;
      reject(failure('stall', 'cli.listen', message, { cause }));
    });
    server.listen({ port: address.port, host: address.host }, resolve);
  });
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}

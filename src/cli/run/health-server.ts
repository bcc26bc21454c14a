/** HTTP server for the kubelet and Prometheus: `/healthz`, `/readyz` and `/metrics`. */

import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { failure } from '../../base/errors.ts';
import type { ListenAddress } from '../../base/flag-values.ts';

export interface HealthServerOptions {
  /** Address of the server. Port 0 takes a free port. */
  readonly listen: ListenAddress;
  /**
   * Returns one sentence for each background loop that has stopped. If any loop has stopped, the health check fails,
   * and the kubelet restarts the container.
   */
  readonly unhealthy: () => readonly string[];
  /** Returns one sentence for each problem that prevents the operator's work. */
  readonly unready: () => readonly string[];
  readonly metrics: { readonly contentType: string; render(): Promise<string> };
}

export type HealthServer = Awaited<ReturnType<typeof startHealthServer>>;

interface Answer {
  readonly status: number;
  readonly body: string;
  readonly contentType?: string;
}

/** Starts the server, and resolves when it listens. Throws `cli.listen` if the address cannot be used. */
export async function startHealthServer(options: HealthServerOptions) {
  const server = createServer({ requestTimeout: 10_000, headersTimeout: 10_000 }, (request, response) => {
    void respond(options, request, response);
  });
  server.maxConnections = 100;
  await listen(server, options.listen);
  const { address: host, port } = server.address() as AddressInfo;
  return {
    ...{ host, port },
    close: async () => {
      server.closeAllConnections();
      await server[Symbol.asyncDispose]();
    },
  };
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

async function listen(server: Server, { host, port }: ListenAddress): Promise<void> {
  // If Node gets no host name, it listens on all IPv4 and IPv6 addresses.
  server.listen(host === '0.0.0.0' ? { port } : { host, port });
  await once(server, 'listening').catch((cause: Error) => {
    const message = `cannot listen on ${host}:${port}: ${cause.message}; free the port or choose another address`;
    throw failure('stall', 'cli.listen', message, { cause });
  });
}

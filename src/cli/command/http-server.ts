/** HTTP server for commands. It answers only GET and HEAD requests. */

import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { failure } from '../../base/errors.ts';
import type { ListenAddress } from '../../base/flag-values.ts';

export interface HttpServer extends ListenAddress {
  close(): Promise<void>;
}

export interface HttpResponse {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
}

/** Maximum number of open connections. When a client opens one more, the server closes the oldest connection. */
const maxConnections = 100;

/**
 * Starts a server, and resolves when it is listening. Port 0 means any free port. Throws the error `cli.listen` if the
 * address cannot be used.
 * @param remedy advice for users if the address cannot be used
 */
export async function startHttpServer(
  { host, port }: ListenAddress,
  remedy: string,
  respond: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<HttpServer> {
  const server = createServer({ requestTimeout: 10_000, headersTimeout: 10_000 }, respond);
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => {
    const [oldest] = sockets;
    // Closes the oldest connection instead of refusing the new one, so that many idle connections cannot make the
    // kubelet's probes fail.
    if (oldest && sockets.size >= maxConnections) {
      sockets.delete(oldest);
      oldest.destroy();
    }
    sockets.add(socket.once('close', () => sockets.delete(socket)));
  });
  // Without a hostname, Node listens on all IPv4 and IPv6 addresses.
  server.listen(host === '0.0.0.0' ? { port } : { host, port });
  await once(server, 'listening').catch((cause: Error) => {
    throw failure('stall', 'cli.listen', `cannot listen on ${host}:${port}: ${cause.message}; ${remedy}`, { cause });
  });
  const address = server.address() as AddressInfo;
  return {
    ...{ host: address.address, port: address.port },
    close: async () => {
      server.closeAllConnections();
      await server[Symbol.asyncDispose]();
    },
  };
}

export function textResponse(status: number, text: string): HttpResponse {
  return { status, contentType: 'text/plain; charset=utf-8', body: `${text}\n` };
}

/** Returns the response to a request with a method other than GET and HEAD. Returns undefined for GET and HEAD. */
export function methodRefusal({ method }: Pick<IncomingMessage, 'method'>): HttpResponse | undefined {
  return method === 'GET' || method === 'HEAD' ? undefined : textResponse(405, 'allowed methods: GET, HEAD');
}

export function writeResponse(
  { method }: IncomingMessage,
  response: ServerResponse,
  { status, contentType, body }: HttpResponse,
): void {
  response.writeHead(status, {
    'Content-Type': contentType,
    'Content-Length': Buffer.byteLength(body),
    ...(status === 405 && { Allow: 'GET, HEAD' }),
  });
  response.end(method === 'HEAD' ? undefined : body);
}

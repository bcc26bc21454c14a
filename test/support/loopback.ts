/**
 * Servers on the loopback interface: scripted HTTP and HTTPS servers, and a proxy that supports CONNECT. The servers
 * keep idle connections open. Otherwise, a server could close a connection just when a slow test reuses it.
 */
import { once } from 'node:events';
import {
  createServer as createHttpServer,
  type IncomingMessage,
  type RequestListener,
  type ServerResponse,
} from 'node:http';
import { createServer } from 'node:https';
import { type AddressInfo, connect, type Server, type Socket } from 'node:net';
import { generate } from 'selfsigned';
import { onTestFinished } from 'vitest';

export interface Certificate {
  readonly cert: string;
  readonly key: string;
}

/** Creates a self-signed certificate, which is its own certificate authority. */
export async function selfSigned(
  names: readonly string[],
  validity?: { readonly from: Date; readonly to: Date },
): Promise<Certificate> {
  const altNames = names.map((name) =>
    /^[\d.]+$/.test(name) ? { type: 7 as const, ip: name } : { type: 2 as const, value: name },
  );
  const pems = await generate([{ name: 'commonName', value: names[0] ?? 'test' }], {
    keyType: 'ec',
    algorithm: 'sha256',
    ...(validity ? { notBeforeDate: validity.from, notAfterDate: validity.to } : {}),
    extensions: [
      { name: 'basicConstraints', cA: true },
      { name: 'subjectAltName', altNames },
    ],
  });
  return { cert: pems.cert, key: pems.private };
}

export interface Loopback extends AsyncDisposable {
  readonly port: number;
  /** Sockets accepted by the server so far. */
  readonly sockets: readonly Socket[];
}

async function listen(server: Server): Promise<Loopback> {
  const sockets: Socket[] = [];
  server.on('connection', (socket: Socket) => {
    sockets.push(socket);
    socket.on('error', () => {});
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    sockets,
    async [Symbol.asyncDispose]() {
      server.close();
      for (const socket of sockets) socket.destroy();
      await once(server, 'close');
    },
  };
}

/** Starts an HTTP server that runs until the end of the test. Returns its address. */
export async function serve(listener: RequestListener): Promise<string> {
  const server = createHttpServer({ keepAliveTimeout: 0 }, listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close().closeAllConnections());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

export function httpsServer(
  certificate: Certificate,
  handle: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<Loopback> {
  return listen(createServer({ cert: certificate.cert, key: certificate.key, keepAliveTimeout: 0 }, handle));
}

export interface Proxy extends Loopback {
  /** Requested tunnels, each with the target address and the client's credentials. */
  readonly tunnels: { readonly target: string; readonly authorization: string | undefined }[];
}

/** Starts a proxy that connects every tunnel to `targetPort`, or responds with the status `refusal`. */
export async function connectProxy(targetPort: number, refusal?: number): Promise<Proxy> {
  const tunnels: { target: string; authorization: string | undefined }[] = [];
  const server = createHttpServer((_request, response) => response.writeHead(400).end());
  server.on('connect', (request, socket) => {
    tunnels.push({ target: request.url ?? '', authorization: request.headers['proxy-authorization'] });
    socket.on('error', () => {});
    if (refusal !== undefined) {
      socket.end(`HTTP/1.1 ${refusal} No\r\n\r\n`);
      return;
    }
    const upstream = connect(targetPort, '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
      upstream.pipe(socket).pipe(upstream);
    });
    upstream.on('error', () => socket.destroy());
  });
  return Object.assign(await listen(server), { tunnels });
}

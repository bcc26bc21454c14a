/** Serves the simulated service over HTTPS. On request, it omits or truncates responses, or resets connections. */
import type { Buffer } from 'node:buffer';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { Clock, Timer } from '../src/base/clock.ts';
import { PieceMemory } from './base/piece-memory.ts';
import { control, controlPath, isControl } from './control.ts';
import { deliver } from './delivery.ts';
import type { RequestToken, ServiceModel } from './model.ts';
import type { ServiceRequest } from './requests/call.ts';

export interface ServerOptions {
  readonly model: ServiceModel;
  readonly clock: Clock;
  /** Time on the monotonic clock, in ms, at which the service started. Default: now. */
  readonly startedAtMs?: number;
  readonly host: string;
  /** Port, or 0 for any free port. */
  readonly port: number;
  readonly cert: string;
  readonly key: string;
}

export interface SimulatorServer {
  readonly baseURL: string;
  readonly controlURL: string;
  /** Returns the service's time in ms since the epoch, with fractions. This time never goes backwards. */
  nowMs(): number;
  /** Closes all connections. Resolves when the port is free and the journal is complete. */
  close(): Promise<void>;
}

/** Maximum length of a request body in bytes. All valid requests are shorter. */
const maxBodyBytes = 1024 * 1024;

/** Starts the server. Rejects if the address cannot be used. */
export async function startServer(options: ServerOptions): Promise<SimulatorServer> {
  const { model, clock, startedAtMs = clock.monotonic(), host, port, cert, key } = options;
  const offsetMs = model.startMs - startedAtMs;
  const nowMs = () => clock.monotonic() + offsetMs;
  const server = createServer({ cert, key, keepAlive: true, noDelay: true });
  server.requestTimeout = 0;
  server.keepAliveTimeout = 120_000;
  const sockets = rawSocketsOf(server);
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    receive(request, (body) => {
      const { method = 'GET' } = request;
      const { path, headers } = addressed(request);
      const received: ServiceRequest = { method, path, headers, body: body ?? '', isTooLong: body === undefined };
      if (isControl(path)) sendControl(model, received, response, nowMs());
      else serve(received, request, response);
    });
  });
  const searching = new BackgroundSearch(model, clock, nowMs);
  const inFlight = new Set<RequestToken>();
  const memory = new PieceMemory();
  const finish = (token: RequestToken, answered: boolean) => {
    if (inFlight.delete(token)) model.finish(token, nowMs(), answered);
  };
  function serve(received: ServiceRequest, request: IncomingMessage, response: ServerResponse): void {
    const served = model.handle(received, nowMs());
    inFlight.add(served.token);
    const socket = sockets.get(peerOf(request.socket));
    deliver(served, { response, clock, socket, memory, done: (answered) => finish(served.token, answered) });
    searching.goOn();
  }
  server.listen(port, host);
  await once(server, 'listening');
  const origin = `https://${urlHost(host)}:${(server.address() as AddressInfo).port}`;
  return {
    baseURL: origin + model.basePath,
    controlURL: origin + controlPath,
    nowMs,
    async close() {
      searching.stop();
      const closed = once(server, 'close');
      server.close();
      for (const socket of sockets.values()) socket.destroy();
      await closed;
      // Ends the requests in flight, because a request is written to the journal only when it ends.
      for (const token of inFlight) finish(token, false);
    },
  };
}

/** Maximum computing time, in estimated microseconds, that searches use before the server handles the next request. */
const unitsPerTurn = 5_000;
/** Time in ms for which background searches pause when none of them is behind schedule. */
const restMs = 50;

/** Runs searches in short steps, so that requests do not have to wait for a search to end. */
class BackgroundSearch {
  readonly #model: ServiceModel;
  readonly #clock: Clock;
  readonly #nowMs: () => number;
  #next: Timer | undefined;
  #isStopped = false;

  constructor(model: ServiceModel, clock: Clock, nowMs: () => number) {
    this.#model = model;
    this.#clock = clock;
    this.#nowMs = nowMs;
    model.limitTurns(unitsPerTurn);
  }

  /** Continues unfinished searches if there are any. */
  goOn(): void {
    if (!this.#next && !this.#isStopped) this.#wait(0);
  }

  stop(): void {
    this.#isStopped = true;
    this.#next?.cancel();
  }

  #wait(delayMs: number): void {
    this.#next = this.#clock.after(delayMs, () => {
      this.#next = undefined;
      const again = this.#model.search(this.#nowMs());
      if (again !== 'never') this.#wait(again === 'now' ? 0 : restMs);
    });
  }
}

/** Splits a request target, such as `/path` or `https://host/path`, into host and path. */
const targetForm = /^(?:https?:\/\/([^/?]*))?(.*)$/is;

/** Returns the path and headers of a request. The host of an absolute request target replaces the header Host. */
function addressed({ url = '/', headers }: IncomingMessage): Pick<ServiceRequest, 'path' | 'headers'> {
  const [, host = headers.host, path] = targetForm.exec(url) ?? [];
  return { path: path || '/', headers: { ...(headers as ServiceRequest['headers']), host } };
}

function sendControl(model: ServiceModel, request: ServiceRequest, response: ServerResponse, atMs: number): void {
  const { status, headers, body } = control(model, request, atMs);
  response.writeHead(status, headers);
  response.end(body);
}

/**
 * Calls `callback` with the request body. Passes undefined if the body is too long, and `''` if the body is not valid
 * UTF-8.
 */
function receive(request: IncomingMessage, callback: (body: string | undefined) => void): void {
  let pieces: Buffer[] = [];
  let bytes = 0;
  request.on('data', (piece: Buffer) => {
    bytes += piece.length;
    if (bytes <= maxBodyBytes) pieces.push(piece);
    else pieces = [];
  });
  request.on('end', () => callback(bytes > maxBodyBytes ? undefined : pieces.length === 0 ? '' : joined(pieces)));
  // Aborting a request causes an error event. Without a listener, this event would end the process.
  request.on('error', () => {});
}

function joined(pieces: readonly Buffer[]): string {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  try {
    return pieces.map((piece) => decoder.decode(piece, { stream: true })).join('') + decoder.decode();
  } catch (error) {
    if (error instanceof TypeError) return '';
    throw error;
  }
}

/**
 * Returns the TCP connection of each client address. To reset a client's connection, the server resets this TCP
 * connection, because a TLS connection cannot be reset.
 */
function rawSocketsOf(server: Server): ReadonlyMap<string, Socket> {
  const sockets = new Map<string, Socket>();
  server.on('connection', (socket: Socket) => {
    const peer = peerOf(socket);
    sockets.set(peer, socket);
    socket.once('close', () => sockets.delete(peer));
  });
  return sockets;
}

function peerOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress}|${remotePort}`;
}

/** Returns the hostname to use in the server's URLs. */
function urlHost(host: string): string {
  if (host === '0.0.0.0' || host === '') return '127.0.0.1';
  if (host === '::') return '[::1]';
  return host.includes(':') ? `[${host}]` : host;
}

/**
 * The model on a real port: HTTPS alone (5.2), with the connection in hand, so that it can be reset, stalled and cut off. What
 * to answer is the model's; when and how it travels is here.
 */
import type { Buffer } from 'node:buffer';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { Clock, Timer } from '../base/clock.ts';
import type { ServiceRequest } from './call.ts';
import { control, controlPath, isControl } from './control.ts';
import { deliver } from './delivery.ts';
import type { RequestToken, ServiceModel } from './model.ts';
import { PieceMemory } from './piece-memory.ts';

export interface ServerOptions {
  readonly model: ServiceModel;
  readonly clock: Clock;
  /** The clock's monotonic time at the model's start; now where absent. With it the model's time is the machine's wall time. */
  readonly startedAtMs?: number;
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  readonly cert: string;
  readonly key: string;
}

export interface SimulatorServer {
  readonly baseURL: string;
  readonly controlURL: string;
  /** The model's time: ms since the epoch, fractional, never going back. */
  nowMs(): number;
  /** Cuts all connections, and resolves once the port is free and every request is in the journal. */
  close(): Promise<void>;
}

/** Longer than any request of the specification. */
const maxBodyBytes = 1024 * 1024;

/** Starts at once; rejects where the address cannot be had. */
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
      const { method = 'GET', url: path = '/' } = request;
      const headers = request.headers as ServiceRequest['headers'];
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
    const answer = model.handle(received, nowMs());
    inFlight.add(answer.token);
    const socket = sockets.get(peerOf(request.socket));
    deliver(answer, { response, clock, socket, memory, done: (answered) => finish(answer.token, answered) });
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
      // Nobody waits for these any more, and none of them must reach the journal after this.
      for (const token of inFlight) finish(token, false);
    },
  };
}

/** Searches do so much before the next request gets its turn, and as much each time between two requests; units of about 1 µs. */
const unitsPerTurn = 5_000;
/** How often searches that wait for time to pass are taken further. */
const restMs = 50;

/** Takes searches further between requests, so that nobody waits for one of them. */
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

  /** There may be something to do. */
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

function sendControl(model: ServiceModel, request: ServiceRequest, response: ServerResponse, atMs: number): void {
  const { status, headers, body } = control(model, request, atMs);
  response.writeHead(status, headers);
  response.end(body);
}

/**
 * Calls back with the body once it is there; undefined where it is longer than any operation takes, of which nothing is kept. One
 * that is no UTF-8 is no JSON either (4.1), whatever its `Content-Type` says, and counts as empty.
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
  // A client that breaks off in mid-request is the client's affair.
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

/** The connections below TLS by their peer: a TLS socket itself cannot be reset. */
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

/** What stands in a URL for an address to listen on. */
function urlHost(host: string): string {
  if (host === '0.0.0.0' || host === '') return '127.0.0.1';
  if (host === '::') return '[::1]';
  return host.includes(':') ? `[${host}]` : host;
}

/**
 * One TLS connection with undici's HTTP/1.1 client on it: one request at a time, and never a second socket. undici's own Pool would
 * open a connection after the request has been handed over, when the budget's slot is taken already; here the connection comes first
 * (protocol B1), and a request whose connection died meanwhile fails as unsent instead of waiting for the next.
 *
 * Invariant: a request is written at most once. undici calls `onRequestStart` in the same turn as the write.
 */
import { Client, type Dispatcher } from 'undici';
import type { Clock, Timer } from '../../base/clock.ts';
import { TransportError, type TransportRequest, type TransportResponse } from '../transport.ts';
import type { StandingSocket } from './dialer.ts';
import { ResponseHandler } from './response-handler.ts';

/** How long a connection that nobody uses is kept; a shorter time that the service names counts. */
const idleTimeoutMs = 20_000;

export class Connection {
  readonly #socket: StandingSocket;
  readonly #client: Client;
  readonly #clock: Clock;
  readonly #unused: Timer;
  #handedOver = false;

  /** `onGone` is called once, when the connection can carry no more requests. */
  constructor(origin: string, socket: StandingSocket, clock: Clock, onGone: () => void) {
    this.#socket = socket;
    this.#clock = clock;
    this.#unused = clock.after(idleTimeoutMs, this.discard);
    // Whatever comes before the first request, an end included, makes the connection worthless.
    socket.on('readable', this.discard).on('error', this.discard).once('close', onGone);
    socket.unref();
    this.#client = new Client(origin, {
      connect: this.#handOver,
      pipelining: 1,
      allowH2: false,
      // Deadlines are the caller's; these would only be coarser.
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout: idleTimeoutMs,
      keepAliveMaxTimeout: idleTimeoutMs,
    });
  }

  get usable(): boolean {
    return !this.#socket.destroyed && this.#socket.writable;
  }

  /** Fails with a `TransportError`, the signal's reason, or what `beforeWrite` threw. */
  send(request: TransportRequest): Promise<TransportResponse> {
    return new Promise((resolve, reject) => {
      const handler = new ResponseHandler(request, this.#clock, resolve, reject);
      const { method, path, headers, body } = request;
      const options: Dispatcher.DispatchOptions = { method, path, headers: { ...headers }, body: body ?? null };
      this.#client.dispatch(options, handler);
    });
  }

  async destroy(): Promise<void> {
    this.#unused.cancel();
    this.#socket.destroy();
    await this.#client.destroy();
  }

  /** Ends a connection that carries no request. */
  readonly discard = () => {
    this.#unused.cancel();
    this.#socket.destroy();
  };

  /** undici asks for a socket when it has a request to write: the first time it gets ours, and never another. */
  readonly #handOver: NonNullable<Client.Options['connect']> & ((...options: never[]) => void) = (
    _options: unknown,
    callback: (error: Error | null, socket: StandingSocket | null) => void,
  ) => {
    const given = !this.#handedOver && this.usable;
    this.#handedOver = true;
    this.#unused.cancel();
    this.#socket.off('readable', this.discard);
    this.#socket.ref();
    // Not in this turn: undici is in the midst of its own bookkeeping.
    queueMicrotask(() => {
      if (given) callback(null, this.#socket);
      else
        callback(
          new TransportError('connectionLost', 'the connection was closed before the request was written'),
          null,
        );
    });
  };
}

/**
 * TLS connection for one request at a time, based on undici's HTTP/1.1 client. The connection is opened before a
 * request gets permission to be sent (B1), which undici's own pool does not support. Each request is written at most
 * once.
 */
import { Client, type Dispatcher } from 'undici';
import type { Clock, Timer } from '../../base/clock.ts';
import type { SecureSocket } from './dialer.ts';
import { ResponseHandler } from './response-handler.ts';
import type { TransportRequest, TransportResponse } from './transport.ts';
import { TransportError } from './transport-failure.ts';

/** Time in ms after which an unused connection is closed. */
const idleTimeoutMs = 20_000;

export class Connection {
  readonly #socket: SecureSocket;
  readonly #client: Client;
  readonly #clock: Clock;
  readonly #unused: Timer;
  #handedOver = false;

  /**
   * @param onGone called once, when the connection can no longer be used
   */
  constructor(origin: string, socket: SecureSocket, clock: Clock, onGone: () => void) {
    this.#socket = socket;
    this.#clock = clock;
    this.#unused = clock.after(idleTimeoutMs, this.discard);
    // The service sends nothing before the first request. If data arrives before then, the connection cannot be used.
    socket.on('readable', this.discard).on('error', this.discard).once('close', onGone);
    socket.unref();
    this.#client = new Client(origin, {
      connect: this.#handOver,
      pipelining: 1,
      allowH2: false,
      // Disables undici's time limits, because callers set deadlines.
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout: idleTimeoutMs,
      keepAliveMaxTimeout: idleTimeoutMs,
    });
  }

  get usable(): boolean {
    return !this.#socket.destroyed && this.#socket.writable;
  }

  /** Sends a request. Rejects with a `TransportError`, the signal's reason, or the error that `beforeWrite` threw. */
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

  /** Closes a connection that has no request. */
  readonly discard = () => {
    this.#unused.cancel();
    this.#socket.destroy();
  };

  /** Passes the open socket to undici. If undici asks for a second socket, it gets an error. */
  readonly #handOver: NonNullable<Client.Options['connect']> & ((...options: never[]) => void) = (
    _options: unknown,
    callback: (error: Error | null, socket: SecureSocket | null) => void,
  ) => {
    const given = !this.#handedOver && this.usable;
    this.#handedOver = true;
    this.#unused.cancel();
    this.#socket.off('readable', this.discard);
    this.#socket.ref();
    // The callback is deferred, because undici must finish its own bookkeeping first.
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

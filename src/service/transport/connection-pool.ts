/**
 * Pool of connections to one origin, each for one request at a time. The most recently used connection is used first.
 */
import type { Clock } from '../../base/clock.ts';
import { withDeadline } from '../../base/deadline.ts';
import { Connection } from './connection.ts';
import type { Dialer } from './dialer.ts';
import { connectDeadlineMs } from './transport.ts';
import { TransportError } from './transport-failure.ts';

/**
 * Maximum number of connections, equal to the service's limit on concurrent requests (section 8 of docs/service.md).
 */
const maxConnections = 10;

export interface ConnectionPoolOptions {
  readonly origin: string;
  readonly clock: Clock;
  readonly dialer: Dialer;
}

export class ConnectionPool {
  readonly #options: ConnectionPoolOptions;
  readonly #connections = new Set<Connection>();
  readonly #idle: Connection[] = [];
  readonly #opening = new Set<Promise<void>>();
  readonly #closing = new AbortController();
  /** Resolves when a connection is opened, returned or lost, or when the pool is closed. */
  #change = Promise.withResolvers<void>();

  constructor(options: ConnectionPoolOptions) {
    this.#options = options;
  }

  /**
   * Resolves when `wanted` connections (at most `maxConnections`) are open. If an attempt to open a connection fails,
   * resolves if another connection is open, and otherwise rejects.
   */
  async ready(wanted: number, signal: AbortSignal): Promise<void> {
    const target = Math.min(wanted, maxConnections);
    while (this.#connections.size < target) {
      this.#throwIfDone(signal);
      while (this.#connections.size + this.#opening.size < target) this.#open();
      try {
        await Promise.race(this.#opening);
      } catch (error) {
        if (this.#connections.size > 0) return;
        throw error;
      }
    }
  }

  /** Takes a connection for one request. The caller must return the connection. */
  async take(signal: AbortSignal): Promise<Connection> {
    for (;;) {
      this.#throwIfDone(signal);
      const idle = this.#idle.pop();
      if (idle?.usable) return idle;
      if (idle) continue;
      if (this.#connections.size + this.#opening.size < maxConnections) this.#open();
      await Promise.race([...this.#opening, this.#change.promise]);
    }
  }

  /**
   * Opens one more connection. If the pool is full, the new connection replaces the one that has been idle the longest.
   */
  async renew(): Promise<void> {
    this.#closing.signal.throwIfAborted();
    if (this.#connections.size + this.#opening.size >= maxConnections) this.#idle.shift()?.discard();
    await this.#openNow();
  }

  giveBack(connection: Connection): void {
    if (!this.#connections.has(connection)) return;
    if (connection.usable) this.#idle.push(connection);
    else this.#remove(connection);
    this.#wake();
  }

  async close(): Promise<void> {
    this.#closing.abort(new TransportError('closed', 'the client has been closed'));
    this.#wake();
    await Promise.all([...this.#connections].map((connection) => connection.destroy()));
    await Promise.allSettled(this.#opening);
  }

  #throwIfDone(signal: AbortSignal): void {
    signal.throwIfAborted();
    this.#closing.signal.throwIfAborted();
  }

  #open(): void {
    const opening = this.#openNow().finally(() => this.#opening.delete(opening));
    this.#opening.add(opening);
    // Callers that are waiting for this connection get its error from `#opening`. If no caller is waiting, the error
    // must not become an unhandled rejection.
    opening.catch(() => {});
  }

  /**
   * Opens a connection. A caller's signal does not cancel the attempt, because other callers can use the connection.
   */
  async #openNow(): Promise<void> {
    const { origin, clock, dialer } = this.#options;
    const socket = await withDeadline(clock, connectDeadlineMs, this.#closing.signal, (signal) =>
      dialer.dial(new URL(origin), signal),
    );
    const connection: Connection = new Connection(origin, socket, clock, () => this.#remove(connection));
    this.#connections.add(connection);
    this.#idle.push(connection);
    this.#wake();
  }

  #remove(connection: Connection): void {
    this.#connections.delete(connection);
    const index = this.#idle.indexOf(connection);
    if (index >= 0) this.#idle.splice(index, 1);
    this.#wake();
  }

  /** Wakes all callers that are waiting for a connection. A caller that gets none waits again. */
  #wake(): void {
    this.#change.resolve();
    this.#change = Promise.withResolvers();
  }
}

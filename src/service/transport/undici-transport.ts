/** Sends requests over HTTPS (HTTP/1.1) through undici. Each set of credentials has its own transport. */

import type { Clock } from '../../base/clock.ts';
import { getOrAdd } from '../../base/get-or-add.ts';
import { ConnectionPool } from './connection-pool.ts';
import { Dialer, type DialerOptions } from './dialer.ts';
import type { Transport, TransportRequest, TransportResponse } from './transport.ts';
import { TransportError } from './transport-failure.ts';

/**
 * Maximum number of times that a request is moved to another connection because its connection was lost before the
 * request was written.
 */
const maxDeadConnections = 3;

export class UndiciTransport implements Transport {
  readonly #clock: Clock;
  readonly #dialer: Dialer;
  readonly #pools = new Map<string, ConnectionPool>();
  readonly #inFlight = new Set<Promise<unknown>>();
  #closed = false;

  constructor(options: DialerOptions & { readonly clock: Clock }) {
    this.#clock = options.clock;
    this.#dialer = new Dialer(options);
  }

  async ready(origin: string, wanted: number, signal: AbortSignal): Promise<void> {
    await this.#pool(origin).ready(wanted, signal);
  }

  async probe(origin: string): Promise<void> {
    await this.#pool(origin).renew();
  }

  async send(request: TransportRequest): Promise<TransportResponse> {
    const sending = this.#send(this.#pool(request.origin), request);
    this.#inFlight.add(sending);
    try {
      return await sending;
    } finally {
      this.#inFlight.delete(sending);
    }
  }

  async drain(): Promise<void> {
    this.#closed = true;
    await Promise.allSettled(this.#inFlight);
    await this.close();
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all([...this.#pools.values()].map((pool) => pool.close()));
  }

  /**
   * Returns the connection pool for an origin. There are only a few pools, because redirects lead only to allowed
   * hosts.
   */
  #pool(origin: string): ConnectionPool {
    if (this.#closed) throw new TransportError('closed', 'the client has been closed');
    const options = { origin, clock: this.#clock, dialer: this.#dialer };
    return getOrAdd(this.#pools, origin, () => new ConnectionPool(options));
  }

  /**
   * Sends a request. If the connection is lost before the request is written, the request is sent on another
   * connection.
   */
  async #send(pool: ConnectionPool, request: TransportRequest): Promise<TransportResponse> {
    let written = false;
    const beforeWrite = () => {
      const departure = request.beforeWrite();
      written = true;
      return departure;
    };
    for (let dead = 0; ; dead++) {
      const connection = await pool.take(request.signal);
      try {
        return await connection.send({ ...request, beforeWrite });
      } catch (error) {
        const diedUnused = !written && error instanceof TransportError && error.failure === 'connectionLost';
        if (!diedUnused || dead === maxDeadConnections) throw error;
      } finally {
        pool.giveBack(connection);
      }
    }
  }
}

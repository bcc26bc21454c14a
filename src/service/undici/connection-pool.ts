/**
 * The connections to one origin: opened before they are needed, used by one request at a time, the last one used first so that the
 * others can end of themselves.
 *
 * Invariant: never more than `maxConnections`, counting those that are being opened.
 */
import type { Clock } from '../../base/clock.ts';
import { withDeadline } from '../deadline.ts';
import { connectDeadlineMs } from '../operation.ts';
import { TransportError } from '../transport.ts';
import { Connection } from './connection.ts';
import type { StandingSocket } from './dialer.ts';

/** As many as the service answers at once for one access key (chapter 8). */
const maxConnections = 10;

export interface ConnectionPoolOptions {
  readonly origin: string;
  readonly clock: Clock;
  readonly dial: (origin: URL, signal: AbortSignal) => Promise<StandingSocket>;
}

export class ConnectionPool {
  readonly #options: ConnectionPoolOptions;
  readonly #standing = new Set<Connection>();
  readonly #idle: Connection[] = [];
  readonly #opening = new Set<Promise<void>>();
  readonly #closing = new AbortController();
  /** Who waits for a connection to come back. */
  #waiting: (() => void)[] = [];

  constructor(options: ConnectionPoolOptions) {
    this.#options = options;
  }

  /** See `Transport.ready`. */
  async ready(wanted: number, signal: AbortSignal): Promise<void> {
    const target = Math.min(wanted, maxConnections);
    while (this.#standing.size < target) {
      this.#throwIfDone(signal);
      while (this.#standing.size + this.#opening.size < target) this.#open();
      try {
        await Promise.race(this.#opening);
      } catch (error) {
        if (this.#standing.size > 0) return;
        throw error;
      }
    }
  }

  /** A connection for one request; to be given back whatever came of it. */
  async take(signal: AbortSignal): Promise<Connection> {
    for (;;) {
      this.#throwIfDone(signal);
      const idle = this.#idle.pop();
      if (idle?.usable) return idle;
      if (idle) continue;
      if (this.#standing.size + this.#opening.size < maxConnections) this.#open();
      await Promise.race([...this.#opening, this.#comesBack()]);
    }
  }

  /** Opens one more connection; where there are as many as there may be, in the place of the one unused for longest. */
  async renew(): Promise<void> {
    this.#closing.signal.throwIfAborted();
    if (this.#standing.size + this.#opening.size >= maxConnections) this.#idle.shift()?.discard();
    await this.#openNow();
  }

  giveBack(connection: Connection): void {
    if (!this.#standing.has(connection)) return;
    if (connection.usable) this.#idle.push(connection);
    else this.#remove(connection);
    this.#wake();
  }

  async close(): Promise<void> {
    this.#closing.abort(new TransportError('closed', 'the client has been closed'));
    this.#wake();
    await Promise.all([...this.#standing].map((connection) => connection.destroy()));
    await Promise.allSettled(this.#opening);
  }

  #throwIfDone(signal: AbortSignal): void {
    signal.throwIfAborted();
    this.#closing.signal.throwIfAborted();
  }

  #open(): void {
    const opening = this.#openNow().finally(() => this.#opening.delete(opening));
    this.#opening.add(opening);
    // Who waits for it hears of the failure; if nobody does any more, nobody has to.
    opening.catch(() => {});
  }

  /** Not under the signal of any caller: a connection that one of them no longer wants serves the next. */
  async #openNow(): Promise<void> {
    const { origin, clock, dial } = this.#options;
    const socket = await withDeadline(clock, connectDeadlineMs, this.#closing.signal, (signal) =>
      dial(new URL(origin), signal),
    );
    const connection: Connection = new Connection(origin, socket, clock, () => this.#remove(connection));
    this.#standing.add(connection);
    this.#idle.push(connection);
    this.#wake();
  }

  #remove(connection: Connection): void {
    this.#standing.delete(connection);
    const index = this.#idle.indexOf(connection);
    if (index >= 0) this.#idle.splice(index, 1);
    this.#wake();
  }

  #comesBack(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** All of them: who finds nothing waits again. */
  #wake(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resolve of waiting) resolve();
  }
}

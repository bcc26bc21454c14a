/** A watch on the simulated API server. It can end, fail, or stop sending events without an error. */
import type { Clock, Timer } from '../../src/base/clock.ts';
import type { WatchRequest } from '../../src/host/kubernetes/kube-api.ts';
import { type MemoryApiStore, type RequestTarget, type StoreEvent, statusOf } from './memory-api-store.ts';
import type { ProcessGate } from './process-gate.ts';

type Item =
  | { readonly kind: 'line'; readonly line: string }
  | { readonly kind: 'end' }
  | { readonly kind: 'error'; readonly error: unknown };

const bookmarkLeadMs = 2_000;

/** What a watch needs from the simulated API server. */
interface WatchedServer {
  readonly clock: Clock;
  readonly store: MemoryApiStore;
  /** Minimum and maximum time in ms from a change to a resource until the watch sends the event. */
  readonly watchLatencyMs: readonly [number, number];
  spread(range: readonly [number, number]): number;
}

export class MemoryWatch {
  readonly client: string;
  readonly target: RequestTarget;
  readonly fieldSelector: string | undefined;
  readonly #server: WatchedServer;
  readonly #signal: AbortSignal;
  readonly #items: Item[] = [];
  readonly #timers = new Set<Timer>();
  #wake: (() => void) | undefined;
  #lastDueMs = 0;
  #silent = false;
  #over = false;
  onEnd: () => void = () => undefined;

  constructor(server: WatchedServer, client: string, target: RequestTarget, request: WatchRequest) {
    this.#server = server;
    this.client = client;
    this.target = target;
    this.fieldSelector = request.query.fieldSelector;
    this.#signal = request.signal;
    const timeoutMs = Number(request.query.timeoutSeconds ?? 1_800) * 1_000;
    if (request.query.allowWatchBookmarks === 'true' && timeoutMs > bookmarkLeadMs) {
      this.#later(timeoutMs - bookmarkLeadMs, () => this.bookmark());
    }
    this.#later(timeoutMs, () => this.end());
  }

  /** Sends an event to the watch client. A fault can delay, drop or replace the event, or break the watch. */
  push(event: StoreEvent, fault?: WatchFault): void {
    const { type, object } = event;
    switch (fault?.kind) {
      case undefined:
        this.#send({ kind: 'line', line: JSON.stringify({ type, object }) });
        break;
      case 'delay':
        this.#send({ kind: 'line', line: JSON.stringify({ type, object }) }, fault.delayMs);
        break;
      case 'drop':
        break;
      case 'silence':
        this.silence();
        break;
      case 'cut':
        this.break(new Error('read ECONNRESET'));
        break;
      case 'badLine':
        this.#send({ kind: 'line', line: '{"type":' });
        break;
      case 'expired':
        this.expire();
        break;
    }
  }

  /** Sends a bookmark (an event without an object) with the current resource version. */
  bookmark(): void {
    const metadata = { resourceVersion: String(this.#server.store.revision) };
    this.#send({ kind: 'line', line: JSON.stringify({ type: 'BOOKMARK', object: { metadata } }) });
  }

  /** Ends the watch, as a real API server does after the timeout. */
  end(): void {
    this.#send({ kind: 'end' });
  }

  /** Reports that the watch's resource version is too old, and ends the watch. */
  expire(): void {
    const object = statusOf(410, 'Expired', 'too old resource version');
    this.#send({ kind: 'line', line: JSON.stringify({ type: 'ERROR', object }) });
    this.end();
  }

  break(error: unknown): void {
    this.#send({ kind: 'error', error });
  }

  silence(): void {
    this.#silent = true;
  }

  /** Ends the watch on the server. The client gets no event. */
  discard(): void {
    if (this.#over) return;
    this.#over = true;
    for (const timer of this.#timers) timer.cancel();
    this.onEnd();
  }

  /** Returns the watch events as lines. While the process is frozen, `gate` holds the events back. */
  async *lines(gate: ProcessGate): AsyncGenerator<string, void> {
    const onAbort = () => {
      this.#items.unshift({ kind: 'error', error: this.#signal.reason });
      this.#wake?.();
    };
    this.#signal.addEventListener('abort', onAbort, { once: true });
    if (this.#signal.aborted) onAbort();
    try {
      for (;;) {
        const item = this.#items.shift() ?? (await this.#next(gate));
        if (item?.kind === 'end') return;
        if (item?.kind === 'error') throw item.error;
        if (item) yield item.line;
      }
    } finally {
      this.#signal.removeEventListener('abort', onAbort);
      this.discard();
    }
  }

  #next(gate: ProcessGate): Promise<Item | undefined> {
    return new Promise((resolve) => {
      this.#wake = () => {
        this.#wake = undefined;
        gate.deliver(() => resolve(this.#items.shift()));
      };
    });
  }

  #send(item: Item, extraDelayMs = 0): void {
    const server = this.#server;
    const now = server.clock.monotonic();
    const dueMs = Math.max(this.#lastDueMs, now + server.spread(server.watchLatencyMs) + extraDelayMs);
    this.#lastDueMs = dueMs;
    this.#later(dueMs - now, () => {
      if (this.#silent || this.#over) return;
      this.#items.push(item);
      this.#wake?.();
    });
  }

  #later(delayMs: number, action: () => void): void {
    const timer = this.#server.clock.after(delayMs, () => {
      this.#timers.delete(timer);
      action();
    });
    this.#timers.add(timer);
  }
}

/** Fault of one event sent by a watch. */
export type WatchFault =
  | { readonly kind: 'drop' }
  /** Delays the event by `delayMs`. The events after it also wait. */
  | { readonly kind: 'delay'; readonly delayMs: number }
  /** The connection is reset, and the event is lost. */
  | { readonly kind: 'cut' }
  /** The watch sends nothing more, but does not end. */
  | { readonly kind: 'silence' }
  | { readonly kind: 'badLine' }
  /** The watch sends an `ERROR` event with code 410 Gone. */
  | { readonly kind: 'expired' };

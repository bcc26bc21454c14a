/**
 * One watch of the API server in memory: events on their way to one reader, in order, each with its delay; bookmarks; and the ways in
 * which a watch ends, breaks or falls silent.
 */
import { unreachable } from '../../src/base/assert.ts';
import type { Timer } from '../../src/base/clock.ts';
import type { WatchRequest } from '../../src/host/kubernetes/kube-api.ts';
import type { MemoryApiClient, MemoryApiServer, WatchFault } from './memory-api-server.ts';
import { type StoreEvent, statusOf, type Target } from './memory-api-store.ts';

/** What the reader gets next. */
type Item =
  | { readonly kind: 'line'; readonly line: unknown }
  | { readonly kind: 'end' }
  | { readonly kind: 'error'; readonly error: unknown };

const bookmarkLeadMs = 2_000;

export class MemoryWatch {
  readonly client: string;
  readonly target: Target;
  readonly fieldSelector: string | undefined;
  readonly #server: MemoryApiServer;
  readonly #signal: AbortSignal;
  readonly #items: Item[] = [];
  readonly #timers = new Set<Timer>();
  #wake: (() => void) | undefined;
  #lastDueMs = 0;
  #silent = false;
  #over = false;
  onEnd: () => void = () => undefined;

  constructor(server: MemoryApiServer, client: string, target: Target, request: WatchRequest) {
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

  /** Sends an event on its way, or what the fault makes of it. */
  push(event: StoreEvent, fault?: WatchFault): void {
    const { type, object } = event;
    switch (fault?.kind) {
      case undefined:
        this.#send({ kind: 'line', line: { type, object } });
        break;
      case 'delay':
        this.#send({ kind: 'line', line: { type, object } }, fault.delayMs);
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
        this.break(new SyntaxError('Unexpected token in JSON'));
        break;
      case 'expired':
        this.expire();
        break;
      default:
        unreachable(fault);
    }
  }

  /** Tells the reader how far it has come, as a server does now and then. */
  bookmark(): void {
    const metadata = { resourceVersion: String(this.#server.store.revision) };
    this.#send({ kind: 'line', line: { type: 'BOOKMARK', object: { metadata } } });
  }

  /** Ends as a server ends a watch whose time is up. */
  end(): void {
    this.#send({ kind: 'end' });
  }

  /** Tells the reader that it has fallen too far behind, and ends. */
  expire(): void {
    this.#send({ kind: 'line', line: { type: 'ERROR', object: statusOf(410, 'Expired', 'too old resource version') } });
    this.end();
  }

  break(error: unknown): void {
    this.#send({ kind: 'error', error });
  }

  /** From now on nothing is said, nor does it end. */
  silence(): void {
    this.#silent = true;
  }

  /** Forgets the watch; its reader, if there is one, hears nothing of it. */
  discard(): void {
    if (this.#over) return;
    this.#over = true;
    for (const timer of this.#timers) timer.cancel();
    this.onEnd();
  }

  /** What the reader reads. */
  async *lines(client: MemoryApiClient): AsyncGenerator<unknown, void> {
    const onAbort = () => {
      this.#items.unshift({ kind: 'error', error: this.#signal.reason });
      this.#wake?.();
    };
    this.#signal.addEventListener('abort', onAbort, { once: true });
    if (this.#signal.aborted) onAbort();
    try {
      for (;;) {
        const item = this.#items.shift() ?? (await this.#next(client));
        if (item?.kind === 'end') return;
        if (item?.kind === 'error') throw item.error;
        if (item) yield item.line;
      }
    } finally {
      this.#signal.removeEventListener('abort', onAbort);
      this.discard();
    }
  }

  #next(client: MemoryApiClient): Promise<Item | undefined> {
    return new Promise((resolve) => {
      this.#wake = () => {
        this.#wake = undefined;
        client.deliver(() => resolve(this.#items.shift()));
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

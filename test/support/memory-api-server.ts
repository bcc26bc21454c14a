/**
 * An API server in memory, behind the port that the operator speaks to one through: latency, watches, clients that can be cut off,
 * and faults, all on the clock and the random numbers that it is given, so that a history repeats exactly.
 *
 * People and other controllers act through `create`, `patch` and `remove`, which take effect at once. Processes act through
 * `client(name)`: each request takes effect somewhere on its way, and its answer comes later, or never.
 */
import type { Clock } from '../../src/base/clock.ts';
import type { Random } from '../../src/base/random.ts';
import type {
  KubeApi,
  KubeRequest,
  KubeResponse,
  WatchRequest,
  WatchResponse,
} from '../../src/host/kubernetes/kube-api.ts';
import {
  concerns,
  copyOf,
  isNamed,
  MemoryApiStore,
  parsePath,
  refuse,
  type StoredObject,
  type StoreEvent,
  statusOf,
  type Target,
} from './memory-api-store.ts';
import { MemoryWatch } from './memory-watch.ts';

export interface RequestInfo extends Target {
  readonly client: string;
  readonly method: KubeRequest['method'] | 'WATCH';
  /** Counts the requests of all clients, from 1. */
  readonly sequence: number;
  readonly body: unknown;
}

/** What goes wrong with a request: `before` it has taken effect, or `after`. */
export type RequestFault =
  | {
      readonly kind: 'status';
      readonly status: number;
      readonly when: 'before' | 'after';
      readonly retryAfterSeconds?: number;
    }
  | { readonly kind: 'reset'; readonly when: 'before' | 'after' }
  /** No answer until the client gives up. */
  | { readonly kind: 'stall'; readonly when: 'before' | 'after' }
  | { readonly kind: 'delay'; readonly delayMs: number };

export interface WatchEventInfo {
  readonly client: string;
  readonly event: StoreEvent;
}

/** What goes wrong with one event on its way to one watch. */
export type WatchFault =
  | { readonly kind: 'drop' }
  /** Later events wait behind it. */
  | { readonly kind: 'delay'; readonly delayMs: number }
  /** The connection is reset instead. */
  | { readonly kind: 'cut' }
  /** Nothing is said any more, and nothing ends. */
  | { readonly kind: 'silence' }
  | { readonly kind: 'badLine' }
  /** An `ERROR` event with a 410. */
  | { readonly kind: 'expired' };

export interface RequestRecord {
  readonly atMs: number;
  readonly client: string;
  readonly method: RequestInfo['method'];
  readonly path: string;
  /** What the server answered, had it reached the client; undefined where a fault came before. */
  readonly status: number | undefined;
}

export interface MemoryApiServerOptions {
  readonly clock: Clock;
  readonly random: Random;
  /** Least and most milliseconds from a request to its answer; [1, 5] unless told. */
  readonly latencyMs?: readonly [number, number];
  /** Least and most milliseconds from a change to its event at a watch; [1, 5] unless told. */
  readonly watchLatencyMs?: readonly [number, number];
  /** How long after an owner its dependants go; never unless told. */
  readonly garbageCollectionMs?: number;
}

export class MemoryApiServer {
  readonly store = new MemoryApiStore();
  readonly requests: RequestRecord[] = [];
  readonly #options: MemoryApiServerOptions;
  readonly #watches = new Set<MemoryWatch>();
  #sequence = 0;
  /** Asked for each request on its arrival. */
  onRequest: (info: RequestInfo) => RequestFault | undefined = () => undefined;
  /** Asked for each event and each watch that it concerns. */
  onWatchEvent: (info: WatchEventInfo) => WatchFault | undefined = () => undefined;

  constructor(options: MemoryApiServerOptions) {
    this.#options = options;
    this.store.onEvent = (event) => this.#publish(event);
  }

  /** The connection of one process. */
  client(name: string): MemoryApiClient {
    return new MemoryApiClient(this, name);
  }

  /** Watches that stand. */
  get watches(): ReadonlySet<MemoryWatch> {
    return this.#watches;
  }

  /** Creates an object, whatever its kind; throws where the server refuses. `path` is that of its collection. */
  create(path: string, object: object): StoredObject {
    return this.#act('POST', path, object);
  }

  /** A merge patch on the newest version. */
  patch(path: string, patch: object): StoredObject {
    return this.#act('PATCH', path, patch);
  }

  remove(path: string): void {
    this.#act('DELETE', path, undefined);
  }

  /** The newest version; undefined where there is none. */
  get(path: string): StoredObject | undefined {
    const target = parsePath(path);
    return target && this.store.find(target.collection, target.namespace ?? '', target.name ?? '');
  }

  /** Forgets the history: the next watch that goes on from before is told 410. */
  compact(): void {
    this.store.compact();
  }

  /** Milliseconds between the two, by chance. */
  spread([least, most]: readonly [number, number]): number {
    return least + (most - least) * this.#options.random.next();
  }

  get clock(): Clock {
    return this.#options.clock;
  }

  get latencyMs(): readonly [number, number] {
    return this.#options.latencyMs ?? [1, 5];
  }

  get watchLatencyMs(): readonly [number, number] {
    return this.#options.watchLatencyMs ?? [1, 5];
  }

  /** One request of a client on its way: when it takes effect and when it is answered, or how it ends. */
  admit(
    client: string,
    method: RequestInfo['method'],
    request: { readonly path: string; readonly body?: unknown },
  ): RequestFault | undefined {
    const target = parsePath(request.path);
    const sequence = ++this.#sequence;
    return target && this.onRequest({ ...target, client, method, sequence, body: request.body });
  }

  record(client: string, method: RequestInfo['method'], path: string, status: number | undefined): void {
    this.requests.push({ atMs: this.clock.monotonic(), client, method, path, status });
  }

  openWatch(client: MemoryApiClient, request: WatchRequest): MemoryWatch | KubeResponse {
    const target = parsePath(request.path);
    if (!target) return refuse(404, 'NotFound', 'the server could not find the requested resource');
    const revision = Number(request.query.resourceVersion ?? this.store.revision);
    const backlog = this.store.since(revision, target.collection, target.namespace);
    if (!backlog) return refuse(410, 'Expired', `too old resource version: ${revision}`);
    const watch = new MemoryWatch(this, client.name, target, request);
    this.#watches.add(watch);
    watch.onEnd = () => this.#watches.delete(watch);
    for (const event of backlog) this.#offer(watch, event);
    return watch;
  }

  #publish(event: StoreEvent): void {
    for (const watch of [...this.#watches]) {
      if (concerns(event, watch.target.collection, watch.target.namespace)) this.#offer(watch, event);
    }
    const { garbageCollectionMs } = this.#options;
    if (event.type !== 'DELETED' || garbageCollectionMs === undefined) return;
    this.clock.after(garbageCollectionMs, () => this.store.collectOwnedBy(event.object.metadata.uid));
  }

  #offer(watch: MemoryWatch, event: StoreEvent): void {
    if (!isNamed(event.object, watch.fieldSelector)) return;
    watch.push(event, this.onWatchEvent({ client: watch.client, event }));
  }

  #act(method: 'POST' | 'PATCH' | 'DELETE', path: string, body: unknown): StoredObject {
    const { status, body: answer } = this.store.handle({ method, path, body: copyOf(body) }, this.clock.now());
    if (status > 299) throw new Error(`${method} ${path}: ${status} ${JSON.stringify(answer)}`);
    return answer as StoredObject;
  }
}

/** What a process holds of the server. */
export class MemoryApiClient implements KubeApi {
  readonly name: string;
  readonly #server: MemoryApiServer;
  #cutOff = false;
  #frozen: (() => void)[] | undefined;
  #dead = false;

  constructor(server: MemoryApiServer, name: string) {
    this.#server = server;
    this.name = name;
  }

  /** Nothing gets through any more, in either direction, and nothing says so: watches fall silent, requests get no answer. */
  partition(): void {
    this.#cutOff = true;
    for (const watch of this.#server.watches) if (watch.client === this.name) watch.silence();
  }

  heal(): void {
    this.#cutOff = false;
  }

  /** The process is stopped, as by SIGSTOP: answers and events wait for `thaw`. Requests that are on their way take effect. */
  freeze(): void {
    this.#frozen ??= [];
  }

  thaw(): void {
    const waiting = this.#frozen ?? [];
    this.#frozen = undefined;
    for (const deliver of waiting) deliver();
  }

  /** The process is gone, as by SIGKILL: it hears nothing any more. Requests that are on their way take effect. */
  kill(): void {
    this.#dead = true;
    for (const watch of this.#server.watches) if (watch.client === this.name) watch.discard();
  }

  /** Hands something to the process, if it is there to take it, and when. */
  deliver(action: () => void): void {
    if (this.#dead) return;
    if (this.#frozen) this.#frozen.push(action);
    else action();
  }

  request(request: KubeRequest): Promise<KubeResponse> {
    const { store, clock } = this.#server;
    const { method, path, query, body } = request;
    // What the client changes afterwards is not in what it sent.
    const sent = { method, path, ...(query ? { query } : {}), body: copyOf(body) };
    return this.#exchange(method, request, () => store.handle(sent, clock.now()));
  }

  async watch(request: WatchRequest): Promise<WatchResponse> {
    const opened = await this.#exchange('WATCH', request, () => this.#server.openWatch(this, request));
    if (!(opened instanceof MemoryWatch)) return { ...opened, lines: noLines() };
    return { status: 200, headers: {}, body: undefined, lines: opened.lines(this) };
  }

  async close(): Promise<void> {
    for (const watch of [...this.#server.watches]) if (watch.client === this.name) watch.discard();
  }

  /**
   * One exchange: half the latency until it takes effect, the other half until its answer is here. A fault ends it on either side of
   * the effect; the signal ends it for the client alone.
   */
  #exchange<E extends KubeResponse | MemoryWatch>(
    method: RequestInfo['method'],
    request: { readonly path: string; readonly body?: unknown; readonly signal: AbortSignal },
    effect: () => E | KubeResponse,
  ): Promise<E | KubeResponse> {
    const server = this.#server;
    const { signal, path } = request;
    const fault = server.admit(this.name, method, request);
    const halfMs = (server.spread(server.latencyMs) + (fault?.kind === 'delay' ? fault.delayMs : 0)) / 2;
    return new Promise((resolve, reject) => {
      if (signal.aborted) {
        reject(signal.reason);
        return;
      }
      const giveUp = () => reject(signal.reason);
      signal.addEventListener('abort', giveUp, { once: true });
      const settle = (action: () => void) =>
        this.deliver(() => {
          signal.removeEventListener('abort', giveUp);
          action();
        });
      const answer = (outcome: E | KubeResponse) => {
        if (!this.#cutOff) settle(() => resolve(outcome));
      };
      server.clock.after(halfMs, () => {
        if (this.#cutOff || (method === 'WATCH' && signal.aborted)) return;
        const lost = isLost(fault, 'before');
        const outcome = lost ? undefined : effect();
        server.record(this.name, method, path, outcome && (outcome instanceof MemoryWatch ? 200 : outcome.status));
        server.clock.after(halfMs, () => {
          if (outcome && !isLost(fault, 'after')) {
            answer(outcome);
            return;
          }
          if (outcome instanceof MemoryWatch) outcome.discard();
          if (fault?.kind === 'reset') settle(() => reject(new Error('read ECONNRESET')));
          if (fault?.kind === 'status') answer(faultAnswer(fault.status, fault.retryAfterSeconds));
        });
      });
    });
  }
}

/** Whether the fault strikes here, so that what the server does or says does not come through. */
function isLost(fault: RequestFault | undefined, when: 'before' | 'after'): boolean {
  return fault !== undefined && fault.kind !== 'delay' && fault.when === when;
}

function faultAnswer(status: number, retryAfterSeconds: number | undefined): KubeResponse {
  const headers = retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) };
  return { status, headers, body: statusOf(status, 'Fault', 'a fault of the test') };
}

async function* noLines(): AsyncGenerator<unknown, void> {}

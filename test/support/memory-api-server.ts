/**
 * Simulated in-memory Kubernetes API server with latency, watches and faults. Calls made by tests take effect
 * immediately.
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
  type ApiObject,
  concerns,
  copyOf,
  isNamed,
  MemoryApiStore,
  parsePath,
  type RequestTarget,
  refuse,
  type StoreEvent,
  statusOf,
} from './memory-api-store.ts';
import { MemoryWatch, type WatchFault } from './memory-watch.ts';
import { ProcessGate } from './process-gate.ts';

export interface RequestInfo extends RequestTarget {
  readonly client: string;
  readonly method: KubeRequest['method'] | 'WATCH';
  /** Number of the request among the requests from all clients, counted from 1. */
  readonly sequence: number;
  readonly body: unknown;
  /** `Accept` header of the request. */
  readonly accept: string | undefined;
}

/**
 * Fault to inject into a request. `when` specifies whether the fault occurs before or after the request takes effect.
 */
export type RequestFault =
  | {
      readonly kind: 'status';
      readonly status: number;
      readonly when: 'before' | 'after';
      readonly retryAfterSeconds?: number;
    }
  | { readonly kind: 'reset'; readonly when: 'before' | 'after' }
  /** The server does not respond, so the request lasts until the client gives up. */
  | { readonly kind: 'stall'; readonly when: 'before' | 'after' }
  | { readonly kind: 'delay'; readonly delayMs: number };

export interface WatchEventInfo {
  readonly client: string;
  readonly event: StoreEvent;
}

export interface RequestRecord {
  readonly atMs: number;
  readonly client: string;
  readonly method: RequestInfo['method'];
  readonly path: string;
  /** HTTP status of the response, or undefined if a fault prevented the request from taking effect. */
  readonly status: number | undefined;
}

export interface MemoryApiServerOptions {
  readonly clock: Clock;
  readonly random: Random;
  /** Minimum and maximum time in ms from a request to its response. Default: [1, 5]. */
  readonly latencyMs?: readonly [number, number];
  /** Minimum and maximum time in ms from a change to its watch event. Default: [1, 5]. */
  readonly watchLatencyMs?: readonly [number, number];
  /** Time in ms until the dependents of a deleted owner are deleted. By default, they are never deleted. */
  readonly garbageCollectionMs?: number;
}

export class MemoryApiServer {
  readonly store = new MemoryApiStore();
  readonly requests: RequestRecord[] = [];
  readonly #options: MemoryApiServerOptions;
  readonly #watches = new Set<MemoryWatch>();
  #sequence = 0;
  /** Called for each request. Returns the request's fault, or undefined if the request has none. */
  onRequest: (info: RequestInfo) => RequestFault | undefined = () => undefined;
  /** Called for each watch event. Returns the event's fault, or undefined if the event has none. */
  onWatchEvent: (info: WatchEventInfo) => WatchFault | undefined = () => undefined;

  constructor(options: MemoryApiServerOptions) {
    this.#options = options;
    this.store.onEvent = (event) => this.#publish(event);
  }

  /** Returns an operator process's connection to the API server. `gate` freezes and kills the process. */
  client(name: string, gate = new ProcessGate()): MemoryApiClient {
    return new MemoryApiClient(this, name, gate);
  }

  get watches(): ReadonlySet<MemoryWatch> {
    return this.#watches;
  }

  /** Creates an object in the collection `path`. Throws if the server rejects the object. */
  create(path: string, object: object): ApiObject {
    return this.#act('POST', path, object);
  }

  /** Applies a merge patch to the latest version of an object. */
  patch(path: string, patch: object): ApiObject {
    return this.#act('PATCH', path, patch);
  }

  remove(path: string): void {
    this.#act('DELETE', path, undefined);
  }

  /** Returns the latest version of an object, or undefined if the object does not exist. */
  get(path: string): ApiObject | undefined {
    const target = parsePath(path);
    return target && this.store.find(target.collection, target.namespace ?? '', target.name ?? '');
  }

  /** Deletes all past events. A watch from an earlier version then gets the error 410 Gone. */
  compact(): void {
    this.store.compact();
  }

  spread([min, max]: readonly [number, number]): number {
    return min + (max - min) * this.#options.random.next();
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

  /** Assigns the next number to a request, and returns the fault planned for the request. */
  admit(
    client: string,
    method: RequestInfo['method'],
    request: { readonly path: string; readonly body?: unknown; readonly accept?: string },
  ): RequestFault | undefined {
    const target = parsePath(request.path);
    const sequence = ++this.#sequence;
    const { body, accept } = request;
    return target && this.onRequest({ ...target, client, method, sequence, body, accept });
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

  #act(method: 'POST' | 'PATCH' | 'DELETE', path: string, body: unknown): ApiObject {
    const { status, body: response } = this.store.handle({ method, path, body: copyOf(body) }, this.clock.now());
    if (status > 299) throw new Error(`${method} ${path}: ${status} ${JSON.stringify(response)}`);
    return response as ApiObject;
  }
}

/** An operator process's connection to the simulated API server. A test can cut the connection. */
export class MemoryApiClient implements KubeApi {
  readonly name: string;
  readonly gate: ProcessGate;
  readonly #server: MemoryApiServer;
  #cutOff = false;

  constructor(server: MemoryApiServer, name: string, gate: ProcessGate) {
    this.#server = server;
    this.name = name;
    this.gate = gate;
  }

  /** Disconnects the client without an error. The client's requests then get no response. */
  partition(): void {
    this.#cutOff = true;
    for (const watch of this.#server.watches) if (watch.client === this.name) watch.silence();
  }

  heal(): void {
    this.#cutOff = false;
  }

  /** Ends the process, as SIGKILL does. Requests that it has already sent still take effect. */
  kill(): void {
    this.gate.kill();
    for (const watch of this.#server.watches) if (watch.client === this.name) watch.discard();
  }

  request(request: KubeRequest): Promise<KubeResponse> {
    const { store, clock } = this.#server;
    const { method, path, query, body } = request;
    // The server works on a copy of the body, because the client might change the body later.
    const sent = { method, path, ...(query ? { query } : {}), body: copyOf(body) };
    return this.#exchange(method, request, () => store.handle(sent, clock.now()));
  }

  async watch(request: WatchRequest): Promise<WatchResponse> {
    const opened = await this.#exchange('WATCH', request, () => this.#server.openWatch(this, request));
    if (!(opened instanceof MemoryWatch)) return { ...opened, lines: noLines() };
    return { status: 200, headers: {}, body: undefined, lines: opened.lines(this.gate) };
  }

  async close(): Promise<void> {
    for (const watch of [...this.#server.watches]) if (watch.client === this.name) watch.discard();
  }

  /** Performs a request, which takes effect after half of its latency. */
  #exchange<E extends KubeResponse | MemoryWatch>(
    method: RequestInfo['method'],
    request: WatchRequest | KubeRequest,
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
        this.gate.deliver(() => {
          signal.removeEventListener('abort', giveUp);
          action();
        });
      const respond = (outcome: E | KubeResponse) => {
        if (!this.#cutOff) settle(() => resolve(outcome));
      };
      server.clock.after(halfMs, () => {
        if (this.#cutOff || (method === 'WATCH' && signal.aborted)) return;
        const lost = isLost(fault, 'before');
        const outcome = lost ? undefined : effect();
        server.record(this.name, method, path, outcome && (outcome instanceof MemoryWatch ? 200 : outcome.status));
        server.clock.after(halfMs, () => {
          if (outcome && !isLost(fault, 'after')) {
            respond(outcome);
            return;
          }
          if (outcome instanceof MemoryWatch) outcome.discard();
          if (fault?.kind === 'reset') settle(() => reject(new Error('read ECONNRESET')));
          if (fault?.kind === 'status') respond(faultResponse(fault.status, fault.retryAfterSeconds));
        });
      });
    });
  }
}

/**
 * Reports whether the fault makes the request fail. `when` specifies whether the request fails before or after it takes
 * effect.
 */
function isLost(fault: RequestFault | undefined, when: 'before' | 'after'): boolean {
  return fault !== undefined && fault.kind !== 'delay' && fault.when === when;
}

function faultResponse(status: number, retryAfterSeconds: number | undefined): KubeResponse {
  const headers = retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) };
  return { status, headers, body: statusOf(status, 'Fault', 'a fault of the test') };
}

async function* noLines(): AsyncGenerator<string, void> {}

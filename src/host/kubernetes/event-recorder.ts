/**
 * Publishes changes in the state of resources as Kubernetes Events, which `kubectl describe` shows.
 *
 * Invariants:
 * - Each Event is also written to the log.
 * - Callers never wait for an Event, and never fail because of it.
 * - If the same message is published again within ten minutes, no new Event is created. Instead, the count in the first
 *   Event increases.
 * - Each resource can publish 25 Events immediately, and then one every 12 s. The queue holds 200 Events. Events beyond
 *   these limits are dropped and counted. Limits are needed because a resource's state can change several times a
 *   minute, for example while half of the requests to the service fail.
 */

import { apiVersion } from '../../api/kinds.ts';
import { sleep } from '../../base/clock.ts';
import { asLogfleetError, hasCode } from '../../base/errors.ts';
import type { Counter } from '../../base/metrics.ts';
import type { Ports } from '../../base/ports.ts';
import { randomHex } from '../../base/random.ts';
import { boundedBytes } from '../../base/short-text.ts';
import type { EventSink, OwnerRef, ResourceEvent } from '../host.ts';
import type { ApiClient } from './api-client.ts';
import { backoffDelay } from './api-error.ts';
import { microTime, objectPath } from './api-paths.ts';
import { fieldManager } from './resource-writes.ts';

const maxQueued = 200;
const maxRemembered = 1_000;
const aggregationMs = 600_000;
const burst = 25;
const intervalMs = 12_000;
const attempts = 3;
const maxNoteBytes = 1_024;
const maxReasonLength = 128;
const backoff = { firstMs: 1_000, capMs: 10_000 };

/** An Event, and the number of times it has occurred. */
interface Series {
  readonly owner: OwnerRef;
  readonly message: ResourceEvent;
  readonly name: string;
  readonly firstTime: string;
  lastTime: string;
  lastAtMs: number;
  count: number;
  created: boolean;
  queued: boolean;
}

interface EventRecorderOptions extends Ports {
  readonly client: ApiClient;
  /** Name of this process, shown in Events as the reporting instance. */
  readonly identity: string;
  /** Called for each published Event, even if the Event cannot be delivered to the API server. */
  readonly onEvent?: EventListener | undefined;
}

export type EventListener = (owner: OwnerRef, event: ResourceEvent) => void;

export class EventRecorder implements EventSink {
  readonly #options: EventRecorderOptions;
  readonly #dropped: Counter;
  readonly #series = new Map<string, Series>();
  /**
   * For each resource (by uid), the monotonic time in ms from which the resource may again publish `burst` Events at
   * once. Each published Event moves this time `intervalMs` further into the future.
   */
  readonly #usedUntilMs = new Map<string, number>();
  readonly #queue: Series[] = [];
  readonly #stopped = new AbortController();
  #delivery: Promise<void> | undefined;

  constructor(options: EventRecorderOptions) {
    this.#options = options;
    this.#dropped = options.metrics.counter(
      'logfleet_events_dropped_total',
      'Kubernetes Events that were not delivered, by cause.',
      ['cause'],
    );
  }

  publish(owner: OwnerRef, event: ResourceEvent): void {
    this.#logEvent(owner, event);
    this.#options.onEvent?.(owner, event);
    if (!this.#isAllowed(owner)) {
      this.#dropped.add({ cause: 'rate' });
      return;
    }
    const series = this.#seriesOf(owner, event);
    if (!series.queued) this.#enqueue(series);
  }

  #isAllowed({ uid }: OwnerRef): boolean {
    const nowMs = this.#options.clock.monotonic();
    const usedUntilMs = Math.max(nowMs, this.#usedUntilMs.get(uid) ?? 0) + intervalMs;
    if (usedUntilMs > nowMs + burst * intervalMs) return false;
    remember(this.#usedUntilMs, uid, usedUntilMs);
    return true;
  }

  #logEvent({ kind, namespace, name }: OwnerRef, { type, reason, message }: ResourceEvent): void {
    const fields = { kind, namespace, name, reason, detail: message };
    this.#options.log[type === 'Warning' ? 'warn' : 'info']('state of a resource changed', fields);
  }

  /** Delivers queued Events for at most `graceMs`, and then drops the remaining Events. */
  async stop(graceMs: number): Promise<void> {
    const timer = this.#options.clock.after(graceMs, () => this.#stopped.abort());
    await this.#delivery;
    timer.cancel();
    this.#stopped.abort();
  }

  #enqueue(series: Series): void {
    if (this.#stopped.signal.aborted || this.#queue.length >= maxQueued) {
      this.#dropped.add({ cause: 'queue' });
      return;
    }
    series.queued = true;
    this.#queue.push(series);
    this.#delivery ??= this.#deliverAll();
  }

  #seriesOf(owner: OwnerRef, message: ResourceEvent): Series {
    const { clock, random } = this.#options;
    const now = clock.monotonic();
    const key = JSON.stringify([owner.uid, message.type, message.reason, message.message]);
    const known = this.#series.get(key);
    const time = microTime(clock.now());
    const last = { lastTime: time, lastAtMs: now };
    let series: Series;
    if (known && now - known.lastAtMs < aggregationMs) {
      series = Object.assign(known, last, { count: known.count + 1 });
    } else {
      const name = `${owner.name.slice(0, 200)}.${randomHex(random, 16)}`;
      series = { owner, message, name, firstTime: time, ...last, count: 1, created: false, queued: false };
    }
    remember(this.#series, key, series);
    return series;
  }

  async #deliverAll(): Promise<void> {
    for (let series = this.#queue.shift(); series; series = this.#queue.shift()) {
      series.queued = false;
      await this.#deliver(series);
    }
    this.#delivery = undefined;
  }

  async #deliver(series: Series): Promise<void> {
    const { clock, random, log } = this.#options;
    const { signal } = this.#stopped;
    for (let attempt = 1; ; attempt++) {
      try {
        await (series.created ? this.#recount(series, signal) : this.#create(series, signal));
        return;
      } catch (error) {
        const failure = asLogfleetError(error);
        const { code } = failure;
        // The API server deletes Events after an hour. If this Event has been deleted, the next attempt creates it
        // again.
        if (code === 'host.gone') series.created = false;
        const hopeless = ['host.invalid', 'host.forbidden', 'host.denied'].includes(code);
        if (signal.aborted || hopeless || attempt === attempts) {
          this.#dropped.add({ cause: 'delivery' });
          log.debug('an event was not delivered', { reason: series.message.reason, error: failure });
          return;
        }
        await sleep(clock, backoffDelay(backoff, attempt, error, random), signal).catch(() => undefined);
      }
    }
  }

  async #create(series: Series, signal: AbortSignal): Promise<void> {
    const path = objectPath('events', series.owner.namespace);
    const body = this.#render(series);
    try {
      await this.#options.client.call({ method: 'POST', path, query: { fieldManager }, signal, body });
    } catch (error) {
      // The Event's name is unique, so a conflict means that an earlier attempt has already created this Event.
      if (!hasCode(error, 'host.conflict')) throw error;
    }
    series.created = true;
  }

  async #recount({ owner, name, count, lastTime }: Series, signal: AbortSignal): Promise<void> {
    await this.#options.client.call({
      ...{ method: 'PATCH', path: objectPath('events', owner.namespace, name), query: { fieldManager }, signal },
      contentType: 'application/merge-patch+json',
      body: { series: { count, lastObservedTime: lastTime } },
    });
  }

  #render({ owner, message, name, firstTime, lastTime, count }: Series): Record<string, unknown> {
    const { kind, namespace, uid } = owner;
    return {
      apiVersion: 'events.k8s.io/v1',
      kind: 'Event',
      metadata: { name, namespace },
      eventTime: firstTime,
      type: message.type,
      reason: message.reason.slice(0, maxReasonLength),
      note: boundedBytes(message.message, maxNoteBytes),
      action: 'Reconcile',
      reportingController: 'logfleet.dev/operator',
      reportingInstance: this.#options.identity.slice(0, 128),
      regarding: { apiVersion, kind, namespace, name: owner.name, uid },
      ...(count > 1 ? { series: { count, lastObservedTime: lastTime } } : {}),
    };
  }
}

/** Sets an entry in a map. If the map then has more than `maxRemembered` entries, removes the oldest one. */
function remember<V>(map: Map<string, V>, key: string, value: V): void {
  map.delete(key);
  map.set(key, value);
  const [oldest] = map.keys();
  if (map.size > maxRemembered && oldest !== undefined) map.delete(oldest);
}

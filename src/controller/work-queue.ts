/**
 * Queue of keys of resources that wait for their reconcile.
 *
 * - Coalescing: a key that is added many times before it is taken is taken once.
 * - Exclusive: a key in processing is not taken a second time. When it is added meanwhile, it becomes ready again after `done`.
 * - Fair: keys are taken in the order in which they became ready. Keys with work in progress alternate with all others, so that
 *   this work continues while thousands of resources wait for their first reconcile.
 * - Delayed: `addAfter` adds a key after a delay. `addBackoff` adds it after a delay that grows with each call until `forget`.
 * - Bounded: memory is bounded by the resources that exist or were just deleted. Each field below contains a key at most once,
 *   and no field contains a key that was taken, done and forgotten.
 *
 * The owner of the queue decides when to take a key and how to process it.
 */

import type { Clock, Timer } from '../base/clock.ts';
import type { Counter, Gauge, Histogram, Metrics } from '../base/metrics.ts';
import type { Random } from '../base/random.ts';
import { doubledMs, scatteredMs } from '../base/retry-delay.ts';

export interface BackoffSettings {
  /** Delay in ms after the first failure, before it is shortened at random. */
  readonly firstDelayMs: number;
  readonly maxDelayMs: number;
}

/**
 * Default delays after failures. The first delay is long enough for a service with problems. It does not delay the reaction to a
 * change of the resource, which is reconciled immediately.
 */
export const defaultBackoff: BackoffSettings = { firstDelayMs: 500, maxDelayMs: 300_000 };

export interface WorkQueueOptions {
  /** Label of the queue in metrics. */
  readonly name: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly metrics: Metrics;
  readonly backoff?: BackoffSettings;
  /** Called when a key is ready to be taken from the queue. The call may come from within `add` or `done`. */
  readonly onReady: () => void;
}

interface Delayed {
  readonly dueMs: number;
  readonly timer: Timer;
}

export class WorkQueue {
  /**
   * Keys that are ready, in the order in which they are taken. Each key is also in `#dirty`, and none is in `#processing`.
   */
  readonly #ready: string[] = [];
  /** Ready keys of resources with work in progress, in the order in which they are taken. */
  readonly #readyUnderWay: string[] = [];
  /** Keys from `#dirty` whose resources have work in progress. */
  readonly #underWay = new Set<string>();
  #tookUnderWay = false;

  /**
   * Keys that need processing, each with the monotonic time since when it has needed processing.
   * Each key is also ready or in `#processing`.
   */
  readonly #dirty = new Map<string, number>();

  /**
   * Keys that were taken from the queue and are still being processed. If such a key was added again, it becomes
   * ready after its processing.
   */
  readonly #processing = new Set<string>();

  /**
   * Keys that become ready later, each with the earliest time at which it becomes ready. Taking a key from
   * the queue removes its delay; its processing may set a new one.
   */
  readonly #delayed = new Map<string, Delayed>();

  /** Number of consecutive failures of each key since the last `forget`; at least 1. */
  readonly #failures = new Map<string, number>();

  #closed = false;
  readonly #options: WorkQueueOptions;
  readonly #backoff: BackoffSettings;
  readonly #labels: { readonly controller: string };
  readonly #depth: Gauge;
  readonly #adds: Counter;
  readonly #latency: Histogram;

  constructor(options: WorkQueueOptions) {
    this.#options = options;
    this.#backoff = options.backoff ?? defaultBackoff;
    this.#labels = { controller: options.name };
    const { metrics } = options;
    this.#depth = metrics.gauge('logfleet_queue_depth', 'Keys that are ready to be reconciled.', ['controller']);
    this.#adds = metrics.counter('logfleet_queue_adds_total', 'Keys added, coalesced ones left out.', ['controller']);
    this.#latency = metrics.histogram(
      'logfleet_queue_latency_seconds',
      'Time from the adding of a key to its taking.',
      ['controller'],
      [0.001, 0.01, 0.1, 1, 10, 60, 600],
    );
  }

  /**
   * Makes a key ready to be taken. A key in processing becomes ready again after `done`.
   * @param isUnderWay whether the key was added because of its work in progress
   */
  add(key: string, isUnderWay = false): void {
    if (this.#closed || this.#dirty.has(key)) return;
    if (isUnderWay) this.#underWay.add(key);
    this.#dirty.set(key, this.#options.clock.monotonic());
    this.#adds.add(this.#labels);
    if (!this.#processing.has(key)) this.#makeReady(key);
  }

  /** Adds a key after `delayMs`. When a key has several delays, the shortest applies. */
  addAfter(key: string, delayMs: number): void {
    if (this.#closed) return;
    if (delayMs <= 0) {
      this.add(key);
      return;
    }
    const { clock } = this.#options;
    const dueMs = clock.monotonic() + delayMs;
    const delayed = this.#delayed.get(key);
    if (delayed && delayed.dueMs <= dueMs) return;
    delayed?.timer.cancel();
    const timer = clock.after(delayMs, () => {
      this.#delayed.delete(key);
      this.add(key);
    });
    this.#delayed.set(key, { dueMs, timer });
  }

  /**
   * Adds a key to the queue again after its processing failed. The delay grows exponentially with consecutive failures. It is
   * shortened by up to half at random, so that keys that failed together are not retried together, but it never falls below
   * `atLeastMs`. Returns the delay in ms.
   */
  addBackoff(key: string, atLeastMs = 0): number {
    const failures = (this.#failures.get(key) ?? 0) + 1;
    this.#failures.set(key, failures);
    const { firstDelayMs, maxDelayMs } = this.#backoff;
    const delayMs = Math.ceil(scatteredMs(doubledMs(firstDelayMs, failures - 1, maxDelayMs), this.#options.random));
    const waitMs = Math.max(atLeastMs, delayMs);
    this.addAfter(key, waitMs);
    return waitMs;
  }

  /** Resets the number of consecutive failures of a key to zero. */
  forget(key: string): void {
    this.#failures.delete(key);
  }

  /** Takes the next key out of the queue; undefined when no key is ready. The key is in processing until `done`. */
  take(): string | undefined {
    const isTurn = !this.#tookUnderWay || this.#ready.length === 0;
    this.#tookUnderWay = isTurn && this.#readyUnderWay.length > 0;
    const key = (this.#tookUnderWay ? this.#readyUnderWay : this.#ready).shift();
    if (key === undefined) return undefined;
    const { clock } = this.#options;
    const addedMs = this.#dirty.get(key) ?? clock.monotonic();
    this.#latency.observe(this.#labels, (clock.monotonic() - addedMs) / 1000);
    this.#depth.set(this.#labels, this.#ready.length + this.#readyUnderWay.length);
    this.#dirty.delete(key);
    this.#underWay.delete(key);
    this.#processing.add(key);
    this.#delayed.get(key)?.timer.cancel();
    this.#delayed.delete(key);
    return key;
  }

  /** Ends the processing of a key. When the key was added during the processing, it becomes ready again. */
  done(key: string): void {
    this.#processing.delete(key);
    if (this.#dirty.has(key) && !this.#closed) this.#makeReady(key);
  }

  /** Whether no key is ready or in processing. Delayed keys are not counted. */
  idle(): boolean {
    return this.#dirty.size === 0 && this.#processing.size === 0;
  }

  /** Number of keys in the queue, including delayed and failed ones. */
  size(): number {
    const keys = [this.#dirty, this.#processing, this.#delayed, this.#failures].flatMap((set) => [...set.keys()]);
    return new Set(keys).size;
  }

  /**
   * Closes the queue: ready and delayed keys are dropped, and no key is taken any more. Keys in processing may still be marked as
   * done.
   */
  close(): void {
    this.#closed = true;
    for (const { timer } of this.#delayed.values()) timer.cancel();
    this.#delayed.clear();
    this.#dirty.clear();
    this.#underWay.clear();
    this.#failures.clear();
    this.#ready.length = 0;
    this.#readyUnderWay.length = 0;
    this.#depth.set(this.#labels, 0);
  }

  #makeReady(key: string): void {
    (this.#underWay.has(key) ? this.#readyUnderWay : this.#ready).push(key);
    this.#depth.set(this.#labels, this.#ready.length + this.#readyUnderWay.length);
    this.#options.onReady();
  }
}

/**
 * Queue of the keys of resources that are waiting to be reconciled.
 *
 * - Coalescing: a key that is added many times is taken once.
 * - Exclusive: a key that is being processed is not taken a second time.
 * - Fair: keys are taken in the order in which they became ready. Keys of resources with work in progress alternate
 *   with other keys.
 * - Delayed: `addAfter` adds a key after a delay, `addBackoff` after a delay that grows until `forget` is called.
 * - Bounded: memory usage grows only with the number of existing resources.
 */
import { elapsedMs, instant, type Timer } from '../base/clock.ts';
import type { Counter, Histogram } from '../base/metrics.ts';
import type { Ports } from '../base/ports.ts';
import { doubledMs, scatteredMs } from '../base/retry-delay.ts';

/**
 * Maximum delay in ms after the first failure. The actual delay is a random value between half of this maximum and the
 * maximum.
 */
const firstDelayMs = 500;
const maxDelayMs = 300_000;
/**
 * Interval in ms at which a long delay is compared with the wall clock. Many delays must end at a certain wall-clock
 * time, but timers do not notice when the wall clock is set forward or the machine sleeps.
 */
const clockCheckMs = 60_000;

export interface WorkQueueOptions extends Omit<Ports, 'log'> {
  /** Label of the queue in metrics. */
  readonly name: string;
  /** Called when a key becomes ready to be taken, possibly during a call to `add` or `done`. */
  readonly onReady: () => void;
}

interface Delayed {
  readonly dueMs: number;
  readonly timer: Timer;
}

export class WorkQueue {
  /** Keys of resources without work in progress that can be reconciled now, in queue order. */
  readonly #ready: string[] = [];
  /** Keys of resources with work in progress that can be reconciled now, in queue order. */
  readonly #readyActive: string[] = [];
  /** Keys of all waiting resources that have work in progress. */
  readonly #active = new Set<string>();
  #tookActive = false;

  /**
   * Keys that are waiting for their next reconcile, each with the monotonic time at which it was added. An earlier
   * reconcile of the same key may still be running.
   */
  readonly #dirty = new Map<string, number>();

  /** Keys that are being reconciled now. */
  readonly #processing = new Set<string>();

  /** Keys with a delay, and the time at which each of them becomes ready. */
  readonly #delayed = new Map<string, Delayed>();

  readonly #failures = new Map<string, number>();

  #closed = false;
  readonly #options: WorkQueueOptions;
  readonly #labels: { readonly controller: string };
  readonly #adds: Counter;
  readonly #latency: Histogram;

  constructor(options: WorkQueueOptions) {
    this.#options = options;
    this.#labels = { controller: options.name };
    const { metrics } = options;
    metrics.observedGauge(
      'logfleet_queue_depth',
      'Number of resources that are waiting to be reconciled.',
      ['controller'],
      () => [[this.#labels, this.#ready.length + this.#readyActive.length]],
    );
    this.#adds = metrics.counter(
      'logfleet_queue_adds_total',
      'Number of times that a resource was added to the reconcile queue. A resource that is already in the queue is not counted again.',
      ['controller'],
    );
    this.#latency = metrics.histogram(
      'logfleet_queue_latency_seconds',
      'Time that resources waited to be reconciled.',
      ['controller'],
      [0.001, 0.01, 0.1, 1, 10, 60, 600],
    );
  }

  /**
   * Adds the key of a resource that must be reconciled. If this key is being reconciled now, the next reconcile starts
   * after the call to `done`.
   * @param isActive true if the resource has work in progress
   */
  add(key: string, isActive = false): void {
    if (this.#closed || this.#dirty.has(key)) return;
    if (isActive) this.#active.add(key);
    this.#dirty.set(key, this.#options.clock.monotonic());
    this.#adds.add(this.#labels);
    if (!this.#processing.has(key)) this.#makeReady(key);
  }

  /**
   * Adds a key as soon as the monotonic clock or the wall clock has advanced by `delayMs`. If a key has several delays,
   * the delay that ends first applies.
   */
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
    const start = instant(clock);
    const stepMs = Math.min(delayMs, clockCheckMs);
    const timer = clock.after(stepMs, () => {
      this.#delayed.delete(key);
      this.addAfter(key, stepMs === delayMs ? 0 : delayMs - elapsedMs(clock, start));
    });
    this.#delayed.set(key, { dueMs, timer });
  }

  /**
   * Adds a key again after a failure, and returns the delay in ms. The delay grows exponentially, with jitter, and is
   * at least `atLeastMs`.
   */
  addBackoff(key: string, atLeastMs = 0): number {
    const failures = (this.#failures.get(key) ?? 0) + 1;
    this.#failures.set(key, failures);
    const delayMs = Math.ceil(scatteredMs(doubledMs(firstDelayMs, failures - 1, maxDelayMs), this.#options.random));
    const waitMs = Math.max(atLeastMs, delayMs);
    this.addAfter(key, waitMs);
    return waitMs;
  }

  forget(key: string): void {
    this.#failures.delete(key);
  }

  /**
   * Returns the next ready key, which then counts as being processed until `done` is called. Returns undefined if no
   * key is ready.
   */
  take(): string | undefined {
    const isTurn = !this.#tookActive || this.#ready.length === 0;
    this.#tookActive = isTurn && this.#readyActive.length > 0;
    const key = (this.#tookActive ? this.#readyActive : this.#ready).shift();
    if (key === undefined) return undefined;
    const { clock } = this.#options;
    const addedMs = this.#dirty.get(key) ?? clock.monotonic();
    this.#latency.observe(this.#labels, (clock.monotonic() - addedMs) / 1000);
    this.#dirty.delete(key);
    this.#active.delete(key);
    this.#processing.add(key);
    this.#delayed.get(key)?.timer.cancel();
    this.#delayed.delete(key);
    return key;
  }

  /** Ends the processing of a key. A key that was added again during its processing becomes ready. */
  done(key: string): void {
    this.#processing.delete(key);
    if (this.#dirty.has(key)) this.#makeReady(key);
  }

  /** Reports whether no key is ready or being processed. Keys with a delay are ignored. */
  idle(): boolean {
    return this.#dirty.size === 0 && this.#processing.size === 0;
  }

  /** Returns the number of different keys in any state: ready, being processed, delayed or failed. */
  size(): number {
    const keys = [this.#dirty, this.#processing, this.#delayed, this.#failures].flatMap((set) => [...set.keys()]);
    return new Set(keys).size;
  }

  /** Closes the queue and drops its keys. `done` may still be called. */
  close(): void {
    this.#closed = true;
    for (const { timer } of this.#delayed.values()) timer.cancel();
    this.#delayed.clear();
    this.#dirty.clear();
    this.#active.clear();
    this.#failures.clear();
    this.#ready.length = 0;
    this.#readyActive.length = 0;
  }

  #makeReady(key: string): void {
    (this.#active.has(key) ? this.#readyActive : this.#ready).push(key);
    this.#options.onReady();
  }
}

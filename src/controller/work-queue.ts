/**
 * A queue of keys that have to be looked at.
 *
 * - Coalescing: a key added many times before it is taken is taken once.
 * - Exclusive: a key that is being processed is not taken by anybody else. Added meanwhile, it comes again after `done`.
 * - Fair: keys are taken in the order in which they became ready.
 * - Delayed: `addAfter` adds later, `addBackoff` later each time until `forget`.
 * - Bounded: whatever is added however often, a key stands at most once in each field below, and a key that was taken, done and
 *   forgotten stands nowhere. So there is never more here than resources that exist or have just gone.
 *
 * It holds keys and never what they stand for, and leaves to its owner when to take and what to make of it.
 */
import type { Clock, Timer } from '../base/clock.ts';
import type { Counter, Gauge, Histogram, Metrics } from '../base/metrics.ts';
import type { Random } from '../base/random.ts';

export interface BackoffSettings {
  /** The delay after the first failure, before jitter. */
  readonly firstDelayMs: number;
  readonly maxDelayMs: number;
}

/**
 * A change of the resource always comes at once, whatever its back-off: so the first delay may be one that is kind to a
 * service in trouble.
 */
export const defaultBackoff: BackoffSettings = { firstDelayMs: 500, maxDelayMs: 300_000 };

export interface WorkQueueOptions {
  /** Label of the metrics. */
  readonly name: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly metrics: Metrics;
  readonly backoff?: BackoffSettings;
  /** Called, possibly from within `add` and `done`, when there is a key to take. */
  readonly onReady: () => void;
}

interface Delayed {
  readonly dueMs: number;
  readonly timer: Timer;
}

export class WorkQueue {
  /** The order in which keys are taken. Each key in it is in `#dirty` and not in `#processing`. */
  readonly #ready: string[] = [];

  /** Keys that need processing, with the monotonic time at which they began to. Each is in `#ready` or in `#processing`. */
  readonly #dirty = new Map<string, number>();

  /** Keys that were taken and are not done. One may be dirty as well: then it becomes ready when it is done. */
  readonly #processing = new Set<string>();

  /** Keys to add later, each with its earliest time. Taking a key removes it here: its processing decides anew. */
  readonly #delayed = new Map<string, Delayed>();

  /** Failures in a row since the last `forget`; always at least 1. */
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

  /** Makes a key ready, or ready again after `done` while it is processed. */
  add(key: string): void {
    if (this.#closed || this.#dirty.has(key)) return;
    this.#dirty.set(key, this.#options.clock.monotonic());
    this.#adds.add(this.#labels);
    if (!this.#processing.has(key)) this.#makeReady(key);
  }

  /** Adds a key `delayMs` from now. Of several delays of one key the earliest counts. */
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
   * Adds a key after a failure: exponentially later with each one in a row, and up to half of it earlier at random, so that
   * keys that failed together do not come back together; never before `atLeastMs`. Returns the delay.
   */
  addBackoff(key: string, atLeastMs = 0): number {
    const failures = (this.#failures.get(key) ?? 0) + 1;
    this.#failures.set(key, failures);
    const { firstDelayMs, maxDelayMs } = this.#backoff;
    const fullMs = Math.min(maxDelayMs, firstDelayMs * 2 ** (failures - 1));
    const delayMs = Math.max(atLeastMs, Math.ceil(fullMs * (1 - this.#options.random.next() / 2)));
    this.addAfter(key, delayMs);
    return delayMs;
  }

  /** Ends the row of failures of a key. */
  forget(key: string): void {
    this.#failures.delete(key);
  }

  /** The next key, which is then being processed until `done`; undefined when none is ready. */
  take(): string | undefined {
    const key = this.#ready.shift();
    if (key === undefined) return undefined;
    const { clock } = this.#options;
    const addedMs = this.#dirty.get(key) ?? clock.monotonic();
    this.#latency.observe(this.#labels, (clock.monotonic() - addedMs) / 1000);
    this.#depth.set(this.#labels, this.#ready.length);
    this.#dirty.delete(key);
    this.#processing.add(key);
    this.#delayed.get(key)?.timer.cancel();
    this.#delayed.delete(key);
    return key;
  }

  /** Ends the processing of a key; it is ready again at once when it was added meanwhile. */
  done(key: string): void {
    this.#processing.delete(key);
    if (this.#dirty.has(key) && !this.#closed) this.#makeReady(key);
  }

  /** Whether no key is ready, dirty or being processed. Delayed ones do not count. */
  idle(): boolean {
    return this.#dirty.size === 0 && this.#processing.size === 0;
  }

  /** How many keys the queue knows in any way, delayed and failed ones included. */
  size(): number {
    const keys = [this.#dirty, this.#processing, this.#delayed, this.#failures].flatMap((set) => [...set.keys()]);
    return new Set(keys).size;
  }

  /** Drops what is ready or delayed and takes nothing more; keys in processing may still be done. */
  close(): void {
    this.#closed = true;
    for (const { timer } of this.#delayed.values()) timer.cancel();
    this.#delayed.clear();
    this.#dirty.clear();
    this.#failures.clear();
    this.#ready.length = 0;
    this.#depth.set(this.#labels, 0);
  }

  #makeReady(key: string): void {
    this.#ready.push(key);
    this.#depth.set(this.#labels, this.#ready.length);
    this.#options.onReady();
  }
}

/**
 * The loop around a reconciler: hears of changes, queues keys, runs a bounded number of reconciles at once, and makes of each
 * result or error when to look again.
 *
 * ```
 *             change, enqueue                  leader, synced, a free worker
 *   (absent) ────────────────▶ queued ───────────────────────────────▶ reconciling ──▶ settled: (absent)
 *                                ▲                                          │
 *                                │  delay over, or changed                  ├──▶ requeueAfter, wait, stall: delayed
 *                                └──────────────────────────────────────────┴──▶ backoff, retryAfter, bug: delayed, longer each time
 * ```
 *
 * Invariants: never two reconciles of one key at once; none is started by a process that does not lead; a reconcile that throws,
 * whatever it throws, costs its key a delay and nobody else anything. Nothing here polls: a change is looked at at once.
 *
 * What a resource means is left to the reconciler; who leads to the host.
 */
import { aborted } from '../base/aborted.ts';
import { assert, unreachable } from '../base/assert.ts';
import type { Clock } from '../base/clock.ts';
import { asLogfleetError, type LogfleetError } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import type { Counter, Histogram, Metrics } from '../base/metrics.ts';
import type { Random } from '../base/random.ts';
import type { Leadership, ResourceKey, ResourceSource } from '../host/host.ts';
import type { Reconciler, Result } from './reconciler.ts';
import { type BackoffSettings, WorkQueue } from './work-queue.ts';

export interface ControllerOptions {
  /** Label of metrics and logs: the kind, in lower case. */
  readonly name: string;
  readonly reconciler: Reconciler;
  /** Whose resources are reconciled. */
  readonly source: ResourceSource<{ readonly metadata: ResourceKey }>;
  /** How many reconciles may run at once. */
  readonly workers: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly leadership: Leadership;
  readonly backoff?: BackoffSettings;
}

/**
 * When a key is looked at again that waits or stalled: what it waits for may be nothing that the host reports, such as a Secret
 * that was mended (which is to be read every 30 s while a resource is stalled for it).
 */
export const recheckDelayMs = 30_000;

/** How a reconcile ended, as label of the metrics. `aborted`: it was told to stop, and what it says no longer counts. */
export type Outcome = 'settled' | 'requeue_after' | 'backoff' | 'retry_after' | 'wait' | 'stall' | 'bug' | 'aborted';

export class Controller {
  readonly #options: ControllerOptions;
  readonly #queue: WorkQueue;
  readonly #log: Logger;
  readonly #outcomes: Counter;
  readonly #durations: Histogram;

  /** Reconciles in flight; never more than `workers`. */
  readonly #inFlight = new Set<Promise<void>>();

  /** Keys whose last reconcile left something that will go on by itself. */
  readonly #unsettled = new Set<string>();

  /** The term of leadership that reconciles are started in; its signal is aborted when the term ends. */
  #reign: { readonly term: number; readonly abort: AbortController } | undefined;

  #state: 'new' | 'running' | 'ended' = 'new';
  #startPending = false;
  #settledListeners: (() => void)[] = [];

  constructor(options: ControllerOptions) {
    this.#options = options;
    const { name, clock, random, metrics, backoff } = options;
    this.#log = options.log.with({ controller: name });
    this.#queue = new WorkQueue({
      name,
      clock,
      random,
      metrics,
      ...(backoff && { backoff }),
      onReady: () => this.#startSoon(),
    });
    this.#outcomes = metrics.counter('logfleet_reconciles_total', 'Reconciles by how they ended.', [
      'controller',
      'outcome',
    ]);
    this.#durations = metrics.histogram(
      'logfleet_reconcile_duration_seconds',
      'Time that a reconcile took.',
      ['controller'],
      [0.001, 0.01, 0.1, 0.5, 1, 5, 15, 60, 300],
    );
  }

  /**
   * Reconciles until `signal` is aborted. Then starts nothing more, aborts the signal of each reconcile in flight and resolves
   * once they have ended. Never rejects; may be called once.
   */
  async run(signal: AbortSignal): Promise<void> {
    assert(this.#state === 'new', 'a controller runs once');
    this.#state = 'running';
    const { source, leadership } = this.#options;
    const stops = [source.subscribe((key) => this.enqueue(key)), leadership.subscribe(() => this.#followLeadership())];
    this.#followLeadership();
    this.#startSoon();
    await aborted(signal);
    this.#state = 'ended';
    for (const stop of stops) stop();
    this.#queue.close();
    this.#reign?.abort.abort(signal.reason);
    await Promise.all(this.#inFlight);
  }

  /** Looks at a resource at once, or again after its reconcile in flight. */
  enqueue(key: ResourceKey): void {
    this.#queue.add(renderKey(key));
    // The key may stand in the queue since before the first list was complete: then only this starts it.
    this.#startSoon();
  }

  /** Looks at a resource `delayMs` from now, unless a reconcile comes before: that one says itself when to look again. */
  enqueueAfter(key: ResourceKey, delayMs: number): void {
    this.#queue.addAfter(renderKey(key), delayMs);
  }

  /**
   * Whether every resource has settled: its last reconcile said so, or stalled, and nothing is queued or in flight. Delayed looks at
   * settled resources do not count.
   */
  idle(): boolean {
    return (
      this.#state === 'running' &&
      this.#reign !== undefined &&
      this.#options.source.synced() &&
      this.#queue.idle() &&
      this.#unsettled.size === 0
    );
  }

  /** Resolves as soon as `idle` holds, which may be at once. */
  whenSettled(): Promise<void> {
    return new Promise((resolve) => {
      this.#settledListeners.push(resolve);
      this.#announceSettled();
    });
  }

  /** What was learnt in an earlier term is stale, so each new one begins with all resources. */
  #followLeadership(): void {
    const { leadership, source } = this.#options;
    const leads = leadership.isLeader();
    if (this.#reign && (!leads || this.#reign.term !== leadership.term())) {
      this.#reign.abort.abort(new Error('leadership was lost'));
      this.#reign = undefined;
    }
    if (!leads || this.#reign) return;
    this.#reign = { term: leadership.term(), abort: new AbortController() };
    for (const { metadata } of source.list()) this.enqueue(metadata);
    this.#startSoon();
  }

  /** Starts from a microtask: whoever reported a change is done with its own work before a reconcile looks at it. */
  #startSoon(): void {
    if (this.#startPending) return;
    this.#startPending = true;
    queueMicrotask(() => {
      this.#startPending = false;
      this.#start();
      this.#announceSettled();
    });
  }

  #start(): void {
    const { workers, source, leadership } = this.#options;
    while (this.#state === 'running' && this.#reign && this.#inFlight.size < workers) {
      if (!source.synced() || !leadership.isLeader()) return;
      const key = this.#queue.take();
      if (key === undefined) return;
      const work = this.#work(key, this.#reign.abort.signal).finally(() => {
        this.#inFlight.delete(work);
        this.#startSoon();
      });
      this.#inFlight.add(work);
    }
  }

  async #work(key: string, signal: AbortSignal): Promise<void> {
    const { name, clock } = this.#options;
    const startMs = clock.monotonic();
    try {
      const outcome = await this.#reconcile(key, signal);
      this.#outcomes.add({ controller: name, outcome });
      this.#durations.observe({ controller: name }, (clock.monotonic() - startMs) / 1000);
    } finally {
      this.#queue.done(key);
    }
  }

  async #reconcile(key: string, signal: AbortSignal): Promise<Outcome> {
    try {
      const result = await this.#options.reconciler.reconcile(parseKey(key), signal);
      return signal.aborted ? this.#takeBack(key) : this.#followResult(key, result);
    } catch (error) {
      return signal.aborted ? this.#takeBack(key) : this.#followError(key, asLogfleetError(error));
    }
  }

  /** An aborted reconcile has told nothing: its key stays queued for the next term. */
  #takeBack(key: string): Outcome {
    this.#queue.add(key);
    return 'aborted';
  }

  #followResult(key: string, result: Result): Outcome {
    this.#queue.forget(key);
    switch (result.kind) {
      case 'settled':
        this.#unsettled.delete(key);
        return 'settled';
      case 'requeueAfter':
        this.#markSettled(key, result.settled);
        this.#queue.addAfter(key, result.delayMs);
        return 'requeue_after';
      default:
        return unreachable(result);
    }
  }

  #followError(key: string, error: LogfleetError): Outcome {
    const { handling } = error;
    this.#markSettled(key, handling.kind === 'stall');
    switch (handling.kind) {
      case 'backoff':
        this.#log.warn('reconcile failed', { key, error, retryDelayMs: this.#queue.addBackoff(key) });
        return 'backoff';
      case 'bug':
        this.#log.error('reconcile failed unexpectedly', { key, error, retryDelayMs: this.#queue.addBackoff(key) });
        return 'bug';
      case 'retryAfter':
        this.#log.info('reconcile is to be tried later', {
          key,
          error,
          retryDelayMs: this.#queue.addBackoff(key, handling.delayMs),
        });
        return 'retry_after';
      case 'wait':
        this.#log.debug('reconcile waits', { key, error });
        this.#queue.addAfter(key, recheckDelayMs);
        return 'wait';
      case 'stall':
        this.#log.warn('reconcile stalled', { key, error });
        this.#queue.addAfter(key, recheckDelayMs);
        return 'stall';
      default:
        return unreachable(handling);
    }
  }

  #markSettled(key: string, settled: boolean): void {
    if (settled) this.#unsettled.delete(key);
    else this.#unsettled.add(key);
  }

  #announceSettled(): void {
    if (this.#settledListeners.length === 0 || !this.idle()) return;
    const listeners = this.#settledListeners;
    this.#settledListeners = [];
    for (const listener of listeners) listener();
  }
}

/** Neither namespaces nor names contain a slash. */
function renderKey({ namespace, name }: ResourceKey): string {
  return `${namespace}/${name}`;
}

function parseKey(text: string): ResourceKey {
  const slash = text.indexOf('/');
  return { namespace: text.slice(0, slash), name: text.slice(slash + 1) };
}

/**
 * The controller of one kind: watches for changes, queues keys, and runs a limited number of concurrent reconciles.
 *
 * ```
 *             change, enqueue                  leader, synced, a free worker
 *   (absent) ────────────────▶ queued ───────────────────────────────▶ reconciling ──▶ finished: (absent)
 *                                ▲                                          │
 *                                │  delay over, or changed                  ├──▶ requeueAfter, wait, stall: delayed
 *                                └──────────────────────────────────────────┴──▶ backoff, retryAfter, bug: delayed, longer each time
 * ```
 *
 * Invariants:
 * - A key never has two concurrent reconciles.
 * - A process that is not the leader starts no reconciles.
 * - A reconcile that throws delays only its own key.
 *
 * The controller does not poll: a change is reconciled immediately.
 */
import { aborted } from '../base/aborted.ts';
import { assert } from '../base/assert.ts';
import { asLogfleetError, type Handling, type LogfleetError } from '../base/errors.ts';
import { keyText } from '../base/key-text.ts';
import type { Logger } from '../base/log.ts';
import type { Counter, Histogram } from '../base/metrics.ts';
import type { Ports } from '../base/ports.ts';
import { requestedDelayMs, stallRetryMs } from '../base/retry-delay.ts';
import type { Leadership, ResourceKey, ResourceSource } from '../host/host.ts';
import type { Reconciler, Result } from './reconciler.ts';
import { type ObservableResource, UnobservedChanges } from './unobserved-changes.ts';
import { WorkQueue } from './work-queue.ts';

export interface ControllerOptions extends Ports {
  /** Lower-case name of the resource kind, for metrics and logs. */
  readonly name: string;
  readonly reconciler: Reconciler;
  readonly source: ResourceSource<ObservableResource>;
  readonly workers: number;
  readonly leadership: Leadership;
}

/** Metric label, log level and log message of a failed reconcile, indexed by the handling of its error. */
const failures = {
  backoff: { outcome: 'backoff', level: 'warn', message: 'reconcile failed' },
  bug: { outcome: 'bug', level: 'error', message: 'reconcile failed unexpectedly' },
  retryAfter: { outcome: 'retry_after', level: 'info', message: 'reconcile is retried later' },
  wait: { outcome: 'wait', level: 'debug', message: 'reconcile waits' },
  stall: { outcome: 'stall', level: 'warn', message: 'reconcile stalled' },
} as const satisfies Record<Handling['kind'], object>;

/** Result of a reconcile, for metrics. `aborted`: the reconcile was stopped early. */
type ReconcileResult = 'finished' | 'requeue_after' | 'aborted' | (typeof failures)[Handling['kind']]['outcome'];

export class Controller {
  readonly #options: ControllerOptions;
  readonly #queue: WorkQueue;
  readonly #unobserved: UnobservedChanges;
  readonly #log: Logger;
  readonly #reconciles: Counter;
  readonly #durations: Histogram;

  readonly #inFlight = new Set<Promise<void>>();

  /** Keys of resources with unfinished work. These resources are reconciled again even if nothing changes. */
  readonly #unfinished = new Set<string>();

  /**
   * Current term of this process as the leader, and its start (monotonic time in ms). `abort` stops the running
   * reconciles when the term ends.
   */
  #reign: { readonly term: number; readonly sinceMs: number; readonly abort: AbortController } | undefined;

  #state: 'new' | 'running' | 'ended' = 'new';
  #startPending = false;
  #finishedListeners: (() => void)[] = [];

  constructor(options: ControllerOptions) {
    this.#options = options;
    const { name, clock, random, metrics } = options;
    this.#log = options.log.with({ controller: name });
    this.#queue = new WorkQueue({
      name,
      clock,
      random,
      metrics,
      onReady: () => this.#startSoon(),
    });
    this.#unobserved = new UnobservedChanges((key) => options.source.get(key));
    metrics.observedGauge(
      'logfleet_oldest_unobserved_change_seconds',
      'Age of the oldest resource change that status.observedGeneration does not yet reflect. Until the leader has listed all resources, the value is at least the time since the leader was elected. Absent while another process is the leader.',
      ['controller'],
      () => (this.#reign ? [[{ controller: name }, this.#unobservedMs(this.#reign.sinceMs) / 1_000]] : []),
    );
    this.#reconciles = metrics.counter('logfleet_reconciles_total', 'Reconciles, by outcome.', [
      'controller',
      'outcome',
    ]);
    // Initializes the counter to 0, so that an alert on its increase does not miss the first error.
    this.#reconciles.add({ controller: name, outcome: 'bug' }, 0);
    this.#durations = metrics.histogram(
      'logfleet_reconcile_duration_seconds',
      'Duration of a reconcile.',
      ['controller'],
      [0.001, 0.01, 0.1, 0.5, 1, 5, 15, 60, 300],
    );
  }

  /**
   * Runs reconciles until `signal` is aborted. Resolves after all running reconciles have ended. Never rejects. Can be
   * called only once.
   */
  async run(signal: AbortSignal): Promise<void> {
    assert(this.#state === 'new', 'a controller runs once');
    this.#state = 'running';
    const { source, leadership } = this.#options;
    const changed = (key: ResourceKey) => {
      this.#unobserved.changed(key, this.#options.clock.monotonic());
      this.enqueue(key);
    };
    const stops = [source.subscribe(changed), leadership.subscribe(() => this.#followLeadership())];
    this.#followLeadership();
    await aborted(signal);
    this.#state = 'ended';
    for (const stop of stops) stop();
    this.#queue.close();
    this.#reign?.abort.abort(signal.reason);
    await Promise.all(this.#inFlight);
  }

  /**
   * Reconciles a resource as soon as possible. If the resource is already being reconciled, it is reconciled once more
   * afterwards.
   * @param isActive true if the resource has work in progress that has produced new results
   */
  enqueue(key: ResourceKey, isActive = false): void {
    this.#queue.add(keyText(key), isActive);
    // Starts reconciles even if the key was already in the queue. The key may have waited for the first list of
    // resources, which may be complete by now.
    this.#startSoon();
  }

  /** Returns true if logfleet has nothing to do until a user acts. */
  idle(): boolean {
    return (
      this.#state === 'running' &&
      this.#reign !== undefined &&
      this.#options.source.synced() &&
      this.#queue.idle() &&
      this.#unfinished.size === 0
    );
  }

  /** Resolves as soon as logfleet has nothing to do until a user acts. */
  whenFinished(): Promise<void> {
    return new Promise((resolve) => {
      this.#finishedListeners.push(resolve);
      this.#announceFinished();
    });
  }

  /**
   * Reconciles all resources when this process becomes the leader, because the previous leader may have changed them.
   * Aborts the running reconciles when the leadership ends.
   */
  #followLeadership(): void {
    const { leadership, source, clock } = this.#options;
    const leads = leadership.isLeader();
    if (this.#reign && (!leads || this.#reign.term !== leadership.term())) {
      this.#reign.abort.abort(new Error('leadership was lost'));
      this.#reign = undefined;
    }
    if (!leads || this.#reign) return;
    const sinceMs = clock.monotonic();
    this.#reign = { term: leadership.term(), sinceMs, abort: new AbortController() };
    for (const { metadata } of source.list()) {
      this.#unobserved.changed(metadata, sinceMs);
      this.enqueue(metadata);
    }
    // Reconciles wait until all resources have been listed. They are also started here, because no listener is called
    // if the list shows no changes.
    void source.whenSynced().then(() => this.#startSoon());
  }

  /**
   * Returns the age in ms of the oldest change that is not yet reflected in a resource's status. While resources are
   * still being listed, returns at least the time since `sinceMs`, because a change to an unlisted resource may be that
   * old. `sinceMs` is the start of this process's leadership.
   */
  #unobservedMs(sinceMs: number): number {
    const { source, clock } = this.#options;
    const nowMs = clock.monotonic();
    const oldestMs = this.#unobserved.oldestMs(nowMs);
    return source.synced() ? oldestMs : Math.max(oldestMs, nowMs - sinceMs);
  }

  /** Starts reconciles in a microtask, so that the code that reported a change can finish first. */
  #startSoon(): void {
    if (this.#startPending) return;
    this.#startPending = true;
    queueMicrotask(() => {
      this.#startPending = false;
      this.#start();
      this.#announceFinished();
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
      this.#reconciles.add({ controller: name, outcome });
      this.#durations.observe({ controller: name }, (clock.monotonic() - startMs) / 1000);
    } finally {
      this.#queue.done(key);
    }
  }

  async #reconcile(key: string, signal: AbortSignal): Promise<ReconcileResult> {
    try {
      const result = await this.#options.reconciler.reconcile(parseKey(key), signal);
      return signal.aborted ? this.#requeueAborted(key) : this.#followResult(key, result);
    } catch (error) {
      return signal.aborted ? this.#requeueAborted(key) : this.#followError(key, asLogfleetError(error));
    }
  }

  /**
   * Adds the resource of an aborted reconcile to the queue again. It is reconciled when this process next becomes the
   * leader.
   */
  #requeueAborted(key: string): ReconcileResult {
    this.#queue.add(key);
    return 'aborted';
  }

  #followResult(key: string, { delayMs, finished }: Result): ReconcileResult {
    this.#queue.forget(key);
    this.#markFinished(key, finished);
    if (delayMs === Number.POSITIVE_INFINITY) return 'finished';
    this.#queue.addAfter(key, delayMs);
    return 'requeue_after';
  }

  #followError(key: string, error: LogfleetError): ReconcileResult {
    const { handling } = error;
    const isStalled = handling.kind === 'stall';
    this.#markFinished(key, isStalled);
    const { outcome, level, message } = failures[handling.kind];
    if (isStalled || handling.kind === 'wait') {
      this.#log[level](message, { key, error });
      this.#queue.addAfter(key, stallRetryMs);
    } else {
      const retryDelayMs = this.#queue.addBackoff(key, requestedDelayMs(error));
      this.#log[level](message, { key, error, retryDelayMs });
    }
    return outcome;
  }

  #markFinished(key: string, finished: boolean): void {
    if (finished) this.#unfinished.delete(key);
    else this.#unfinished.add(key);
  }

  #announceFinished(): void {
    if (this.#finishedListeners.length === 0 || !this.idle()) return;
    const listeners = this.#finishedListeners;
    this.#finishedListeners = [];
    for (const listener of listeners) listener();
  }
}

function parseKey(text: string): ResourceKey {
  const slash = text.indexOf('/');
  return { namespace: text.slice(0, slash), name: text.slice(slash + 1) };
}

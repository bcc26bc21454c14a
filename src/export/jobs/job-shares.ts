/**
 * Tracks the share of the request budget that each Kubernetes Job uses (B8). The operator lowers its own request limits
 * before it creates a Job, and raises them again after the Job's pods have ended.
 */
import type { Accounts } from '../../account/accounts.ts';
import type { HeldShare, ObservedShare, RequestLimits, WorkerShares } from '../../account/worker-shares.ts';
import type { Clock, Timer } from '../../base/clock.ts';
import { keyText } from '../../base/key-text.ts';
import type { ResourceKey } from '../../host/host.ts';
import { exportLabel, jobNameLabel, type WorkerJob, type WorkerJobs, type WorkerPod } from '../../host/worker-jobs.ts';
import { readShare } from './job-manifest.ts';
import { hasEnded } from './job-state.ts';

/** If a Job does not exist this many ms after the last call of `reserve`, its reserved request limits are released. */
const reservationMs = 120_000;

export interface JobSharesOptions {
  readonly store: WorkerJobs;
  readonly shares: WorkerShares;
  readonly accounts: Pick<Accounts, 'sharesChanged'>;
  readonly clock: Clock;
  /** Called when part of the request budget has become free for another Job. */
  readonly onFree: () => void;
}

export class JobShares {
  readonly #options: JobSharesOptions;
  readonly #unsubscribe: () => void;
  readonly #reservations = new Map<string, Timer>();
  #timer: Timer | undefined;
  /** True if Jobs or pods have changed since the last call of `observe`. */
  #isOutdated = false;
  #isClosed = false;

  constructor(options: JobSharesOptions) {
    this.#options = options;
    this.#unsubscribe = options.store.subscribe(() => this.#observeSoon());
    this.observe();
  }

  /** Returns the request limits reserved for a Job, or undefined if there are none. */
  get(job: ResourceKey): HeldShare | undefined {
    return this.#options.shares.get(keyText(job));
  }

  /** Returns true if any Job of the export, except the Job `except`, uses request limits. */
  isHeldBy(exportUid: string, except: ResourceKey): boolean {
    return this.#options.shares.isHeldBy(exportUid, keyText(except));
  }

  /** Reserves request limits for a Job of an export, up to `wanted`. Returns undefined if none are left. */
  reserve(job: ResourceKey, exportUid: string, wanted: HeldShare, limits: RequestLimits): HeldShare | undefined {
    const { shares, accounts } = this.#options;
    if (this.#isOutdated) this.observe();
    const name = keyText(job);
    const isNew = shares.get(name) === undefined;
    const held = shares.reserve(name, exportUid, wanted, limits);
    if (!held) return undefined;
    this.#expire(job);
    if (isNew) accounts.sharesChanged();
    return held;
  }

  /** Lowers the operator's request rate by the share of a Job that is about to be created. */
  start(job: ResourceKey): void {
    const { shares, accounts } = this.#options;
    shares.start(keyText(job));
    accounts.sharesChanged();
  }

  /** Releases the request limits of a Job that was not created. */
  cancel(job: ResourceKey): void {
    const { shares, accounts, onFree } = this.#options;
    const name = keyText(job);
    this.#reservations.get(name)?.cancel();
    this.#reservations.delete(name);
    shares.cancel(name);
    accounts.sharesChanged();
    onFree();
  }

  /** Compares the reservations with the existing Jobs and pods, and corrects the reservations. */
  observe(): void {
    const { store, shares, accounts, clock, onFree } = this.#options;
    this.#isOutdated = false;
    this.#timer?.cancel();
    const observed = observedShares(store);
    for (const { job } of observed) {
      this.#reservations.get(job)?.cancel();
      this.#reservations.delete(job);
    }
    const { isFreed, nextMs } = shares.observe(observed, clock.monotonic());
    this.#timer = Number.isFinite(nextMs) ? clock.after(nextMs, () => this.observe()) : undefined;
    accounts.sharesChanged();
    if (isFreed) onFree();
  }

  close(): void {
    this.#isClosed = true;
    this.#unsubscribe();
    this.#timer?.cancel();
    for (const timer of this.#reservations.values()) timer.cancel();
  }

  /**
   * Calls `observe` in a microtask, so that a whole list of changed Jobs or pods causes only one call. The microtask
   * runs before a new leader notices that the list is complete. Therefore, `observe` subtracts the shares of the
   * running Jobs from the leader's request limits before the leader sends its first request (B8).
   */
  #observeSoon(): void {
    if (this.#isOutdated) return;
    this.#isOutdated = true;
    queueMicrotask(() => {
      if (this.#isOutdated && !this.#isClosed) this.observe();
    });
  }

  /** Releases the reservation of a Job that was never created. */
  #expire(job: ResourceKey): void {
    const { clock, store } = this.#options;
    this.#reservations.get(keyText(job))?.cancel();
    const timer = clock.after(reservationMs, async () => {
      const exists = await store.exists(job).catch(() => true);
      if (this.#isClosed || this.#reservations.get(keyText(job)) !== timer) return;
      if (exists) this.#expire(job);
      else this.cancel(job);
    });
    this.#reservations.set(keyText(job), timer);
  }
}

/** Returns the Jobs that use request limits. A deleted Job uses its request limits until its pods have ended. */
function observedShares(store: WorkerJobs): readonly ObservedShare[] {
  const pods = Map.groupBy(store.pods(), ({ metadata: { namespace, labels } }) =>
    keyText({ namespace, name: labels[jobNameLabel] ?? '' }),
  );
  const found: ObservedShare[] = [];
  // The request limits are read from the first object that still has the annotation, because a user may have removed
  // the annotation from the Job or from some of its pods.
  const add = (job: string, from: readonly (WorkerJob | WorkerPod)[], ended: boolean) => {
    const [held] = from.flatMap(({ metadata }) => readShare(metadata.annotations) ?? []);
    const [exportUid = ''] = from.flatMap(({ metadata }) => metadata.labels[exportLabel] ?? []);
    if (held) found.push({ job, exportUid, held, hasEnded: ended });
  };
  for (const job of store.jobs()) {
    const name = keyText(job.metadata);
    const own = pods.get(name) ?? [];
    add(name, [job, ...own], hasEnded(job, own));
    pods.delete(name);
  }
  for (const [name, orphans] of pods) if (!hasEnded(undefined, orphans)) add(name, orphans, false);
  return found;
}

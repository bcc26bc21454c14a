/**
 * Divides a user's request limits between the operator and its worker pods (B8), and records the limits that each
 * worker uses.
 */

/** Limits of a process: requests per second for a user, and concurrent requests for an access key. */
export interface RequestLimits {
  readonly requestsPerSecond: number;
  readonly maxConcurrentRequests: number;
}

/** Request limits that the operator always keeps for itself. */
export const operatorMinimum: RequestLimits = { requestsPerSecond: 1, maxConcurrentRequests: 2 };
/**
 * Maximum number of workers per user. The service allows each user four requests per second. The operator keeps one of
 * them, and each worker needs at least one.
 */
export const maxWorkers = 3;
/**
 * Minimum number of concurrent requests per worker. A worker needs one request to read a page, and another to keep
 * search jobs alive.
 */
const minConcurrent = 2;

export interface ShareSize {
  /** Maximum number of workers that the user's request limits allow. */
  readonly workers: number;
  /** Share of each worker. */
  readonly share: RequestLimits;
}

/**
 * Divides a user's request limits among workers. Returns undefined if the limits are too small for even one worker.
 *
 * The rate of each share is a whole number of requests per second. With a rate below 1, each process could still send
 * one request in any second, so several processes together could exceed the user's limit in that second.
 */
export function shareSize(limits: RequestLimits): ShareSize | undefined {
  const rate = Math.floor(limits.requestsPerSecond) - operatorMinimum.requestsPerSecond;
  const concurrent = limits.maxConcurrentRequests - operatorMinimum.maxConcurrentRequests;
  const workers = Math.min(maxWorkers, rate, Math.floor(concurrent / minConcurrent));
  if (workers < 1) return undefined;
  const share = {
    requestsPerSecond: Math.floor(rate / workers),
    maxConcurrentRequests: Math.floor(concurrent / workers),
  };
  return { workers, share };
}

/** Returns the operator's request limits: the user's limits minus the shares of the workers. */
export function limitsWithout(limits: RequestLimits, shares: readonly HeldShare[]): RequestLimits {
  if (shares.length === 0) return limits;
  const free = freeOf(limits, shares);
  // A user can lower the limits while Jobs are running. The running workers may then use more than the new limits, but
  // the operator still keeps a minimum for itself.
  const least = (limit: keyof RequestLimits) => Math.max(free[limit], Math.min(limits[limit], operatorMinimum[limit]));
  return {
    requestsPerSecond: least('requestsPerSecond'),
    maxConcurrentRequests: least('maxConcurrentRequests'),
  };
}

/** Returns what is left of the request limits after the shares are subtracted. The results may be negative. */
function freeOf(limits: RequestLimits, shares: readonly HeldShare[]): RequestLimits {
  let { requestsPerSecond, maxConcurrentRequests } = limits;
  for (const { workers, share } of shares) {
    requestsPerSecond -= workers * share.requestsPerSecond;
    maxConcurrentRequests -= workers * share.maxConcurrentRequests;
  }
  return { requestsPerSecond, maxConcurrentRequests };
}

/** Request limits used by the workers of one Kubernetes Job. */
export interface HeldShare {
  /** Identity of the user of the service, from `userIdOf`. */
  readonly user: string;
  readonly workers: number;
  /** Share of each worker. */
  readonly share: RequestLimits;
}

/**
 * Time in ms for which a Job's request limits stay reserved after its deletion, because Kubernetes may still start one
 * of its pods.
 */
const lingerMs = 60_000;

/** Request limits of one Kubernetes Job, and the state of the Job. */
export interface JobShare extends Pick<ObservedShare, 'exportUid' | 'held'> {
  /** True until the operator first observes the Job in the API server. Until then, the limits are only reserved. */
  isReserved: boolean;
  /** True as soon as the operator begins to create the Job. From then on, workers of the Job may use the share. */
  isStarted: boolean;
  /**
   * Monotonic time, in ms, at which the operator noticed that the Job had ended or been deleted. Undefined while the
   * Job is running.
   */
  goneAtMs: number | undefined;
  /** True if no further pods of the Job can start. */
  hasEnded: boolean;
}

/** An existing Kubernetes Job, and the request limits that its workers use. */
export interface ObservedShare {
  /** Namespace and name of the Job. */
  readonly job: string;
  /** Uid of the Job's SearchExport. */
  readonly exportUid: string;
  readonly held: HeldShare;
  /** True if the Job and all its pods have ended. */
  readonly hasEnded: boolean;
}

/** Request limits that workers use, indexed by the namespace and name of the workers' Job. */
export class WorkerShares {
  readonly #entries = new Map<string, JobShare>();

  /**
   * Reserves request limits for up to `wanted.workers` workers of a new Job. Returns undefined if the free share of the
   * user's limits is too small, or if pods of an earlier Job with the same name may still be running.
   */
  reserve(job: string, exportUid: string, wanted: HeldShare, limits: RequestLimits): HeldShare | undefined {
    const known = this.#entries.get(job);
    if (known) return known.isReserved ? known.held : undefined;
    const others = this.of(wanted.user);
    const used = others.reduce((sum, { workers }) => sum + workers, 0);
    for (let workers = Math.min(wanted.workers, (shareSize(limits)?.workers ?? 0) - used); workers > 0; workers--) {
      const held = { ...wanted, workers };
      if (!fits(limits, [...others, held])) continue;
      const state = { isReserved: true, isStarted: false, goneAtMs: undefined, hasEnded: false };
      this.#entries.set(job, { exportUid, held, ...state });
      return held;
    }
    return undefined;
  }

  get(job: string): HeldShare | undefined {
    return this.#entries.get(job)?.held;
  }

  /** Reports whether any Job of an export, other than `except`, holds request limits. */
  isHeldBy(exportUid: string, except: string): boolean {
    return [...this.#entries].some(([job, entry]) => entry.exportUid === exportUid && job !== except);
  }

  /** Records that the operator is about to create a Job for which it has reserved request limits. */
  start(job: string): void {
    const entry = this.#entries.get(job);
    if (entry) entry.isStarted = true;
  }

  /** Releases request limits that were reserved for a Job that was not created. */
  cancel(job: string): void {
    if (this.#entries.get(job)?.isReserved) this.#entries.delete(job);
  }

  /**
   * Records the request limits that the workers of existing Jobs use. Releases the limits of Jobs that have ended or
   * have been deleted. Returns whether limits were released, and the time in ms until the next release.
   */
  observe(observed: readonly ObservedShare[], nowMs: number): { readonly isFreed: boolean; readonly nextMs: number } {
    const seen = new Set<string>();
    for (const { job, exportUid, held, hasEnded } of observed) {
      seen.add(job);
      if (hasEnded && !this.#entries.has(job)) continue;
      const goneAtMs = hasEnded ? (this.#entries.get(job)?.goneAtMs ?? nowMs) : undefined;
      this.#entries.set(job, { exportUid, held, isReserved: false, isStarted: true, goneAtMs, hasEnded });
    }
    let isFreed = false;
    let nextMs = Number.POSITIVE_INFINITY;
    for (const [job, entry] of this.#entries) {
      if (!seen.has(job) && !entry.isReserved) entry.goneAtMs ??= nowMs;
      if (entry.goneAtMs === undefined) continue;
      const freeAtMs = entry.hasEnded ? entry.goneAtMs : entry.goneAtMs + lingerMs;
      if (freeAtMs <= nowMs) isFreed = this.#entries.delete(job);
      else nextMs = Math.min(nextMs, freeAtMs - nowMs);
    }
    return { isFreed, nextMs };
  }

  /** Returns the shares of a user's workers, including shares that are reserved for Jobs that do not exist yet. */
  of(user: string): readonly HeldShare[] {
    return [...this.#entries.values()].map(({ held }) => held).filter((held) => held.user === user);
  }

  /** Returns the shares of all Jobs, by user. */
  byUser(): ReadonlyMap<string, readonly Readonly<JobShare>[]> {
    return Map.groupBy(this.#entries.values(), ({ held }) => held.user);
  }
}

/** Returns the shares of Jobs whose workers may be running. Leaves out shares that are only reserved. */
export function startedShares(jobs: readonly Readonly<JobShare>[] = []): readonly HeldShare[] {
  return jobs.filter(({ isStarted }) => isStarted).map(({ held }) => held);
}

/** Reports whether these shares of the workers leave enough of the request limits for the operator. */
function fits(limits: RequestLimits, shares: readonly HeldShare[]): boolean {
  const { requestsPerSecond, maxConcurrentRequests } = freeOf(limits, shares);
  return (
    requestsPerSecond >= operatorMinimum.requestsPerSecond &&
    maxConcurrentRequests >= operatorMinimum.maxConcurrentRequests
  );
}

import { stallRetryMs } from '../base/retry-delay.ts';
import type { ResourceKey } from '../host/host.ts';

/** Result of a reconcile that did not throw an error. */
export interface Result {
  /**
   * Delay in ms until the next reconcile. If it is Infinity, only a change to the resource triggers the next reconcile.
   */
  readonly delayMs: number;
  /** True if `logfleet run DIR` may end without waiting for this resource. */
  readonly finished: boolean;
}

/** Result of a reconcile that leaves nothing to do. */
export const finished: Result = { delayMs: Number.POSITIVE_INFINITY, finished: true };

export interface Reconciler {
  /**
   * Brings one resource closer to its desired state. Also called for a deleted resource. Calls for the same key never
   * overlap. Returns early if `signal` is aborted.
   */
  reconcile(key: ResourceKey, signal: AbortSignal): Promise<Result>;
}

/** Minimum delay in ms before the next reconcile. It prevents a busy loop of reconciles. */
const shortestDelayMs = 1;

/**
 * Returns the result of a reconcile. If the resource still has work to do, an infinite delay is replaced with
 * `stallRetryMs`, so that the resource is reconciled again even if nothing changes.
 */
export function requeue(delayMs: number, finished: boolean): Result {
  const isForgotten = delayMs === Number.POSITIVE_INFINITY && !finished;
  return { delayMs: isForgotten ? stallRetryMs : Math.max(shortestDelayMs, delayMs), finished };
}

/** Interface between the controller and the reconciler of one kind of resource. */
import { stallRetryMs } from '../base/retry-delay.ts';
import type { ResourceKey } from '../host/host.ts';

/** Result of a reconcile that threw no error. */
export interface Result {
  /** Delay in ms until the resource is reconciled again. Infinity: not before something changes. */
  readonly delayMs: number;
  /**
   * True if `logfleet run DIR` may end without waiting for this resource, even if another reconcile follows after the delay.
   */
  readonly settled: boolean;
}

/** Result of a reconcile that leaves nothing to do until something changes. */
export const settled: Result = { delayMs: Number.POSITIVE_INFINITY, settled: true };

export interface Reconciler {
  /**
   * Brings one resource closer to its desired state. Uses only the current state of the resource, not the change that
   * caused the call. Also called for a deleted resource. Calls for one key never overlap. Returns early if `signal` is
   * aborted.
   */
  reconcile(key: ResourceKey, signal: AbortSignal): Promise<Result>;
}

/**
 * Minimum delay in ms before the next reconcile. Without it, rounding could produce a delay of 0, and the reconcile
 * would repeat in an endless loop.
 */
const shortestDelayMs = 1;

/**
 * Returns a result with a delay in ms. A delay of Infinity means for a settled resource: not before its next change. For a
 * resource with work left, it means `stallRetryMs`.
 */
export function requeue(delayMs: number, settled: boolean): Result {
  const isForgotten = delayMs === Number.POSITIVE_INFINITY && !settled;
  return { delayMs: isForgotten ? stallRetryMs : Math.max(shortestDelayMs, delayMs), settled };
}

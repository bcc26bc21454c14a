/** Interface between the controller and the reconciler of one kind of resource. */
import { stallRetryMs } from '../base/retry-delay.ts';
import type { ResourceKey } from '../host/host.ts';

/**
 * Result of a reconcile that threw no error.
 * - `settled`: nothing is left to do for the resource until something changes.
 * - `requeueAfter`: the resource is reconciled again after `delayMs`. If `settled` is true, `logfleet run DIR` may end before that.
 */
export type Result =
  | { readonly kind: 'settled' }
  | { readonly kind: 'requeueAfter'; readonly delayMs: number; readonly settled: boolean };

export interface Reconciler {
  /**
   * Brings one resource closer to its desired state, by its current state and not by its last change. Also called for a deleted resource.
   * Calls for one key never overlap. Returns early if `signal` is aborted.
   */
  reconcile(key: ResourceKey, signal: AbortSignal): Promise<Result>;
}

/**
 * Minimum delay in ms before the next reconcile. Rounding could turn a smaller delay into none, and the reconcile would repeat endlessly.
 */
const shortestDelayMs = 1;

/**
 * Returns a result with a delay in ms. If the delay is Infinity, a settled resource is not reconciled again, and a resource
 * with work left is reconciled after `stallRetryMs`.
 */
export function requeue(delayMs: number, settled: boolean): Result {
  if (delayMs === Number.POSITIVE_INFINITY) {
    return settled ? { kind: 'settled' } : { kind: 'requeueAfter', delayMs: stallRetryMs, settled };
  }
  return { kind: 'requeueAfter', delayMs: Math.max(shortestDelayMs, delayMs), settled };
}

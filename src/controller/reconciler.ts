/** Interface between the controller and the reconciler of one kind of resource. */
import { stallRetryMs } from '../base/retry-delay.ts';
import type { ResourceKey } from '../host/host.ts';

/**
 * Result of a reconcile. Errors are thrown instead, and the controller reads their `handling`.
 * - `settled`: the resource needs nothing until something changes. A directory run may end.
 * - `requeueAfter`: the resource is reconciled again after `delayMs`; `settled` tells whether a directory run may end before
 *   that.
 */
export type Result =
  | { readonly kind: 'settled' }
  | { readonly kind: 'requeueAfter'; readonly delayMs: number; readonly settled: boolean };

export interface Reconciler {
  /**
   * Brings one resource closer to its desired state. The reconcile evaluates the current state of the resource, never the last
   * change. It is also called for a deleted resource, and never concurrently for one key. It returns early when `signal` is
   * aborted.
   */
  reconcile(key: ResourceKey, signal: AbortSignal): Promise<Result>;
}

/**
 * Minimum delay in ms before the next reconcile. A smaller delay may vanish by rounding when it is added to the current time.
 * The resource would then be reconciled in an endless loop.
 */
const shortestDelayMs = 1;

/**
 * Returns a result with a delay in ms. Infinity means that no reconcile is scheduled. A resource that has not settled always
 * gets another reconcile.
 */
export function requeue(delayMs: number, settled: boolean): Result {
  if (delayMs === Number.POSITIVE_INFINITY) {
    return settled ? { kind: 'settled' } : { kind: 'requeueAfter', delayMs: stallRetryMs, settled };
  }
  return { kind: 'requeueAfter', delayMs: Math.max(shortestDelayMs, delayMs), settled };
}

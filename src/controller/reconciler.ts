/** Interface between the controller and the reconciler of a kind. */
import { stallRetryMs } from '../base/retry-delay.ts';
import type { ResourceKey } from '../host/host.ts';

/**
 * Result of a reconcile. Errors are thrown instead, and the controller reads their `handling`.
 * - `settled`: nothing to do until something changes. A directory run may end.
 * - `requeueAfter`: reconcile again after `delayMs`; `settled` says whether a directory run may end meanwhile.
 */
export type Result =
  | { readonly kind: 'settled' }
  | { readonly kind: 'requeueAfter'; readonly delayMs: number; readonly settled: boolean };

export interface Reconciler {
  /**
   * Brings one resource closer to its desired state. Level-based: evaluates the present state, never the last change. Also called
   * for a deleted resource. Never called concurrently for one key. Returns early when `signal` is aborted.
   */
  reconcile(key: ResourceKey, signal: AbortSignal): Promise<Result>;
}

/**
 * Minimum delay. A smaller one may vanish by rounding when added to the time of day, and the resource would be due again and again.
 */
const shortestDelayMs = 1;

/** Result with a delay; Infinity means none. A resource that has not settled is reconciled again in any case. */
export function requeue(delayMs: number, settled: boolean): Result {
  if (delayMs === Number.POSITIVE_INFINITY) {
    return settled ? { kind: 'settled' } : { kind: 'requeueAfter', delayMs: stallRetryMs, settled };
  }
  return { kind: 'requeueAfter', delayMs: Math.max(shortestDelayMs, delayMs), settled };
}

/** Requeue results for the controller. */
import { recheckDelayMs } from './controller.ts';
import type { Result } from './reconciler.ts';

/**
 * Minimum delay. A smaller one may vanish by rounding when added to the time of day, and the resource would be due again and again.
 */
const shortestDelayMs = 1;

/** Result with a delay; Infinity means none. A resource that has not settled is reconciled again in any case. */
export function requeue(delayMs: number, settled: boolean): Result {
  if (delayMs === Number.POSITIVE_INFINITY) {
    return settled ? { kind: 'settled' } : { kind: 'requeueAfter', delayMs: recheckDelayMs, settled };
  }
  return { kind: 'requeueAfter', delayMs: Math.max(shortestDelayMs, delayMs), settled };
}

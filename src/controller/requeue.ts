/** When a resource is looked at again, as the controller wants to hear it. */
import { recheckDelayMs } from './controller.ts';
import type { Result } from './reconciler.ts';

/** Less than this may vanish in the sum with the time of day, and what is due then would be due for ever. */
const shortestDelayMs = 1;

/** Infinity: never, unless something is heard of; who has not settled is looked at again all the same. */
export function requeue(delayMs: number, settled: boolean): Result {
  if (delayMs === Number.POSITIVE_INFINITY) {
    return settled ? { kind: 'settled' } : { kind: 'requeueAfter', delayMs: recheckDelayMs, settled };
  }
  return { kind: 'requeueAfter', delayMs: Math.max(shortestDelayMs, delayMs), settled };
}

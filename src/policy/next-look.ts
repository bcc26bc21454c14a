/** When a policy is looked at again, as its controller wants to hear it. */
import type { LogfleetError } from '../base/errors.ts';
import type { Result } from '../controller/reconciler.ts';
import type { Health } from './health.ts';
import { stallHoldMs } from './service-binding.ts';

/** How long until a look is worth while, where nothing that we hear of will tell. */
export function recheckMs(health: Health, problem: LogfleetError | undefined): number {
  if (problem?.handling.kind === 'retryAfter') return problem.handling.delayMs;
  return health.stalled || problem ? stallHoldMs : Number.POSITIVE_INFINITY;
}

/** Less than this may vanish in the sum with the time of day, and what is due then would be due for ever. */
const shortestDelayMs = 1;

/** Infinity: never, unless something is heard of; who has not settled is looked at again all the same. */
export function requeue(delayMs: number, settled: boolean): Result {
  if (delayMs === Number.POSITIVE_INFINITY)
    return settled ? { kind: 'settled' } : { kind: 'requeueAfter', delayMs: stallHoldMs, settled };
  return { kind: 'requeueAfter', delayMs: Math.max(shortestDelayMs, delayMs), settled };
}

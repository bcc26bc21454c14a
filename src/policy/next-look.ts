/** When a policy is looked at again, as its controller wants to hear it. */
import type { LogfleetError } from '../base/errors.ts';
import { retryDelayMs, stallRetryMs } from '../base/retry-delay.ts';
import type { Health } from '../controller/health.ts';

/** How long until a look is worth while, where nothing that we hear of will tell. */
export function recheckMs(health: Health, problem: LogfleetError | undefined): number {
  if (problem?.handling.kind === 'retryAfter') return retryDelayMs(problem, 0);
  // A change of the Secret is heard of (C2).
  if (problem?.code.startsWith('secret.')) return Number.POSITIVE_INFINITY;
  return health.stalled || problem ? stallRetryMs : Number.POSITIVE_INFINITY;
}

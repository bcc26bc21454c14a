/** Time of the next evaluation of a policy, for its controller. */
import type { LogfleetError } from '../base/errors.ts';
import { retryDelayMs, stallRetryMs } from '../base/retry-delay.ts';
import type { Health } from '../controller/health.ts';

/** Milliseconds until the next evaluation, when no event may announce the change. */
export function recheckMs(health: Health, problem: LogfleetError | undefined): number {
  if (problem?.handling.kind === 'retryAfter') return retryDelayMs(problem, 0);
  // The watch of Secrets reports the change (C2).
  if (problem?.code.startsWith('secret.')) return Number.POSITIVE_INFINITY;
  return health.stalled || problem ? stallRetryMs : Number.POSITIVE_INFINITY;
}

/** Exponential backoff with jitter and a maximum, so that clients that failed together do not retry together. */
import { asLogfleetError } from '../../base/errors.ts';
import type { Random } from '../../base/random.ts';

interface BackoffOptions {
  readonly firstMs: number;
  readonly capMs: number;
}

/** Delay in ms after failure number `failures` (from 1), and at least the delay of a Retry-After header. */
export function backoffDelay(options: BackoffOptions, failures: number, error: unknown, random: Random): number {
  const ceilingMs = Math.min(options.capMs, options.firstMs * 2 ** Math.min(failures - 1, 30));
  const delayMs = ceilingMs * (0.5 + random.next() / 2);
  const { handling } = asLogfleetError(error);
  return handling.kind === 'retryAfter' ? Math.max(delayMs, handling.delayMs) : delayMs;
}

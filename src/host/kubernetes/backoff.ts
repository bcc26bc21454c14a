/**
 * How long to wait after failures in a row: doubling, spread by chance so that clients that failed together do not come back
 * together, and never beyond a cap.
 */
import { asLogfleetError } from '../../base/errors.ts';
import type { Random } from '../../base/random.ts';

export interface BackoffOptions {
  readonly firstMs: number;
  readonly capMs: number;
}

/** Milliseconds after failure number `failures` (from 1); at least what the server asked for by Retry-After. */
export function backoffDelay(options: BackoffOptions, failures: number, error: unknown, random: Random): number {
  const ceilingMs = Math.min(options.capMs, options.firstMs * 2 ** Math.min(failures - 1, 30));
  const delayMs = ceilingMs * (0.5 + random.next() / 2);
  const { handling } = asLogfleetError(error);
  return handling.kind === 'retryAfter' ? Math.max(delayMs, handling.delayMs) : delayMs;
}

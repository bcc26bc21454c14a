/** Runs an asynchronous operation with a deadline. */
import { unlessAborted } from './aborted.ts';
import type { Clock } from './clock.ts';

/** Abort reason for a request whose response took too long. */
export class DeadlineError extends Error {
  override readonly name = 'TimeoutError';
}

/**
 * Runs `work` with a signal that is aborted after `deadlineMs`, or when `signal` is aborted. The returned promise then
 * rejects immediately, with a `DeadlineError` or the reason of `signal`.
 */
export async function withDeadline<T>(
  clock: Clock,
  deadlineMs: number,
  signal: AbortSignal | undefined,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  signal?.throwIfAborted();
  const deadline = new AbortController();
  const timer = clock.after(deadlineMs, () => deadline.abort(new DeadlineError(`not done within ${deadlineMs} ms`)));
  const either = AbortSignal.any(signal ? [deadline.signal, signal] : [deadline.signal]);
  try {
    return await unlessAborted(either, work(either));
  } finally {
    timer.cancel();
  }
}

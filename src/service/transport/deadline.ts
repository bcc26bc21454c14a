/** Runs an asynchronous operation with a deadline, by the clock that the caller passes. */
import { unlessAborted } from '../../base/aborted.ts';
import type { Clock } from '../../base/clock.ts';
import { LogfleetError } from '../../base/errors.ts';

/** Abort reason of a request whose answer took too long. */
export class DeadlineError extends LogfleetError {
  override readonly name = 'DeadlineError';

  constructor(message: string) {
    super({ code: 'service.deadline', message, handling: { kind: 'backoff' }, reason: 'ServiceUnreachable' });
  }
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
  const controller = new AbortController();
  const timer = clock.after(deadlineMs, () => controller.abort(new DeadlineError(`not done within ${deadlineMs} ms`)));
  const onAbort = () => controller.abort(signal?.reason);
  signal?.addEventListener('abort', onAbort, { once: true });
  try {
    return await unlessAborted(controller.signal, work(controller.signal));
  } finally {
    timer.cancel();
    signal?.removeEventListener('abort', onAbort);
  }
}

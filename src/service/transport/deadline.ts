/** Runs an asynchronous operation with a deadline, by the clock that the caller passes. */
import { unlessAborted } from '../../base/aborted.ts';
import type { Clock } from '../../base/clock.ts';
import { LogfleetError } from '../../base/errors.ts';

/** Abort reason of an exceeded deadline. */
export class DeadlineError extends LogfleetError {
  override readonly name = 'DeadlineError';

  constructor(deadlineMs: number) {
    const message = `not done within ${deadlineMs} ms`;
    super({ code: 'service.deadline', message, handling: { kind: 'backoff' }, reason: 'ServiceUnreachable' });
  }
}

/** Abort reason of a status request that gives up its slot, because a keep-alive needs the slot. */
export class YieldedError extends LogfleetError {
  override readonly name = 'YieldedError';

  constructor() {
    const message = 'its request slot was needed';
    super({ code: 'service.yielded', message, handling: { kind: 'backoff' }, reason: 'ServiceUnreachable' });
  }
}

/**
 * Runs `work` with a signal that is aborted after `deadlineMs` or together with `signal`. When its signal is aborted,
 * rejects immediately with a `DeadlineError` or the reason of `signal`, even if `work` ignores the signal.
 */
export async function withDeadline<T>(
  clock: Clock,
  deadlineMs: number,
  signal: AbortSignal | undefined,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  signal?.throwIfAborted();
  const controller = new AbortController();
  const timer = clock.after(deadlineMs, () => controller.abort(new DeadlineError(deadlineMs)));
  const onAbort = () => controller.abort(signal?.reason);
  signal?.addEventListener('abort', onAbort, { once: true });
  try {
    return await unlessAborted(controller.signal, work(controller.signal));
  } finally {
    timer.cancel();
    signal?.removeEventListener('abort', onAbort);
  }
}

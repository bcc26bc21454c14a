/** A deadline round a piece of work, on the clock of the port. */
import type { Clock } from '../base/clock.ts';
import { LogfleetError } from '../base/errors.ts';

/** The reason with which a deadline aborts. */
export class DeadlineError extends LogfleetError {
  override readonly name = 'DeadlineError';

  constructor(deadlineMs: number) {
    const message = `not done within ${deadlineMs} ms`;
    super({ code: 'service.deadline', message, handling: { kind: 'backoff' }, reason: 'ServiceUnreachable' });
  }
}

/** The reason with which a question is given up whose place another one needs. */
export class YieldedError extends LogfleetError {
  override readonly name = 'YieldedError';

  constructor() {
    const message = 'its place was needed';
    super({ code: 'service.yielded', message, handling: { kind: 'backoff' }, reason: 'ServiceUnreachable' });
  }
}

/**
 * Runs `work` with a signal that is aborted after `deadlineMs`, or as soon as `signal` is. Settles then at once, whether or not
 * `work` heeds its signal: with a `DeadlineError`, or with the reason of `signal`.
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
    return await Promise.race([work(controller.signal), rejectionOf(controller.signal)]);
  } finally {
    timer.cancel();
    signal?.removeEventListener('abort', onAbort);
  }
}

function rejectionOf(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}

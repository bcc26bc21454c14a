/**
 * Base class of all errors of logfleet. An error has a `code` for programs, a `message` for people, the `reason` of the condition
 * that shows it, and the `handling` that callers must apply.
 *
 * Code matches errors by `code` and `handling`, never by message.
 */

/**
 * How a caller handles an error.
 * - `backoff`: may be temporary; retry with increasing delays.
 * - `retryAfter`: like `backoff`, but wait at least `delayMs`.
 * - `wait`: not a failure; something else must happen first.
 * - `stall`: a person must act; retry at long intervals.
 * - `bug`: an error in logfleet; log it with its stack and back off.
 */
export type Handling =
  | { readonly kind: 'backoff' }
  | { readonly kind: 'retryAfter'; readonly delayMs: number }
  | { readonly kind: 'wait' }
  | { readonly kind: 'stall' }
  | { readonly kind: 'bug' };

export interface LogfleetErrorOptions {
  /** Dotted lower-case code for programs: `secret.missing`, `host.conflict`. */
  readonly code: string;
  /** One or two sentences for people: what is wrong, where, and what to do. Contains no secrets. */
  readonly message: string;
  readonly handling: Handling;
  /** CamelCase reason of the condition that shows this error. Default: `InternalError`. */
  readonly reason?: string;
  readonly cause?: unknown;
}

export class LogfleetError extends Error {
  override readonly name: string = 'LogfleetError';
  readonly code: string;
  readonly handling: Handling;
  readonly reason: string;

  constructor(options: LogfleetErrorOptions) {
    super(options.message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = options.code;
    this.handling = options.handling;
    this.reason = options.reason ?? 'InternalError';
  }
}

/** Creates an error without a delay. `kind` is its handling. */
export function failure(
  kind: Exclude<Handling['kind'], 'retryAfter'>,
  code: string,
  message: string,
  more: Pick<LogfleetErrorOptions, 'reason' | 'cause'> = {},
): LogfleetError {
  return new LogfleetError({ code, message, handling: { kind }, ...more });
}

/** Whether a retry can succeed without a person's help. */
export function mayPass({ handling }: LogfleetError): boolean {
  return handling.kind === 'backoff' || handling.kind === 'retryAfter';
}

/** Wraps other thrown values as bugs, so that all callers can use `handling`. */
export function asLogfleetError(error: unknown): LogfleetError {
  if (error instanceof LogfleetError) return error;
  const message = error instanceof Error ? error.message : String(error);
  return new LogfleetError({ code: 'bug.unexpected', message, handling: { kind: 'bug' }, cause: error });
}

/**
 * Base class of all errors. An error has a machine-readable `code`, a user-facing `message`, a `reason` for conditions,
 * and a `handling` that tells callers how to react.
 */

/**
 * How a caller handles an error.
 * - `backoff`: retry with increasing delays.
 * - `retryAfter`: like `backoff`, but wait at least `delayMs`.
 * - `wait`: not a failure; something else must happen first.
 * - `stall`: a user must act; retry at long intervals.
 * - `bug`: an error in logfleet; log its stack, and retry with increasing delays.
 */
export type Handling =
  | { readonly kind: 'backoff' }
  | { readonly kind: 'retryAfter'; readonly delayMs: number }
  | { readonly kind: 'wait' }
  | { readonly kind: 'stall' }
  | { readonly kind: 'bug' };

export interface LogfleetErrorOptions {
  /** Machine-readable code, such as `secret.missing`. */
  readonly code: string;
  /** User-facing message: what is wrong, where, and what to do. The message contains no secrets. */
  readonly message: string;
  readonly handling: Handling;
  /** Reason of the condition that shows this error. Defaults to `InternalError`. */
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

/** Reports whether an error is a `LogfleetError` with one of these codes. */
export function hasCode(error: unknown, ...codes: readonly string[]): error is LogfleetError {
  return error instanceof LogfleetError && codes.includes(error.code);
}

/** Reports whether an error is a `LogfleetError` that is not a bug. Logs do not show the stack of such an error. */
export function isExpected(error: unknown): error is LogfleetError {
  return error instanceof LogfleetError && error.handling.kind !== 'bug';
}

/** Creates an error with this `kind` of handling. */
export function failure(
  kind: Exclude<Handling['kind'], 'retryAfter'>,
  code: string,
  message: string,
  more: Pick<LogfleetErrorOptions, 'reason' | 'cause'> = {},
): LogfleetError {
  return new LogfleetError({ code, message, handling: { kind }, ...more });
}

/** Reports whether a retry can succeed without user action. */
export function mayPass({ handling }: LogfleetError): boolean {
  return handling.kind === 'backoff' || handling.kind === 'retryAfter';
}

/** Converts any thrown value to a LogfleetError. A value that is not a LogfleetError counts as a bug in logfleet. */
export function asLogfleetError(error: unknown): LogfleetError {
  if (error instanceof LogfleetError) return error;
  return failure('bug', 'bug.unexpected', messageOf(error), { cause: error });
}

/** Returns the message of an error. Converts other values to text. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Reports whether a file operation failed because a file or folder on its path does not exist. */
export function isFileAbsent(error: unknown): boolean {
  return ['ENOENT', 'ENOTDIR'].includes(systemCode(error) ?? '');
}

/** Reports whether a folder could not be flushed to disk because its file system cannot flush folders. */
export function isSyncUnsupported(error: unknown): boolean {
  return ['EINVAL', 'EISDIR', 'EPERM', 'ENOTSUP'].includes(systemCode(error) ?? '');
}

/** Returns the code of a system error, such as `ENOENT`. Returns undefined for other errors. */
export function systemCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}

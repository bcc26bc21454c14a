/**
 * The one base of all errors of logfleet. An error says what happened (`code`, for programs; `message`, for people),
 * what to show in a condition (`reason`) and how whoever catches it is to go on (`handling`).
 *
 * Errors are matched by `code` and `handling`, never by their message.
 */

/**
 * How to go on after an error.
 * - `backoff`: it may pass by itself; try again, later each time.
 * - `retryAfter`: the same, and not before `delayMs`.
 * - `wait`: nothing is wrong, something has to happen first.
 * - `stall`: a person has to mend something; look again now and then, without hammering.
 * - `bug`: logfleet is wrong; log it loudly, and back off.
 */
export type Handling =
  | { readonly kind: 'backoff' }
  | { readonly kind: 'retryAfter'; readonly delayMs: number }
  | { readonly kind: 'wait' }
  | { readonly kind: 'stall' }
  | { readonly kind: 'bug' };

export interface LogfleetErrorOptions {
  /** Dotted lower-case literal, for programs: `secret.missing`, `host.conflict`. */
  readonly code: string;
  /** One or two sentences for a person: what was wrong, where, and what to do. No secrets. */
  readonly message: string;
  readonly handling: Handling;
  /** The CamelCase reason of the condition that shows this error; `InternalError` where nothing better is known. */
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

/** Whether trying again may help, with nothing changed by anybody. */
export function mayPass({ handling }: LogfleetError): boolean {
  return handling.kind === 'backoff' || handling.kind === 'retryAfter';
}

/** Wraps what is not one of ours as a bug, so that every catch can rely on `handling`. */
export function asLogfleetError(error: unknown): LogfleetError {
  if (error instanceof LogfleetError) return error;
  const message = error instanceof Error ? error.message : String(error);
  return new LogfleetError({ code: 'bug.unexpected', message, handling: { kind: 'bug' }, cause: error });
}

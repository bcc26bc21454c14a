/**
 * Errors from calls to the service. An error says how the request ended, whether the service may have acted, and what
 * the caller should do.
 */
import { LogfleetError, type LogfleetErrorOptions } from '../../base/errors.ts';
import type { Effect, RequestFailure } from './request-failure.ts';

export interface ServiceErrorOptions extends Omit<LogfleetErrorOptions, 'code'> {
  readonly failure: RequestFailure;
  readonly effect: Effect;
  /** HTTP status. Undefined if there was no response. */
  readonly status?: number | undefined;
  /** Error code in the response, such as `collector.in.upgrading` (section 7 of docs/service.md). */
  readonly serviceCode?: string | undefined;
  /** True if the body of an error response is not JSON, such as the HTML page of a proxy. */
  readonly hasForeignBody?: boolean;
  /** Monotonic time in ms at which the request was sent. Undefined if it was not sent. */
  readonly sentAtMs?: number | undefined;
}

export class ServiceError extends LogfleetError {
  override readonly name = 'ServiceError';
  readonly failure: RequestFailure;
  readonly effect: Effect;
  readonly status: number | undefined;
  readonly serviceCode: string | undefined;
  readonly hasForeignBody: boolean;
  readonly sentAtMs: number | undefined;

  constructor(options: ServiceErrorOptions) {
    super({ ...options, code: `service.${options.failure}` });
    this.failure = options.failure;
    this.effect = options.effect;
    this.status = options.status;
    this.serviceCode = options.serviceCode;
    this.hasForeignBody = options.hasForeignBody ?? false;
    this.sentAtMs = options.sentAtMs;
  }
}

/** Reports whether the error is a `ServiceError` with one of the given failures. */
export function endedIn(error: unknown, ...failures: readonly RequestFailure[]): boolean {
  return error instanceof ServiceError && failures.includes(error.failure);
}

/**
 * Errors of calls to the service. Each tells the caller whether the request may have had an effect (`effect`), the error code of
 * the specification (`serviceCode`), and the handling (`handling`).
 */
import { LogfleetError, type LogfleetErrorOptions } from '../../base/errors.ts';

/**
 * Possible effect of a request.
 * - `none`: never sent, or rejected before it had an effect.
 * - `unknown`: sent, but without a reliable answer: 5xx, broken connection, timeout, or an unreadable answer.
 */
export type Effect = 'none' | 'unknown';

export interface ServiceErrorOptions extends LogfleetErrorOptions {
  readonly effect: Effect;
  /** HTTP status of the answer; undefined if there was no answer. */
  readonly status?: number | undefined;
  /**
   * Error code listed in chapter 7 of docs/service.md, matched by its last parts (`collector.in.upgrading`,
   * `rate.limit.exceeded`), or another code from the answer.
   */
  readonly serviceCode?: string | undefined;
  /** Id that the service assigned to the error, for its support. */
  readonly errorId?: string | undefined;
  /** Monotonic send time of the failed request in ms; undefined if the request was not sent. */
  readonly sentAtMs?: number | undefined;
}

export class ServiceError extends LogfleetError {
  override readonly name = 'ServiceError';
  readonly effect: Effect;
  readonly status: number | undefined;
  readonly serviceCode: string | undefined;
  readonly errorId: string | undefined;
  readonly sentAtMs: number | undefined;

  constructor(options: ServiceErrorOptions) {
    super(options);
    this.effect = options.effect;
    this.status = options.status;
    this.serviceCode = options.serviceCode;
    this.errorId = options.errorId;
    this.sentAtMs = options.sentAtMs;
  }
}

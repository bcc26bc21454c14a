/**
 * What can go wrong in a call to the service, classified in one place. The caller learns three things: whether the request may
 * have had an effect (`effect`), which error of the specification it was (`serviceCode`), and how to go on (`handling`).
 */
import { LogfleetError, type LogfleetErrorOptions } from '../base/errors.ts';

/**
 * Whether the service may have acted on the request.
 * - `none`: never sent, or refused before anything happened.
 * - `unknown`: sent, and no trustworthy answer: 5xx, reset, time-out, an answer that cannot be read.
 */
export type Effect = 'none' | 'unknown';

export interface ServiceErrorOptions extends LogfleetErrorOptions {
  readonly effect: Effect;
  /** HTTP status, where there was an answer. */
  readonly status?: number;
  /**
   * The error identifier of chapter 7, matched by its last parts (`collector.in.upgrading`, `rate.limit.exceeded`), or what
   * the body said where the specification has no such identifier.
   */
  readonly serviceCode?: string;
  /** The service's own id of the error, for its support. */
  readonly errorId?: string;
  /** When the request went out, on our monotonic clock; undefined when it never did. */
  readonly sentAtMs?: number;
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

/** Types shared by the service's operations and `exchange.ts`. */
import type { RequestClass } from '../budget/request-slot.ts';
import type { CookieStore, JobSession } from './job-session.ts';
import type { Operation } from './operation.ts';
import type { Streaming } from './response-stream.ts';

/** Options that callers pass when they send a request. */
export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
  /**
   * Called right before the request is sent, and again before each retry. If this function throws, the request is not
   * sent.
   */
  readonly beforeSend?: (() => void) | undefined;
}

export interface Call extends CallOptions {
  readonly operation: Operation;
  /** Path and query of the request (`/v1/…`), without the service's base path. */
  readonly path: string;
  /** Request body, as JSON text. */
  readonly body?: string;
  /** Called if a request fails although the service may have carried it out. */
  readonly mayHaveActed?: (() => void) | undefined;
  /** Class of the request. Default: the operation's class. */
  readonly requestClass?: RequestClass | undefined;
  /** Monotonic time in ms at which the request is due. Default: now. */
  readonly dueMs?: number | undefined;
  /** Search job that the call uses or creates. */
  readonly session?: JobSession | undefined;
  /** Cookies of a call that has no `session`. They are sent only if the request is repeated or redirected. */
  readonly cookies?: CookieStore | undefined;
}

/** Decodes the body of a successful response. Throws a `DecodeError` if the body is invalid. */
export type Decode<T> = (body: Uint8Array) => T;

export type ResponseReader<T> = Decode<T> | Streaming<T>;

/** A successful response, and the monotonic time in ms at which its request was sent. */
export interface CallResponse<T> {
  readonly value: T;
  readonly sentAtMs: number;
  /** Time of the response according to the service's clock, in ms since the epoch, rounded to seconds (E11). */
  readonly dateMs?: number | undefined;
}

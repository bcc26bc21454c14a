/**
 * Types shared by the operations of the service and `exchange.ts`, which performs them: the request, how to read the
 * answer, and the result.
 */
import type { RequestClass } from '../budget/request-slot.ts';
import type { ResponseHead } from '../transport/transport.ts';
import type { BodySink } from './answer-stream.ts';
import type { JobSession } from './job-session.ts';
import type { Operation } from './operation.ts';
import type { JobMissing } from './outcome.ts';
import type { Failure } from './service-failure.ts';

export interface Call {
  readonly operation: Operation;
  /** Path and query of the request, `/v1/…`, without the base path of the service. */
  readonly path: string;
  /** Body of the request as JSON text. */
  readonly body?: string;
  readonly signal?: AbortSignal | undefined;
  /** Called each time right before a request of the call is written to a socket; see `CreateTaskOptions.beforeSend`. */
  readonly beforeSend?: (() => void) | undefined;
  /**
   * Called when the answer to a request shows that the request had no effect and that the call
   * continues: after a redirect, or after a rejection that may be spurious.
   */
  readonly hadNoEffect?: (() => void) | undefined;
  /** Class of the request, if it differs from the operation's class, and the monotonic time at which it is due. */
  readonly requestClass?: RequestClass | undefined;
  readonly dueMs?: number | undefined;
  /**
   * Address and cookies of the job that the call uses or creates. Each write sends the cookies, and each answer updates them (5.3).
   */
  readonly session?: JobSession | undefined;
  /** Finds the reason for an answer that the search job does not exist. */
  readonly whyMissing?: ((refusal: NoSuchJob) => MissingJob) | undefined;
}

export type Reply<T> =
  | { readonly kind: 'answer'; readonly answer: Answer<T> }
  | { readonly kind: 'failure'; readonly failure: Failure };

/** Decodes the body of a successful answer. Throws a `DecodeError`. */
export type Decode<T> = (body: Uint8Array) => T;

/**
 * Reads the body of a successful answer as a stream. Its sink throws a `DecodeError` for invalid data; its other errors
 * reach the caller unchanged.
 */
export interface Streaming<T> {
  begin(head: ResponseHead, sentAtMs: number): BodySink<T>;
}

export type Reading<T> = Decode<T> | Streaming<T>;

/**
 * Successful answer, with the monotonic send time of its request in ms. The answer shows the state
 * of the service at `sentAtMs` or later.
 */
export interface Answer<T> {
  readonly value: T;
  readonly sentAtMs: number;
  /**
   * Time of the answer by the service's clock, in ms since the epoch and in whole seconds (E11);
   * undefined if the answer has no `Date` header.
   */
  readonly dateMs?: number | undefined;
}

export interface CallOptions {
  readonly signal?: AbortSignal;
}

/** Facts about a request to which the service answered that the search job does not exist. */
export interface NoSuchJob {
  /** Monotonic send time of the request in ms, as in `Answer`. */
  readonly sentAtMs: number;
  /** Whether the request was sent with a cookie of the job. */
  readonly hasCookie: boolean;
  /** Whether a redirect led the request to another address than the job's. */
  readonly isAstray: boolean;
}

export interface MissingJob {
  readonly outcome: JobMissing;
  /** Detail about the missing search job, for the error message. */
  readonly detail: string;
}

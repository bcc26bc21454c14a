/** Types between an operation and the exchange that performs it: the request, how to read the answer, and the result. */
import type { RequestClass } from '../budget/request-slot.ts';
import type { ResponseHead } from '../transport/transport.ts';
import type { BodySink } from './answer-stream.ts';
import type { JobSession } from './job-session.ts';
import type { Operation } from './operation.ts';
import type { JobMissing } from './outcome.ts';
import type { Failure } from './service-failure.ts';

export interface Call {
  readonly operation: Operation;
  /** Path and query of the request after the base path: `/v1/…`. */
  readonly path: string;
  /** Body of the request as JSON text. */
  readonly body?: string;
  readonly signal?: AbortSignal | undefined;
  /** Called before each write of the call, see `CreateTaskOptions.beforeSend`. */
  readonly beforeSend?: (() => void) | undefined;
  /**
   * Called when the answer to a write shows that it had no effect and the call continues: a redirect, or a possibly spurious
   * rejection.
   */
  readonly hadNoEffect?: (() => void) | undefined;
  /** Class of the request, if it differs from the operation's class, and the monotonic time at which it is due. */
  readonly requestClass?: RequestClass | undefined;
  readonly dueMs?: number | undefined;
  /**
   * Address and cookies of the job that the call uses or creates. Each write sends the cookies, and each answer updates them (5.3).
   */
  readonly session?: JobSession | undefined;
  /** Interprets an answer that the job does not exist. */
  readonly whyMissing?: ((refusal: NoSuchJob) => MissingJob) | undefined;
}

export type Reply<T> =
  | { readonly kind: 'answer'; readonly answer: Answer<T> }
  | { readonly kind: 'failure'; readonly failure: Failure };

/** Decodes the body of a successful answer. Throws a `DecodeError`. */
export type Decode<T> = (body: Uint8Array) => T;

/**
 * Reads the body of a successful answer as a stream. Its sink throws a `DecodeError` for invalid data; other errors belong to the
 * caller.
 */
export interface Streaming<T> {
  begin(head: ResponseHead, sentAtMs: number): BodySink<T>;
}

export type Reading<T> = Decode<T> | Streaming<T>;

/** Answer with the monotonic sending time of its request. The answer reflects the state at `sentAtMs` or later. */
export interface Answer<T> {
  readonly value: T;
  readonly sentAtMs: number;
  /** Service time of the answer in ms since the epoch, in whole seconds (E11). Undefined if the answer has no date. */
  readonly dateMs?: number | undefined;
}

export interface CallOptions {
  readonly signal?: AbortSignal;
}

/** Facts about a request that found no search job. */
export interface NoSuchJob {
  /** Sending time, as in `Answer`. */
  readonly sentAtMs: number;
  /** True if the request sent a cookie. */
  readonly hasCookie: boolean;
  /** True if a redirect led the request to another address than the job's. */
  readonly isAstray: boolean;
}

export interface MissingJob {
  readonly outcome: JobMissing;
  /** Detail about the missing job, for the message. */
  readonly detail: string;
}

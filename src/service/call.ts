/** Types between an operation and the exchange that performs it: the request, how to read the answer, and the result. */
import type { BodySink } from './answer-stream.ts';
import type { JobHome } from './job-home.ts';
import type { JobRefusal, MissingJob } from './missing-job.ts';
import type { Operation } from './operation.ts';
import type { RequestClass } from './request-budget.ts';
import type { Failure } from './service-failure.ts';
import type { ResponseHead } from './transport.ts';
import type { Answer } from './upgrade-service.ts';

export interface Call {
  readonly operation: Operation;
  /** Path and query after the base path: `/v1/…`. */
  readonly path: string;
  /** JSON text. */
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
  readonly home?: JobHome | undefined;
  /** Interprets an answer that the job does not exist. */
  readonly whyMissing?: ((refusal: JobRefusal) => MissingJob) | undefined;
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

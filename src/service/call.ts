/** The words between an operation and the exchange that performs it: what to send, how to read the answer, what came of it. */
import type { BodyTaker } from './answer-stream.ts';
import type { JobHome } from './job-home.ts';
import type { MissingJob } from './missing-job.ts';
import type { Operation } from './operation.ts';
import type { RequestClass } from './request-budget.ts';
import type { Failure } from './service-failure.ts';
import type { ResponseHead } from './transport.ts';
import type { Answer } from './upgrade-service.ts';

export interface Call {
  readonly operation: Operation;
  /** Path and query below the base path: `/v1/…`. */
  readonly path: string;
  /** JSON text. */
  readonly body?: string;
  readonly signal?: AbortSignal | undefined;
  /** Called before each write of the call; see `CreateTaskOptions.beforeSend`. */
  readonly beforeSend?: (() => void) | undefined;
  /** Called where the call goes on after a write whose answer shows that it had no effect: a redirect, or a refusal that may be spurious. */
  readonly hadNoEffect?: (() => void) | undefined;
  /** In whose turn it stands, where that is not its operation's; and when it should leave, on the monotonic clock. */
  readonly requestClass?: RequestClass | undefined;
  readonly dueMs?: number | undefined;
  /** Where the job is that it is about, or creates. Its cookies are sent with each write, and filled by each answer (5.3). */
  readonly home?: JobHome | undefined;
  /** What it means that the service knows no such job. */
  readonly whyMissing?: ((refusal: JobRefusal) => MissingJob) | undefined;
}

/** A request that found no job. */
export interface JobRefusal {
  /** As in `Answer`. */
  readonly sentAtMs: number;
  /** Whether a cookie went with it. */
  readonly hasCookie: boolean;
  /** Whether a redirect had led it away from where the job is. */
  readonly isAstray: boolean;
}

export type Reply<T> =
  | { readonly kind: 'answer'; readonly answer: Answer<T> }
  | { readonly kind: 'failure'; readonly failure: Failure };

/** The body of an answer of success as a value; throws a `DecodeError`. */
export type Decode<T> = (body: Uint8Array) => T;

/** Takes the body of an answer of success as it comes. Its taker throws a `DecodeError`; anything else is the caller's own. */
export interface Streaming<T> {
  begin(head: ResponseHead, sentAtMs: number): BodyTaker<T>;
}

export type Reading<T> = Decode<T> | Streaming<T>;

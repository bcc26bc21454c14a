/**
 * Outcome table: all ways in which a request can end. Each row says whether the service may have acted, how the error is
 * handled, how often the client repeats the request immediately, and which reason the status condition gets. Some operations
 * have exceptions.
 *
 * Invariant: the client never repeats a request that may have had an effect, except for a deletion, which can be repeated
 * without harm. Reads have no effect, except for the status of a search job, because the service returns each error of the
 * search only once (2.3).
 */
import type { Handling } from '../../base/errors.ts';
import { BudgetFullError } from '../budget/request-budget.ts';
import { NotLeadingError } from '../budget/send-right.ts';
import { DecodeError } from '../json/json-members.ts';
import { DeadlineError } from '../transport/deadline.ts';
import { TransportError, type TransportFailure } from '../transport/transport.ts';
import { HeldUpError } from './answer-stream.ts';
import { jobOperations, type Operation } from './operation.ts';
import { jobRefusals, pageRefusals, rangeRefusals, taskRefusals, unknownJobCode } from './service-code.ts';

/**
 * Possible effect of a request.
 * - `none`: never sent, or rejected before it had an effect.
 * - `unknown`: sent, but without a reliable answer: 5xx, broken connection, timeout, or an unreadable answer.
 */
export type Effect = 'none' | 'unknown';

export const jobMissings = [
  /** The search job was just created, and this replica of the service does not know it yet (10.2). */
  'jobNotKnownYet',
  /** logfleet has deleted the search job. */
  'jobDeleted',
  /**
   * The service does not find the search job, because the request had no cookie of the job: the service set no cookie,
   * or none that may be sent to this address (5.3).
   */
  'jobCookieMissing',
  /** The service has cancelled the search job because no request arrived for too long (3.1). */
  'jobSilenced',
  /** The service has cancelled the search job after eight hours (3.1). */
  'jobTimedOut',
  /** The search job is missing for any other reason: another client deleted it, or the service lost it. */
  'jobGone',
] as const;

/**
 * How a caller handles an error. `retryAfter`: the caller waits as long as the answer's `Retry-After` header says.
 * Without this header, the caller waits as for `backoff`.
 */
export type TableHandling = Exclude<Handling['kind'], 'bug'>;

export interface Treatment {
  /** Reason of the status condition for this outcome, in CamelCase. */
  readonly reason: string;
  readonly effect: Effect;
  readonly handling: TableHandling;
  /** Number of times that the client immediately repeats the request before it returns the error. */
  readonly again: number;
}

/** Treatment of an outcome. `of` contains exceptions for some operations. */
type TreatmentRow = Treatment & { readonly of?: { readonly [O in Operation]?: Partial<Treatment> } };

/** Treatment of a request that had no effect and may succeed later. */
const passing = { effect: 'none', handling: 'backoff', again: 0 } as const;
const needsPerson = { ...passing, handling: 'stall' } as const;
const mayHaveActed = { effect: 'unknown', again: 0 } as const;
/**
 * Treatment of a request whose answer was lost or unreadable. Most reads can be repeated without harm. A creation or
 * deletion may have had an effect, and the status of a search job may have contained errors (U3, E5).
 */
const unsure = {
  ...passing,
  of: {
    createTask: mayHaveActed,
    createJob: mayHaveActed,
    getJob: mayHaveActed,
    deleteJob: { effect: 'unknown' },
  },
} as const;

const unreachable = { ...passing, reason: 'ServiceUnreachable' } as const;
const untrusted = { ...needsPerson, reason: 'CertificateNotTrusted' } as const;
const unreadable = { ...unsure, reason: 'AnswerInvalid' } as const;
const unavailable = { ...unsure, reason: 'ServiceUnavailable' } as const;
const refused = { ...passing, reason: 'RequestRefused' } as const;
const taskRefused = { ...passing, handling: 'wait', reason: 'CollectorRefused' } as const;
const queryRefused = { ...needsPerson, reason: 'QueryRefused' } as const;
const rangeRefused = { ...needsPerson, reason: 'RangeRefused' } as const;
const jobLost = { ...passing, reason: 'JobLost' } as const;

const rows = {
  // No usable connection existed, so the request was not sent.
  ...rowsOf(['nameNotFound', 'refused', 'notReachable', 'connectTimeout', 'proxyFailed', 'tlsFailed'], unreachable),
  ...rowsOf(['certificateUnknown', 'certificateExpired', 'certificateForAnother'], untrusted),
  closed: { ...passing, reason: 'ClientClosed' },
  withdrawn: { ...passing, reason: 'CallAborted' },
  notLeading: { ...passing, reason: 'NotLeading' },
  budgetFull: { ...passing, reason: 'RequestBudgetFull' },

  // The request was sent, but no complete answer arrived.
  connectionLost: {
    ...unsure,
    again: 2,
    reason: 'ServiceUnreachable',
    // The receiver may have taken some rows of the page already. The reader of the page requests the missing rows itself.
    of: { ...unsure.of, listMessages: { again: 0 } },
  },
  timeout: { ...unsure, reason: 'ServiceUnreachable' },
  abandoned: { ...unsure, reason: 'CallAborted' },
  heldUp: { ...passing, reason: 'DestinationSlow' },
  ...rowsOf(['answerTooLarge', 'answerMalformed', 'answerInvalid'], unreadable),

  // The answer redirects the request to another address.
  ...rowsOf(['redirectNotAllowed', 'redirectInCircles'], { ...needsPerson, reason: 'RedirectNotAllowed' }),

  // The answer rejects the request (7.1).
  // An answer with 401 can be wrong when many clients log in at the same time (10.1), so the request is repeated once.
  unauthorized: { ...needsPerson, reason: 'Unauthorized', again: 1, of: { createTask: { again: 0 } } },
  forbidden: { ...needsPerson, reason: 'Forbidden' },
  notFound: { ...needsPerson, reason: 'AddressInvalid', of: { getTask: { handling: 'wait', reason: 'TaskNotFound' } } },
  methodUnsupported: { ...needsPerson, reason: 'AddressInvalid' },
  contentTypeInvalid: { ...needsPerson, reason: 'RequestRefused' },
  rateLimited: { ...passing, handling: 'retryAfter', reason: 'RateLimited' },
  ...rowsOf(taskRefusals, taskRefused),
  ...rowsOf(jobRefusals, queryRefused),
  ...rowsOf(rangeRefusals, rangeRefused),
  ...rowsOf(['badRequest', 'clientError', 'generic', ...pageRefusals], refused),
  'no.records.not.an.aggregation.query': { ...needsPerson, reason: 'NotAnAggregation' },
  'raw.messages.not.available': { ...needsPerson, reason: 'RawMessagesNotAvailable' },

  // The answer has no clear meaning.
  ...rowsOf(['requestTimeout', 'internalError', 'serverError'], unavailable),
  unavailable: { ...unavailable, handling: 'retryAfter' },
  unexpectedStatus: unreadable,

  // The job does not exist (7.3). The cause is found in `missing-job.ts`.
  jobNotKnownYet: { ...jobLost, reason: 'JobNotKnownYet' },
  jobDeleted: { ...jobLost, handling: 'wait', reason: 'JobDeleted' },
  jobCookieMissing: { ...jobLost, reason: 'JobCookieMissing' },
  jobSilenced: { ...jobLost, reason: 'JobSilenced' },
  jobTimedOut: { ...jobLost, reason: 'JobTimedOut' },
  jobGone: jobLost,
} as const;

export type Outcome = keyof typeof rows;

/** Returns rows of the outcome table that treat all given outcomes alike. */
function rowsOf<O extends string>(outcomes: readonly O[], row: TreatmentRow): Record<O, TreatmentRow> {
  return Object.fromEntries(outcomes.map((outcome) => [outcome, row])) as Record<O, TreatmentRow>;
}

export const outcomes = Object.keys(rows) as readonly Outcome[];

export function treatmentOf(operation: Operation, outcome: Outcome): Treatment {
  const { of, ...row }: TreatmentRow = rows[outcome];
  return { ...row, ...of?.[operation] };
}

const outcomeByStatus: ReadonlyMap<number, Outcome> = new Map<number, Outcome>([
  [400, 'badRequest'],
  [401, 'unauthorized'],
  [403, 'forbidden'],
  [404, 'notFound'],
  [405, 'methodUnsupported'],
  [408, 'requestTimeout'],
  [415, 'contentTypeInvalid'],
  [429, 'rateLimited'],
  [500, 'internalError'],
  [503, 'unavailable'],
]);

/**
 * Outcome of a request without a complete answer, by the error that ended it. A request that was not sent (`isSent` is
 * false) had no effect. Returns undefined for errors from the caller's own callbacks.
 */
export function outcomeOfError(error: unknown, isSent: boolean, signal: AbortSignal | undefined): Outcome | undefined {
  if (signal?.aborted && error === signal.reason) return isSent ? 'abandoned' : 'withdrawn';
  if (error instanceof TransportError) return outcomeOfTransport(error.failure, isSent);
  if (error instanceof DeadlineError) return isSent ? 'timeout' : 'connectTimeout';
  if (error instanceof NotLeadingError) return 'notLeading';
  if (error instanceof BudgetFullError) return 'budgetFull';
  if (error instanceof HeldUpError) return 'heldUp';
  return error instanceof DecodeError ? 'answerInvalid' : undefined;
}

function outcomeOfTransport(failure: TransportFailure, isSent: boolean): Outcome {
  if (failure === 'answerTooLarge' || failure === 'answerMalformed') return isSent ? failure : 'proxyFailed';
  if (isSent) return 'connectionLost';
  return failure === 'connectionLost' ? 'notReachable' : failure;
}

const refusals: { readonly [O in Operation]?: readonly Outcome[] } = {
  createTask: taskRefusals,
  createJob: jobRefusals,
  listMessages: pageRefusals,
  listRecords: pageRefusals,
};

/** HTTP statuses whose meaning does not depend on the error code in the body. */
const plainStatuses: ReadonlySet<number> = new Set([401, 403, 408, 429]);

/**
 * Outcome of an answer that is neither successful (2xx) nor a redirect. `serviceCode` is the error code in its body. If
 * the search job does not exist, the outcome is `jobGone`, and `missing-job.ts` finds the cause.
 */
export function outcomeOfAnswer(operation: Operation, status: number, serviceCode: string | undefined): Outcome {
  if (status >= 400 && status < 500 && !plainStatuses.has(status)) {
    const refusal = refusals[operation]?.find((known) => known === serviceCode);
    if (refusal) return refusal;
    if (jobOperations.some((known) => known === operation) && (status === 404 || serviceCode === unknownJobCode))
      return 'jobGone';
  }
  const known = outcomeByStatus.get(status);
  if (known) return known;
  if (status >= 400 && status < 500) return 'clientError';
  return status >= 500 && status < 600 ? 'serverError' : 'unexpectedStatus';
}

/**
 * Table of all failures of a request. For each failure, the table says whether the service may have acted, how the
 * caller handles the error, and how often the client retries the request. A request that may have had an effect is
 * never retried, unless it is a deletion.
 */

import { DeadlineError } from '../../base/deadline.ts';
import type { Handling } from '../../base/errors.ts';
import { BudgetFullError } from '../budget/request-budget.ts';
import { NotLeadingError } from '../budget/send-right.ts';
import { DecodeError } from '../json/json-members.ts';
import { TransportError, type TransportFailure } from '../transport/transport-failure.ts';
import { jobOperations, type Operation } from './operation.ts';
import { HeldUpError } from './response-stream.ts';
import { jobRefusals, pageRefusals, rangeRefusals, taskRefusals, unknownJobCode } from './service-code.ts';

/**
 * Possible effect of a failed request.
 * - `none`: the request was never sent or was rejected, so it had no effect.
 * - `unknown`: the request was sent, but no readable response arrived, so it may have had an effect.
 */
export type Effect = 'none' | 'unknown';

export const jobMissings = [
  /** The replica of the service that responded does not know the new job yet (section 10.2 of docs/service.md). */
  'jobNotKnownYet',
  /** logfleet has deleted the job. */
  'jobDeleted',
  /** The service did not find the job, because the request lacked the job's cookie (section 5.3 of docs/service.md). */
  'jobCookieMissing',
  /**
   * The service cancelled the job, because it had not received a request for too long (section 3.1 of docs/service.md).
   */
  'jobSilenced',
  /** The service ended the job after eight hours (section 3.1 of docs/service.md). */
  'jobTimedOut',
  /** Another client deleted the job, or the service lost it. */
  'jobGone',
] as const;

/**
 * How a caller handles an error. With `retryAfter`, the caller waits for the time in the response's `Retry-After`
 * header.
 */
export type TableHandling = Exclude<Handling['kind'], 'bug'>;

export interface Treatment {
  /** Condition reason to show in the status, in CamelCase. */
  readonly reason: string;
  readonly effect: Effect;
  readonly handling: TableHandling;
  /** Number of immediate retries by the client. */
  readonly again: number;
}

/**
 * Effect, handling and retries for one failure. If some operations need other values, `of` contains these values by
 * operation.
 */
type TreatmentRow = Treatment & { readonly of?: { readonly [O in Operation]?: Partial<Treatment> } };

/** Treatment of a failed request that had no effect, and that may succeed later. */
const passing = { effect: 'none', handling: 'backoff', again: 0 } as const;
const needsPerson = { ...passing, handling: 'stall' } as const;
const mayHaveActed = { effect: 'unknown', again: 0 } as const;
/** Treatment of a lost or unreadable response. The request may have had an effect (U3, E5). */
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
const unreadable = { ...unsure, reason: 'ResponseInvalid' } as const;
const unavailable = { ...unsure, reason: 'ServiceUnavailable' } as const;
const refused = { ...passing, reason: 'RequestRefused' } as const;
const taskRefused = { ...passing, handling: 'wait', reason: 'CollectorRefused' } as const;
const queryRefused = { ...needsPerson, reason: 'QueryRefused' } as const;
const rangeRefused = { ...needsPerson, reason: 'RangeRefused' } as const;
const jobLost = { ...passing, reason: 'JobLost' } as const;

const rows = {
  // Failures of requests that were not sent, for example because no connection could be established.
  ...rowsOf(['nameNotFound', 'refused', 'notReachable', 'connectTimeout', 'proxyFailed', 'tlsFailed'], unreachable),
  ...rowsOf(['certificateUnknown', 'certificateExpired', 'certificateForAnother'], untrusted),
  closed: { ...passing, reason: 'ClientClosed' },
  withdrawn: { ...passing, reason: 'CallAborted' },
  notLeading: { ...passing, reason: 'NotLeading' },
  budgetFull: { ...passing, reason: 'RequestBudgetFull' },

  // Failures of requests that were sent, but got no complete or readable response.
  connectionLost: {
    ...unsure,
    again: 2,
    reason: 'ServiceUnreachable',
    // The client does not retry the request, because some rows of the page may have arrived. The code that reads the
    // page requests the missing rows.
    of: { ...unsure.of, listMessages: { again: 0 } },
  },
  timeout: { ...unsure, reason: 'ServiceUnreachable' },
  abandoned: { ...unsure, reason: 'CallAborted' },
  heldUp: { ...passing, reason: 'DestinationSlow' },
  ...rowsOf(['responseTooLarge', 'responseMalformed', 'responseInvalid'], unreadable),

  // Failures of redirects that were not followed.
  ...rowsOf(['redirectNotAllowed', 'redirectNotHttps', 'redirectInCircles'], {
    ...needsPerson,
    reason: 'RedirectNotAllowed',
  }),

  // Failures of requests that the service rejected (section 7.1 of docs/service.md). After a 401, the request is
  // retried once, because the service may wrongly answer 401 when many clients log in (section 10.1 of
  // docs/service.md).
  unauthorized: { ...needsPerson, reason: 'Unauthorized', again: 1 },
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

  // Failures of responses whose meaning is unclear.
  ...rowsOf(['requestTimeout', 'internalError', 'serverError'], unavailable),
  unavailable: { ...unavailable, handling: 'retryAfter' },
  unexpectedStatus: unreadable,

  // Reasons why the service does not find a search job (section 7.3 of docs/service.md). `missing-job.ts` finds the
  // reason.
  jobNotKnownYet: { ...jobLost, reason: 'JobNotKnownYet' },
  jobDeleted: { ...jobLost, handling: 'wait', reason: 'JobDeleted' },
  jobCookieMissing: { ...jobLost, reason: 'JobCookieMissing' },
  jobSilenced: { ...jobLost, reason: 'JobSilenced' },
  jobTimedOut: { ...jobLost, reason: 'JobTimedOut' },
  jobGone: jobLost,
} as const;

export type RequestFailure = keyof typeof rows;

function rowsOf<O extends string>(failures: readonly O[], row: TreatmentRow): Record<O, TreatmentRow> {
  return Object.fromEntries(failures.map((failure) => [failure, row])) as Record<O, TreatmentRow>;
}

export const requestFailures = Object.keys(rows) as readonly RequestFailure[];

export function treatmentOf(operation: Operation, failure: RequestFailure): Treatment {
  const { of, ...row }: TreatmentRow = rows[failure];
  return { ...row, ...of?.[operation] };
}

const failureByStatus: ReadonlyMap<number, RequestFailure> = new Map<number, RequestFailure>([
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
 * Returns the failure of a request that got no complete response. Returns undefined for errors thrown by the caller's
 * own functions.
 */
export function failureOfError(
  error: unknown,
  isSent: boolean,
  signal: AbortSignal | undefined,
): RequestFailure | undefined {
  if (signal?.aborted && error === signal.reason) return isSent ? 'abandoned' : 'withdrawn';
  if (error instanceof TransportError) return failureOfTransport(error.failure, isSent);
  if (error instanceof DeadlineError) return isSent ? 'timeout' : 'connectTimeout';
  if (error instanceof NotLeadingError) return 'notLeading';
  if (error instanceof BudgetFullError) return 'budgetFull';
  if (error instanceof HeldUpError) return 'heldUp';
  return error instanceof DecodeError ? 'responseInvalid' : undefined;
}

function failureOfTransport(failure: TransportFailure, isSent: boolean): RequestFailure {
  if (failure === 'responseTooLarge' || failure === 'responseMalformed') return isSent ? failure : 'proxyFailed';
  if (isSent) return 'connectionLost';
  return failure === 'connectionLost' ? 'notReachable' : failure;
}

const refusals: { readonly [O in Operation]?: readonly RequestFailure[] } = {
  createTask: taskRefusals,
  createJob: jobRefusals,
  listMessages: pageRefusals,
  listRecords: pageRefusals,
};

/** HTTP statuses whose meaning does not depend on the body. */
const plainStatuses: ReadonlySet<number> = new Set([401, 403, 408, 429]);

/** Returns the failure for an error response with the error code `serviceCode`. */
export function failureOfResponse(
  operation: Operation,
  status: number,
  serviceCode: string | undefined,
): RequestFailure {
  if (status >= 400 && status < 500 && !plainStatuses.has(status)) {
    const refusal = refusals[operation]?.find((known) => known === serviceCode);
    if (refusal) return refusal;
    if (jobOperations.some((known) => known === operation) && (status === 404 || serviceCode === unknownJobCode))
      return 'jobGone';
  }
  const known = failureByStatus.get(status);
  if (known) return known;
  if (status >= 400 && status < 500) return 'clientError';
  return status >= 500 && status < 600 ? 'serverError' : 'unexpectedStatus';
}

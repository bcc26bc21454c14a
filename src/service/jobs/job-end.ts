/** Errors that end a search job. */
import { failure, type LogfleetError } from '../../base/errors.ts';
import { jobMissings, type RequestFailure } from '../requests/request-failure.ts';
import { endedIn, ServiceError } from '../requests/service-error.ts';

/**
 * Failures that do not prove that the search job is gone: either the replica that responded does not know the job yet,
 * or the request lacked the job's cookie.
 */
const mayLive: ReadonlySet<RequestFailure> = new Set(['jobNotKnownYet', 'jobCookieMissing']);
const missing = jobMissings.filter((failure) => !mayLive.has(failure));

/** Reports whether the search job no longer exists. */
export function isMissing(error: LogfleetError): boolean {
  return endedIn(error, ...missing) || error.code === cancelledCode;
}

/** Reports whether all further requests for the search job would fail. */
export function isFinal(error: LogfleetError): boolean {
  const { kind } = error.handling;
  return isMissing(error) || endedIn(error, 'closed') || kind === 'stall' || kind === 'bug';
}

const cancelledCode = 'job.cancelled';

/**
 * Creates the error for a search job that was cancelled by the service (section 3.1 of docs/service.md) or by another
 * client.
 */
export function cancelledError(id: string): LogfleetError {
  const message = `The search job ${id} was cancelled, but not by logfleet. A new search replaces it.`;
  return failure('backoff', cancelledCode, message, { reason: 'JobCancelled' });
}

/**
 * Creates the error for a lost search job. The service cancels a job that receives no requests for some time (section
 * 3.1 of docs/service.md), and it has not accepted a request for this job for longer than that.
 */
export function silencedError(id: string, silentMs: number, cause: LogfleetError): LogfleetError {
  const { effect = 'none' } = cause instanceof ServiceError ? cause : {};
  return new ServiceError({
    failure: 'jobSilenced',
    message: `The search job ${id} is lost, because the service has not accepted a request for this job for ${Math.round(silentMs / 1000)} s. The last error: ${cause.message}`,
    handling: { kind: 'backoff' },
    reason: 'JobSilenced',
    effect,
    cause,
  });
}

/** Creates the error for a search job that logfleet has closed. */
export function closedError(id: string): LogfleetError {
  return failure('wait', 'job.closed', `The search job ${id} has been closed.`, { reason: 'JobClosed' });
}

/**
 * Creates the error for an aggregation whose number of records the service does not report. Without this number,
 * logfleet cannot check that it has read all records.
 */
export function uncountedError(id: string): LogfleetError {
  const message = `The service did not report how many records the search job ${id} has.`;
  return failure('backoff', 'job.recordsUncounted', message, { reason: 'ResponseInvalid' });
}

/** Why a search job is over: which errors end it, and those that no single request has brought. */
import { LogfleetError } from '../base/errors.ts';
import { jobMissings, type Outcome } from './outcome.ts';
import { ServiceError } from './service-error.ts';

/** A replica may hear of the job yet, and a job whose cookie did not go along goes on; all others stay without it. */
const mayLive: ReadonlySet<Outcome> = new Set(['jobNotKnownYet', 'jobCookieMissing'] satisfies Outcome[]);
const missing: ReadonlySet<string> = new Set(
  jobMissings.filter((outcome) => !mayLive.has(outcome)).map((outcome) => `service.${outcome}`),
);
export const cookieMissingCode = `service.${'jobCookieMissing' satisfies Outcome}`;
export const notKnownYetCode = `service.${'jobNotKnownYet' satisfies Outcome}`;
const clientClosed = `service.${'closed' satisfies Outcome}`;

/** The service does not know the job, and will not. */
export function isMissing(error: LogfleetError): boolean {
  return missing.has(error.code) || error.code === cancelledCode;
}

/** No further request about the job can help. */
export function isFinal(error: LogfleetError): boolean {
  const { kind } = error.handling;
  return isMissing(error) || error.code === clientClosed || kind === 'stall' || kind === 'bug';
}

const cancelledCode = 'job.cancelled';

/** Somebody else has cancelled it, or the service itself (3.1). */
export function cancelledError(id: string): LogfleetError {
  return new LogfleetError({
    code: cancelledCode,
    message: `The search job ${id} was cancelled, and not by us.`,
    handling: { kind: 'backoff' },
    reason: 'JobCancelled',
  });
}

/** Nothing was heard of it for longer than the service keeps a job that nobody asks for (3.1). */
export function silencedError(id: string, silentMs: number, cause: LogfleetError): LogfleetError {
  const { effect = 'none' } = cause instanceof ServiceError ? cause : {};
  return new ServiceError({
    code: 'service.jobSilenced',
    message: `The search job ${id} is lost: no request for it was answered for ${Math.round(silentMs / 1000)} s.`,
    handling: { kind: 'backoff' },
    reason: 'JobSilenced',
    effect,
    cause,
  });
}

/** We have closed it. */
export function closedError(id: string): LogfleetError {
  return new LogfleetError({
    code: 'job.closed',
    message: `The search job ${id} has been closed.`,
    handling: { kind: 'wait' },
    reason: 'JobClosed',
  });
}

/** Records cannot be read to their end where nobody says how many there are. */
export function uncountedError(id: string): LogfleetError {
  return new LogfleetError({
    code: 'job.recordsUncounted',
    message: `The service does not say how many records the search job ${id} has.`,
    handling: { kind: 'backoff' },
    reason: 'AnswerInvalid',
  });
}

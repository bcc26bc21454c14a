/**
 * Every way in which a request can end, and what its caller gets: the one table of the client. For each operation and each
 * outcome it says which reason a condition shows, whether the service may have acted, how to go on, and how often
 * the client itself sends the request again.
 *
 * Invariant: a request that may have had an effect is never sent again from here, but for a deletion, which has the same one twice.
 * Reads have none, but for a job's status: it hands out each pending error once (2.3), so that a lost answer is a lost error.
 */
import type { Handling } from '../base/errors.ts';
import type { Operation } from './operation.ts';
import {
  type JobRefusal,
  jobRefusals,
  type PageRefusal,
  pageRefusals,
  type TaskRefusal,
  taskRefusals,
  unknownJobCode,
} from './service-code.ts';
import type { Effect } from './service-error.ts';
import type { TransportFailure } from './transport.ts';

export type Outcome =
  // No connection, or none that may be used: nothing was sent.
  | Exclude<TransportFailure, 'connectionLost' | 'answerTooLarge' | 'answerMalformed'>
  | 'connectTimeout'
  | 'withdrawn'
  | 'notLeading'
  // Sent, and no whole answer.
  | 'connectionLost'
  | 'timeout'
  | 'abandoned'
  | 'heldUp'
  | 'answerTooLarge'
  | 'answerMalformed'
  | 'answerInvalid'
  // An answer that says where else to go.
  | 'redirectNotAllowed'
  | 'redirectInCircles'
  // An answer that says no (7.1).
  | 'badRequest'
  | 'unauthorized'
  | 'forbidden'
  | 'notFound'
  | 'methodUnsupported'
  | 'contentTypeInvalid'
  | 'rateLimited'
  | 'clientError'
  | 'requestTimeout'
  // An answer that says nothing for sure.
  | 'internalError'
  | 'unavailable'
  | 'serverError'
  | 'unexpectedStatus'
  | TaskRefusal
  | JobRefusal
  | PageRefusal
  // There is no such job (7.3): why, as far as it can be told (`missing-job.ts`).
  | JobMissing;

export const jobMissings = [
  /** Just created: this replica has not heard of it yet (10.2). */
  'jobNotKnownYet',
  /** We have deleted it ourselves. */
  'jobDeleted',
  /** The service has given no cookie, or none that may be sent (5.3). */
  'jobCookieMissing',
  /** Nobody asked for it for so long that the service cancelled it (3.1). */
  'jobSilenced',
  /** A query ends after eight hours (3.1). */
  'jobTimedOut',
  /** None of these: somebody deleted it, or the service lost it. */
  'jobGone',
] as const;

export type JobMissing = (typeof jobMissings)[number];

/** `retryAfter` in the table means: as `Retry-After` says, else `backoff`. */
export type TableHandling = Exclude<Handling['kind'], 'bug'>;

export interface Treatment {
  /** The CamelCase reason of the condition. */
  readonly reason: string;
  readonly effect: Effect;
  readonly handling: TableHandling;
  /** How many times the client sends the request again at once, each time through the budget, before it gives the error out. */
  readonly again: number;
}

/** What holds of an outcome, and where it is otherwise for some operations. */
type Row = Treatment & { readonly of?: { readonly [O in Operation]?: Partial<Treatment> } };

const nothingSent = { effect: 'none', handling: 'backoff', again: 0 } as const;
const needsPerson = { effect: 'none', handling: 'stall', again: 0 } as const;
const mayHaveActed = { effect: 'unknown', again: 0 } as const;
/** What a lost or unreadable answer means: nothing for most reads, everything for a creation (protocol U3). */
const unsure = {
  effect: 'none',
  handling: 'backoff',
  again: 0,
  of: {
    createTask: mayHaveActed,
    createJob: mayHaveActed,
    getJob: mayHaveActed,
    deleteJob: { effect: 'unknown' },
  },
} as const;

const refused = { ...nothingSent, reason: 'RequestRefused' } as const;
const taskRefused = { effect: 'none', handling: 'wait', again: 0, reason: 'CollectorRefused' } as const;
const queryRefused = { ...needsPerson, reason: 'QueryRefused' } as const;
const rangeRefused = { ...needsPerson, reason: 'RangeRefused' } as const;
const jobLost = { effect: 'none', handling: 'backoff', again: 0, reason: 'JobLost' } as const;

const rows: { readonly [O in Outcome]: Row } = {
  nameNotFound: { ...nothingSent, reason: 'ServiceUnreachable' },
  refused: { ...nothingSent, reason: 'ServiceUnreachable' },
  notReachable: { ...nothingSent, reason: 'ServiceUnreachable' },
  connectTimeout: { ...nothingSent, reason: 'ServiceUnreachable' },
  proxyFailed: { ...nothingSent, reason: 'ServiceUnreachable' },
  tlsFailed: { ...nothingSent, reason: 'ServiceUnreachable' },
  closed: { ...nothingSent, reason: 'ClientClosed' },
  withdrawn: { ...nothingSent, reason: 'CallAborted' },
  notLeading: { ...nothingSent, reason: 'NotLeading' },
  certificateUnknown: { ...needsPerson, reason: 'CertificateNotTrusted' },
  certificateExpired: { ...needsPerson, reason: 'CertificateNotTrusted' },
  certificateForAnother: { ...needsPerson, reason: 'CertificateNotTrusted' },

  // Of a page of messages some rows may have been given out: whoever took them asks for the others.
  connectionLost: {
    ...unsure,
    again: 2,
    reason: 'ServiceUnreachable',
    of: { ...unsure.of, listMessages: { again: 0 } },
  },
  timeout: { ...unsure, reason: 'ServiceUnreachable' },
  abandoned: { ...unsure, reason: 'CallAborted' },
  heldUp: { effect: 'none', handling: 'backoff', again: 0, reason: 'DestinationSlow' },
  answerTooLarge: { ...unsure, reason: 'AnswerInvalid' },
  answerMalformed: { ...unsure, reason: 'AnswerInvalid' },
  answerInvalid: { ...unsure, reason: 'AnswerInvalid' },

  redirectNotAllowed: { ...needsPerson, reason: 'RedirectNotAllowed' },
  redirectInCircles: { ...needsPerson, reason: 'RedirectNotAllowed' },

  badRequest: { ...refused },
  // It may be spurious when many log in at once (10.1).
  unauthorized: { ...needsPerson, reason: 'Unauthorized', again: 1, of: { createTask: { again: 0 } } },
  forbidden: { ...needsPerson, reason: 'Forbidden' },
  notFound: { ...needsPerson, reason: 'AddressInvalid', of: { getTask: { handling: 'wait', reason: 'TaskNotFound' } } },
  methodUnsupported: { ...needsPerson, reason: 'AddressInvalid' },
  contentTypeInvalid: { ...needsPerson, reason: 'RequestRefused' },
  rateLimited: { effect: 'none', handling: 'retryAfter', again: 0, reason: 'RateLimited' },
  clientError: { ...refused },
  requestTimeout: { ...unsure, reason: 'ServiceUnavailable' },

  internalError: { ...unsure, reason: 'ServiceUnavailable' },
  unavailable: { ...unsure, handling: 'retryAfter', reason: 'ServiceUnavailable' },
  serverError: { ...unsure, reason: 'ServiceUnavailable' },
  unexpectedStatus: { ...unsure, reason: 'AnswerInvalid' },

  'collector.invalid': { ...taskRefused },
  'collector.type.invalid': { ...taskRefused },
  'collector.not.alive': { ...taskRefused },
  'collector.in.upgrading': { ...taskRefused },
  'collector.version.invalid': { ...taskRefused },

  generic: { ...refused },
  'invalid.timestamp.from': { ...rangeRefused },
  'invalid.timestamp.to': { ...rangeRefused },
  'to.smaller.than.from': { ...rangeRefused },
  'unknown.timezone': { ...rangeRefused },
  'empty.timezone': { ...rangeRefused },
  'unknown.time.type': { ...rangeRefused },
  'no.query': { ...queryRefused },
  'parse.error': { ...queryRefused },
  'query.creation.error': { ...queryRefused },

  'offset.missing': { ...refused },
  'offset.negative': { ...refused },
  'limit.missing': { ...refused },
  'limit.zero': { ...refused },
  'limit.negative': { ...refused },
  'no.records.not.an.aggregation.query': { ...needsPerson, reason: 'NotAnAggregation' },
  'raw.messages.not.available': { ...needsPerson, reason: 'RawMessagesNotAvailable' },

  jobNotKnownYet: { ...jobLost, reason: 'JobNotKnownYet' },
  jobDeleted: { ...jobLost, handling: 'wait', reason: 'JobDeleted' },
  jobCookieMissing: { ...jobLost, reason: 'JobCookieMissing' },
  jobSilenced: { ...jobLost, reason: 'JobSilenced' },
  jobTimedOut: { ...jobLost, reason: 'JobTimedOut' },
  jobGone: { ...jobLost },
};

export const outcomes = Object.keys(rows) as readonly Outcome[];

export function treatmentOf(operation: Operation, outcome: Outcome): Treatment {
  const { of, ...row } = rows[outcome];
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

/** The outcome of a request that was never written: nothing that happens to its connection can have had an effect. */
export function outcomeOfUnsent(failure: TransportFailure): Outcome {
  switch (failure) {
    case 'connectionLost':
      return 'notReachable';
    case 'answerMalformed':
    case 'answerTooLarge':
      return 'proxyFailed';
    default:
      return failure;
  }
}

/** The outcome of a request that was written: whatever ends its connection, the answer is lost. */
export function outcomeOfUnanswered(failure: TransportFailure): Outcome {
  return failure === 'answerTooLarge' || failure === 'answerMalformed' ? failure : 'connectionLost';
}

const refusals: { readonly [O in Operation]?: readonly Outcome[] } = {
  createTask: taskRefusals,
  createJob: jobRefusals,
  listMessages: pageRefusals,
  listRecords: pageRefusals,
};

/** Those that say what is wrong by themselves, whatever code comes with them. */
const plainStatuses: ReadonlySet<number> = new Set([401, 403, 408, 429]);

/** Operations on a job that must exist. */
const jobOperations: ReadonlySet<Operation> = new Set(['getJob', 'listMessages', 'listRecords', 'deleteJob']);

/**
 * The outcome of an answer that is neither success (2xx) nor a redirect. `serviceCode` is what its body said, where it said it. Of a job
 * that is not known it says `jobGone`; whoever knows more of the job may know better.
 */
export function outcomeOfAnswer(operation: Operation, status: number, serviceCode: string | undefined): Outcome {
  if (status >= 400 && status < 500 && !plainStatuses.has(status)) {
    const refusal = refusals[operation]?.find((known) => known === serviceCode);
    if (refusal) return refusal;
    if (jobOperations.has(operation) && (status === 404 || serviceCode === unknownJobCode)) return 'jobGone';
  }
  const known = outcomeByStatus.get(status);
  if (known) return known;
  if (status >= 400 && status < 500) return 'clientError';
  return status >= 500 && status < 600 ? 'serverError' : 'unexpectedStatus';
}

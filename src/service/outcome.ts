/**
 * Every way in which a request can end, and what its caller gets: the one table of the client. For each operation and each
 * outcome it says which reason a condition shows, whether the service may have acted, how to go on, and how often
 * the client itself sends the request again.
 *
 * Invariant: a request that may have had an effect is never sent again from here. Reads have none.
 */
import type { Handling } from '../base/errors.ts';
import { type Operation, operations } from './operation.ts';
import type { Effect } from './service-error.ts';
import type { TransportFailure } from './transport.ts';

/** What a refused creation of a task says (7.5). */
export const taskRefusals = [
  'collector.invalid',
  'collector.type.invalid',
  'collector.not.alive',
  'collector.in.upgrading',
  'collector.version.invalid',
] as const;

export type TaskRefusal = (typeof taskRefusals)[number];

export type Outcome =
  // No connection, or none that may be used: nothing was sent.
  | Exclude<TransportFailure, 'connectionLost' | 'answerTooLarge' | 'answerMalformed'>
  | 'connectTimeout'
  | 'withdrawn'
  // Sent, and no whole answer.
  | 'connectionLost'
  | 'timeout'
  | 'abandoned'
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
  | TaskRefusal;

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

type Row = Treatment & { readonly creating?: Partial<Treatment>; readonly task?: Partial<Treatment> };

const nothingSent = { effect: 'none', handling: 'backoff', again: 0 } as const;
const needsPerson = { effect: 'none', handling: 'stall', again: 0 } as const;
/** What a lost or unreadable answer means: nothing for a read, everything for a creation (protocol U3). */
const unsure = { effect: 'none', handling: 'backoff', again: 0, creating: { effect: 'unknown', again: 0 } } as const;

const refused = { ...nothingSent, reason: 'RequestRefused' } as const;
const taskRefused = { effect: 'none', handling: 'wait', again: 0, reason: 'CollectorRefused' } as const;

const rows: { readonly [O in Outcome]: Row } = {
  nameNotFound: { ...nothingSent, reason: 'ServiceUnreachable' },
  refused: { ...nothingSent, reason: 'ServiceUnreachable' },
  notReachable: { ...nothingSent, reason: 'ServiceUnreachable' },
  connectTimeout: { ...nothingSent, reason: 'ServiceUnreachable' },
  proxyFailed: { ...nothingSent, reason: 'ServiceUnreachable' },
  tlsFailed: { ...nothingSent, reason: 'ServiceUnreachable' },
  closed: { ...nothingSent, reason: 'ClientClosed' },
  withdrawn: { ...nothingSent, reason: 'CallAborted' },
  certificateUnknown: { ...needsPerson, reason: 'CertificateNotTrusted' },
  certificateExpired: { ...needsPerson, reason: 'CertificateNotTrusted' },
  certificateForAnother: { ...needsPerson, reason: 'CertificateNotTrusted' },

  connectionLost: { ...unsure, again: 2, reason: 'ServiceUnreachable' },
  timeout: { ...unsure, reason: 'ServiceUnreachable' },
  abandoned: { ...unsure, reason: 'CallAborted' },
  answerTooLarge: { ...unsure, reason: 'AnswerInvalid' },
  answerMalformed: { ...unsure, reason: 'AnswerInvalid' },
  answerInvalid: { ...unsure, reason: 'AnswerInvalid' },

  redirectNotAllowed: { ...needsPerson, reason: 'RedirectNotAllowed' },
  redirectInCircles: { ...needsPerson, reason: 'RedirectNotAllowed' },

  badRequest: { ...refused },
  unauthorized: { ...needsPerson, reason: 'Unauthorized', again: 1, creating: { again: 0 } },
  forbidden: { ...needsPerson, reason: 'Forbidden' },
  notFound: { ...needsPerson, reason: 'AddressInvalid', task: { handling: 'wait', reason: 'TaskNotFound' } },
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
};

export const outcomes = Object.keys(rows) as readonly Outcome[];

export function treatmentOf(operation: Operation, outcome: Outcome): Treatment {
  const { creating, task, ...row } = rows[outcome];
  if (operations[operation].method === 'POST') return { ...row, ...creating };
  return operation === 'getTask' ? { ...row, ...task } : row;
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

/** The outcome of an answer that is neither success (2xx) nor a redirect. `serviceCode` is what its body said, where it said it. */
export function outcomeOfAnswer(operation: Operation, status: number, serviceCode: string | undefined): Outcome {
  if (operation === 'createTask' && status >= 400 && status < 500 && status !== 401 && status !== 403) {
    const refusal = taskRefusals.find((known) => known === serviceCode);
    if (refusal) return refusal;
  }
  const known = outcomeByStatus.get(status);
  if (known) return known;
  if (status >= 400 && status < 500) return 'clientError';
  return status >= 500 && status < 600 ? 'serverError' : 'unexpectedStatus';
}

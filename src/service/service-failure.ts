/**
 * From an outcome to the `ServiceError` that its caller gets: the table's treatment, and a message for a person that says what
 * happened, where, and what to do about it. Messages never carry credentials.
 */
import type { Handling } from '../base/errors.ts';
import { type Operation, operations } from './operation.ts';
import { type Outcome, treatmentOf } from './outcome.ts';
import { ServiceError } from './service-error.ts';
import { type SettingNames, secretNames } from './setting-names.ts';

/** What is known about a request that failed. */
export interface Failure {
  readonly outcome: Outcome;
  /** Address of the request, without its query. */
  readonly address: string;
  readonly status?: number | undefined;
  readonly serviceCode?: string | undefined;
  readonly serviceMessage?: string | undefined;
  readonly errorId?: string | undefined;
  readonly retryAfterMs?: number | undefined;
  readonly sentAtMs?: number | undefined;
  /** Particulars for the message: the socket's error code, the JSON path, the new address. */
  readonly detail?: string | undefined;
  readonly cause?: unknown;
}

const correctQuery = 'correct the query';

type Advice = { readonly [O in Outcome]?: string };

/** What a person can do about it; where there is nothing but patience, nothing. */
function adviceWith(operation: Operation, names: SettingNames): Advice {
  const { address, credentials, trustAuthority, shareRate } = names;
  // Both look alike (10.5).
  const orJobs =
    operation === 'createJob'
      ? '; or the organisation has as many active search jobs as it may: wait, or end others'
      : '';
  // Times are written by us, in milliseconds: the service itself takes them.
  const altered = `check that ${address} names the service itself, and that no proxy alters what is sent`;
  const anotherZone = 'the service does not know this time zone: write another one, as in UTC or Europe/Berlin';
  return {
    nameNotFound: `the name is not known here: check ${address}, and the DNS and proxy settings where logfleet runs`,
    refused: `nobody listens there: check host and port of ${address}`,
    notReachable: `check ${address}, and whether firewalls, network policies or proxies let logfleet through`,
    connectTimeout: `no connection came about in time: check ${address}, and firewalls, network policies and proxies`,
    proxyFailed: 'the proxy named by HTTPS_PROXY did not open a way: check it, or name the host in NO_PROXY',
    tlsFailed: `the other side does not speak TLS as it should: check host and port of ${address}`,
    certificateUnknown: `the certificate is by an authority unknown here: ${trustAuthority}`,
    certificateExpired:
      'the certificate is not valid at this time: it has to be renewed, or the clock of this machine set',
    certificateForAnother: `the certificate is for another name: write the name that it is for into ${address}`,
    unauthorized: `check ${credentials}`,
    forbidden:
      'the account type, or the role of the user behind the access id, does not allow it: grant that, or use another access id',
    notFound: `there is no such thing at this address: check that ${address} ends in /api and names the right deployment`,
    methodUnsupported: `this is not the address of the service: check ${address}`,
    redirectInCircles: `check that ${address} names the right deployment`,
    contentTypeInvalid: altered,
    rateLimited: `somebody else may be using the same user: ${shareRate}${orJobs}`,
    'invalid.timestamp.from': altered,
    'invalid.timestamp.to': altered,
    'to.smaller.than.from': altered,
    'unknown.time.type': altered,
    'unknown.timezone': anotherZone,
    'empty.timezone': altered,
    'no.query': altered,
    'parse.error': correctQuery,
    'query.creation.error': correctQuery,
    'no.records.not.an.aggregation.query': 'write results: Messages, or an aggregation, as in | count by _sourceHost',
    'raw.messages.not.available': 'the query aggregates: write requiresRawMessages: true, or results: Records',
    jobCookieMissing: 'there is no cookie of the service to send: check whether a proxy takes them away',
  };
}

/** `names`: what the settings are called where a person wrote them. */
export function toServiceError(operation: Operation, failure: Failure, names = secretNames): ServiceError {
  const { outcome, sentAtMs, status, serviceCode, errorId } = failure;
  const treatment = treatmentOf(operation, outcome);
  return new ServiceError({
    code: `service.${outcome}`,
    message: render(operation, failure, names),
    reason: treatment.reason,
    effect: treatment.effect,
    handling: handlingOf(treatment.handling, failure.retryAfterMs),
    ...(status === undefined ? {} : { status }),
    ...(serviceCode === undefined ? {} : { serviceCode }),
    ...(errorId === undefined ? {} : { errorId }),
    ...(sentAtMs === undefined ? {} : { sentAtMs }),
    ...(failure.cause === undefined ? {} : { cause: failure.cause }),
  });
}

function handlingOf(kind: Exclude<Handling['kind'], 'bug'>, retryAfterMs: number | undefined): Handling {
  if (kind !== 'retryAfter') return { kind };
  return retryAfterMs === undefined ? { kind: 'backoff' } : { kind: 'retryAfter', delayMs: retryAfterMs };
}

function render(operation: Operation, failure: Failure, names: SettingNames): string {
  const request = `${operations[operation].method} ${failure.address}`;
  const isGoneTask = operation === 'getTask' && failure.outcome === 'notFound';
  const help = isGoneTask ? undefined : adviceWith(operation, names)[failure.outcome];
  return `${request} ${happened(failure, names)}${help ? `; ${help}` : ''}`;
}

function happened(failure: Failure, { followRedirect }: SettingNames): string {
  const { detail, status, outcome } = failure;
  const inBrackets = detail ? ` (${detail})` : '';
  switch (outcome) {
    case 'redirectNotAllowed':
      return `was sent on to ${detail}, where the credentials may not go: if that is right, ${followRedirect}`;
    case 'redirectInCircles':
      return `was redirected without getting anywhere${inBrackets}`;
    case 'timeout':
      return `was not answered in time${inBrackets}`;
    case 'withdrawn':
    case 'abandoned':
      return 'was given up by its caller';
    case 'connectionLost':
      return `got no whole answer, the connection broke${inBrackets}`;
    case 'heldUp':
      return `was given up, because its rows could not be written away in time${inBrackets}`;
    case 'answerInvalid':
    case 'answerMalformed':
    case 'answerTooLarge':
      return `got an answer that cannot be read${status === undefined ? '' : `, with status ${status}`}${inBrackets}`;
    case 'notLeading':
      return 'was not sent, since another process may lead now';
    case 'closed':
      return 'was not sent, since its client has been closed';
    case 'jobNotKnownYet':
    case 'jobDeleted':
    case 'jobCookieMissing':
    case 'jobSilenced':
    case 'jobTimedOut':
    case 'jobGone':
      return `found no such search job${inBrackets}`;
    default:
      return status === undefined ? `was not sent${inBrackets}` : answered(failure, status);
  }
}

function answered(failure: Failure, status: number): string {
  const code = failure.serviceCode ? ` ${failure.serviceCode}` : '';
  return `was answered ${status}${code}${failure.serviceMessage ? ` (${failure.serviceMessage})` : ''}`;
}

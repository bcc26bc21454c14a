/**
 * Creates the `ServiceError` for a failed request. The message says what happened, where, and what to do, without
 * credentials.
 */
import type { Handling } from '../../base/errors.ts';
import { type Operation, operations } from './operation.ts';
import { type Outcome, treatmentOf } from './outcome.ts';
import { ServiceError, type ServiceErrorOptions } from './service-error.ts';

/** Outcome and details of a failed request. */
export interface Failure
  extends Pick<ServiceErrorOptions, 'outcome' | 'status' | 'serviceCode' | 'sentAtMs' | 'cause'> {
  /** Address of the failed request, without its query. */
  readonly address: string;
  readonly serviceMessage?: string | undefined;
  readonly retryAfterMs?: number | undefined;
  /** Detail for the message, such as an error code or a JSON path. */
  readonly detail?: string | undefined;
}

const correctQuery = 'correct the query';

type Advice = { readonly [O in Outcome]?: string };

/** Returns the advice for users, by the outcome or the error code of the request. */
function adviceWith(operation: Operation, names: SettingNames): Advice {
  const { address, credentials, trustAuthority, shareRate } = names;
  // The service gives the same response for too many requests and too many search jobs (section 10.5 of docs/service.md).
  const tooMany = `another client may be using the same user: ${shareRate}`;
  const tooManyOrJobs = `${tooMany}; or the organisation has reached its limit of active search jobs: wait, or end other jobs`;
  // logfleet sends valid times. If the service rejects a time, a proxy may have changed the request.
  const altered = `check that ${address} is the address of the service itself, and that no proxy changes requests`;
  const anotherZone = 'the service does not know this time zone: write another time zone, such as UTC or Europe/Berlin';
  return {
    nameNotFound: `the host name cannot be resolved: check ${address}, and the DNS and proxy settings of the machine`,
    refused: `no server listens at this address: check host and port of ${address}`,
    notReachable: `check ${address}, and whether firewalls, network policies or proxies let logfleet through`,
    connectTimeout: `no connection was established in time: check ${address}, and firewalls, network policies and proxies`,
    proxyFailed: 'the proxy in HTTPS_PROXY refused the connection: check the proxy, or add the host to NO_PROXY',
    tlsFailed: `the TLS handshake failed: check host and port of ${address}`,
    certificateUnknown: `no CA that logfleet trusts has signed the certificate: ${trustAuthority}`,
    certificateExpired:
      'the certificate has expired or is not valid yet: renew it, or correct the clock of this machine',
    certificateForAnother: `the certificate is for another host name: write that name into ${address}`,
    budgetFull: 'logfleet repeats the request when fewer requests to the service are waiting',
    unauthorized: `check ${credentials}`,
    forbidden:
      'the account type, or the role of the user behind the access id, does not allow this request: grant the permission, or use another access id',
    notFound: `nothing was found at this address: check that ${address} ends in /api and names the right deployment`,
    methodUnsupported: `this is not the address of the service: check ${address}`,
    redirectInCircles: `check that ${address} names the right deployment`,
    contentTypeInvalid: altered,
    rateLimited: operation === 'createJob' ? tooManyOrJobs : tooMany,
    'invalid.timestamp.from': altered,
    'invalid.timestamp.to': altered,
    'to.smaller.than.from': altered,
    'unknown.time.type': altered,
    'unknown.timezone': anotherZone,
    'empty.timezone': altered,
    'no.query': altered,
    'parse.error': correctQuery,
    'query.creation.error': correctQuery,
    'no.records.not.an.aggregation.query':
      'the query has no aggregation: set results to Messages, or add an aggregation such as | count by _sourceHost',
    'raw.messages.not.available': 'the query aggregates: set results to Records, or require raw messages',
    jobCookieMissing: 'the cookie of the service is missing: check whether a proxy removes cookies',
  };
}

/** Creates the error for a failed request. `names` are the names of the settings as users write them. */
export function toServiceError(operation: Operation, failure: Failure, names = secretNames): ServiceError {
  const { reason, effect, handling } = treatmentOf(operation, failure.outcome);
  return new ServiceError({
    ...failure,
    message: render(operation, failure, names),
    reason,
    effect,
    handling: handlingOf(handling, failure.retryAfterMs),
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
  return `${happened(request, failure, names)}${help ? `; ${help}` : ''}`;
}

/** Describes how a failed request ended. `request` contains the method and address of the request. */
function happened(request: string, failure: Failure, { followRedirect }: SettingNames): string {
  const { detail, status, outcome } = failure;
  const inBrackets = detail ? ` (${detail})` : '';
  switch (outcome) {
    case 'redirectNotAllowed':
      return `${request} was redirected to ${detail}, which is not an allowed host: if the host is correct, ${followRedirect}`;
    case 'redirectInCircles':
      return `${request} was redirected repeatedly and never reached the service${inBrackets}`;
    case 'timeout':
      return `${request} was not answered in time${inBrackets}`;
    case 'withdrawn':
    case 'abandoned':
      return `${request} was cancelled by logfleet`;
    case 'connectionLost':
      return `${request} got no complete response, because the connection broke${inBrackets}`;
    case 'heldUp':
      return `${request} was cancelled, because logfleet could not write the received rows in time${inBrackets}`;
    case 'responseInvalid':
    case 'responseMalformed':
    case 'responseTooLarge':
      return `${request} got an unreadable response${status === undefined ? '' : `, with status ${status}`}${inBrackets}`;
    case 'notLeading':
      return `${request} was not sent, because another process may be the leader now`;
    case 'closed':
      return `${request} was not sent, because its client was closed`;
    case 'jobNotKnownYet':
    case 'jobDeleted':
    case 'jobCookieMissing':
    case 'jobSilenced':
    case 'jobTimedOut':
    case 'jobGone':
      return `${request} found no such search job${inBrackets}`;
    default:
      return status === undefined ? `${request} was not sent${inBrackets}` : answered(request, failure, status);
  }
}

function answered(request: string, failure: Failure, status: number): string {
  const code = failure.serviceCode ? ` ${failure.serviceCode}` : '';
  return `${request} was answered ${status}${code}${failure.serviceMessage ? ` (${failure.serviceMessage})` : ''}`;
}

export interface SettingNames {
  /** Setting with the service's base address. */
  readonly address: string;
  /** Settings with the access id and the access key. */
  readonly credentials: string;
  /** Advice to trust a certificate authority, such as `put the service's CA certificate (PEM) into …`. */
  readonly trustAuthority: string;
  /** Advice to follow a redirect to another host: `write the new address into …`. */
  readonly followRedirect: string;
  /** Advice to leave more requests to other clients. */
  readonly shareRate: string;
}

export const secretNames: SettingNames = {
  address: 'baseURL in the Secret',
  credentials: 'accessId and accessKey in the Secret',
  trustAuthority: "put the service's CA certificate (PEM) into ca.crt of the Secret",
  followRedirect: 'set baseURL in the Secret to the new address, or add its host to allowedHosts',
  shareRate: 'lower requestsPerSecond or maxConcurrentRequests in the Secret, or give the operator a user of its own',
};

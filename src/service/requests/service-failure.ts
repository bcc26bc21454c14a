/**
 * Creates the `ServiceError` for a failed request. The message says what happened, where, and what to do, and contains
 * no credentials.
 */
import type { Handling } from '../../base/errors.ts';
import { type Operation, operations } from './operation.ts';
import { type RequestFailure, treatmentOf } from './request-failure.ts';
import { ServiceError, type ServiceErrorOptions } from './service-error.ts';

/** Outcome and details of a failed request. */
export interface FailedRequest
  extends Pick<ServiceErrorOptions, 'failure' | 'status' | 'serviceCode' | 'hasForeignBody' | 'sentAtMs' | 'cause'> {
  /** Address of the failed request, without its query. */
  readonly address: string;
  readonly serviceMessage?: string | undefined;
  readonly retryAfterMs?: number | undefined;
  /** Detail to show in the message, such as an error code or a JSON path. */
  readonly detail?: string | undefined;
  /** True if the request was for a search job, but had none of its cookies. */
  readonly lacksCookie?: boolean;
}

const correctQuery = 'correct the query';

type Advice = { readonly [O in RequestFailure]?: string };

/** Returns user-facing advice by kind of failure or error code. Some of them have no advice. */
function adviceWith(operation: Operation, names: SettingNames): Advice {
  const { address, credentials, trustAuthority, shareRate } = names;
  // The service gives the same response for too many requests and too many search jobs (section 10.1 of docs/service.md).
  const tooMany = `another client may be using the same user: ${shareRate}`;
  const tooManyOrJobs = `${tooMany}; or the organisation may have reached its limit on active search jobs: wait, or end other jobs`;
  // logfleet sends valid times. If the service rejects a time, a proxy may have changed the request.
  const altered = `check that ${address} is the address of the service itself, and that no proxy modifies requests`;
  const anotherZone = 'the service does not know this time zone: set another time zone, such as UTC or Europe/Berlin';
  return {
    nameNotFound: `the hostname cannot be resolved: check ${address}, and the DNS and proxy settings of this machine`,
    refused: `no server is listening at this address: check the host and port in ${address}`,
    notReachable: `check ${address}, and whether firewalls, network policies and proxies let logfleet through`,
    connectTimeout: `no connection was established in time: check ${address}, and any firewalls, network policies and proxies`,
    proxyFailed: 'the proxy in HTTPS_PROXY refused the connection: check the proxy, or add the host to NO_PROXY',
    tlsFailed: `the TLS handshake failed: check the host and port in ${address}`,
    certificateUnknown: `the certificate is not signed by a CA that logfleet trusts: ${trustAuthority}`,
    certificateExpired:
      'the certificate has expired or is not valid yet: renew it, or correct the clock of this machine',
    certificateForAnother: `the certificate is for another hostname: correct the hostname in ${address}`,
    budgetFull: 'logfleet will retry the request when fewer requests to the service are waiting',
    unauthorized: `check ${credentials}`,
    forbidden:
      'the account type, or the role of the user who owns the access id, does not allow this request: grant the permission, or use another access id',
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
    'raw.messages.not.available': 'the query contains an aggregation: set results to Records, or request raw messages',
    jobCookieMissing: 'a cookie from the service is missing: check whether a proxy removes cookies',
  };
}

/** Creates the error for a failed request. `names` contains the names of the settings as users know them. */
export function toServiceError(operation: Operation, failed: FailedRequest, names = secretSettingNames): ServiceError {
  const { reason, effect, handling } = treatmentOf(operation, failed.failure);
  return new ServiceError({
    ...failed,
    message: render(operation, failed, names),
    reason,
    effect,
    handling: handlingOf(handling, failed.retryAfterMs),
  });
}

function handlingOf(kind: Exclude<Handling['kind'], 'bug'>, retryAfterMs: number | undefined): Handling {
  if (kind !== 'retryAfter') return { kind };
  return retryAfterMs === undefined ? { kind: 'backoff' } : { kind: 'retryAfter', delayMs: retryAfterMs };
}

function render(operation: Operation, failed: FailedRequest, names: SettingNames): string {
  const request = `${operations[operation].method} ${failed.address}`;
  const isGoneTask = operation === 'getTask' && failed.failure === 'notFound';
  // The service may answer 500 to a request that lacks the job's cookies (section 10.2 of docs/service.md).
  const topic = failed.failure === 'internalError' && failed.lacksCookie ? 'jobCookieMissing' : failed.failure;
  const help = isGoneTask ? undefined : adviceWith(operation, names)[topic];
  return `${happened(request, failed, names)}${help ? `; ${help}` : ''}`;
}

/** Describes how a failed request ended. `request` contains the request's method and address. */
function happened(request: string, failed: FailedRequest, { followRedirect }: SettingNames): string {
  const { detail, status, failure } = failed;
  const inBrackets = detail ? ` (${detail})` : '';
  switch (failure) {
    case 'redirectNotAllowed':
      return `${request} was redirected to ${detail}, which is not an allowed host: if the host is correct, ${followRedirect}`;
    case 'redirectNotHttps':
      return `${request} was redirected to ${detail}, but logfleet sends credentials only over https: correct the Location header of the service or proxy`;
    case 'redirectInCircles':
      return `${request} was redirected repeatedly and never reached the service${inBrackets}`;
    case 'timeout':
      return `${request} was not answered in time${inBrackets}`;
    case 'withdrawn':
    case 'abandoned':
      return `${request} was cancelled by logfleet`;
    case 'connectionLost':
      return `${request} did not get a complete response because the connection was lost${inBrackets}`;
    case 'heldUp':
      return `${request} was cancelled, because logfleet could not write the received rows in time${inBrackets}`;
    case 'responseInvalid':
    case 'responseMalformed':
    case 'responseTooLarge':
      return `${request} got an unreadable response${status === undefined ? '' : ` with status ${status}`}${inBrackets}`;
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
      return `${request} did not find the search job${inBrackets}`;
    default:
      return status === undefined ? `${request} was not sent${inBrackets}` : answered(request, failed, status);
  }
}

function answered(request: string, failed: FailedRequest, status: number): string {
  const code = failed.serviceCode ? ` ${failed.serviceCode}` : '';
  return `${request} was answered with ${status}${code}${failed.serviceMessage ? ` (${failed.serviceMessage})` : ''}`;
}

export interface SettingNames {
  /** Setting with the service's base address. */
  readonly address: string;
  /** Settings with the access id and the access key. */
  readonly credentials: string;
  /** Advice on trusting a certificate authority, such as `put the service's CA certificate (PEM) into …`. */
  readonly trustAuthority: string;
  /** Advice on following a redirect to another host, such as `set … to the new address`. */
  readonly followRedirect: string;
  /** Advice on how to leave more of the request limit to other clients. */
  readonly shareRate: string;
}

export const secretSettingNames: SettingNames = {
  address: 'baseURL in the Secret',
  credentials: 'accessId and accessKey in the Secret',
  trustAuthority: "put the service's CA certificate (PEM) into ca.crt of the Secret",
  followRedirect: 'set baseURL in the Secret to the new address, or add its host to allowedHosts',
  shareRate:
    'lower requestsPerSecond or maxConcurrentRequests in the Secret, set user to the same name in all Secrets of the same user, or give the operator a user of its own',
};

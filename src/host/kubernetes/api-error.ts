/**
 * Converts unsuccessful and missing responses from an API server to errors, which callers distinguish by `code`.
 *
 * | code | when | handling |
 * | --- | --- | --- |
 * | `host.conflict` | 409: the object has been changed or created in the meantime | backoff |
 * | `host.gone` | 404: the object does not exist | wait |
 * | `host.expired` | 410: the version is too old to continue from | backoff |
 * | `host.unauthorized`, `host.forbidden` | 401: the credentials are not valid; 403: a permission is missing | stall |
 * | `host.denied` | 403: an admission rule such as a ResourceQuota rejects the object | stall |
 * | `host.invalid` | 400, 413, 422 and similar: the server rejects the request | bug |
 * | `host.misconfigured` | 3xx, or 4xx without a Kubernetes Status object: probably not an API server | backoff |
 * | `host.throttled`, `host.unavailable` | 429; 5xx | retryAfter if the server specified a delay, otherwise backoff |
 * | `host.unreachable` | no response, or an unreadable response | backoff |
 */
import { type KindName, kinds, ledgerKind, ledgerPlural } from '../../api/kinds.ts';
import { asLogfleetError, failure, type Handling, LogfleetError, messageOf } from '../../base/errors.ts';
import type { Random } from '../../base/random.ts';
import { isRecord } from '../../base/record.ts';
import { parseHttpDate, parseRetryAfter } from '../../base/retry-after.ts';
import { doubledMs, requestedDelayMs, scatteredMs } from '../../base/retry-delay.ts';
import type { KubeResponse } from './kube-api.ts';

/** Maximum delay in ms that is accepted from a Retry-After header. API servers usually specify one second. */
const longestRetryAfterMs = 30_000;

/**
 * Returns a user-facing message for a kind that the API server does not know. The message says what to do. `place`
 * names the API server.
 */
export function notInstalled(kind: KindName | typeof ledgerKind, place: string): string {
  const plural = kind === ledgerKind ? ledgerPlural : kinds[kind].plural;
  return `${place} does not have the resource type ${plural}: install the CRDs with \`logfleet crds | kubectl apply -f -\``;
}

/**
 * Returns the error for an unsuccessful response. `what` is the request as shown to users, for example `PUT /apis/…`.
 */
export function apiErrorOf(response: KubeResponse, what: string): LogfleetError {
  const { status } = response;
  const answered = statusMessage(response.body);
  const make = (code: string, handling: Handling, advice: string, reason?: string) =>
    new LogfleetError({
      code,
      handling,
      message: `the API server answered ${what} with ${status}${answered === '' ? '' : ` (${answered})`}: ${advice}`,
      ...(reason === undefined ? {} : { reason }),
    });
  switch (status) {
    case 401:
      return make('host.unauthorized', { kind: 'stall' }, 'log in again or renew the credentials', 'Unauthorized');
    case 403:
      if (isAdmissionRefusal(response.body)) {
        return make(
          'host.denied',
          { kind: 'stall' },
          'the admission control of the cluster rejects this object',
          'Forbidden',
        );
      }
      return make('host.forbidden', { kind: 'stall' }, 'this permission must be granted with RBAC', 'Forbidden');
    case 404:
      return make('host.gone', { kind: 'wait' }, 'the object does not exist');
    case 409:
      return make(
        'host.conflict',
        { kind: 'backoff' },
        'another client created or changed the object at the same time, so this request changed nothing; try again',
      );
    case 410:
      return make(
        'host.expired',
        { kind: 'backoff' },
        'the list or watch has expired, because its resource version is too old; try again',
      );
    case 429:
      return make('host.throttled', retryHandling(response), 'the API server is overloaded');
    default:
      if (status >= 500) return make('host.unavailable', retryHandling(response), 'the API server is not available');
      if (!isStatus(response.body)) {
        const advice = 'the response is not in the format of an API server; check `server` in the kubeconfig';
        return make('host.misconfigured', { kind: 'backoff' }, advice);
      }
      return make('host.invalid', { kind: 'bug' }, 'the API server rejects the request that logfleet sent');
  }
}

/** Returns the error for a missing or unreadable response. The request may have taken effect. */
export function errorOfSilence(what: string, cause: unknown): LogfleetError {
  const message = `no response from the API server to ${what}: ${messageOf(cause)}`;
  return failure('backoff', 'host.unreachable', message, { cause });
}

function retryHandling({ headers }: KubeResponse): Handling {
  const nowMs = parseHttpDate(headers.date) ?? Number.NaN;
  const delayMs = parseRetryAfter(headers['retry-after'], nowMs, longestRetryAfterMs);
  return delayMs === undefined ? { kind: 'backoff' } : { kind: 'retryAfter', delayMs };
}

/**
 * Returns the message in a response body that is a Kubernetes Status object. Returns any other body, such as an error
 * page, in shortened form.
 */
function statusMessage(body: unknown): string {
  if (typeof body === 'object' && body !== null && 'message' in body) return String(body.message).slice(0, 500);
  return typeof body === 'string' ? body.slice(0, 100) : '';
}

/** Reports whether a response body is a Kubernetes Status object. */
function isStatus(body: unknown): boolean {
  return isRecord(body) && body.kind === 'Status';
}

/** Reports whether a 403 is due to an admission rule, such as a ResourceQuota, rather than a missing permission. */
function isAdmissionRefusal(body: unknown): boolean {
  return /\bis forbidden: (?!User ")|\bdenied (the )?request\b/.test(statusMessage(body));
}

interface BackoffOptions {
  readonly firstMs: number;
  readonly capMs: number;
}

/**
 * Returns the retry delay in ms after `failures` consecutive failures. The delay grows exponentially, with jitter, and
 * is never shorter than the delay in a Retry-After header.
 */
export function backoffDelay(options: BackoffOptions, failures: number, error: unknown, random: Random): number {
  const delayMs = scatteredMs(doubledMs(options.firstMs, failures - 1, options.capMs), random);
  return Math.max(delayMs, requestedDelayMs(asLogfleetError(error)));
}

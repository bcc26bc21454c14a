/**
 * What an API server's answer, or the lack of one, means. Classified here and nowhere else; everybody above matches the
 * `code`.
 *
 * | code | when | handling |
 * | --- | --- | --- |
 * | `host.conflict` | 409: somebody wrote or created it meanwhile | backoff |
 * | `host.gone` | 404 | wait |
 * | `host.expired` | 410: too old to go on from | backoff |
 * | `host.unauthorized`, `host.forbidden` | 401, 403 | stall |
 * | `host.invalid` | 400, 413, 422 and other refusals: we sent what it does not take | bug |
 * | `host.throttled`, `host.unavailable` | 429; 5xx | retryAfter where the server named a delay, else backoff |
 * | `host.unreachable` | no answer, or one that cannot be read | backoff |
 */
import { type KindName, kinds, ledgerKind, ledgerPlural } from '../../api/kinds.ts';
import { type Handling, LogfleetError } from '../../base/errors.ts';
import type { KubeResponse } from './kube-api.ts';

/** A server that asks for more patience than this is asked again nevertheless. */
const longestRetryAfterMs = 30_000;

/** Whether `error` is one of ours with this code. */
export function hasCode(error: unknown, code: string): error is LogfleetError {
  return error instanceof LogfleetError && error.code === code;
}

/** What a person does about a kind whose collection is `host.gone`. `place` is what does not know it. */
export function notInstalled(kind: KindName | typeof ledgerKind, place: string): string {
  const plural = kind === ledgerKind ? ledgerPlural : kinds[kind].plural;
  return `${place} does not know ${plural}: install the CRDs with \`logfleet crds | kubectl apply -f -\``;
}

/** The error behind an answer that is no success. `what` names the request for a person: `PUT /apis/…`. */
export function errorOfAnswer(answer: KubeResponse, what: string): LogfleetError {
  const { status } = answer;
  const said = messageOf(answer.body);
  const make = (code: string, handling: Handling, advice: string, reason?: string) =>
    new LogfleetError({
      code,
      handling,
      message: `the API server answered ${what} with ${status}${said === '' ? '' : ` (${said})`}: ${advice}`,
      ...(reason === undefined ? {} : { reason }),
    });
  switch (status) {
    case 401:
      return make('host.unauthorized', { kind: 'stall' }, 'renew the credentials of the operator', 'Unauthorized');
    case 403:
      return make('host.forbidden', { kind: 'stall' }, 'grant it in the RBAC of the operator', 'Forbidden');
    case 404:
      return make('host.gone', { kind: 'wait' }, 'it does not exist, or no longer');
    case 409:
      return make('host.conflict', { kind: 'backoff' }, 'somebody else was first; it is read again and retried');
    case 410:
      return make('host.expired', { kind: 'backoff' }, 'too old to go on from; it is listed anew');
    case 429:
      return make('host.throttled', patience(answer), 'it is asked again later');
    default:
      return status >= 500
        ? make('host.unavailable', patience(answer), 'it is asked again later')
        : make('host.invalid', { kind: 'bug' }, 'it does not take what logfleet sent');
  }
}

/** The error when no answer came, or none that can be read. Whether the request took effect is unknown. */
export function errorOfSilence(what: string, cause: unknown): LogfleetError {
  const said = cause instanceof Error ? cause.message : String(cause);
  return new LogfleetError({
    code: 'host.unreachable',
    handling: { kind: 'backoff' },
    message: `no answer from the API server to ${what}: ${said}`,
    cause,
  });
}

function patience(answer: KubeResponse): Handling {
  const seconds = Number(answer.headers['retry-after'] ?? Number.NaN);
  if (!Number.isFinite(seconds) || seconds < 0) return { kind: 'backoff' };
  return { kind: 'retryAfter', delayMs: Math.min(seconds * 1_000, longestRetryAfterMs) };
}

/** What a Status object says; bodies of proxies and the like are cut short. */
function messageOf(body: unknown): string {
  if (typeof body === 'object' && body !== null && 'message' in body) return String(body.message).slice(0, 500);
  return typeof body === 'string' ? body.slice(0, 100) : '';
}

/** Classifies Google Cloud Storage errors by their codes, and adds advice for users. */
import { isRecord, recordOfJson } from '../../base/record.ts';
import { failuresByCode, firstCode, noToken, StoreErrors, untrustedForm } from '../store/store-error.ts';

const sessionEnded = 'UploadSessionEnded';

/** Error codes with which the store refuses to remove an object, because a retention policy or a hold protects it. */
const retentionCodes: readonly string[] = ['retentionPolicyNotMet', 'objectUnderActiveHold'];

const failureOfCode = failuresByCode({
  lost: [sessionEnded],
  denied: [...retentionCodes, 'accountDisabled'],
  credentials: [noToken, 'authError'],
  away: ['rateLimitExceeded', 'userRateLimitExceeded', 'backendError', 'internalError', 'AbortError'],
  unsupported: ['notImplemented'],
  full: ['quotaExceeded'],
});

const advice = {
  missing: 'create the bucket, or correct the bucket name and the endpoint',
  denied:
    'grant this account the role Storage Object User on the bucket (storage.objects.create, .get, .list and .delete), and check the bucket for retention policies and holds',
  credentials:
    "correct the store's credentials in the Secret that credentialsSecretRef names, or, if credentialsSecretRef is not set, in the environment (such as GOOGLE_APPLICATION_CREDENTIALS)",
  lost: 'the store has ended the upload, so logfleet will upload the file again',
};

export const gcsErrors: StoreErrors = new StoreErrors({
  ...{ codeOf: errorCode, statusOf: gcsHttpStatus, failureOfCode, advice },
  failureByStatus: { 404: 'missing', 501: 'unsupported' },
});

/** Error codes for failed or broken connections, including certificate errors. */
const connectionForm = new RegExp(
  `^(?:ECONN|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|EPIPE|UND_ERR_)|${untrustedForm.source}`,
);

/** Error response from the store, or a failed attempt to get a token. Contains no token. */
export class GcsError extends Error {
  readonly code: string;
  /** HTTP status of the response. After a failed attempt to get a token, it is set only for status 429 or 5xx. */
  readonly status: number | undefined;

  constructor(code: string, message: string, status?: number) {
    super(message);
    this.code = code;
    this.status = status;
  }
}

/** Returns the error for a redirect or an error response. The body is JSON, or plain text for downloads. */
export function gcsErrorOf(status: number, body: string): GcsError {
  const error = recordOfJson(body)?.['error'];
  if (!isRecord(error)) return new GcsError(`HTTP status ${status}`, body.startsWith('<') ? '' : body, status);
  const [first] = Array.isArray(error['errors']) ? error['errors'] : [];
  const reason: unknown = isRecord(first) ? first['reason'] : undefined;
  const code = typeof reason === 'string' && reason !== '' ? reason : `HTTP status ${status}`;
  return new GcsError(code, String(error['message'] ?? ''), status);
}

/** Returns the error for a failed attempt to get a token. */
export function tokenError(cause: unknown): GcsError {
  const { code, status, message } = cause as { code?: unknown; status?: unknown; message?: unknown };
  const text = `cannot get a token for the store: ${typeof message === 'string' ? message : String(cause)}`;
  if (typeof status === 'number' && (status === 429 || status >= 500)) {
    return new GcsError(`HTTP status ${status}`, text, status);
  }
  const isConnection = status === undefined && typeof code === 'string' && connectionForm.test(code);
  return new GcsError(isConnection ? code : noToken, text);
}

/** Returns the error to report when the store no longer recognizes an upload session. */
export function sessionError({ message, status }: GcsError): GcsError {
  return new GcsError(sessionEnded, message, status);
}

/** Returns the HTTP status of the response, or undefined if there was none. */
export function gcsHttpStatus(cause: unknown): number | undefined {
  return cause instanceof GcsError ? cause.status : undefined;
}

/** Reports whether the error means that a retention policy or a hold protects the object. */
export function isRetained(cause: unknown): boolean {
  return retentionCodes.includes(errorCode(cause));
}

/** Reports whether a retry of the request may succeed. */
export function isTransient(cause: unknown): boolean {
  const status = gcsHttpStatus(cause);
  if (status !== undefined) return status === 408 || status === 429 || status >= 500;
  return gcsErrors.failureOf(cause) === 'away' && errorCode(cause) !== 'AbortError';
}

function errorCode(cause: unknown): string {
  const { name, code } = (cause ?? {}) as { name?: unknown; code?: unknown };
  return firstCode(code, name);
}

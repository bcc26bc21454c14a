/**
 * Errors of object stores and of the way to them, by their code: what a person is told, and how to go on. The only place that
 * knows those codes.
 */
import type { LogfleetError } from '../../base/errors.ts';
import { type DestinationFailure, destinationError } from '../destination-error.ts';

const failureByCode: ReadonlyMap<string, DestinationFailure> = new Map<string, DestinationFailure>([
  ['NoSuchBucket', 'missing'],
  ['NoSuchKey', 'absent'],
  ['NoSuchUpload', 'lost'],
  // Of an upload that is being removed: its parts go first.
  ['InvalidPart', 'lost'],
  // Its storage class is one that has to be restored before it is read.
  ['InvalidObjectState', 'frozen'],
  ['AccessDenied', 'denied'],
  ['AllAccessDisabled', 'denied'],
  ['AccountProblem', 'denied'],
  ['InvalidAccessKeyId', 'credentials'],
  // versitygw's word for a key that nobody has.
  ['XAdminUserNotFound', 'credentials'],
  ['SignatureDoesNotMatch', 'credentials'],
  ['ExpiredToken', 'credentials'],
  ['InvalidToken', 'credentials'],
  ['TokenRefreshRequired', 'credentials'],
  ['CredentialsProviderError', 'credentials'],
  // Of what goes into headers, credentials alone are not checked before.
  ['ERR_INVALID_CHAR', 'credentials'],
  ['AuthorizationHeaderMalformed', 'invalid'],
  ['PermanentRedirect', 'invalid'],
  ['TemporaryRedirect', 'invalid'],
  ['IllegalLocationConstraintException', 'invalid'],
  ['InvalidStorageClass', 'invalid'],
  ['InvalidBucketName', 'invalid'],
  ['InvalidEncryptionAlgorithmError', 'invalid'],
  // What comes as 400 or 403, and passes: a body that broke off or was garbled on its way, too many requests, a clock that is being set.
  ['RequestTimeout', 'away'],
  ['IncompleteBody', 'away'],
  ['BadDigest', 'away'],
  ['XAmzContentSHA256Mismatch', 'away'],
  // MinIO's word for it.
  ['XAmzContentChecksumMismatch', 'away'],
  ['ThrottlingException', 'away'],
  ['RequestTimeTooSkewed', 'away'],
  ['NotImplemented', 'unsupported'],
  ['QuotaExceeded', 'full'],
  ['InsufficientStorage', 'full'],
  ['XMinioStorageFull', 'full'],
  ['XMinioAdminBucketQuotaExceeded', 'full'],
]);

/** Of sockets and TLS, where waiting does not help. */
const untrustedForm = /^(?:UNABLE_TO_|CERT_|DEPTH_ZERO_|SELF_SIGNED_|ERR_TLS_CERT|HOSTNAME_MISMATCH|INVALID_CA)/;

const advice: Readonly<Partial<Record<DestinationFailure, string>>> = {
  full: 'make room or raise the quota, and the export goes on',
  away: 'logfleet tries again',
  missing: 'make the bucket, or correct s3.bucket, s3.region and s3.endpoint',
  denied:
    'let these credentials do s3:PutObject, s3:GetObject, s3:DeleteObject, s3:AbortMultipartUpload and ' +
    's3:ListMultipartUploadParts below the prefix, and s3:ListBucket and s3:ListBucketMultipartUploads on the bucket',
  credentials:
    'correct the Secret that s3.credentialsSecretRef names, or, without one, what the environment gives (AWS_ACCESS_KEY_ID and its like)',
  lost: 'it was removed as left over while it was written, and is written again',
  frozen: 'restore the object from its archive so that it can be read',
  invalid: 'correct spec.destination.s3',
  unsupported: 'this store lacks what logfleet needs; use another store, or a volume',
};

/** `act` says what failed and where, as `write a/b to s3://bucket/prefix`. */
export function s3Error(act: string, cause: unknown): LogfleetError {
  const failure = failureOf(cause);
  const hint = advice[failure];
  return destinationError(failure, `cannot ${act}: ${reasonOf(cause)}${hint === undefined ? '' : `; ${hint}`}`, cause);
}

/** What a store or socket calls the error: `NoSuchKey`, `ECONNREFUSED`. */
export function errorCode(cause: unknown): string {
  const { name, code, Code } = (cause ?? {}) as { name?: unknown; code?: unknown; Code?: unknown };
  const known = [Code, code, name].find((each) => typeof each === 'string' && each !== '' && each !== 'Error');
  return typeof known === 'string' ? known : 'UnknownError';
}

/** Undefined when no answer came. */
export function httpStatus(cause: unknown): number | undefined {
  const { $metadata } = (cause ?? {}) as { $metadata?: { httpStatusCode?: unknown } };
  return typeof $metadata?.httpStatusCode === 'number' ? $metadata.httpStatusCode : undefined;
}

/** Somebody else's object stands there (412). */
export function isTaken(cause: unknown): boolean {
  return httpStatus(cause) === 412 || errorCode(cause) === 'PreconditionFailed';
}

/** The connection ended under a request, and no answer came. */
export function isBrokenOff(cause: unknown): boolean {
  return httpStatus(cause) === undefined && ['ECONNRESET', 'EPIPE'].includes(errorCode(cause));
}

/** The object or upload is not there, and its bucket is. */
export function isAbsent(cause: unknown): boolean {
  return ['NoSuchKey', 'NoSuchUpload', 'NotFound'].includes(errorCode(cause));
}

function failureOf(cause: unknown): DestinationFailure {
  const code = errorCode(cause);
  const status = httpStatus(cause);
  const known = failureByCode.get(code);
  if (known) return known;
  if (code.startsWith('KMS') || untrustedForm.test(code)) return 'invalid';
  if (status === undefined || status === 408 || status === 409 || status === 429) return 'away';
  if (status === 401 || status === 403) return 'denied';
  if (status === 501) return 'unsupported';
  if (status === 507) return 'full';
  if (status === 301 || status === 307) return 'invalid';
  return status >= 400 && status < 500 ? 'invalid' : 'away';
}

function reasonOf(cause: unknown): string {
  const code = errorCode(cause);
  const message = cause instanceof Error ? shortened(cause.message).replace(/\.$/, '') : '';
  if (untrustedForm.test(code)) return `${code}: its certificate is not trusted here (see NODE_EXTRA_CA_CERTS)`;
  return message === '' || message === code || message === 'UnknownError' ? code : `${code}: ${message}`;
}

/** A store may say whatever it likes; what to do about it stands behind that, and is to be read, too. */
const longestMessage = 300;

function shortened(message: string): string {
  const line = message.replace(/[\s\p{Cc}]+/gu, ' ').trim();
  return line.length > longestMessage ? `${line.slice(0, longestMessage).toWellFormed()}…` : line;
}

/** Classifies errors of S3 stores, and of connections to them, by their codes, and adds advice for users. */
import { LogfleetError } from '../../base/errors.ts';
import { type DestinationFailure, destinationError } from '../destination-error.ts';
import {
  failuresByCode,
  firstCode,
  isConnectionLost,
  storeFailure,
  storeMessage,
  storeReason,
} from '../store-error.ts';

const failureByCode = failuresByCode({
  missing: ['NoSuchBucket'],
  absent: ['NoSuchKey'],
  // The store does not know a part of the upload (`InvalidPart`), because another process is removing the upload.
  lost: ['NoSuchUpload', 'InvalidPart'],
  // The object is in an archive and must be restored before it can be read.
  frozen: ['InvalidObjectState'],
  denied: ['AccessDenied', 'AllAccessDisabled', 'AccountProblem'],
  credentials: [
    ...['InvalidAccessKeyId', 'SignatureDoesNotMatch', 'ExpiredToken', 'InvalidToken', 'TokenRefreshRequired'],
    ...['CredentialsProviderError'],
    // Error code of the store versitygw for an unknown access key.
    'XAdminUserNotFound',
    // Error code of Node for invalid characters in a header. Only credentials can contain them, because other header values are checked
    // earlier.
    'ERR_INVALID_CHAR',
  ],
  invalid: [
    ...['AuthorizationHeaderMalformed', 'PermanentRedirect', 'TemporaryRedirect', 'IllegalLocationConstraintException'],
    ...['InvalidStorageClass', 'InvalidBucketName', 'InvalidEncryptionAlgorithmError'],
  ],
  // Temporary errors, although their HTTP status is 400 or 403.
  away: [
    ...['RequestTimeout', 'IncompleteBody', 'BadDigest', 'XAmzContentSHA256Mismatch', 'XAmzContentChecksumMismatch'],
    ...['ThrottlingException', 'RequestTimeTooSkewed'],
  ],
  unsupported: ['NotImplemented'],
  full: ['QuotaExceeded', 'InsufficientStorage', 'XMinioStorageFull', 'XMinioAdminBucketQuotaExceeded'],
});

/** Meanings of HTTP statuses in S3 stores. */
const failureByStatus: Readonly<Record<number, DestinationFailure>> = {
  ...{ 401: 'denied', 403: 'denied', 501: 'unsupported' },
};

const advice: Readonly<Partial<Record<DestinationFailure, string>>> = {
  missing: 'create the bucket, or correct its name, region and endpoint',
  denied:
    'grant these credentials s3:PutObject, s3:GetObject, s3:DeleteObject, s3:AbortMultipartUpload and ' +
    's3:ListMultipartUploadParts (with objectLock also s3:PutObjectRetention and s3:GetObjectRetention) below the prefix, and s3:ListBucket and s3:ListBucketMultipartUploads on the bucket',
  credentials:
    'correct the credentials of the store: the Secret in credentialsSecretRef, or without one the environment (such as AWS_ACCESS_KEY_ID)',
  lost: 'another process removed the unfinished upload, because it seemed abandoned; logfleet writes the file again',
  frozen: 'restore the object from its archive so that it can be read',
};

/** Returns a `LogfleetError` with a remedy for an error of the store. `act` is the action that failed, such as `write a/b`. */
export function s3Error(act: string, cause: unknown): LogfleetError {
  if (cause instanceof LogfleetError) return cause;
  const failure = failureOf(cause);
  return destinationError(failure, storeMessage(act, reasonOf(cause), failure, advice), cause);
}

export function errorCode(cause: unknown): string {
  const { name, code, Code } = (cause ?? {}) as { name?: unknown; code?: unknown; Code?: unknown };
  return firstCode(Code, code, name);
}

/** Returns the HTTP status of the store's answer, or undefined if there was no answer. */
export function httpStatus(cause: unknown): number | undefined {
  const { $metadata } = (cause ?? {}) as { $metadata?: { httpStatusCode?: unknown } };
  return typeof $metadata?.httpStatusCode === 'number' ? $metadata.httpStatusCode : undefined;
}

/** Returns whether the error means that an object with this name exists (412). */
export function isTaken(cause: unknown): boolean {
  return httpStatus(cause) === 412 || errorCode(cause) === 'PreconditionFailed';
}

export function isBrokenOff(cause: unknown): boolean {
  return isConnectionLost(errorCode(cause), httpStatus(cause));
}

/** Returns whether the error means that the object or upload does not exist, although its bucket exists. */
export function isAbsent(cause: unknown): boolean {
  return ['NoSuchKey', 'NoSuchUpload', 'NotFound'].includes(errorCode(cause));
}

function failureOf(cause: unknown): DestinationFailure {
  const code = errorCode(cause);
  const status = httpStatus(cause);
  if (code.startsWith('KMS')) return 'invalid';
  return storeFailure({ code, status }, failureByCode, failureByStatus);
}

function reasonOf(cause: unknown): string {
  return storeReason(errorCode(cause), cause instanceof Error ? cause.message : '');
}

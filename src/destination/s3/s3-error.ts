/** Classifies S3 errors by their codes, and adds advice for users. */
import { S3ServiceException } from '@aws-sdk/client-s3';
import { failuresByCode, firstCode, noToken, noTokenNow, StoreErrors } from '../store/store-error.ts';
import { regionForm } from './s3-settings.ts';

/** Codes of temporary errors of the token service with HTTP status 400. */
const temporaryTokenCodes: readonly string[] = ['Throttling', 'ThrottlingException', 'IDPCommunicationError'];
const redirectCodes: readonly string[] = ['PermanentRedirect', 'TemporaryRedirect'];

const failureOfCode = failuresByCode({
  missing: ['NoSuchBucket'],
  absent: ['NoSuchKey'],
  // Another process is removing the upload.
  lost: ['NoSuchUpload', 'InvalidPart'],
  // The object is in an archive tier, so it cannot be read until it is restored.
  frozen: ['InvalidObjectState'],
  denied: ['AccessDenied', 'AllAccessDisabled', 'AccountProblem'],
  credentials: [
    ...['InvalidAccessKeyId', 'SignatureDoesNotMatch', 'ExpiredToken', 'InvalidToken', 'TokenRefreshRequired'],
    ...['CredentialsProviderError', noToken],
    // versitygw, an S3-compatible store, uses this code for an unknown access key.
    'XAdminUserNotFound',
    // Node.js error for invalid characters in an HTTP header. Only the credentials can contain such characters.
    'ERR_INVALID_CHAR',
  ],
  invalid: [
    ...['AuthorizationHeaderMalformed', 'IllegalLocationConstraintException', ...redirectCodes],
    ...['InvalidStorageClass', 'InvalidBucketName', 'InvalidEncryptionAlgorithmError'],
  ],
  // Codes of temporary errors with HTTP status 400 or 403.
  away: [
    ...['RequestTimeout', 'IncompleteBody', 'BadDigest', 'XAmzContentSHA256Mismatch', 'XAmzContentChecksumMismatch'],
    ...['ThrottlingException', 'RequestTimeTooSkewed', noTokenNow],
  ],
  unsupported: ['NotImplemented'],
  full: ['QuotaExceeded', 'InsufficientStorage', 'XMinioStorageFull', 'XMinioAdminBucketQuotaExceeded'],
});

const advice = {
  missing: 'create the bucket, or correct the bucket name, region and endpoint',
  denied:
    'grant these credentials the permissions s3:ListBucket and s3:ListBucketMultipartUploads on the bucket, and these permissions below the prefix: s3:PutObject, s3:GetObject, s3:DeleteObject, s3:AbortMultipartUpload, s3:ListMultipartUploadParts, and with objectLock also s3:PutObjectRetention and s3:GetObjectRetention',
  credentials:
    "correct the store's credentials in the Secret that credentialsSecretRef names, or, if credentialsSecretRef is not set, in the environment (such as AWS_ACCESS_KEY_ID)",
  lost: 'another process removed the unfinished upload because it seemed abandoned, so logfleet will upload the file again',
  frozen: 'restore the object from the archive to make it readable',
};

export const s3Errors: StoreErrors = new StoreErrors({
  ...{ codeOf: s3ErrorCode, statusOf: s3HttpStatus, advice, specialAdvice, messageOf },
  failureOfCode: (code) => (code.startsWith('KMS') ? 'invalid' : failureOfCode(code)),
  failureByStatus: { 401: 'denied', 501: 'unsupported' },
});

export function s3ErrorCode(cause: unknown): string {
  const code = receivedCode(cause);
  if (!isOfTokenService(cause)) return code;
  return cause.$fault === 'server' || temporaryTokenCodes.includes(code) ? noTokenNow : noToken;
}

/** Returns the error code in the response, or the code of an error without a response. */
function receivedCode(cause: unknown): string {
  const { name, code, Code } = (cause ?? {}) as { name?: unknown; code?: unknown; Code?: unknown };
  return firstCode(Code, code, name);
}

/** Reports whether a service other than S3 returned the error. The SDK gets temporary credentials from such services. */
function isOfTokenService(cause: unknown): cause is { readonly $fault: unknown } {
  return cause instanceof Error && '$fault' in cause && !(cause instanceof S3ServiceException);
}

/**
 * Returns the error's message. For an error of the token service, prefixes the message with the error code that the
 * service sent.
 */
function messageOf(cause: Error): string {
  return isOfTokenService(cause) ? `${receivedCode(cause)}: ${cause.message}` : cause.message;
}

function specialAdvice(cause: unknown): string | undefined {
  const code = s3ErrorCode(cause);
  if (code === noToken) return "correct the identity's role (such as AWS_ROLE_ARN) and the role's trust policy";
  if (!redirectCodes.includes(code)) return undefined;
  const { $response } = cause as { $response?: { readonly headers?: Readonly<Record<string, string>> } };
  const region = $response?.headers?.['x-amz-bucket-region'] ?? '';
  return `set region to the bucket's region${regionForm.test(region) ? `, ${region}` : ''}`;
}

/** Returns the HTTP status of the response, or undefined if there was none. */
export function s3HttpStatus(cause: unknown): number | undefined {
  const { $metadata } = (cause ?? {}) as { $metadata?: { httpStatusCode?: unknown } };
  return typeof $metadata?.httpStatusCode === 'number' ? $metadata.httpStatusCode : undefined;
}

/** Reports whether the error means that the object or the upload does not exist, although the bucket exists. */
export function isObjectAbsent(cause: unknown): boolean {
  return ['NoSuchKey', 'NoSuchUpload', 'NotFound'].includes(s3ErrorCode(cause));
}

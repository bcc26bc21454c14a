/** Classifies errors of Azure Blob Storage, and of connections to it, by their codes, and adds advice for users. */
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
  missing: ['ContainerNotFound', 'ContainerDisabled'],
  absent: ['BlobNotFound'],
  // A block of the upload is missing because another process has removed the upload.
  lost: ['InvalidBlockList'],
  frozen: ['BlobArchived', 'BlobBeingRehydrated'],
  credentials: [
    ...['AuthenticationFailed', 'InvalidAuthenticationInfo', 'NoAuthenticationInformation'],
    ...['KeyBasedAuthenticationNotPermitted', 'PublicAccessNotPermitted'],
    // Errors of the SDK that gets tokens.
    ...['CredentialUnavailableError', 'AuthenticationError', 'AggregateAuthenticationError'],
    ...['AuthenticationRequiredError', 'ERR_INVALID_CHAR'],
  ],
  denied: ['BlobImmutableDueToPolicy'],
  away: ['ContainerBeingDeleted', 'Md5Mismatch', 'Crc64Mismatch', 'AbortError'],
  unsupported: ['FeatureNotSupportedForAccount', 'NotImplemented'],
});

const advice: Readonly<Partial<Record<DestinationFailure, string>>> = {
  missing: 'create the container, or correct its name and the account or endpoint',
  denied:
    'grant these credentials the role Storage Blob Data Contributor on the container (permissions rwdlc of a SAS), and allow this network in the firewall of the account',
  credentials:
    'correct the credentials of the store: the Secret in credentialsSecretRef, or without one the environment (such as AZURE_STORAGE_KEY)',
  lost: 'another process removed the unfinished upload, because it seemed abandoned; logfleet writes the file again',
  frozen: 'move the blob from the archive tier to an online tier so that it can be read',
};

/** Returns a `LogfleetError` with a remedy for an error of the store. `act` is the action that failed, such as `write a/b`. */
export function azureError(act: string, cause: unknown): LogfleetError {
  if (cause instanceof LogfleetError) return cause;
  const failure = failureOf(cause);
  const message = storeMessage(act, reasonOf(cause), failure, advice);
  return destinationError(failure, message, withoutRequest(cause));
}

/** Copies an error of the SDK without the request and the answer, because these contain tokens. */
function withoutRequest(cause: unknown): unknown {
  if (!(cause instanceof Error && 'request' in cause)) return cause;
  return Object.assign(new Error(cause.message), { code: errorCode(cause), statusCode: httpStatus(cause) });
}

/** Returns the code of an error, such as `BlobNotFound` from the store or `ECONNREFUSED` from the connection. */
export function errorCode(cause: unknown): string {
  const { name, code, details } = (cause ?? {}) as { name?: unknown; code?: unknown; details?: unknown };
  const { errorCode: sent } = (details ?? {}) as { errorCode?: unknown };
  return firstCode(sent, code, name);
}

/** Returns the HTTP status of the store's answer, or undefined if there was no answer. */
export function httpStatus(cause: unknown): number | undefined {
  const { statusCode } = (cause ?? {}) as { statusCode?: unknown };
  return typeof statusCode === 'number' ? statusCode : undefined;
}

/** Returns whether the error means that a blob with this name exists. HTTP status 409 alone can have other causes. */
export function isTaken(cause: unknown): boolean {
  return errorCode(cause) === 'BlobAlreadyExists' || httpStatus(cause) === 412;
}

export function isAbsent(cause: unknown): boolean {
  return errorCode(cause) === 'BlobNotFound';
}

/** Returns whether the error means that the connection ended before the store answered. */
export function isBrokenOff(cause: unknown): boolean {
  return isConnectionLost(errorCode(cause), httpStatus(cause));
}

function failureOf(cause: unknown): DestinationFailure {
  return storeFailure({ code: errorCode(cause), status: httpStatus(cause) }, failureByCode);
}

function reasonOf(cause: unknown): string {
  // Only the first line is a message for users: the store appends lines with the request's id and the time.
  const [message = ''] = cause instanceof Error ? cause.message.split('\n') : [];
  return storeReason(errorCode(cause), message);
}

/** Classifies Azure Blob Storage errors by their codes, and adds advice for users. */
import { failuresByCode, firstCode, noTokenNow, StoreErrors } from '../store/store-error.ts';

/**
 * Error codes with which Azure refuses to change or delete a blob, because an immutability policy or a legal hold
 * protects it.
 */
const lockedCodes: readonly string[] = ['BlobImmutableDueToPolicy', 'BlobImmutableDueToLegalHold'];

const failureOfCode = failuresByCode({
  missing: ['ContainerNotFound', 'ContainerDisabled'],
  absent: ['BlobNotFound'],
  // Another process removed a block of the upload.
  lost: ['InvalidBlockList'],
  frozen: ['BlobArchived', 'BlobBeingRehydrated'],
  credentials: [
    ...['AuthenticationFailed', 'InvalidAuthenticationInfo', 'NoAuthenticationInformation'],
    ...['KeyBasedAuthenticationNotPermitted', 'PublicAccessNotPermitted'],
    // Errors from the SDK code that requests tokens.
    ...['CredentialUnavailableError', 'AuthenticationError', 'AggregateAuthenticationError'],
    ...['AuthenticationRequiredError', 'ERR_INVALID_CHAR'],
  ],
  denied: lockedCodes,
  away: ['ContainerBeingDeleted', 'Md5Mismatch', 'Crc64Mismatch', 'AbortError', noTokenNow],
  unsupported: ['FeatureNotSupportedForAccount', 'NotImplemented'],
});

const advice = {
  missing: 'create the container, or correct the container name and the account or endpoint',
  denied:
    "grant these credentials the role Storage Blob Data Contributor on the container (a SAS needs the permissions rwdlc), and allow this network in the account's firewall",
  credentials:
    "correct the store's credentials in the Secret that credentialsSecretRef names, or, if credentialsSecretRef is not set, in the environment (such as AZURE_STORAGE_KEY)",
  lost: 'another process removed the unfinished upload because it seemed abandoned, so logfleet will upload the file again',
  frozen: 'move the blob from the archive tier to an online tier to make it readable',
};

export const azureErrors: StoreErrors = new StoreErrors({
  ...{ codeOf: azureErrorCode, statusOf: httpStatus, failureOfCode, advice, withoutSecrets: withoutRequest },
  takenCodes: ['BlobAlreadyExists', ...lockedCodes],
  messageOf,
});

/**
 * Matches the details of an authentication error that are safe to show, because they only contain a time. Other details
 * can contain signatures.
 */
const timeDetailForm = /^(?:Signature not valid in the specified time frame|Request date header)/;

/**
 * Returns the message for users. If no identity got a token, the message consists of the first lines of the identities'
 * errors. Otherwise, it is the first line of the error, followed by the detail that contains a time, if there is one.
 */
function messageOf(cause: Error): string {
  const errors = tokenErrors(cause);
  if (errors.length > 0) return [...new Set(errors.map(firstLine))].join('; ');
  const { details } = cause as { readonly details?: { readonly authenticationErrorDetail?: unknown } };
  const detail = details?.authenticationErrorDetail;
  const hasTime = typeof detail === 'string' && timeDetailForm.test(detail);
  return hasTime ? `${firstLine(cause)} ${detail}` : firstLine(cause);
}

/** Returns the first line of an error's message. The other lines only repeat the id and the time of the request. */
function firstLine({ message }: Error): string {
  return message.split('\n')[0] ?? '';
}

/**
 * If no identity got a token, returns the errors of the identities that are set up. Otherwise, returns an empty list.
 * An identity that is not set up has the error `CredentialUnavailableError` without a cause.
 */
function tokenErrors(cause: unknown): readonly Error[] {
  if (!(cause instanceof Error) || cause.name !== 'AggregateAuthenticationError') return [];
  const { errors = [] } = cause as { readonly errors?: readonly Error[] };
  return errors.filter(({ name, cause }) => name !== 'CredentialUnavailableError' || cause !== undefined);
}

/** Reports whether the token service cannot be reached, or cannot issue tokens at the moment. */
function isTemporary({ cause }: Error): boolean {
  const { name, errorCode, status } = (cause ?? {}) as { name?: unknown; errorCode?: unknown; status?: unknown };
  if (errorCode === 'network_error') return true;
  if (name !== 'ServerError') return false;
  // After a response with status 429 or 5xx, the SDK rejects further requests without sending them. The error then has
  // no status.
  return status === undefined || status === 429 || Number(status) >= 500;
}

/** Returns a copy of the error without the request and the response, which contain tokens. */
function withoutRequest(cause: unknown): unknown {
  if (!(cause instanceof Error && 'request' in cause)) return cause;
  return Object.assign(new Error(cause.message), { code: azureErrorCode(cause), statusCode: httpStatus(cause) });
}

export function azureErrorCode(cause: unknown): string {
  const errors = tokenErrors(cause);
  if (errors.length > 0 && errors.every(isTemporary)) return noTokenNow;
  const { name, code, details } = (cause ?? {}) as { name?: unknown; code?: unknown; details?: unknown };
  const { errorCode: sent } = (details ?? {}) as { errorCode?: unknown };
  return firstCode(sent, code, name);
}

function httpStatus(cause: unknown): number | undefined {
  const { statusCode } = (cause ?? {}) as { statusCode?: unknown };
  return typeof statusCode === 'number' ? statusCode : undefined;
}

export function isBlobAbsent(cause: unknown): boolean {
  return azureErrorCode(cause) === 'BlobNotFound';
}

/** Reports whether the error means that an immutability policy or a legal hold protects the blob. */
export function isBlobLocked(cause: unknown): boolean {
  return lockedCodes.includes(azureErrorCode(cause));
}

/** Classifies Azure Blob Storage errors by their codes, and adds advice for users. */
import { failuresByCode, firstCode, StoreErrors } from '../store/store-error.ts';

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
  away: ['ContainerBeingDeleted', 'Md5Mismatch', 'Crc64Mismatch', 'AbortError'],
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
  // Returns only the first line of the message, because the other lines just repeat the request's id and time.
  messageOf: ({ message }) => message.split('\n')[0] ?? '',
});

/** Returns a copy of the error without the request and the response, which contain tokens. */
function withoutRequest(cause: unknown): unknown {
  if (!(cause instanceof Error && 'request' in cause)) return cause;
  return Object.assign(new Error(cause.message), { code: azureErrorCode(cause), statusCode: httpStatus(cause) });
}

export function azureErrorCode(cause: unknown): string {
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

/** Reports whether an immutability policy or a legal hold of the container protects the blob. */
export function isBlobLocked(cause: unknown): boolean {
  return lockedCodes.includes(azureErrorCode(cause));
}

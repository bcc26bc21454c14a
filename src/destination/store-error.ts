/** Codes and texts of errors that all object stores share. */
import type { DestinationFailure } from './destination-error.ts';

/** Converts lists of error codes to a map from each error code to its kind of failure. */
export function failuresByCode(
  codes: Readonly<Partial<Record<DestinationFailure, readonly string[]>>>,
): ReadonlyMap<string, DestinationFailure> {
  const failures = Object.entries(codes) as [DestinationFailure, readonly string[]][];
  return new Map(failures.flatMap(([failure, own]) => own.map((code) => [code, failure] as const)));
}

/** Returns the first of these values that is an error code. SDKs store error codes in different, untyped properties. */
export function firstCode(...values: readonly unknown[]): string {
  const known = values.find((each) => typeof each === 'string' && each !== '' && each !== 'Error');
  return typeof known === 'string' ? known : 'UnknownError';
}

/** Returns whether the connection ended before the store answered. `status` is the HTTP status of the answer, if there was one. */
export function isConnectionLost(code: string, status: number | undefined): boolean {
  return status === undefined && ['ECONNRESET', 'EPIPE'].includes(code);
}

/** Codes of certificate errors, which a retry cannot solve. */
export const untrustedForm = /^(?:UNABLE_TO_|CERT_|DEPTH_ZERO_|SELF_SIGNED_|ERR_TLS_CERT|HOSTNAME_MISMATCH|INVALID_CA)/;

/** Returns the reason of a failure for users: the code and the message of the store or of the connection. */
export function storeReason(code: string, text: string): string {
  if (untrustedForm.test(code)) return `${code}: the certificate of the store is not trusted (see NODE_EXTRA_CA_CERTS)`;
  const message = shortened(text).replace(/\.$/, '');
  return message === '' || message === code || message === 'UnknownError' ? code : `${code}: ${message}`;
}

/** Maximum length of a store's message in logfleet's error messages, so that the advice after it stays visible. */
const longestMessage = 300;

function shortened(message: string): string {
  const line = message.replace(/[\s\p{Cc}]+/gu, ' ').trim();
  return line.length > longestMessage ? `${line.slice(0, longestMessage).toWellFormed()}…` : line;
}

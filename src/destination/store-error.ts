/** Codes and texts of errors that all object stores share. */
import type { DestinationFailure } from './destination-error.ts';

/** Converts lists of error codes to a map from each error code to its kind of failure. */
export function failuresByCode(
  codes: Readonly<Partial<Record<DestinationFailure, readonly string[]>>>,
): ReadonlyMap<string, DestinationFailure> {
  const failures = Object.entries(codes) as [DestinationFailure, readonly string[]][];
  return new Map(failures.flatMap(([failure, own]) => own.map((code) => [code, failure] as const)));
}

/** Kinds of failure of answers whose error code is not listed, by their HTTP status. */
const failureByStatus: Readonly<Record<number, DestinationFailure>> = {
  401: 'credentials',
  403: 'denied',
  507: 'full',
};

/** Error of a store or of the connection to it. `status` is the HTTP status of the answer, if there was one. */
interface StoreProblem {
  readonly code: string;
  readonly status: number | undefined;
}

/** Returns the kind of failure of an error. The error codes in `byCode` decide first. `byStatus` has meanings of statuses in one store. */
export function storeFailure(
  { code, status }: StoreProblem,
  byCode: ReadonlyMap<string, DestinationFailure>,
  byStatus: Readonly<Record<number, DestinationFailure>> = {},
): DestinationFailure {
  const known = byCode.get(code);
  if (known) return known;
  if (untrustedForm.test(code)) return 'invalid';
  if (status === undefined || status === 408 || status === 409 || status === 429) return 'away';
  const meaning = byStatus[status] ?? failureByStatus[status];
  if (meaning) return meaning;
  // A redirection (3xx) means that the settings name the wrong endpoint or region, because no client follows redirections.
  return status >= 300 && status < 500 ? 'invalid' : 'away';
}

const commonAdvice: Readonly<Partial<Record<DestinationFailure, string>>> = {
  full: 'free some space or raise the quota to continue the export',
  away: 'logfleet tries again',
  invalid: 'correct the settings of the store',
  unsupported: 'this store lacks a feature that logfleet needs; use another store, or a volume',
};

/** Returns the message for users: the action that failed, such as `write a/b`, the reason, and advice. */
export function storeMessage(
  act: string,
  reason: string,
  failure: DestinationFailure,
  advice: Readonly<Partial<Record<DestinationFailure, string>>>,
): string {
  const hint = advice[failure] ?? commonAdvice[failure];
  return `cannot ${act}: ${reason}${hint === undefined ? '' : `; ${hint}`}`;
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

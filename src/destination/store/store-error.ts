/** Classifies object store errors, and adds advice for users. */
import { LogfleetError } from '../../base/errors.ts';
import { oneLine, shortened } from '../../base/short-text.ts';
import { type DestinationFailure, destinationError } from './destination-error.ts';

/** User-facing error code for a token service that refuses to issue a token for an identity. */
export const noToken = 'TokenError';
/** User-facing error code for a token service that cannot be reached, or cannot issue tokens at the moment. */
export const noTokenNow = 'TokenServiceUnavailable';
/** User-facing error code for a response of the store that is larger than logfleet accepts. */
export const tooLargeCode = 'ResponseTooLarge';

type Advice = Readonly<Partial<Record<DestinationFailure, string>>>;

/** Rules for classifying the errors of one kind of object store. */
export interface StoreErrorRules {
  /** Error code, such as `BlobNotFound` or `ECONNREFUSED`. */
  readonly codeOf: (cause: unknown) => string;
  /** HTTP status of the response; undefined if there was none. */
  readonly statusOf: (cause: unknown) => number | undefined;
  readonly failureOfCode: (code: string) => DestinationFailure | undefined;
  /** Error codes, besides `PreconditionFailed`, which mean that an object with this name exists. */
  readonly takenCodes?: readonly string[];
  /** Kinds of failure for HTTP statuses that have a different meaning in this store than in others. */
  readonly failureByStatus?: Readonly<Record<number, DestinationFailure>>;
  readonly advice: Advice;
  /** Returns the advice for a specific error, instead of the advice for its kind of failure. */
  readonly specialAdvice?: (cause: unknown) => string | undefined;
  /** Returns the part of the error's message that users see. The default is the whole message. */
  readonly messageOf?: (cause: Error) => string;
  /** Returns a copy of the error without secrets. */
  readonly withoutSecrets?: (cause: unknown) => unknown;
}

export class StoreErrors {
  readonly #rules: StoreErrorRules;

  constructor(rules: StoreErrorRules) {
    this.#rules = rules;
  }

  /** Returns the error for a failed action, with advice for users. `act` is the action, such as `write a/b`. */
  error(act: string, cause: unknown): LogfleetError {
    if (cause instanceof LogfleetError) return cause;
    const { codeOf, advice, specialAdvice, messageOf = ({ message }) => message } = this.#rules;
    const { withoutSecrets = (same) => same } = this.#rules;
    const failure = this.failureOf(cause);
    const reason = reasonOf(codeOf(cause), cause instanceof Error ? messageOf(cause) : '');
    const hint = specialAdvice?.(cause) ?? advice[failure] ?? commonAdvice[failure];
    const message = `cannot ${act}: ${reason}${hint === undefined ? '' : `; ${hint}`}`;
    return destinationError(failure, message, withoutSecrets(cause));
  }

  failureOf(cause: unknown): DestinationFailure {
    const { codeOf, statusOf, failureOfCode, failureByStatus = {} } = this.#rules;
    const [code, status] = [codeOf(cause), statusOf(cause)];
    const known = failureOfCode(code);
    if (known) return known;
    if (untrustedForm.test(code) || code === tooLargeCode) return 'invalid';
    if (status === undefined || status === 408 || status === 409 || status === 429) return 'away';
    const meaning = failureByStatus[status] ?? commonFailureByStatus[status];
    if (meaning) return meaning;
    // logfleet does not follow redirects, because a redirect means that the endpoint or region is wrong.
    return status >= 300 && status < 500 ? 'invalid' : 'away';
  }

  /**
   * Reports whether the error means that an object with this name exists. Status 409 is not sufficient, because it also
   * has other causes.
   */
  isTaken(cause: unknown): boolean {
    const { codeOf, statusOf, takenCodes = [] } = this.#rules;
    return statusOf(cause) === 412 || ['PreconditionFailed', ...takenCodes].includes(codeOf(cause));
  }

  /** Reports whether the connection was lost before the store responded. */
  isBrokenOff(cause: unknown): boolean {
    return this.#rules.statusOf(cause) === undefined && brokenOffCodes.includes(this.#rules.codeOf(cause));
  }

  /** Reports whether the store may have created the object without confirming it. */
  mayHaveCreated(cause: unknown): boolean {
    const status = this.#rules.statusOf(cause);
    return this.isTaken(cause) || status === undefined || status >= 500;
  }
}

const brokenOffCodes: readonly string[] = ['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET'];

/** Kind of failure for each HTTP status. It is used if the response's error code is unknown. */
const commonFailureByStatus: Readonly<Record<number, DestinationFailure>> = {
  401: 'credentials',
  403: 'denied',
  507: 'full',
};

const commonAdvice: Advice = {
  full: 'free some space, or raise the quota, to continue the export',
  away: 'logfleet will try again',
  invalid: "correct the store's settings",
  unsupported: 'this store lacks a feature that logfleet needs; use another store, or a volume',
};

/** Returns a function that maps an error code to a kind of failure. `codes` lists the error codes of each kind. */
export function failuresByCode(
  codes: Readonly<Partial<Record<DestinationFailure, readonly string[]>>>,
): StoreErrorRules['failureOfCode'] {
  const failures = Object.entries(codes) as [DestinationFailure, readonly string[]][];
  const failureByCode = new Map(failures.flatMap(([failure, own]) => own.map((code) => [code, failure] as const)));
  return (code) => failureByCode.get(code);
}

/** Returns the first value that is an error code. */
export function firstCode(...values: readonly unknown[]): string {
  const known = values.find((each) => typeof each === 'string' && each !== '' && each !== 'Error');
  return typeof known === 'string' ? known : 'UnknownError';
}

/** Codes of certificate errors, which a retry cannot fix. */
export const untrustedForm = /^(?:UNABLE_TO_|CERT_|DEPTH_ZERO_|SELF_SIGNED_|ERR_TLS_CERT|HOSTNAME_MISMATCH|INVALID_CA)/;

/** Returns the code and message of an error as shown to users. */
function reasonOf(code: string, text: string): string {
  if (untrustedForm.test(code)) return `${code}: the store's certificate is not trusted (see NODE_EXTRA_CA_CERTS)`;
  const message = shortened(oneLine(text), longestMessage).replace(/\.$/, '');
  return message === '' || message === code || message === 'UnknownError' ? code : `${code}: ${message}`;
}

/** Maximum length of the store's own message within an error message. The limit keeps the advice visible. */
const longestMessage = 300;

/** Error for a request that got no response. The reason is derived from the error codes of sockets, TLS and undici. */

/** Reasons why a request got no response, with their error codes. */
const codes = {
  nameNotFound: ['ENOTFOUND', 'EAI_AGAIN', 'EAI_NODATA', 'EAI_NONAME'],
  refused: ['ECONNREFUSED'],
  notReachable: ['EHOSTUNREACH', 'ENETUNREACH', 'EHOSTDOWN', 'EADDRNOTAVAIL', 'ETIMEDOUT'],
  certificateUnknown: [
    ...['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'UNABLE_TO_GET_ISSUER_CERT', 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY'],
    ...['DEPTH_ZERO_SELF_SIGNED_CERT', 'SELF_SIGNED_CERT_IN_CHAIN', 'CERT_SIGNATURE_FAILURE', 'CERT_UNTRUSTED'],
    ...['CERT_REJECTED', 'CERT_REVOKED', 'CERT_CHAIN_TOO_LONG', 'INVALID_CA', 'INVALID_PURPOSE'],
  ],
  certificateExpired: ['CERT_HAS_EXPIRED', 'CERT_NOT_YET_VALID'],
  certificateForAnother: ['ERR_TLS_CERT_ALTNAME_INVALID', 'HOSTNAME_MISMATCH'],
  tlsFailed: ['EPROTO'],
  proxyFailed: [],
  connectionLost: ['ECONNRESET', 'ECONNABORTED', 'EPIPE', 'UND_ERR_SOCKET', 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH'],
  closed: ['UND_ERR_DESTROYED', 'UND_ERR_CLOSED'],
  // undici's parser throws errors that have no code, so the name `HTTPParserError` is listed here.
  responseMalformed: ['UND_ERR_HEADERS_OVERFLOW', 'HTTPParserError'],
  responseTooLarge: [],
} as const satisfies Readonly<Record<string, readonly string[]>>;

export type TransportFailure = keyof typeof codes;

export class TransportError extends Error {
  override readonly name = 'TransportError';
  readonly failure: TransportFailure;

  constructor(failure: TransportFailure, message: string, cause?: unknown) {
    super(message, { cause });
    this.failure = failure;
  }
}

const failureByCode: ReadonlyMap<string, TransportFailure> = new Map(
  Object.entries(codes).flatMap(([failure, all]) => all.map((code) => [code, failure as TransportFailure])),
);

/** Returns the code of an error, or its name if it has no code. */
function codeOf(error: unknown): string {
  const { code, name } = (error ?? {}) as { code?: unknown; name?: unknown };
  if (typeof code === 'string') return code;
  return typeof name === 'string' ? name : '';
}

/**
 * Returns the failure for an error code. Unlisted OpenSSL codes are recognized by their prefix. Any other unlisted code
 * means that the connection was lost.
 */
function failureOf(code: string): TransportFailure {
  const known = failureByCode.get(code);
  if (known) return known;
  if (code.startsWith('ERR_SSL_') || code.startsWith('ERR_TLS_')) return 'tlsFailed';
  return 'connectionLost';
}

/**
 * Converts a network error to a `TransportError`. `what` names the failed action, for example `connecting to
 * service.example.com:443`.
 */
export function asTransportError(error: unknown, what: string): TransportError {
  if (error instanceof TransportError) return error;
  const code = codeOf(error);
  return new TransportError(failureOf(code), `${what}: ${code || 'unknown error'}`, error);
}

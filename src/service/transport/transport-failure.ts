/** Maps errors of sockets, TLS and undici to `TransportFailure`s by their code. No other module knows these codes. */
import { TransportError, type TransportFailure } from './transport.ts';

const failureByCode: ReadonlyMap<string, TransportFailure> = new Map<string, TransportFailure>([
  ['ENOTFOUND', 'nameNotFound'],
  ['EAI_AGAIN', 'nameNotFound'],
  ['EAI_NODATA', 'nameNotFound'],
  ['EAI_NONAME', 'nameNotFound'],
  ['ECONNREFUSED', 'refused'],
  ['EHOSTUNREACH', 'notReachable'],
  ['ENETUNREACH', 'notReachable'],
  ['EHOSTDOWN', 'notReachable'],
  ['EADDRNOTAVAIL', 'notReachable'],
  ['ETIMEDOUT', 'notReachable'],
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'certificateUnknown'],
  ['UNABLE_TO_GET_ISSUER_CERT', 'certificateUnknown'],
  ['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', 'certificateUnknown'],
  ['DEPTH_ZERO_SELF_SIGNED_CERT', 'certificateUnknown'],
  ['SELF_SIGNED_CERT_IN_CHAIN', 'certificateUnknown'],
  ['CERT_SIGNATURE_FAILURE', 'certificateUnknown'],
  ['CERT_UNTRUSTED', 'certificateUnknown'],
  ['CERT_REJECTED', 'certificateUnknown'],
  ['CERT_REVOKED', 'certificateUnknown'],
  ['CERT_CHAIN_TOO_LONG', 'certificateUnknown'],
  ['INVALID_CA', 'certificateUnknown'],
  ['INVALID_PURPOSE', 'certificateUnknown'],
  ['CERT_HAS_EXPIRED', 'certificateExpired'],
  ['CERT_NOT_YET_VALID', 'certificateExpired'],
  ['ERR_TLS_CERT_ALTNAME_INVALID', 'certificateForAnother'],
  ['HOSTNAME_MISMATCH', 'certificateForAnother'],
  ['EPROTO', 'tlsFailed'],
  ['ECONNRESET', 'connectionLost'],
  ['ECONNABORTED', 'connectionLost'],
  ['EPIPE', 'connectionLost'],
  ['UND_ERR_SOCKET', 'connectionLost'],
  ['UND_ERR_RES_CONTENT_LENGTH_MISMATCH', 'connectionLost'],
  ['UND_ERR_DESTROYED', 'closed'],
  ['UND_ERR_CLOSED', 'closed'],
  ['UND_ERR_HEADERS_OVERFLOW', 'answerMalformed'],
  // undici sets no code for parser errors, only a name.
  ['HTTPParserError', 'answerMalformed'],
]);

/** Code of an error, or its name if it has no code. */
function codeOf(error: unknown): string {
  const { code, name } = (error ?? {}) as { code?: unknown; name?: unknown };
  if (typeof code === 'string') return code;
  return typeof name === 'string' ? name : '';
}

/** Failure for an unlisted code: OpenSSL codes by their prefix, all others as a lost connection. */
function failureOf(code: string): TransportFailure {
  const known = failureByCode.get(code);
  if (known) return known;
  if (code.startsWith('ERR_SSL_') || code.startsWith('ERR_TLS_')) return 'tlsFailed';
  return 'connectionLost';
}

/** Converts an error. `what` names the failed action in the message: `connecting to service.example.com:443`. */
export function asTransportError(error: unknown, what: string): TransportError {
  if (error instanceof TransportError) return error;
  const code = codeOf(error);
  return new TransportError(failureOf(code), `${what}: ${code || 'unknown error'}`, error);
}

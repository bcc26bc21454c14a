/** Texts of errors that all object stores share. */

/** Codes of certificate errors, which a retry cannot solve. */
export const untrustedForm = /^(?:UNABLE_TO_|CERT_|DEPTH_ZERO_|SELF_SIGNED_|ERR_TLS_CERT|HOSTNAME_MISMATCH|INVALID_CA)/;

/** Returns the reason of a failure for users: the code and the message of the store or of the connection. */
export function storeReason(code: string, text: string): string {
  if (untrustedForm.test(code)) return `${code}: the certificate of the store is not trusted (see NODE_EXTRA_CA_CERTS)`;
  const message = shortened(text).replace(/\.$/, '');
  return message === '' || message === code || message === 'UnknownError' ? code : `${code}: ${message}`;
}

/** Maximum length of a store's message in our errors. After a longer message, readers would hardly find the remedy. */
const longestMessage = 300;

function shortened(message: string): string {
  const line = message.replace(/[\s\p{Cc}]+/gu, ' ').trim();
  return line.length > longestMessage ? `${line.slice(0, longestMessage).toWellFormed()}…` : line;
}

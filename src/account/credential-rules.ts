/** Rules for the keys of a credentials Secret. No message contains a secret value. */
import { X509Certificate } from 'node:crypto';
import type { Explanation } from '../api/finding.ts';
import { SecretText } from '../base/secret-text.ts';
import { parseAllowedHosts } from '../service/requests/redirect.ts';
import { parseServiceAddress, type ServiceAddress } from '../service/requests/service-address.ts';

/** Parsed value of one key of the Secret, or the problem that makes the value unusable. */
export type Parsed<T> = { readonly kind: 'value'; readonly value: T } | ({ readonly kind: 'problem' } & Explanation);

export type Rule<T> = (text: string) => Parsed<T>;

function value<T>(of: T): Parsed<T> {
  return { kind: 'value', value: of };
}

function problem(what: string, remedy: string): Parsed<never> {
  return { kind: 'problem', problem: what, remedy };
}

export const requiredMembers = ['baseURL', 'accessId', 'accessKey'] as const;

/**
 * Checks and conversions for the keys of a credentials Secret. The values have already been trimmed, and are never
 * empty.
 */
export const memberRules = {
  baseURL: (text: string): Parsed<ServiceAddress> => {
    const parsed = parseServiceAddress(text);
    return parsed.kind === 'address' ? value(parsed.address) : parsed;
  },
  /** A user name in HTTP Basic credentials must not contain a colon or a control character (RFC 7617). */
  accessId: (text: string) =>
    /[:\p{Cc}]/u.test(text)
      ? problem('contains a colon or a control character', 'use only the access ID')
      : value(text),
  accessKey: (text: string) =>
    /\p{Cc}/u.test(text) ? problem('has more than one line', 'use only the access key') : value(new SecretText(text)),
  'ca.crt': certificates,
  allowedHosts: (text: string): Parsed<readonly string[]> => {
    const hosts = parseAllowedHosts(text);
    const known = hosts.filter((host) => host !== undefined);
    if (known.length === hosts.length) return value(known);
    return problem(
      'has an entry that is not a host',
      'use hosts separated by commas, for example api.example.com:8443',
    );
  },
  user: (text: string) => value(text),
  requestsPerSecond: (text: string) => number(text, 'a number above 0, such as 2 or 0.5', (found) => found > 0),
  /**
   * At least 2. If only one request were allowed at a time, reading a slow page would block the polls that keep search
   * jobs alive (B3).
   */
  maxConcurrentRequests: (text: string) =>
    number(
      text,
      'a whole number of requests from 2 to 10 (page reads and polls of search jobs need at least one each)',
      (found) => Number.isInteger(found) && found >= 2,
    ),
} satisfies { readonly [member: string]: Rule<unknown> };

export type CredentialMember = keyof typeof memberRules;

/** Matches a PEM certificate. If the line that ends the certificate is missing, matches the rest of the text. */
const certificateForm = /-----BEGIN CERTIFICATE-----[\s\S]+?(?:-----END CERTIFICATE-----|$)/g;

/** Extracts all PEM certificates from the text. */
function certificates(text: string): Parsed<string> {
  const found = text.match(certificateForm) ?? [];
  if (found.length === 0) {
    return problem('contains no certificate', 'use PEM, from -----BEGIN CERTIFICATE----- to -----END CERTIFICATE-----');
  }
  if (found.every(isCertificate)) return value(found.join('\n'));
  return problem('contains an invalid certificate', 'copy it again from the certificate authority');
}

function isCertificate(pem: string): boolean {
  try {
    new X509Certificate(pem);
    return true;
  } catch {
    return false;
  }
}

function number(text: string, expected: string, accepts: (found: number) => boolean): Parsed<number> {
  const found = Number(text);
  const isNumber = Number.isFinite(found) && accepts(found);
  return isNumber ? value(found) : problem(`is not ${expected}`, 'correct it or leave it out');
}

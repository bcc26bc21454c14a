/**
 * Base address of the service, including the prefix `/api`. Only HTTPS is supported (section 5.2 of docs/service.md).
 */
import { withoutTrailingSlashes } from '../../base/trailing-slashes.ts';

export interface ServiceAddress {
  /** Origin of the service, such as `https://host:port`, in lower case. */
  readonly origin: string;
  /** Path that precedes `/v1/…`, without a trailing slash. May be empty. */
  readonly basePath: string;
}

export type ParsedAddress =
  | { readonly kind: 'address'; readonly address: ServiceAddress }
  /** What is wrong with the address, and how to fix it. */
  | { readonly kind: 'problem'; readonly problem: string; readonly remedy: string };

const example = 'use an address like https://api.example.com/api';

/**
 * Parses the address of the service. `problem` does not contain the text itself, because the text may be a key that was
 * pasted by mistake.
 */
export function parseServiceAddress(text: string): ParsedAddress {
  const problem = (what: string, remedy = example): ParsedAddress => ({ kind: 'problem', problem: what, remedy });
  const url = URL.parse(text.trim());
  if (!url) return problem('is not an address with a scheme and a host');
  if (url.protocol === 'http:') return problem('starts with http://, but the service is only available over https://');
  if (url.protocol !== 'https:') return problem('does not start with https://');
  if (url.username || url.password)
    return problem(
      'contains a user name or password',
      `put the user name and password in accessId and accessKey; ${example}`,
    );
  if (url.search || url.hash) return problem('has a query or a fragment');
  const basePath = withoutTrailingSlashes(url.pathname);
  if (/\/v\d+(\/|$)/.test(basePath))
    return problem('continues after its /api prefix', `leave out /v1 and everything after it; ${example}`);
  return { kind: 'address', address: { origin: url.origin, basePath } };
}

/** Returns the identity of a service in the form in which ledgers store it (U1, U13). */
export function serviceIdOf(address: ServiceAddress): string {
  return address.origin + address.basePath;
}

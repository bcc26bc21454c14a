/**
 * The address of a deployment: `{base_url}` of the specification, up to and including its `/api` prefix. Only HTTPS exists
 * (5.2). Two spellings of one address are one address.
 */

export interface ServiceAddress {
  /** `https://host` or `https://host:port`, in lower case. */
  readonly origin: string;
  /** The path before `/v1/…`, without a slash at its end; may be empty. */
  readonly basePath: string;
}

export type ParsedAddress =
  | { readonly kind: 'address'; readonly address: ServiceAddress }
  /** What is wrong with it and what to write, as the end of a sentence that names the place. */
  | { readonly kind: 'problem'; readonly problem: string };

const example = 'write an address like https://api.example.com/api';

/** Texts that are no address are not repeated in `problem`: a key might have been pasted in the wrong place. */
export function parseServiceAddress(text: string): ParsedAddress {
  const problem = (what: string): ParsedAddress => ({ kind: 'problem', problem: `${what}; ${example}` });
  const url = URL.parse(text.trim());
  if (!url) return problem('is not an address with a scheme and a host');
  if (url.protocol === 'http:') return problem('starts with http://, but the service is spoken to over https:// only');
  if (url.protocol !== 'https:') return problem('does not start with https://');
  if (url.username || url.password)
    return problem('carries a user name or password; they belong into accessId and accessKey');
  if (url.search || url.hash) return problem('has a query or a fragment');
  const basePath = url.pathname.replace(/\/+$/, '');
  if (/\/v\d+(\/|$)/.test(basePath)) return problem('goes on behind its /api prefix; leave out /v1 and what follows');
  return { kind: 'address', address: { origin: url.origin, basePath } };
}

/** The identity of a service: what its ledgers are stamped with (protocol U1) and its collectors belong to (U13). */
export function serviceIdOf(address: ServiceAddress): string {
  return address.origin + address.basePath;
}

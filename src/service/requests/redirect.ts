/**
 * Handling of redirects. Method and body are kept, and credentials are sent only to the origin in the Secret or to an allowed host.
 * A wrong deployment address is answered with 301 (7.1).
 */
import type { ServiceAddress } from './service-address.ts';

const redirectStatuses: ReadonlySet<number> = new Set([301, 302, 307, 308]);
const permanentStatuses: ReadonlySet<number> = new Set([301, 308]);

export function isRedirect(status: number): boolean {
  return redirectStatuses.has(status);
}

export type Redirect =
  /**
   * Redirect that may be followed. `address` is the new address of the service, unless the path
   * differs as well. `forGood` means that later requests use this address, too.
   */
  | {
      readonly kind: 'follow';
      readonly url: URL;
      readonly address: ServiceAddress | undefined;
      readonly forGood: boolean;
    }
  | { readonly kind: 'notAllowed'; readonly url: URL }
  | { readonly kind: 'unreadable' };

export interface RedirectQuestion {
  readonly status: number;
  readonly location: string | undefined;
  /** URL of the request that the service has redirected. */
  readonly from: URL;
  /** Path and query of the request, `/v1/…`, without the base path of the service. */
  readonly path: string;
  /** Origin of the address in the Secret. */
  readonly home: string;
  readonly allowedHosts: ReadonlySet<string>;
}

export function resolveRedirect(question: RedirectQuestion): Redirect {
  const { location, from, path, status } = question;
  const url = location ? URL.parse(location, from.href) : null;
  if (!url) return { kind: 'unreadable' };
  url.username = '';
  url.password = '';
  url.hash = '';
  const allowed = url.origin === question.home || question.allowedHosts.has(url.host);
  if (url.protocol !== 'https:' || !allowed) return { kind: 'notAllowed', url };
  const whole = url.pathname + url.search;
  return {
    kind: 'follow',
    url,
    address: whole.endsWith(path)
      ? { origin: url.origin, basePath: whole.slice(0, whole.length - path.length) }
      : undefined,
    forGood: permanentStatuses.has(status),
  };
}

/**
 * Base address that a person should write into the settings after a forbidden redirect, without the path of the
 * request.
 */
export function newBaseAddress(url: URL, path: string): string {
  const whole = url.origin + url.pathname + url.search;
  return whole.endsWith(path) ? whole.slice(0, whole.length - path.length) : url.origin + url.pathname;
}

/**
 * Parses `allowedHosts` of a Secret: hosts separated by commas or whitespace, as `host`, `host:port` if the port is not 443, or an
 * https address. An invalid entry becomes undefined.
 */
export function parseAllowedHosts(text: string): readonly (string | undefined)[] {
  return text
    .split(/[\s,]+/)
    .filter((entry) => entry !== '')
    .map((entry) => {
      const url = URL.parse(entry.includes('://') ? entry : `https://${entry}`);
      return url && url.protocol === 'https:' && url.host !== '' ? url.host : undefined;
    });
}

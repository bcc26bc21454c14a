/**
 * Follows redirects with the same method and body. Credentials are sent only to the configured address or an allowed
 * host. The service responds with 301 if a request belongs to another of its deployments (section 7.1 of
 * docs/service.md).
 */
import type { ServiceAddress } from './service-address.ts';

const redirectStatuses: ReadonlySet<number> = new Set([301, 302, 307, 308]);
const permanentStatuses: ReadonlySet<number> = new Set([301, 308]);

export function isRedirect(status: number): boolean {
  return redirectStatuses.has(status);
}

export type Redirect =
  /**
   * Result if the redirect may be followed. `forGood` is true if the redirect is permanent. `address` is the new base
   * address, if known.
   */
  | {
      readonly kind: 'follow';
      readonly url: URL;
      readonly address: ServiceAddress | undefined;
      readonly forGood: boolean;
    }
  | {
      readonly kind: 'refused';
      readonly failure: 'redirectNotAllowed' | 'redirectNotHttps' | 'redirectInCircles';
      /**
       * Text for the message: either the base address to which the redirect leads, or the reason why the redirect is not
       * followed.
       */
      readonly detail: string;
    };

export interface RedirectQuestion {
  readonly status: number;
  readonly location: string | undefined;
  /** URL of the redirected request. */
  readonly from: URL;
  /** Path and query of the request (`/v1/…`), without the service's base path. */
  readonly path: string;
  /** Origin of the address in the Secret. */
  readonly home: string;
  readonly allowedHosts: ReadonlySet<string>;
  /** Number of redirects that have already been followed. */
  readonly hops: number;
}

/** Maximum number of redirects that one call follows. */
const maxHops = 3;

export function resolveRedirect(question: RedirectQuestion): Redirect {
  const { location, from, path, status, home, allowedHosts, hops } = question;
  const url = location ? URL.parse(location, from.href) : null;
  if (!url)
    return { kind: 'refused', failure: 'redirectInCircles', detail: 'the response has no valid Location header' };
  url.username = '';
  url.password = '';
  url.hash = '';
  const whole = url.pathname + url.search;
  const basePath = whole.endsWith(path) ? whole.slice(0, whole.length - path.length) : undefined;
  const detail = `${url.protocol}//${url.host}${basePath ?? url.pathname}`;
  if (url.protocol !== 'https:') return { kind: 'refused', failure: 'redirectNotHttps', detail };
  if (url.origin !== home && !allowedHosts.has(url.host)) {
    return { kind: 'refused', failure: 'redirectNotAllowed', detail };
  }
  if (hops === maxHops) {
    return { kind: 'refused', failure: 'redirectInCircles', detail: `more than ${maxHops} redirects` };
  }
  const address = basePath === undefined ? undefined : { origin: url.origin, basePath };
  return { kind: 'follow', url, address, forGood: permanentStatuses.has(status) };
}

/** Parses a Secret's `allowedHosts`: hosts separated by commas or whitespace. An invalid entry becomes undefined. */
export function parseAllowedHosts(text: string): readonly (string | undefined)[] {
  return text
    .split(/[\s,]+/)
    .filter((entry) => entry !== '')
    .map((entry) => {
      const url = URL.parse(entry.includes('://') ? entry : `https://${entry}`);
      return url && url.protocol === 'https:' && url.host !== '' ? url.host : undefined;
    });
}

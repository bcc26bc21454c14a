/**
 * Redirects, followed by hand: the method and the body stay, and credentials go only to the origin that the Secret names or to
 * a host that it allows. A wrong deployment address gives 301 (7.1).
 */
import type { ServiceAddress } from './service-address.ts';

const redirectStatuses: ReadonlySet<number> = new Set([301, 302, 307, 308]);
const permanentStatuses: ReadonlySet<number> = new Set([301, 308]);

export function isRedirect(status: number): boolean {
  return redirectStatuses.has(status);
}

export type Redirect =
  /** `address` is that of the deployment there, unless the path is another one, too; `forGood`: it is not to be asked here again. */
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
  /** Where the request went. */
  readonly from: URL;
  /** Path and query below the base path: `/v1/…`. */
  readonly path: string;
  /** The origin that the Secret names. */
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

/** The base address to write for a redirect that is not allowed: without what belongs to the single request. */
export function newBaseAddress(url: URL, path: string): string {
  const whole = url.origin + url.pathname + url.search;
  return whole.endsWith(path) ? whole.slice(0, whole.length - path.length) : url.origin + url.pathname;
}

/**
 * The hosts of the Secret's `allowedHosts`: separated by commas or white space; each a host, `host:port` where the port is
 * not 443, or a whole https address. Undefined stands for an entry that is none of them.
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

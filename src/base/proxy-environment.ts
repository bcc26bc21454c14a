/**
 * Chooses the proxy for an origin from `HTTPS_PROXY` and `NO_PROXY`. Variables with lower-case names take precedence.
 * Loopback addresses never use a proxy.
 *
 * Existing npm packages do not support networks such as 10.0.0.0/8 in `NO_PROXY`, but clusters often need them.
 */
import { BlockList, isIP } from 'node:net';
import { unescape as unescaped } from 'node:querystring';

export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Returns the proxy for an origin, or undefined for a direct connection. Throws a TypeError if the proxy is not an HTTP
 * address.
 */
export function proxyFor(origin: URL, environment: Environment): URL | undefined {
  const { proxy, exceptions } = proxySettings(environment);
  if (!proxy) return undefined;
  const host = bareHost(origin);
  if (isLoopback(host)) return undefined;
  const port = origin.port || '443';
  const entries = (exceptions ?? '').split(/[\s,]+/);
  if (entries.some((entry) => entry !== '' && excepts(entry.toLowerCase(), host, port))) return undefined;
  const address = new URL(proxy.includes('://') ? proxy : `http://${proxy}`);
  if (!httpProtocols.has(address.protocol)) throw new TypeError(`no proxy for ${address.protocol}`);
  return address;
}

/**
 * Returns the environment variables that make another process use the same proxy. Returns none if the proxy's address
 * contains credentials, because a pod's environment variables are not secret.
 */
export function proxyVariables(environment: Environment): readonly ProxyVariable[] {
  const { proxy, exceptions } = proxySettings(environment);
  if (!proxy || proxy.includes('@')) return [];
  return [
    { name: 'HTTPS_PROXY', value: proxy },
    ...(exceptions ? [{ name: 'NO_PROXY', value: exceptions } as const] : []),
  ];
}

export interface ProxyVariable {
  readonly name: 'HTTPS_PROXY' | 'NO_PROXY';
  readonly value: string;
}

export const proxyProblem =
  'HTTPS_PROXY is invalid: use the address of an HTTP proxy, for example http://proxy.example.com:3128';

/** Returns the decoded credentials of a proxy. Keeps invalid percent escapes. */
export function proxyCredentials(proxy: URL): { readonly user: string; readonly password: string } {
  return { user: unescaped(proxy.username), password: unescaped(proxy.password) };
}

/** Reads the environment variables for the proxy. An empty variable counts as absent. */
function proxySettings(environment: Environment) {
  return {
    proxy: environment.https_proxy || environment.HTTPS_PROXY,
    exceptions: environment.no_proxy || environment.NO_PROXY,
  };
}

const httpProtocols: ReadonlySet<string> = new Set(['http:', 'https:']);

/** Returns a hostname without IPv6 brackets and without a trailing dot. */
export function bareHost(url: URL): string {
  return url.hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '');
}

function isLoopback(host: string): boolean {
  return (
    host === 'localhost' ||
    host.endsWith('.localhost') ||
    host === '::1' ||
    (isIP(host) === 4 && host.startsWith('127.'))
  );
}

/**
 * Reports whether an entry of `NO_PROXY` matches a host. An entry is `*`, a network, or a host including its
 * subdomains.
 */
function excepts(entry: string, host: string, port: string): boolean {
  if (entry === '*') return true;
  if (entry.includes('/')) return isInNetwork(entry, host);
  const { name, entryPort } = splitPort(entry);
  if (entryPort !== undefined && entryPort !== port) return false;
  const suffix = name.replace(/^\*?\./, '');
  return host.endsWith(`.${suffix}`) || (host === suffix && !name.startsWith('*'));
}

function splitPort(entry: string): { readonly name: string; readonly entryPort: string | undefined } {
  const match = /^(?:\[(.+)\]|([^:]+))(?::(\d+))?$/.exec(entry);
  return match ? { name: match[1] ?? match[2] ?? entry, entryPort: match[3] } : { name: entry, entryPort: undefined };
}

function isInNetwork(entry: string, host: string): boolean {
  const [network = '', bits = ''] = entry.split('/');
  const family = isIP(network);
  if (family === 0 || family !== isIP(host) || !/^\d+$/.test(bits) || Number(bits) > (family === 4 ? 32 : 128))
    return false;
  const type = family === 4 ? 'ipv4' : 'ipv6';
  const list = new BlockList();
  list.addSubnet(network, Number(bits), type);
  return list.check(host, type);
}

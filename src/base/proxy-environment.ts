/**
 * Which proxy leads to an origin, by the variables that everybody knows: `HTTPS_PROXY` and `NO_PROXY`, in either case, the small
 * letters first. The environment comes in as data. Loopback addresses are never reached through a proxy.
 */
import { BlockList, isIP } from 'node:net';
import { unescape as unescaped } from 'node:querystring';

export type Environment = Readonly<Record<string, string | undefined>>;

/** The proxy's address; undefined: go straight there. One that is no address, or no HTTP proxy's, throws a TypeError. */
export function proxyFor(origin: URL, environment: Environment): URL | undefined {
  const proxy = environment.https_proxy || environment.HTTPS_PROXY;
  if (!proxy) return undefined;
  const host = bareHost(origin);
  if (isLoopback(host)) return undefined;
  const port = origin.port || '443';
  const exceptions = (environment.no_proxy || environment.NO_PROXY || '').split(/[\s,]+/);
  if (exceptions.some((entry) => entry !== '' && excepts(entry.toLowerCase(), host, port))) return undefined;
  const address = new URL(proxy.includes('://') ? proxy : `http://${proxy}`);
  if (!httpProtocols.has(address.protocol)) throw new TypeError(`no proxy for ${address.protocol}`);
  return address;
}

/** What a person is told of a proxy that `proxyFor` cannot read. */
export const proxyProblem = 'HTTPS_PROXY is no address of an HTTP proxy, like http://proxy.example.com:3128';

/** It fails on nothing: a percent sign that begins no escape stands for itself, as it was typed. */
export function proxyCredentials(proxy: URL): { readonly user: string; readonly password: string } {
  return { user: unescaped(proxy.username), password: unescaped(proxy.password) };
}

const httpProtocols: ReadonlySet<string> = new Set(['http:', 'https:']);

/** The host as DNS and sockets want it: without the brackets of IPv6 and without a dot at its end. */
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

/** An entry is `*`, a network like `10.0.0.0/8`, or a host that stands for its subdomains too, with or without a port. */
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

/**
 * Limits the number of connections to a store, and decides for each host whether connections to the host use the proxy.
 * Node counts a connection through a proxy only after the tunnel through the proxy is open. Therefore, requests that
 * start at the same time can open more connections than the limit allows.
 */
import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent, type RequestOptions } from 'node:https';
import { type Environment, proxyCredentials } from '../../base/proxy-environment.ts';
import { maxConnections, storeProxy } from './store-endpoint.ts';

const agentOptions = { keepAlive: true, maxSockets: maxConnections };

/** HTTP agents for requests to a store and to the token service of its cloud. */
export class StoreAgents {
  readonly http = new HttpAgent(agentOptions);
  readonly https: HttpsAgent;

  /** `address` is the URL of the store. Throws the error `destination.invalid` if its proxy settings are wrong. */
  constructor(address: string, environment: Environment) {
    if (address.startsWith('https:')) storeProxy(new URL(address), environment);
    this.https = new ProxyChoosingAgent(environment);
  }

  of(url: string): HttpAgent | HttpsAgent {
    return url.startsWith('https:') ? this.https : this.http;
  }

  close(): void {
    this.http.destroy();
    this.https.destroy();
  }
}

/** HTTPS agent that uses the proxy, except for hosts in `NO_PROXY`. */
class ProxyChoosingAgent extends HttpsAgent {
  readonly #environment: Environment;
  /** Agent that opens the connections through the proxy. Undefined until the first such connection. */
  #proxyAgent: HttpsAgent | undefined;

  constructor(environment: Environment) {
    super(agentOptions);
    this.#environment = environment;
  }

  override createConnection(...[options, callback]: Parameters<HttpsAgent['createConnection']>) {
    const proxy = storeProxy(originOf(options), this.#environment);
    if (!proxy) return super.createConnection(options, callback);
    this.#proxyAgent ??= new HttpsAgent({ keepAlive: true, proxyEnv: { HTTPS_PROXY: escaped(proxy) } });
    return this.#proxyAgent.createConnection(options, callback);
  }
}

function originOf({ host, port }: RequestOptions): URL {
  const isBareIPv6 = host?.includes(':') && !host.startsWith('[');
  return new URL(`https://${isBareIPv6 ? `[${host}]` : host}:${port ?? 443}`);
}

/** Returns the proxy's address with valid percent escapes in the credentials. */
function escaped(proxy: URL): string {
  const { user, password } = proxyCredentials(proxy);
  proxy.username = encodeURIComponent(user);
  proxy.password = encodeURIComponent(password);
  return proxy.href;
}

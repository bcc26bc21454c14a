/**
 * Opens TLS connections to the service, directly or through an HTTP proxy. Verifies the certificate against the CA
 * certificates in the Secret's `ca.crt`, or against the default CA certificates of Node.js.
 */

import { once } from 'node:events';
import { isIP } from 'node:net';
import type { Duplex } from 'node:stream';
import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls';
import { Client } from 'undici';
import { bareHost, type Environment, proxyCredentials, proxyFor, proxyProblem } from '../../base/proxy-environment.ts';
import { GatheringSocket } from './gathering-socket.ts';
import { asTransportError, TransportError } from './transport-failure.ts';

export interface DialerOptions {
  readonly caCertificates: string | undefined;
  readonly environment: Environment;
}

/**
 * TLS connection. If there is no proxy, this is a `GatheringSocket`, which combines small records into larger chunks.
 */
export type SecureSocket = GatheringSocket | TLSSocket;

export class Dialer {
  readonly #options: DialerOptions;

  constructor(options: DialerOptions) {
    this.#options = options;
  }

  /** Opens a connection with a verified certificate. Rejects with a `TransportError` or the signal's reason. */
  async dial(origin: URL, signal: AbortSignal): Promise<SecureSocket> {
    const tunnel = await this.#tunnel(origin, signal);
    const host = bareHost(origin);
    const options: ConnectionOptions = {
      host,
      port: Number(origin.port || '443'),
      ALPNProtocols: ['http/1.1'],
      ...(isIP(host) === 0 ? { servername: host } : {}),
      ...(this.#options.caCertificates === undefined ? {} : { ca: this.#options.caCertificates }),
    };
    const socket = tunnel ? connect({ ...options, socket: tunnel }) : new GatheringSocket(options);
    await secured(socket, `connecting to ${origin.host}`, signal);
    return socket;
  }

  async #tunnel(origin: URL, signal: AbortSignal): Promise<Duplex | undefined> {
    const proxy = this.#proxy(origin);
    if (!proxy) return undefined;
    const target = `${origin.hostname}:${origin.port || '443'}`;
    const headers = { host: target, ...authorizationOf(proxy) };
    const client = new Client(proxy.origin);
    try {
      const { statusCode, socket } = await client.connect({ path: target, headers, signal });
      if (statusCode === 200) return socket;
      socket.on('error', () => {}).destroy();
      throw new TransportError('proxyFailed', problemOf(proxy, statusCode));
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof TransportError) throw error;
      const { message } = asTransportError(error, `reaching the proxy ${proxy.host}`);
      throw new TransportError('proxyFailed', message, error);
    } finally {
      client.destroy().catch(() => {});
    }
  }

  #proxy(origin: URL): URL | undefined {
    try {
      return proxyFor(origin, this.#options.environment);
    } catch (error) {
      throw new TransportError('proxyFailed', proxyProblem, error);
    }
  }
}

function authorizationOf(proxy: URL): Record<string, string> {
  if (!proxy.username) return {};
  const { user, password } = proxyCredentials(proxy);
  const credentials = `${user}:${password}`;
  return { 'proxy-authorization': `Basic ${Buffer.from(credentials, 'utf8').toString('base64')}` };
}

function problemOf({ host }: URL, status: number): string {
  const problem = `the proxy ${host} answered ${status}`;
  if (status !== 407) return problem;
  return `${problem}: the proxy requires a user name and password, for example: http://user:password@proxy:3128`;
}

/** Waits for the TLS handshake. */
async function secured(socket: SecureSocket, what: string, signal: AbortSignal): Promise<void> {
  const tls = socket instanceof GatheringSocket ? socket.tls : socket;
  socket.on('error', () => {});
  try {
    await once(tls, 'secureConnect', { signal });
    tls.setNoDelay(true);
  } catch (error) {
    socket.destroy();
    signal.throwIfAborted();
    throw asTransportError(error, what);
  }
}

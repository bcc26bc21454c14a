/** HTTP proxy that records requests for tunnels, and refuses them with status 502. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface TunnelRequest {
  readonly url: string | undefined;
  readonly authorization: string | undefined;
}

export class RefusingProxy {
  readonly requests: TunnelRequest[] = [];
  /** If true, the proxy never responds to a tunnel request. */
  isSilent = false;
  readonly #requested = Promise.withResolvers<void>();
  readonly #server = createServer().on('connect', ({ url, headers }, socket) => {
    this.requests.push({ url, authorization: headers['proxy-authorization'] });
    this.#requested.resolve();
    // Ignores the error that occurs if the client resets the connection.
    socket.on('error', () => {});
    if (!this.isSilent) socket.end('HTTP/1.1 502 Bad Gateway\r\n\r\n');
  });

  /** Resolves when the first tunnel request has arrived. */
  get requested(): Promise<void> {
    return this.#requested.promise;
  }

  /** Address of the proxy, as host and port. */
  get address(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async start(): Promise<void> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
  }

  stop(): void {
    this.#server.close();
  }
}

/** Tests that a request to the API server ends at its deadline, even if no connection can be opened. */
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../../../src/base/clock.ts';
import { UndiciKubeApi } from '../../../../src/host/kubernetes/api-transport.ts';
import { RefusingProxy } from '../../../support/refusing-proxy.ts';

function apiAt(server: string, proxyUrl?: string): UndiciKubeApi {
  const credentials = async () => ({ connection: {}, headers: {} });
  const api = new UndiciKubeApi({ context: 'test', namespace: undefined, server, proxyUrl, credentials }, systemClock);
  onTestFinished(() => api.close());
  return api;
}

const requests = {
  request: (api: UndiciKubeApi, signal: AbortSignal) => api.request({ method: 'GET', path: '/version', signal }),
  watch: (api: UndiciKubeApi, signal: AbortSignal) => api.watch({ path: '/version', query: {}, signal }),
};

/** Sends a request, and aborts the request once the server has received the connection attempt. */
async function abortedAfter(connecting: Promise<unknown>, send: (signal: AbortSignal) => Promise<unknown>) {
  const abort = new AbortController();
  const sent = send(abort.signal);
  await connecting;
  abort.abort(new Error('the deadline'));
  await expect(sent).rejects.toThrow('the deadline');
}

test.each(Object.entries(requests))('a %s ends if the server never responds to the TLS handshake', async (_, send) => {
  const sockets: Socket[] = [];
  const server = createServer((socket) => sockets.push(socket)).listen(0, '127.0.0.1');
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  await once(server, 'listening');
  const api = apiAt(`https://127.0.0.1:${(server.address() as AddressInfo).port}`);
  await abortedAfter(once(server, 'connection'), (signal) => send(api, signal));
});

test.each(Object.entries(requests))('a %s ends if the proxy never opens a tunnel', async (_, send) => {
  const proxy = new RefusingProxy();
  proxy.isSilent = true;
  await proxy.start();
  onTestFinished(() => proxy.stop());
  const api = apiAt('https://api.invalid:6443', `http://${proxy.address}`);
  await abortedAfter(proxy.requested, (signal) => send(api, signal));
});

/** Tests the HTTP transport over real TLS on loopback. */

import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Socket } from 'node:net';
import { beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../../../src/base/clock.ts';
import type { Environment } from '../../../../src/base/proxy-environment.ts';
import type { BodyReceiver, ResponseHead, TransportRequest } from '../../../../src/service/transport/transport.ts';
import { UndiciTransport } from '../../../../src/service/transport/undici-transport.ts';
import { type Certificate, connectProxy, httpsServer, type Loopback, selfSigned } from '../../../support/loopback.ts';
import { grantedDeparture } from '../../../support/send-rights.ts';

let certificate: Certificate;

beforeAll(async () => {
  certificate = await selfSigned(['127.0.0.1', 'service.test']);
});

function transportWith(options: { readonly ca?: string | undefined; readonly environment?: Environment } = {}) {
  const transport = new UndiciTransport({
    clock: systemClock,
    environment: options.environment ?? {},
    caCertificates: 'ca' in options ? options.ca : certificate.cert,
  });
  return Object.assign(transport, { [Symbol.asyncDispose]: () => transport.close() });
}

const originOf = ({ port }: Loopback, host = '127.0.0.1') => `https://${host}:${port}`;
const unlimited = new AbortController().signal;

function request(origin: string, more: Partial<TransportRequest> = {}): TransportRequest {
  return {
    method: 'GET',
    origin,
    path: '/api/v1/x?limit=5',
    headers: { accept: 'application/json' },
    signal: unlimited,
    beforeWrite: grantedDeparture,
    maxBodyBytes: 1_000,
    ...more,
  };
}

/** Returns a `beforeWrite` function that calls `note` and permits the request. */
function counting(note: () => unknown): TransportRequest['beforeWrite'] {
  return () => {
    note();
    return grantedDeparture();
  };
}

const ok = (_request: IncomingMessage, response: ServerResponse) =>
  response.writeHead(200, { 'X-Seen': 'yes' }).end('{"a":1}');

test('returns a complete response with its headers in lower case', async () => {
  await using server = await httpsServer(certificate, ok);
  await using transport = transportWith();
  const response = await transport.send(request(originOf(server)));
  expect(response.status).toBe(200);
  expect(response.headers.get('x-seen')).toBe('yes');
  expect(Buffer.from(response.body).toString()).toBe('{"a":1}');
});

test('sends method, path, headers and body unchanged', async () => {
  const seen: unknown[] = [];
  await using server = await httpsServer(certificate, async (incoming, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk);
    seen.push([incoming.method, incoming.url, incoming.headers['content-type'], Buffer.concat(chunks).toString()]);
    response.end();
  });
  await using transport = transportWith();
  const headers = { 'content-type': 'application/json' };
  await transport.send(request(originOf(server), { method: 'POST', path: '/p', headers, body: '{"id":"ü"}' }));
  expect(seen).toEqual([['POST', '/p', 'application/json', '{"id":"ü"}']]);
});

describe('the write', () => {
  test('happens on an established connection, right after beforeWrite (B1)', async () => {
    let secured = 0;
    await using server = await httpsServer(certificate, ok);
    await using transport = transportWith();
    const origin = originOf(server);
    await transport.ready(origin, 4, unlimited);
    secured = server.sockets.length;
    const openSockets: number[] = [];
    const send = () =>
      transport.send(request(origin, { beforeWrite: counting(() => openSockets.push(server.sockets.length)) }));
    await Promise.all([send(), send(), send(), send()]);
    expect(secured).toBe(4);
    expect(openSockets).toEqual([4, 4, 4, 4]);
  });

  test('does not happen if beforeWrite throws, and the connection stays usable', async () => {
    let requests = 0;
    await using server = await httpsServer(certificate, (incoming, response) => {
      requests += 1;
      ok(incoming, response);
    });
    await using transport = transportWith();
    const refusal = new Error('no longer wanted');
    const beforeWrite = () => {
      throw refusal;
    };
    await expect(transport.send(request(originOf(server), { beforeWrite }))).rejects.toBe(refusal);
    await transport.send(request(originOf(server)));
    expect(requests).toBe(1);
    expect(server.sockets).toHaveLength(1);
  });

  test('uses a new connection after the old one ended, and counts once', async () => {
    await using server = await httpsServer(certificate, ok);
    await using transport = transportWith();
    const origin = originOf(server);
    await transport.send(request(origin));
    const [first] = server.sockets;
    // The server's socket emits `close` only after both the client and the server have closed the connection.
    first?.end();
    await once(first as Socket, 'close');
    let writes = 0;
    await transport.send(request(origin, { method: 'POST', beforeWrite: counting(() => writes++) }));
    expect(writes).toBe(1);
    expect(server.sockets).toHaveLength(2);
  });

  test('reuses connections, and opens at most ten', async () => {
    const waiting: ServerResponse[] = [];
    await using server = await httpsServer(certificate, (_incoming, response) => {
      waiting.push(response);
      if (waiting.length >= 10) for (const one of waiting) one.end();
    });
    await using transport = transportWith();
    const origin = originOf(server);
    await Promise.all(Array.from({ length: 25 }, () => transport.send(request(origin))));
    expect(server.sockets).toHaveLength(10);
  });
});

test('returns all Set-Cookie headers in order', async () => {
  await using server = await httpsServer(certificate, (_incoming, response) =>
    response.writeHead(200, { 'Set-Cookie': ['A=1; Path=/', 'B=2', 'A=3'] }).end(),
  );
  await using transport = transportWith();
  const response = await transport.send(request(originOf(server)));
  expect(response.setCookies).toEqual(['A=1; Path=/', 'B=2', 'A=3']);
  expect(response.headers.get('set-cookie')).toBe('A=1; Path=/');
});

describe('a body that is read as a stream', () => {
  const pageBytes = 4_000_000;
  const page = Buffer.alloc(pageBytes, 'abcdefgh');
  const servePage = (_incoming: IncomingMessage, response: ServerResponse) => response.writeHead(200).end(page);

  /** Receiver that buffers an entire body. After each chunk, `room` decides whether the transport must pause. */
  class Sink implements BodyReceiver {
    readonly chunks: Buffer[] = [];
    head: ResponseHead | undefined;
    readonly #room: (bytes: number) => Promise<void> | undefined;

    constructor(room: (bytes: number) => Promise<void> | undefined = () => undefined) {
      this.#room = room;
    }

    get bytes(): number {
      return this.chunks.reduce((sum, { length }) => sum + length, 0);
    }

    begin(head: ResponseHead): boolean {
      this.head = head;
      return head.status === 200;
    }

    write(chunk: Uint8Array): Promise<void> | undefined {
      this.chunks.push(Buffer.from(chunk));
      return this.#room(this.bytes);
    }
  }

  test('is passed on in chunks, complete and in order, and is not part of the response', async () => {
    await using server = await httpsServer(certificate, servePage);
    await using transport = transportWith();
    const receiver = new Sink();
    const response = await transport.send(request(originOf(server), { receiver }));
    expect(receiver.head?.status).toBe(200);
    expect(receiver.chunks.length).toBeGreaterThan(1);
    expect(Buffer.concat(receiver.chunks).equals(page)).toBe(true);
    expect(response.body).toHaveLength(0);
  });

  test('stays in the response if the receiver does not want it', async () => {
    await using server = await httpsServer(certificate, (_incoming, response) => response.writeHead(404).end('{}'));
    await using transport = transportWith();
    const receiver = new Sink();
    const response = await transport.send(request(originOf(server), { receiver }));
    expect(Buffer.from(response.body).toString()).toBe('{}');
    expect(receiver.chunks).toHaveLength(0);
  });

  test('pauses while the receiver accepts no data, and continues afterwards', async () => {
    let handedOver = 0;
    await using server = await httpsServer(certificate, (incoming, response) => {
      if (incoming.url === '/small') return ok(incoming, response);
      response.writeHead(200);
      const more = () => {
        while (handedOver < 400) {
          handedOver++;
          if (!response.write(page.subarray(0, 100_000))) return;
        }
        response.end();
      };
      response.on('drain', more);
      more();
      return undefined;
    });
    await using transport = transportWith();
    const full = Promise.withResolvers<void>();
    const emptied = Promise.withResolvers<void>();
    const receiver = new Sink((bytes) => {
      if (bytes < 1_000_000) return undefined;
      full.resolve();
      return emptied.promise;
    });
    const sending = transport.send(request(originOf(server), { receiver }));
    await full.promise;
    // The first response is still incomplete, so the second request needs another connection.
    await transport.send(request(originOf(server), { path: '/small' }));
    expect(receiver.bytes).toBeLessThan(10_000_000);
    expect(handedOver).toBeLessThan(400);
    emptied.resolve();
    await sending;
    expect(receiver.bytes).toBe(40_000_000);
  });

  test('fails with the error of the receiver, and closes the connection', async () => {
    await using server = await httpsServer(certificate, servePage);
    await using transport = transportWith();
    const fault = new Error('the disk is full');
    for (const room of [
      () => {
        throw fault;
      },
      () => Promise.reject(fault),
    ]) {
      const sending = transport.send(request(originOf(server), { receiver: new Sink(room) }));
      await expect(sending).rejects.toBe(fault);
    }
    await transport.send(request(originOf(server), { receiver: new Sink() }));
    expect(server.sockets).toHaveLength(3);
  });

  test('is complete if the connection ends with it, whatever the speed of its sink', async () => {
    await using server = await httpsServer(certificate, (_incoming, response) => {
      response.useChunkedEncodingByDefault = false;
      response.writeHead(200, { connection: 'close' }).end(page.subarray(0, 1_500_000));
    });
    await using transport = transportWith();
    const receiver = new Sink(() => new Promise((resolve) => setImmediate(resolve)));
    await transport.send(request(originOf(server), { receiver }));
    expect(Buffer.concat(receiver.chunks).equals(page.subarray(0, 1_500_000))).toBe(true);
  });

  test('many responses over one connection have complete heads', async () => {
    let responses = 0;
    await using server = await httpsServer(certificate, (_incoming, response) => {
      const fill = String(responses++).repeat(5_000);
      response.writeHead(200, { 'x-fill': fill }).end(page.subarray(0, 90_000 + responses));
    });
    await using transport = transportWith();
    for (let count = 0; count < 20; count++) {
      const receiver = new Sink();
      const response = await transport.send(request(originOf(server), { receiver }));
      expect(response.headers.get('x-fill')).toBe(String(count).repeat(5_000));
      expect(Buffer.concat(receiver.chunks).equals(page.subarray(0, 90_001 + count))).toBe(true);
    }
    expect(server.sockets).toHaveLength(1);
  });

  test('a body that is cut off keeps the received part, and fails', async () => {
    await using server = await httpsServer(certificate, (incoming, response) => {
      response.writeHead(200, { 'content-length': String(pageBytes) });
      response.write(page.subarray(0, 300_000), () => incoming.socket.destroy());
    });
    await using transport = transportWith();
    const receiver = new Sink();
    const sending = transport.send(request(originOf(server), { receiver }));
    await expect(sending).rejects.toMatchObject({ failure: 'connectionLost' });
    expect(receiver.bytes).toBeGreaterThan(0);
    expect(page.subarray(0, receiver.bytes).equals(Buffer.concat(receiver.chunks))).toBe(true);
  });

  test('is cancelled by an abort, and no data is passed on afterwards', async () => {
    await using server = await httpsServer(certificate, servePage);
    await using transport = transportWith();
    const controller = new AbortController();
    const receiver = new Sink((bytes) => {
      if (bytes > 500_000) controller.abort(new Error('enough'));
      return undefined;
    });
    const sending = transport.send(request(originOf(server), { receiver, signal: controller.signal }));
    await expect(sending).rejects.toThrow('enough');
    const taken = receiver.bytes;
    await transport.send(request(originOf(server), { receiver: new Sink() }));
    expect(receiver.bytes).toBe(taken);
  });
});

describe('failures', () => {
  const failures: readonly [string, (incoming: IncomingMessage, response: ServerResponse) => void, string][] = [
    ['a reset before the response', (incoming) => incoming.socket.destroy(), 'connectionLost'],
    [
      'a body that is cut off',
      (incoming, response) => {
        response.writeHead(200, { 'content-length': '100' }).write('{"a"');
        response.flushHeaders();
        setImmediate(() => incoming.socket.destroy());
      },
      'connectionLost',
    ],
    ['more bytes than the client reads', (_incoming, response) => response.end('x'.repeat(2_000)), 'responseTooLarge'],
    ['a response that is not HTTP', (incoming) => incoming.socket.end('nonsense\r\n\r\n'), 'responseMalformed'],
  ];

  test.each(failures)('%s', async (_name, handle, failure) => {
    await using server = await httpsServer(certificate, handle);
    await using transport = transportWith();
    let writes = 0;
    const sending = transport.send(
      request(originOf(server), { method: 'POST', beforeWrite: counting(() => writes++) }),
    );
    await expect(sending).rejects.toMatchObject({ failure });
    expect(writes).toBe(1);
  });

  test('an aborted request closes its socket, and the next request uses another connection', async () => {
    const arrived = Promise.withResolvers<Socket>();
    let silent = true;
    await using server = await httpsServer(certificate, (incoming, response) => {
      if (!silent) return ok(incoming, response);
      silent = false;
      arrived.resolve(incoming.socket);
      return undefined;
    });
    await using transport = transportWith();
    const controller = new AbortController();
    const sending = transport.send(request(originOf(server), { signal: controller.signal }));
    const socket = await arrived.promise;
    const closed = once(socket, 'close');
    controller.abort(new Error('enough'));
    await expect(sending).rejects.toThrow('enough');
    await closed;
    await expect(transport.send(request(originOf(server)))).resolves.toMatchObject({ status: 200 });
  });

  test('closing cancels requests in flight, and draining waits for them', async () => {
    const arrived: (() => void)[] = [];
    await using server = await httpsServer(certificate, (incoming, response) => {
      if (incoming.url === '/late') arrived.push(() => ok(incoming, response));
      for (const response of arrived.splice(0)) if (incoming.method === 'POST') response();
    });
    await using transport = transportWith();
    const origin = originOf(server);
    const late = transport.send(request(origin, { path: '/late', method: 'POST' }));
    await transport.ready(origin, 1, unlimited);
    const drained = transport.drain();
    await expect(late).resolves.toMatchObject({ status: 200 });
    await drained;
    await expect(transport.send(request(origin))).rejects.toMatchObject({ failure: 'closed' });
  });

  test('a host that does not exist, and a host without a listening server', async () => {
    await using transport = transportWith();
    await expect(transport.ready('https://127.0.0.1:1', 1, unlimited)).rejects.toMatchObject({
      failure: 'refused',
    });
    await expect(transport.ready('https://nowhere.invalid', 1, unlimited)).rejects.toMatchObject({
      failure: 'nameNotFound',
    });
  });

  test('a server without TLS', async () => {
    const plain = createServer((socket) => socket.on('error', () => {}).end('HTTP/1.1 400 Bad Request\r\n\r\n'));
    plain.listen(0, '127.0.0.1');
    await once(plain, 'listening');
    await using transport = transportWith();
    const { port } = plain.address() as { port: number };
    await expect(transport.ready(`https://127.0.0.1:${port}`, 1, unlimited)).rejects.toMatchObject({
      failure: 'tlsFailed',
    });
    plain.close();
  });
});

describe('trust', () => {
  test('a certificate with an unknown issuer', async () => {
    await using server = await httpsServer(certificate, ok);
    await using transport = transportWith({ ca: undefined });
    await expect(transport.ready(originOf(server), 1, unlimited)).rejects.toMatchObject({
      failure: 'certificateUnknown',
    });
  });

  test('a certificate for another name', async () => {
    const other = await selfSigned(['elsewhere.test']);
    await using server = await httpsServer(other, ok);
    await using transport = transportWith({ ca: other.cert });
    await expect(transport.ready(originOf(server), 1, unlimited)).rejects.toMatchObject({
      failure: 'certificateForAnother',
    });
  });

  test('a certificate that has expired', async () => {
    const old = await selfSigned(['127.0.0.1'], { from: new Date('2020-01-01'), to: new Date('2021-01-01') });
    await using server = await httpsServer(old, ok);
    await using transport = transportWith({ ca: old.cert });
    await expect(transport.ready(originOf(server), 1, unlimited)).rejects.toMatchObject({
      failure: 'certificateExpired',
    });
  });
});

describe('a proxy', () => {
  test('resolves the hostname itself', async () => {
    await using server = await httpsServer(certificate, ok);
    await using proxy = await connectProxy(server.port);
    await using transport = transportWith({ environment: { HTTPS_PROXY: `http://me:p%40ss@127.0.0.1:${proxy.port}` } });
    const response = await transport.send(request('https://service.test'));
    expect(response.status).toBe(200);
    expect(proxy.tunnels).toEqual([
      { target: 'service.test:443', authorization: `Basic ${Buffer.from('me:p@ss').toString('base64')}` },
    ]);
  });

  test('gets its password, even with a percent sign', async () => {
    await using server = await httpsServer(certificate, ok);
    await using proxy = await connectProxy(server.port);
    await using transport = transportWith({ environment: { HTTPS_PROXY: `http://me:p%ss@127.0.0.1:${proxy.port}` } });
    await transport.send(request('https://service.test'));
    expect(proxy.tunnels).toMatchObject([{ authorization: `Basic ${Buffer.from('me:p%ss').toString('base64')}` }]);
  });

  test.each(['socks5://127.0.0.1:9', 'no address'])('that is not an HTTP proxy is rejected: %s', async (proxy) => {
    await using transport = transportWith({ environment: { HTTPS_PROXY: proxy } });
    await expect(transport.send(request('https://service.test'))).rejects.toMatchObject({
      failure: 'proxyFailed',
      message: expect.stringContaining('HTTPS_PROXY is invalid: use the address of an HTTP proxy'),
    });
  });

  test('cannot read its tunnel, and cannot impersonate the service', async () => {
    const impostor = await selfSigned(['evil.test']);
    await using server = await httpsServer(impostor, ok);
    await using proxy = await connectProxy(server.port);
    await using transport = transportWith({ environment: { https_proxy: `127.0.0.1:${proxy.port}` } });
    await expect(transport.send(request('https://service.test'))).rejects.toMatchObject({
      failure: 'certificateUnknown',
    });
  });

  test('that rejects the connection is named, with its requirement', async () => {
    await using proxy = await connectProxy(9, 407);
    await using transport = transportWith({ environment: { HTTPS_PROXY: `http://127.0.0.1:${proxy.port}` } });
    const sending = transport.send(request('https://service.test'));
    await expect(sending).rejects.toMatchObject({ failure: 'proxyFailed', message: expect.stringContaining('407') });
  });

  test('that is unreachable is named', async () => {
    await using transport = transportWith({ environment: { HTTPS_PROXY: 'http://127.0.0.1:1' } });
    await expect(transport.send(request('https://service.test'))).rejects.toMatchObject({ failure: 'proxyFailed' });
  });

  test('is not used for hosts in NO_PROXY', async () => {
    await using server = await httpsServer(certificate, ok);
    await using transport = transportWith({
      environment: { HTTPS_PROXY: 'http://127.0.0.1:9', NO_PROXY: 'service.test' },
    });
    await expect(transport.send(request(originOf(server)))).resolves.toMatchObject({ status: 200 });
  });
});

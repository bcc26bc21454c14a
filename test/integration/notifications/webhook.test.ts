/** Tests the delivery of notifications to a real HTTPS server. */
import type { IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { describe, expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { SecretText } from '../../../src/base/secret-text.ts';
import { notificationOf } from '../../../src/notifications/notification.ts';
import { sendNotification, type Webhook } from '../../../src/notifications/webhook.ts';
import { httpsServer, selfSigned } from '../../support/loopback.ts';
import { RefusingProxy } from '../../support/refusing-proxy.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';

const owner = { kind: 'SearchExport', namespace: 'logging', name: 'audit', uid: 'u-1' } as const;
const event = { type: 'Warning', reason: 'ExportedIncomplete', message: 'One interval is unproven.' } as const;
const notification = notificationOf(owner, event, 0);
const options = { environment: {}, clock: systemClock, signal: new AbortController().signal };

async function receiver(status = 200) {
  const certificate = await selfSigned(['localhost', '127.0.0.1']);
  const received: { readonly request: IncomingMessage; readonly body: string }[] = [];
  const server = await httpsServer(certificate, (request, response) => {
    void text(request).then((body) => {
      received.push({ request, body });
      response.writeHead(status).end('thanks');
    });
  });
  const url = `https://127.0.0.1:${server.port}/hooks/secret-path`;
  return { certificate, received, url, close: () => server[Symbol.asyncDispose]() };
}

async function silentProxy(): Promise<RefusingProxy> {
  const proxy = new RefusingProxy();
  proxy.isSilent = true;
  await proxy.start();
  onTestFinished(() => proxy.stop());
  return proxy;
}

function webhook(url: string, caCertificates: string | undefined): Webhook {
  // The token ends with a newline, as values often do in Secrets that are created from files.
  return { url: new SecretText(url), token: new SecretText('token-1\n'), format: 'json', caCertificates };
}

test('a notification is posted as JSON with the token, and trusts the certificate authority of the Secret', async () => {
  const { certificate, received, url, close } = await receiver();
  if (!notification) throw new Error('the Event has no notification');
  await sendNotification(webhook(url, certificate.cert), notification, options);
  const [{ request, body }] = received as [(typeof received)[0]];
  expect([request.method, request.url]).toEqual(['POST', '/hooks/secret-path']);
  expect(request.headers).toMatchObject({ authorization: 'Bearer token-1', 'content-type': 'application/json' });
  expect(JSON.parse(body)).toMatchObject({ subject: 'Incomplete', name: 'audit', reason: 'ExportedIncomplete' });
  expect(body).not.toMatch(/token-1|secret-path/);
  await close();
});

test.each([
  [503, 'backoff'],
  [408, 'backoff'],
  [429, 'backoff'],
  [404, 'stall'],
])('a response %d is handled as %s', async (status, kind) => {
  const { certificate, url, close } = await receiver(status);
  if (!notification) throw new Error('the Event has no notification');
  const sending = sendNotification(webhook(url, certificate.cert), notification, options);
  await expect(sending).rejects.toMatchObject({ code: 'notification.failed', handling: { kind } });
  await close();
});

test('an untrusted or unreachable receiver is tried again, and the error does not contain its address', async () => {
  const { url, close } = await receiver();
  if (!notification) throw new Error('the Event has no notification');
  const untrusted = await sendNotification(webhook(url, undefined), notification, options).catch(
    (error: Error) => error,
  );
  expect(untrusted).toMatchObject({ handling: { kind: 'backoff' } });
  await close();
  const gone = await sendNotification(webhook(url, undefined), notification, options).catch((error: Error) => error);
  expect(gone).toMatchObject({ handling: { kind: 'backoff' } });
  expect(`${untrusted} ${gone}`).not.toMatch(/secret-path|token-1/);
});

describe.each(['receiver', 'proxy'] as const)('a request to a %s that never responds', (kind) => {
  /** Starts the server. `asked` resolves when it has received a request. */
  async function silent() {
    if (kind === 'proxy') {
      const proxy = await silentProxy();
      const environment = { HTTPS_PROXY: `http://${proxy.address}` };
      return { target: webhook('https://hooks.example.com/', undefined), environment, asked: proxy.requested };
    }
    const certificate = await selfSigned(['localhost', '127.0.0.1']);
    const { promise: asked, resolve } = Promise.withResolvers<void>();
    const server = await httpsServer(certificate, () => resolve());
    onTestFinished(() => server[Symbol.asyncDispose]());
    return { target: webhook(`https://127.0.0.1:${server.port}/`, certificate.cert), environment: {}, asked };
  }

  test('ends when its signal is aborted', async () => {
    const { target, environment, asked } = await silent();
    const abort = new AbortController();
    if (!notification) throw new Error('the Event has no notification');
    const sending = sendNotification(target, notification, { ...options, environment, signal: abort.signal });
    await asked;
    abort.abort();
    await expect(sending).rejects.toMatchObject({ code: 'notification.failed', handling: { kind: 'backoff' } });
  });

  test('ends at the time limit', async () => {
    const { target, environment, asked } = await silent();
    const clock = new VirtualClock();
    if (!notification) throw new Error('the Event has no notification');
    const sending = sendNotification(target, notification, { ...options, environment, clock });
    await asked;
    await Promise.all([clock.advance(10_000), expect(sending).rejects.toThrow('TimeoutError')]);
  });
});

test('a notification is sent although the response body never ends', async () => {
  const certificate = await selfSigned(['localhost', '127.0.0.1']);
  await using server = await httpsServer(certificate, (_, response) => response.writeHead(200).write('thanks'));
  if (!notification) throw new Error('the Event has no notification');
  const target = webhook(`https://127.0.0.1:${server.port}/`, certificate.cert);
  await expect(sendNotification(target, notification, options)).resolves.toBeUndefined();
});

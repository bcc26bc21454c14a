/** Tests that requests to Azure and Google Cloud Storage fail if the store stays silent, but not if they are slow. */
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, type TestContext, test } from 'vitest';
import { type Clock, systemClock } from '../../../src/base/clock.ts';
import { SecretText } from '../../../src/base/secret-text.ts';
import { connect } from '../../../src/destination/azure/azure-client.ts';
import { GcsClient } from '../../../src/destination/gcs/gcs-client.ts';
import { credentialsOfKeyFile } from '../../../src/destination/gcs/gcs-settings.ts';
import { inPieces } from '../../../src/destination/store/body-pieces.ts';
import { newServiceAccountKey } from '../../support/fake-gcs-server.ts';

const silenceMs = 6_000;
/** Time in ms for which the server stops reading the body. Much shorter than `silenceMs`, for busy machines. */
const pauseMs = 900;
const tickMs = 100;
const mebibyte = 1024 * 1024;
const content = Buffer.alloc(64 * mebibyte);

/**
 * Clock whose timers count ticks. While a busy machine pauses this process, the server makes no progress either, and
 * the pause counts as a single tick. undici's timers count time in the same way.
 */
const clock: Clock = {
  ...systemClock,
  after(delayMs, callback) {
    let ticks = Math.ceil(delayMs / tickMs);
    const timer = setInterval(() => {
      if (--ticks > 0) return;
      clearInterval(timer);
      callback();
    }, tickMs);
    return { cancel: () => clearInterval(timer) };
  },
};

type AtEnd = Pick<TestContext, 'onTestFinished'>;

/** Starts a server that runs until the end of the test. Returns its address. */
async function serve(listener: RequestListener, { onTestFinished }: AtEnd): Promise<string> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close().closeAllConnections());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function sendToAzure(listener: RequestListener, context: AtEnd): Promise<number> {
  const credentials = {
    kind: 'key' as const,
    accountName: 'account',
    accountKey: new SecretText(Buffer.from('key').toString('base64')),
  };
  const endpoint = `${await serve(listener, context)}/account`;
  const settings = { account: 'account', container: 'audit', root: '', endpoint, insecure: true, credentials };
  const { container, close } = await connect(settings, {}, clock, silenceMs);
  context.onTestFinished(close);
  const { _response } = await container.getBlockBlobClient('data').upload(() => inPieces(content), content.length);
  return _response.status;
}

async function sendToGcs(listener: RequestListener, context: AtEnd): Promise<number> {
  const credentials = credentialsOfKeyFile(newServiceAccountKey());
  if (!credentials) throw new Error('the key is not valid');
  const settings = { bucket: 'audit', root: '', endpoint: await serve(listener, context), insecure: true, credentials };
  const client = new GcsClient({ settings, environment: {}, clock, silenceMs });
  context.onTestFinished(() => client.close());
  return (await client.send({ method: 'POST', path: '/', body: content })).status;
}

describe.concurrent.each([
  ['Azure', sendToAzure, { name: 'AbortError' }],
  ['Google Cloud Storage', sendToGcs, { code: 'UND_ERR_HEADERS_TIMEOUT' }],
])('a request to %s', (_, send, error) => {
  test('may take longer than the limit on silence while the store keeps reading the body', async (context) => {
    let requests = 0;
    const status = await send((request, response) => {
      let [read, pauses] = [0, 0];
      requests++;
      request.on('data', (chunk: Buffer) => {
        read += chunk.length;
        if (read < (pauses + 1) * 8 * mebibyte) return;
        pauses++;
        request.pause();
        setTimeout(() => request.resume(), pauseMs);
      });
      request.on('end', () => response.writeHead(201).end());
    }, context);
    expect([status, requests]).toEqual([201, 1]);
  });

  test('fails if the store stays silent', async (context) => {
    await expect(send(() => {}, context)).rejects.toMatchObject(error);
  });
});

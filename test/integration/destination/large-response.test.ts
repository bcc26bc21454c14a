/** Tests that a store cannot fill logfleet's memory with large responses. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { describe, expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { systemRandom } from '../../../src/base/random.ts';
import { SecretText } from '../../../src/base/secret-text.ts';
import { credentialsOfKeyFile } from '../../../src/destination/gcs/gcs-settings.ts';
import { type DestinationSettings, openDestination } from '../../../src/destination/open-destination.ts';
import { Writer } from '../../../src/destination/store/writer.ts';
import { newServiceAccountKey } from '../../support/fake-gcs-server.ts';

/** Reads a listing to its end. */
async function drain(items: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of items);
}

const mebibyte = 1_048_576;
const totalBytes = 64 * mebibyte;
const secret = new SecretText('c2VjcmV0');
const common = { root: '', insecure: true };

function settingsOf(kind: 's3' | 'azureBlob' | 'gcs', endpoint: string): DestinationSettings {
  switch (kind) {
    case 's3': {
      const credentials = { accessKeyId: 'key', secretAccessKey: secret };
      return { kind, settings: { ...common, bucket: 'audit', endpoint, forcePathStyle: true, credentials } };
    }
    case 'azureBlob': {
      const credentials = { kind: 'key', accountName: 'account', accountKey: secret } as const;
      return { kind, settings: { ...common, container: 'audit', endpoint: `${endpoint}/account`, credentials } };
    }
    case 'gcs': {
      const credentials = credentialsOfKeyFile(newServiceAccountKey());
      if (!credentials) throw new Error('the key is not valid');
      return { kind, settings: { ...common, bucket: 'audit', endpoint, credentials } };
    }
  }
}

/**
 * Starts a store that sends the same large body in all responses. `paths` contains the path and query of each request,
 * and `sent` returns the number of bytes that the store has sent.
 */
async function largeStore(kind: 's3' | 'azureBlob' | 'gcs', status: number) {
  let sentBytes = 0;
  const paths: string[] = [];
  function* body() {
    const chunk = Buffer.alloc(mebibyte / 16, ' ');
    for (sentBytes = 0; sentBytes < totalBytes; sentBytes += chunk.length) yield chunk;
  }
  const server = createServer(({ url = '' }, response) => {
    paths.push(url);
    response.writeHead(status);
    Readable.from(body()).pipe(response);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const settings = settingsOf(kind, `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const writer = await Writer.ours(systemRandom);
  const destination = await openDestination(settings, { clock: systemClock, writer, environment: {} });
  onTestFinished(async () => {
    await destination.close();
    server.close().closeAllConnections();
  });
  return { destination, paths, sent: () => sentBytes };
}

describe.each(['s3', 'azureBlob', 'gcs'] as const)('a store of the kind %s', (kind) => {
  test('causes an error if a page of its listing is too large', async () => {
    const { destination, sent } = await largeStore(kind, 200);
    await expect(drain(destination.list(''))).rejects.toMatchObject({
      code: 'destination.invalid',
      message: expect.stringContaining('ResponseTooLarge: the response has more than 4194304 bytes'),
    });
    expect(sent()).toBeLessThan(totalBytes);
  });

  test.each(['listing', 'download'])('cannot send a large error response to a %s', async (request) => {
    const { destination, sent } = await largeStore(kind, 403);
    const response = request === 'listing' ? drain(destination.list('')) : destination.read('plan');
    // Azure's SDK reads error responses of any size. Therefore, logfleet cancels the request.
    const code = kind === 'azureBlob' ? 'destination.invalid' : 'destination.denied';
    await expect(response).rejects.toMatchObject({ code });
    expect(sent()).toBeLessThan(totalBytes);
  });
});

test('Azure gets requests for 1,000 blobs per page, because a page of 5,000 blobs could be too large', async () => {
  const { destination, paths } = await largeStore('azureBlob', 403);
  await expect(drain(destination.list(''))).rejects.toMatchObject({ code: 'destination.invalid' });
  expect(paths).toEqual([expect.stringContaining('maxresults=1000')]);
});

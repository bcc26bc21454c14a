/** Tests which proxy is used for an S3 store. */
import { HeadBucketCommand } from '@aws-sdk/client-s3';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { SecretText } from '../../../src/base/secret-text.ts';
import { createClient } from '../../../src/destination/s3/s3-client.ts';
import type { S3Settings } from '../../../src/destination/s3/s3-settings.ts';
import { RefusingProxy } from '../../support/refusing-proxy.ts';

const settings: S3Settings = {
  bucket: 'audit-logs',
  root: '',
  endpoint: 'https://store.invalid:9000',
  forcePathStyle: true,
  credentials: { accessKeyId: 'key', secretAccessKey: new SecretText('secret') },
};

let proxy: RefusingProxy;
beforeEach(async () => {
  proxy = new RefusingProxy();
  await proxy.start();
});
afterEach(() => proxy.stop());

async function ask(environment: Record<string, string>, also: Partial<S3Settings> = {}) {
  const client = createClient({ ...settings, ...also }, environment);
  await expect(client.send(new HeadBucketCommand({ Bucket: 'audit-logs' }))).rejects.toThrow();
  client.destroy();
  return proxy.requests[0];
}

const address = () => proxy.address;

test('uses a proxy address without a scheme', async () => {
  expect(await ask({ HTTPS_PROXY: address() })).toMatchObject({ url: 'store.invalid:9000' });
});

test('accepts a password with a percent sign that is not an escape', async () => {
  const authorization = `Basic ${Buffer.from('me:50%/@').toString('base64')}`;
  expect(await ask({ https_proxy: `http://me:50%%2f%40@${address()}` })).toMatchObject({ authorization });
});

test.each([
  ['invalid', true],
  ['store.invalid', false],
])('uses no proxy if NO_PROXY contains %s', async (NO_PROXY, forcePathStyle) => {
  expect(await ask({ HTTPS_PROXY: `http://${address()}`, NO_PROXY }, { forcePathStyle })).toBeUndefined();
});

test.each(['socks5://proxy:1080', 'http://', 'http://a b'])('rejects the proxy address %s', (HTTPS_PROXY) => {
  expect(() => createClient(settings, { HTTPS_PROXY })).toThrow(
    expect.objectContaining({
      code: 'destination.invalid',
      message: expect.stringContaining('HTTPS_PROXY is invalid'),
    }),
  );
});

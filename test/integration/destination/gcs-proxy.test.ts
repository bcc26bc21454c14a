/** Tests which proxy is used for Google Cloud Storage. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { GcsClient } from '../../../src/destination/gcs/gcs-client.ts';
import { credentialsOfKeyFile, type GcsSettings } from '../../../src/destination/gcs/gcs-settings.ts';
import { newServiceAccountKey } from '../../support/fake-gcs-server.ts';
import { RefusingProxy } from '../../support/refusing-proxy.ts';

const credentials = credentialsOfKeyFile(newServiceAccountKey());

let proxy: RefusingProxy;
beforeEach(async () => {
  proxy = new RefusingProxy();
  await proxy.start();
});
afterEach(() => proxy.stop());

function clientWith(environment: Record<string, string>): GcsClient {
  if (!credentials) throw new Error('the key is not valid');
  const settings: GcsSettings = { bucket: 'audit', root: '', endpoint: 'https://store.invalid:9000', credentials };
  return new GcsClient({ settings, environment, clock: systemClock });
}

async function ask(environment: Record<string, string>) {
  const client = clientWith(environment);
  await expect(client.send({ method: 'GET', path: '/storage/v1/b/audit/o' })).rejects.toThrow();
  await client.close();
  return proxy.requests[0];
}

const address = () => proxy.address;

test('uses a proxy address without a scheme', async () => {
  expect(await ask({ HTTPS_PROXY: address() })).toEqual({ url: 'store.invalid:9000', authorization: undefined });
});

test('accepts a password with a percent sign that is not an escape', async () => {
  const authorization = `Basic ${Buffer.from('me:50%/@').toString('base64')}`;
  expect(await ask({ https_proxy: `http://me:50%%2f%40@${address()}` })).toMatchObject({ authorization });
});

test('uses no proxy for a host in NO_PROXY', async () => {
  expect(await ask({ HTTPS_PROXY: `http://${address()}`, NO_PROXY: 'store.invalid' })).toBeUndefined();
});

test.each(['socks5://proxy:1080', 'http://', 'http://a b'])('rejects the proxy address %s', (HTTPS_PROXY) => {
  expect(() => clientWith({ HTTPS_PROXY })).toThrow(
    expect.objectContaining({
      code: 'destination.invalid',
      message: expect.stringContaining('HTTPS_PROXY is invalid'),
    }),
  );
});

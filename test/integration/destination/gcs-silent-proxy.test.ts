/** Tests requests to Google Cloud Storage through a proxy that does not respond. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { type Clock, systemClock } from '../../../src/base/clock.ts';
import { GcsClient } from '../../../src/destination/gcs/gcs-client.ts';
import { credentialsOfKeyFile } from '../../../src/destination/gcs/gcs-settings.ts';
import { newServiceAccountKey } from '../../support/fake-gcs-server.ts';
import { RefusingProxy } from '../../support/refusing-proxy.ts';

test('a tunnel request without a response from the proxy is sent three times, like other requests', async () => {
  const proxy = new RefusingProxy();
  proxy.isSilent = true;
  await proxy.start();
  onTestFinished(() => proxy.stop());
  const credentials = credentialsOfKeyFile(newServiceAccountKey());
  if (!credentials) throw new Error('the key is not valid');
  const settings = { bucket: 'audit', root: '', endpoint: 'https://store.invalid:9000', credentials };
  const environment = { HTTPS_PROXY: `http://${proxy.address}` };
  const client = new GcsClient({ settings, environment, clock: systemClock, connectTimeoutMs: 100 });
  const response = client.send({ method: 'GET', path: '/storage/v1/b/audit/o' });
  await expect(response).rejects.toMatchObject({ code: 'UND_ERR_HEADERS_TIMEOUT' });
  expect(proxy.requests).toHaveLength(3);
  await client.close();
});

test('a token request without a response from the proxy fails after a minute, and is not sent again', async () => {
  const proxy = new RefusingProxy();
  proxy.isSilent = true;
  await proxy.start();
  const folder = mkdtempSync(join(tmpdir(), 'logfleet-gcs-'));
  onTestFinished(() => {
    proxy.stop();
    rmSync(folder, { recursive: true });
    vi.unstubAllEnvs();
  });
  const file = join(folder, 'key.json');
  writeFileSync(file, newServiceAccountKey());
  const environment = { HTTPS_PROXY: `http://${proxy.address}`, GOOGLE_APPLICATION_CREDENTIALS: file };
  // Google's library reads the proxy and the key file from the environment variables of this process.
  for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value);
  const delays: number[] = [];
  const clock: Clock = {
    ...systemClock,
    after: (delayMs, callback) => {
      delays.push(delayMs);
      // The time limit expires only after the proxy has received the request. The result therefore does not depend on
      // the speed of the machine.
      const cancelled = new AbortController();
      void proxy.requested.then(() => cancelled.signal.aborted || callback());
      return { cancel: () => cancelled.abort() };
    },
  };
  const settings = { bucket: 'audit', root: '', credentials: 'ambient' as const };
  const client = new GcsClient({ settings, environment, clock });
  const response = client.send({ method: 'GET', path: '/storage/v1/b/audit/o' });
  await expect(response).rejects.toMatchObject({ code: 'ETIMEDOUT' });
  expect(delays).toEqual([60_000]);
  expect(proxy.requests).toHaveLength(1);
  await client.close();
});

/** Tests requests to Google Cloud Storage through a proxy that does not answer. */
import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { GcsClient } from '../../../src/destination/gcs/gcs-client.ts';
import { credentialsOfKeyFile } from '../../../src/destination/gcs/gcs-settings.ts';
import { newServiceAccountKey } from '../../support/fake-gcs-server.ts';
import { RefusingProxy } from '../../support/refusing-proxy.ts';

test('a request for a tunnel that the proxy does not answer is sent three times in all, like other requests', async () => {
  const proxy = new RefusingProxy();
  proxy.isSilent = true;
  await proxy.start();
  onTestFinished(() => proxy.stop());
  const credentials = credentialsOfKeyFile(newServiceAccountKey());
  if (!credentials) throw new Error('the key is not valid');
  const settings = { bucket: 'audit', root: '', endpoint: 'https://store.invalid:9000', credentials };
  const environment = { HTTPS_PROXY: `http://${proxy.address}` };
  const client = new GcsClient({ settings, environment, clock: systemClock, connectTimeoutMs: 100 });
  const answer = client.send({ method: 'GET', path: '/storage/v1/b/audit/o' });
  await expect(answer).rejects.toMatchObject({ code: 'UND_ERR_HEADERS_TIMEOUT' });
  expect(proxy.requests).toHaveLength(3);
  await client.close();
});

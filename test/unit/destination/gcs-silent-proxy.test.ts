/**
 * Tests requests to Google Cloud Storage through a proxy that does not answer. The tests have a file of their own, because undici keeps
 * using the timer functions that exist at its first request, and these tests replace them.
 */
import { expect, onTestFinished, test, vi } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { GcsClient } from '../../../src/destination/gcs/gcs-client.ts';
import { credentialsOfKeyFile } from '../../../src/destination/gcs/gcs-settings.ts';
import { newServiceAccountKey } from '../../support/fake-gcs-server.ts';
import { RefusingProxy } from '../../support/refusing-proxy.ts';

test('a request for a tunnel that the proxy does not answer is sent again, like other requests', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const proxy = new RefusingProxy();
  proxy.isSilent = true;
  await proxy.start();
  onTestFinished(() => proxy.stop());
  const credentials = credentialsOfKeyFile(newServiceAccountKey());
  if (!credentials) throw new Error('the key is not valid');
  const settings = { bucket: 'audit', root: '', endpoint: 'https://store.invalid:9000', credentials };
  const environment = { HTTPS_PROXY: `http://${proxy.address}` };
  const client = new GcsClient({ settings, environment, clock: systemClock });
  const answer = client.send({ method: 'GET', path: '/storage/v1/b/audit/o' }).catch((error: unknown) => error);
  for (let tries = 1; tries <= 3; tries++) {
    await vi.waitFor(() => expect(proxy.requests).toHaveLength(tries));
    await vi.advanceTimersByTimeAsync(8_000);
  }
  expect(await answer).toMatchObject({ code: 'UND_ERR_HEADERS_TIMEOUT' });
  await client.close();
});

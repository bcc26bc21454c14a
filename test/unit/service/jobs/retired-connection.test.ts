/** Tests that an open search job keeps its connection and its old credentials. */
import { expect, test } from 'vitest';
import { SecretText } from '../../../../src/base/secret-text.ts';
import { ClientWorld } from '../../../support/client-world.ts';
import { serviceOrigin } from '../../../support/service-world.ts';

function connected(world: ClientWorld) {
  return world.connect()({
    address: { origin: serviceOrigin, basePath: '/api' },
    ...{ accessId: 'id', accessKey: new SecretText('key'), allowedHosts: [], caCertificates: undefined },
    budget: world.budget.key('id'),
  });
}

test('serves the job to its end, sends no upgrade requests, and is closed a little later', async () => {
  const world = new ClientWorld({ search: { duration: '90s' } });
  const { service, searches, drain } = connected(world);
  const job = await world.run(searches.open(world.order));
  let isDrained = false;
  const draining = drain().then(() => {
    isDrained = true;
  });
  const refusal = service.listBuilds().catch((error: unknown) => error);
  expect(await world.run(refusal)).toMatchObject({ code: 'service.closed' });
  expect(world.requests('listBuilds')).toEqual([]);
  expect(await world.run(job.whenFinished())).toMatchObject({ messageCount: 600 });
  expect(isDrained).toBe(false);
  await world.run(job.close());
  expect(world.counters()).toMatchObject({ jobsCreated: 1, jobsActive: 0 });
  const closedMs = world.clock.monotonic();
  await world.run(draining);
  // The connection stays open for about ten seconds after the last job has been deleted.
  expect(world.clock.monotonic() - closedMs).toBeGreaterThanOrEqual(9_000);
  const late = searches.open(world.order).catch((error: unknown) => error);
  expect(await world.run(late)).toMatchObject({ code: 'service.closed' });
});

test('is closed immediately without a job, or on request', async () => {
  const world = new ClientWorld();
  await connected(world).drain();
  const { searches, drain, close } = connected(world);
  await world.run(searches.open(world.order));
  const draining = drain();
  await close();
  await draining;
  expect(world.counters().jobsActive).toBe(1);
});

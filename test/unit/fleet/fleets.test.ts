/**
 * Tests what policies share. All policies of an account share a collector list, and all accounts of a service share a
 * table of collector owners.
 */
import { expect, test } from 'vitest';
import type { Account } from '../../../src/account/accounts.ts';
import { silentLogger } from '../../../src/base/log.ts';
import { Fleets } from '../../../src/fleet/fleets.ts';
import type { SearchJobs } from '../../../src/service/jobs/search-jobs.ts';
import { FakeUpgradeService } from '../../support/fake-upgrade-service.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';
import { claimant } from '../policy/builders.ts';

function world() {
  const clock = new VirtualClock();
  const reported: string[] = [];
  const fleets = new Fleets({
    clock,
    log: silentLogger,
    active: () => true,
    onOwnersChanged: ({ uid }) => reported.push(uid),
  });
  const service = new FakeUpgradeService(clock);
  const searches = {} as SearchJobs;
  const serviceId = 'https://logs.test/api';
  const account = (id: string): Account => ({
    ...{ serviceId, id, service, searches, requestsPerSecond: 4, user: id, fingerprint: id },
  });
  return { clock, fleets, account, service, reported };
}

test('U9: policies of one account share its listing', () => {
  const { fleets, account } = world();
  const shared = account('a');
  expect(fleets.use(shared, 'p')).toBe(fleets.use(shared, 'q'));
  expect(fleets.use(account('b'), 'p')).not.toBe(fleets.use(shared, 'p'));
});

test('a listing is closed after its last user', async () => {
  const { clock, fleets, account, service } = world();
  const shared = account('a');
  const listing = fleets.use(shared, 'p');
  fleets.use(shared, 'q');
  fleets.release(shared, 'p');
  fleets.release(shared, 'p');
  expect(fleets.use(shared, 'q')).toBe(listing);
  fleets.release(shared, 'q');
  listing.requestBuilds(0);
  await clock.advance(1_000);
  expect(service.lists).toEqual([]);
  expect(fleets.use(shared, 'p')).not.toBe(listing);
});

test('a policy that has released its listing is no longer notified, and its resync interval no longer applies', async () => {
  const { clock, fleets, account, service } = world();
  const shared = account('a');
  const listing = fleets.use(shared, 'p');
  fleets.use(shared, 'q');
  let notified = 0;
  listing.addUser('p', { secret: 'logging/log-service', resyncMs: 1_000, onChange: () => notified++ });
  fleets.release(shared, 'p');
  listing.requestSweep(0);
  await clock.advance(500);
  const { length } = service.lists;
  await clock.advance(60_000);
  expect([notified, service.lists.length]).toEqual([0, length]);
});

test('a new key for the same account reads the fleet again, and a late release of the old key has no effect', () => {
  const { fleets, account } = world();
  const [old, renewed] = [account('a'), account('a')];
  const before = fleets.use(old, 'p');
  const listing = fleets.use(renewed, 'p');
  expect(listing).not.toBe(before);
  fleets.release(old, 'p');
  expect(fleets.use(renewed, 'p')).toBe(listing);
});

test('U13: a service has one ownership table for all accounts, which outlives its users', () => {
  const { fleets, account } = world();
  const ownership = fleets.ownership('https://logs.test/api');
  fleets.use(account('a'), 'p');
  fleets.release(account('a'), 'p');
  expect(fleets.ownership('https://logs.test/api')).toBe(ownership);
  expect(fleets.ownership('https://logs.test/gateway/api')).toBe(ownership);
  expect(fleets.ownership('https://other.test/api')).not.toBe(ownership);
});

test('U7: the listing is requested for a build that no policy of the service targets', async () => {
  const { clock, fleets, account, service } = world();
  fleets.ownership('https://logs.test/api').register(claimant('p', { targetVersion: '19.100-1' }));
  fleets.use(account('a'), 'p').requestSweep(0);
  await clock.advance(1_000);
  expect(service.lists[1]).toBe('19.150-1 0+1000');
});

test('policies concerned by a change of owners are notified', () => {
  const { fleets, reported } = world();
  const ownership = fleets.ownership('https://logs.test/api');
  for (const uid of ['p', 'q']) ownership.register(claimant(uid));
  ownership.claim('p', '1');
  ownership.claim('q', '1');
  ownership.announce();
  expect(reported).toEqual(['p']);
});

test('a reset forgets everything, since another process may have acted', async () => {
  const { clock, fleets, account, service } = world();
  const shared = account('a');
  const listing = fleets.use(shared, 'p');
  const ownership = fleets.ownership(shared.serviceId);
  fleets.reset();
  listing.requestBuilds(0);
  await clock.advance(1_000);
  expect(service.lists).toEqual([]);
  expect(fleets.use(shared, 'p')).not.toBe(listing);
  expect(fleets.ownership(shared.serviceId)).not.toBe(ownership);
});

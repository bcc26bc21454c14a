/** Tests policies that share a service, but have different settings and URL paths. */
import { expect, test } from 'vitest';
import { minuteMs } from '../../../src/base/time-units.ts';
import { policiesPath, policyDefaults, World } from '../../support/world.ts';

const posts = (world: World) => world.journal.filter(({ method }) => method === 'POST');

test('two Secrets with one access id and different settings have separate listings, and both rollouts complete', async () => {
  const world = new World({
    scenario: {
      builds: ['19.100-1', '19.150-1', '19.200-1'],
      groups: { web: { count: 6, version: '19.100-1' }, db: { count: 6, version: '19.100-1' } },
      upgrade: { duration: '30s' },
    },
  });
  world.addSecret('one');
  world.addSecret('other', { allowedHosts: 'elsewhere.example.com' });
  world.addPolicy('web', {
    credentialsSecretRef: { name: 'one' },
    target: { version: '19.200-1' },
    selector: { matchNames: ['web-*'] },
  });
  world.addPolicy('db', {
    credentialsSecretRef: { name: 'other' },
    target: { version: '19.200-1' },
    selector: { matchNames: ['db-*'] },
  });
  world.start();
  const both = () => ['web', 'db'].every((name) => world.ready(name)?.status === 'True');
  expect(await world.until(both, 20 * minuteMs)).toBe(true);
  expect(posts(world)).toHaveLength(12);
});

test('U13: a collector belongs to one policy of the host, whatever the path of the address', async () => {
  const world = new World({
    scenario: {
      basePaths: ['/api', '/other'],
      builds: ['19.100-1', '19.150-1', '19.200-1', '19.300-1'],
      groups: { web: { count: 6, version: '19.100-1' } },
      upgrade: { duration: '30s' },
    },
  });
  world.addSecret('one');
  world.addSecret('other', { baseURL: 'https://logs.example.com/other' });
  world.addPolicy('first', { credentialsSecretRef: { name: 'one' }, target: { version: '19.200-1' }, priority: 1 });
  world.addPolicy('second', { credentialsSecretRef: { name: 'other' }, target: { version: '19.300-1' } });
  world.start();
  expect(await world.until(() => world.ready('first')?.status === 'True', 20 * minuteMs)).toBe(true);
  await world.clock.advance(20 * minuteMs);
  expect(posts(world)).toHaveLength(6);
  expect(world.policy('second')?.status?.collectors).toMatchObject({ matched: 6, foreign: 6 });
});

test('U13: a policy owns its collectors also while its target is not offered', async () => {
  const world = new World({
    scenario: {
      builds: ['19.100-1', '19.150-1', '19.200-1'],
      groups: { web: { count: 6, version: '19.100-1' } },
      upgrade: { duration: '30s' },
    },
  });
  world.addSecret();
  world.addPolicy('first', { target: { version: '19.999-9' }, priority: 1 });
  world.addPolicy('second', { target: { version: '19.150-1' } });
  world.start();
  expect(await world.until(() => world.ready('first')?.reason === 'VersionNotOffered', minuteMs)).toBe(true);
  await world.clock.advance(20 * minuteMs);
  expect(posts(world)).toHaveLength(0);
  expect(world.policy('second')?.status?.collectors).toMatchObject({ matched: 6, foreign: 6 });
  world.api.patch(`${policiesPath}/first`, { spec: { target: { version: '19.200-1' } } });
  expect(await world.until(() => world.ready('first')?.status === 'True', 20 * minuteMs)).toBe(true);
  expect(posts(world)).toHaveLength(6);
});

test('U2: no POST is sent for a collector that is no longer selected, although its attempt was written', async () => {
  const world = new World({
    scenario: {
      builds: ['19.100-1', '19.150-1', '19.200-1'],
      groups: { db: { count: 10, version: '19.100-1' }, web: { count: 10, version: '19.100-1' } },
      upgrade: { duration: '30s' },
    },
  });
  world.addSecret();
  world.addPolicy('production', { target: { version: '19.200-1' } });
  world.start();
  await world.until(() => posts(world).length >= 2, minuteMs);
  world.api.patch(`${policiesPath}/production`, { spec: { selector: { matchNames: ['web-*'] } } });
  const before = posts(world).length;
  expect(await world.until(() => world.ready('production')?.status === 'True', 20 * minuteMs)).toBe(true);
  const names = new Map(world.snapshot().collectors.map(({ id, name }) => [id, name]));
  // Before the operator notices the change to the policy, it may request up to four more upgrades.
  const later = posts(world).slice(before + 4);
  expect(later.filter(({ collectorId }) => names.get(collectorId ?? '')?.startsWith('db-'))).toEqual([]);
});

test('U11: a withdrawn build stalls the policy, and refused collectors are tried when the build returns', async () => {
  const builds = ['19.100-1', '19.150-1', '19.200-1'];
  const world = new World({
    scenario: { builds, groups: { web: { count: 60, version: '19.100-1' } }, upgrade: { duration: '2m' } },
  });
  world.addSecret();
  world.addPolicy('production', { ...policyDefaults, target: { version: '19.200-1' } });
  world.start();
  await world.until(() => posts(world).length >= 10, minuteMs);
  world.model.patch({ builds: builds.slice(0, 2) }, world.clock.now());
  expect(await world.until(() => world.ready('production')?.reason === 'VersionNotOffered', minuteMs)).toBe(true);
  const refused = posts(world).filter(({ code }) => code?.endsWith('collector.version.invalid')).length;
  expect(refused).toBeGreaterThan(0);
  expect(refused).toBeLessThanOrEqual(20);
  await world.clock.advance(10 * minuteMs);
  world.model.patch({ builds }, world.clock.now());
  expect(await world.until(() => world.ready('production')?.status === 'True', 60 * minuteMs)).toBe(true);
  expect(world.policy('production')?.status?.collectors).toMatchObject({ matched: 60, updated: 60 });
});

test('U5: a POST without a response does not count as in flight forever', async () => {
  const world = new World({
    scenario: {
      builds: ['19.100-1', '19.150-1', '19.200-1'],
      groups: { web: { count: 3, version: '19.100-1' } },
      upgrade: { duration: '30s' },
      faults: { broken: { kind: 'status', status: 500, operations: ['createTask'], collectors: ['web-0001'] } },
    },
  });
  world.addSecret();
  world.addPolicy('production', {
    target: { version: '19.200-1' },
    strategy: { maxInProgress: 1, order: 'Name' },
    retryPolicy: { limit: 0, backoff: { duration: '1m', factor: 1, cap: '1m' } },
  });
  world.start();
  expect(await world.until(() => world.ready('production')?.reason === 'CollectorsFailed', 120 * minuteMs)).toBe(true);
  expect(world.policy('production')?.status?.collectors).toMatchObject({ updated: 2, failed: 1 });
});

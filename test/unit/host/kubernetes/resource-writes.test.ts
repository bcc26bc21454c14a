/** Tests that a status write fails if the resource has been changed in the meantime. */
import { expect, test } from 'vitest';
import type { CollectorVersionPolicy, SearchExport } from '../../../../src/api/kinds.ts';
import { resourcePath } from '../../../../src/host/kubernetes/api-paths.ts';
import type { KubernetesHost } from '../../../../src/host/kubernetes/kubernetes-host.ts';
import { codeOf, createPolicy, createWorld, hostOf, type KubernetesWorld, policies, retarget } from './world.ts';

const key = { namespace: 'logging', name: 'production' };
const path = resourcePath(policies, 'logging', 'production');

async function setting(): Promise<{ world: KubernetesWorld; host: KubernetesHost }> {
  const world = createWorld();
  createPolicy(world, 'production');
  const host = hostOf(world);
  host.start();
  await world.clock.advance(1_000);
  return { world, host };
}

function cached(host: KubernetesHost): CollectorVersionPolicy {
  return host.resources(policies).get(key) as CollectorVersionPolicy;
}

function withTarget(policy: CollectorVersionPolicy, targetVersion: string): CollectorVersionPolicy {
  return { ...policy, status: { ...policy.status, targetVersion } as NonNullable<CollectorVersionPolicy['status']> };
}

function write(world: KubernetesWorld, host: KubernetesHost, targetVersion: string): Promise<CollectorVersionPolicy> {
  return world.clock.during(host.writeStatus(policies, withTarget(cached(host), targetVersion)));
}

test('a written status can be read immediately, and the next write needs no watch event', async () => {
  const { world, host } = await setting();
  world.server.onWatchEvent = () => ({ kind: 'drop' });
  for (const version of ['1.0-1', '1.0-2', '1.0-3']) {
    const written = await write(world, host, version);
    expect(written.status?.targetVersion).toBe(version);
    expect(cached(host)).toEqual(written);
  }
  expect(world.server.get(path)?.status).toMatchObject({ targetVersion: '1.0-3' });
  expect(world.server.get(path)?.metadata.generation).toBe(1);
});

test('late events of own writes neither revert the cache nor call listeners', async () => {
  const { world, host } = await setting();
  let heard = 0;
  host.resources(policies).subscribe(() => {
    heard++;
  });
  world.server.onWatchEvent = () => ({ kind: 'delay', delayMs: 2_000 });
  await write(world, host, '1.0-1');
  await write(world, host, '1.0-2');
  for (let step = 0; step < 50; step++) {
    await world.clock.advance(100);
    expect(cached(host).status?.targetVersion).toBe('1.0-2');
  }
  expect(heard).toBe(0);
});

function heardFrom(host: KubernetesHost): readonly string[] {
  const heard: string[] = [];
  host.resources(policies).subscribe(({ name }) => heard.push(name));
  return heard;
}

/**
 * Delays status writes. A write takes effect after half of the delay, and its response arrives after the whole delay.
 */
function delayWrites(world: KubernetesWorld, delayMs: number): void {
  world.server.onRequest = ({ subresource }) => (subresource === 'status' ? { kind: 'delay', delayMs } : undefined);
}

test('a write that the watch reports before its response can be read immediately, and calls no listener (C4)', async () => {
  const { world, host } = await setting();
  const heard = heardFrom(host);
  delayWrites(world, 4_000);
  const writing = write(world, host, '1.0-1');
  await world.clock.advance(3_000);
  expect(cached(host).status?.targetVersion).toBe('1.0-1');
  await writing;
  await world.clock.advance(10_000);
  expect(heard).toEqual([]);
});

test.each([
  ['before our write takes effect', 1_000, 'host.conflict'],
  ['after our write has taken effect', 6_000, 'no error'],
])('a change by another writer %s calls the listeners once the write has ended (C4)', async (_, atMs, code) => {
  const { world, host } = await setting();
  const heard = heardFrom(host);
  delayWrites(world, 8_000);
  const writing = codeOf(write(world, host, '1.0-1'));
  await world.clock.advance(atMs);
  retarget(world, 'production', '19.501-1');
  await world.clock.advance(10);
  expect(cached(host).spec.target.version).toBe('19.501-1');
  expect(heard).toEqual([]);
  await expect(writing).resolves.toBe(code);
  await world.clock.advance(10_000);
  expect(heard).toEqual(['production']);
});

test('a write whose response is lost calls the listeners, since its writer is unknown (C4)', async () => {
  const { world, host } = await setting();
  const heard = heardFrom(host);
  world.server.onRequest = ({ subresource }) =>
    subresource === 'status' ? { kind: 'stall', when: 'after' } : undefined;
  await expect(codeOf(write(world, host, '1.0-1'))).resolves.toBe('host.unreachable');
  await world.clock.advance(10);
  expect(heard).toEqual(['production']);
});

test('a change between two concurrent writes calls the listeners, whichever response comes last (C4)', async () => {
  const { world, host } = await setting();
  const heard = heardFrom(host);
  const delays = [8_000, 200];
  world.server.onRequest = ({ subresource }) =>
    subresource === 'status' ? { kind: 'delay', delayMs: delays.shift() ?? 0 } : undefined;
  const first = codeOf(write(world, host, '1.0-1'));
  retarget(world, 'production', '19.501-1');
  await world.clock.advance(10);
  await expect(codeOf(write(world, host, '1.0-2'))).resolves.toBe('no error');
  await expect(first).resolves.toBe('host.conflict');
  await world.clock.advance(10);
  expect(heard).toEqual(['production']);
});

test('a resource that is deleted and created again during a write calls the listeners twice (C4)', async () => {
  const { world, host } = await setting();
  const heard = heardFrom(host);
  delayWrites(world, 8_000);
  const writing = codeOf(write(world, host, '1.0-1'));
  world.server.remove(path);
  createPolicy(world, 'production');
  await world.clock.advance(10);
  expect(heard).toEqual(['production', 'production']);
  await expect(writing).resolves.toBe('host.conflict');
});

test('a list that was sent before a write and returned after it does not undo the write', async () => {
  const { world, host } = await setting();
  world.server.onRequest = ({ method, name }) =>
    method === 'GET' && name === undefined ? { kind: 'delay', delayMs: 10_000 } : undefined;
  world.server.compact();
  for (const watch of world.server.watches) watch.expire();
  await world.clock.advance(7_000);
  await write(world, host, '1.0-1');
  for (let step = 0; step < 100; step++) {
    await world.clock.advance(100);
    expect(cached(host).status?.targetVersion).toBe('1.0-1');
  }
});

test('a change by another writer after an own write reaches the cache', async () => {
  const { world, host } = await setting();
  await write(world, host, '1.0-1');
  retarget(world, 'production', '19.501-1');
  await world.clock.advance(10);
  expect(cached(host).spec.target.version).toBe('19.501-1');
  expect(cached(host).status?.targetVersion).toBe('1.0-1');
});

test('a change by another writer that arrives before the response to an own write stays', async () => {
  const { world, host } = await setting();
  world.server.onRequest = ({ subresource }) =>
    subresource === 'status' ? { kind: 'delay', delayMs: 8_000 } : undefined;
  const writing = write(world, host, '1.0-1');
  await world.clock.advance(6_000);
  retarget(world, 'production', '19.501-1');
  await writing;
  expect(cached(host).spec.target.version).toBe('19.501-1');
  expect(cached(host).status?.targetVersion).toBe('1.0-1');
});

test('refuses a status for a resource that was deleted and created again', async () => {
  const { world, host } = await setting();
  const policy = withTarget(cached(host), '1.0-1');
  const other = { ...policy, metadata: { ...policy.metadata, uid: 'another' } };
  expect(await codeOf(world.clock.during(host.writeStatus(policies, other)))).toBe('host.conflict');
});

test('a write based on a version that another writer changed fails with a conflict', async () => {
  const { world, host } = await setting();
  world.server.onWatchEvent = () => ({ kind: 'drop' });
  retarget(world, 'production', '19.501-1');
  expect(await codeOf(write(world, host, '1.0-1'))).toBe('host.conflict');
  expect(world.server.get(path)?.status).toBeUndefined();
});

test('a resource that was created again does not accept the status of its predecessor', async () => {
  const { world, host } = await setting();
  world.server.onWatchEvent = () => ({ kind: 'drop' });
  world.server.remove(path);
  createPolicy(world, 'production');
  expect(await codeOf(write(world, host, '1.0-1'))).toBe('host.conflict');
});

test('a write to a deleted resource fails with host.gone', async () => {
  const { world, host } = await setting();
  world.server.onWatchEvent = () => ({ kind: 'drop' });
  world.server.remove(path);
  expect(await codeOf(write(world, host, '1.0-1'))).toBe('host.gone');
});

test('after a write whose response was lost the next write conflicts until an event arrives', async () => {
  const { world, host } = await setting();
  let lost = 0;
  world.server.onRequest = ({ subresource }) =>
    subresource === 'status' && lost++ === 0 ? { kind: 'reset', when: 'after' } : undefined;
  const first = cached(host);
  expect(await codeOf(world.clock.during(host.writeStatus(policies, withTarget(first, '1.0-1'))))).toBe(
    'host.unreachable',
  );
  await world.clock.advance(10);
  expect(cached(host).status?.targetVersion).toBe('1.0-1');
  expect(await codeOf(world.clock.during(host.writeStatus(policies, withTarget(first, '1.0-2'))))).toBe(
    'host.conflict',
  );
  expect(await codeOf(write(world, host, '1.0-2'))).toBe('no error');
});

test('a write without a response fails at its deadline', async () => {
  const { world, host } = await setting();
  world.server.onRequest = ({ subresource }) =>
    subresource === 'status' ? { kind: 'stall', when: 'before' } : undefined;
  expect(await codeOf(write(world, host, '1.0-1'))).toBe('host.unreachable');
});

test('a refused write leads to a new list if its watch event was lost', async () => {
  const { world, host } = await setting();
  world.server.onWatchEvent = () => ({ kind: 'drop' });
  retarget(world, 'production', '19.501-1');
  await world.clock.advance(60_000);
  world.server.onWatchEvent = () => undefined;
  expect(cached(host).spec.target.version).not.toBe('19.501-1');
  await expect(codeOf(write(world, host, '1.0-1'))).resolves.toBe('host.conflict');
  await world.clock.advance(30_000);
  expect(cached(host).spec.target.version).toBe('19.501-1');
});

test('a refused write whose watch event is only late causes no list', async () => {
  const { world, host } = await setting();
  world.server.onWatchEvent = () => ({ kind: 'delay', delayMs: 500 });
  retarget(world, 'production', '19.501-1');
  await expect(codeOf(write(world, host, '1.0-1'))).resolves.toBe('host.conflict');
  const lists = () =>
    world.server.requests.filter(({ method, path: at }) => method === 'GET' && !at.endsWith('production')).length;
  const before = lists();
  await world.clock.advance(60_000);
  expect(lists()).toBe(before);
});

test('a resource that changed after it was read is not removed', async () => {
  const { world, host } = await setting();
  const before = cached(host);
  world.server.onWatchEvent = () => ({ kind: 'drop' });
  retarget(world, 'production', '19.501-1');
  expect(await world.clock.during(codeOf(host.remove(before)))).toBe('host.conflict');
  expect(world.server.get(path)).toBeDefined();
});

test('a created resource is recognized by its owner', async () => {
  const { world, host } = await setting();
  const create = (owner: string) => {
    const metadata = { namespace: 'logging', name: 'hourly-1', labels: {}, annotations: {} };
    const ownerRef = { kind: 'SearchExportSchedule', namespace: 'logging', name: 'hourly', uid: owner } as const;
    const spec = {} as SearchExport['spec'];
    return world.clock.during(host.create({ kind: 'SearchExport', metadata, spec, owner: ownerRef }));
  };
  expect([await create('u1'), await create('u1'), await create('u2')]).toEqual(['created', 'exists', 'taken']);
  // If the existing resource disappears before it is read, the creation is tried again later.
  world.server.remove(resourcePath('SearchExport', 'logging', 'hourly-1'));
  world.server.onRequest = ({ method }) =>
    method === 'POST' ? { kind: 'status', status: 409, when: 'before' } : undefined;
  expect(await codeOf(create('u1'))).toBe('host.conflict');
});

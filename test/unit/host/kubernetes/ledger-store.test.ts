/** Ledgers in ConfigMaps: what is written stands, what somebody else changed is noticed, and nothing is listed. */
import { expect, test } from 'vitest';
import { seededRandom } from '../../../../src/base/random.ts';
import { type LedgerShard, maxShardBytes, type OwnerRef } from '../../../../src/host/host.ts';
import { configMapPath, resourcePath } from '../../../../src/host/kubernetes/api-paths.ts';
import { ConfigMapLedgerStore } from '../../../../src/host/kubernetes/ledger-store.ts';
import type { StoredObject } from '../../../support/memory-api-store.ts';
import { clientOf, codeOf, createPolicy, createWorld, ownerOf, policies, resolved, type World } from './world.ts';

interface Setting {
  readonly world: World;
  readonly store: ConfigMapLedgerStore;
  readonly owner: OwnerRef;
}

function setting(): Setting {
  const world = createWorld({ garbageCollectionMs: 1_000 });
  return { world, store: new ConfigMapLedgerStore(clientOf(world)), owner: ownerOf(createPolicy(world, 'production')) };
}

function configMaps(world: World): readonly StoredObject[] {
  return world.server.store.objects('v1/configmaps');
}

function contents(ledger: ReadonlyMap<string, LedgerShard>): Record<string, string> {
  return Object.fromEntries([...ledger].map(([shard, { content }]) => [shard, content]));
}

async function write(
  { world, store, owner }: Setting,
  shard: string,
  content: string,
  expected?: string,
): Promise<string> {
  return resolved(world, store.write(owner, shard, content, expected));
}

async function read({ world, store, owner }: Setting): Promise<ReadonlyMap<string, LedgerShard>> {
  return resolved(world, store.read(owner));
}

test('a resource without a ledger has an empty one', async () => {
  expect(contents(await read(setting()))).toEqual({});
});

test('what is written is read, shard by shard, with the version to go on from', async () => {
  const at = setting();
  const first = await write(at, 'head', 'one');
  const second = await write(at, 'head', 'two', first);
  await write(at, 'log-0', 'a log');
  const ledger = await read(at);
  expect(contents(ledger)).toEqual({ head: 'two', 'log-0': 'a log' });
  expect(ledger.get('head')?.version).toBe(second);
});

test('each ConfigMap belongs to the resource, and goes with it', async () => {
  const at = setting();
  await write(at, 'head', 'one');
  for (const { metadata } of configMaps(at.world)) {
    expect(metadata.namespace).toBe('logging');
    expect(metadata.name).toMatch(/^production-[0-9a-f]{10}-ledger(-head)?$/);
    expect(metadata.ownerReferences).toEqual([
      {
        apiVersion: 'logfleet.dev/v1alpha1',
        kind: policies,
        name: 'production',
        uid: at.owner.uid,
        controller: true,
        blockOwnerDeletion: false,
      },
    ]);
  }
  at.world.server.remove(resourcePath(policies, 'logging', 'production'));
  await at.world.clock.advance(2_000);
  expect(configMaps(at.world)).toEqual([]);
});

test('of two writers that go on from the same version one is told of the conflict', async () => {
  const at = setting();
  const version = await write(at, 'head', 'one');
  await write(at, 'head', 'two', version);
  expect(await codeOf(write(at, 'head', 'other', version))).toBe('host.conflict');
  expect(await codeOf(write(at, 'head', 'other'))).toBe('host.conflict');
  expect(contents(await read(at))).toEqual({ head: 'two' });
});

test('a shard that was deleted since it was read is a conflict', async () => {
  const at = setting();
  const version = await write(at, 'head', 'one');
  for (const { metadata } of configMaps(at.world)) at.world.server.remove(configMapPath('logging', metadata.name));
  expect(await codeOf(write(at, 'head', 'two', version))).toBe('host.conflict');
});

test('two processes that create different shards at once both find theirs in the index', async () => {
  for (let seed = 0; seed < 20; seed++) {
    const world = createWorld({ random: seededRandom(seed) });
    const owner = ownerOf(createPolicy(world, 'production'));
    const names = ['a', 'b', 'c', 'd'];
    const stores = names.map((name) => new ConfigMapLedgerStore(clientOf(world, name)));
    await resolved(world, Promise.all(names.map((name, index) => stores[index]?.write(owner, name, name, undefined))));
    const store = new ConfigMapLedgerStore(clientOf(world));
    expect(contents(await resolved(world, store.read(owner)))).toEqual({ a: 'a', b: 'b', c: 'c', d: 'd' });
  }
});

test('what is read is of one moment, while somebody else still writes', async () => {
  const at = setting();
  const head = await write(at, 'head', '');
  const writer = new ConfigMapLedgerStore(clientOf(at.world, 'old leader'));
  let slow = 1;
  at.world.server.onRequest = ({ client, name }) =>
    client === 'operator' && name?.endsWith('-head') && slow-- > 0 ? { kind: 'delay', delayMs: 500 } : undefined;
  const reading = at.store.read(at.owner);
  const writing = writer.write(at.owner, 'log', 'written before the head', undefined);
  await resolved(
    at.world,
    writing.then(() => writer.write(at.owner, 'head', 'see log', head)),
  );
  const ledger = await resolved(at.world, reading);
  expect(contents(ledger)).toEqual({ head: 'see log', log: 'written before the head' });
});

test.each(['before', 'after'] as const)(
  'a write whose answer is lost %s its effect can be done again after reading',
  async (when) => {
    for (let lost = 1; lost <= 3; lost++) {
      const at = setting();
      let number = 0;
      at.world.server.onRequest = ({ method }) =>
        method !== 'GET' && ++number === lost ? { kind: 'reset', when } : undefined;
      const attempt = await codeOf(write(at, 'head', 'one'));
      expect(attempt).toBe(lost <= 2 ? 'host.unreachable' : 'no error');
      at.world.server.onRequest = () => undefined;
      await write(at, 'head', 'one', (await read(at)).get('head')?.version);
      expect(contents(await read(at))).toEqual({ head: 'one' });
    }
  },
);

test('a resource that was deleted and made again starts with an empty ledger', async () => {
  const at = setting();
  await write(at, 'head', 'one');
  at.world.server.remove(resourcePath(policies, 'logging', 'production'));
  const again = { ...at, owner: ownerOf(createPolicy(at.world, 'production')) };
  expect(contents(await read(again))).toEqual({});
  await write(again, 'head', 'anew');
  expect(contents(await read(again))).toEqual({ head: 'anew' });
});

test('a ConfigMap that bears the name but not the uid is left alone, and says so', async () => {
  const at = setting();
  await write(at, 'head', 'one');
  for (const { metadata } of configMaps(at.world)) {
    at.world.server.patch(configMapPath('logging', metadata.name), {
      metadata: { labels: { 'logfleet.dev/owner-uid': 'other' } },
    });
  }
  expect(await codeOf(read(at))).toBe('ledger.foreign');
});

test('an index that was changed by hand is refused with words', async () => {
  const at = setting();
  await write(at, 'head', 'one');
  const index = configMaps(at.world).find(({ metadata }) => metadata.name.endsWith('-ledger')) as StoredObject;
  for (const shards of ['no JSON', '{}', '["../x"]']) {
    at.world.server.patch(configMapPath('logging', index.metadata.name), { data: { shards } });
    expect(await codeOf(read(at))).toBe('ledger.unreadable');
  }
});

test('a shard takes 512 KiB and not a byte more, counted in bytes', async () => {
  const at = setting();
  const version = await write(at, 'head', 'x'.repeat(maxShardBytes));
  expect(await codeOf(write(at, 'head', `${'x'.repeat(maxShardBytes - 1)}ü`, version))).toBe('ledger.full');
});

test('names of any length give ConfigMaps with names that are taken', async () => {
  const at = setting();
  const owner = ownerOf(createPolicy(at.world, `${'a'.repeat(189)}.${'b'.repeat(60)}`));
  await write({ ...at, owner }, `log-${'9'.repeat(30)}`, 'one');
  for (const { metadata } of configMaps(at.world)) {
    expect(metadata.name.length).toBeLessThanOrEqual(253);
    expect(metadata.name).toMatch(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/);
  }
});

test('nothing is asked but by name', async () => {
  const at = setting();
  await write(at, 'head', 'one');
  await read(at);
  const methods = at.world.server.requests.filter(
    ({ method, path }) => method === 'GET' && path.endsWith('/configmaps'),
  );
  expect(methods).toEqual([]);
});

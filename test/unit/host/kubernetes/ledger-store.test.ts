/** Tests the store that keeps ledgers as Kubernetes resources (U1). */
import { describe, expect, test } from 'vitest';
import { type LedgerShard, maxShardBytes, type OwnerRef } from '../../../../src/host/host.ts';
import { objectPath, resourcePath } from '../../../../src/host/kubernetes/api-paths.ts';
import { KubernetesLedgerStore, LedgerStartList } from '../../../../src/host/kubernetes/ledger-store.ts';
import type { ApiObject } from '../../../support/memory-api-store.ts';
import { clientOf, codeOf, createPolicy, createWorld, type KubernetesWorld, ownerOf, policies } from './world.ts';

interface LedgerStoreSetting {
  readonly world: KubernetesWorld;
  readonly store: KubernetesLedgerStore;
  readonly owner: OwnerRef;
}

function setting(): LedgerStoreSetting {
  const world = createWorld({ garbageCollectionMs: 1_000 });
  const store = new KubernetesLedgerStore({ client: clientOf(world) });
  return { world, store, owner: ownerOf(createPolicy(world, 'production')) };
}

function ledgers(world: KubernetesWorld): readonly ApiObject[] {
  return world.server.store.objects('logfleet.dev/v1alpha1/ledgers');
}

async function write(
  { world, store, owner }: LedgerStoreSetting,
  shard: string,
  content: string,
  expected?: string,
): Promise<string> {
  return world.clock.during(store.write(owner, shard, content, expected, `all of ${shard}`));
}

async function read({ world, store, owner }: LedgerStoreSetting, shard: string): Promise<LedgerShard | undefined> {
  return world.clock.during(store.read(owner, shard));
}

test('a resource without a ledger has no shard', async () => {
  expect(await read(setting(), 'head')).toBeUndefined();
});

test('a shard is read as it was written, with the version for the next write', async () => {
  const at = setting();
  const first = await write(at, 'head', 'one');
  const second = await write(at, 'head', 'two', first);
  await write(at, 'log-0', 'a log');
  expect(await read(at, 'head')).toMatchObject({ content: 'two', version: second });
  expect((await read(at, 'log-0'))?.content).toBe('a log');
});

test('each write is one request', async () => {
  const at = setting();
  const version = await write(at, 'head', 'one');
  await write(at, 'head', 'two', version);
  expect(at.world.server.requests.map(({ method }) => method)).toEqual(['POST', 'PUT']);
});

test('a write requests only the metadata, so that the response does not contain the content', async () => {
  const { world, owner, store } = setting();
  const accepted: (string | undefined)[] = [];
  world.server.onRequest = ({ accept }) => {
    accepted.push(accept);
    return undefined;
  };
  await world.clock.during(store.write(owner, 'head', 'one', undefined));
  await world.clock.during(store.read(owner, 'head'));
  expect(accepted).toEqual([expect.stringContaining('as=PartialObjectMetadata'), undefined]);
});

test('each Ledger is owned by its resource and names its shard', async () => {
  const at = setting();
  await write(at, 'head', 'ü');
  const [{ metadata, ...members } = {} as ApiObject] = ledgers(at.world);
  expect(metadata.namespace).toBe('logging');
  expect(metadata.name).toMatch(/^production-[0-9a-f]{10}-head$/);
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
  expect(members).toMatchObject({
    ...{ kind: 'Ledger', shard: 'head', summary: 'all of head', bytes: 2, content: 'ü' },
    owner: { kind: policies, name: 'production', uid: at.owner.uid },
  });
  at.world.server.remove(resourcePath(policies, 'logging', 'production'));
  await at.world.clock.advance(2_000);
  expect(ledgers(at.world)).toEqual([]);
});

test('one of two writers on the same version gets a conflict', async () => {
  const at = setting();
  const version = await write(at, 'head', 'one');
  await write(at, 'head', 'two', version);
  expect(await codeOf(write(at, 'head', 'other', version))).toBe('host.conflict');
  expect(await codeOf(write(at, 'head', 'other'))).toBe('host.conflict');
  expect((await read(at, 'head'))?.content).toBe('two');
});

test('a write to a deleted Ledger is a conflict', async () => {
  const at = setting();
  const version = await write(at, 'head', 'one');
  for (const { metadata } of ledgers(at.world)) at.world.server.remove(objectPath('ledgers', 'logging', metadata.name));
  expect(await codeOf(write(at, 'head', 'two', version))).toBe('host.conflict');
});

test.each(['before', 'after'] as const)(
  'a write whose response is lost %s its effect can be repeated after a read',
  async (when) => {
    const at = setting();
    at.world.server.onRequest = ({ method }) => (method === 'POST' ? { kind: 'reset', when } : undefined);
    expect(await codeOf(write(at, 'head', 'one'))).toBe('host.unreachable');
    at.world.server.onRequest = () => undefined;
    await write(at, 'head', 'one', (await read(at, 'head'))?.version);
    expect((await read(at, 'head'))?.content).toBe('one');
  },
);

test('a resource that was deleted and created again has no ledger', async () => {
  const at = setting();
  await write(at, 'head', 'one');
  at.world.server.remove(resourcePath(policies, 'logging', 'production'));
  const again = { ...at, owner: ownerOf(createPolicy(at.world, 'production')) };
  expect(await read(again, 'head')).toBeUndefined();
  await write(again, 'head', 'anew');
  expect((await read(again, 'head'))?.content).toBe('anew');
});

test('a Ledger with the right name and another owner is not changed', async () => {
  const at = setting();
  await write(at, 'head', 'one');
  for (const { metadata } of ledgers(at.world)) {
    at.world.server.patch(objectPath('ledgers', 'logging', metadata.name), { owner: { uid: 'other' } });
  }
  expect(await codeOf(read(at, 'head'))).toBe('ledger.foreign');
});

test('a shard has at most 512 KiB, counted in bytes', async () => {
  const at = setting();
  const version = await write(at, 'head', 'x'.repeat(maxShardBytes));
  expect(await codeOf(write(at, 'head', `${'x'.repeat(maxShardBytes - 1)}ü`, version))).toBe('ledger.full');
});

test('owner names of any length give Ledgers with names that an API server accepts', async () => {
  const at = setting();
  const owner = ownerOf(createPolicy(at.world, `${'a'.repeat(189)}.${'b'.repeat(60)}`));
  await write({ ...at, owner }, `log-${'9'.repeat(30)}`, 'one');
  for (const { metadata } of ledgers(at.world)) {
    expect(metadata.name.length).toBeLessThanOrEqual(253);
    expect(metadata.name).toMatch(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/);
  }
});

test('an API server without the kind is reported, for the list and for a write', async () => {
  const at = started();
  at.world.server.onRequest = () => ({ kind: 'status', status: 404, when: 'before' });
  expect(await codeOf(read(at, 'head'))).toBe('ledger.notInstalled');
  expect(await codeOf(write(at, 'head', 'one'))).toBe('ledger.notInstalled');
});

function started(leading = { term: 1 }, allNamespaces = true): LedgerStoreSetting {
  const { world, owner } = setting();
  const client = clientOf(world);
  const leadership = { term: () => leading.term };
  const startList = new LedgerStartList({ client, allNamespaces, leadership, clock: world.clock });
  return { world, owner, store: new KubernetesLedgerStore({ client, startList }) };
}

/**
 * Returns the requests that have read Ledgers since the last call. A list is shown as `list`, and the read of a single
 * Ledger as the last part of its name.
 */
function requestsOf({ world: { server } }: LedgerStoreSetting): readonly string[] {
  return server.requests
    .splice(0)
    .filter(({ method }) => method === 'GET')
    .map(({ path }) => (path.endsWith('/ledgers') ? 'list' : path.slice(path.lastIndexOf('-') + 1)));
}

describe('after a start', () => {
  test('one list reads the shards of all resources, including resources without a ledger', async () => {
    const at = started();
    const owners = Array.from({ length: 120 }, (_, index) => ownerOf(createPolicy(at.world, `policy-${index}`)));
    const writer = new KubernetesLedgerStore({ client: clientOf(at.world, 'former leader') });
    for (const owner of owners.slice(0, 100)) {
      await at.world.clock.during(writer.write(owner, 'head', `head of ${owner.name}`, undefined));
    }
    requestsOf(at);
    const heads = await at.world.clock.during(Promise.all(owners.map((owner) => at.store.read(owner, 'head'))));
    expect(heads.map((head) => head?.content)).toEqual([
      ...owners.slice(0, 100).map(({ name }) => `head of ${name}`),
      ...owners.slice(100).map(() => undefined),
    ]);
    expect(requestsOf(at)).toEqual(['list', 'list']);
  });

  test('an operator for some namespaces lists each separately, and a forbidden namespace affects no other', async () => {
    const at = started({ term: 1 }, false);
    const other = { ...at, owner: ownerOf(createPolicy(at.world, 'production', 'web')) };
    at.world.server.onRequest = ({ namespace }) =>
      namespace === 'web' ? { kind: 'status', status: 403, when: 'before' } : undefined;
    expect(await codeOf(read(other, 'head'))).toBe('host.forbidden');
    expect(await read(at, 'head')).toBeUndefined();
    expect(at.world.server.requests.map(({ path }) => path)).toEqual([
      objectPath('ledgers', 'web'),
      objectPath('ledgers', 'logging'),
    ]);
  });

  test('a shard that is read again is read by name, and so are all shards of its owner from then on', async () => {
    const at = started();
    const writer = { ...at, store: new KubernetesLedgerStore({ client: clientOf(at.world, 'former leader') }) };
    const version = await write(writer, 'head', 'one');
    requestsOf(at);
    expect((await read(at, 'head'))?.content).toBe('one');
    await write(writer, 'log-0', 'a log that the list does not have');
    await write(writer, 'head', 'two, see log-0', version);
    expect((await read(at, 'head'))?.content).toBe('two, see log-0');
    expect((await read(at, 'log-0'))?.content).toBe('a log that the list does not have');
    expect(requestsOf(at)).toEqual(['list', 'head', '0']);
  });

  test('the shards of an owner that was written to are read by name', async () => {
    const at = started();
    expect(await read(at, 'head')).toBeUndefined();
    await write(at, 'log-0', 'a log');
    expect((await read(at, 'log-0'))?.content).toBe('a log');
  });

  test('a new term of leadership reads a new list', async () => {
    const leading = { term: 1 };
    const at = started(leading);
    await read(at, 'head');
    leading.term = 2;
    const writer = { ...at, store: new KubernetesLedgerStore({ client: clientOf(at.world, 'leader between') }) };
    await write(writer, 'head', 'of the leader between');
    requestsOf(at);
    expect((await read(at, 'head'))?.content).toBe('of the leader between');
    expect(requestsOf(at)).toEqual(['list']);
  });

  test('the next read repeats a list that failed', async () => {
    const at = started();
    await write(at, 'head', 'one');
    let faults = 1;
    at.world.server.onRequest = () => (faults-- > 0 ? { kind: 'status', status: 500, when: 'before' } : undefined);
    expect(await codeOf(read(at, 'head'))).toBe('host.unavailable');
    expect((await read(at, 'head'))?.content).toBe('one');
  });

  test('a large shard is read by name', async () => {
    const at = started();
    const writer = { ...at, store: new KubernetesLedgerStore({ client: clientOf(at.world, 'former leader') }) };
    await write(writer, 'head', 'x'.repeat(maxShardBytes));
    requestsOf(at);
    expect((await read(at, 'head'))?.content.length).toBe(maxShardBytes);
    expect(requestsOf(at)).toEqual(['list', 'head']);
  });

  test('shards that exceed 32 MiB together are read by name', async () => {
    const at = started();
    const writer = new KubernetesLedgerStore({ client: clientOf(at.world, 'former leader') });
    const owners = Array.from({ length: 513 }, (_, index) => ownerOf(createPolicy(at.world, `policy-${index}`)));
    const content = 'x'.repeat(64 * 1024);
    for (const owner of owners) await at.world.clock.during(writer.write(owner, 'head', content, undefined));
    requestsOf(at);
    for (const owner of owners) await read({ ...at, owner }, 'head');
    expect(requestsOf(at).filter((request) => request === 'head')).toHaveLength(1);
  });

  test('the list is discarded after ten minutes', async () => {
    const at = started();
    await read(at, 'head');
    await at.world.clock.advance(600_000);
    requestsOf(at);
    const other = { ...at, owner: ownerOf(createPolicy(at.world, 'later')) };
    expect(await read(other, 'head')).toBeUndefined();
    expect(requestsOf(at)).toEqual(['head']);
    expect(await read(other, 'log-0')).toBeUndefined();
    expect(requestsOf(at)).toEqual(['0']);
  });

  test('a process that does not lead reads by name', async () => {
    const at = started({ term: 0 });
    expect(await read(at, 'head')).toBeUndefined();
    expect(requestsOf(at)).toEqual(['head']);
  });
});

/** U1: a ledger in ConfigMaps of an older logfleet is carried over once. A policy does not start anew if such a ledger may exist. */
import { expect, test } from 'vitest';
import { policiesPath, World } from '../../../support/world.ts';
import { minuteMs } from '../../../unit/policy/builders.ts';

const ledgers = 'logfleet.dev/v1alpha1/ledgers';
const ledgersPath = '/apis/logfleet.dev/v1alpha1/namespaces/logging/ledgers';
const configMapsPath = '/api/v1/namespaces/logging/configmaps';

interface StoredLedger {
  readonly metadata: { readonly name: string };
  readonly owner: { readonly uid: string };
  readonly shard: string;
  readonly content: string;
}

const stored = ({ api }: World) => api.store.objects(ledgers) as unknown as readonly StoredLedger[];
const posts = ({ journal }: World) => journal.filter(({ method }) => method === 'POST').length;
const contents = (world: World) => Object.fromEntries(stored(world).map(({ shard, content }) => [shard, content]));

/** An unfinished rollout of six collectors whose operator was stopped, with its whole ledger in ConfigMaps. */
async function oldInstallation() {
  const world = new World({
    scenario: {
      builds: ['19.100-1', '19.150-1', '19.200-1'],
      groups: { web: { count: 6, version: '19.100-1' } },
      upgrade: { duration: '10m' },
    },
    settings: { statusIntervalMs: 1_000 },
  });
  world.addSecret();
  world.addPolicy('production', { target: { latest: true, minAge: '0s' }, strategy: { maxInProgress: 3 } });
  const replica = world.start();
  expect(await world.until(() => posts(world) === 3, minuteMs)).toBe(true);
  await world.clock.advance(5_000);
  replica.kill();
  world.api.create(ledgersPath, {
    ...stored(world)[0],
    shard: 'builds',
    content: '{}',
    metadata: { name: 'x-builds' },
  });
  const before = contents(world);
  makeOld(world);
  return { world, before };
}

/** Moves Ledgers to ConfigMaps and removes the format from status. */
function makeOld(world: World): void {
  const all = stored(world);
  const index = all.find(({ shard }) => shard === 'head')?.metadata.name.replace(/-head$/, '-ledger') ?? '';
  const create = (name: string, data: object) =>
    world.api.create(configMapsPath, {
      ...{ apiVersion: 'v1', kind: 'ConfigMap', data },
      metadata: { name, labels: { 'logfleet.dev/owner-uid': all[0]?.owner.uid } },
    });
  create(index, { shards: JSON.stringify(all.map(({ shard }) => shard)) });
  for (const { shard, content, metadata } of all) {
    create(`${index}-${shard}`, { content });
    world.api.remove(`${ledgersPath}/${metadata.name}`);
  }
  world.api.patch(`${policiesPath}/production/status`, { status: { ledgerFormat: null } });
}

/** Answers of the API server without the Role for the migration. */
function withoutRole({ api }: World): void {
  api.onRequest = ({ collection, method }) =>
    collection === 'v1/configmaps' && method === 'GET' ? { kind: 'status', status: 403, when: 'before' } : undefined;
}

const configMapReads = ({ api }: World) =>
  api.requests.filter(({ method, path }) => method === 'GET' && path.startsWith(`${configMapsPath}/`)).length;

test('every shard becomes a Ledger, and the rollout goes on where it was', async () => {
  const { world, before } = await oldInstallation();
  world.start();
  expect(await world.until(() => stored(world).length === 2, minuteMs)).toBe(true);
  expect(contents(world)).toMatchObject({ builds: before['builds'] });
  expect(await world.until(() => world.ready('production')?.status === 'True', 60 * minuteMs)).toBe(true);
  expect(posts(world)).toBe(6);
  expect(world.policy('production')?.status?.history?.map(({ id }) => id)).toEqual(['1-19.200-1']);
});

test('without the Role the policy is stalled, starts nothing, and goes on once the Role is there', async () => {
  const { world } = await oldInstallation();
  withoutRole(world);
  world.start();
  expect(await world.until(() => world.ready('production')?.reason === 'LedgerMissing', minuteMs)).toBe(true);
  await world.clock.advance(60 * minuteMs);
  expect(posts(world)).toBe(3);
  expect(stored(world)).toEqual([]);
  const stalled = world.policy('production')?.status?.conditions?.find(({ type }) => type === 'Stalled');
  expect(stalled).toMatchObject({ status: 'True', reason: 'LedgerMissing' });
  world.api.onRequest = () => undefined;
  expect(await world.until(() => world.ready('production')?.status === 'True', 60 * minuteMs)).toBe(true);
  expect(posts(world)).toBe(6);
});

test('the Role can go afterwards: no ConfigMap is asked for any more', async () => {
  const { world } = await oldInstallation();
  const replica = world.start();
  expect(await world.until(() => world.policy('production')?.status?.ledgerFormat === 2, minuteMs)).toBe(true);
  replica.kill();
  withoutRole(world);
  const reads = configMapReads(world);
  world.start();
  expect(await world.until(() => world.ready('production')?.status === 'True', 60 * minuteMs)).toBe(true);
  expect(configMapReads(world)).toBe(reads);
});

test('a policy that never had a rollout begins without the Role, and no ConfigMap is asked for', async () => {
  const { world } = await oldInstallation();
  world.api.remove(`${policiesPath}/production`);
  withoutRole(world);
  const reads = configMapReads(world);
  world.addPolicy('second', { target: { version: '19.150-1' }, selector: { matchNames: ['none-*'] } });
  world.api.patch(`${policiesPath}/second/status`, { status: { observedGeneration: 1 } });
  world.start();
  expect(await world.until(() => world.policy('second')?.status?.ledgerFormat === 2, 5 * minuteMs)).toBe(true);
  expect(configMapReads(world)).toBe(reads);
});

test('a ledger that is lost later is no old one: status says what it says', async () => {
  const { world } = await oldInstallation();
  const replica = world.start();
  expect(await world.until(() => world.policy('production')?.status?.ledgerFormat === 2, minuteMs)).toBe(true);
  replica.kill();
  for (const { metadata } of stored(world)) world.api.remove(`${ledgersPath}/${metadata.name}`);
  withoutRole(world);
  world.start();
  expect(await world.until(() => world.ready('production')?.status === 'True', 60 * minuteMs)).toBe(true);
  expect(posts(world)).toBe(6);
});

test.each([
  [1, 'before'],
  [1, 'after'],
  [2, 'before'],
  [2, 'after'],
] as const)('a process that is killed %d writes into it, %s effect, leaves nothing lost', async (write, when) => {
  const { world } = await oldInstallation();
  let writes = 0;
  const first = world.start();
  world.api.onRequest = ({ collection, method }) => {
    if (collection !== ledgers || method !== 'POST' || ++writes !== write) return undefined;
    return { kind: 'reset', when };
  };
  expect(await world.until(() => writes === write, minuteMs)).toBe(true);
  await world.clock.advance(20);
  first.kill();
  world.api.onRequest = () => undefined;
  world.start();
  expect(await world.until(() => world.ready('production')?.status === 'True', 60 * minuteMs)).toBe(true);
  expect(contents(world)['builds']).toBe('{}');
  expect(posts(world)).toBe(6);
});

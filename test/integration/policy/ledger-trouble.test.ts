/** Tests a ledger that the operator cannot read: no upgrade starts until the ledger is repaired (U1). */
import { expect, test } from 'vitest';
import { minuteMs } from '../../../src/base/time-units.ts';
import { ledgersPath, policiesPath, World } from '../../support/world.ts';

const stored = (path: string, world: World) =>
  world.api.get(path) as unknown as { readonly content: string; readonly owner: object };

async function rolledOut() {
  const world = new World({
    scenario: {
      builds: [{ version: '19.100-1' }, { version: '19.150-1' }, { version: '19.200-1', latest: true }],
      groups: { web: { count: 4, version: '19.100-1' } },
      upgrade: { duration: '30s' },
    },
  });
  let head = '';
  world.api.onRequest = ({ name }) => {
    if (name?.endsWith('-head')) head = `${ledgersPath}/${name}`;
    return undefined;
  };
  world.addSecret();
  world.addPolicy('production', { target: { version: '19.200-1' } });
  const replica = world.start();
  expect(await world.until(() => world.ready('production')?.status === 'True', 10 * minuteMs)).toBe(true);
  replica.kill();
  return { world, head };
}

const posts = (world: World) => world.journal.filter(({ method }) => method === 'POST').length;

test.each([
  ['is not JSON', 'LedgerUnreadable', (content: string) => ({ content: content.slice(1) })],
  ['was edited by hand', 'LedgerUnreadable', (content: string) => ({ content: content.replace('"ended":', '"end":') })],
  ['names another owner', 'LedgerForeign', () => ({ owner: { uid: 'other' } })],
])('a ledger that %s', async (_, reason, spoil) => {
  const { world, head } = await rolledOut();
  const good = stored(head, world);
  world.api.patch(head, spoil(good.content));
  world.model.patch({ groups: { web: { count: 6 } } }, world.clock.now());
  const before = posts(world);
  world.start();
  expect(await world.until(() => world.ready('production')?.reason === reason, minuteMs)).toBe(true);
  await world.clock.advance(10 * minuteMs);
  expect(world.ready('production')?.reason).toBe(reason);
  expect(posts(world)).toBe(before);

  world.api.patch(head, { content: good.content, owner: good.owner });
  expect(await world.until(() => world.ready('production')?.status === 'True', 10 * minuteMs)).toBe(true);
});

test('H3: a new target version is not shown next to the counts of the previous one while the ledger cannot be read', async () => {
  const { world, head } = await rolledOut();
  world.api.patch(head, { content: '{' });
  world.api.patch(`${policiesPath}/production`, { spec: { target: { version: '19.150-1' } } });
  world.start();
  expect(await world.until(() => world.ready('production')?.reason === 'LedgerUnreadable', minuteMs)).toBe(true);
  const { targetVersion, summary, versions } = world.policy('production')?.status ?? {};
  expect([targetVersion, summary?.updated, versions]).toEqual(['19.200-1', '4/4', [{ version: '19.200-1', count: 4 }]]);
});

test('without its ledger, a policy counts the upgrades that status shows as running', async () => {
  const world = new World({
    scenario: {
      builds: ['19.100-1', '19.150-1', '19.200-1'],
      groups: { web: { count: 6, version: '19.100-1' } },
      upgrade: { duration: '10m' },
    },
    settings: { statusIntervalMs: 1_000 },
  });
  const names = new Set<string>();
  world.api.onRequest = ({ name, collection }) => {
    if (name !== undefined && collection === 'logfleet.dev/v1alpha1/ledgers') names.add(name);
    return undefined;
  };
  world.addSecret();
  world.addPolicy('production', { target: { version: '19.200-1' } });
  const running = () => world.policy('production')?.status?.tasks?.filter(({ id }) => id !== undefined).length;
  const replica = world.start();
  expect(await world.until(() => running() === 6, minuteMs)).toBe(true);
  replica.kill();
  for (const name of names) world.api.remove(`${ledgersPath}/${name}`);
  expect(names.size).toBe(1);

  world.start();
  expect(await world.until(() => world.ready('production')?.status === 'True', 60 * minuteMs)).toBe(true);
  expect(posts(world)).toBe(6);
});

test.each(['before', 'after'] as const)(
  'U15: a write that fails %s its effect loses no response of the service',
  async (when) => {
    const world = new World({
      scenario: {
        builds: ['19.100-1', '19.150-1', '19.200-1'],
        groups: { web: { count: 60, version: '19.100-1' } },
        upgrade: { duration: '10m' },
      },
    });
    let writes = 0;
    let failed = 0;
    world.api.onRequest = ({ name, method }) => {
      if (!name?.endsWith('-head') || method === 'GET' || ++writes % 3 !== 0) return undefined;
      failed++;
      return { kind: 'status', status: 500, when };
    };
    world.addSecret();
    world.addPolicy('production', { target: { version: '19.200-1' } });
    world.start();
    expect(await world.until(() => world.ready('production')?.status === 'True', 120 * minuteMs)).toBe(true);
    expect(failed).toBeGreaterThan(3);
    expect(posts(world)).toBe(60);
  },
);

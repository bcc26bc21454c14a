/** Tests a policy whose ledger was written by an older version of logfleet (U1). */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { minuteMs } from '../../../../src/base/time-units.ts';
import { ledgersPath, policiesPath, World } from '../../../support/world.ts';

const posts = ({ journal }: World) => journal.filter(({ method }) => method === 'POST').length;

async function runningRollout() {
  const world = new World({
    scenario: {
      builds: ['19.100-1', '19.150-1', '19.200-1'],
      groups: { web: { count: 6, version: '19.100-1' } },
      upgrade: { duration: '10m' },
    },
    settings: { statusIntervalMs: 1_000 },
  });
  world.addSecret();
  world.addPolicy('production', { target: { channel: 'Latest' }, strategy: { maxInProgress: 3 } });
  const replica = world.start();
  expect(await world.until(() => posts(world) === 3, minuteMs)).toBe(true);
  await world.clock.advance(5_000);
  replica.kill();
  return world;
}

const ledgers = (world: World) => world.api.store.objects('logfleet.dev/v1alpha1/ledgers');

async function interruptedRollout() {
  const world = await runningRollout();
  for (const { metadata } of ledgers(world)) world.api.remove(`${ledgersPath}/${metadata.name}`);
  return world;
}

const withoutFormat = (world: World) =>
  world.api.patch(`${policiesPath}/production/status`, { status: { ledgerFormat: null } });

test('the status and docs/upgrade.md show the format of the stored ledger', async () => {
  const world = await runningRollout();
  const head = ledgers(world).find(({ metadata }) => metadata.name.endsWith('-head'));
  const { format } = JSON.parse(String(head?.content));
  expect(world.policy('production')?.status?.ledgerFormat).toBe(format);
  const page = readFileSync(join(import.meta.dirname, '../../../../docs/upgrade.md'), 'utf8');
  expect(page).toContain(`| ledgers of policies | ${format} |`);
});

test('a policy with a rollout of an older logfleet is stalled and starts nothing', async () => {
  const world = await interruptedRollout();
  withoutFormat(world);
  world.start();
  expect(await world.until(() => world.ready('production')?.reason === 'LedgerMissing', minuteMs)).toBe(true);
  await world.clock.advance(60 * minuteMs);
  expect(posts(world)).toBe(3);
  const stalled = world.policy('production')?.status?.conditions?.find(({ type }) => type === 'Stalled');
  expect(stalled).toMatchObject({ status: 'True', reason: 'LedgerMissing' });
});

test('the policy starts after it has been deleted and recreated', async () => {
  const world = await interruptedRollout();
  withoutFormat(world);
  world.start();
  expect(await world.until(() => world.ready('production')?.reason === 'LedgerMissing', minuteMs)).toBe(true);
  world.api.remove(`${policiesPath}/production`);
  world.addPolicy('production', { target: { channel: 'Latest' } });
  expect(await world.until(() => world.ready('production')?.status === 'True', 60 * minuteMs)).toBe(true);
});

test('a policy that never had a rollout starts', async () => {
  const world = await interruptedRollout();
  world.api.remove(`${policiesPath}/production`);
  world.addPolicy('second', { target: { version: '19.150-1' }, selector: { matchNames: ['none-*'] } });
  world.api.patch(`${policiesPath}/second/status`, { status: { observedGeneration: 1 } });
  world.start();
  expect(await world.until(() => world.policy('second')?.status?.ledgerFormat !== undefined, 5 * minuteMs)).toBe(true);
});

test('a ledger of this version that is lost does not stall its policy', async () => {
  const world = await interruptedRollout();
  world.start();
  expect(await world.until(() => world.ready('production')?.status === 'True', 60 * minuteMs)).toBe(true);
  expect(posts(world)).toBe(6);
});

test('a policy starts after the older logfleet has ended its rollout', async () => {
  const world = await interruptedRollout();
  const older = world.start();
  expect(await world.until(() => world.ready('production')?.status === 'True', 60 * minuteMs)).toBe(true);
  older.kill();
  for (const { metadata } of ledgers(world)) world.api.remove(`${ledgersPath}/${metadata.name}`);
  withoutFormat(world);
  world.start();
  expect(await world.until(() => world.policy('production')?.status?.ledgerFormat !== undefined, minuteMs)).toBe(true);
  await world.clock.advance(60 * minuteMs);
  expect(world.ready('production')).toMatchObject({ status: 'True', reason: 'AllUpdated' });
  expect(world.policy('production')?.status?.history?.map(({ outcome }) => outcome)).toContain('Completed');
  expect(posts(world)).toBe(6);
});

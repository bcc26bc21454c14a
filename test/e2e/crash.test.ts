/**
 * Kills the operator with `kill -9` at every boundary of an attempt, and loses each answer before or after its effect. The next start
 * completes the rollout by itself, and no collector is upgraded twice (U15).
 */
import { describe, expect, vi } from 'vitest';
import type { FaultScenario } from '../../simulator/scenario.ts';
import { test } from './support/end-to-end.ts';
import { expectPromiseKept } from './support/oracles.ts';
import { olderVersion, oldVersion, type Tenant, targetVersion } from './support/simulator.ts';

vi.setConfig({ maxConcurrency: 100, testTimeout: 300_000 });

const preload = new URL('./support/kill-at-boundary.ts', import.meta.url).href;
const lagMs = 800;

/** Faults beside the crash. */
interface Trouble {
  readonly failures?: boolean;
  readonly lagMs?: number;
}

const none: Trouble = {};
const laggingList: Trouble = { lagMs };
const failingUpgrades: Trouble = { failures: true };

/** Creates a few collectors of two versions. With failures, the first collector of each version fails. */
async function equip(tenant: Tenant, { failures, lagMs }: Trouble, faults: Faults = {}): Promise<void> {
  const outcomes = failures ? [{ end: 'fail', message: 'No space left.', attempts: 1 } as const] : [];
  // Without failures, an upgrade still runs when the operator asks for its lost answer. With failures, it has failed by then.
  const upgrade = { duration: failures ? '500ms' : '4s', outcomes };
  const lag =
    lagMs === undefined ? {} : { lag: { kind: 'lag', lag: `${lagMs}ms`, operations: ['listCollectors'] } as const };
  await tenant.equip({
    groups: { web: { count: failures ? 3 : 5, versions: [oldVersion, olderVersion], upgrade } },
    faults: { ...faults, ...lag },
  });
}

type Faults = Readonly<Record<string, FaultScenario>>;

/** Longest case first, since they start in this order. */
const crashes: readonly (readonly [trouble: Trouble, places: readonly string[]])[] = [
  [failingUpgrades, ['service.createTask:before:2']],
  [failingUpgrades, ['service.createTask:after:3']],
  [failingUpgrades, ['service.getTask:before:1']],
  [failingUpgrades, ['service.getTask:after:1']],
  [failingUpgrades, ['ledger.write:after:1', 'service.createTask:after:2']],
  [laggingList, ['ledger.write:after:1']],
  [laggingList, ['service.createTask:before:2']],
  [laggingList, ['service.createTask:after:2']],
  [laggingList, ['service.createTask:after:1', 'service.createTask:before:1', 'ledger.write:after:1']],
  [none, ['service.listBuilds:after:1']],
  [none, ['service.listCollectors:before:1']],
  [none, ['service.listCollectors:after:1']],
  [none, ['ledger.write:before:1']],
  [none, ['ledger.write:after:1']],
  [none, ['service.createTask:before:1']],
  [none, ['service.createTask:before:4']],
  [none, ['service.createTask:after:1']],
  [none, ['service.createTask:after:1>ledger.write:before:1']],
  [none, ['service.createTask:after:1>ledger.write:after:1']],
  [none, ['service.createTask:after:5']],
  [none, ['status.write:before:2']],
  [none, ['service.createTask:after:1>status.write:after:1']],
  [none, ['service.createTask:after:5>service.listCollectors:before:1']],
  [none, ['service.createTask:after:5>service.listCollectors:after:1']],
  [none, ['service.createTask:after:5>service.listCollectors:after:1>ledger.write:before:1']],
  [none, ['service.createTask:after:5>service.listCollectors:after:1>ledger.write:after:1']],
];

describe.concurrent.each(crashes)('while %j, killed at %j', (trouble, places) => {
  test('the next start upgrades every collector', async ({ tenant, manifests, run }) => {
    await equip(tenant, trouble);
    await manifests.policy('production');
    for (const place of places) {
      const env = { NODE_OPTIONS: `--import ${preload}`, LOGFLEET_TEST_KILL_AT: place };
      expect((await (await run([], { env })).ended).signal).toBe('SIGKILL');
    }
    await expectFinished(tenant, await (await run()).ended);
    await expectPromiseKept(tenant, { ...trouble, retryLimit: 2, kills: places.length });
  });
});

const losses: readonly (readonly [trouble: Trouble, loss: FaultScenario])[] = [
  [failingUpgrades, { kind: 'reset', effect: false }],
  [failingUpgrades, { kind: 'reset', effect: true }],
  [laggingList, { kind: 'reset', effect: false }],
  [laggingList, { kind: 'reset', effect: true }],
  [none, { kind: 'reset', effect: false }],
  [none, { kind: 'reset', effect: true }],
  [none, { kind: 'stall', effect: false }],
  [none, { kind: 'stall', effect: true }],
  [none, { kind: 'status', status: 503, effect: false }],
  [none, { kind: 'status', status: 500, effect: true }],
  [none, { kind: 'truncate' }],
];

describe.concurrent.each(losses)('while %j, answers lost to %j', (trouble, loss) => {
  test('every collector reaches the target', async ({ tenant, manifests, run }) => {
    await equip(tenant, trouble, { lost: { ...loss, operations: ['createTask'], nth: [1, 3] } });
    await manifests.policy('production');
    await expectFinished(tenant, await (await run()).ended);
    expect(tenant.journal().filter(({ fault }) => fault === `${tenant.user}-lost`)).toHaveLength(2);
    await expectPromiseKept(tenant, { ...trouble, retryLimit: 2 });
  });
});

async function expectFinished(
  tenant: Tenant,
  ended: { readonly status: number | null; readonly stdout: string },
): Promise<void> {
  const collectors = await tenant.collectors();
  expect(ended.stdout).toBe(
    `logging/production: AllUpdated: ${collectors.length} of ${collectors.length} collectors run ${targetVersion}.\n`,
  );
  expect(ended.status).toBe(0);
  expect(collectors.filter(({ version }) => version !== targetVersion)).toEqual([]);
}

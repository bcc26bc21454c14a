/**
 * Tests that kill the operator during upgrades, or drop the service's responses. No collector may be upgraded twice
 * (U15).
 */
import { describe, expect } from 'vitest';
import type { FaultScenario } from '../../../simulator/scenario/scenario.ts';
import { test } from './end-to-end.ts';
import { expectPromiseKept } from './oracles.ts';
import { killAtBoundary } from './program.ts';
import { olderVersion, oldVersion, type Tenant, targetVersion } from './simulator.ts';

const lagMs = 800;

/** Additional problems in a test case: failing upgrades, or collector lists that lag by `lagMs`. */
export interface CrashProblems {
  readonly failures?: boolean;
  readonly lagMs?: number;
}

export const none: CrashProblems = {};
export const laggingList: CrashProblems = { lagMs };
export const failingUpgrades: CrashProblems = { failures: true };

/**
 * Creates collectors, some with one version and some with another. If `failures` is set, each collector's first upgrade
 * fails.
 */
async function equip(tenant: Tenant, { failures, lagMs }: CrashProblems, faults: FaultsByName = {}): Promise<void> {
  const outcomes = failures ? [{ end: 'fail', message: 'No space left.', attempts: 1 } as const] : [];
  // The upgrade takes so long that it is still running when the restarted operator sends the upgrade request again.
  const upgrade = { duration: failures ? '500ms' : '4s', outcomes };
  const lag =
    lagMs === undefined ? {} : { lag: { kind: 'lag', lag: `${lagMs}ms`, operations: ['listCollectors'] } as const };
  await tenant.equip({
    groups: { web: { count: failures ? 3 : 5, versions: [oldVersion, olderVersion], upgrade } },
    faults: { ...faults, ...lag },
  });
}

type FaultsByName = Readonly<Record<string, FaultScenario>>;

/**
 * Test case: problems during the upgrades, and the steps of an upgrade at which the test kills the operator. The test
 * restarts the operator after each kill.
 */
export type Crash = readonly [trouble: CrashProblems, places: readonly string[]];

/**
 * Runs the test cases concurrently. The longest cases should come first in the list, because the tests start in this
 * order.
 */
export function testCrashes(crashes: readonly Crash[]): void {
  describe.concurrent.each(crashes)('with the problems %j, an operator that is killed at %j', (trouble, places) => {
    test('upgrades every collector at the next start', async ({ tenant, manifests, run }) => {
      await equip(tenant, trouble);
      await manifests.policy('production');
      for (const place of places) {
        const env = { NODE_OPTIONS: `--import ${killAtBoundary}`, LOGFLEET_TEST_KILL_AT: place };
        expect((await (await run([], { env })).ended).signal).toBe('SIGKILL');
      }
      await expectFinished(tenant, await (await run()).ended);
      await expectPromiseKept(tenant, { ...trouble, retryLimit: 2, kills: places.length });
    });
  });
}

/**
 * Test case: problems during the upgrades, and the fault that drops the responses to the first and third upgrade
 * requests.
 */
export type Loss = readonly [trouble: CrashProblems, loss: FaultScenario];

export function testLosses(losses: readonly Loss[]): void {
  describe.concurrent.each(losses)('with the problems %j, an operator that loses responses by %j', (trouble, loss) => {
    test('upgrades every collector', async ({ tenant, manifests, run }) => {
      await equip(tenant, trouble, { lost: { ...loss, operations: ['createTask'], nth: [1, 3] } });
      await manifests.policy('production');
      await expectFinished(tenant, await (await run()).ended);
      expect(tenant.journal().filter(({ fault }) => fault === `${tenant.user}-lost`)).toHaveLength(2);
      await expectPromiseKept(tenant, { ...trouble, retryLimit: 2 });
    });
  });
}

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

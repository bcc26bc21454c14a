/** Tests a policy that is deleted and recreated while upgrades are running (U13). */
import { expect, test } from 'vitest';
import type { Scenario } from '../../../simulator/scenario/scenario.ts';
import type { TaskState } from '../../../simulator/snapshot.ts';
import { minuteMs } from '../../../src/base/time-units.ts';
import { policiesPath, World } from '../../support/world.ts';
import { Backup } from './backup.ts';

interface FleetSetting {
  readonly count?: number;
  readonly upgrade?: Scenario['upgrade'];
  readonly faults?: Scenario['faults'];
}

function fleet({ count = 4, upgrade = { duration: '5m' }, faults = {} }: FleetSetting = {}): World {
  const builds = ['19.100-1', '19.150-1', '19.200-1'];
  const world = new World({ scenario: { builds, groups: { web: { count, version: '19.100-1' } }, upgrade, faults } });
  world.addSecret();
  return world;
}

/**
 * Upgrades during which collector lists show the old version for four minutes. During that time, only the ledger
 * prevents a second upgrade.
 */
const slowLock = { duration: '5m', lockDelay: '4m' } as const;
const lateResponse = { kind: 'delay', delay: '5s', operations: ['createTask'] } as const;

test('an attempt that was written ahead and never sent is not in flight for the next policy', async () => {
  const world = fleet({ count: 20 });
  const posts = () => world.journal.filter(({ method }) => method === 'POST').length;
  const add = (version: string) => world.addPolicy('production', { target: { version } });
  add('19.200-1');
  world.start();
  await world.until(() => posts() === 4, minuteMs);
  world.api.remove(`${policiesPath}/production`);
  add('19.150-1');
  // No list shows yet whether the first four upgrades have started. The operator therefore sends no second request for
  // these four collectors within 20 s.
  await world.clock.advance(20_000);
  expect(posts()).toBe(20);
});

test('an attempt that was accepted right before the deletion is taken over with its task, without another POST', async () => {
  const world = fleet();
  const posts = () => world.journal.filter(({ method }) => method === 'POST').length;
  const add = () => world.addPolicy('production', { target: { version: '19.200-1' } });
  add();
  world.start();
  const accepted = () => world.snapshot().counters.tasksAccepted;
  await world.until(() => accepted() === 4, minuteMs);
  // The policy is deleted after the service has accepted the upgrades, but before the operator has processed the
  // responses.
  await world.clock.advance(100);
  world.api.remove(`${policiesPath}/production`);
  await world.clock.advance(minuteMs);
  add();
  expect(await world.until(() => world.ready('production')?.status === 'True', 30 * minuteMs)).toBe(true);
  expect(posts()).toBe(4);
});

test.each(['before', 'after'] as const)(
  'an attempt that is taken over stays in flight if the write of the ledger fails %s its effect',
  async (when) => {
    const world = fleet({ upgrade: slowLock });
    const posts = () => world.journal.filter(({ method }) => method === 'POST').length;
    world.addPolicy('first', { target: { version: '19.200-1' }, priority: 1 });
    world.addPolicy('second', { target: { version: '19.200-1' } });
    world.start();
    await world.until(() => posts() === 4, minuteMs);
    await world.clock.advance(10_000);
    let failed = 0;
    world.api.onRequest = ({ name, method }) => {
      if (method === 'GET' || !name?.startsWith('second-') || !name.endsWith('-head')) return undefined;
      return failed++ === 0 ? { kind: 'status', status: 500, when } : undefined;
    };
    world.api.remove(`${policiesPath}/first`);
    const updated = () => world.policy('second')?.status?.collectors?.updated;
    expect(await world.until(() => updated() === 4, 30 * minuteMs)).toBe(true);
    expect(failed).toBeGreaterThan(0);
    expect(posts()).toBe(4);
  },
);

test.each([
  ['accepted attempts', {}],
  ['attempts whose responses are late', { slow: { ...lateResponse, nth: [3, 4] } }],
] as const)(
  '%s are taken over with their tasks if the ledger is deleted, as Kubernetes does after the policy',
  async (_, faults) => {
    const world = fleet({ upgrade: slowLock, faults });
    world.addPolicy('production', { target: { version: '19.200-1' } });
    const nothing = new Backup(world);
    world.start();
    const accepted = () => world.snapshot().counters.tasksAccepted;
    expect(await world.until(() => accepted() === 4, minuteMs)).toBe(true);
    // The ledger is deleted before the process has stored the responses. The process then finds that the ledger is
    // missing, and reads the ledger again.
    nothing.restoreLedgers();
    const updated = () => world.policy('production')?.status?.collectors?.updated;
    expect(await world.until(() => updated() === 4, 30 * minuteMs)).toBe(true);
    expect(accepted()).toBe(4);
  },
);

test('attempts with a lost response block another upgrade if the ledger is deleted and the target changes', async () => {
  const lost = { kind: 'reset', effect: true, operations: ['createTask'], nth: [61, 62, 63, 64] } as const;
  const world = fleet({ count: 80, upgrade: { duration: '6m', lockDelay: '58s' }, faults: { lost } });
  world.addPolicy('production', { target: { version: '19.200-1' }, strategy: { maxInProgress: 100 } });
  const nothing = new Backup(world);
  world.start();
  const tasks = () => world.snapshot().tasks;
  expect(await world.until(() => tasks().length === 80, minuteMs)).toBe(true);
  // The status shows only the 50 oldest attempts, so it lacks the attempts with a lost response.
  nothing.restoreLedgers();
  const spec = { target: { version: '19.150-1' }, allowDowngrade: true };
  world.api.patch(`${policiesPath}/production`, { spec });
  const versions = () => new Set(world.snapshot().collectors.map(({ version }) => version));
  expect(await world.until(() => [...versions()].join() === '19.150-1', 120 * minuteMs)).toBe(true);
  expect(overlaps(tasks())).toEqual([]);
});

test('a running retry is taken over with its task if a ledger from before the retry is restored', async () => {
  const world = fleet({ upgrade: { ...slowLock, outcomes: [{ end: 'fail', duration: '30s', attempts: 1 }] } });
  world.addPolicy('production', {
    target: { version: '19.200-1' },
    strategy: { maxInProgress: 10, failurePolicy: { maxFailures: 100 } },
    retryPolicy: { limit: 2, backoff: { duration: '1m', factor: 1, cap: '1m' } },
  });
  world.start();
  const accepted = () => world.snapshot().counters.tasksAccepted;
  expect(await world.until(() => accepted() === 4, minuteMs)).toBe(true);
  await world.clock.advance(45_000);
  const backup = new Backup(world);
  expect(await world.until(() => accepted() === 8, 10 * minuteMs)).toBe(true);
  backup.restoreLedgers();
  const updated = () => world.policy('production')?.status?.collectors?.updated;
  expect(await world.until(() => updated() === 4, 30 * minuteMs)).toBe(true);
  expect(accepted()).toBe(8);
});

/** Returns the tasks that the service accepted while an earlier upgrade of the same collector was running. */
function overlaps(tasks: readonly TaskState[]): readonly TaskState[] {
  return tasks.filter(({ collectorId, requestTime }, index) =>
    tasks.slice(0, index).some((one) => one.collectorId === collectorId && (one.endTime ?? Infinity) > requestTime),
  );
}

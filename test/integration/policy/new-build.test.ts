/** Tests a target that the service began to offer after the operator last read the list of builds. */
import { expect, test, vi } from 'vitest';
import { minuteMs } from '../../../src/base/time-units.ts';
import { PolicyReconciler } from '../../../src/policy/policy-reconciler.ts';
import { policiesPath, World } from '../../support/world.ts';

const [before, target, later] = ['19.100-1', '19.200-1', '19.300-1'] as const;

function fleet() {
  const world = new World({
    scenario: { builds: [before, '19.150-1', target], groups: { web: { count: 4, version: before } } },
  });
  world.addSecret();
  const reasons: (string | undefined)[] = [];
  const runs = (name: string, version: string) => {
    const reason = world.ready(name)?.reason;
    if (reasons.at(-1) !== reason) reasons.push(reason);
    return reason === 'AllUpdated' && world.policy(name)?.status?.targetVersion === version;
  };
  const lists = () => world.journal.filter(({ operation }) => operation === 'listBuilds').length;
  const publish = () => world.model.patch({ builds: [before, '19.150-1', target, later] }, world.clock.now());
  return { world, reasons, runs, lists, publish };
}

/** Returns a fleet in which the policy `production` has upgraded all collectors to `target`. */
async function updatedFleet() {
  const made = fleet();
  made.world.addPolicy('production', { target: { version: target } });
  made.world.start();
  expect(await made.world.until(() => made.runs('production', target), 30 * minuteMs)).toBe(true);
  return made;
}

test('starts at once if the target of a policy is set to it', async () => {
  const { world, reasons, runs, publish } = await updatedFleet();
  publish();
  world.api.patch(`${policiesPath}/production`, { spec: { target: { version: later } } });
  expect(await world.until(() => world.ready('production')?.reason === 'RollingOut', minuteMs)).toBe(true);
  expect(await world.until(() => runs('production', later), 30 * minuteMs)).toBe(true);
  expect(reasons).not.toContain('VersionNotOffered');
});

test('starts at once if a new policy has it as its target', async () => {
  const { world, reasons, runs, publish } = await updatedFleet();
  publish();
  world.addPolicy('urgent', { target: { version: later }, priority: 10 });
  expect(await world.until(() => runs('urgent', later), 30 * minuteMs)).toBe(true);
  expect(reasons).not.toContain('VersionNotOffered');
});

test('costs one more list of builds if the service does not offer it after all', async () => {
  const { world, lists } = await updatedFleet();
  await world.clock.advance(minuteMs);
  const readBefore = lists();
  world.api.patch(`${policiesPath}/production`, { spec: { target: { version: later } } });
  await world.clock.advance(minuteMs);
  expect(world.ready('production')?.reason).toBe('VersionNotOffered');
  expect(lists() - readBefore).toBe(1);
});

test('is not looked for again when another field of the spec changes', async () => {
  const { world, reasons, runs, lists } = fleet();
  world.addPolicy('production', { target: { version: later } });
  world.start();
  const note = () => runs('production', later);
  await world.until(note, 30_000);
  const [readBefore, seenBefore] = [lists(), reasons.length];
  world.api.patch(`${policiesPath}/production`, { spec: { priority: 5 } });
  await world.until(note, 30_000);
  expect([lists() - readBefore, reasons.slice(seenBefore)]).toEqual([0, []]);
});

test('costs few lists and reconciles if many policies are set to it one after another', async () => {
  const count = 50;
  const world = new World({
    scenario: { builds: [before, '19.150-1', target], groups: { web: { count, name: 'web-###', version: before } } },
  });
  world.addSecret();
  const names = world.snapshot().collectors.map(({ name }) => name);
  for (const name of names) world.addPolicy(name, { target: { version: before }, selector: { matchFields: { name } } });
  const reconcile = vi.spyOn(PolicyReconciler.prototype, 'reconcile');
  world.start();
  expect(await world.until(() => names.every((name) => world.ready(name)?.status === 'True'), 30 * minuteMs)).toBe(
    true,
  );
  const lists = () => world.journal.filter(({ operation }) => operation === 'listBuilds').length;
  const readBefore = lists();
  reconcile.mockClear();
  for (const name of names) {
    world.api.patch(`${policiesPath}/${name}`, { spec: { target: { version: later } } });
    await world.clock.advance(200);
  }
  await world.clock.advance(15_000);
  expect(names.filter((name) => world.ready(name)?.reason !== 'VersionNotOffered')).toEqual([]);
  expect(lists() - readBefore).toBeLessThanOrEqual(3);
  expect(reconcile.mock.calls.length).toBeLessThan(6 * count);
  reconcile.mockRestore();
});

test('does not stop a policy from following its running upgrades while the list of builds cannot be read', async () => {
  const { world } = fleet();
  world.addPolicy('production', { target: { version: target } });
  world.start();
  const { tasksAccepted } = world.snapshot().counters;
  expect(await world.until(() => world.snapshot().counters.tasksAccepted === tasksAccepted + 4, minuteMs)).toBe(true);
  const faults = { builds: { kind: 'status', status: 500, operations: ['listBuilds'] } } as const;
  world.model.patch({ faults }, world.clock.now());
  world.api.patch(`${policiesPath}/production`, { spec: { target: { version: later } } });
  const inProgress = () => world.policy('production')?.status?.collectors?.inProgress;
  expect(await world.until(() => inProgress() === 4, minuteMs)).toBe(true);
  expect(await world.until(() => inProgress() === 0, 30 * minuteMs)).toBe(true);
});

/** Tests a target that the service has offered only since the operator last read the list of builds. */
import { expect, test } from 'vitest';
import { minuteMs } from '../../../src/base/time-units.ts';
import { policiesPath, World } from '../../support/world.ts';

const [before, target, later] = ['19.100-1', '19.200-1', '19.300-1'] as const;

function updatedFleet() {
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

test('starts at once if the target of a policy is set to it', async () => {
  const { world, reasons, runs, publish } = updatedFleet();
  world.addPolicy('production', { target: { version: target } });
  world.start();
  expect(await world.until(() => runs('production', target), 30 * minuteMs)).toBe(true);
  publish();
  world.api.patch(`${policiesPath}/production`, { spec: { target: { version: later } } });
  expect(await world.until(() => world.ready('production')?.reason === 'RollingOut', minuteMs)).toBe(true);
  expect(await world.until(() => runs('production', later), 30 * minuteMs)).toBe(true);
  expect(reasons).not.toContain('VersionNotOffered');
});

test('starts at once if a new policy has it as its target', async () => {
  const { world, reasons, runs, publish } = updatedFleet();
  world.addPolicy('production', { target: { version: target } });
  world.start();
  expect(await world.until(() => runs('production', target), 30 * minuteMs)).toBe(true);
  publish();
  world.addPolicy('urgent', { target: { version: later }, priority: 10 });
  expect(await world.until(() => runs('urgent', later), 30 * minuteMs)).toBe(true);
  expect(reasons).not.toContain('VersionNotOffered');
});

test('costs one more list of builds if the service does not offer it after all', async () => {
  const { world, runs, lists } = updatedFleet();
  world.addPolicy('production', { target: { version: target } });
  world.start();
  expect(await world.until(() => runs('production', target), 30 * minuteMs)).toBe(true);
  await world.clock.advance(minuteMs);
  const readBefore = lists();
  world.api.patch(`${policiesPath}/production`, { spec: { target: { version: later } } });
  await world.clock.advance(minuteMs);
  expect(world.ready('production')?.reason).toBe('VersionNotOffered');
  expect(lists() - readBefore).toBe(1);
});

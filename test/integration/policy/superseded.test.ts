/** Tests the history entry for a rollout that ends because the target changes. */
import { expect, test } from 'vitest';
import { minuteMs } from '../../../src/base/time-units.ts';
import { policiesPath, World } from '../../support/world.ts';

const [before, first, second] = ['19.100-1', '19.150-1', '19.200-1'] as const;

function rolling() {
  const world = new World({
    scenario: {
      builds: [before, '19.120-1', first, second],
      groups: { web: { count: 10, version: before } },
      upgrade: { duration: '2m' },
    },
    // The interval between status writes is longer than the test, so the status keeps old counts while the
    // rollout proceeds.
    settings: { statusIntervalMs: 1_000 * minuteMs },
  });
  world.addSecret();
  world.addPolicy('production', { target: { version: first }, strategy: { maxInProgress: 4, order: 'Name' } });
  const updated = () => world.snapshot().collectors.filter(({ version }) => version === first).length;
  const retarget = () => world.api.patch(`${policiesPath}/production`, { spec: { target: { version: second } } });
  const superseded = () => world.policy('production')?.status?.history?.find(({ outcome }) => outcome === 'Superseded');
  return { world, updated, retarget, superseded };
}

test('a new target during a rollout records the final counts of the former rollout', async () => {
  const { world, updated, retarget, superseded } = rolling();
  world.start();
  await world.until(() => updated() === 8, 30 * minuteMs);
  // Waits until the operator has read the collector list again.
  await world.clock.advance(minuteMs);
  const shown = world.policy('production')?.status?.collectors?.updated;
  retarget();
  await world.until(() => superseded() !== undefined, minuteMs);
  expect(superseded()).toMatchObject({ targetVersion: first, updated: 8, failed: 0 });
  expect(shown).toBe(0);
});

test('a process that has not evaluated the former rollout records its final counts, too', async () => {
  const { world, updated, retarget, superseded } = rolling();
  const replica = world.start();
  await world.until(() => updated() === 8, 30 * minuteMs);
  await world.clock.advance(minuteMs);
  replica.kill();
  retarget();
  world.start();
  await world.until(() => superseded() !== undefined, minuteMs);
  expect(superseded()?.updated).toBeGreaterThanOrEqual(8);
});

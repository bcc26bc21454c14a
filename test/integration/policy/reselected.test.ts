/** Tests collectors that a policy's selector no longer matches during a rollout (U12). */
import { expect, test } from 'vitest';
import { minuteMs } from '../../../src/base/time-units.ts';
import { policiesPath, World } from '../../support/world.ts';
import { staged } from './staged-world.ts';

async function withFailed() {
  const world = new World({
    scenario: {
      builds: ['19.100-1', '19.150-1', '19.200-1'],
      groups: {
        web: { count: 4, version: '19.100-1', upgrade: { duration: '30s' } },
        bad: { count: 2, version: '19.100-1', upgrade: { outcomes: [{ share: 1, end: 'fail', message: 'No disk.' }] } },
      },
    },
  });
  world.addSecret();
  world.addPolicy('production', {
    target: { version: '19.200-1' },
    retryPolicy: { limit: 0, backoff: { duration: '1m', factor: 1, cap: '1m' } },
  });
  const replica = world.start();
  expect(await world.until(() => world.ready('production')?.reason === 'CollectorsFailed', 30 * minuteMs)).toBe(true);
  const select = (spec: object) => world.api.patch(`${policiesPath}/production`, { spec });
  const collectors = () => world.policy('production')?.status?.collectors;
  return { world, replica, select, collectors };
}

test('excluding the failed collectors completes a rollout', async () => {
  const { world, select, collectors } = await withFailed();
  select({ exclude: [{ matchNames: ['bad-*'] }] });
  expect(await world.until(() => world.ready('production')?.status === 'True', minuteMs)).toBe(true);
  expect(collectors()).toMatchObject({ matched: 4, updated: 4, failed: 0 });
});

test('an exclusion while no process was running also completes a rollout', async () => {
  const { world, replica, select, collectors } = await withFailed();
  replica.kill();
  select({ exclude: [{ matchNames: ['bad-*'] }] });
  world.start();
  expect(await world.until(() => world.ready('production')?.status === 'True', minuteMs)).toBe(true);
  expect(collectors()).toMatchObject({ matched: 4, updated: 4, failed: 0 });
});

test('an upgraded collector stays in the policy although the selector does not match its new version', async () => {
  const { world, select, collectors } = await withFailed();
  const older = { key: 'collectorVersion', operator: 'Lt', values: ['19.200-1'] };
  select({ selector: { matchExpressions: [older] }, exclude: [{ matchNames: ['bad-*'] }] });
  expect(await world.until(() => world.ready('production')?.status === 'True', minuteMs)).toBe(true);
  expect(collectors()).toMatchObject({ matched: 4, updated: 4 });
});

test('a collector stays in its stage although its own fields no longer match, also after a restart', async () => {
  const { world, at, tasks, stage, untilReason } = staged({
    count: 3,
    stages: [{ name: 'all', size: '100%', soakDuration: '0s', maxInProgress: 1 }],
    spec: { selector: { matchFields: { osName: 'Linux' } } },
  });
  const replica = world.start();
  expect(await world.until(() => tasks().length === 1, minuteMs)).toBe(true);
  world.model.patch({ collectors: { 'web-0003': { osName: 'Windows' } } }, world.service.nowMs());
  expect(await world.until(() => tasks().length === 2, 10 * minuteMs)).toBe(true);
  replica.kill();
  world.start();
  expect(await untilReason('AllUpdated')).toBe(true);
  expect(at('19.200-1')).toBe(3);
  expect(stage('all')).toMatchObject({ state: 'Completed', members: 3, updated: 3 });
});

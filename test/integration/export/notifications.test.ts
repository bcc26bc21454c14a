/** Tests that a stalled export causes one notification, even if everything is paused in between. */
import { expect, test } from 'vitest';
import { minuteMs } from '../../../src/base/time-units.ts';
import { notificationOf } from '../../../src/notifications/notification.ts';
import { JobController } from '../../support/job-controller.ts';
import { settingsPath } from '../../support/world.ts';
import { ExportWorld } from './export-world.ts';

const inJob = {
  execution: { mode: 'Job' },
  destination: { persistentVolumeClaim: { claimName: 'audit', path: 'logs' } },
};
const withoutSecret = { credentialsSecretRef: { name: 'other' } };
const refused = { query: '* | where (' };

test.each([
  ['Operator', 'SecretNotFound', 'without restarts', withoutSecret],
  ['Operator', 'SecretNotFound', 'with restarts', withoutSecret],
  ['Operator', 'QueryRefused', 'without restarts', refused],
  ['Job', 'QueryRefused', 'without restarts', inJob],
  ['Job', 'QueryRefused', 'with restarts', inJob],
])('mode %s, %s: one notification despite two pauses %s', async (_, reason, restarts, spec) => {
  const world = new ExportWorld({ workerImage: 'logfleet:test' });
  const report = { end: 'stalled', reason, message: 'The query is wrong.', status: {} };
  const controller = new JobController(world.world, world.exports.options);
  controller.onPod = () => ({ exitCode: 3, message: JSON.stringify(report) });
  const sent: string[] = [];
  const start = () =>
    world.start({
      onEvent: (owner, event) => {
        const notification = notificationOf(owner, event, 0);
        if (notification) sent.push(notification.reason);
      },
    });
  const metadata = { name: 'logfleet-settings', namespace: 'logfleet-system' };
  world.world.api.create(settingsPath, { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { paused: 'false' } });
  const pause = (paused: boolean) =>
    world.world.api.patch(`${settingsPath}/logfleet-settings`, { data: { paused: String(paused) } });
  world.add(spec);
  let replica = start();
  for (let round = 1; round <= 2; round++) {
    expect(await world.untilReason(reason)).toBe(true);
    pause(true);
    expect(await world.untilReason('Paused', minuteMs)).toBe(true);
    if (restarts === 'with restarts') {
      replica.kill();
      replica = start();
      await world.world.clock.advance(minuteMs);
    }
    pause(false);
  }
  expect(await world.untilReason(reason)).toBe(true);
  await world.world.clock.advance(10_000);
  expect(sent).toEqual([reason]);
});

import { expect, test } from 'vitest';
import { hourMs } from '../../../../src/base/time-units.ts';
import { objectPath, operatorLeaseName, resourcePath } from '../../../../src/host/kubernetes/api-paths.ts';
import { PreparedLeadership } from '../../../../src/host/kubernetes/prepared-leadership.ts';
import { SwitchedLeadership } from '../../../support/switched-leadership.ts';
import { exportDefaults } from '../../../support/world.ts';
import { createWorld, hostOf } from './world.ts';

test('leadership begins when the preparation of its term has ended', async () => {
  const inner = new SwitchedLeadership(false);
  const ends: (() => void)[] = [];
  const leadership = new PreparedLeadership(inner, () => new Promise((resolve) => ends.push(resolve)));
  const reported: boolean[] = [];
  leadership.subscribe(() => reported.push(leadership.isLeader()));
  inner.begin();
  expect([leadership.isLeader(), ends.length]).toEqual([false, 1]);
  ends[0]?.();
  await expect.poll(() => leadership.isLeader()).toBe(true);
  inner.end();
  expect(leadership.isLeader()).toBe(false);
  inner.begin();
  expect([leadership.isLeader(), leadership.term(), ends.length]).toEqual([false, 2, 2]);
  ends[1]?.();
  await expect.poll(() => reported).toEqual([false, true, false, false, true]);
  expect(leadership.tookOverByForce()).toBe(true);
});

test('the preparation of a former term is not enough', async () => {
  const inner = new SwitchedLeadership(false);
  const ends: (() => void)[] = [];
  const leadership = new PreparedLeadership(inner, () => new Promise((resolve) => ends.push(resolve)));
  inner.begin();
  inner.end();
  inner.begin();
  ends[0]?.();
  await Promise.resolve();
  expect(leadership.isLeader()).toBe(false);
  ends[1]?.();
  await expect.poll(() => leadership.isLeader()).toBe(true);
});

test('S6: a new leader knows all runs that the previous leader has created', async () => {
  const world = createWorld();
  const lease = objectPath('leases', 'logfleet-system', operatorLeaseName);
  world.server.patch(lease, { spec: { holderIdentity: 'another-process', leaseDurationSeconds: 15 } });
  const host = hostOf(world);
  const exports = host.resources('SearchExport');
  const known: boolean[] = [];
  host.leadership.subscribe(() => {
    if (host.leadership.isLeader()) known.push(exports.get({ namespace: 'logging', name: 'run' }) !== undefined);
  });
  host.start();
  await world.clock.advance(5_000);
  expect([exports.synced(), host.leadership.isLeader()]).toEqual([true, false]);
  world.server.onWatchEvent = () => ({ kind: 'delay', delayMs: hourMs });
  const spec = { ...exportDefaults, timeRange: { from: '2026-11-01T00:00:00Z', to: '2026-11-01T01:00:00Z' } };
  const run = { apiVersion: 'logfleet.dev/v1alpha1', kind: 'SearchExport', metadata: { name: 'run' }, spec };
  world.server.create(resourcePath('SearchExport', 'logging'), run);
  await world.clock.advance(20_000);
  expect(known).toEqual([true]);
});

import { describe, expect, test } from 'vitest';
import { PrometheusMetrics } from '../../../../src/base/prometheus-metrics.ts';
import { hourMs, minuteMs } from '../../../../src/base/time-units.ts';
import { objectPath, operatorLeaseName, resourcePath } from '../../../../src/host/kubernetes/api-paths.ts';
import { PreparedLeadership } from '../../../../src/host/kubernetes/prepared-leadership.ts';
import { SwitchedLeadership } from '../../../support/switched-leadership.ts';
import { exportDefaults, exportsCollection } from '../../../support/world.ts';
import { createWorld, hostOf, policies } from './world.ts';

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

const lease = objectPath('leases', 'logfleet-system', operatorLeaseName);

test('the metric logfleet_leader is 0 until the new leader has listed the Jobs', async () => {
  const world = createWorld();
  const { server, clock } = world;
  server.patch(lease, { spec: { holderIdentity: 'another-process', leaseDurationSeconds: 15 } });
  const metrics = new PrometheusMetrics();
  const host = hostOf(world, 'all', { metrics, workerImage: 'logfleet:test' });
  host.start();
  await clock.advance(5_000);
  server.onRequest = ({ method, collection }) =>
    method === 'GET' && collection === 'batch/v1/jobs' ? { kind: 'status', status: 429, when: 'before' } : undefined;
  await clock.advance(minuteMs);
  expect(server.get(lease)).toMatchObject({ spec: { holderIdentity: expect.stringContaining('operator-0') } });
  expect(await metrics.render()).toContain('logfleet_leader 0');
  server.onRequest = () => undefined;
  await clock.advance(minuteMs);
  expect(await metrics.render()).toContain('logfleet_leader 1');
});

describe('S6: a new leader', () => {
  const spec = { ...exportDefaults, timeRange: { from: '2026-11-01T00:00:00Z', to: '2026-11-01T01:00:00Z' } };
  const run = { apiVersion: 'logfleet.dev/v1alpha1', kind: 'SearchExport', metadata: { name: 'run' }, spec };
  const { paused: _, ...template } = exportDefaults;
  const schedule = {
    ...run,
    kind: 'SearchExportSchedule',
    spec: { schedule: '0 * * * *', template: { spec: template } },
  };

  /**
   * Starts a host that becomes the leader after 15 s. Records whether the new leader knows an object that was created
   * in the meantime.
   */
  async function untilCreated(object: typeof run | typeof schedule, namespaces: 'all' | readonly string[] = 'all') {
    const kind = object.kind as 'SearchExport' | 'SearchExportSchedule';
    const world = createWorld();
    const { server, clock } = world;
    server.patch(lease, { spec: { holderIdentity: 'another-process', leaseDurationSeconds: 15 } });
    server.onWatchEvent = () => ({ kind: 'delay', delayMs: hourMs });
    server.onRequest = ({ namespace }) => (namespace === 'audit' ? { kind: 'stall', when: 'before' } : undefined);
    const host = hostOf(world, namespaces);
    const resources = host.resources(kind);
    const known: boolean[] = [];
    const note = () => {
      const isActing = host.leadership.isLeader() && resources.synced();
      if (isActing) known.push(resources.get({ namespace: 'logging', name: 'run' }) !== undefined);
    };
    host.leadership.subscribe(() => void resources.whenSynced().then(note));
    host.start();
    await clock.advance(5_000);
    server.create(resourcePath(kind, 'logging'), object);
    return { clock, server, resources, host, known };
  }

  test.each([
    ['runs', run],
    ['schedules', schedule],
  ])('knows all %s that were changed under the previous leader', async (_, object) => {
    const { clock, host, resources, known } = await untilCreated(object);
    expect([resources.synced(), host.leadership.isLeader()]).toEqual([true, false]);
    await clock.advance(20_000);
    expect(new Set(known)).toEqual(new Set([true]));
  });

  test('knows them also if one of its namespaces has not been listed before', async () => {
    const { clock, server, known } = await untilCreated(run, ['logging', 'audit']);
    let isListedAgain = false;
    server.onRequest = ({ method, namespace, collection }) => {
      if (method !== 'GET' || collection !== exportsCollection) return undefined;
      isListedAgain ||= namespace === 'logging';
      if (namespace === 'logging') return { kind: 'delay', delayMs: 1_000 };
      return isListedAgain ? undefined : { kind: 'stall', when: 'before' };
    };
    await clock.advance(20_000);
    expect(new Set(known)).toEqual(new Set([true]));
  });

  test('acts on resources of other kinds while it cannot list the runs', async () => {
    const { clock, server, host, resources, known } = await untilCreated(run);
    server.onRequest = ({ method, collection }) =>
      method === 'GET' && collection === exportsCollection
        ? { kind: 'status', status: 500, when: 'before' }
        : undefined;
    await clock.advance(60_000);
    const isSynced = [host.resources(policies).synced(), resources.synced()];
    expect([host.leadership.isLeader(), ...isSynced, known]).toEqual([true, true, false, []]);
    server.onRequest = () => undefined;
    await clock.advance(20_000);
    expect([resources.synced(), new Set(known)]).toEqual([true, new Set([true])]);
  });
});

/** Tests schedules with an API server that refuses, loses or delays requests, and with resources that other writers change (S1 to S6). */
import { describe, expect, test } from 'vitest';
import { reasons } from '../../../src/api/conditions.ts';
import type { RequestInfo } from '../../support/memory-api-server.ts';
import { exportsPath, hourMs, minuteMs, ScheduleWorld, schedulesPath, startMs } from './schedule-world.ts';

const runName = 'hourly-20261101t050000z-060000z';

function isStatusOfSchedule({ method, collection, subresource }: RequestInfo): boolean {
  return method === 'PUT' && subresource === 'status' && collection.endsWith('searchexportschedules');
}

function isOfRuns({ collection }: RequestInfo): boolean {
  return collection.endsWith('searchexports');
}

describe('a schedule with faults', () => {
  test('deletes a failed run only after its gap is in status', async () => {
    const world = new ScheduleWorld({
      messages: [
        { at: startMs, raw: 'a' },
        { at: startMs + 1, raw: 'b' },
      ],
    });
    world.add({ failedRunsHistoryLimit: 0 }, { limits: { maxMessages: 1 } });
    const { api } = world.world;
    const gapsAtRemoval: (number | undefined)[] = [];
    let refused = 0;
    api.onRequest = (info) => {
      if (info.method === 'DELETE' && isOfRuns(info)) gapsAtRemoval.push(world.status?.gaps?.length);
      const hasFailed = world.runs().some(({ status }) => status?.conditions?.some(({ type }) => type === 'Failed'));
      if (!isStatusOfSchedule(info) || !hasFailed || refused++ > 2) return undefined;
      return { kind: 'status', status: 409, when: 'before' };
    };
    world.start();
    await world.world.clock.advance(1.5 * hourMs);
    expect(refused).toBeGreaterThan(2);
    expect(gapsAtRemoval).toEqual([1]);
  });

  test('creates an announced run again with the same time when its creation got no answer and the schedule changes', async () => {
    const world = new ScheduleWorld();
    world.add();
    const { api, clock } = world.world;
    let lost = 0;
    api.onRequest = (info) =>
      info.method === 'POST' && isOfRuns(info) && lost++ === 0 ? { kind: 'reset', when: 'after' } : undefined;
    api.onWatchEvent = ({ event }) =>
      event.collection.endsWith('searchexports') && lost === 1 ? { kind: 'silence' } : undefined;
    world.start();
    await world.until(() => lost === 1);
    world.patch({ spec: { schedule: '*/20 * * * *' } });
    await clock.advance(30 * minuteMs);
    expect(world.records()[0]).toEqual({ fromMs: startMs, toMs: startMs + hourMs });
    expect(world.records().filter(({ fromMs }) => fromMs < startMs + hourMs)).toHaveLength(1);
  });

  test('stalls when another export has the name of a run and the cache does not show it', async () => {
    const world = new ScheduleWorld();
    world.add();
    const { api } = world.world;
    api.onWatchEvent = ({ event }) => (event.collection.endsWith('searchexports') ? { kind: 'drop' } : undefined);
    world.start();
    await world.world.clock.advance(minuteMs);
    world.world.addExport(runName, { paused: true, timeRange: { from: '0', to: '1000' } });
    expect(await world.until(() => world.ready?.reason === reasons.runNameTaken, 2 * hourMs)).toBe(true);
  });

  test.each([403, 422])(
    'reports a refused creation (%i) steadily, and continues when it is accepted',
    async (status) => {
      const world = new ScheduleWorld();
      world.add();
      const { api, clock } = world.world;
      let isRefusing = true;
      api.onRequest = (info) =>
        info.method === 'POST' && isOfRuns(info) && isRefusing ? { kind: 'status', status, when: 'before' } : undefined;
      world.start();
      const isStalled = () =>
        world.status?.conditions?.some(({ type, status: is }) => type === 'Stalled' && is === 'True');
      expect(await world.until(() => isStalled() === true, 2 * hourMs)).toBe(true);
      const before = api.requests.filter(({ method }) => method === 'PUT').length;
      await clock.advance(10 * minuteMs);
      expect(isStalled()).toBe(true);
      expect(api.requests.filter(({ method }) => method === 'PUT')).toHaveLength(before);
      isRefusing = false;
      expect(await world.until(() => world.ready?.reason === reasons.upToDate, hourMs)).toBe(true);
    },
  );

  test('repeats a failed run on request once its finalizer is removed', async () => {
    const messages = [
      { at: startMs, raw: 'a' },
      { at: startMs + 1, raw: 'b' },
    ];
    const world = new ScheduleWorld({ messages });
    world.add({}, { limits: { maxMessages: 1 } });
    world.start();
    expect(await world.until(() => world.status?.gaps?.length === 1)).toBe(true);
    world.world.api.patch(`${exportsPath}/${runName}`, { metadata: { finalizers: ['example.com/archive'] } });
    world.patch({ spec: { template: { spec: { limits: { maxMessages: null } } } } });
    world.retry();
    await world.world.clock.advance(5 * minuteMs);
    expect(world.run(runName)?.metadata.deletionTimestamp).toBeDefined();
    expect(world.status?.gaps).toEqual([]);
    world.world.api.patch(`${exportsPath}/${runName}`, { metadata: { finalizers: null } });
    expect(await world.until(() => world.records().length === 1, 10 * minuteMs)).toBe(true);
  });

  test('counts time that status shows as covered although its records are lost', async () => {
    const world = new ScheduleWorld();
    world.add();
    const first = world.start();
    await world.world.clock.advance(3.5 * hourMs);
    world.kill(first);
    for (const name of [...world.store.objects.keys()]) world.store.objects.delete(name);
    world.start();
    await world.world.clock.advance(hourMs);
    expect(world.records()).toEqual([{ fromMs: startMs + 3 * hourMs, toMs: startMs + 4 * hourMs }]);
  });

  test('ignores a run whose status claims to be complete without a manifest', async () => {
    const world = new ScheduleWorld({ scenario: { search: { duration: '60s' } } });
    world.add();
    world.start();
    expect(await world.until(() => world.runs().length === 1)).toBe(true);
    const lastTransitionTime = '2026-11-01T06:00:00Z';
    const complete = { type: 'Complete', status: 'True', reason: 'Exported', message: '', lastTransitionTime };
    world.world.api.patch(`${exportsPath}/${runName}/status`, { status: { conditions: [complete] } });
    world.patch({ spec: { startTime: '2026-11-01T04:00:00Z' } });
    expect(await world.until(() => world.runs().length === 2, 10 * minuteMs)).toBe(true);
    expect(world.records()).toEqual([]);
  });

  test('creates no run again whose announced time a person has excluded', async () => {
    const world = new ScheduleWorld({ scenario: { search: { duration: '60s' } } });
    world.add();
    world.start();
    expect(await world.until(() => world.runs().length === 1)).toBe(true);
    world.patch({ spec: { startTime: '2026-11-01T06:00:00Z' } });
    world.world.api.remove(`${exportsPath}/${runName}`);
    await world.world.clock.advance(10 * minuteMs);
    expect(world.runs()).toEqual([]);
    expect(world.status?.runs).toEqual([]);
    expect(world.world.api.get(`${schedulesPath}/hourly`)).toBeDefined();
  });
});

/** Tests schedules with a faulty API server, and with resources changed by other clients (S1 to S6). */
import { describe, expect, test } from 'vitest';
import { findCondition, reasons } from '../../../src/api/conditions.ts';
import type { SearchExport, SearchExportSchedule } from '../../../src/api/kinds.ts';
import { sleep } from '../../../src/base/clock.ts';
import { hourMs, minuteMs } from '../../../src/base/time-units.ts';
import { objectPath, operatorLeaseName } from '../../../src/host/kubernetes/api-paths.ts';
import type { RequestInfo } from '../../support/memory-api-server.ts';
import { recordReports } from '../../support/reports.ts';
import { secretsPath } from '../../support/world.ts';
import { every, exportsCollection, exportsPath, ScheduleWorld, schedulesPath, startMs } from './schedule-world.ts';

const runName = 'hourly-20261101t050000z-060000z';

function isStatusOfSchedule({ method, collection, subresource }: RequestInfo): boolean {
  return method === 'PUT' && subresource === 'status' && collection.endsWith('searchexportschedules');
}

/** Returns the names of all files of the first run, and the name of the run's schedule record. */
function lostRun({ store }: ScheduleWorld) {
  const names = [...store.objects.keys()].filter((name) => name.startsWith(`${runName}/`));
  return { names, record: 'hourly/schedule/runs/20261101t050000z-060000z.json' };
}

function isOfRuns({ collection }: RequestInfo): boolean {
  return collection.endsWith('searchexports');
}

/** Adds schedules whose requests to the store get no response until the returned function is called. */
function addHungSchedules(world: ScheduleWorld, count: number): () => void {
  const { promise, resolve } = Promise.withResolvers<void>();
  world.strike = (_, name) => (name.startsWith('hung-') ? { until: promise } : undefined);
  for (let index = 0; index < count; index++) world.add({ startTime: '2026-11-01T03:00:00Z' }, {}, `hung-${index}`);
  return resolve;
}

describe('a schedule whose store does not respond', () => {
  test('does not prevent the operator from stopping', async () => {
    const world = new ScheduleWorld();
    addHungSchedules(world, 1);
    const replica = world.start();
    await world.world.clock.advance(5_000);
    let hasStopped = false;
    void replica.stop().then(() => {
      hasStopped = true;
    });
    expect(await world.until(() => hasStopped, hourMs)).toBe(true);
  });

  test('reports a problem of the store, and does not prevent other schedules from creating runs', async () => {
    const world = new ScheduleWorld();
    addHungSchedules(world, 40);
    world.start();
    await world.world.clock.advance(5_000);
    world.add({ startTime: '2026-11-01T04:00:00Z' });
    expect(await world.until(() => world.runs().length > 0, hourMs)).toBe(true);
    expect(world.runs()[0]?.metadata.name).toMatch(/^hourly-/);
    const { status } = world.world.api.get(`${schedulesPath}/hung-0`) as unknown as SearchExportSchedule;
    expect(findCondition(status?.conditions, 'Ready')).toMatchObject({
      reason: reasons.destinationUnavailable,
      message: expect.stringContaining('reading or writing the schedule records takes longer than 10 s'),
    });
  });

  test('creates its runs as soon as the store responds, without reading the records again', async () => {
    const world = new ScheduleWorld();
    const respond = addHungSchedules(world, 1);
    let lists = 0;
    const { strike } = world;
    world.strike = (call, name) => {
      if (call === 'list' && name === 'hung-0/schedule/runs') lists++;
      return strike(call, name);
    };
    world.start();
    await world.world.clock.advance(5 * minuteMs);
    expect(world.runs()).toEqual([]);
    respond();
    await world.world.clock.advance(1_000);
    expect(world.runs()).not.toEqual([]);
    expect(lists).toBe(1);
  });
});

describe('a process that loses the leadership while it writes the status of a schedule', () => {
  test.each([
    ['creates no run', 'POST', () => true],
    ['deletes no run', 'DELETE', (world: ScheduleWorld) => world.records().length > 0],
  ])('%s', async (_, method, isDue) => {
    const world = new ScheduleWorld({ messages: [{ at: startMs, raw: 'a' }] });
    world.add({ successfulRunsHistoryLimit: 0 });
    const { api, clock } = world.world;
    const lease = objectPath('leases', 'logfleet-system', operatorLeaseName);
    let requests: string[] | undefined;
    api.onRequest = (info) => {
      if (isOfRuns(info)) requests?.push(info.method);
      if (requests || !isStatusOfSchedule(info) || clock.now() < startMs + hourMs || !isDue(world)) return undefined;
      requests = [];
      api.patch(lease, { spec: { holderIdentity: 'another' } });
      return { kind: 'delay', delayMs: 8_000 };
    };
    world.world.start({ leaderElection: true });
    expect(await world.until(() => requests !== undefined)).toBe(true);
    await clock.advance(14_000);
    expect(requests).not.toContain(method);
  });
});

test('a process that loses the leadership while it records a run records no other run', async () => {
  const world = new ScheduleWorld();
  world.add({ startTime: '2026-11-01T02:00:00Z' });
  const { api, clock } = world.world;
  const lease = objectPath('leases', 'logfleet-system', operatorLeaseName);
  const isComplete = ({ status }: SearchExport) => findCondition(status?.conditions, 'Complete')?.status === 'True';
  let isLost = false;
  let completeMs = clock.now();
  world.strike = (call, name) => {
    if (isLost || call !== 'create' || !name.startsWith('hourly/schedule/runs/')) return undefined;
    // The store fails until a minute after both runs are complete, so that one reconcile records both runs.
    if (world.runs().filter(isComplete).length < 2) completeMs = clock.now();
    if (clock.now() < completeMs + minuteMs) return { failure: 'away' };
    isLost = true;
    api.patch(lease, { spec: { holderIdentity: 'another' } });
    return { until: sleep(clock, 8_000) };
  };
  world.world.start({ leaderElection: true });
  expect(await world.until(() => isLost)).toBe(true);
  await clock.advance(14_000);
  expect(world.records()).toHaveLength(1);
});

describe('a schedule with faults', () => {
  test('deletes a failed run only after its gap is in status', async () => {
    const world = new ScheduleWorld({
      messages: [
        { at: startMs, raw: 'a' },
        { at: startMs + 1, raw: 'b' },
      ],
    });
    world.add({ failedRunsHistoryLimit: 0 }, { activeDeadlineSeconds: 1 });
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

  test('recreates an announced run with the same time if its creation got no response and the schedule changes', async () => {
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

  test('creates no run for a time twice if its status is lost before the cache contains the run', async () => {
    const world = new ScheduleWorld();
    world.add();
    const { api, clock } = world.world;
    api.onWatchEvent = ({ event }) =>
      event.collection === exportsCollection && event.type === 'ADDED' ? { kind: 'delay', delayMs: 15_000 } : undefined;
    world.start();
    await world.until(() => world.runs().length === 1);
    await clock.advance(1_000);
    api.patch(`${schedulesPath}/hourly/status`, { status: null });
    world.patch({ spec: { schedule: '*/20 * * * *' } });
    await clock.advance(30 * minuteMs);
    expect(world.runs().map(({ metadata: { name } }) => name)).toEqual([
      'hourly-20261101t050000z-060000z',
      'hourly-20261101t060000z-062000z',
    ]);
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
    'keeps reporting a refused creation (%i), and continues when the creation is accepted',
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

  test('does not report a refused creation for a template that has been corrected since', async () => {
    const world = new ScheduleWorld();
    world.add();
    const { api } = world.world;
    let isRefusing = true;
    api.onRequest = (info) =>
      info.method === 'POST' && isOfRuns(info) && isRefusing
        ? { kind: 'status', status: 422, when: 'before' }
        : undefined;
    const { statuses } = recordReports<NonNullable<SearchExportSchedule['status']>>(api, 'hourly');
    world.start();
    expect(await world.until(() => world.ready?.status === 'False', 2 * hourMs)).toBe(true);
    await world.world.clock.advance(1_000);
    isRefusing = false;
    world.patch({ spec: { template: { spec: { query: '_raw=*' } } } });
    const { generation } = world.schedule.metadata;
    expect(await world.until(() => world.records().length === 1, hourMs)).toBe(true);
    const since = statuses.filter(({ observedGeneration }) => observedGeneration === generation);
    expect(new Set(since.map(({ summary }) => summary?.state))).toEqual(new Set([reasons.upToDate]));
  });

  test('repeats a failed run on request once its finalizer is removed', async () => {
    const messages = [
      { at: startMs, raw: 'a' },
      { at: startMs + 1, raw: 'b' },
    ];
    const world = new ScheduleWorld({ messages });
    world.add({}, { activeDeadlineSeconds: 1 });
    world.start();
    expect(await world.until(() => world.status?.gaps?.length === 1)).toBe(true);
    world.world.api.patch(`${exportsPath}/${runName}`, { metadata: { finalizers: ['example.com/archive'] } });
    world.patch({ spec: { template: { spec: { activeDeadlineSeconds: null } } } });
    world.retry();
    await world.world.clock.advance(5 * minuteMs);
    expect(world.run(runName)?.metadata.deletionTimestamp).toBeDefined();
    expect(world.status?.gaps).toEqual([]);
    world.world.api.patch(`${exportsPath}/${runName}`, { metadata: { finalizers: null } });
    expect(await world.until(() => world.records().length === 1, 10 * minuteMs)).toBe(true);
  });

  test('counts time that status shows as covered although its records and files are lost', async () => {
    const world = new ScheduleWorld();
    world.add();
    const first = world.start();
    await world.world.clock.advance(3.5 * hourMs);
    world.kill(first);
    for (const { metadata } of world.runs()) world.world.api.remove(`${exportsPath}/${metadata.name}`);
    for (const name of [...world.store.objects.keys()]) world.store.objects.delete(name);
    world.start();
    await world.world.clock.advance(hourMs);
    expect(world.records()).toEqual([{ fromMs: startMs + 3 * hourMs, toMs: startMs + 4 * hourMs }]);
  });

  test('stalls if another schedule records the same time in the same folder, until that record is removed', async () => {
    const world = new ScheduleWorld();
    world.add();
    const first = world.start();
    expect(await world.until(() => world.runs().length === 1, 2 * hourMs)).toBe(true);
    world.addRecord(startMs);
    expect(await world.until(() => world.ready?.reason === 'DestinationInvalid', 10 * minuteMs)).toBe(true);
    const name = 'hourly/schedule/runs/20261101t050000z-060000z.json';
    expect(world.ready?.message).toMatch(`another schedule writes to this folder: ${name} `);
    world.kill(first);
    world.start();
    world.retry();
    await world.world.clock.advance(30 * minuteMs);
    expect(world.ready?.reason).toBe('DestinationInvalid');
    world.store.objects.delete(name);
    expect(await world.until(() => world.ready?.reason === reasons.upToDate, 10 * minuteMs)).toBe(true);
    expect(await world.verify()).toMatchObject({ runs: 1, problems: [] });
  });

  describe('rewrites a lost record of a complete run', () => {
    const lost = (world: ScheduleWorld) => {
      const records = new Map([...world.store.objects].filter(([name]) => name.startsWith('hourly/schedule/runs/')));
      for (const name of records.keys()) world.store.objects.delete(name);
      return records;
    };
    const recordsOf = (world: ScheduleWorld, names: Iterable<string>) =>
      [...names].map((name) => [name, world.store.objects.get(name)]);

    test('from its manifest, after a restart', async () => {
      const world = new ScheduleWorld();
      world.add({ successfulRunsHistoryLimit: 0 });
      const first = world.start();
      await world.world.clock.advance(3.5 * hourMs);
      expect(world.runs()).toEqual([]);
      world.kill(first);
      const records = lost(world);
      expect(records.size).toBe(3);
      const { length } = world.world.journal;
      world.start();
      await world.world.clock.advance(40 * minuteMs);
      expect(recordsOf(world, records.keys())).toEqual([...records]);
      const jobs = world.world.journal.slice(length).filter(({ operation }) => operation === 'createSearchJob');
      expect(jobs.length).toBeLessThanOrEqual(2);
      expect((await world.verify())?.gaps).toEqual([]);
    });

    test.each([
      ['a user requests a retry', (world: ScheduleWorld) => world.retry()],
      ['the spec changes', (world: ScheduleWorld) => world.patch({ spec: { maxActive: 3 } })],
    ])('from its manifest, when %s', async (_, change) => {
      const world = new ScheduleWorld();
      world.add({ successfulRunsHistoryLimit: 0 });
      world.start();
      await world.world.clock.advance(3.5 * hourMs);
      const records = lost(world);
      change(world);
      await world.world.clock.advance(minuteMs);
      expect(recordsOf(world, records.keys())).toEqual([...records]);
    });

    test('once its manifest is restored from an archive, as the condition says', async () => {
      const world = new ScheduleWorld();
      world.add({ successfulRunsHistoryLimit: 0 });
      world.start();
      await world.world.clock.advance(3.5 * hourMs);
      const records = lost(world);
      world.strike = (call, name) =>
        call === 'read' && name.endsWith('/manifest.json') ? { failure: 'frozen' } : undefined;
      world.retry();
      await world.world.clock.advance(minuteMs);
      expect(world.ready).toMatchObject({ status: 'False', reason: 'DestinationAccessDenied' });
      expect(world.ready?.message).toMatch(
        /^the schedule record of run hourly-\S+ is lost and cannot be rewritten, because the export manifest \S+\/manifest.json is archived; restore the export manifest from its archive, /,
      );
      world.strike = () => undefined;
      await world.world.clock.advance(minuteMs);
      expect(recordsOf(world, records.keys())).toEqual([...records]);
      expect(world.ready?.reason).toBe(reasons.upToDate);
    });

    test('from the status of its export, if the manifest is lost as well', async () => {
      const world = new ScheduleWorld();
      world.add();
      world.start();
      await world.world.clock.advance(3.5 * hourMs);
      const records = lost(world);
      for (const name of [...world.store.objects.keys()])
        if (name.endsWith('/manifest.json')) world.store.objects.delete(name);
      world.retry();
      await world.world.clock.advance(minuteMs);
      expect(recordsOf(world, records.keys())).toEqual([...records]);
    });

    test('but not from a manifest that has another time range than the run', async () => {
      const world = new ScheduleWorld();
      world.add({ successfulRunsHistoryLimit: 0 });
      world.start();
      await world.world.clock.advance(2.5 * hourMs);
      const records = lost(world);
      const manifests = [...world.store.objects].filter(([name]) => name.endsWith('/manifest.json'));
      const [[first = ''] = [], [, other = new Uint8Array()] = []] = manifests;
      world.store.objects.set(first, other);
      world.retry();
      await world.world.clock.advance(minuteMs);
      expect(world.records()).toHaveLength(records.size - 1);
    });
  });

  test.each([
    ['exists', 3],
    ['is created again by hand', 0],
  ])('repairs a run with a lost file as docs/schedules.md says, if its SearchExport %s', async (_, limit) => {
    const world = new ScheduleWorld({ messages: every(minuteMs, startMs, startMs + 4 * hourMs) });
    world.add({ successfulRunsHistoryLimit: limit });
    world.start();
    expect(await world.until(() => world.records().length === 2)).toBe(true);
    await world.world.clock.advance(minuteMs);
    const { names, record } = lostRun(world);
    for (const name of names) world.store.objects.delete(name);
    expect(await world.verify()).toMatchObject({ problems: [{ kind: 'missingManifest' }] });
    const path = `${exportsPath}/${runName}`;
    const template = world.schedule.spec.template.spec;
    const timeRange = { from: '2026-11-01T05:00:00Z', to: '2026-11-01T06:00:00Z', timeZone: 'UTC' };
    if (limit === 0) world.world.addExport(runName, { ...template, timeRange });
    else world.world.api.patch(path, { metadata: { annotations: { 'logfleet.dev/requestedAt': 'now' } } });
    const manifest = names.find((name) => name.endsWith('/manifest.json')) ?? '';
    expect(await world.until(() => world.store.objects.has(manifest), 10 * minuteMs)).toBe(true);
    await world.world.clock.advance(minuteMs);
    expect(world.run(runName)?.status?.summary?.state).toBe('Exported');
    expect(await world.verify()).toMatchObject({ problems: [{ kind: 'changedManifest' }] });
    world.store.objects.delete(record);
    world.retry();
    await world.world.clock.advance(minuteMs);
    expect(await world.verify()).toMatchObject({ runs: world.records().length, gaps: [], overlaps: [], problems: [] });
    expect(world.ready?.reason).toBe(reasons.upToDate);
  });

  test('reports after a change of the spec that its destination does not work, until it works', async () => {
    const world = new ScheduleWorld();
    world.add({ schedule: '0 5 * * *' });
    const first = world.start();
    expect(await world.until(() => world.ready?.reason === reasons.upToDate)).toBe(true);
    world.kill(first);
    let isAway = true;
    world.strike = () => (isAway ? { failure: 'away' } : undefined);
    world.patch({ spec: { maxActive: 3 } });
    world.start();
    const seen = new Set<string | undefined>();
    await world.until(() => world.ready?.reason !== reasons.upToDate, minuteMs);
    await world.until(() => !seen.add(world.ready?.status), 30 * minuteMs);
    expect([...seen]).toEqual(['False']);
    isAway = false;
    expect(await world.until(() => world.ready?.reason === reasons.upToDate, hourMs)).toBe(true);
  });

  test('continues soon after a change to the Secret of its destination (C2)', async () => {
    const credentialsSecretRef = { name: 'store' };
    const world = new ScheduleWorld();
    world.add({}, { destination: { s3: { bucket: 'log-exports', credentialsSecretRef } } });
    world.exports.onOpen = (destination, settings) => {
      const isRefused = JSON.stringify(settings).includes('"accessKeyId":"wrong"');
      destination.strike = () => (isRefused ? { failure: 'denied' } : undefined);
    };
    world.start();
    expect(await world.until(() => world.ready?.reason === reasons.secretNotFound, minuteMs)).toBe(true);
    await world.world.clock.advance(35_000);
    world.world.addSecret('store', { accessKeyId: 'wrong', secretAccessKey: 'b' });
    await world.world.clock.advance(6_000);
    expect(world.ready?.reason).toBe('DestinationAccessDenied');
    world.world.api.patch(`${secretsPath}/store`, { data: { accessKeyId: Buffer.from('right').toString('base64') } });
    await world.world.clock.advance(6_000);
    expect(world.ready?.reason).toBe(reasons.upToDate);
  });

  test('does not repeat a failed run because of an earlier request after its status was lost', async () => {
    const messages = [
      { at: startMs, raw: 'a' },
      { at: startMs + 1, raw: 'b' },
    ];
    const world = new ScheduleWorld({ messages });
    world.add({}, { activeDeadlineSeconds: 1 });
    const first = world.start();
    expect(await world.until(() => world.status?.gaps?.length === 1)).toBe(true);
    world.retry();
    await world.world.clock.advance(5 * minuteMs);
    const uid = world.run(runName)?.metadata.uid;
    expect(uid).toBeDefined();
    world.kill(first);
    world.world.api.patch(`${schedulesPath}/hourly/status`, { status: null });
    world.start();
    await world.world.clock.advance(5 * minuteMs);
    expect(world.run(runName)?.metadata.uid).toBe(uid);
    expect(world.status?.gaps).toHaveLength(1);
    const { annotations = {} } = world.schedule.metadata;
    expect(world.status?.lastHandledReconcileAt).toBe(annotations['logfleet.dev/requestedAt']);
  });

  test('exports no time twice if more ranges are covered than status can show', async () => {
    const count = 120;
    const world = new ScheduleWorld();
    world.add({ startTime: new Date(startMs - 2 * count * hourMs).toISOString().replace('.000', ''), paused: true });
    // Adds schedule records of earlier runs, one for every second hour.
    for (let index = 0; index < count; index++) world.addRecord(startMs - (2 * index + 1) * hourMs);
    const first = world.start();
    await world.world.clock.advance(minuteMs);
    expect(world.status?.covered).toHaveLength(100);
    expect(world.status?.covered?.at(-1)?.to).toBe(new Date(startMs).toISOString().replace('.000', ''));
    const pendingRuns = world.status?.pendingRuns;
    world.kill(first);
    const paused = world.start();
    await world.world.clock.advance(minuteMs);
    expect(world.status?.pendingRuns).toBe(pendingRuns);
    world.kill(paused);
    world.patch({ spec: { paused: false } });
    const second = world.start();
    expect(await world.until(() => world.records().length > count + 10)).toBe(true);
    world.kill(second);
    expect(world.status?.covered).toHaveLength(100);
    world.start();
    expect(await world.until(() => world.ready?.reason === reasons.upToDate)).toBe(true);
    const manifests = [...world.store.objects.keys()].filter((name) => name.endsWith('/manifest.json'));
    const made = manifests.map((name) => name.split('/')[0]);
    expect(new Set(made).size).toBe(made.length);
    expect(made.length).toBe(world.records().length - count);
    expect(world.status?.covered).toHaveLength(1);
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

  test('does not recreate an announced run if a user has excluded its time', async () => {
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

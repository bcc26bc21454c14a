/** Tests exports with the whole operator: the resource's status, and the exported files. */
import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { annotations } from '../../../src/api/annotations.ts';
import { PrometheusMetrics } from '../../../src/base/prometheus-metrics.ts';
import { hourMs, minuteMs } from '../../../src/base/time-units.ts';
import { manifestKind, manifestOf } from '../../../src/destination/manifest.ts';
import { busiest, exportsPath, secretsPath } from '../../support/world.ts';
import { ExportWorld, evenly, startMs } from './export-world.ts';

const texts = (count: number) =>
  evenly(count)
    .map(({ raw }) => raw)
    .sort();

/** Simulator settings: a search takes half a minute, and returns at most 200 rows. */
const slow = { search: { messageLimit: 200, duration: '30s' } } as const;

describe('an export', () => {
  test('is complete when every row is in a file and the manifest exists', async () => {
    const world = new ExportWorld();
    world.add();
    world.start();
    expect(await world.untilReason('Exported')).toBe(true);
    expect(world.rows()).toEqual(texts(600));
    expect(world.condition('Complete')).toMatchObject({ status: 'True', reason: 'Exported' });
    expect(['Reconciling', 'Stalled', 'Failed'].map((type) => world.condition(type as 'Failed'))).toEqual(
      Array(3).fill(undefined),
    );
    expect(world.status).toMatchObject({
      observedGeneration: 1,
      summary: { state: 'Exported', progress: '100%', rows: '600' },
      progress: { coveredPercent: 100, rowsWritten: 600 },
      manifest: { rows: 600, complete: true, url: `${world.status?.location}/manifest.json` },
      jobs: [],
    });
    expect(world.jobsActive()).toBe(0);
  });

  test('with far more rows than one search returns has every row once', async () => {
    const world = new ExportWorld({ messages: evenly(3_000), scenario: slow });
    world.add();
    world.start();
    expect(await world.untilReason('Exporting')).toBe(true);
    expect(await world.world.until(() => (world.status?.jobs?.length ?? 0) > 1, 5 * minuteMs)).toBe(true);
    expect(world.condition('Reconciling')).toMatchObject({ status: 'True', reason: 'Exporting' });
    const message = () => world.condition('Ready')?.message ?? '';
    expect(message()).toBe('Determining how to divide the time range: 2 search jobs are running.');
    expect(await world.world.until(() => /^\d+% of the export is done; /.test(message()), 10 * minuteMs)).toBe(true);
    expect(message()).toMatch(/; 4 searches are running\.$/);
    expect(await world.untilReason('Exported')).toBe(true);
    expect(world.rows()).toEqual(texts(3_000));
    expect(world.status?.rowHistogram?.reduce((sum, count) => sum + count, 0)).toBe(3_000);
    expect(world.jobsActive()).toBe(0);
  });

  test('of a query that overwrites the message time stalls before any search (E9)', async () => {
    const world = new ExportWorld();
    world.add({ query: '* | parse regex "(?<_messageTime>\\d+)"' });
    world.start();
    expect(await world.untilReason('InvalidSpec')).toBe(true);
    expect(world.condition('Stalled')).toMatchObject({ status: 'True', reason: 'InvalidSpec' });
    expect(world.jobsCreated).toBe(0);
  });

  test('of a field that no row has reports this while it runs and when it is complete', async () => {
    const world = new ExportWorld({ messages: evenly(3_000), scenario: slow });
    world.add({
      output: {
        format: 'NDJSON',
        compression: 'None',
        fields: ['_raw', '_sourcehost', 'srcHost'],
        maxPartSize: '256Mi',
      },
    });
    world.start();
    const message = () => world.condition('Ready')?.message ?? '';
    const isReported = () =>
      message().includes('; so far, the search results do not contain "srcHost" of spec.output.fields');
    expect(await world.world.until(isReported, 10 * minuteMs)).toBe(true);
    expect(await world.untilReason('Exported')).toBe(true);
    expect(message()).toMatch(
      /no row is missing\. The search results do not contain "srcHost" of spec\.output\.fields: check/,
    );
  });

  test('part of which another process has read does not report missing fields', async () => {
    const world = new ExportWorld({ messages: evenly(3_000), scenario: slow });
    world.add({ output: { format: 'NDJSON', compression: 'None', fields: ['_raw', 'srcHost'], maxPartSize: '256Mi' } });
    const first = world.start();
    await world.world.until(() => (world.status?.progress?.intervalsDone ?? 0) > 3, 30 * minuteMs);
    first.kill();
    world.start();
    expect(await world.untilReason('Exported')).toBe(true);
    expect(world.condition('Ready')?.message).toMatch(/no row is missing\.$/);
  });

  test('figures are written at most every ten seconds', async () => {
    const world = new ExportWorld({ messages: evenly(3_000), scenario: slow });
    world.add();
    world.start();
    await world.untilReason('Exported');
    const writes = world.world.api.requests.filter(({ method, path }) => method === 'PUT' && path.endsWith('/status'));
    const tookMs = Date.parse(world.status?.completionTime ?? '') - startMs;
    expect(tookMs).toBeGreaterThan(minuteMs);
    expect(writes.length).toBeLessThan(tookMs / 10_000 + 8);
  });

  test('E3: that lost its status, or was recreated, finds its manifest and is complete without a search', async () => {
    const world = new ExportWorld();
    world.add();
    world.start();
    await world.untilReason('Exported');
    const { jobsCreated } = world;
    world.world.api.remove(`${exportsPath}/audit`);
    await world.world.clock.advance(minuteMs);
    world.add();
    expect(await world.untilReason('Exported')).toBe(true);
    expect(world.jobsCreated).toBe(jobsCreated);
  });

  test('E3: takes over the manifest of a process with another spec.proof that finishes first', async () => {
    const world = new ExportWorld();
    world.add();
    world.start();
    await world.untilReason('Exported');
    const name = [...world.store.objects.keys()].find((each) => each.endsWith('/manifest.json')) ?? '';
    const byDigest = manifestKind.decode(name, world.store.objects.get(name) ?? Buffer.of());
    const { export: identity, intervals } = byDigest;
    const byCount = manifestKind.encode(manifestOf(identity, { intervals, remaining: [], strays: [] }));
    world.store.objects.delete(name);
    world.onOpen = (destination) => {
      destination.strike = (call, of) => {
        if (call === 'create' && of === name) world.store.objects.set(name, byCount);
        return undefined;
      };
    };
    world.annotate(annotations.requestedAt, 'again');
    expect(await world.world.until(() => world.status?.manifest?.proof === 'Search', 5 * minuteMs)).toBe(true);
    expect(await world.untilReason('Exported')).toBe(true);
    const { manifest } = world.status ?? {};
    expect(manifest?.sha256).toBe(createHash('sha256').update(byCount).digest('hex'));
    expect(world.store.objects.get(name)).toEqual(byCount);
  });

  test('that is complete is not checked by the next process until a user requests it', async () => {
    const world = new ExportWorld();
    world.add();
    const first = world.start();
    await world.untilReason('Exported');
    first.kill();
    world.start();
    await world.world.clock.advance(5 * minuteMs);
    expect(world.opened).toBe(1);
    world.annotate(annotations.requestedAt, 'again');
    await world.world.until(() => world.status?.lastHandledReconcileAt === 'again', minuteMs);
    await world.world.clock.advance(minuteMs);
    expect(world.opened).toBe(2);
    expect(world.reason).toBe('Exported');
  });

  test('whose files are missing is exported again when a user requests it', async () => {
    const world = new ExportWorld();
    world.add();
    world.start();
    await world.untilReason('Exported');
    world.store.objects.clear();
    world.annotate(annotations.requestedAt, 'again');
    expect(await world.untilReason('Exporting', 5 * minuteMs)).toBe(true);
    expect(world.condition('Complete')).toBeUndefined();
    expect(await world.untilReason('Exported')).toBe(true);
    expect(world.rows()).toEqual(texts(600));
  });

  test.each([
    ['', {}],
    [', even after its deadline', { activeDeadlineSeconds: 600 }],
  ])('that has lost a file stalls when a user requests a check%s, until the file is restored', async (_, spec) => {
    const world = new ExportWorld();
    world.add(spec);
    world.start();
    await world.untilReason('Exported');
    await world.world.clock.advance(hourMs);
    const [name, content] = [...world.store.objects].find(([each]) => each.includes('/data/')) ?? ['', Buffer.of()];
    world.store.objects.delete(name);
    world.annotate(annotations.requestedAt, 'again');
    expect(await world.untilReason('DestinationDamaged', 5 * minuteMs)).toBe(true);
    expect(world.condition('Stalled')?.message).toContain(name);
    expect(world.condition('Complete')).toBeUndefined();
    world.store.objects.set(name, content);
    world.annotate(annotations.requestedAt, 'restored');
    expect(await world.untilReason('Exported')).toBe(true);
    expect(world.rows()).toEqual(texts(600));
  });

  test('is shown as complete although the last write of its status met a conflict that nobody caused', async () => {
    const world = new ExportWorld();
    let refused = 0;
    let status = 500;
    world.world.api.onRequest = ({ method, collection, body }) => {
      const isEnd =
        method === 'PUT' && collection.endsWith('/searchexports') && JSON.stringify(body).includes('"Complete"');
      if (!isEnd || (status === 409 && refused > 0)) return undefined;
      refused++;
      return { kind: 'status', status, when: 'before' };
    };
    world.add();
    const operator = world.start();
    expect(await world.world.until(() => refused > 0, 5 * minuteMs)).toBe(true);
    operator.kill();
    [refused, status] = [0, 409];
    world.start();
    expect(await world.untilReason('Exported', 5 * minuteMs)).toBe(true);
    expect(refused).toBe(1);
  });

  test('fails at its deadline if it is unfinished and its plan is damaged', async () => {
    const world = new ExportWorld({ messages: evenly(3_000), scenario: slow });
    world.add({ activeDeadlineSeconds: 600 });
    const operator = world.start();
    expect(await world.world.until(() => (world.status?.progress?.intervalsDone ?? 0) > 0, 9 * minuteMs)).toBe(true);
    operator.kill();
    const plan = [...world.store.objects.keys()].find((name) => name.endsWith('/plan.json'));
    world.store.objects.set(plan as string, Buffer.from('{}'));
    world.start();
    expect(await world.untilReason('DestinationDamaged', 5 * minuteMs)).toBe(true);
    expect(await world.untilReason('DeadlineExceeded', 15 * minuteMs)).toBe(true);
    expect(world.condition('Failed')?.status).toBe('True');
  });

  test('that is exported again has its full deadline again', async () => {
    const world = new ExportWorld();
    world.add({ activeDeadlineSeconds: 600 });
    world.start();
    await world.untilReason('Exported');
    await world.world.clock.advance(hourMs);
    world.store.objects.clear();
    const againMs = startMs + world.world.clock.monotonic();
    world.annotate(annotations.requestedAt, 'again');
    expect(await world.untilReason('Exporting', 5 * minuteMs)).toBe(true);
    expect(Date.parse(world.status?.startTime ?? '')).toBeGreaterThanOrEqual(againMs - 1_000);
    expect(await world.untilReason('Exported')).toBe(true);
    expect(world.rows()).toEqual(texts(600));
  });

  test('E14: continues from the committed intervals when another process takes over', async () => {
    const world = new ExportWorld({ messages: evenly(3_000), scenario: slow });
    world.add();
    const first = world.start();
    await world.world.until(() => (world.status?.progress?.intervalsDone ?? 0) > 3, 30 * minuteMs);
    const { jobsCreated } = world;
    first.kill();
    world.start();
    expect(await world.untilReason('Exported')).toBe(true);
    expect(world.rows()).toEqual(texts(3_000));
    expect(world.jobsCreated - jobsCreated).toBeLessThan(20);
  });

  test('ends when its resource is deleted, and its jobs are deleted', async () => {
    const world = new ExportWorld({ messages: evenly(3_000), scenario: slow });
    world.add();
    world.start();
    expect(await world.world.until(() => world.status?.jobs?.length === 4, 10 * minuteMs)).toBe(true);
    world.world.api.remove(`${exportsPath}/audit`);
    await world.world.clock.advance(10_000);
    expect(world.jobsActive()).toBe(0);
    expect([...world.store.uploads]).toEqual([]);
  });
});

describe('a pause', () => {
  test.each<[string, (world: ExportWorld, isPaused: boolean) => void, string]>([
    ['by the spec', (world, paused) => world.patch({ spec: { paused } }), 'spec.paused'],
    [
      'by the annotation',
      (world, paused) => world.annotate(annotations.paused, paused ? 'true' : null),
      'the annotation logfleet.dev/paused',
    ],
  ])('%s lets running searches end and starts none, and the export continues afterwards', async (_, pause, by) => {
    const world = new ExportWorld({ messages: evenly(3_000), scenario: slow });
    world.add();
    world.start();
    await world.world.until(() => (world.status?.jobs?.length ?? 0) > 1, 10 * minuteMs);
    pause(world, true);
    expect(await world.untilReason('Paused', 5_000)).toBe(true);
    const { jobsCreated } = world;
    expect(world.condition('Ready')?.message).toContain(`Paused by ${by}: no new searches start.`);
    await world.world.clock.advance(5 * minuteMs);
    expect(world.jobsActive()).toBe(0);
    expect(world.jobsCreated - jobsCreated).toBeLessThan(5);
    const done = world.status?.progress?.intervalsDone;
    await world.world.clock.advance(5 * minuteMs);
    expect(world.status?.progress?.intervalsDone).toBe(done);
    pause(world, false);
    expect(await world.untilReason('Exported')).toBe(true);
    expect(world.rows()).toEqual(texts(3_000));
  });

  test('of all resources also pauses exports', async () => {
    const world = new ExportWorld();
    const settings = '/api/v1/namespaces/logfleet-system/configmaps';
    world.world.api.create(settings, {
      ...{ apiVersion: 'v1', kind: 'ConfigMap', data: { paused: 'true' } },
      metadata: { name: 'logfleet-settings', namespace: 'logfleet-system' },
    });
    world.add();
    world.start();
    expect(await world.untilReason('Paused')).toBe(true);
    await world.world.clock.advance(5 * minuteMs);
    expect(world.jobsCreated).toBe(0);
    world.world.api.patch(`${settings}/logfleet-settings`, { data: { paused: 'false' } });
    expect(await world.untilReason('Exported')).toBe(true);
  });
});

describe('limits', () => {
  test('a deadline that has passed fails the export, which continues when the deadline is raised', async () => {
    const world = new ExportWorld({ messages: evenly(3_000), scenario: slow });
    world.add({ activeDeadlineSeconds: 120 });
    world.start();
    expect(await world.untilReason('DeadlineExceeded')).toBe(true);
    expect(world.condition('Failed')?.status).toBe('True');
    expect(world.condition('Stalled')?.status).toBe('True');
    expect(world.status?.completionTime).toBeDefined();
    await world.world.clock.advance(minuteMs);
    expect(world.jobsActive()).toBe(0);
    world.patch({ spec: { activeDeadlineSeconds: 86_400 } });
    expect(await world.untilReason('Exporting')).toBe(true);
    expect(world.condition('Failed')).toBeUndefined();
    expect(world.status?.completionTime).toBeUndefined();
    expect(await world.untilReason('Exported')).toBe(true);
    expect(world.rows()).toEqual(texts(3_000));
  });

  test('a passed deadline fails an export that cannot read its destination, until the destination can be read', async () => {
    const world = new ExportWorld();
    let isAway = true;
    world.onOpen = (destination) => {
      destination.strike = () => (isAway ? { failure: 'away' } : undefined);
    };
    world.add({ activeDeadlineSeconds: 300 });
    world.start();
    expect(await world.untilReason('DestinationUnavailable')).toBe(true);
    expect(world.status?.outageStartTime).toBeDefined();
    expect(await world.untilReason('DeadlineExceeded', 10 * minuteMs)).toBe(true);
    expect(world.condition('Failed')?.status).toBe('True');
    isAway = false;
    world.patch({ spec: { activeDeadlineSeconds: 86_400 } });
    expect(await world.untilReason('Exported')).toBe(true);
    expect(world.condition('Failed')).toBeUndefined();
  });

  test('maxMessages fails the export, and keeps all rows found so far', async () => {
    const world = new ExportWorld({ messages: evenly(3_000), scenario: slow });
    world.add({ limits: { maxMessages: 1_000 } });
    world.start();
    expect(await world.untilReason('MaxMessagesReached')).toBe(true);
    expect(world.condition('Failed')?.status).toBe('True');
    expect(world.status?.progress?.rowsWritten).toBeGreaterThanOrEqual(1_000);
    world.patch({ spec: { limits: { maxMessages: 1_000_000 } } });
    expect(await world.untilReason('Exported')).toBe(true);
    expect(world.rows()).toEqual(texts(3_000));
  });

  test('E11: waits for a range that is too new', async () => {
    const world = new ExportWorld();
    world.add({ timeRange: { from: String(startMs + hourMs), to: String(startMs + 2 * hourMs) } });
    world.start();
    expect(await world.untilReason('WaitingToSettle')).toBe(true);
    expect(world.jobsCreated).toBe(0);
    expect(await world.untilReason('Exported', 3 * hourMs)).toBe(true);
    const atMs = Date.parse(world.status?.completionTime ?? '');
    expect(atMs).toBeGreaterThanOrEqual(startMs + 2 * hourMs + 3 * minuteMs);
  });
});

describe('an interval that cannot be proven', () => {
  test('E8: fails the export, until its policy keeps incomplete intervals', async () => {
    const world = new ExportWorld({ messages: evenly(600), scenario: slow });
    world.add({ query: '* | limit 500' });
    world.start();
    expect(await world.untilReason('IntervalIncomplete')).toBe(true);
    expect(world.condition('Failed')?.status).toBe('True');
    expect(world.condition('Ready')?.message).toContain('this query cannot be searched in shorter intervals');
    expect(world.status?.incomplete).toMatchObject([
      { reason: expect.stringContaining('the search stopped at 200 rows') },
    ]);
    expect(world.status?.manifest).toBeUndefined();
    world.patch({ spec: { incompletePolicy: 'Keep' } });
    expect(await world.untilReason('ExportedIncomplete')).toBe(true);
    expect(world.condition('Failed')).toBeUndefined();
    expect(world.condition('Complete')?.status).toBe('True');
    expect(world.status).toMatchObject({
      manifest: { complete: false, rows: 200 },
      incomplete: [{ reason: 'LimitReached' }],
    });
  });

  test('and was kept is not accepted by an export that keeps no incomplete intervals, until its policy changes or it starts again', async () => {
    const world = new ExportWorld({ messages: evenly(600), scenario: slow });
    world.add({ query: '* | limit 500', incompletePolicy: 'Keep' });
    const removedAndMadeAgain = async () => {
      world.world.api.remove(`${exportsPath}/audit`);
      await world.world.clock.advance(minuteMs);
      world.add({ query: '* | limit 500' });
    };
    world.start();
    expect(await world.untilReason('ExportedIncomplete')).toBe(true);
    await removedAndMadeAgain();
    expect(await world.untilReason('IntervalIncomplete')).toBe(true);
    expect(world.condition('Failed')?.status).toBe('True');
    expect(world.condition('Complete')).toBeUndefined();
    world.patch({ spec: { incompletePolicy: 'Keep' } });
    expect(await world.untilReason('ExportedIncomplete')).toBe(true);
    await removedAndMadeAgain();
    expect(await world.untilReason('IntervalIncomplete')).toBe(true);
    const { jobsCreated } = world;
    world.store.objects.clear();
    world.annotate(annotations.requestedAt, 'anew');
    expect(await world.untilReason('Exporting')).toBe(true);
    expect(await world.untilReason('IntervalIncomplete')).toBe(true);
    expect(world.condition('Ready')?.message).toContain('the search stopped at 200 rows');
    expect(world.jobsCreated).toBeGreaterThan(jobsCreated);
  });

  test('makes a complete export incomplete when its policy changes to keep none', async () => {
    const world = new ExportWorld({ messages: evenly(600), scenario: slow });
    world.add({ query: '* | limit 500', incompletePolicy: 'Keep' });
    world.start();
    expect(await world.untilReason('ExportedIncomplete')).toBe(true);
    const { jobsCreated } = world;
    await world.world.clock.advance(hourMs);
    world.patch({ spec: { incompletePolicy: 'Fail' } });
    expect(await world.untilReason('IntervalIncomplete')).toBe(true);
    expect(world.condition('Failed')?.status).toBe('True');
    expect(world.condition('Complete')).toBeUndefined();
    world.patch({ spec: { incompletePolicy: 'Keep' } });
    expect(await world.untilReason('ExportedIncomplete')).toBe(true);
    expect(world.condition('Failed')).toBeUndefined();
    expect(world.jobsCreated).toBe(jobsCreated);
  });

  test('E5: because its search reports errors is not committed, and the errors are reported', async () => {
    const world = new ExportWorld({ scenario: { search: { brokenQuery: 'pendingError' } } });
    world.add({ query: '* | where (' });
    world.start();
    expect(await world.untilReason('IntervalIncomplete')).toBe(true);
    expect(world.status?.pendingErrors).not.toEqual([]);
    const { jobsCreated } = world;
    await world.world.clock.advance(hourMs);
    expect(world.jobsCreated).toBe(jobsCreated);
  });

  test('a query that the service refuses waits for a user, with few requests', async () => {
    const world = new ExportWorld();
    world.add({ query: '* | where (' });
    world.start();
    expect(await world.untilReason('QueryRefused')).toBe(true);
    expect(world.condition('Stalled')?.status).toBe('True');
    const before = world.world.journal.length;
    await world.world.clock.advance(10 * minuteMs);
    expect(world.reason).toBe('QueryRefused');
    expect(world.world.journal.length - before).toBeLessThanOrEqual(20);
  });
});

test('B1: exports and a rollout of one user share one budget', async () => {
  const world = new ExportWorld({
    messages: evenly(3_000),
    scenario: {
      ...slow,
      builds: ['19.100-1', '19.150-1', '19.200-1'],
      groups: { web: { count: 200, version: '19.100-1', upgrade: { duration: '30s' } } },
    },
  });
  world.add();
  world.world.addSecret('other', { user: 'simulator' });
  const timeRange = { from: String(startMs - 2 * hourMs), to: String(startMs - hourMs) };
  world.world.addExport('second', { timeRange, credentialsSecretRef: { name: 'other' } });
  world.world.addPolicy('production', { target: { version: '19.200-1' } });
  world.start();
  expect(await world.untilReason('Exported', 2 * hourMs)).toBe(true);
  const isDone = () => world.world.ready('production')?.status === 'True';
  expect(await world.world.until(isDone, 2 * hourMs)).toBe(true);
  const { perSecond, atOnce } = busiest(world.world.journal);
  expect(perSecond).toBeLessThanOrEqual(4);
  expect(atOnce).toBeLessThanOrEqual(10);
  const jobsEndedBy = world.world.journal.filter(({ status }) => status === 429);
  expect(jobsEndedBy).toEqual([]);
});

describe('the Secret', () => {
  test('that is missing stalls the export until it exists', async () => {
    const world = new ExportWorld();
    world.add({ credentialsSecretRef: { name: 'other' } });
    world.start();
    expect(await world.untilReason('SecretNotFound')).toBe(true);
    expect(world.condition('Stalled')?.status).toBe('True');
    world.world.addSecret('other');
    expect(await world.untilReason('Exported', 2 * minuteMs)).toBe(true);
  });

  test('whose key is refused stalls the export with few requests, and is read again', async () => {
    const world = new ExportWorld();
    world.add({ credentialsSecretRef: { name: 'other' } });
    world.world.addSecret('other', { accessKey: 'wrong' });
    world.start();
    expect(await world.untilReason('Unauthorized')).toBe(true);
    const before = world.world.journal.length;
    await world.world.clock.advance(10 * minuteMs);
    expect(world.reason).toBe('Unauthorized');
    expect(world.world.journal.length - before).toBeLessThan(50);
    const accessKey = Buffer.from('simulator-key').toString('base64');
    world.world.api.patch(`${secretsPath}/other`, { data: { accessKey } });
    expect(await world.untilReason('Exported', 2 * minuteMs)).toBe(true);
  });

  test('that changes lets running searches end, and the other intervals use the new one', async () => {
    const world = new ExportWorld({ messages: evenly(3_000), scenario: slow });
    world.add();
    world.start();
    await world.world.until(() => (world.status?.jobs?.length ?? 0) > 1, 10 * minuteMs);
    world.changeSecret({ allowedHosts: 'elsewhere.example.com' });
    expect(await world.untilReason('Exported')).toBe(true);
    expect(world.opened).toBe(2);
    expect(world.rows()).toEqual(texts(3_000));
  });
});

describe('the destination', () => {
  test.each<['full' | 'away' | 'denied', string, boolean]>([
    ['full', 'DestinationFull', false],
    ['away', 'DestinationUnavailable', false],
    ['denied', 'DestinationAccessDenied', true],
  ])('that is %s is reported by a condition, and tried again', async (failure, reason, isStalled) => {
    const world = new ExportWorld();
    let isBroken = true;
    world.onOpen = (destination) => {
      destination.strike = (call) => (isBroken && call !== 'read' && call !== 'list' ? { failure } : undefined);
    };
    world.add();
    world.start();
    expect(await world.untilReason(reason)).toBe(true);
    expect(world.condition(isStalled ? 'Stalled' : 'Reconciling')?.status).toBe('True');
    await world.world.clock.advance(10 * minuteMs);
    expect(world.reason).toBe(reason);
    isBroken = false;
    expect(await world.untilReason('Exported', 10 * minuteMs)).toBe(true);
    expect(world.rows()).toEqual(texts(600));
  });

  test('a volume that the operator does not have stalls the export', async () => {
    const world = new ExportWorld();
    world.add({ destination: { volume: { name: 'other' } } });
    world.start();
    expect(await world.untilReason('VolumeNotFound')).toBe(true);
    expect(world.condition('Ready')?.message).toBe(
      'The operator has no volume other. Its volumes are: exports. Start the operator with --volume other=DIR, or use another volume.',
    );
  });

  test('a store without credentials is refused, because the credentials of the operator would be used', async () => {
    const world = new ExportWorld();
    world.add({ destination: { s3: { bucket: 'log-exports', forcePathStyle: false, insecure: false } } });
    world.start();
    expect(await world.untilReason('AmbientCredentialsNotAllowed')).toBe(true);
    expect(world.opened).toBe(0);
  });
});

describe('leadership', () => {
  test('E14, L1: a process that lost the lease sends no request, and the next leader continues', async () => {
    const world = new ExportWorld({ messages: evenly(3_000), scenario: slow });
    world.add();
    const first = world.start({ leaderElection: true });
    expect(await world.world.until(() => world.status?.jobs?.length === 4, 10 * minuteMs)).toBe(true);
    const { api } = world.world;
    api.onRequest = ({ client }) => (client === first.name ? { kind: 'stall', when: 'before' } : undefined);
    expect(await world.world.until(() => !first.host.leadership.isLeader(), minuteMs)).toBe(true);
    const lostMs = world.world.clock.now();
    await world.world.clock.advance(30_000);
    expect(world.world.journal.filter(({ at }) => at > lostMs + 100)).toEqual([]);
    world.start({ leaderElection: true });
    expect(await world.untilReason('Exported', hourMs)).toBe(true);
    expect(world.rows()).toEqual(texts(3_000));
  });

  test('a process that is shutting down closes its jobs first', async () => {
    const world = new ExportWorld({ messages: evenly(3_000), scenario: slow });
    world.add();
    const replica = world.start();
    expect(await world.world.until(() => world.status?.jobs?.length === 4, 10 * minuteMs)).toBe(true);
    let isOver = false;
    void replica.stop().then(() => {
      isOver = true;
    });
    expect(await world.world.until(() => isOver, 10_000)).toBe(true);
    expect(world.jobsActive()).toBe(0);
    expect([...world.store.uploads]).toEqual([]);
    expect(world.status).toMatchObject({ jobs: [], summary: { state: 'Exporting' } });
  });
});

describe('metrics', () => {
  test('show the progress and state of an export, and are removed with the export', async () => {
    const metrics = new PrometheusMetrics();
    const world = new ExportWorld();
    world.add();
    world.start({ metrics });
    await world.untilReason('Exported');
    await world.world.clock.advance(1_000);
    const lines = async () =>
      (await metrics.render()).split('\n').filter((line) => line.startsWith('logfleet_export_'));
    const labels = 'namespace="logging",export="audit"';
    expect(await lines()).toEqual([
      `logfleet_export_covered_ratio{${labels}} 1`,
      `logfleet_export_written_rows{${labels}} 600`,
      expect.stringMatching(/^logfleet_export_written_bytes\{.*\} \d+$/),
      expect.stringMatching(/^logfleet_export_scanned_bytes\{.*\} [1-9]\d*$/),
      `logfleet_export_jobs{${labels}} 0`,
      `logfleet_export_state{${labels},state="Ready",reason="Exported"} 1`,
    ]);
    world.world.api.remove(`${exportsPath}/audit`);
    await world.world.clock.advance(1_000);
    expect(await lines()).toEqual([]);
  });

  test('are removed for exports and policies when another process leads', async () => {
    const world = new ExportWorld({ messages: evenly(3_000), scenario: slow });
    world.add();
    world.world.addPolicy('production', { target: { version: '19.100-1' } });
    const metrics = [new PrometheusMetrics(), new PrometheusMetrics()] as const;
    const first = world.start({ leaderElection: true, metrics: metrics[0] });
    const series = async (of: PrometheusMetrics) =>
      (await of.render()).split('\n').filter((line) => /^logfleet_(export|policy)_/.test(line));
    expect(await world.untilReason('Exporting')).toBe(true);
    world.start({ leaderElection: true, metrics: metrics[1] });
    await world.world.clock.advance(minuteMs);
    expect(await series(metrics[0])).toContainEqual(expect.stringContaining('logfleet_export_state'));
    expect(await series(metrics[0])).toContainEqual(expect.stringContaining('logfleet_policy_state'));
    expect(await series(metrics[1])).toEqual([]);
    world.world.api.onRequest = ({ client }) => (client === first.name ? { kind: 'stall', when: 'before' } : undefined);
    await world.world.clock.advance(minuteMs);
    expect(await series(metrics[0])).toEqual([]);
    expect(await series(metrics[1])).toContainEqual(expect.stringContaining('logfleet_export_state'));
    expect(await series(metrics[1])).toContainEqual(expect.stringContaining('logfleet_policy_state'));
  });
});

describe('the TTL of a finished resource', () => {
  test('removes the resource when the TTL has passed, and keeps its files', async () => {
    const world = new ExportWorld();
    world.add({ ttlSecondsAfterFinished: 600 });
    world.start();
    await world.untilReason('Exported');
    await world.world.clock.advance(9 * minuteMs);
    expect(world.status).toBeDefined();
    await world.world.clock.advance(2 * minuteMs);
    expect(world.world.export('audit')).toBeUndefined();
    expect(world.rows()).toEqual(texts(600));
  });

  test('does not remove the resource if the TTL is extended in time', async () => {
    const world = new ExportWorld();
    world.add({ ttlSecondsAfterFinished: 600 });
    world.start();
    await world.untilReason('Exported');
    let deletions = 0;
    world.world.api.onRequest = ({ method, name }) => {
      if (method === 'DELETE' && name === 'audit' && ++deletions === 1) {
        world.patch({ spec: { ttlSecondsAfterFinished: 3_600 } });
      }
      return undefined;
    };
    await world.world.clock.advance(30 * minuteMs);
    expect(deletions).toBe(1);
    expect(world.reason).toBe('Exported');
    await world.world.clock.advance(31 * minuteMs);
    expect(world.world.export('audit')).toBeUndefined();
  });

  test('is optional: without it, the resource stays', async () => {
    const world = new ExportWorld();
    world.add();
    world.start();
    await world.untilReason('Exported');
    await world.world.clock.advance(4 * hourMs);
    expect(world.reason).toBe('Exported');
  });
});

/** Tests that idle exports and missing Secrets cause hardly any requests (C1, C2). */
import { describe, expect, test } from 'vitest';
import { reasons } from '../../../src/api/conditions.ts';
import { hourMs, minuteMs, secondMs } from '../../../src/base/time-units.ts';
import { secretsPath } from '../../support/world.ts';
import { ExportWorld, evenly, startMs } from './export-world.ts';

function costs({ world }: ExportWorld) {
  const paths = world.api.requests.map(({ method, path }) => `${method} ${path}`);
  return {
    secretReads: paths.filter((text) => text.startsWith(`GET ${secretsPath}/`)).length,
    statusWrites: paths.filter((text) => text.endsWith('/status')).length,
  };
}

describe('C1: after a restart, nothing is read, opened or written', () => {
  test('for a paused export, which continues when it is resumed', async () => {
    const world = new ExportWorld();
    world.add({ paused: true });
    const first = world.start();
    expect(await world.untilReason(reasons.paused)).toBe(true);
    first.kill();
    const before = costs(world);
    world.start();
    await world.world.clock.advance(hourMs);
    expect(costs(world)).toEqual(before);
    expect([world.opened, world.jobsCreated, before.secretReads]).toEqual([0, 0, 0]);
    world.patch({ spec: { paused: false } });
    expect(await world.untilReason(reasons.exported)).toBe(true);
  });

  test('for a complete export, which is checked when a user requests it', async () => {
    const world = new ExportWorld();
    world.add();
    const first = world.start();
    expect(await world.untilReason(reasons.exported)).toBe(true);
    first.kill();
    const [before, { opened }] = [costs(world), world];
    world.start();
    await world.world.clock.advance(hourMs);
    expect(costs(world)).toEqual(before);
    expect(world.opened).toBe(opened);
    world.annotate('logfleet.dev/requestedAt', 'now');
    expect(await world.world.until(() => world.opened > opened, minuteMs)).toBe(true);
    await world.world.clock.advance(minuteMs);
    expect(world.reason).toBe(reasons.exported);
  });

  test.each<[string, (world: ExportWorld) => void]>([
    ['the deadline is raised', (world) => world.patch({ spec: { activeDeadlineSeconds: 86_400 } })],
    ['a user asks', (world) => world.annotate('logfleet.dev/requestedAt', 'now')],
  ])('for a failed export, which is checked again when %s', async (_, wake) => {
    const world = new ExportWorld({
      messages: evenly(3_000),
      scenario: { search: { messageLimit: 100, duration: '30s' } },
    });
    world.add({ activeDeadlineSeconds: 120 });
    const first = world.start();
    expect(await world.untilReason(reasons.deadlineExceeded)).toBe(true);
    await world.world.clock.advance(minuteMs);
    first.kill();
    const [before, { opened }] = [costs(world), world];
    world.start();
    await world.world.clock.advance(hourMs);
    expect(costs(world)).toEqual(before);
    expect(world.opened).toBe(opened);
    wake(world);
    expect(await world.world.until(() => world.opened > opened, minuteMs)).toBe(true);
  });
});

test('C1: an export that is paused while it runs keeps no destination once its status is up to date', async () => {
  const world = new ExportWorld({
    messages: evenly(3_000),
    scenario: { search: { messageLimit: 100, duration: '30s' } },
    settings: { statusIntervalMs: minuteMs },
  });
  world.add({ activeDeadlineSeconds: 86_400 });
  world.start();
  await world.world.until(() => (world.status?.progress?.intervalsDone ?? 0) > 1, 10 * minuteMs);
  world.patch({ spec: { paused: true } });
  await world.world.clock.advance(10 * minuteMs);
  const [before, { opened }] = [costs(world), world];
  await world.world.clock.advance(hourMs);
  expect(costs(world)).toEqual(before);
  expect(world.reason).toBe(reasons.paused);
  const commits = [...world.store.objects.keys()].filter((name) => name.includes('/commits/'));
  expect(world.status?.progress?.intervalsDone).toBe(commits.length);
  world.patch({ spec: { paused: false } });
  expect(await world.untilReason(reasons.exported)).toBe(true);
  expect(world.opened).toBe(opened + 1);
});

test('C1: searches that run when an export is paused are committed', async () => {
  const world = new ExportWorld({
    messages: evenly(3_000),
    scenario: { search: { messageLimit: 100, duration: '30s' } },
  });
  world.add();
  world.start();
  await world.world.until(() => (world.status?.progress?.intervalsDone ?? 0) > 1, 10 * minuteMs);
  const commits = () => [...world.store.objects.keys()].filter((name) => name.includes('/commits/')).length;
  const before = commits();
  world.patch({ spec: { paused: true } });
  await world.world.clock.advance(2 * minuteMs);
  expect(world.reason).toBe(reasons.paused);
  expect(commits()).toBeGreaterThan(before);
});

test.each<[string, object]>([
  [reasons.secretNotFound, { credentialsSecretRef: { name: 'other' } }],
  [reasons.queryRefused, { query: '* | where (' }],
])('C1: no Secret is read for an export that is paused after a failure (%s)', async (reason, spec) => {
  const world = new ExportWorld();
  world.add(spec);
  world.start();
  expect(await world.untilReason(reason)).toBe(true);
  world.patch({ spec: { paused: true } });
  expect(await world.untilReason(reasons.paused)).toBe(true);
  await world.world.clock.advance(minuteMs);
  const before = costs(world);
  await world.world.clock.advance(10 * minuteMs);
  expect(costs(world)).toEqual(before);
  world.patch({ spec: { paused: false } });
  expect(await world.untilReason(reason)).toBe(true);
});

describe('C2: a Secret that many resources are waiting for', () => {
  const names = Array.from({ length: 60 }, (_, index) => `export-${index}`);
  const timeRange = { from: String(startMs - 2 * hourMs), to: String(startMs - hourMs) };
  const reasonOf = (world: ExportWorld, name: string) =>
    world.world.export(name)?.status?.conditions?.find(({ type }) => type === 'Ready')?.reason;

  function waiting(): ExportWorld {
    const world = new ExportWorld();
    for (const name of names) world.world.addExport(name, { timeRange, credentialsSecretRef: { name: 'other' } });
    world.world.addPolicy('production', {
      target: { version: '19.100-1' },
      credentialsSecretRef: { name: 'other' },
    });
    world.start();
    return world;
  }

  test('is read once in five seconds for all of them, and the next read notices its creation', async () => {
    const world = waiting();
    const isWaiting = (name: string) => reasonOf(world, name) === reasons.secretNotFound;
    expect(await world.world.until(() => names.every(isWaiting), minuteMs)).toBe(true);
    const before = costs(world);
    await world.world.clock.advance(10 * minuteMs);
    const after = costs(world);
    expect(after.secretReads - before.secretReads).toBeLessThanOrEqual(121);
    expect(after.statusWrites).toBe(before.statusWrites);
    expect(world.world.ready('production')?.reason).toBe(reasons.secretNotFound);
    world.world.addSecret('other');
    await world.world.clock.advance(6 * secondMs);
    expect(names.filter(isWaiting)).toEqual([]);
    expect(world.world.ready('production')?.reason).not.toBe(reasons.secretNotFound);
    expect(costs(world).secretReads - after.secretReads).toBeLessThanOrEqual(3);
  });

  test('is no longer read when no resource waits for it', async () => {
    const world = waiting();
    await world.world.clock.advance(minuteMs);
    for (const name of names)
      world.world.api.remove(`/apis/logfleet.dev/v1alpha1/namespaces/logging/searchexports/${name}`);
    world.world.api.remove('/apis/logfleet.dev/v1alpha1/namespaces/logging/collectorversionpolicies/production');
    await world.world.clock.advance(minuteMs);
    const before = costs(world);
    await world.world.clock.advance(10 * minuteMs);
    expect(costs(world)).toEqual(before);
  });

  test('whose key is refused is read again within five seconds of its correction', async () => {
    const world = new ExportWorld();
    world.add({ credentialsSecretRef: { name: 'other' } });
    world.world.addSecret('other', { accessKey: 'wrong' });
    world.start();
    expect(await world.untilReason(reasons.unauthorized)).toBe(true);
    await world.world.clock.advance(2 * minuteMs);
    const accessKey = Buffer.from('simulator-key').toString('base64');
    world.world.api.patch(`${secretsPath}/other`, { data: { accessKey } });
    expect(await world.world.until(() => world.reason !== reasons.unauthorized, 6 * secondMs)).toBe(true);
    expect(await world.untilReason(reasons.exported)).toBe(true);
  });
});

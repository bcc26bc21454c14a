/**
 * Tests message analyses for collectors with unusual names, and message analyses during which users act on the rollout.
 */
import { expect, test } from 'vitest';
import { annotations } from '../../../src/api/annotations.ts';
import { hourMs, minuteMs } from '../../../src/base/time-units.ts';
import { analyzed } from './analyzed-world.ts';
import { before, target } from './staged-world.ts';

const silencing = { stopsShipping: 0.3 };
const rollback = { failurePolicy: { action: 'Rollback' }, allowDowngrade: true };

test('collectors are told apart by id, whatever their names are', async () => {
  const names = [
    ...['a"b', "a'b", 'a\\b', 'a|count', '*', '**', 'web-*', '?', ' ', 'a b ', '%s', '$x', '<b>'],
    ...['case', 'CASE', 'Case', 'Ünï-😀', '\u202Ereversed', '\u001b[31mred', 'a\nb', 'x'.repeat(3000)],
    ...['__proto__', 'constructor'],
  ];
  const collectors = Object.fromEntries(names.map((name) => [name, { version: before, messagesPerMinute: 20 }]));
  const { world, analysisNow, snapshot } = analyzed({
    build: { stopsShipping: 0.5 },
    canary: { size: names.length, maxFailures: '99%' },
    scenario: { groups: {}, collectors },
  });
  world.start();
  await world.until(() => analysisNow()?.judged !== undefined, 3 * hourMs);
  const { judged, quiet = 0, unjudged, quietest = [] } = analysisNow() ?? {};
  expect({ judged, unjudged }).toEqual({ judged: names.length, unjudged: 0 });
  expect(quiet).toBeGreaterThan(0);
  expect(quiet).toBeLessThan(names.length);
  expect(quietest).toHaveLength(Math.min(10, quiet));
  const named = new Map(snapshot().collectors.map(({ id, name }) => [id, name]));
  for (const { id, name } of quietest) expect(named.get(id)?.slice(0, 256)).toBe(name);
});

test.each([
  ['the soak', 5],
  ['the wait for late messages', 36],
])('a policy that is paused for a day during %s judges the periods of its rollout', async (_, minutes) => {
  const { world, analysisNow, patch, untilReason, at } = analyzed({ build: silencing });
  world.start();
  await world.until(() => analysisNow() !== undefined, 2 * hourMs);
  const { baseline, result } = analysisNow() ?? {};
  await world.clock.advance(minutes * minuteMs);
  patch({ spec: { paused: true } });
  await world.clock.advance(24 * hourMs);
  expect(world.ready('production')?.reason).toBe('Paused');
  patch({ spec: { paused: false } });
  expect(await untilReason('RolloutStopped', hourMs)).toBe(true);
  expect(analysisNow()).toMatchObject({ judged: 20, unjudged: 0, baseline, result });
  expect(at(target)).toBe(20);
});

test('a rollback that is paused for a day continues, and its check counts messages after the rollback', async () => {
  const { world, analysisNow, patch, untilReason, at } = analyzed({ build: silencing, spec: rollback });
  world.start();
  await world.until(() => analysisNow()?.judged !== undefined, 3 * hourMs);
  patch({ spec: { paused: true } });
  await world.clock.advance(24 * hourMs);
  expect(analysisNow()?.recovery).toBeUndefined();
  const resumedMs = world.service.nowMs();
  patch({ spec: { paused: false } });
  expect(await untilReason('RolledBack', hourMs)).toBe(true);
  expect(at(target)).toBe(0);
  expect(await world.until(() => analysisNow()?.recovery?.state === 'Recovered', 2 * hourMs)).toBe(true);
  expect(Date.parse(analysisNow()?.recovery?.period.startTime ?? '')).toBeGreaterThan(resumedMs);
});

test('a retry while messages are counted drops this count and its search job', async () => {
  const faults = { slow: { kind: 'delay', delay: '3s', operations: ['getJob'] as const } } as const;
  const { world, analysisNow, annotate, status, untilReason, snapshot, searches } = analyzed({
    build: silencing,
    scenario: { faults },
  });
  world.start();
  for (const text of ['first', 'second']) {
    const before = searches().length;
    await world.until(() => searches().length > before + 1, 3 * hourMs);
    expect(analysisNow()?.state).toBe('Running');
    const retriedMs = world.service.nowMs();
    await annotate(annotations.retry, `${status()?.rollout?.id}/${text}`);
    await world.until(() => Date.parse(analysisNow()?.result?.startTime ?? '') > retriedMs - 1_000, minuteMs);
    expect(analysisNow()?.judged).toBeUndefined();
  }
  expect(await untilReason('RolloutStopped', 3 * hourMs)).toBe(true);
  expect(analysisNow()).toMatchObject({ state: 'Failed', judged: 20, unjudged: 0 });
  await world.clock.advance(minuteMs);
  expect(snapshot().jobs.filter(({ ended }) => ended === undefined)).toEqual([]);
});

test('a collector that is deleted after its rollback does not count as a collector without messages', async () => {
  const { world, analysisNow, untilReason } = analyzed({ build: silencing, spec: rollback });
  world.start();
  expect(await untilReason('RolledBack')).toBe(true);
  const [deleted, ...others] = analysisNow()?.quietest ?? [];
  world.model.patch({ collectors: { [deleted?.name ?? '']: { absent: true } } }, world.service.nowMs());
  expect(await world.until(() => analysisNow()?.recovery?.recovered !== undefined, 2 * hourMs)).toBe(true);
  expect(analysisNow()?.recovery).toMatchObject({ state: 'Recovered', recovered: others.length });
  expect(analysisNow()?.quietest?.find(({ id }) => id === deleted?.id)?.messagesAfterRollback).toBeUndefined();
});

test('a status that reports the end of a rollback counts its collectors at their former version', async () => {
  // Only a few upgrades are running, so the operator reads the status of each task instead of the collector list.
  const { world, status, untilReason } = analyzed({
    build: { stopsShipping: 1 },
    canary: { size: 2 },
    group: { count: 2_000 },
    spec: rollback,
  });
  world.start();
  expect(await untilReason('RolledBack')).toBe(true);
  expect(status()?.versions).toEqual([{ version: before, count: 2_000 }]);
});

/** Tests how the operator checks after a rollback whether collectors are sending logs again (R11). */
import { describe, expect, test } from 'vitest';
import { annotations } from '../../../src/api/annotations.ts';
import { hourMs, minuteMs } from '../../../src/base/time-units.ts';
import { type AnalyzedParts, analyzed } from './analyzed-world.ts';
import { before, middle, type StagedSetting, target } from './staged-world.ts';

const rollback = { failurePolicy: { action: 'Rollback' }, allowDowngrade: true };

function rolledBack(setting: StagedSetting & AnalyzedParts = {}) {
  const world = analyzed({ build: { stopsShipping: 0.3 }, spec: rollback, ...setting });
  const recoveryNow = () => world.analysisNow()?.recovery;
  const untilChecked = () => world.world.until(() => recoveryNow()?.recovered !== undefined, 3 * hourMs);
  return { ...world, recoveryNow, untilChecked };
}

test('the status reports that collectors send messages again after the rollback', async () => {
  const { world, untilReason, untilChecked, recoveryNow, analysisNow, searches, at } = rolledBack();
  world.start();
  expect(await untilReason('RolledBack')).toBe(true);
  expect(recoveryNow()).toMatchObject({ state: 'Pending' });
  const { quiet = 0, scannedBytes = 0 } = analysisNow() ?? {};
  expect(await untilChecked()).toBe(true);
  expect(at(target)).toBe(0);
  expect(recoveryNow()).toMatchObject({ state: 'Recovered', recovered: quiet });
  for (const { messages, baseline, messagesAfterRollback = 0 } of analysisNow()?.quietest ?? []) {
    expect(messages).toBe(0);
    expect(messagesAfterRollback).toBeGreaterThan(0.9 * baseline);
  }
  expect(analysisNow()).toMatchObject({ state: 'Failed', quiet });
  expect(analysisNow()?.scannedBytes).toBeGreaterThan(scannedBytes);
  expect(world.ready('production')).toMatchObject({ status: 'False', reason: 'RolledBack' });
  // Status requests are excluded, because their number depends on how long the search takes.
  const requests = searches().filter(({ operation }) => operation !== 'getJob');
  expect(requests.length).toBeLessThanOrEqual(12);
  const now = searches().length;
  await world.clock.advance(5 * hourMs);
  expect(searches()).toHaveLength(now);
});

test('collectors that still send no logs with their previous version are reported', async () => {
  const { world, untilReason, untilChecked, recoveryNow, analysisNow } = rolledBack({ build: { stopsShipping: 1 } });
  world.start();
  expect(await untilReason('RolledBack')).toBe(true);
  const builds = [{ version: before, stopsShipping: 1 }, middle, target];
  world.model.patch({ builds }, world.service.nowMs());
  expect(await untilChecked()).toBe(true);
  expect(recoveryNow()).toMatchObject({ state: 'StillQuiet', recovered: 0 });
  for (const { messagesAfterRollback } of analysisNow()?.quietest ?? []) expect(messagesAfterRollback).toBeLessThan(5);
});

test('the status reports collectors that cannot be rolled back and send no logs', async () => {
  const { world, untilReason, untilChecked, recoveryNow, analysisNow, at } = rolledBack();
  world.start();
  await world.until(() => analysisNow() !== undefined, 2 * hourMs);
  world.model.patch({ builds: [middle, { version: target, stopsShipping: 0.3 }] }, world.service.nowMs());
  expect(await untilReason('RolledBack')).toBe(true);
  expect(at(target)).toBe(20);
  expect(await untilChecked()).toBe(true);
  expect(recoveryNow()).toMatchObject({ state: 'StillQuiet', recovered: 0 });
});

test('each stage with collectors that stopped sending logs is checked', async () => {
  const messages = { minRatio: '50%', duration: '30m', baseline: 'BeforeUpgrade', minMessages: 100 };
  const second = { name: 'second', size: 40, soakDuration: '35m', maxFailures: 0, analysis: { messages } };
  const { world, status, patch, untilReason } = rolledBack({ canary: { maxFailures: 20 } });
  const [canary, rest] = world.policy('production')?.spec.strategy.stages ?? [];
  patch({ spec: { strategy: { stages: [canary, second, rest] } } });
  world.start();
  expect(await untilReason('RolledBack', 10 * hourMs)).toBe(true);
  const states = () => status()?.stages?.map(({ analysis }) => analysis?.recovery?.state);
  expect(await world.until(() => states()?.[1] === 'Recovered', 3 * hourMs)).toBe(true);
  expect(states()).toEqual(['Recovered', 'Recovered', undefined]);
});

test('failures of upgrades alone cause no check', async () => {
  const { world, untilReason, analysisNow, searches } = rolledBack({
    build: {},
    scenario: { upgrade: { duration: '2m', outcomes: [{ share: 0.5, end: 'fail' }] } },
  });
  world.start();
  expect(await untilReason('RolledBack')).toBe(true);
  await world.clock.advance(2 * hourMs);
  expect(analysisNow()).toBeUndefined();
  expect(searches()).toEqual([]);
});

describe('a check that cannot be finished immediately', () => {
  test.each([
    ['search jobs that report errors', { kind: 'pendingError', operations: ['getJob'], times: 10 }],
    ['an unavailable service', { kind: 'status', status: 503, operations: ['createJob'], times: 10 }],
    ['a busy service', { kind: 'status', status: 429, operations: ['createJob', 'listRecords'], times: 20 }],
  ])('is repeated: %s', async (_, fault) => {
    const { world, untilReason, untilChecked, recoveryNow } = rolledBack();
    world.start();
    expect(await untilReason('RolledBack')).toBe(true);
    world.model.patch({ faults: { search: fault } } as object, world.service.nowMs());
    expect(await untilChecked(), JSON.stringify(recoveryNow())).toBe(true);
    expect(recoveryNow()?.state).toBe('Recovered');
  });

  test('reports why: search jobs always report errors', async () => {
    const { world, untilReason, recoveryNow } = rolledBack();
    world.start();
    expect(await untilReason('RolledBack')).toBe(true);
    const fault = { kind: 'pendingError', operations: ['getJob'] };
    world.model.patch({ faults: { search: fault } } as object, world.service.nowMs());
    expect(await world.until(() => recoveryNow()?.state === 'Unavailable', 2 * hourMs)).toBe(true);
    expect(recoveryNow()?.message).toContain('ended with errors');
    expect(world.ready('production')).toMatchObject({ reason: 'RolledBack' });
  });

  test.each([0, 10, 20, 33, 34])('survives a restart %i minutes after the rollback', async (minutes) => {
    const { world, untilReason, untilChecked, recoveryNow, analysisNow } = rolledBack();
    const first = world.start();
    expect(await untilReason('RolledBack')).toBe(true);
    const { period } = recoveryNow() ?? {};
    await world.clock.advance(minutes * minuteMs);
    first.kill();
    world.start();
    expect(await untilChecked()).toBe(true);
    expect(recoveryNow()).toMatchObject({ state: 'Recovered', recovered: analysisNow()?.quiet, period });
  });
});

test.each([
  ['retry', annotations.retry],
  ['abort', annotations.abort],
])('a new %s ends the check', async (_, annotation) => {
  const { world, untilReason, recoveryNow, annotate, status, searches } = rolledBack();
  world.start();
  expect(await untilReason('RolledBack')).toBe(true);
  const now = searches().length;
  await annotate(annotation, status()?.rollout?.id ?? '');
  await world.clock.advance(34 * minuteMs);
  expect(recoveryNow()).toBeUndefined();
  expect(searches()).toHaveLength(now);
});

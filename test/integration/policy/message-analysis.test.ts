/** Tests that a message analysis detects builds whose collectors stop sending logs. */
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { annotations } from '../../../src/api/annotations.ts';
import { hourMs, minuteMs } from '../../../src/base/time-units.ts';
import { World } from '../../support/world.ts';
import { readText } from '../../unit/house/source-file.ts';
import { analyzed } from './analyzed-world.ts';
import { before, middle, type StagedSetting, target } from './staged-world.ts';

const silencing = { stopsShipping: 0.3 };

describe('a build that silences 30 % of the canary', () => {
  test('is stopped before the second stage, and the status names collectors that stopped sending logs, with their counts', async () => {
    const { world, untilReason, analysisNow, snapshot, at, searches } = analyzed({ build: silencing });
    world.start();
    expect(await untilReason('RolloutStopped')).toBe(true);
    expect(at(target)).toBe(20);
    const { quiet = 0, quietest = [], judged, unjudged, state } = analysisNow() ?? {};
    expect({ state, judged, unjudged }).toEqual({ state: 'Failed', judged: 20, unjudged: 0 });
    expect(quiet).toBeGreaterThan(0);
    expect(quiet).toBeLessThan(20);
    expect(quietest).toHaveLength(quiet);
    const upgraded = new Set(
      snapshot()
        .collectors.filter(({ version }) => version === target)
        .map(({ id }) => id),
    );
    for (const one of quietest) {
      expect(upgraded.has(one.id)).toBe(true);
      expect(one.messages).toBe(0);
      expect(one.baseline).toBeGreaterThan(590);
    }
    expect(searches().length).toBeLessThanOrEqual(12);
    const tasks = snapshot().tasks.length;
    await world.clock.advance(3 * hourMs);
    expect(snapshot().tasks).toHaveLength(tasks);
  });

  test('is rolled back with `action: Rollback`, and the collectors that stopped sending logs send them again', async () => {
    const { world, untilReason, at, analysisNow } = analyzed({
      build: silencing,
      spec: { failurePolicy: { action: 'Rollback' }, allowDowngrade: true },
    });
    world.start();
    expect(await untilReason('RolledBack')).toBe(true);
    expect(at(target)).toBe(0);
    expect(analysisNow()).toMatchObject({ state: 'Failed' });
  });

  test('waits for a user when no tolerance is set', async () => {
    const { world, untilReason, at, analysisNow } = analyzed({ build: silencing, canary: { maxFailures: undefined } });
    world.start();
    expect(await untilReason('CollectorsFailed')).toBe(true);
    await world.clock.advance(5 * hourMs);
    expect(at(target)).toBe(20);
    expect(analysisNow()).toMatchObject({ state: 'Failed' });
  });

  test('continues with tolerated failures', async () => {
    const { world, untilReason, analysisNow } = analyzed({ build: silencing, canary: { maxFailures: 20 } });
    world.start();
    expect(await untilReason('AllUpdated', 10 * hourMs)).toBe(true);
    expect(analysisNow()).toMatchObject({ state: 'Failed' });
  });

  test('is measured again after a retry, with the former baseline', async () => {
    const { world, untilReason, analysisNow, status, annotate, stage } = analyzed({ build: silencing });
    world.start();
    expect(await untilReason('RolloutStopped')).toBe(true);
    const baseline = analysisNow()?.baseline;
    world.model.patch({ builds: [before, middle, target] }, world.service.nowMs());
    await world.clock.advance(hourMs);
    await annotate(annotations.retry, status()?.rollout?.id ?? '');
    await world.until(() => analysisNow()?.state === 'Pending', hourMs);
    expect(analysisNow()?.baseline).toEqual(baseline);
    expect(await untilReason('AllUpdated', 10 * hourMs)).toBe(true);
    expect(stage('canary')).toMatchObject({ state: 'Completed', analysis: { state: 'Passed', judged: 20, quiet: 0 } });
  });
});

test('a build that drops 80 % of all messages stops the rollout', async () => {
  const { world, untilReason, analysisNow } = analyzed({ build: { drops: 0.8 } });
  world.start();
  expect(await untilReason('RolloutStopped')).toBe(true);
  expect(analysisNow()).toMatchObject({ state: 'Failed', judged: 20, quiet: 20 });
  expect(analysisNow()?.quietest).toHaveLength(10);
});

test('a healthy build with a daily rhythm of traffic passes, compared with the day before', async () => {
  const { world, untilReason, analysisNow } = analyzed({
    group: { dailyRhythm: 0.9 },
    analysis: { baseline: 'DayBefore', minRatio: '90%' },
  });
  world.start();
  expect(await untilReason('AllUpdated', 10 * hourMs)).toBe(true);
  expect(analysisNow()).toMatchObject({ state: 'Passed', judged: 20, quiet: 0, unjudged: 0 });
});

test('only the messages of the scope are counted', async () => {
  const groups = {
    web: { count: 100, version: before, messagesPerMinute: 20, sourceCategory: 'prod/web' },
    lab: { count: 100, version: before, messagesPerMinute: 20, sourceCategory: 'lab/web' },
  };
  const { world, untilReason, analysisNow } = analyzed({
    scenario: { groups },
    analysis: { scope: '_sourceCategory=prod/*' },
  });
  world.start();
  expect(await untilReason('AllUpdated', 10 * hourMs)).toBe(true);
  const { judged = 0, unjudged = 0 } = analysisNow() ?? {};
  expect(judged + unjudged).toBe(20);
  expect(Math.min(judged, unjudged)).toBeGreaterThan(0);
});

test('a stage without a collector that can be judged waits until a user approves', async () => {
  const { world, untilReason, analysisNow, annotate, status, at } = analyzed({ group: { messagesPerMinute: 1 } });
  world.start();
  expect(await untilReason('StageInconclusive')).toBe(true);
  expect(analysisNow()).toMatchObject({ state: 'Inconclusive', judged: 0, unjudged: 20 });
  await world.clock.advance(2 * hourMs);
  expect(at(target)).toBe(20);
  await annotate(annotations.approve, `${status()?.rollout?.id}/canary`);
  expect(await untilReason('AllUpdated', 10 * hourMs)).toBe(true);
});

describe('a service that gives no reliable count', () => {
  const faulty = (fault: object) =>
    analyzed({
      build: silencing,
      scenario: { faults: { search: { times: 40, ...fault } } } as StagedSetting['scenario'] & object,
    });

  test.each([
    ['reports errors', { kind: 'pendingError', operations: ['getJob'] }],
    ['loses the search jobs', { kind: 'cancelJob', operations: ['getJob'] }],
    ['fails', { kind: 'status', status: 503, operations: ['createJob'] }],
  ])('%s: the stage waits with a reason, and then judges correctly', async (_, fault) => {
    const { world, untilReason, analysisNow, at } = faulty(fault);
    world.start();
    expect(await world.until(() => analysisNow()?.state === 'Unavailable', 3 * hourMs)).toBe(true);
    expect(at(target)).toBe(20);
    expect(await untilReason('RolloutStopped', 10 * hourMs)).toBe(true);
    expect(analysisNow()).toMatchObject({ state: 'Failed', judged: 20 });
  });

  test('returns short pages of records: the stage is judged correctly', async () => {
    const { world, untilReason, analysisNow } = faulty({ kind: 'shortPage', rows: 3, operations: ['listRecords'] });
    world.start();
    expect(await untilReason('RolloutStopped')).toBe(true);
    expect(analysisNow()).toMatchObject({ state: 'Failed', judged: 20 });
  });

  test('stalls the policy when the credentials may not search', async () => {
    const users = { simulator: { keys: { simulator: 'simulator-key' }, forbidden: ['createJob'] as const } };
    const { world, untilReason, at } = analyzed({ scenario: { users } });
    world.start();
    expect(await untilReason('AnalysisUnavailable')).toBe(true);
    await world.clock.advance(10 * minuteMs);
    const stalled = world.policy('production')?.status?.conditions?.find(({ type }) => type === 'Stalled');
    expect(stalled?.status).toBe('True');
    expect(at(target)).toBe(20);
  });
});

describe('a process that is killed during the analysis', () => {
  test.each([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])(
    'after request %i of its searches: the next process judges once',
    async (number) => {
      const { world, analysisNow, untilReason, searches, stage } = analyzed({ build: silencing });
      const first = world.start();
      await world.until(() => searches().length >= number || analysisNow()?.judged !== undefined, 3 * hourMs);
      first.kill();
      world.start();
      expect(await untilReason('RolloutStopped')).toBe(true);
      const { judged, quiet, state } = analysisNow() ?? {};
      expect({ judged, state }).toEqual({ judged: 20, state: 'Failed' });
      expect(stage('canary')?.failedAttempts).toBe(quiet);
    },
  );
});

test('examples/quiet-build is stopped by its canary, with its simulated fleet', async () => {
  const { spec } = parse(readText('examples/quiet-build/policy.yaml'));
  const [canary, ...others] = spec.strategy.stages;
  const messages = { baseline: 'BeforeUpgrade', ...canary.analysis.messages };
  const stages = [
    { ...canary, analysis: { messages } },
    ...others.map((stage: object) => ({ soakDuration: '0s', ...stage })),
  ];
  const world = new World({ scenario: parse(readText('examples/scenarios/quiet-build.yaml')) });
  world.addSecret();
  world.addPolicy('quiet-build', { ...spec, strategy: { order: 'Name', ...spec.strategy, stages } });
  world.start();
  expect(await world.until(() => world.ready('quiet-build')?.reason === 'RolloutStopped', hourMs)).toBe(true);
  expect(world.policy('quiet-build')?.status?.stages?.[0]?.analysis).toMatchObject({
    state: 'Failed',
    judged: 5,
    quietest: [{ name: 'web-0011' }, { name: 'web-0022' }],
  });
});

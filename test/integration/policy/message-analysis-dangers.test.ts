/** Tests message analyses with retries, new targets, changed credentials and lost ledgers. */
import { describe, expect, test } from 'vitest';
import { annotations } from '../../../src/api/annotations.ts';
import { hourMs, minuteMs } from '../../../src/base/time-units.ts';
import { secretsPath } from '../../support/world.ts';
import { analyzed } from './analyzed-world.ts';
import { Backup } from './backup.ts';
import { before, middle, rest, target } from './staged-world.ts';

const silencing = { stopsShipping: 0.3 };

test('a policy is no longer stalled when it gets credentials with the right to search', async () => {
  const users = {
    weak: { keys: { simulator: 'simulator-key' }, forbidden: ['createJob'] as const },
    strong: { keys: { strong: 'strong-key' } },
  };
  const { world, untilReason } = analyzed({ scenario: { users } });
  world.start();
  expect(await untilReason('AnalysisUnavailable')).toBe(true);
  const text = (value: string) => Buffer.from(value).toString('base64');
  world.api.patch(`${secretsPath}/log-service`, { data: { accessId: text('strong'), accessKey: text('strong-key') } });
  expect(await untilReason('AllUpdated', 10 * hourMs)).toBe(true);
});

describe('a baseline ends before the collectors run the target', () => {
  test('with a soak that is longer than a day', async () => {
    const { world, untilReason, analysisNow } = analyzed({
      build: silencing,
      canary: { soakDuration: '30h' },
      analysis: { baseline: 'DayBefore' },
    });
    world.start();
    expect(await untilReason('RolloutStopped', 40 * hourMs)).toBe(true);
    expect(analysisNow()).toMatchObject({ judged: 20, unjudged: 0, state: 'Failed' });
  });

  test('after a retry on another day', async () => {
    const { world, untilReason, analysisNow, annotate, status, at } = analyzed({
      build: silencing,
      analysis: { baseline: 'DayBefore' },
    });
    world.start();
    expect(await untilReason('RolloutStopped')).toBe(true);
    await world.clock.advance(50 * hourMs);
    await annotate(annotations.retry, status()?.rollout?.id ?? '');
    await world.until(() => analysisNow()?.state === 'Pending', hourMs);
    expect(await untilReason('RolloutStopped')).toBe(true);
    expect(analysisNow()).toMatchObject({ judged: 20, unjudged: 0, state: 'Failed' });
    expect(at(target)).toBe(20);
  });

  test('after a rollback and an immediate retry', async () => {
    const { world, untilReason, analysisNow, annotate, status, at } = analyzed({
      build: { drops: 0.8 },
      spec: { failurePolicy: { action: 'Rollback' }, allowDowngrade: true },
    });
    world.start();
    expect(await untilReason('RolledBack')).toBe(true);
    const { judged } = analysisNow() ?? {};
    await annotate(annotations.retry, status()?.rollout?.id ?? '');
    await world.until(() => analysisNow()?.judged === undefined, hourMs);
    await world.until(() => analysisNow()?.judged !== undefined, 4 * hourMs);
    expect(analysisNow()).toMatchObject({ judged, quiet: 20, state: 'Failed' });
    expect(at(target)).toBeLessThanOrEqual(20);
  });

  test('when the target changes and returns', async () => {
    const { world, analysisNow, patch, at } = analyzed({ build: silencing });
    world.start();
    await world.until(() => analysisNow() !== undefined, 2 * hourMs);
    await world.clock.advance(34 * minuteMs);
    patch({ spec: { target: { version: middle }, paused: true } });
    await world.clock.advance(2 * minuteMs);
    patch({ spec: { target: { version: target }, paused: false } });
    await world.until(
      () => ['RolloutStopped', 'AllUpdated'].includes(world.ready('production')?.reason ?? ''),
      5 * hourMs,
    );
    expect(analysisNow()).toMatchObject({ judged: 20, unjudged: 0, state: 'Failed' });
    expect(at(target)).toBe(20);
  });

  test('when the ledger is lost during the soak', async () => {
    const { world, analysisNow, at } = analyzed({ build: silencing });
    const replica = world.start();
    const backup = new Backup(world);
    await world.until(() => analysisNow() !== undefined, 2 * hourMs);
    await world.clock.advance(34 * minuteMs);
    replica.kill();
    backup.restoreLedgers();
    world.start();
    await world.until(
      () => ['RolloutStopped', 'AllUpdated'].includes(world.ready('production')?.reason ?? ''),
      5 * hourMs,
    );
    expect(world.ready('production')?.reason).toBe('RolloutStopped');
    expect(analysisNow()).toMatchObject({ judged: 20, unjudged: 0, state: 'Failed' });
    expect(at(target)).toBe(20);
  });
});

test('status names the collectors that stopped sending logs in a stage without tolerance', async () => {
  const { world, untilReason, analysisNow } = analyzed({ build: silencing, canary: { maxFailures: undefined } });
  world.start();
  expect(await untilReason('CollectorsFailed')).toBe(true);
  expect(analysisNow()?.quietest?.length).toBeGreaterThan(0);
  expect(world.ready('production')?.message).toContain('status.stages lists the collectors');
});

test('a rollout that continues although collectors stopped sending logs ends as CollectorsFailed', async () => {
  const { world, untilReason, status, at, annotate, analysisNow } = analyzed({
    build: silencing,
    spec: { failurePolicy: { action: 'Continue' } },
  });
  world.start();
  await world.until(() => at(target) === 40, 8 * hourMs);
  await world.clock.advance(hourMs);
  expect(world.ready('production')).toMatchObject({ status: 'False', reason: 'CollectorsFailed' });
  expect(analysisNow()).toMatchObject({ state: 'Failed' });
  await annotate(annotations.retry, status()?.rollout?.id ?? '');
  expect(await untilReason('AllUpdated')).toBe(true);
  expect(status()?.history?.[0]).toMatchObject({ outcome: 'Completed' });
});

test('a percentage of tolerated failures refers to the judged collectors after a retry', async () => {
  const { world, untilReason, annotate, status, stage, analysisNow } = analyzed({
    build: silencing,
    canary: { maxFailures: '80%' },
  });
  world.start();
  await world.until(() => analysisNow() !== undefined, 2 * hourMs);
  await world.clock.advance(20 * minuteMs);
  await annotate(annotations.retry, status()?.rollout?.id ?? '');
  expect(await untilReason('AllUpdated', 5 * hourMs), world.ready('production')?.message).toBe(true);
  expect(stage('canary')?.analysis?.quiet).toBeGreaterThan(0);
});

test('the rollout stops immediately after the judgement', async () => {
  const { world, analysisNow, untilReason } = analyzed({ build: silencing, spec: { resyncInterval: '1h' } });
  world.start();
  await world.until(() => analysisNow()?.judged !== undefined, 3 * hourMs);
  const judgedMs = world.clock.monotonic();
  expect(await untilReason('RolloutStopped')).toBe(true);
  expect(world.clock.monotonic() - judgedMs).toBeLessThan(15_000);
});

test('long names of collectors fit into the status', async () => {
  const name = 'x'.repeat(3000);
  const { world, untilReason, analysisNow } = analyzed({
    build: { stopsShipping: 1 },
    scenario: {
      groups: { web: { count: 1, version: before, messagesPerMinute: 20 } },
      collectors: Object.fromEntries(
        Array.from({ length: 3 }, (_, index) => [`${name}${index}`, { version: before, messagesPerMinute: 20 }]),
      ),
    },
  });
  world.start();
  expect(await untilReason('RolloutStopped')).toBe(true);
  for (const one of analysisNow()?.quietest ?? []) expect(one.name.length).toBeLessThanOrEqual(256);
});

test('a retry accepts a collector that stopped running', async () => {
  const { world, untilReason, annotate, status, snapshot, analysisNow } = analyzed({});
  world.start();
  await world.until(() => analysisNow() !== undefined, 2 * hourMs);
  const dead = snapshot().collectors.find(({ version }) => version === target)?.name ?? '';
  world.model.patch({ collectors: { [dead]: { running: false } } }, world.service.nowMs());
  expect(await untilReason('RolloutStopped', 5 * hourMs)).toBe(true);
  await annotate(annotations.retry, status()?.rollout?.id ?? '');
  expect(await untilReason('AllUpdated', 5 * hourMs), world.ready('production')?.message).toBe(true);
});

test('an inconclusive analysis says what a retry does', async () => {
  const { world, untilReason } = analyzed({ group: { messagesPerMinute: 1 } });
  world.start();
  expect(await untilReason('StageInconclusive')).toBe(true);
  expect(world.ready('production')?.message).toContain('count the messages again');
});

describe('a retry takes the present settings of the analysis', () => {
  const retryWith = async (change: object | undefined) => {
    const analysis = analyzed({ build: { drops: 0.6 } });
    const { world, untilReason, patch, annotate, status } = analysis;
    world.start();
    expect(await untilReason('RolloutStopped')).toBe(true);
    const [canary, rest] = world.policy('production')?.spec.strategy.stages ?? [];
    const messages = { ...canary?.analysis?.messages, ...change };
    patch({ spec: { strategy: { stages: [{ ...canary, analysis: change && { messages } }, rest] } } });
    await world.clock.advance(hourMs);
    expect(world.ready('production')?.reason).toBe('RolloutStopped');
    await annotate(annotations.retry, status()?.rollout?.id ?? '');
    return analysis;
  };

  test('with a lower ratio, the rollout continues', async () => {
    const { untilReason, analysisNow } = await retryWith({ minRatio: '30%' });
    expect(await untilReason('AllUpdated', 5 * hourMs)).toBe(true);
    expect(analysisNow()).toMatchObject({ state: 'Passed', judged: 20 });
  });

  test('without an analysis, the stage ends', async () => {
    const { untilReason, analysisNow } = await retryWith(undefined);
    expect(await untilReason('AllUpdated', 5 * hourMs)).toBe(true);
    expect(analysisNow()).toBeUndefined();
  });
});

test('a corrected scope and a retry end the wait for a query that the service refuses', async () => {
  const { world, untilReason, analysisNow, patch, annotate, status } = analyzed({ analysis: { scope: '((' } });
  world.start();
  expect(await untilReason('AnalysisUnavailable')).toBe(true);
  const [canary, rest] = world.policy('production')?.spec.strategy.stages ?? [];
  const messages = { ...canary?.analysis?.messages, scope: '*' };
  patch({ spec: { strategy: { stages: [{ ...canary, analysis: { messages } }, rest] } } });
  await annotate(annotations.retry, status()?.rollout?.id ?? '');
  expect(await untilReason('AllUpdated', 5 * hourMs)).toBe(true);
  expect(analysisNow()).toMatchObject({ state: 'Passed', judged: 20 });
});

test('a retry counts messages from its own time on, even if a restored ledger lacks the former result', async () => {
  const { world, untilReason, analysisNow, annotate, status, at } = analyzed({ build: silencing });
  const first = world.start();
  await world.until(() => analysisNow() !== undefined, 2 * hourMs);
  await world.clock.advance(10 * minuteMs);
  const backup = new Backup(world);
  expect(await untilReason('RolloutStopped')).toBe(true);
  first.kill();
  backup.restoreLedgers();
  world.start();
  await world.clock.advance(hourMs);
  expect(world.ready('production')?.reason).toBe('RolloutStopped');
  expect(at(target)).toBe(20);
  world.model.patch({ builds: [before, middle, target] }, world.service.nowMs());
  await annotate(annotations.retry, status()?.rollout?.id ?? '');
  expect(await untilReason('AllUpdated', 5 * hourMs), world.ready('production')?.message).toBe(true);
});

test('searches that fail for more than ten minutes are an outage', async () => {
  const faults = { search: { kind: 'status', status: 503, operations: ['createJob'] as const, times: 30 } } as const;
  const { world, untilReason, status } = analyzed({ scenario: { faults } });
  world.start();
  expect(await untilReason('AnalysisUnavailable')).toBe(true);
  expect(status()?.outageStartTime).toBeDefined();
  await world.clock.advance(15 * minuteMs);
  expect(status()?.conditions?.find(({ type }) => type === 'Outage')?.status).toBe('True');
  expect(await untilReason('AllUpdated', 10 * hourMs)).toBe(true);
  expect(status()?.outageStartTime).toBeUndefined();
});

test.each([
  ['without its analysis', [{ name: 'canary', size: 20, soakDuration: '0s', maxFailures: 50 }, rest]],
  ['without the stage', [rest]],
  ['without stages', []],
])('an edit of the spec changes no analysis before a retry: %s', async (_, stages) => {
  const { world, analysisNow, patch, untilReason, at } = analyzed({ build: silencing });
  world.start();
  await world.until(() => analysisNow() !== undefined, 2 * hourMs);
  patch({ spec: { strategy: { stages } } });
  expect(await untilReason('RolloutStopped')).toBe(true);
  expect(at(target)).toBe(20);
});

test('an approval before an inconclusive analysis does not end the stage', async () => {
  const { world, analysisNow, annotate, status, untilReason, at } = analyzed({ group: { messagesPerMinute: 1 } });
  world.start();
  await world.until(() => analysisNow() !== undefined, 2 * hourMs);
  await annotate(annotations.approve, `${status()?.rollout?.id}/canary`);
  expect(await untilReason('StageInconclusive')).toBe(true);
  await world.clock.advance(hourMs);
  expect(at(target)).toBe(20);
  await annotate(annotations.approve, `${status()?.rollout?.id}/canary/2`);
  expect(await untilReason('AllUpdated', 3 * hourMs)).toBe(true);
});

test('a collector that left or stopped running is not judged', async () => {
  const { world, analysisNow, stage, snapshot, untilReason } = analyzed({ canary: { maxFailures: 1 } });
  world.start();
  await world.until(() => analysisNow() !== undefined, 2 * hourMs);
  const [removed = '', dead = ''] = snapshot().collectors.flatMap(({ name, version }) =>
    version === target ? name : [],
  );
  world.model.patch({ collectors: { [removed]: { absent: true }, [dead]: { running: false } } }, world.service.nowMs());
  await world.until(() => analysisNow()?.judged !== undefined, 3 * hourMs);
  expect(stage('canary')).toMatchObject({ failed: 1, failedAttempts: 1, analysis: { judged: 18, quiet: 0 } });
  expect(await untilReason('AllUpdated', 3 * hourMs)).toBe(true);
});

test('two policies of one account count their messages separately', async () => {
  const { world, searches, untilReason } = analyzed({
    build: silencing,
    group: { count: 200 },
    spec: { selector: { matchNames: ['web-00*'] } },
  });
  world.addPolicy('other', { ...world.policy('production')?.spec, selector: { matchNames: ['web-01*'] } });
  world.start();
  expect(await untilReason('RolloutStopped')).toBe(true);
  expect(await world.until(() => world.ready('other')?.reason === 'RolloutStopped', hourMs)).toBe(true);
  expect(searches().length).toBeLessThanOrEqual(24);
});

test('a new leader judges once after the former leader has stopped', async () => {
  const { world, searches, untilReason, stage, analysisNow } = analyzed({ build: silencing });
  const first = world.start({ leaderElection: true });
  await world.until(() => searches().length >= 3, 3 * hourMs);
  void first.stop();
  world.start({ leaderElection: true });
  expect(await untilReason('RolloutStopped')).toBe(true);
  expect(stage('canary')?.failedAttempts).toBe(analysisNow()?.quiet);
});

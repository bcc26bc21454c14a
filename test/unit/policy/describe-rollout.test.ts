/** Tests the rollout in a policy's status: stages, stop, user actions and next window. */
import { describe, expect, test } from 'vitest';
import type { Stage, StageStatus } from '../../../src/api/generated/collector-version-policy.ts';
import { minuteMs } from '../../../src/base/time-units.ts';
import type { LedgerHeader, RolloutStop, StageRecord } from '../../../src/policy/ledger/ledger.ts';
import { endedEntry, epochMs, openEntry, stageOf, stageRecord, target } from './builders.ts';
import { type ChangedInput, decided, fleetOf, PolicyBench } from './policy-bench.ts';

const canary = stageOf('canary', { selector: { matchNames: ['web-1'] }, soakDuration: '1h' });
const rest = stageOf('rest');
const nowMs = 10 * minuteMs;
const time = '2026-11-01T00:00:00Z';

interface DescribedSetting {
  readonly stages?: readonly Stage[];
  readonly header?: Partial<LedgerHeader>;
  readonly seen?: ChangedInput;
  readonly first?: 'pending' | 'inProgress' | 'updated' | 'failed';
}

function reported({ stages = [canary, rest], header = {}, seen = {}, first = 'pending' }: DescribedSetting) {
  const entries = {
    pending: [],
    inProgress: [openEntry({ sinceMs: nowMs })],
    updated: [endedEntry('updated')],
    failed: [endedEntry('failed', {}, { used: 9, counted: { tally: 0, stage: 0 } })],
  }[first];
  const collectors = fleetOf(3).map((one) =>
    one.id === '1' && first === 'updated' ? { ...one, collectorVersion: target } : one,
  );
  const spec = { strategy: { maxInProgress: 1_000, order: 'Name' as const, stages: [...stages] } };
  const bench = new PolicyBench({ spec, header, entries, members: { canary: ['1'] }, collectors, seenAtMs: nowMs });
  const decision = decided(bench, { nowMs, batchCapacity: 0, ...seen });
  return { ...decision.essentials, stages: decision.figures.stages };
}

describe('stages', () => {
  const record = (more: Partial<StageRecord> = {}): StageRecord =>
    stageRecord('canary', { soakMs: 60 * minuteMs, upgraded: true, ...more });
  const ended = record({ updatedAtMs: epochMs, endedAtMs: epochMs + 1 });
  const stop: RolloutStop = { kind: 'failures', message: 'x', atMs: epochMs, stage: 'canary' };
  const asked = { ...rest, approval: 'Required' } as const;

  test.each<[string, DescribedSetting, readonly [StageStatus['state'], StageStatus['state']]]>([
    ['that starts', {}, ['Progressing', 'Pending']],
    ['in progress', { first: 'inProgress', header: { stages: [record()] } }, ['Progressing', 'Pending']],
    [
      'that soaks',
      { first: 'updated', header: { stages: [record({ updatedAtMs: epochMs })] } },
      ['Soaking', 'Pending'],
    ],
    ['that has ended', { first: 'updated', header: { stages: [ended] } }, ['Completed', 'Progressing']],
    [
      'that waits for an approval',
      { stages: [canary, asked], header: { stages: [ended] } },
      ['Completed', 'AwaitingApproval'],
    ],
    [
      'that is approved',
      { stages: [canary, asked], header: { stages: [ended], approved: ['rest'] } },
      ['Completed', 'Progressing'],
    ],
    [
      'without members',
      { stages: [{ ...canary, name: 'empty', selector: { matchNames: ['none'] } }, rest] },
      ['AwaitingApproval', 'Pending'],
    ],
    [
      'in which the rollout was stopped',
      { first: 'failed', header: { stages: [record()], stop } },
      ['Stopped', 'Pending'],
    ],
    ['while no upgrade may start', { seen: { policy: { spec: { mode: 'Observe' } } } }, ['Pending', 'Pending']],
  ])('%s', (_, setting, states) => {
    expect(reported(setting).stages.map(({ state }) => state)).toEqual(states);
  });

  test('count failed attempts, even of collectors that are retried', () => {
    const failing = reported({ first: 'failed', header: { stages: [record({ tally: { finished: 2, failed: 1 } })] } });
    expect(failing.stages[0]).toMatchObject({ failed: 1, failedAttempts: 1 });
    expect(failing.stages[1]).not.toHaveProperty('failedAttempts');
  });

  test('count upgrades in progress, once the stage has started', () => {
    const running = reported({ first: 'inProgress', header: { stages: [record()] } }).stages;
    expect(running[0]).toMatchObject({ members: 1, updated: 0, inProgress: 1, failed: 0 });
    expect(running[1]).not.toHaveProperty('inProgress');
    expect(reported({ first: 'updated', header: { stages: [record()] } }).stages[0]).not.toHaveProperty('inProgress');
  });

  test('have their counts and times', () => {
    const header = { stages: [record({ updatedAtMs: epochMs + minuteMs })] };
    expect(reported({ first: 'updated', header }).stages).toEqual([
      {
        name: 'canary',
        members: 1,
        updated: 1,
        failed: 0,
        state: 'Soaking',
        startTime: time,
        soakedUntil: '2026-11-01T01:01:00Z',
      },
      { name: 'rest', members: 2, updated: 0, failed: 0, state: 'Pending' },
    ]);
    expect(reported({ first: 'failed', header: { stages: [record()] } }).stages[0]).toMatchObject({
      updated: 0,
      failed: 1,
    });
  });

  test('show no soak if all collectors ran the target before the stage started', () => {
    const header = { stages: [record({ updatedAtMs: epochMs, endedAtMs: epochMs })] };
    expect(reported({ first: 'updated', header }).stages[0]).not.toHaveProperty('soakedUntil');
  });

  test('are absent in a policy without stages', () => {
    expect(reported({ stages: [] }).stages).toEqual([]);
  });

  test('are named in the status of the rollout while they are active', () => {
    expect(reported({ first: 'inProgress' }).rollout?.stage).toBe('canary');
    expect(reported({ first: 'updated', header: { stages: [ended] } }).rollout?.stage).toBe('rest');
    expect(reported({ stages: [] }).rollout).not.toHaveProperty('stage');
  });
});

describe('a stop', () => {
  test.each([
    ['failures', 'RolloutStopped'],
    ['rollback', 'RollingBack'],
    ['inconclusive', 'StageInconclusive'],
    ['abort', 'Aborted'],
  ] as const)('%s is shown as %s, whatever the conditions show', (kind, reason) => {
    const header = { stop: { kind, message: 'Too many.', atMs: epochMs, stage: 'canary' } };
    const stopped = { reason, time, message: 'Too many.', stage: 'canary' };
    expect(reported({ header }).rollout?.stopped).toEqual(stopped);
    const paused = reported({ header, seen: { policy: { spec: { paused: true } } } });
    expect(paused.rollout?.stopped).toEqual(stopped);
    expect(paused.conditions?.[0]?.reason).toBe('Paused');
  });

  test('caused by the failures of all stages names no stage, and its message has a maximum length', () => {
    const header = { stop: { kind: 'abort', message: 'x'.repeat(2_000), atMs: epochMs } } as const;
    const { stopped } = reported({ header }).rollout ?? {};
    expect(stopped).not.toHaveProperty('stage');
    expect(stopped?.message).toHaveLength(1_024);
  });

  test('is also shown for a rollout that had completed before', () => {
    const header = { stop: { kind: 'abort', message: 'x', atMs: epochMs }, completedAtMs: epochMs } as const;
    const bench = new PolicyBench({ header, collectors: fleetOf(1, () => ({ collectorVersion: target })) });
    expect(decided(bench).essentials.rollout?.stopped?.reason).toBe('Aborted');
  });

  test('is absent while the rollout continues', () => {
    expect(reported({}).rollout).not.toHaveProperty('stopped');
  });
});

test('the id of a completed rollout is shown while a failed late joiner needs `logfleet retry`', () => {
  const entries = [endedEntry('failed', {}, { used: 9, counted: { tally: 0, stage: 0 } })];
  const bench = new PolicyBench({ header: { completedAtMs: epochMs }, entries, collectors: fleetOf(1) });
  const { essentials } = decided(bench);
  expect(essentials.conditions?.[0]?.reason).toBe('CollectorsFailed');
  expect(essentials.rollout?.id).toBe(bench.ledger.header.rolloutId);
});

test("users' actions are shown with their rollout, and later in the history", () => {
  const actions = [{ action: 'Approve', atMs: epochMs, stage: 'rest', by: 'kubectl' }] as const;
  const shown = [{ action: 'Approve', time, stage: 'rest', by: 'kubectl' }];
  expect(reported({ header: { actions } }).rollout?.actions).toEqual(shown);
  const done = new PolicyBench({ header: { actions }, collectors: fleetOf(1, () => ({ collectorVersion: target })) });
  const { rollout, history } = decided(done).essentials;
  expect(rollout).toBeUndefined();
  expect(history).toMatchObject([{ outcome: 'Completed', actions: shown }]);
});

describe('the next window', () => {
  const spec = (maintenance: object) => ({
    policy: { spec: { maintenance: { cutoff: '30m', exclusions: [], ...maintenance } } },
  });
  const noon = { schedule: '0 12 * * *', duration: '2h', timeZone: 'UTC' };

  test.each<[string, object, object | undefined]>([
    ['is absent without windows', { windows: [] }, undefined],
    [
      'is the one that opens next',
      { windows: [noon] },
      { startTime: '2026-11-01T12:00:00Z', endTime: '2026-11-01T14:00:00Z' },
    ],
    [
      'is the one that is open',
      { windows: [{ ...noon, schedule: '0 0 * * *' }] },
      { startTime: '2026-11-01T00:00:00Z', endTime: '2026-11-01T02:00:00Z' },
    ],
  ])('%s', (_, maintenance, window) => {
    expect(reported({ seen: spec(maintenance) as ChangedInput }).nextWindow).toEqual(window);
  });

  test('has the time zone whose collectors may be upgraded, if windows use the zones of collectors', () => {
    const windows = [{ schedule: '0 12 * * *', duration: '2h', timeZoneSource: 'Collector' as const }];
    const maintenance = { cutoff: '30m', windows, exclusions: [] };
    const zones = ['America/New_York', 'Asia/Kolkata'];
    const collectors = fleetOf(2, (index) => ({ timeZone: zones[index % 2] as string }));
    const bench = new PolicyBench({ spec: { maintenance }, collectors });
    expect(decided(bench, { policy: { spec: { maintenance } } }).essentials.nextWindow).toEqual({
      startTime: '2026-11-01T06:30:00Z',
      endTime: '2026-11-01T08:30:00Z',
      timeZone: 'Asia/Kolkata',
    });
  });
});

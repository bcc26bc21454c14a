/** Tests the ledger header for the next rollout, and its list of earlier rollouts. */
import { describe, expect, test } from 'vitest';
import type { LedgerHeader, RolloutHistory } from '../../../src/policy/ledger/ledger.ts';
import { headerAfter, nextRollout, type Progress, withHistory } from '../../../src/policy/ledger/rollout-header.ts';
import { counts, epochMs, header, newerVersion, stageRecord, target } from './builders.ts';

const beginning = { service: 'https://logs.test/api', target, counts: undefined, wallMs: epochMs };
const later = { ...beginning, target: newerVersion, wallMs: epochMs + 5_000 };
const ended = (id: string): RolloutHistory => ({
  id,
  targetVersion: target,
  startedAtMs: 1,
  endedAtMs: 2,
  outcome: 'Completed',
  updated: 3,
  failed: 0,
});

test('the first rollout of a policy', () => {
  expect(nextRollout(undefined, undefined, beginning)).toEqual(header({ attempts: 0 }));
});

test('U1: after the loss of the ledger, continues the numbers of rollouts in the status', () => {
  const status = { rollout: { id: '7-19.1-1', startTime: '2026-11-01T00:00:00Z' } };
  expect(nextRollout(undefined, status, beginning)).toMatchObject({
    rolloutId: `8-${target}`,
    rolloutNumber: 8,
  });
});

test('U1: also if the last rollout has ended and only the history shows it', () => {
  const startTime = '2026-11-01T00:00:00Z';
  const record = {
    targetVersion: '19.1-1',
    startTime,
    completionTime: startTime,
    outcome: 'Completed' as const,
    updated: 1,
    failed: 0,
  };
  const status = {
    history: [
      { ...record, id: '12-19.1-1' },
      { ...record, id: '11-19.1-1' },
    ],
  };
  expect(nextRollout(undefined, status, beginning).rolloutNumber).toBe(13);
});

test('U1: continues the numbers of the status if an older ledger was restored', () => {
  const status = { rollout: { id: '7-19.1-1', startTime: '2026-11-01T00:00:00Z' } };
  expect(nextRollout(header({ rolloutNumber: 2 }), status, later).rolloutNumber).toBe(8);
});

test('U1: ignores an invalid id', () => {
  const status = { rollout: { id: 'x', startTime: '2026-11-01T00:00:00Z' } };
  expect(nextRollout(undefined, status, beginning).rolloutNumber).toBe(1);
});

describe('a new target', () => {
  test('U12: keeps the name of the selection, because attempts for it may be in flight', () => {
    const before = header({ selection: 'a selection that an edit has replaced' });
    expect(nextRollout(before, undefined, later).selection).toBe(before.selection);
  });

  test('during a rollout supersedes that rollout, whose result is recorded', () => {
    const before = header({ attempts: 40, startedAtMs: epochMs });
    const next = nextRollout(before, undefined, { ...later, counts: counts({ updated: 30, failed: 2 }) });
    expect(next).toMatchObject({
      rolloutId: `2-${newerVersion}`,
      rolloutNumber: 2,
      target: newerVersion,
      startedAtMs: epochMs + 5_000,
      completedAtMs: undefined,
      attempts: 40,
    });
    expect(next.history).toEqual([
      {
        id: `1-${target}`,
        targetVersion: target,
        startedAtMs: epochMs,
        endedAtMs: epochMs + 5_000,
        outcome: 'Superseded',
        updated: 30,
        failed: 2,
      },
    ]);
  });

  test('after a stop records the rollout as stopped', () => {
    const before = header({ stop: { kind: 'failures', message: 'x', atMs: 1 } });
    const next = nextRollout(before, undefined, { ...later, counts: counts({ updated: 3, failed: 1 }) });
    expect(next.history).toMatchObject([{ outcome: 'Stopped', updated: 3, failed: 1 }]);
  });

  test('after a completed rollout does not change the history', () => {
    const before = header({ completedAtMs: epochMs + 1, history: [ended(`1-${target}`)] });
    expect(nextRollout(before, undefined, later).history).toBe(before.history);
  });
});

describe('a target that returns (R6)', () => {
  const one = (number: number, of: string, more: Partial<RolloutHistory> = {}): RolloutHistory => ({
    ...ended(`${number}-${of}`),
    targetVersion: of,
    startedAtMs: epochMs + number,
    outcome: 'Superseded',
    ...more,
  });
  const back = (history: readonly RolloutHistory[]) =>
    nextRollout(header({ rolloutNumber: 5, target, history }), undefined, later);

  test.each<[string, Partial<RolloutHistory>, Partial<LedgerHeader>]>([
    ['that was completed begins as any other', { outcome: 'Completed' }, {}],
    ['that was superseded is unproven', {}, { unproven: true }],
    [
      'that was rolled back is stopped, and starts no rollback',
      { outcome: 'RolledBack', stop: { kind: 'rollback', message: 'x', atMs: epochMs + 5 } },
      {
        unproven: true,
        stop: {
          kind: 'failures',
          message: `The earlier rollout 3-${newerVersion} to the same target version was rolled back: x`,
          atMs: epochMs + 5,
        },
      },
    ],
    [
      'that inherited its stop keeps the stage of that stop',
      { outcome: 'Stopped', stop: { kind: 'failures', message: 'x', atMs: epochMs } },
      { unproven: true, stop: { kind: 'failures', message: 'x', atMs: epochMs } },
    ],
    [
      'that only the status shows as aborted stays aborted',
      { outcome: 'Aborted', endedAtMs: 7 },
      { unproven: true, stop: expect.objectContaining({ kind: 'abort', atMs: 7 }) },
    ],
    [
      'that was stopped because of late joiners stays stopped, and needs no soak',
      { outcome: 'Completed', stop: { kind: 'failures', message: 'x', atMs: epochMs + 5, stage: 'rest' } },
      {
        stop: expect.objectContaining({
          message: expect.stringMatching(/^The earlier rollout 3-.* was stopped: x$/),
          stage: 'rest',
        }),
      },
    ],
  ])('%s', (_, last, expected) => {
    const { unproven, stop } = back([one(3, newerVersion, last), one(2, newerVersion)]);
    expect({ ...(unproven && { unproven }), ...(stop && { stop }) }).toEqual(expected);
  });
});

test('R6: a target that returns twice is unproven since its first rollout, and inherits no limit on failures', () => {
  const exceeded = { finished: 3, failed: 2, tolerated: 0 } as const;
  const stop = { kind: 'failures', message: 'x', atMs: epochMs + 5, exceeded } as const;
  const of = { targetVersion: newerVersion, outcome: 'Stopped' } as const;
  const history = [3, 2].map((number) => ({
    ...ended(`${number}-${newerVersion}`),
    ...of,
    startedAtMs: epochMs + number,
    stop,
  }));
  const next = nextRollout(header({ rolloutNumber: 5, target, history }), undefined, later);
  expect(next.unprovenSinceMs).toBe(epochMs + 2);
  expect(next.stop).not.toHaveProperty('exceeded');
});

describe('the completion (R5)', () => {
  const progress = { attempts: 0, selection: 'all', counts: counts({ updated: 1 }), wallMs: epochMs + 9 };
  const tally = { number: 3, finished: 2, failed: 1 };
  const stages = [stageRecord('rest', { tally: { finished: 2, failed: 1 } })];
  const before = header({ selection: 'all', tally, stages });
  const complete = header({ ...before, completedAtMs: epochMs });
  const fresh = { tally: { number: 4, finished: 0, failed: 0 }, stages: [{ tally: { finished: 0, failed: 0 } }] };

  test('is recorded when all stages have ended, and starts a new count of failures', () => {
    const after = headerAfter(before, { ...progress, isUpdated: true, isOver: true });
    expect(after).toMatchObject({ completedAtMs: epochMs + 9, history: [{ outcome: 'Completed' }], ...fresh });
  });

  test('does not wait for late joiners', () => {
    const after = headerAfter(before, { ...progress, isUpdated: false, isOver: true });
    expect(after.completedAtMs).toBe(epochMs + 9);
  });

  test.each<[string, LedgerHeader, Partial<Progress>]>([
    ['while a stage is active', before, { isOver: false }],
    ['while no collector is at the target', before, { counts: counts({ offline: 3 }) }],
    ['in a stopped rollout', { ...before, stop: { kind: 'abort', message: 'x', atMs: 1 } }, {}],
  ])('is not recorded %s', (_, known, more) => {
    expect(headerAfter(known, { ...progress, isUpdated: true, isOver: true, ...more })).toBe(known);
  });

  test('starts a new count of failures each time all late joiners are at the target', () => {
    expect(headerAfter(complete, { ...progress, isUpdated: true, isOver: true })).toMatchObject(fresh);
    expect(headerAfter(complete, { ...progress, isUpdated: false, isOver: true })).toBe(complete);
    const failed = { ...progress, counts: counts({ updated: 1, failed: 1 }), isUpdated: true, isOver: true };
    expect(headerAfter(complete, failed)).toBe(complete);
    const none = { ...complete, tally: { ...tally, finished: 0 } };
    expect(headerAfter(none, { ...progress, isUpdated: true, isOver: true })).toBe(none);
  });
});

test('the last ten rollouts are kept, newest first', () => {
  let history: readonly RolloutHistory[] = [];
  for (let number = 1; number <= 12; number++) history = withHistory(history, ended(String(number)));
  expect(history.map(({ id }) => id)).toEqual(['12', '11', '10', '9', '8', '7', '6', '5', '4', '3']);
});

/** Header of the next rollout, and the history in it. */
import { describe, expect, test } from 'vitest';
import type { LedgerHeader, RolloutHistory } from '../../../src/policy/ledger.ts';
import { headerAfter, nextRollout, withHistory } from '../../../src/policy/rollout.ts';
import { counts, epochMs, header, newerVersion, target } from './builders.ts';

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

test('U1: with a lost ledger, rollouts are counted on from what the status shows', () => {
  const status = { rollout: { id: '7-19.1-1', startTime: '2026-11-01T00:00:00Z' } };
  expect(nextRollout(undefined, status, beginning)).toMatchObject({
    rolloutId: `8-${target}`,
    rolloutNumber: 8,
  });
});

test('U1: also when the last rollout had ended, so that only the history shows it', () => {
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

test('U1: an id that is none counts for nothing', () => {
  const status = { rollout: { id: 'x', startTime: '2026-11-01T00:00:00Z' } };
  expect(nextRollout(undefined, status, beginning).rolloutNumber).toBe(1);
});

describe('a new target', () => {
  test('in mid-rollout, the one before is superseded, with what it came to', () => {
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

  test('a stopped rollout is recorded as stopped', () => {
    const before = header({ stop: { kind: 'failures', message: 'x', atMs: 1 } });
    const next = nextRollout(before, undefined, { ...later, counts: counts({ updated: 3, failed: 1 }) });
    expect(next.history).toMatchObject([{ outcome: 'Stopped', updated: 3, failed: 1 }]);
  });

  test('after a completed one, the history stays as it was', () => {
    const before = header({ completedAtMs: epochMs + 1, history: [ended(`1-${target}`)] });
    expect(nextRollout(before, undefined, later).history).toBe(before.history);
  });
});

describe('a target that comes back (R6)', () => {
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
    ['that was complete begins as any other', { outcome: 'Completed' }, {}],
    ['that was superseded is unproven', {}, { unproven: true }],
    [
      'that had been rolled back is stopped, and takes nobody back',
      { outcome: 'RolledBack', stop: { kind: 'rollback', message: 'x', atMs: epochMs + 5 } },
      {
        unproven: true,
        stop: {
          kind: 'failures',
          message: `Rollout 3-${newerVersion}, which went to this version, was rolled back: x`,
          atMs: epochMs + 5,
        },
      },
    ],
    [
      'that had taken its stop over itself tells of where that was',
      { outcome: 'Stopped', stop: { kind: 'failures', message: 'x', atMs: epochMs } },
      { unproven: true, stop: { kind: 'failures', message: 'x', atMs: epochMs } },
    ],
    [
      'that status alone tells of as aborted stays so',
      { outcome: 'Aborted', endedAtMs: 7 },
      { unproven: true, stop: expect.objectContaining({ kind: 'abort', atMs: 7 }) },
    ],
    [
      'that was stopped for those that came late to it is so still, and need not soak',
      { outcome: 'Completed', stop: { kind: 'failures', message: 'x', atMs: epochMs + 5, stage: 'rest' } },
      {
        stop: expect.objectContaining({
          message: expect.stringMatching(/^Rollout 3-.* was stopped: x$/),
          stage: 'rest',
        }),
      },
    ],
  ])('%s', (_, last, expected) => {
    const { unproven, stop } = back([one(3, newerVersion, last), one(2, newerVersion)]);
    expect({ ...(unproven && { unproven }), ...(stop && { stop }) }).toEqual(expected);
  });
});

describe('complete again (R5)', () => {
  const progress = (lateFinished: number, ready: 'True' | 'False' = 'True') => ({
    attempts: 0,
    selection: 'all',
    health: { ready, reason: 'x', message: 'x', reconciling: false, stalled: false },
    counts: counts({ updated: 1 }),
    lateFinished,
    wallMs: epochMs + 9,
  });
  const complete = header({ selection: 'all', completedAtMs: epochMs, completions: 3 });

  test.each<[string, LedgerHeader, number, 'True' | 'False', number | undefined]>([
    ['for the first time', header({ selection: 'all' }), 0, 'True', 1],
    ['after some came late', complete, 2, 'True', 4],
    ['and nobody came', complete, 0, 'True', 3],
    ['not yet', complete, 2, 'False', 3],
    ['by an earlier version, which did not count', { ...complete, completions: undefined as never }, 1, 'True', 1],
  ])('%s', (_, before, lateFinished, ready, completions) => {
    expect(headerAfter(before, progress(lateFinished, ready)).completions).toBe(completions);
  });
});

test('the last ten rollouts are kept, newest first', () => {
  let history: readonly RolloutHistory[] = [];
  for (let number = 1; number <= 12; number++) history = withHistory(history, ended(String(number)));
  expect(history.map(({ id }) => id)).toEqual(['12', '11', '10', '9', '8', '7', '6', '5', '4', '3']);
});

/** The header of the next rollout, and the history that it leaves. */
import { describe, expect, test } from 'vitest';
import type { RolloutHistory } from '../../../src/policy/ledger.ts';
import { nextRollout, withHistory } from '../../../src/policy/rollout.ts';
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

  test('after a completed one, the history stays as it was', () => {
    const before = header({ completedAtMs: epochMs + 1, history: [ended(`1-${target}`)] });
    expect(nextRollout(before, undefined, later).history).toBe(before.history);
  });
});

test('the last ten rollouts are kept, newest first', () => {
  let history: readonly RolloutHistory[] = [];
  for (let number = 1; number <= 12; number++) history = withHistory(history, ended(String(number)));
  expect(history.map(({ id }) => id)).toEqual(['12', '11', '10', '9', '8', '7', '6', '5', '4', '3']);
});

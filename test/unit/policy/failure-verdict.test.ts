/** Tests when the failures in a stage or rollout exceed a number or a percentage. */
import { describe, expect, test } from 'vitest';
import type { FailurePolicy } from '../../../src/api/generated/collector-version-policy.ts';
import { quietText } from '../../../src/policy/analysis/message-analysis.ts';
import type { LedgerHeader, StageRecord } from '../../../src/policy/ledger/ledger.ts';
import { findExcess, hasTolerance, isStopDue } from '../../../src/policy/rollout/failure-verdict.ts';
import { epochMs, header, stageRecord } from './builders.ts';

const policyOf = (more: Partial<FailurePolicy>) => ({
  failurePolicy: { minSamples: 10, action: 'Pause' as const, ...more },
});
const tally = (finished: number, failed: number) => ({ number: 0, finished, failed });
const of = (finished: number, failed: number, more: Partial<LedgerHeader> = {}) =>
  header({ tally: tally(finished, failed), ...more });
const inStage = (finished: number, failed: number, more: Partial<StageRecord> = {}) =>
  of(finished, failed, { stages: [stageRecord('canary', { tally: { finished, failed }, ...more })] });

describe('a number', () => {
  test.each([
    [0, 0, false],
    [0, 1, true],
    [2, 2, false],
    [2, 3, true],
  ])('maxFailures %d, %d failed: exceeded %s', (maxFailures, failed, exceeded) => {
    expect(findExcess(policyOf({ maxFailures }), of(5, failed), false) !== undefined).toBe(exceeded);
    expect(findExcess({}, inStage(5, failed, { maxFailures }), false) !== undefined).toBe(exceeded);
  });
});

describe('a percentage', () => {
  test.each<[string, number, number, boolean, boolean]>([
    ['below minSamples, before the end of a stage', 9, 9, false, false],
    ['below minSamples, at the end of a stage', 9, 9, true, true],
    ['after minSamples', 10, 2, false, true],
    ['exactly at the tolerance', 10, 1, true, false],
    ['without a failure', 0, 0, true, false],
  ])('of 10%% %s, %d ended and %d failed', (_, finished, failed, isStageEnd, exceeded) => {
    const spec = policyOf({ maxFailures: '10%' });
    expect(findExcess(spec, of(finished, failed), isStageEnd) !== undefined).toBe(exceeded);
    const stage = inStage(finished, failed, { maxFailures: '10%' });
    expect(findExcess(policyOf({}), stage, isStageEnd) !== undefined).toBe(exceeded);
  });

  test('of a stage that has ended is judged whatever the number of attempts', () => {
    const ended = inStage(2, 1, { maxFailures: '10%', endedAtMs: epochMs });
    expect(findExcess(policyOf({}), ended, false)).toMatchObject({ exceeded: { stage: 'canary' } });
  });
});

test('the tolerance of a stage is reported before that of the rollout, with its figures', () => {
  const excess = findExcess(policyOf({ maxFailures: 0 }), inStage(3, 2, { maxFailures: 1 }), false);
  expect(excess).toEqual({
    message: '2 failures in stage canary, maxFailures is 1',
    exceeded: { failed: 2, finished: 3, tolerated: 1, stage: 'canary' },
  });
  const whole = findExcess(policyOf({ maxFailures: 0 }), inStage(3, 2, { maxFailures: 2 }), false);
  expect(whole).toEqual({
    message: '2 failures in the rollout, failurePolicy.maxFailures is 0',
    exceeded: { failed: 2, finished: 3, tolerated: 0 },
  });
});

describe('collectors that stopped sending logs', () => {
  const settings = { minRatio: 50, durationMs: 1_800_000, baseline: 'DayBefore', minMessages: 1 } as const;
  const quietest = [{ id: '1', name: 'web-1', messages: 3, baseline: 90 }];
  const outcome = { judged: 5, quiet: 2, unjudged: 0, scannedBytes: 0, quietest };
  const failing = (failed: number) => inStage(5, failed, { analysis: { ...settings, outcome } });
  const messageFor = (before: LedgerHeader) => findExcess(policyOf({ maxFailures: 0 }), before, false)?.message;

  test('are named among the failures', () => {
    expect(messageFor(failing(2))).toBe(
      `2 failures in the rollout, failurePolicy.maxFailures is 0: ${quietText({ ...settings, outcome })}`,
    );
    expect(messageFor(failing(3))).toMatch(/ and 1 other failure$/);
  });

  test('are no longer failures after a retry', () => {
    expect(messageFor({ ...failing(0), tally: tally(1, 1) })).toBe(
      '1 failure in the rollout, failurePolicy.maxFailures is 0',
    );
  });
});

test('the message of a percentage has the number of upgrades', () => {
  expect(findExcess(policyOf({ maxFailures: '10%' }), of(20, 3), false)?.message).toBe(
    '3 failures in 20 upgrades of the rollout, failurePolicy.maxFailures is 10%',
  );
});

test('a completed rollout is not judged by the limits of ended stages, and a percentage stops it only after minSamples', () => {
  const late = (finished: number, failed: number) => ({
    ...inStage(finished, failed, { maxFailures: 0, endedAtMs: epochMs }),
    completedAtMs: epochMs,
  });
  expect(findExcess(policyOf({}), late(20, 20), true)).toBeUndefined();
  const isStopped = (maxFailures: number | string, finished: number) => {
    const spec = policyOf({ maxFailures });
    const excess = findExcess(spec, late(finished, finished), true);
    expect(excess?.exceeded).not.toHaveProperty('stage');
    return excess && isStopDue(excess, spec, late(finished, finished));
  };
  expect(isStopped('10%', 9)).toBe(false);
  expect(isStopped('10%', 10)).toBe(true);
  expect(isStopped(0, 1)).toBe(true);
});

test.each([0, '10%'])(
  'in a completed rollout, a stage that starts later is judged by its own limit of %s',
  (maxFailures) => {
    const begun = { ...inStage(5, 5, { maxFailures }), completedAtMs: epochMs };
    const excess = findExcess(policyOf({}), begun, true);
    expect(excess?.exceeded).toHaveProperty('stage');
    expect(excess && isStopDue(excess, policyOf({}), begun)).toBe(true);
  },
);

test('a tolerance is set by the stage or by failurePolicy', () => {
  expect(hasTolerance(undefined, {})).toBe(false);
  expect(hasTolerance(stageRecord('a'), policyOf({}))).toBe(false);
  expect(hasTolerance(stageRecord('a', { maxFailures: 3 }), {})).toBe(true);
  expect(hasTolerance(undefined, policyOf({ maxFailures: '1%' }))).toBe(true);
});

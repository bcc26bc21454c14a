import { describe, expect, test } from 'vitest';
import {
  type Condition,
  type ConditionChange,
  findCondition,
  maxMessageLength,
  reasons,
  removeCondition,
  setCondition,
} from '../../../src/api/conditions.ts';
import { type DestinationFailure, destinationError } from '../../../src/destination/destination-error.ts';
import { cancelledError, closedError } from '../../../src/service/jobs/job-end.ts';
import { type Operation, operations } from '../../../src/service/requests/operation.ts';
import { outcomes, treatmentOf } from '../../../src/service/requests/outcome.ts';

const earlier = '2026-11-21T10:00:00Z';
const later = '2026-11-21T11:00:00Z';
const rolling: ConditionChange = {
  type: 'Ready',
  status: 'False',
  reason: reasons.rollingOut,
  message: '3 of 9 collectors are at 19.500-1.',
  observedGeneration: 1,
};

describe('setCondition', () => {
  const before = setCondition(undefined, rolling, earlier);

  test('puts in a condition that was not there, with the time of now', () => {
    expect(before).toEqual([{ ...rolling, lastTransitionTime: earlier }]);
  });

  test('keeps the time while the status stays, whatever else changes', () => {
    const change = { ...rolling, reason: reasons.collectorsFailed, message: 'One failed.', observedGeneration: 2 };
    expect(setCondition(before, change, later)).toEqual([{ ...change, lastTransitionTime: earlier }]);
  });

  test('moves the time when the status changes', () => {
    const change = { ...rolling, status: 'True' as const, reason: reasons.allUpdated };
    expect(setCondition(before, change, later)).toEqual([{ ...change, lastTransitionTime: later }]);
  });

  test('gives back the same array when nothing changes', () => {
    expect(setCondition(before, { ...rolling }, later)).toBe(before);
  });

  test('writes Ready first, whatever the order of setting, and foreign conditions last', () => {
    const foreign: Condition = { ...rolling, type: 'Audited', lastTransitionTime: earlier };
    const stalled: ConditionChange = { ...rolling, type: 'Stalled', status: 'True' };
    const conditions = setCondition(setCondition([foreign], stalled, earlier), rolling, earlier);
    expect(conditions.map(({ type }) => type)).toEqual(['Ready', 'Stalled', 'Audited']);
  });

  test('cuts a message at the bound, between characters', () => {
    const [condition] = setCondition(undefined, { ...rolling, message: '😀'.repeat(maxMessageLength + 1) }, earlier);
    const characters = [...(condition?.message ?? '')];
    expect(characters).toHaveLength(maxMessageLength);
    expect(characters.slice(-2)).toEqual(['😀', '…']);
  });

  test('leaves a message of exactly the bound whole', () => {
    const message = '😀'.repeat(maxMessageLength);
    expect(setCondition(undefined, { ...rolling, message }, earlier)[0]?.message).toBe(message);
  });

  test.each(['', 'two words', 'Ends.', '9Lives'])('takes %j for a bug of ours, as a reason', (reason) => {
    expect(() => setCondition(undefined, { ...rolling, reason }, earlier)).toThrow(
      expect.objectContaining({ code: 'bug.assertion' }),
    );
  });
});

describe('removeCondition and findCondition', () => {
  const conditions = setCondition(
    setCondition(undefined, rolling, earlier),
    { ...rolling, type: 'Reconciling', status: 'True' },
    earlier,
  );

  test('removes one type and keeps the others', () => {
    const rest = removeCondition(conditions, 'Reconciling');
    expect(findCondition(rest, 'Reconciling')).toBeUndefined();
    expect(findCondition(rest, 'Ready')).toBe(findCondition(conditions, 'Ready'));
  });

  test('returns the same array if the type is absent', () => {
    expect(removeCondition(conditions, 'Stalled')).toBe(conditions);
    expect(removeCondition(undefined, 'Stalled')).toEqual([]);
  });
});

test('no two entries of the catalogue are the same word', () => {
  expect(new Set(Object.values(reasons)).size).toBe(Object.values(reasons).length);
});

test('every reason that a request to the service can end with is in the catalogue', () => {
  const known: readonly string[] = Object.values(reasons);
  const found = outcomes.flatMap((outcome) =>
    (Object.keys(operations) as Operation[]).map((operation) => treatmentOf(operation, outcome).reason),
  );
  expect(found.length).toBeGreaterThan(0);
  expect(found.filter((reason) => !known.includes(reason))).toEqual([]);
});

test('so is every reason that a search job can end with', () => {
  const known: readonly (string | undefined)[] = Object.values(reasons);
  expect([cancelledError('1'), closedError('1')].map(({ reason }) => known.includes(reason))).toEqual([true, true]);
});

test('and every reason that a destination can give', () => {
  const failures: Readonly<Record<DestinationFailure, true>> = {
    ...{ full: true, away: true, denied: true, credentials: true, missing: true, unsupported: true, invalid: true },
    ...{ name: true, outside: true, absent: true, damaged: true, frozen: true, tooMuch: true, lost: true },
  };
  const known: readonly (string | undefined)[] = Object.values(reasons);
  const found = Object.keys(failures).map((failure) => destinationError(failure as DestinationFailure, '').reason);
  expect(found.filter((reason) => !known.includes(reason))).toEqual([]);
});

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
import { type DestinationFailure, destinationError } from '../../../src/destination/store/destination-error.ts';
import { cancelledError, closedError } from '../../../src/service/jobs/job-end.ts';
import { type Operation, operations } from '../../../src/service/requests/operation.ts';
import { requestFailures, treatmentOf } from '../../../src/service/requests/request-failure.ts';

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

  test('adds a missing condition with the current time', () => {
    expect(before).toEqual([{ ...rolling, lastTransitionTime: earlier }]);
  });

  test('keeps the time on any change except a change of the status', () => {
    const change = { ...rolling, reason: reasons.collectorsFailed, message: 'One failed.', observedGeneration: 2 };
    expect(setCondition(before, change, later)).toEqual([{ ...change, lastTransitionTime: earlier }]);
  });

  test('updates the time when the status changes', () => {
    const change = { ...rolling, status: 'True' as const, reason: reasons.allUpdated };
    expect(setCondition(before, change, later)).toEqual([{ ...change, lastTransitionTime: later }]);
  });

  test('returns the same array if nothing changes', () => {
    expect(setCondition(before, { ...rolling }, later)).toBe(before);
  });

  test("writes Ready first and other tools' conditions last, whatever the order in which they were set", () => {
    const foreign: Condition = { ...rolling, type: 'Audited', lastTransitionTime: earlier };
    const stalled: ConditionChange = { ...rolling, type: 'Stalled', status: 'True' };
    const conditions = setCondition(setCondition([foreign], stalled, earlier), rolling, earlier);
    expect(conditions.map(({ type }) => type)).toEqual(['Ready', 'Stalled', 'Audited']);
  });

  test('truncates a message at the maximum, between characters', () => {
    const [condition] = setCondition(undefined, { ...rolling, message: '😀'.repeat(maxMessageLength + 1) }, earlier);
    const characters = [...(condition?.message ?? '')];
    expect(characters).toHaveLength(maxMessageLength);
    expect(characters.slice(-2)).toEqual(['😀', '…']);
  });

  test('keeps a message of exactly the maximum length', () => {
    const message = '😀'.repeat(maxMessageLength);
    expect(setCondition(undefined, { ...rolling, message }, earlier)[0]?.message).toBe(message);
  });

  test.each(['', 'two words', 'Ends.', '9Lives'])('rejects the reason %j as a bug', (reason) => {
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

test('all entries in the catalogue are different', () => {
  expect(new Set(Object.values(reasons)).size).toBe(Object.values(reasons).length);
});

test('the catalogue contains every reason of a request to the service', () => {
  const known: readonly string[] = Object.values(reasons);
  const found = requestFailures.flatMap((outcome) =>
    (Object.keys(operations) as Operation[]).map((operation) => treatmentOf(operation, outcome).reason),
  );
  expect(found.length).toBeGreaterThan(0);
  expect(found.filter((reason) => !known.includes(reason))).toEqual([]);
});

test('the catalogue contains every reason of a search job', () => {
  const known: readonly (string | undefined)[] = Object.values(reasons);
  expect([cancelledError('1'), closedError('1')].map(({ reason }) => known.includes(reason))).toEqual([true, true]);
});

test('the catalogue contains every reason of a destination', () => {
  const failures: Readonly<Record<DestinationFailure, true>> = {
    ...{ full: true, away: true, denied: true, credentials: true, missing: true, unsupported: true, invalid: true },
    ...{ name: true, outside: true, absent: true, damaged: true, frozen: true, tooMuch: true, lost: true },
  };
  const known: readonly (string | undefined)[] = Object.values(reasons);
  const found = Object.keys(failures).map((failure) => destinationError(failure as DestinationFailure, '').reason);
  expect(found.filter((reason) => !known.includes(reason))).toEqual([]);
});

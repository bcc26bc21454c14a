/** Tests the message analysis of a stage: its time ranges, query and result. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { dayMs, minuteMs } from '../../../../src/base/time-units.ts';
import {
  analysisPeriods,
  countQuery,
  judgeMembers,
  quietText,
} from '../../../../src/policy/analysis/message-analysis.ts';
import type { StageAnalysis } from '../../../../src/policy/ledger/ledger.ts';

const settings: StageAnalysis = {
  minRatio: 50,
  durationMs: 30 * minuteMs,
  baseline: 'BeforeUpgrade',
  minMessages: 100,
};

describe('the periods of an analysis', () => {
  const startedAtMs = Date.UTC(2026, 0, 1, 12);
  const soakedMs = startedAtMs + 90 * minuteMs;
  const result = { fromMs: soakedMs - 30 * minuteMs, toMs: soakedMs };

  test('are the last part of the soak, and the time right before the stage', () => {
    const baseline = { fromMs: startedAtMs - 30 * minuteMs, toMs: startedAtMs };
    expect(analysisPeriods(settings, startedAtMs, soakedMs)).toEqual({ baseline, result });
  });

  test.each([
    ['DayBefore', dayMs],
    ['WeekBefore', 7 * dayMs],
  ] as const)('with %s are at the same time of day', (baseline, distanceMs) => {
    expect(analysisPeriods({ ...settings, baseline }, startedAtMs, soakedMs)).toEqual({
      baseline: { fromMs: result.fromMs - distanceMs, toMs: result.toMs - distanceMs },
      result,
    });
  });

  test.each(['BeforeUpgrade', 'DayBefore', 'WeekBefore'] as const)(
    'with %s never overlap, even if the clock was set back during the stage',
    (baseline) => {
      const { baseline: found, result: after } = analysisPeriods(
        { ...settings, baseline },
        startedAtMs + 2 * dayMs,
        soakedMs,
      );
      expect(found.toMs).toBeLessThanOrEqual(after.fromMs);
    },
  );

  test.each([
    ['a clock change in spring', Date.UTC(2026, 2, 29, 12)],
    ['a clock change in autumn', Date.UTC(2026, 9, 25, 12)],
    ['the end of February', Date.UTC(2028, 2, 1, 0, 10)],
    ['the turn of the year', Date.UTC(2027, 0, 1, 0, 10)],
  ])('with DayBefore are 24 hours apart over %s', (_, soakedAtMs) => {
    const found = analysisPeriods({ ...settings, baseline: 'DayBefore' }, soakedAtMs - 90 * minuteMs, soakedAtMs);
    expect(found.result.fromMs - found.baseline.fromMs).toBe(dayMs);
  });

  test('after a retry start with the retry, and have the former baseline', () => {
    const fromMs = soakedMs + dayMs;
    const before = analysisPeriods(settings, startedAtMs, soakedMs);
    const after = analysisPeriods({ ...settings, fromMs }, startedAtMs, soakedMs);
    expect(after.baseline).toEqual(before.baseline);
    expect(after.result).toEqual({ fromMs, toMs: fromMs + 30 * minuteMs });
  });
});

test('the query counts all messages, or those of the scope', () => {
  expect(countQuery({})).toBe('* | count by _collectorid');
  expect(countQuery({ scope: '_sourceCategory=prod/*' })).toBe('_sourceCategory=prod/* | count by _collectorid');
});

describe('the judgement of collectors', () => {
  const resultFromMs = 5_000_000;
  const judge = (
    before: Record<string, number>,
    after: Record<string, number>,
    ids = Object.keys(before),
    upgradedAtMs: number | undefined = undefined,
  ) => {
    const counts = { baseline: new Map(Object.entries(before)), result: new Map(Object.entries(after)) };
    const members = ids.map((id) => ({ id, upgradedAtMs }));
    return judgeMembers(settings, members, counts, resultFromMs, (id) => `web-${id}`);
  };

  test.each([
    ['exactly the ratio', 100, 50, false],
    ['one message less', 100, 49, true],
    ['no message', 4310, 0, true],
    ['more messages than before', 100, 1_000, false],
  ])('of a collector that sends %s', (_, baseline, messages, isQuiet) => {
    const found = judge({ 1: baseline }, { 1: messages });
    expect(found).toMatchObject({ judged: 1, quiet: isQuiet ? 1 : 0, unjudged: 0 });
    expect(found.quietest).toEqual(isQuiet ? [{ id: '1', name: 'web-1', messages, baseline }] : []);
  });

  test('leaves out collectors with too few messages in the baseline, also those without any', () => {
    expect(judge({ 1: 99, 2: 100 }, {}, ['1', '2', '3'])).toMatchObject({ judged: 1, quiet: 1, unjudged: 2 });
  });

  test.each([
    ['before the analyzed period', -1, 1],
    ['at its start, rounded to the next second', 999, 1],
    ['within the analyzed period', 1_000, 0],
  ])('judges a member that was upgraded %s: offset %i ms', (_, offsetMs, judged) => {
    const found = judge({ 1: 100 }, { 1: 100 }, ['1'], resultFromMs + offsetMs);
    expect(found).toMatchObject({ judged, unjudged: 1 - judged });
  });

  test('ignores collectors outside the stage', () => {
    expect(judge({ 1: 100, 2: 100 }, { 1: 100 }, ['1'])).toMatchObject({ judged: 1, quiet: 0, unjudged: 0 });
  });

  test('compares 64-bit ids as texts', () => {
    const found = judge({ '9007199254740993': 100, '9007199254740992': 100 }, { '9007199254740993': 100 });
    expect(found.quietest.map(({ id }) => id)).toEqual(['9007199254740992']);
  });

  test('lists the ten collectors that lost the largest part', () => {
    const ids = Array.from({ length: 30 }, (_, index) => String(index));
    const before = Object.fromEntries(ids.map((id) => [id, 1_000]));
    const after = Object.fromEntries(ids.map((id) => [id, Number(id) * 10]));
    const { quiet, quietest } = judge(before, after);
    expect(quiet).toBe(30);
    expect(quietest.map(({ messages }) => messages)).toEqual([0, 10, 20, 30, 40, 50, 60, 70, 80, 90]);
  });

  test('assigns each collector to one group, for any counts', () => {
    const counts = fc.dictionary(fc.integer({ min: 1, max: 40 }).map(String), fc.nat(1_000));
    fc.assert(
      fc.property(counts, counts, fc.uniqueArray(fc.integer({ min: 1, max: 40 }).map(String)), (before, after, ids) => {
        const { judged, unjudged, quiet, quietest } = judge(before, after, ids);
        expect(judged + unjudged).toBe(ids.length);
        expect(quiet).toBe(
          ids.filter((id) => (before[id] ?? 0) >= 100 && (after[id] ?? 0) * 2 < (before[id] ?? 0)).length,
        );
        expect(quietest).toHaveLength(Math.min(10, quiet));
      }),
    );
  });
});

test.each([
  [1, '1 collector sent too few messages after its upgrade (web-1: 12 messages in 30m, 4310 before the upgrade)'],
  [
    3,
    '3 collectors sent too few messages after their upgrade (for example web-1: 12 messages in 30m, 4310 before the upgrade)',
  ],
])('quiet collectors are named with their counts: %i', (quiet, text) => {
  const quietest = [{ id: '1', name: 'web-1', messages: 12, baseline: 4310 }];
  const outcome = { judged: 20, quiet, unjudged: 0, scannedBytes: 0, quietest };
  expect(quietText({ ...settings, outcome })).toBe(text);
  expect(quietText({ ...settings, outcome: { ...outcome, quiet: 0 } })).toBeUndefined();
  expect(quietText(settings)).toBeUndefined();
});

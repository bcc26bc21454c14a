/** Tests how messages are counted after a rollback: when counting starts, and which collectors are reported. */
import { describe, expect, test } from 'vitest';
import { LogfleetError } from '../../../../src/base/errors.ts';
import { minuteMs } from '../../../../src/base/time-units.ts';
import { checkRecovery, recoveryText } from '../../../../src/policy/analysis/recovery.ts';
import type { AnalysisOutcome, LedgerHeader, StageRecord } from '../../../../src/policy/ledger/ledger.ts';
import { stageEvents } from '../../../../src/policy/status/rollout-events.ts';
import { header } from '../builders.ts';

const settings = { graceMs: minuteMs };
const isListed = () => true;
const quietest = [
  { id: '1', name: 'web-1', messages: 0, baseline: 100 },
  { id: '2', name: 'web-2', messages: 40, baseline: 100 },
];
const outcome: AnalysisOutcome = { judged: 20, quiet: 2, unjudged: 0, scannedBytes: 10, quietest };
const analysis = { minRatio: 50, durationMs: 30 * minuteMs, baseline: 'BeforeUpgrade', minMessages: 100 } as const;
const canary: StageRecord = {
  name: 'canary',
  startedAtMs: 0,
  soakMs: 0,
  tally: { finished: 20, failed: 2 },
  analysis: { ...analysis, outcome },
};
const readyMs = 33 * minuteMs;
const order = { query: '* | count by _collectorid', periods: [{ fromMs: 0, toMs: 30 * minuteMs }] };
const begun = checkRecovery(header({ stages: [canary] }), undefined, 0, settings, isListed);
const counted = (...counts: [string, number][]) =>
  checkRecovery(
    begun.header,
    { order, kind: 'counted', counts: [new Map(counts)], scannedBytes: 5 },
    readyMs,
    settings,
    isListed,
  );
const events = ({ header: after }: { readonly header: LedgerHeader }) => stageEvents(begun.header, after);

test('a rollout in which no collector stopped sending logs needs no check', () => {
  const plain = header({ stages: [{ ...canary, analysis: { ...analysis, outcome: { ...outcome, quiet: 0 } } }] });
  expect(checkRecovery(plain, undefined, 0, settings, isListed)).toEqual({ header: plain });
  expect(recoveryText(plain, undefined)).toBeUndefined();
});

test('counts the messages 3 minutes after a period that begins with the end of the rollback', () => {
  expect(begun).toMatchObject({ check: { stage: 'canary', untilMs: readyMs } });
  expect(checkRecovery(begun.header, undefined, readyMs - 1, settings, isListed)).toEqual(begun);
  expect(checkRecovery(begun.header, undefined, readyMs, settings, isListed)).toEqual({
    header: begun.header,
    check: { stage: 'canary' },
    order,
  });
});

test('repeats a failed search', () => {
  const error = new LogfleetError({ code: 'x', message: 'lost', handling: { kind: 'backoff' }, reason: 'Lost' });
  const found = checkRecovery(begun.header, { order, kind: 'failed', error }, readyMs, settings, isListed);
  expect(found).toEqual({ header: begun.header, check: { stage: 'canary', error }, order });
  expect(recoveryText(found.header, found.check)).toContain('could not recount the messages');
});

test('ignores the counts of another period', () => {
  const reading = { order: { ...order, periods: [] }, kind: 'counted', counts: [new Map()], scannedBytes: 0 } as const;
  expect(checkRecovery(begun.header, reading, readyMs, settings, isListed)).toMatchObject({
    header: begun.header,
    order,
  });
});

describe('the result', () => {
  test.each([
    [
      'all ship the minimum ratio',
      [50, 50],
      2,
      'After the rollback, 2 of 2 collectors that had sent too few messages are sending enough messages again',
      'CollectorsRecovered',
    ],
    [
      'one ships less',
      [49, 50],
      1,
      'After the rollback, 1 of 2 collectors that had sent too few messages is sending enough messages again (web-1 sent only 49 messages in 30m, compared with 100 before the upgrade)',
      'CollectorsStillQuiet',
    ],
  ])('if %s', (_, [first = 0, second = 0], recovered, text, reason) => {
    const found = counted(['1', first], ['2', second]);
    expect(found.check).toBeUndefined();
    expect(found.header.stages?.[0]?.analysis).toMatchObject({
      recovery: { fromMs: 0, recovered },
      outcome: {
        quiet: 2,
        scannedBytes: 15,
        quietest: [{ messagesAfterRollback: first }, { messagesAfterRollback: second }],
      },
    });
    expect(recoveryText(found.header, found.check)).toBe(text);
    expect(events(found)).toMatchObject([{ reason }]);
  });

  const without = (...deleted: string[]) => {
    const counts = [new Map([['2', 60]])];
    const reading = { order, kind: 'counted', counts, scannedBytes: 5 } as const;
    return checkRecovery(begun.header, reading, readyMs, settings, (id) => !deleted.includes(id));
  };

  test('leaves out a deleted collector', () => {
    const found = without('1');
    const { outcome, recovery } = found.header.stages?.[0]?.analysis ?? {};
    expect(outcome?.quietest).toEqual([quietest[0], { ...quietest[1], messagesAfterRollback: 60 }]);
    expect(recovery).toMatchObject({ recovered: 1 });
    expect(recoveryText(found.header, found.check)).toBe(
      'After the rollback, 1 of 1 collector that had sent too few messages is sending enough messages again, and the service no longer lists 1 other collector',
    );
    expect(events(found)).toMatchObject([{ reason: 'CollectorsRecovered' }]);
  });

  test('says how many collectors were checked if more had sent too few messages', () => {
    const stage = { ...canary, analysis: { ...analysis, outcome: { ...outcome, quiet: 12 } } };
    const { header: checking } = checkRecovery(header({ stages: [stage] }), undefined, 0, settings, isListed);
    const reading = { order, kind: 'counted', counts: [new Map([['1', 60]])], scannedBytes: 5 } as const;
    const found = checkRecovery(checking, reading, readyMs, settings, isListed);
    expect(recoveryText(found.header, found.check)).toContain(
      '1 of the 2 collectors that had lost the largest fraction of their messages is sending enough messages again',
    );
  });

  test('says that all collectors were deleted', () => {
    const found = without('1', '2');
    expect(recoveryText(found.header, found.check)).toBe(
      'The service no longer lists 2 collectors that had sent too few messages',
    );
    expect(events(found)).toMatchObject([
      { message: 'Stage canary: all collectors in status.stages[].analysis.quietest were deleted.' },
    ]);
  });

  test('a collector without messages has no record', () => {
    expect(counted().header.stages?.[0]?.analysis?.recovery).toEqual({ fromMs: 0, recovered: 0 });
  });

  test('is stored once', () => {
    const { header: stored } = counted(['1', 100]);
    expect(checkRecovery(stored, undefined, readyMs * 2, settings, isListed)).toEqual({ header: stored });
    expect(stageEvents(stored, stored)).toEqual([]);
  });
});

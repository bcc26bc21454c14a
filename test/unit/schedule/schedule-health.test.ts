/** Tests how the message of a schedule's `Ready` condition says which times have been exported. */
import { expect, test } from 'vitest';
import type { SearchExport } from '../../../src/api/kinds.ts';
import { hourMs } from '../../../src/base/time-units.ts';
import { maxCounted, maxGaps, type Run, type ScheduleDecision } from '../../../src/schedule/schedule-decision.ts';
import { scheduleHealth } from '../../../src/schedule/schedule-health.ts';

const startMs = Date.UTC(2026, 9, 4, 22);

function activeRun(name: string): Run {
  return { name, span: { fromMs: startMs, toMs: startMs + hourMs }, state: 'Active', reason: 'Exporting' };
}

function healthOf(change: Partial<ScheduleDecision>, runs: readonly Run[] = []) {
  const decision: ScheduleDecision = {
    ...{ record: [], repeat: [], remove: [], create: [], gaps: [], taken: [], pending: 3 },
    unfinished: [activeRun('errors-a'), activeRun('errors-b')],
    ...{ coveredUntilMs: startMs, isOldestCovered: false, isComplete: false },
    ...{ lastTickMs: startMs + 6 * hourMs, nextDueMs: startMs + 8 * hourMs },
    ...change,
  };
  return scheduleHealth({ name: 'errors', flags: '', problem: undefined, pausedBy: undefined, decision, runs });
}

/** Complete run that kept an incomplete interval. */
function incompleteRun(name: string, hour: number): Run {
  const span = { fromMs: startMs + hour * hourMs, toMs: startMs + (hour + 1) * hourMs };
  const resource = { status: { manifest: { complete: false } } } as SearchExport;
  return { name, span, state: 'Complete', reason: 'ExportedIncomplete', resource };
}

test.each([
  [
    {},
    'The oldest time range, which starts at 2026-10-04T22:00:00Z, is not exported yet. 2 runs are active, and 3 more will be created.',
  ],
  [
    { coveredUntilMs: startMs + hourMs, isOldestCovered: true, unfinished: [activeRun('errors-b')] },
    'Everything until 2026-10-04T23:00:00Z is exported. 1 run is active, and 3 more will be created.',
  ],
])('%j', (change, message) => {
  expect(healthOf(change)).toMatchObject({ reason: 'Backfilling', message });
});

test('no run is due before the first cron time', () => {
  const change = { unfinished: [], pending: 0, lastTickMs: startMs - hourMs, nextDueMs: startMs + hourMs };
  expect(healthOf(change)).toMatchObject({
    reason: 'UpToDate',
    message: 'No run is due yet. The next run is due at 2026-10-04T23:00:00Z.',
  });
});

test('a run between two cron times is active until the schedule has ended', () => {
  const ending = { pending: 0, lastTickMs: startMs - hourMs, nextDueMs: undefined };
  expect(healthOf({ ...ending, unfinished: [activeRun('errors-a')] })).toMatchObject({
    reason: 'UpToDate',
    message:
      'The oldest time range, which starts at 2026-10-04T22:00:00Z, is not exported yet. 1 run is active. No more runs will be created.',
  });
  const ended = { ...ending, unfinished: [], coveredUntilMs: startMs + hourMs / 2, isOldestCovered: true };
  expect(healthOf({ ...ended, isComplete: true })).toMatchObject({
    reason: 'ScheduleEnded',
    message: 'Everything until 2026-10-04T22:30:00Z is exported. The schedule has ended.',
  });
});

test('a schedule has not ended while a run is being deleted whose time range is not exported', () => {
  const change = { unfinished: [], pending: 0, lastTickMs: startMs + hourMs, nextDueMs: undefined };
  expect(healthOf(change, [{ ...activeRun('errors-a'), state: 'Deleting' }])).toMatchObject({
    reason: 'UpToDate',
    message:
      'The oldest time range, which starts at 2026-10-04T22:00:00Z, is not exported yet. The remaining time ranges will be exported after the deletion of their earlier runs has finished.',
  });
});

test('a stalled run whose time range is exported does not stall the schedule', () => {
  const change = { unfinished: [], pending: 0, coveredUntilMs: startMs + 6 * hourMs, isOldestCovered: true };
  expect(healthOf(change, [{ ...activeRun('errors-a'), state: 'Stalled' }])).toMatchObject({ reason: 'UpToDate' });
});

test('incomplete runs count as exported, but are reported', () => {
  const change = { unfinished: [], pending: 0, lastTickMs: startMs, coveredUntilMs: startMs, isOldestCovered: true };
  expect(healthOf(change, [incompleteRun('errors-a', 0), incompleteRun('errors-b', 1)])).toMatchObject({
    ready: 'True',
    reason: 'ExportedIncomplete',
    message:
      'Everything until 2026-10-04T22:00:00Z is exported. 2 runs are not proven complete, for example errors-b. To look for missing rows, export the same time range with another SearchExport. The next run is due at 2026-10-05T06:00:00Z.',
  });
  const ended = healthOf({ ...change, nextDueMs: undefined }, [incompleteRun('errors-a', 0)]);
  expect(ended).toMatchObject({ reason: 'ExportedIncomplete', message: expect.stringContaining('errors-a') });
});

test('the run that has just become due and is being created is not backfilling', () => {
  const span = { fromMs: startMs + 5 * hourMs, toMs: startMs + 6 * hourMs };
  const change = { create: [span], pending: 1, unfinished: [], coveredUntilMs: span.fromMs, isOldestCovered: true };
  expect(healthOf(change)).toMatchObject({
    reason: 'UpToDate',
    message:
      'Everything until 2026-10-05T03:00:00Z is exported. 1 run is active. The next run is due at 2026-10-05T06:00:00Z.',
  });
});

test('if more runs are pending than are counted, the message says so', () => {
  expect(healthOf({ pending: maxCounted }).message).toContain(`at least ${maxCounted} more will be created`);
});

test('at the maximum number of failed runs, the message says that no more runs are created', () => {
  const gaps = Array.from({ length: maxGaps }, (_, hour) => {
    const fromMs = startMs + hour * hourMs;
    return { span: { fromMs, toMs: fromMs + hourMs }, run: `errors-${hour}`, reason: 'DeadlineExceeded' };
  });
  const stop = `No more runs are created until one of these ${maxGaps} failed runs is retried.`;
  expect(healthOf({ gaps }).message).toContain(stop);
  expect(healthOf({ gaps: gaps.slice(1) }).message).not.toContain('No more runs are created');
});

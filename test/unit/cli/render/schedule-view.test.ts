/**
 * Tests the view of a schedule, including the schedule's end and its lag (the age of the oldest data that has not been
 * exported yet).
 */
import { describe, expect, test } from 'vitest';
import type { SearchExportScheduleStatus } from '../../../../src/api/generated/search-export-schedule.ts';
import type { SearchExportSchedule } from '../../../../src/api/kinds.ts';
import { scheduleView } from '../../../../src/cli/render/schedule-view.ts';
import { ago, nowMs } from '../sample-policy.ts';
import { sampleSchedule } from '../sample-schedule.ts';

function view(status: SearchExportScheduleStatus, endTime?: string): readonly string[] {
  const spec = { ...sampleSchedule.spec, timeZone: 'Europe/Berlin', ...(endTime === undefined ? {} : { endTime }) };
  const resource = { ...sampleSchedule, spec, status } as SearchExportSchedule;
  return scheduleView.render(resource, { nowMs }, { width: 100, colour: false });
}

describe('the view of a schedule', () => {
  const coveredUntil = ago(3_600);

  test('shows how old the data is that is not exported yet', () => {
    const [headline] = view({ coveredUntil, summary: { state: 'UpToDate', lagSince: coveredUntil } });
    expect(headline).toBe('logging/errors   UpToDate   lag 60m');
  });

  test('shows no lag of a schedule that has ended and is complete, and shows its end', () => {
    const lines = view({ coveredUntil, summary: { state: 'ScheduleEnded' } }, '2026-11-01T00:00:00');
    expect(lines[0]).toBe('logging/errors   ScheduleEnded');
    expect(lines).toContainEqual(expect.stringMatching(/^ +End: +2026-10-31T23:00:00Z$/));
  });
});

/** Reads time ranges from the status of a schedule. */
import type { SearchExportScheduleStatus } from '../api/generated/search-export-schedule.ts';
import { type TimeRange, union } from '../base/time-range.ts';

/** Returns the exported time ranges that the status lists. If the list is full, the oldest time ranges are missing. */
export function readCovered(status: SearchExportScheduleStatus | undefined): readonly TimeRange[] {
  const { startTime: from, coveredUntil: to, covered = [] } = status ?? {};
  const first = from === undefined || to === undefined ? [] : [{ from, to }];
  return union([...first, ...covered].map(readSpan));
}

/** Decodes the time range of a run from the status. */
export function readSpan({ from, to }: { readonly from: string; readonly to: string }): TimeRange {
  return { fromMs: Date.parse(from), toMs: Date.parse(to) };
}

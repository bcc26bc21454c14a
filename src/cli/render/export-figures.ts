/** Renders figures from the status of an export as text. */

import type { SearchExportStatus, SearchJobStatus } from '../../api/generated/search-export.ts';
import { groupedText } from '../../base/number-text.ts';
import { renderHistogram } from './bars.ts';
import { isAtWork } from './condition-lines.ts';
import { renderEnd } from './live-parts.ts';
import { renderBytes, renderCount, renderMinute, renderMoment } from './text.ts';

/**
 * Completed part of an export, such as `1,234,567 rows, 300 MiB of files, in 14 of 40 intervals`. Undefined
 * without progress.
 */
export function renderDone({ progress }: SearchExportStatus): string | undefined {
  if (!progress) return undefined;
  const { rowsWritten, bytesWritten, intervalsDone, intervalsPlanned, duplicatesDropped } = progress;
  const dropped = duplicatesDropped === 0 ? '' : `; ${renderCount(duplicatesDropped, 'duplicate')} dropped`;
  const of = `${groupedText(intervalsDone)} of ${renderCount(intervalsPlanned, 'interval')}`;
  return `${renderCount(rowsWritten, 'row')}, ${renderBytes(bytesWritten)} of files, in ${of}${dropped}`;
}

/**
 * Download rate of an export, such as `41,000 rows and 9.8 MiB received a second` (before compression).
 * Undefined while nothing is received.
 */
export function renderRates({ progress }: SearchExportStatus): string | undefined {
  const { rowsPerSecond, bytesPerSecond } = progress ?? {};
  const parts = [
    ...(rowsPerSecond === undefined ? [] : [renderCount(rowsPerSecond, 'row')]),
    ...(bytesPerSecond === undefined ? [] : [renderBytes(bytesPerSecond)]),
  ];
  return parts.length === 0 ? undefined : `${parts.join(' and ')} received a second`;
}

/**
 * Remaining time of an export, such as `done in about 5m`. Undefined if the export is not working, or if
 * there is no valid estimate.
 */
export function renderTimeLeft(status: SearchExportStatus, nowMs: number): string | undefined {
  const { estimatedCompletionTime: end } = status;
  return isAtWork(status) ? renderEnd(end, nowMs) : undefined;
}

/**
 * Time range of an export, such as `2026-11-01 00:00 UTC to 2026-11-02 00:00 UTC`. Undefined until the
 * range is known.
 */
export function renderRange({ timeRange }: SearchExportStatus): string | undefined {
  if (!timeRange) return undefined;
  return renderSpan(timeRange.startTime, timeRange.endTime);
}

/** Renders a start and an end time with the same precision. */
function renderSpan(from: string, to: string): string {
  const timesMs = [from, to].map((time) => Date.parse(time));
  const isWhole = (unitMs: number) => timesMs.every((timeMs) => timeMs % unitMs === 0);
  const render = isWhole(60_000) ? renderMinute : isWhole(1_000) ? renderMoment : precisely;
  return timesMs.map(render).join(' to ');
}

function precisely(timeMs: number): string {
  return new Date(timeMs).toISOString();
}

/** Histogram of an export's rows over time, as a line of blocks. Undefined while no rows are known. */
export function renderRows({ rowHistogram = [], timeRange }: SearchExportStatus, width: number): string | undefined {
  if (rowHistogram.length === 0 || !timeRange || width < 10) return undefined;
  const range = { startMs: Date.parse(timeRange.startTime), endMs: Date.parse(timeRange.endTime) };
  const sliceMs = (range.endMs - range.startMs) / rowHistogram.length;
  const pieces = rowHistogram.flatMap((count, slice) => {
    const startMs = range.startMs + slice * sliceMs;
    return count < 0 ? [] : [{ startMs, endMs: startMs + sliceMs, count }];
  });
  return renderHistogram(pieces, range, width);
}

/**
 * Sentence about rows that running searches have found but that are not written yet. Undefined if there are
 * none.
 */
export function renderFound(jobs: readonly SearchJobStatus[] = []): string | undefined {
  const found = jobs.reduce((sum, { messageCount = 0 }) => sum + messageCount, 0);
  if (found === 0) return undefined;
  return `The running searches have found ${renderCount(found, 'message')} so far.`;
}

/** Table cells for a search job: its interval, state, number of found rows, and id. */
export function jobCells({ id, from, to, state, messageCount, recordCount }: SearchJobStatus): readonly string[] {
  const found = [
    ...(messageCount === undefined ? [] : [renderCount(messageCount, 'message')]),
    ...(recordCount === undefined || recordCount === 0 ? [] : [renderCount(recordCount, 'record')]),
  ];
  return [renderSpan(from, to), state, found.join(', '), id];
}

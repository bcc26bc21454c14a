/** Renders an export: progress, rates, histogram, running searches, errors, query and destination. */
import { reasons } from '../../api/conditions.ts';
import type { IncompleteInterval, SearchExportSpec, SearchExportStatus } from '../../api/generated/search-export.ts';
import type { SearchExport } from '../../api/kinds.ts';
import { counted, groupedText } from '../../base/number-text.ts';
import { isoSeconds, isoText } from '../../base/time-text.ts';
import { renderHistogram, renderProgressBar } from './bars.ts';
import { conditionOf, holds, isAtWork } from './condition-lines.ts';
import { type Paint, paintWith } from './paint.ts';
import { columnWidths, type Fact, renderFacts, renderRow } from './table.ts';
import { wrap } from './terminal-text.ts';
import { printable, renderAgeSince, renderBytes, renderCount, renderEnd, renderMinute } from './text.ts';
import { type KindView, type Moment, renderView, type ViewOptions } from './view-layout.ts';

/** Maximum number of lines to show for each kind of detail, such as search jobs. */
interface Detail {
  readonly jobs: number;
  readonly problems: number;
  readonly events: number;
}

const all = Number.POSITIVE_INFINITY;
/** Levels of detail in the live view, from the most to the least detailed. Small terminals get less detail. */
const details: readonly Detail[] = [
  { jobs: 10, problems: 5, events: 5 },
  { jobs: 6, problems: 3, events: 3 },
  { jobs: 4, problems: 2, events: 1 },
  { jobs: 2, problems: 1, events: 0 },
  { jobs: 0, problems: 1, events: 0 },
];
const everything: Detail = { jobs: all, problems: all, events: 0 };
const widestBar = 100;
const widestHistogram = 60;

export const exportView: KindView<SearchExport> = {
  render: renderExport,
  figuresOf,
  // Text that triggers a new line when it changes. It leaves out the number of rows, which changes too often.
  keyOf: ({ summary }) => `${summary?.progress}`,
  waitOf: (status) => {
    const ready = conditionOf(status, 'Ready');
    return holds(status, 'Reconciling') && ready?.reason !== reasons.exporting ? ready?.message : undefined;
  },
  reasonOf: (status) => {
    const found = (status.jobs ?? []).reduce((sum, { messageCount = 0 }) => sum + messageCount, 0);
    const messages = renderCount(found, 'message');
    const jobs = found === 0 ? '' : ` The running searches have found ${messages} so far.`;
    return `${conditionOf(status, 'Ready')?.message}${jobs}`;
  },
  inFlight: ({ jobs = [] }) => {
    if (jobs.length === 0) return undefined;
    return `${counted(jobs.length, 'search in flight runs', 'searches in flight run')} to completion`;
  },
};

export function renderExport(resource: SearchExport, moment: Moment, options: ViewOptions): readonly string[] {
  const { status = {} } = resource;
  const { width, colour } = options;
  const rows = status.summary?.rows;
  const texts = (lines: readonly string[] = [], max: number, paint: Paint) =>
    lines.slice(0, max).map((line) => paint('yellow', printable(line)));
  return renderView(resource, moment, options, { all: everything, fitting: details }, ({ jobs, problems }, paint) => ({
    figure: rows === undefined ? undefined : `${rows} rows`,
    figures: [...coverage(status, width, paint), ...pace(status, moment, width)],
    wait: waiting(status),
    blocks: [
      ['Searching', searches(status, jobs)],
      ['Pods that cannot continue', texts(renderObstacles(status), problems, paint)],
      ['Incomplete', texts(renderIncomplete(status.incomplete), problems, paint)],
      ['Errors of searches', texts(status.pendingErrors, problems, paint)],
    ],
    further: [
      ['Warnings of searches', texts(status.pendingWarnings, all, paint)],
      ['Export', renderFacts(facts(resource), { width: width - 2, paint: paintWith(colour) })],
    ],
  }));
}

function figuresOf(status: SearchExportStatus): string {
  const { summary, progress } = status;
  const done = progress && progress.intervalsDone > 0 ? renderDone(status) : undefined;
  return [summary?.progress && `${summary.progress} of the export`, done].filter(Boolean).join('; ');
}

export function renderIncomplete(intervals: readonly IncompleteInterval[] = []): readonly string[] {
  return intervals.map(({ from, to, reason, received, expected }) => {
    const got = received === undefined ? '' : `; ${groupedText(received)} received`;
    const wanted = expected === undefined ? '' : `, ${groupedText(expected)} expected`;
    return `${from} to ${to}: ${reason}${got}${wanted}`;
  });
}

/** Returns a line for each blocked pod of the export's Job, with the reason. */
function renderObstacles({ workers = [] }: SearchExportStatus): readonly string[] {
  return workers.flatMap(({ index, obstacle }) =>
    obstacle ? [`Pod ${index}, ${obstacle.reason}: ${obstacle.message}`] : [],
  );
}

/** Renders the progress bar, with the histogram of rows below it. */
function coverage(status: SearchExportStatus, width: number, paint: Paint): readonly string[] {
  const { progress, timeRange } = status;
  if (!progress) return [];
  const { coveredPercent } = progress;
  const range = timeRange ? `, ${renderSpan(timeRange.startTime, timeRange.endTime)}` : '';
  const label = `${coveredPercent}%${range}`;
  const columns = Math.min(widestBar, width - label.length - 2);
  const barWidth = columns >= 20 ? columns : Math.min(widestBar, width);
  const bar = renderProgressBar(coveredPercent / 100, barWidth, paint);
  const rows = renderRows(status, Math.min(widestHistogram, barWidth - 2));
  const lines = columns >= 20 ? [`${bar}  ${label}`] : [bar, ...wrap(label, width)];
  return rows === undefined ? lines : [...lines, ` ${paint('blue', rows)}`];
}

function pace(status: SearchExportStatus, { nowMs, requestsPerSecond }: Moment, width: number): readonly string[] {
  const isWorking = isAtWork(status);
  const requests =
    requestsPerSecond === undefined || !isWorking ? undefined : `${requestsPerSecond.toFixed(1)} requests a second`;
  const end = isWorking ? renderEnd(status.estimatedCompletionTime, nowMs) : undefined;
  const speed = [renderRates(status), requests, end].filter((part) => part !== undefined).join(', ');
  return [renderDone(status) ?? '', speed].filter((line) => line !== '').flatMap((line) => wrap(line, width));
}

/** Renders the progress, such as `1,234,567 rows, 300 MiB of files, in 14 of 40 intervals`. */
function renderDone({ progress }: SearchExportStatus): string | undefined {
  if (!progress) return undefined;
  const { rowsWritten, bytesWritten, intervalsDone, intervalsPlanned, duplicatesDropped } = progress;
  const dropped = duplicatesDropped === 0 ? '' : `; ${renderCount(duplicatesDropped, 'duplicate')} dropped`;
  const [rows, size] = [renderCount(rowsWritten, 'row'), renderBytes(bytesWritten)];
  const intervals = `${groupedText(intervalsDone)} of ${renderCount(intervalsPlanned, 'interval')}`;
  return `${rows}, ${size} of files, in ${intervals}${dropped}`;
}

/** Renders the download rate, such as `41,000 rows and 9.8 MiB received per second`. */
function renderRates({ progress }: SearchExportStatus): string | undefined {
  const { rowsPerSecond, bytesPerSecond } = progress ?? {};
  const parts = [
    ...(rowsPerSecond === undefined ? [] : [renderCount(rowsPerSecond, 'row')]),
    ...(bytesPerSecond === undefined ? [] : [renderBytes(bytesPerSecond)]),
  ];
  return parts.length === 0 ? undefined : `${parts.join(' and ')} received per second`;
}

/** Renders the start and end of a time range with the same precision. */
function renderSpan(from: string, to: string): string {
  const timesMs = [from, to].map((time) => Date.parse(time));
  const isWhole = (unitMs: number) => timesMs.every((timeMs) => timeMs % unitMs === 0);
  return timesMs.map(isWhole(60_000) ? renderMinute : isWhole(1_000) ? isoSeconds : isoText).join(' to ');
}

/**
 * Renders a histogram: one line of characters that shows the number of rows over time. Returns undefined while the
 * numbers of rows are unknown.
 */
function renderRows({ rowHistogram = [], timeRange }: SearchExportStatus, width: number): string | undefined {
  if (rowHistogram.every((count) => count === 0) || !timeRange || width < 10) return undefined;
  const range = { fromMs: Date.parse(timeRange.startTime), toMs: Date.parse(timeRange.endTime) };
  const sliceMs = (range.toMs - range.fromMs) / rowHistogram.length;
  const pieces = rowHistogram.flatMap((count, slice) => {
    const fromMs = range.fromMs + slice * sliceMs;
    return count < 0 ? [] : [{ fromMs, toMs: fromMs + sliceMs, rows: count }];
  });
  return renderHistogram(pieces, range, width);
}

/**
 * Returns the reason why an export in progress is not running a search. Returns undefined if it is running a search, or
 * if logfleet is not working on it.
 */
function waiting(status: SearchExportStatus): string | undefined {
  const isSearching = (status.jobs?.length ?? 0) > 0 && status.outageStartTime === undefined;
  const isWaiting = !isSearching && !holds(status, 'Ready') && holds(status, 'Reconciling');
  return isWaiting ? conditionOf(status, 'Ready')?.message : undefined;
}

function searches({ jobs = [] }: SearchExportStatus, max: number): readonly string[] {
  const rows = jobs.slice(0, max).map(({ id, from, to, state, messageCount, recordCount = 0 }) => {
    const found = [
      ...(messageCount === undefined ? [] : [renderCount(messageCount, 'message')]),
      ...(recordCount === 0 ? [] : [renderCount(recordCount, 'record')]),
    ];
    return [renderSpan(from, to), state, found.join(', '), id];
  });
  const widths = columnWidths(rows);
  const more = jobs.length - rows.length;
  return [...rows.map((row) => renderRow(row, widths, 2)), ...(more > 0 && max > 0 ? [`and ${more} more`] : [])];
}

function facts({ spec, status = {} }: SearchExport): readonly Fact[] {
  const { progress, location, startTime, completionTime } = status;
  const bytesScanned = progress?.bytesScanned;
  const ended = startTime !== undefined && completionTime !== undefined;
  return [
    ['Query', spec.query],
    ['Output', outputOf(spec)],
    ['Location', location],
    ['Manifest', manifestOf(status)],
    ['Scanned', bytesScanned === undefined ? undefined : `${renderBytes(bytesScanned)} by the service`],
    ['Took', ended ? `${renderAgeSince(startTime, Date.parse(completionTime))}, until ${completionTime}` : undefined],
  ];
}

function outputOf({ output, results }: SearchExportSpec): string {
  const { format, compression, fields } = output;
  const packed = compression === 'None' ? '' : ` with ${compression}`;
  const of = results === 'Records' ? ' of records' : '';
  const names = fields.length === 0 ? '' : `: ${fields.join(', ')}`;
  return `${format}${packed}${of}${names}`;
}

function manifestOf({ manifest }: SearchExportStatus): string | undefined {
  if (!manifest) return undefined;
  const { url, rows, files, bytes, complete } = manifest;
  const warning = complete ? '' : ', with intervals that are incomplete';
  return `${url}: ${renderCount(rows, 'row')} in ${renderCount(files, 'file')}, ${renderBytes(bytes)}${warning}`;
}

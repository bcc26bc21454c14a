/**
 * Renders the live view of an export: the exported part of its range, rows and their rate, histogram, the reason for
 * waiting, running searches, errors, and the last Events. Pure functions.
 */
import { reasons } from '../../api/conditions.ts';
import type { SearchExportStatus } from '../../api/generated/search-export.ts';
import { renderProgressBar } from './bars.ts';
import { conditionOf, holds, isAtWork } from './condition-lines.ts';
import { jobCells, renderDone, renderRange, renderRates, renderRows, renderTimeLeft } from './export-figures.ts';
import { type LiveInput, type LiveViewOptions, renderLiveView } from './live-parts.ts';
import { columnWidths, renderRow } from './table.ts';
import { type Colour, clip, type Paint, printable, wrap } from './text.ts';

export type ExportView = LiveInput<SearchExportStatus>;

/** Maximum number of lines for each kind of detail in the live view of an export. */
interface Detail {
  readonly jobs: number;
  readonly problems: number;
  readonly events: number;
}

/** Amounts of detail in the live view, from a large window to a small one. */
const details: readonly Detail[] = [
  { jobs: 10, problems: 5, events: 5 },
  { jobs: 6, problems: 3, events: 3 },
  { jobs: 4, problems: 2, events: 1 },
  { jobs: 2, problems: 1, events: 0 },
  { jobs: 0, problems: 1, events: 0 },
];
const widestBar = 100;
const widestHistogram = 60;

export function renderExportLive(view: ExportView, options: LiveViewOptions): readonly string[] {
  const { status, name, elapsedMs } = view;
  const { width } = options;
  const figure = status?.summary?.rows === undefined ? undefined : `${status.summary.rows} rows`;
  return renderLiveView(view, options, details, (detail, paint) => ({
    headline: { name, state: status?.summary?.state, colour: stateColour(status), figure, elapsedMs },
    figures: [...coverage(status, width, paint), ...pace(view, width)],
    wait: waiting(status),
    blocks: [
      ['Searching', searches(status, detail.jobs, width - 2)],
      ['Incomplete', incomplete(status, detail.problems, paint)],
      ['Errors of searches', texts(status?.pendingErrors, detail.problems, width - 2, paint)],
    ],
  }));
}

/** State of an export in one line, for outputs without a terminal. Includes the reason while the export waits. */
export function renderExportLine(name: string, status: SearchExportStatus): string {
  const { summary, progress } = status;
  const done = progress && progress.intervalsDone > 0 ? renderDone(status) : undefined;
  const parts = [summary?.progress && `${summary.progress} of the range`, done].filter(Boolean);
  const line = `${name}: ${summary?.state ?? 'Unknown'}${parts.length > 0 ? `; ${parts.join('; ')}` : ''}`;
  const wait = waitMessage(status);
  return printable(wait === undefined ? line : `${line}: ${wait}`);
}

/** Message of the `Ready` condition while the export waits. Undefined while it searches. */
export function waitMessage(status: SearchExportStatus): string | undefined {
  const ready = conditionOf(status, 'Ready');
  return holds(status, 'Reconciling') && ready?.reason !== reasons.exporting ? ready?.message : undefined;
}

/** Colour of an export's state. Yellow means that a person must act. */
function stateColour(status: SearchExportStatus | undefined): Colour {
  if (holds(status, 'Stalled')) return 'red';
  if (holds(status, 'Ready')) return 'green';
  return isAtWork(status) ? 'cyan' : 'yellow';
}

/**
 * The exported part of the time range as a bar, and its histogram. Both have the same width if there is enough space.
 */
function coverage(status: SearchExportStatus | undefined, width: number, paint: Paint): readonly string[] {
  if (!status?.progress) return [];
  const { coveredPercent } = status.progress;
  const range = renderRange(status);
  const label = `${coveredPercent}%${range === undefined ? '' : ` of ${range}`}`;
  const room = Math.min(widestBar, width - label.length - 2);
  const barWidth = room >= 20 ? room : width;
  const bar = renderProgressBar(coveredPercent / 100, barWidth, paint);
  const rows = renderRows(status, Math.min(widestHistogram, barWidth - 2));
  const lines = room >= 20 ? [`${bar}  ${label}`] : [bar, ...wrap(label, width)];
  return rows === undefined ? lines : [...lines, ` ${paint('blue', rows)}`];
}

function pace({ status, nowMs, requestsPerSecond }: ExportView, width: number): readonly string[] {
  if (!status) return [];
  const requests =
    requestsPerSecond === undefined || !isAtWork(status)
      ? undefined
      : `${requestsPerSecond.toFixed(1)} requests a second`;
  const speed = [renderRates(status), requests, renderTimeLeft(status, nowMs)].filter((part) => part !== undefined);
  return [renderDone(status), speed.length === 0 ? undefined : speed.join(', ')]
    .filter((part) => part !== undefined)
    .flatMap((part) => wrap(part, width));
}

/** Reason why a working export runs no search at the moment. Undefined if it runs one. */
function waiting(status: SearchExportStatus | undefined): string | undefined {
  const ready = conditionOf(status, 'Ready');
  const isSearching = (status?.jobs?.length ?? 0) > 0 && status?.outageStartTime === undefined;
  return isSearching || holds(status, 'Ready') || !holds(status, 'Reconciling') ? undefined : ready?.message;
}

function searches(status: SearchExportStatus | undefined, most: number, width: number): readonly string[] {
  const jobs = status?.jobs ?? [];
  const rows = jobs.slice(0, most).map(jobCells);
  const widths = columnWidths(rows);
  const lines = rows.map((row) => clip(renderRow(row, widths, 2), width));
  const more = jobs.length - rows.length;
  return more > 0 && most > 0 ? [...lines, `and ${more} more`] : lines;
}

function incomplete(status: SearchExportStatus | undefined, most: number, paint: Paint): readonly string[] {
  return (status?.incomplete ?? [])
    .slice(0, most)
    .map(({ from, to, reason }) => paint('yellow', printable(`${from} to ${to}: ${reason}`)));
}

function texts(all: readonly string[] = [], most: number, width: number, paint: Paint): readonly string[] {
  return all.slice(0, most).map((text) => paint('yellow', clip(printable(text), width)));
}

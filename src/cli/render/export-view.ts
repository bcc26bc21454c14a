/**
 * Renders the details of an export for `logfleet get sx NAME`: query and destination, progress, the reason of its
 * state, histogram, running searches, incomplete intervals, and errors. Pure functions.
 */

import type { IncompleteInterval, SearchExportSpec, SearchExportStatus } from '../../api/generated/search-export.ts';
import type { SearchExport } from '../../api/kinds.ts';
import { groupedText } from '../../base/number-text.ts';
import { renderProgressBar } from './bars.ts';
import { renderBehind, renderConditions } from './condition-lines.ts';
import { jobCells, renderDone, renderRange, renderRates, renderRows, renderTimeLeft } from './export-figures.ts';
import type { NextSteps } from './next-steps.ts';
import { type Fact, renderFacts, renderTable, section } from './table.ts';
import { clip, type Paint, paintWith, printable, renderAgeSince, renderBytes, renderCount, wrap } from './text.ts';

interface ExportViewOptions {
  readonly width: number;
  readonly colour: boolean;
  readonly nowMs: number;
  readonly steps?: NextSteps;
}

const widestBar = 62;

export function renderExport(resource: SearchExport, options: ExportViewOptions): readonly string[] {
  const { width, colour } = options;
  const paint = paintWith(colour);
  const { status } = resource;
  const lines = renderFacts(facts(resource, options), { width, paint });
  if (!status) return lines;
  return [
    ...lines,
    ...section('Range', range(status, width, paint), paint),
    ...section('Searches', searches(status, width), paint),
    ...section('Incomplete', renderIncomplete(status.incomplete ?? [], width), paint),
    ...section('Conditions', renderConditions(status, options), paint),
    ...section('Errors of searches, the newest first', texts(status.pendingErrors, width), paint),
    ...section('Warnings of searches, the newest first', texts(status.pendingWarnings, width), paint),
  ];
}

function facts(resource: SearchExport, { nowMs, steps: { resume } = {} }: ExportViewOptions): readonly Fact[] {
  const { metadata, spec, status } = resource;
  const scanned = status?.progress?.bytesScanned;
  return [
    ['Name', `${metadata.namespace}/${metadata.name}`],
    ['Query', spec.query],
    [
      'State',
      status?.summary?.state ??
        'Unknown: no operator has looked at this export yet. Check that an operator is running.',
    ],
    ['Done', status && renderDone(status)],
    ['Pace', status && paceOf(status, nowMs)],
    ['Scanned', scanned === undefined ? undefined : `${renderBytes(scanned)} by the service`],
    ['Paused', resume && `no search starts; to resume: ${resume}`],
    ['Output', outputOf(spec)],
    ['Location', status?.location],
    ['Manifest', status && manifestOf(status)],
    ['Took', status && durationOf(status)],
    ['Behind', renderBehind(resource)],
    ['Age', renderAgeSince(metadata.creationTimestamp, nowMs)],
  ];
}

function paceOf(status: SearchExportStatus, nowMs: number): string | undefined {
  const parts = [renderRates(status), renderTimeLeft(status, nowMs)].filter((part) => part !== undefined);
  return parts.length === 0 ? undefined : parts.join(', ');
}

function outputOf({ output, results }: SearchExportSpec): string {
  const { format, compression, fields } = output;
  const packed = compression === 'None' ? '' : ` with ${compression}`;
  const of = results === 'Records' ? ' of records' : '';
  return `${format}${packed}${of}${fields.length === 0 ? '' : `: ${fields.join(', ')}`}`;
}

function manifestOf({ manifest }: SearchExportStatus): string | undefined {
  if (!manifest) return undefined;
  const { url, rows, files, bytes, complete } = manifest;
  const flag = complete ? '' : ', with intervals that are incomplete';
  return `${url}: ${renderCount(rows, 'row')} in ${renderCount(files, 'file')}, ${renderBytes(bytes)}${flag}`;
}

function durationOf({ startTime, completionTime }: SearchExportStatus): string | undefined {
  if (startTime === undefined || completionTime === undefined) return undefined;
  return `${renderAgeSince(startTime, Date.parse(completionTime))}, until ${completionTime}`;
}

function range(status: SearchExportStatus, width: number, paint: Paint): readonly string[] {
  const shown = renderRange(status);
  if (!status.progress || shown === undefined) return [];
  const barWidth = Math.min(widestBar, width - 2);
  const { coveredPercent } = status.progress;
  const rows = renderRows(status, barWidth - 2);
  return [
    renderProgressBar(coveredPercent / 100, barWidth, paint),
    ...(rows === undefined ? [] : [` ${paint('blue', rows)}`]),
    ...wrap(`${coveredPercent}% of ${shown}`, Math.max(20, width - 2)),
  ];
}

function searches({ jobs = [] }: SearchExportStatus, width: number): readonly string[] {
  if (jobs.length === 0) return [];
  const lines = renderTable(['interval', 'state', 'found', 'job'], jobs.map(jobCells), width - 2);
  return lines.map((line) => clip(line, width - 2));
}

/** Lines about the incomplete intervals of an export, at least one line for each interval. */
export function renderIncomplete(all: readonly IncompleteInterval[], width: number): readonly string[] {
  return all.flatMap(({ from, to, reason, received, expected }) => {
    const got = received === undefined ? '' : `; ${groupedText(received)} received`;
    const wanted = expected === undefined ? '' : `, ${groupedText(expected)} expected`;
    return indented(`${from} to ${to}: ${reason}${got}${wanted}`, width);
  });
}

function texts(all: readonly string[] = [], width: number): readonly string[] {
  return all.flatMap((text) => indented(text, width));
}

function indented(text: string, width: number): readonly string[] {
  const lines = wrap(printable(text), Math.max(20, width - 4));
  return lines.map((line, index) => (index === 0 ? line : `  ${line}`));
}

/** Renders plans of exports as text: rows by time, searches, duration, and obstacles. */

import type { SearchExportSpec } from '../../api/generated/search-export.ts';
import { groupedText } from '../../base/number-text.ts';
import { renderHistogram } from '../render/bars.ts';
import { type Fact, renderFacts, renderTable } from '../render/table.ts';
import { paintWith, printable, renderAge, renderBytes, renderCount, renderMinute } from '../render/text.ts';
import type { ExportOutlook, PlannedSearches } from './export-planner.ts';
import type { PlanViewOptions } from './plan-view.ts';

const factsLayout = { margin: 2, nameWidth: 11 };
const widestHistogram = 60;
/** Number of intervals that the table lists without `-o wide`. */
const listedIntervals = 5;

/**
 * Lines of the plans of all exports, with an empty line between exports. Problems are reported by
 * the command.
 */
export function renderExportPlans(outlooks: readonly ExportOutlook[], options: PlanViewOptions): readonly string[] {
  const known = outlooks.filter(({ kind }) => kind !== 'problem');
  return known.flatMap((outlook, index) => [...(index === 0 ? [] : ['']), ...renderOutlook(outlook, options)]);
}

function renderOutlook(outlook: ExportOutlook, options: PlanViewOptions): readonly string[] {
  const { namespace, name } = outlook.resource.metadata;
  const paint = paintWith(options.colour);
  const title = (rest: string) => paint('bold', printable(`${namespace}/${name}${rest}`));
  switch (outlook.kind) {
    case 'plan': {
      const { resource, plan } = outlook;
      const facts = renderFacts(factsOf(plan, resource.spec), { ...factsLayout, width: options.width, paint });
      return [title(`: ${groupedText(plan.rows)} rows`), ...facts, ...whereRowsAre(plan, options)];
    }
    case 'complete':
      return [title(': nothing to do, it is complete')];
    case 'waiting':
      return [title(`: nothing to search before ${renderMinute(outlook.untilMs)}`)];
    case 'problem':
      return [];
  }
}

function factsOf(plan: PlannedSearches, { destination, output }: SearchExportSpec): readonly Fact[] {
  const { segments, jobs, parallelism, requests, requestsPerSecond, bytesToScan, durationMs, areKnown } = plan;
  const from = segments[0]?.fromMs ?? 0;
  const rest = plan.settledMs < plan.toMs ? `; the rest, until ${renderMinute(plan.toMs)}, later` : '';
  const sideBySide = Math.min(parallelism, jobs);
  const { volume, s3 } = destination;
  const where = volume
    ? `volume ${volume.name}`
    : `s3://${s3?.bucket}${s3?.prefix === undefined ? '' : `/${s3.prefix}`}`;
  const packed = output.compression === 'None' ? '' : ` with ${output.compression}`;
  return [
    ['Range', `${renderMinute(from)} to ${renderMinute(plan.settledMs)}${rest}`],
    ['Rows', `${groupedText(plan.rows)}${areKnown ? '' : ' or more'}, in ${renderCount(segments.length, 'interval')}`],
    [
      'Searches',
      `${renderCount(jobs, 'job')}${jobs === 1 ? '' : sideBySide === 1 ? ', one by one' : `, ${sideBySide} at once`}`,
    ],
    ['Requests', `about ${groupedText(requests)} at up to ${requestsPerSecond} a second`],
    ['Scans', bytesToScan === undefined ? undefined : `about ${renderBytes(bytesToScan)}`],
    ['Proof', proofText(plan)],
    ['Takes', `about ${renderAge(durationMs)}`],
    ['Writes', `${output.format}${packed} to ${where}`],
    ...plan.hindrances.map((hindrance): Fact => ['But', hindrance]),
  ];
}

function proofText({ digest }: PlannedSearches): string {
  if (!digest) return 'by the counts of its searches';
  const bytes = digest.bytes === undefined ? '' : `, and scans about ${renderBytes(digest.bytes)} of these`;
  return `by a digest, which takes ${renderCount(digest.requests, 'request')} of these${bytes}`;
}

function whereRowsAre(
  { segments, rows }: PlannedSearches,
  { width, wide, colour }: PlanViewOptions,
): readonly string[] {
  const [first] = segments;
  const last = segments.at(-1);
  if (!first || !last || segments.length === 1 || rows === 0) return [];
  const paint = paintWith(colour);
  const pieces = segments.map((segment) => ({ startMs: segment.fromMs, endMs: segment.toMs, count: segment.rows }));
  const blocks = renderHistogram(
    pieces,
    { startMs: first.fromMs, endMs: last.toMs },
    Math.min(widestHistogram, width - 4),
  );
  const shown = wide ? segments : segments.slice(0, listedIntervals);
  const cells = shown.map((segment) => [iso(segment.fromMs), iso(segment.toMs), groupedText(segment.rows)]);
  const more = segments.length - shown.length;
  return [
    `  ${paint('bold', 'Intervals:')}`,
    `    ${paint('blue', blocks)}`,
    ...renderTable(['From', 'To', 'Rows'], cells, width - 4).map((line) => `    ${line}`),
    ...(more > 0 ? [`    and ${groupedText(more)} more; -o wide lists them`] : []),
  ];
}

function iso(timeMs: number): string {
  return new Date(timeMs).toISOString();
}

/** Details of an export: progress, rows over time, running searches, and files. */
import type { SearchExportStatus } from '../../../api/generated/search-export.ts';
import type { SearchExport } from '../../../api/kinds.ts';
import { renderDuration } from '../../../base/duration.ts';
import { groupedText } from '../../../base/number-text.ts';
import type { TimeRange } from '../../../base/time-range.ts';
import { renderBytes, renderCount, renderMinute, renderTimeLeft } from '../../render/text.ts';
import { exportSegments, HistogramChart, Legend, StackedBar, spanOf, TimelineChart, type TimeSpan } from './charts.tsx';
import { Ago, Pairs, rangeColumns, Section, Table, TableSection, useNow } from './parts.tsx';

export function ExportDetail({ resource }: { resource: SearchExport }) {
  const { status = {} } = resource;
  return (
    <>
      <ExportFigures status={status} />
      <Coverage status={status} />
      <RowsOverTime status={status} />
      <TableSection
        title="Running searches"
        rows={status.jobs}
        columns={{ ...rangeColumns, State: 'state', Messages: 'messageCount', 'Search job': 'id' }}
      />
      <TableSection
        title="Intervals that are not proven complete"
        rows={status.incomplete}
        columns={{ ...rangeColumns, Reason: 'reason', Received: 'received', Expected: 'expected' }}
      />
      <Lines title="Errors of searches" lines={status.pendingErrors} />
      <Lines title="Warnings of searches" lines={status.pendingWarnings} />
      <Files status={status} />
      <Workers status={status} />
      <ExportFacts resource={resource} />
    </>
  );
}

function ExportFigures({ status: { progress, estimatedCompletionTime } }: { status: SearchExportStatus }) {
  const nowMs = useNow();
  if (!progress) return null;
  const { rowsWritten, bytesWritten, intervalsDone, intervalsPlanned, rowsPerSecond, coveredPercent } = progress;
  return (
    <Pairs
      variant="figures"
      pairs={{
        Exported: `${coveredPercent}%`,
        Rows: rowsWritten,
        Files: renderBytes(bytesWritten),
        Intervals: `${groupedText(intervalsDone)} of ${groupedText(intervalsPlanned)}`,
        Speed: rowsPerSecond === undefined ? undefined : `${groupedText(rowsPerSecond)} rows/s`,
        'Remaining time': renderTimeLeft(estimatedCompletionTime, nowMs),
      }}
    />
  );
}

function rangeOf({ timeRange }: SearchExportStatus): TimeRange | undefined {
  return timeRange && { fromMs: Date.parse(timeRange.startTime), toMs: Date.parse(timeRange.endTime) };
}

/** Shows which time ranges are exported, being searched, incomplete, or missing. */
function Coverage({ status }: { status: SearchExportStatus }) {
  const range = rangeOf(status);
  const { progress, jobs = [], incomplete = [] } = status;
  if (!range || !progress) return null;
  const spans: readonly TimeSpan[] = [
    ...exportedSpans(status, range),
    ...jobs.map(({ from, to, state }) => spanOf(from, to, 'var(--inProgress)', `search: ${state}`)),
    ...incomplete.map(({ from, to, reason }) => spanOf(from, to, 'var(--failed)', `not proven: ${reason}`)),
  ];
  const isKnown = spans.length > 0;
  const label = `${progress.coveredPercent}% of the export done, ${renderCount(jobs.length, 'running search')}, ${renderCount(incomplete.length, 'incomplete interval')}`;
  return (
    <Section title="Coverage">
      {isKnown ? (
        <TimelineChart range={range} spans={spans} label={label} />
      ) : (
        <StackedBar segments={exportSegments([progress.coveredPercent, 100 - progress.coveredPercent])} />
      )}
      <Legend keys={coverageKeys} />
    </Section>
  );
}

const coverageKeys = [
  { label: 'exported', colour: 'var(--updated)' },
  { label: 'being searched', colour: 'var(--inProgress)' },
  { label: 'not proven', colour: 'var(--failed)' },
  { label: 'not exported yet', colour: 'var(--missing)' },
];

/** Returns the exported time ranges, computed from the slices of the row histogram. */
function exportedSpans({ rowHistogram = [], manifest }: SearchExportStatus, range: TimeRange): readonly TimeSpan[] {
  const whole = { ...range, colour: 'var(--updated)', title: 'exported' };
  if (manifest) return [whole];
  const sliceMs = (range.toMs - range.fromMs) / rowHistogram.length;
  const timeMs = (slice: number) => range.fromMs + slice * sliceMs;
  const firsts = rowHistogram.flatMap((count, slice) =>
    count >= 0 && !((rowHistogram[slice - 1] ?? -1) >= 0) ? [slice] : [],
  );
  return firsts.map((first) => {
    const next = rowHistogram.findIndex((count, slice) => slice > first && count < 0);
    return { ...whole, fromMs: timeMs(first), toMs: next === -1 ? range.toMs : timeMs(next) };
  });
}

function RowsOverTime({ status }: { status: SearchExportStatus }) {
  const range = rangeOf(status);
  const { rowHistogram = [] } = status;
  if (!range || rowHistogram.length === 0) return null;
  const counts = rowHistogram.map((count) => (count < 0 ? undefined : count));
  const sliceMs = (range.toMs - range.fromMs) / counts.length;
  const timeOf = (slice: number) => renderMinute(range.fromMs + slice * sliceMs);
  const highest = Math.max(...rowHistogram);
  const label = `Rows over time, at most ${groupedText(highest)} rows, from ${timeOf(rowHistogram.indexOf(highest))}`;
  return (
    <Section title="Rows over time">
      <HistogramChart counts={counts} range={range} label={label} />
      <details>
        <summary>As a table</summary>
        <Table
          title="Rows over time"
          rows={counts.map((count, slice) => ({ time: timeOf(slice), count: count ?? 'not exported yet' }))}
          columns={{ From: 'time', Rows: 'count' }}
        />
      </details>
    </Section>
  );
}

function Lines({ title, lines = [] }: { title: string; lines: readonly string[] | undefined }) {
  if (lines.length === 0) return null;
  return (
    <Section title={title}>
      <ul>
        {lines.map((line) => (
          <li key={line}>{line}</li>
        ))}
      </ul>
    </Section>
  );
}

function Files({ status: { manifest, fingerprint, location } }: { status: SearchExportStatus }) {
  if (!manifest && location === undefined) return null;
  return (
    <Section title="Files and proof">
      <Pairs
        variant="facts"
        pairs={{
          Location: location,
          Manifest: manifest?.url,
          Rows: manifest?.rows,
          Files: manifest && `${groupedText(manifest.files)}, ${renderBytes(manifest.bytes)}`,
          Complete: manifest && (manifest.complete ? 'yes, every interval is proven' : 'no, an interval is not proven'),
          'Proof level': manifest?.proof,
          'SHA-256 of the manifest': manifest?.sha256,
          Fingerprint: fingerprint,
        }}
      />
    </Section>
  );
}

function Workers({ status: { kubernetesJob, workers = [] } }: { status: SearchExportStatus }) {
  if (!kubernetesJob) return null;
  return (
    <Section title="Kubernetes Job">
      <Pairs variant="facts" pairs={{ Name: kubernetesJob.name, 'Failed pods': kubernetesJob.failedPods }} />
      <Table
        title="Workers"
        rows={workers}
        columns={{
          Worker: 'index',
          Exported: ({ progress }) => progress && `${progress.coveredPercent}%`,
          Rows: ({ progress }) => progress?.rowsWritten,
          Obstacle: ({ obstacle }) => obstacle && `${obstacle.reason}: ${obstacle.message}`,
          Since: ({ obstacle }) => obstacle && <Ago time={obstacle.startTime} />,
        }}
      />
    </Section>
  );
}

function ExportFacts({ resource: { spec, status = {} } }: { resource: SearchExport }) {
  const { startTime, completionTime, progress, timeRange } = status;
  const { format, compression } = spec.output;
  const scanned = progress?.bytesScanned;
  return (
    <Section title="Export">
      <Pairs
        variant="facts"
        pairs={{
          Query: <code>{spec.query}</code>,
          'Time range': timeRange && `${timeRange.startTime} to ${timeRange.endTime}`,
          Format: compression === 'None' ? format : `${format} with ${compression}`,
          'Scanned by the service': scanned === undefined ? undefined : renderBytes(scanned),
          'Duplicates dropped': progress?.duplicatesDropped,
          Took:
            startTime && completionTime
              ? renderDuration(Date.parse(completionTime) - Date.parse(startTime))
              : undefined,
        }}
      />
    </Section>
  );
}

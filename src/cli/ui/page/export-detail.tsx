/** Details of an export: progress, rows over time, running searches, and files. */

import type { SearchExportStatus } from '../../../api/generated/search-export.ts';
import type { SearchExport } from '../../../api/kinds.ts';
import type { TimeRange } from '../../../api/time-range.ts';
import { renderDuration } from '../../../base/duration.ts';
import { renderBytes, renderCount, renderMinute, renderTimeLeft } from '../../render/text.ts';
import { Histogram, Keys, StackedBar, spanOf, Timeline, type TimeSpan } from './charts.tsx';
import { useNow } from './clock.ts';
import { Ago, exportSegments, Minute, Pairs, Section, Table, TableSection } from './parts.tsx';

export function ExportDetail({ resource }: { resource: SearchExport }) {
  const { status = {} } = resource;
  return (
    <>
      <ExportFigures status={status} />
      <Coverage status={status} />
      <RowsOverTime status={status} />
      <Searches status={status} />
      <Incomplete status={status} />
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
      look="figures"
      pairs={[
        ['Exported', `${coveredPercent}%`],
        ['Rows', rowsWritten.toLocaleString('en-US')],
        ['Files', renderBytes(bytesWritten)],
        ['Intervals', `${intervalsDone.toLocaleString('en-US')} of ${intervalsPlanned.toLocaleString('en-US')}`],
        ['Speed', rowsPerSecond === undefined ? undefined : `${rowsPerSecond.toLocaleString('en-US')} rows/s`],
        ['Remaining time', renderTimeLeft(estimatedCompletionTime, nowMs)],
      ]}
    />
  );
}

function rangeOf({ timeRange }: SearchExportStatus): TimeRange | undefined {
  return timeRange && { fromMs: Date.parse(timeRange.startTime), toMs: Date.parse(timeRange.endTime) };
}

/** Shows which time ranges are exported, searched, incomplete, or missing. */
function Coverage({ status }: { status: SearchExportStatus }) {
  const range = rangeOf(status);
  const { progress, jobs = [], incomplete = [] } = status;
  if (!range || !progress) return null;
  const spans: readonly TimeSpan[] = [
    ...exportedSpans(status, range),
    ...jobs.map(({ from, to, state }) => spanOf(from, to, 'inProgress', `search: ${state}`)),
    ...incomplete.map(({ from, to, reason }) => spanOf(from, to, 'failed', `not proven: ${reason}`)),
  ];
  const isKnown = spans.length > 0;
  const label = `${progress.coveredPercent}% of the time range exported, ${renderCount(jobs.length, 'running search')}, ${renderCount(incomplete.length, 'incomplete interval')}`;
  return (
    <Section title="Coverage">
      {isKnown ? (
        <Timeline range={range} spans={spans} label={label} />
      ) : (
        <StackedBar segments={exportSegments([progress.coveredPercent, 100 - progress.coveredPercent])} />
      )}
      <Keys
        keys={[
          ['updated', 'exported'],
          ['inProgress', 'being searched'],
          ['failed', 'not proven'],
          ['missing', 'not exported yet'],
        ]}
      />
    </Section>
  );
}

/** Returns the exported time ranges, in sixtieths of the whole range. */
function exportedSpans({ rowHistogram = [], manifest }: SearchExportStatus, range: TimeRange): readonly TimeSpan[] {
  const whole = { ...range, look: 'updated', title: 'exported' };
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
  const label = `Rows over time, at most ${highest.toLocaleString('en-US')} rows, from ${timeOf(rowHistogram.indexOf(highest))}`;
  return (
    <Section title="Rows over time">
      <Histogram counts={counts} range={range} label={label} />
      <details>
        <summary>As a table</summary>
        <Table
          caption="Rows over time"
          headings={['From', 'Rows']}
          rows={counts.map((count, slice) => [timeOf(slice), count?.toLocaleString('en-US') ?? 'not exported yet'])}
        />
      </details>
    </Section>
  );
}

function Searches({ status: { jobs = [] } }: { status: SearchExportStatus }) {
  return (
    <TableSection
      title="Running searches"
      headings={['From', 'To', 'State', 'Messages', 'Search job']}
      rows={jobs.map(({ id, from, to, state, messageCount }) => [
        <Minute key="from" time={from} />,
        <Minute key="to" time={to} />,
        state,
        messageCount?.toLocaleString('en-US') ?? '',
        id,
      ])}
    />
  );
}

function Incomplete({ status: { incomplete = [] } }: { status: SearchExportStatus }) {
  return (
    <TableSection
      title="Intervals that are not proven complete"
      headings={['From', 'To', 'Reason', 'Received', 'Expected']}
      rows={incomplete.map(({ from, to, reason, received, expected }) => [
        <Minute key="from" time={from} />,
        <Minute key="to" time={to} />,
        reason,
        received?.toLocaleString('en-US') ?? '',
        expected?.toLocaleString('en-US') ?? '',
      ])}
    />
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
        look="facts"
        pairs={[
          ['Location', location],
          ['Manifest', manifest?.url],
          ['Rows', manifest?.rows.toLocaleString('en-US')],
          ['Files', manifest && `${manifest.files.toLocaleString('en-US')}, ${renderBytes(manifest.bytes)}`],
          [
            'Complete',
            manifest && (manifest.complete ? 'yes, every interval is proven' : 'no, an interval is not proven'),
          ],
          ['Proof level', manifest?.proof],
          ['SHA-256 of the manifest', manifest?.sha256],
          ['Fingerprint', fingerprint],
        ]}
      />
    </Section>
  );
}

function Workers({ status: { kubernetesJob, workers = [] } }: { status: SearchExportStatus }) {
  if (!kubernetesJob) return null;
  return (
    <Section title="Kubernetes Job">
      <Pairs
        look="facts"
        pairs={[
          ['Name', kubernetesJob.name],
          ['Failed pods', kubernetesJob.failedPods === undefined ? undefined : String(kubernetesJob.failedPods)],
        ]}
      />
      <Table
        caption="Workers"
        headings={['Worker', 'Exported', 'Rows', 'Obstacle', 'Since']}
        rows={workers.map(({ index, progress, obstacle }) => [
          String(index),
          progress ? `${progress.coveredPercent}%` : '',
          progress?.rowsWritten.toLocaleString('en-US') ?? '',
          obstacle ? `${obstacle.reason}: ${obstacle.message}` : '',
          obstacle && <Ago key={index} time={obstacle.startTime} />,
        ])}
      />
    </Section>
  );
}

function ExportFacts({ resource: { spec, status = {} } }: { resource: SearchExport }) {
  const { startTime, completionTime, progress, timeRange } = status;
  const { format, compression } = spec.output;
  const took = startTime && completionTime && renderDuration(Date.parse(completionTime) - Date.parse(startTime));
  const scanned = progress?.bytesScanned;
  return (
    <Section title="Export">
      <Pairs
        look="facts"
        pairs={[
          ['Query', <code key="query">{spec.query}</code>],
          ['Time range', timeRange && `${timeRange.startTime} to ${timeRange.endTime}`],
          ['Format', compression === 'None' ? format : `${format} with ${compression}`],
          ['Scanned by the service', scanned === undefined ? undefined : renderBytes(scanned)],
          ['Duplicates dropped', progress?.duplicatesDropped.toLocaleString('en-US')],
          ['Took', took || undefined],
        ]}
      />
    </Section>
  );
}

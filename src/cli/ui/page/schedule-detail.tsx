/** Details of a schedule: exported time ranges, gaps, runs, and lag. */
import type { SearchExportScheduleStatus } from '../../../api/generated/search-export-schedule.ts';
import type { SearchExportSchedule } from '../../../api/kinds.ts';
import type { TimeRange } from '../../../base/time-range.ts';
import { renderAge, renderAgeSince, renderBytes, renderMinute } from '../../render/text.ts';
import { BarSection, exportSegments, Legend, spanOf, TimelineChart, type TimeSpan } from './charts.tsx';
import { Pairs, rangeColumns, Section, TableSection, useNow } from './parts.tsx';

export function ScheduleDetail({ schedule }: { schedule: SearchExportSchedule }) {
  const { status = {}, spec, metadata } = schedule;
  return (
    <>
      <ScheduleFigures status={status} />
      <Covered status={status} />
      <Backfill status={status} />
      <TableSection title="Gaps" rows={status.gaps} columns={{ ...rangeColumns, Reason: 'reason', Run: 'run' }} />
      <TableSection
        title="Latest runs"
        rows={status.runs}
        columns={{
          ...rangeColumns,
          State: ({ state, incomplete }) => (incomplete ? `${state}, not proven` : state),
          Rows: 'rows',
          Size: ({ bytes }) => bytes !== undefined && renderBytes(bytes),
          Run: ({ name }) => <a href={`#sx/${metadata.namespace}/${name}`}>{name}</a>,
        }}
      />
      <Section title="Schedule">
        <Pairs
          variant="facts"
          pairs={{
            Schedule: `${spec.schedule} in ${spec.timeZone}`,
            Start: status.startTime,
            End: spec.endTime,
            'Last time': status.lastScheduleTime,
            'Next time': status.nextScheduleTime,
            'Active runs at most': spec.maxActive,
            Query: <code>{spec.template.spec.query}</code>,
          }}
        />
      </Section>
    </>
  );
}

function ScheduleFigures({ status }: { status: SearchExportScheduleStatus }) {
  const nowMs = useNow();
  const { coveredUntil, summary, pendingRuns = 0, nextScheduleTime } = status;
  const untilNextMs = Date.parse(nextScheduleTime ?? '') - nowMs;
  return (
    <Pairs
      variant="figures"
      pairs={{
        'Exported until': coveredUntil && renderMinute(Date.parse(coveredUntil)),
        Lag: summary?.lagSince && renderAgeSince(summary.lagSince, nowMs),
        'Active runs': summary && (summary.active ?? 0),
        'Pending runs': pendingRuns >= 1_000 ? '1,000 or more' : status.pendingRuns,
        'Failed runs': summary && (summary.failedRuns ?? 0),
        'Next run': nextScheduleTime && (untilNextMs > 0 ? `in ${renderAge(untilNextMs)}` : 'now'),
      }}
    />
  );
}

/** Maximum number of covered time ranges in a status. The status omits earlier time ranges. */
const maxCovered = 100;

function rangeOf(
  { startTime, covered = [], nextScheduleTime }: SearchExportScheduleStatus,
  nowMs: number,
): TimeRange | undefined {
  const from = covered.length >= maxCovered ? covered[0]?.from : startTime;
  if (from === undefined) return undefined;
  const lastMs = Math.max(0, ...covered.map(({ to }) => Date.parse(to)));
  return { fromMs: Date.parse(from), toMs: Math.max(lastMs, nextScheduleTime === undefined ? 0 : nowMs) };
}

function Covered({ status }: { status: SearchExportScheduleStatus }) {
  const nowMs = useNow();
  const range = rangeOf(status, nowMs);
  if (!range || range.toMs <= range.fromMs) return null;
  const { covered = [], gaps = [], runs = [] } = status;
  const running = runs.filter(({ state }) => state === 'Active' || state === 'Stalled');
  const spans: readonly TimeSpan[] = [
    ...covered.map(({ from, to }) => spanOf(from, to, 'var(--updated)', 'exported')),
    ...running.map(({ from, to, state }) =>
      spanOf(from, to, state === 'Active' ? 'var(--inProgress)' : 'var(--offline)', `run ${state}`),
    ),
    ...runs
      .filter(({ incomplete }) => incomplete)
      .map(({ from, to }) => spanOf(from, to, 'var(--failed)', 'not proven')),
    ...gaps.map(({ from, to, reason }) => spanOf(from, to, 'var(--failed)', `gap: ${reason}`)),
  ];
  const label = `Exported time: ${covered.length} ranges, ${gaps.length} gaps, ${running.length} running`;
  return (
    <Section title="Exported time">
      <TimelineChart range={range} spans={spans} nowMs={nowMs} label={label} />
      <Legend keys={coveredKeys} />
    </Section>
  );
}

const coveredKeys = [
  { label: 'exported', colour: 'var(--updated)' },
  { label: 'running', colour: 'var(--inProgress)' },
  { label: 'stalled', colour: 'var(--offline)' },
  { label: 'gap or not proven', colour: 'var(--failed)' },
  { label: 'not exported yet', colour: 'var(--missing)' },
];

/** Bar that compares the exported time with the pending time. Not shown if nothing is pending. */
function Backfill({ status }: { status: SearchExportScheduleStatus }) {
  const { startTime, lastScheduleTime, covered = [], pendingRuns = 0 } = status;
  if (pendingRuns === 0 || startTime === undefined || lastScheduleTime === undefined || covered.length >= maxCovered)
    return null;
  const doneMs = covered.reduce((sum, { from, to }) => sum + Date.parse(to) - Date.parse(from), 0);
  const percent = Math.floor((100 * doneMs) / Math.max(1, Date.parse(lastScheduleTime) - Date.parse(startTime)));
  const segments = exportSegments([Math.min(100, percent), Math.max(0, 100 - percent)]);
  return <BarSection title="Backfill" segments={segments} />;
}

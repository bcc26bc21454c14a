/** Renders a schedule: exported time ranges, gaps, the latest runs, the runs' query, and the times of the schedule. */
import { scheduleRange } from '../../api/export-schedule-check.ts';
import type {
  RunStatus,
  SearchExportScheduleSpec,
  SearchExportScheduleStatus,
} from '../../api/generated/search-export-schedule.ts';
import type { SearchExportSchedule } from '../../api/kinds.ts';
import { wordFor } from '../../base/number-text.ts';
import { isoSeconds } from '../../base/time-text.ts';
import { conditionOf, holds } from './condition-lines.ts';
import { paintWith } from './paint.ts';
import { columnWidths, type Fact, renderFacts, renderRow } from './table.ts';
import { printable, renderAgeSince, renderBytes, renderCount } from './text.ts';
import { type KindView, type Moment, renderView, type ViewOptions } from './view-layout.ts';

/** Maximum number of lines to show for each kind of detail, such as runs. */
interface Detail {
  readonly runs: number;
  readonly gaps: number;
  readonly events: number;
}

/** Levels of detail in the live view, from the most to the least detailed. Small terminals get less detail. */
const details: readonly Detail[] = [
  { runs: 8, gaps: 5, events: 3 },
  { runs: 4, gaps: 3, events: 1 },
  { runs: 2, gaps: 1, events: 0 },
  { runs: 0, gaps: 1, events: 0 },
];
const everything: Detail = { runs: Number.POSITIVE_INFINITY, gaps: Number.POSITIVE_INFINITY, events: 0 };

export const scheduleView: KindView<SearchExportSchedule> = {
  render: renderSchedule,
  figuresOf: figures,
  waitOf: () => undefined,
  reasonOf: (status) => conditionOf(status, 'Ready')?.message,
  inFlight: ({ summary: { active = 0 } = {} }) =>
    active === 0 ? undefined : `${renderCount(active, 'active run')} ${wordFor(active, 'continues', 'continue')}`,
};

function renderSchedule(resource: SearchExportSchedule, moment: Moment, options: ViewOptions): readonly string[] {
  const { status = {} } = resource;
  const { width, colour } = options;
  return renderView(resource, moment, options, { all: everything, fitting: details }, ({ runs, gaps }, paint) => ({
    figure: status.summary?.lagSince && `lag ${renderAgeSince(status.summary.lagSince, moment.nowMs)}`,
    figures: [figures(status)].filter((line) => line !== ''),
    wait: holds(status, 'Reconciling') ? conditionOf(status, 'Ready')?.message : undefined,
    blocks: [
      ['Runs', renderRuns(status.runs ?? [], runs)],
      [
        'Gaps',
        (status.gaps ?? [])
          .slice(0, gaps)
          .map(({ from, to, reason }) => paint('yellow', printable(`${from} to ${to}: ${reason}`))),
      ],
    ],
    further: [['Schedule', renderFacts(facts(resource), { width: width - 2, paint: paintWith(colour) })]],
  }));
}

function figures({ coveredUntil, summary, pendingRuns = 0 }: SearchExportScheduleStatus): string {
  if (coveredUntil === undefined) return '';
  const { active = 0, failedRuns = 0 } = summary ?? {};
  return [
    `exported until ${coveredUntil}`,
    ...(active === 0 ? [] : [`${active} active`]),
    ...(pendingRuns === 0 ? [] : [`${pendingRuns} pending`]),
    ...(failedRuns === 0 ? [] : [`${failedRuns} failed`]),
  ].join(', ');
}

function renderRuns(runs: readonly RunStatus[], max: number): readonly string[] {
  const rows = runs
    .slice(0, max)
    .map(({ from, to, state, rows, bytes, name, incomplete }) => [
      `${from} to ${to}`,
      state,
      [
        ...(rows === undefined ? [] : [renderCount(rows, 'row')]),
        ...(rows === undefined || bytes === undefined ? [] : [renderBytes(bytes)]),
        ...(incomplete ? ['incomplete'] : []),
      ].join(', '),
      name,
    ]);
  const widths = columnWidths(rows);
  return rows.map((row) => renderRow(row, widths, 2));
}

/** Returns the end of the schedule in UTC, if it has one. */
function endOf(spec: SearchExportScheduleSpec): string | undefined {
  const range = scheduleRange(spec);
  return spec.endTime === undefined || 'problem' in range ? spec.endTime : isoSeconds(range.toMs);
}

function facts({ spec, status = {} }: SearchExportSchedule): readonly Fact[] {
  return [
    ['Schedule', `${spec.schedule} in ${spec.timeZone}`],
    ['Start', status.startTime],
    ['End', endOf(spec)],
    ['Last', status.lastScheduleTime],
    ['Next', status.nextScheduleTime],
    ['Query', spec.template.spec.query],
  ];
}

/**
 * Plans schedules of exports: the number of runs in the next 24 hours, and their requests. The requests of a run are estimated from one
 * sample, the latest run whose data is complete, which the export planner plans as an export of its own.
 */
import { scheduleRange } from '../../api/export-schedule-check.ts';
import type { SearchExport, SearchExportSchedule } from '../../api/kinds.ts';
import { parseDuration } from '../../base/duration.ts';
import { timeZone } from '../../base/time-zone.ts';
import { TickCalendar } from '../../schedule/tick-calendar.ts';
import type { TimeSpan } from '../../schedule/time-spans.ts';
import type { ExportOutlook } from './export-planner.ts';

const dayMs = 24 * 3_600_000;
/** Rounding error in ms of the service's clock, which has whole seconds (E11). */
const clockRoundingMs = 2_000;

/** Schedule to plan, with its sample. */
export interface ScheduleSample {
  readonly resource: SearchExportSchedule;
  /** Number of runs that become due in the next 24 hours. */
  readonly runs: number;
  readonly span: TimeSpan;
  /** Export of the sample's time. */
  readonly sample: SearchExport;
}

/** Result of planning one schedule. `outlook` is that of the sample. */
export interface ScheduleOutlook extends ScheduleSample {
  readonly outlook: ExportOutlook;
}

/** Chooses the sample of a schedule. Returns undefined for a cron schedule that has no two times before now. */
export function sampleOf(resource: SearchExportSchedule, nowMs: number): ScheduleSample | undefined {
  const { spec, metadata } = resource;
  const zone = timeZone(spec.timeZone);
  if (!zone) return undefined;
  const calendar = new TickCalendar(spec.schedule, zone);
  const { template } = spec;
  const delayMs = parseDuration(template.spec.settleDelay) ?? 0;
  const toMs = calendar.lastUntil(nowMs - delayMs - clockRoundingMs);
  const fromMs = toMs === undefined ? undefined : calendar.lastUntil(toMs - 1);
  if (toMs === undefined || fromMs === undefined) return undefined;
  const [from, to] = [fromMs, toMs].map((atMs) => new Date(atMs).toISOString());
  const timeRange = { from: from ?? '', to: to ?? '', timeZone: spec.timeZone };
  const sample: SearchExport = {
    apiVersion: resource.apiVersion,
    kind: 'SearchExport',
    metadata,
    spec: { ...template.spec, timeRange, paused: spec.paused },
  };
  return { resource, runs: ticksIn(calendar, endOf(resource, nowMs + dayMs), nowMs), span: { fromMs, toMs }, sample };
}

/** The end of the schedule, but at most `latestMs`. */
function endOf({ spec }: SearchExportSchedule, latestMs: number): number {
  const range = scheduleRange(spec);
  return 'problem' in range || spec.endTime === undefined ? latestMs : Math.min(latestMs, range.toMs);
}

/** Number of ticks after an instant, until `toMs`. */
function ticksIn(calendar: TickCalendar, toMs: number, afterMs: number): number {
  let count = 0;
  let tickMs = calendar.firstAfter(afterMs);
  while (tickMs !== undefined && tickMs <= toMs) {
    count++;
    tickMs = calendar.firstAfter(tickMs);
  }
  return count;
}

/** Figures of a day of the schedule, if each run is like the sample. */
export interface DayFigures {
  readonly requests: number;
  /** Ratio of the allowed request rate that the schedule needs in the long run. */
  readonly share: number;
  readonly rows: number;
  readonly bytesToScan: number | undefined;
}

export function dayOf({ runs, outlook }: ScheduleOutlook): DayFigures | undefined {
  if (outlook.kind !== 'plan') return undefined;
  const { requests, requestsPerSecond, rows, bytesToScan } = outlook.plan;
  const ofDay = runs * requests;
  return {
    requests: ofDay,
    share: ofDay / (requestsPerSecond * (dayMs / 1_000)),
    rows: runs * rows,
    bytesToScan: bytesToScan === undefined ? undefined : runs * bytesToScan,
  };
}

/** Checks that upgrades start only in a maintenance window (R8), without using the operator's calendar code. */
import type { Maintenance, MaintenanceWindow } from '../../src/api/generated/collector-version-policy.ts';
import { parseDuration } from '../../src/base/duration.ts';
import { minuteMs, secondMs } from '../../src/base/time-units.ts';
import type { HistoryRecord } from './record.ts';
import { groupOf } from './wanted.ts';

export function windowViolations({ plan, posts, state }: HistoryRecord): string[] {
  const names = new Map(state.collectors.map(({ id, name }) => [id, name]));
  return posts.flatMap(({ intent, known, collectorId, wallMs, atMs, process }) => {
    const maintenance = known.find(({ metadata }) => metadata.uid === intent?.policy)?.spec.maintenance;
    const name = names.get(collectorId);
    if (!maintenance || name === undefined) return [];
    const zone = groupOf(plan, { name, version: '' })?.timeZone;
    return isStartable(maintenance, wallMs, zone)
      ? []
      : [`window: ${process} posted ${collectorId} (${zone}) at ${atMs}, while no window is open`];
  });
}

/** Reports whether a window is open now and stays open for at least `cutoff`. */
function isStartable(maintenance: Maintenance, wallMs: number, zone: string | undefined): boolean {
  const untilMs = wallMs + (parseDuration(maintenance.cutoff ?? '30m') ?? 0);
  for (let atMs = wallMs; atMs <= untilMs; atMs = Math.floor(atMs / secondMs + 1) * secondMs) {
    if (!isOpen(maintenance, atMs, zone)) return false;
  }
  return true;
}

function isOpen({ windows = [], exclusions = [] }: Maintenance, wallMs: number, zone: string | undefined): boolean {
  const isExcluded = exclusions.some(
    ({ startTime, endTime }) => Date.parse(startTime) <= wallMs && wallMs < Date.parse(endTime),
  );
  if (isExcluded) return false;
  return windows.length === 0 || windows.some((window) => isWindowOpen(window, wallMs, zone));
}

/** Reports whether a maintenance window is open. Assumes that no time zone changes its offset during a simulation. */
function isWindowOpen(
  { schedule, duration, timeZone, timeZoneSource }: MaintenanceWindow,
  wallMs: number,
  zone: string | undefined,
): boolean {
  const offsetMs = offsetMsOf(timeZoneSource === 'Collector' ? zone : (timeZone ?? 'UTC'));
  if (offsetMs === undefined) return false;
  const [minutes, ...others] = schedule.split(' ');
  if (others.some((field) => field !== '*')) throw new Error(`the oracle does not support the schedule ${schedule}`);
  const durationMs = parseDuration(duration) ?? 0;
  for (let startMs = Math.floor(wallMs / minuteMs) * minuteMs; startMs + durationMs > wallMs; startMs -= minuteMs) {
    if (isMinuteOf(minutes ?? '', new Date(startMs + offsetMs).getUTCMinutes())) return true;
  }
  return false;
}

/** Reports whether a cron field such as `5`, `*\/5` or `10-50/5,55` contains the minute. */
function isMinuteOf(field: string, minute: number): boolean {
  return field.split(',').some((part) => {
    const [range = '', step = '1'] = part.split('/');
    const [first, last = part.includes('/') ? '59' : range] = range === '*' ? ['0', '59'] : range.split('-');
    return minute >= Number(first) && minute <= Number(last) && (minute - Number(first)) % Number(step) === 0;
  });
}

const offsets = new Map<string, number | undefined>();

/** Returns the offset of a time zone in ms, or undefined if the time zone does not exist. */
function offsetMsOf(zone = ''): number | undefined {
  if (!offsets.has(zone)) offsets.set(zone, findOffsetMs(zone));
  return offsets.get(zone);
}

function findOffsetMs(zone: string): number | undefined {
  try {
    const format = new Intl.DateTimeFormat('en', { timeZone: zone, timeZoneName: 'longOffset' });
    const [, sign, hours, minutes] = /GMT(?:([+-])(\d\d):(\d\d))?$/.exec(format.format(Date.UTC(2026, 10, 1))) ?? [];
    return (sign === '-' ? -1 : 1) * (Number(hours ?? 0) * 60 + Number(minutes ?? 0)) * minuteMs;
  } catch {
    return undefined;
  }
}

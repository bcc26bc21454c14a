/** Independent model of maintenance windows. It computes the local time of each minute. */
import type { Maintenance } from '../../../src/api/generated/collector-version-policy.ts';
import { minuteMs } from '../../../src/base/time-units.ts';

/** A maintenance window, as lists of minutes, hours and weekdays. */
export interface PlainWindow {
  readonly minutes: readonly number[];
  readonly hours: readonly number[];
  /** Weekdays, where 0 is Sunday, or undefined for every day. */
  readonly weekdays: readonly number[] | undefined;
  readonly durationMinutes: number;
  readonly zone: string;
}

export interface PlainExclusion {
  readonly startMs: number;
  readonly endMs: number;
}

/** Converts maintenance windows to the format used in a policy manifest. */
export function maintenanceOf(
  windows: readonly PlainWindow[],
  exclusions: readonly PlainExclusion[],
  cutoffMinutes: number,
): Maintenance {
  return {
    windows: windows.map(({ minutes, hours, weekdays, durationMinutes, zone }) => ({
      schedule: `${minutes.join(',')} ${hours.join(',')} * * ${weekdays?.join(',') ?? '*'}`,
      duration: `${durationMinutes}m`,
      timeZone: zone,
    })),
    exclusions: exclusions.map(({ startMs, endMs }, index) => ({
      name: `exclusion ${index}`,
      startTime: new Date(startMs).toISOString(),
      endTime: new Date(endMs).toISOString(),
    })),
    cutoff: `${cutoffMinutes}m`,
  };
}

/** Returns for each minute whether the windows and exclusions allow an upgrade to start. */
export function startableMinutes(
  windows: readonly PlainWindow[],
  exclusions: readonly PlainExclusion[],
  cutoffMinutes: number,
  { startMs, count }: { readonly startMs: number; readonly count: number },
): boolean[] {
  const open = new Array<boolean>(count + cutoffMinutes + 1).fill(windows.length === 0);
  for (const window of windows) markOpen(open, startMs, window);
  for (const minute of open.keys()) {
    const wallMs = startMs + minute * minuteMs;
    if (exclusions.some((one) => one.startMs <= wallMs && wallMs < one.endMs)) open[minute] = false;
  }
  const result: boolean[] = [];
  let openFor = 0;
  for (let minute = open.length - 1; minute >= 0; minute--) {
    openFor = open[minute] ? openFor + 1 : 0;
    if (minute < count) result[minute] = openFor > cutoffMinutes;
  }
  return result;
}

const longestChange = 180;

function markOpen(open: boolean[], startMs: number, window: PlainWindow): void {
  let openUntil = Number.NEGATIVE_INFINITY;
  const offsets: number[] = [];
  const first = -window.durationMinutes - longestChange;
  for (let minute = first; minute < open.length; minute++) {
    const wallMs = startMs + minute * minuteMs;
    const offset = offsetMinutes(window.zone, wallMs);
    offsets.push(offset);
    const before = offsets.at(-longestChange) ?? offset;
    if (opens(window, wallMs, offset, before, offsets)) openUntil = minute + window.durationMinutes;
    if (minute >= 0 && minute < openUntil) open[minute] = true;
  }
}

/**
 * Reports whether the window opens in this minute. `before` is the UTC offset that the time zone had three hours before
 * this minute.
 */
function opens(
  window: PlainWindow,
  wallMs: number,
  offset: number,
  before: number,
  offsets: readonly number[],
): boolean {
  const sinceChange = offsets.length - 1 - offsets.lastIndexOf(before);
  const isAfterChange = before !== offset && sinceChange <= Math.abs(offset - before);
  // If a local time occurs twice, the window opens only the first time.
  if (isAfterChange && offset < before) return false;
  if (matches(window, wallMs + offset * minuteMs)) return true;
  // If the clocks skip a window's opening time, the window opens later by the amount skipped.
  return isAfterChange && matches(window, wallMs + before * minuteMs);
}

function matches({ minutes, hours, weekdays }: PlainWindow, readingMs: number): boolean {
  const reading = new Date(readingMs);
  return (
    minutes.includes(reading.getUTCMinutes()) &&
    hours.includes(reading.getUTCHours()) &&
    (weekdays?.includes(reading.getUTCDay()) ?? true)
  );
}

const formats = new Map<string, Intl.DateTimeFormat>();

function offsetMinutes(zone: string, wallMs: number): number {
  let format = formats.get(zone);
  if (!format) {
    format = new Intl.DateTimeFormat('en', { timeZone: zone, timeZoneName: 'longOffset', year: 'numeric' });
    formats.set(zone, format);
  }
  const [, sign, hours, minutes] = /GMT(?:([+-])(\d\d):(\d\d))?$/.exec(format.format(wallMs)) ?? [];
  return sign === undefined ? 0 : (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes));
}

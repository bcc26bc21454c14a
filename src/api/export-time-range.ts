/**
 * Parses the time range of an export into ms since the epoch: `[fromMs, toMs)`.
 *
 * A time is a local date-time with a time zone, a date-time with an offset (RFC 3339), or milliseconds. If a local time
 * occurs twice, its first occurrence is used. A skipped local time moves forward by the length of the clock change
 * (E12).
 */
import type { TimeRange } from '../base/time-range.ts';
import { isoText } from '../base/time-text.ts';
import { hourMs } from '../base/time-units.ts';
import { timeZone } from '../base/time-zone.ts';
import type { Explanation } from './finding.ts';
import { timeZoneProblem } from './schedule-check.ts';

export interface TimeRangeText {
  readonly from: string;
  readonly to: string;
  /** IANA time zone. Required only for local times. */
  readonly timeZone?: string | undefined;
}

export interface TimeRangeProblem extends Explanation {
  /** Field of the time range that must be corrected. */
  readonly member: keyof TimeRangeText;
}

/** Earliest and latest time in a manifest. */
export const [earliestTime, latestTime] = ['1970-01-01T00:00:00Z', '9999-12-31T23:59:59Z'] as const;

export function readTimeRange(text: TimeRangeText): TimeRange | TimeRangeProblem {
  const unknown = text.timeZone === undefined ? undefined : timeZoneProblem(text.timeZone);
  if (unknown) return { member: 'timeZone', ...unknown };
  const zone = zoneOf(text);
  const fromMs = readInstant(text.from, zone);
  if (typeof fromMs !== 'number') return { member: 'from', ...fromMs };
  const toMs = readInstant(text.to, zone);
  if (typeof toMs !== 'number') return { member: 'to', ...toMs };
  if (toMs > fromMs) return { fromMs, toMs };
  const [change] = fromMs - toMs <= maxClockChangeMs ? clockChangesIn(text) : [];
  const problem = `the end, ${isoText(toMs)}, is not after the start, ${isoText(fromMs)}`;
  if (!change) return { member: 'to', problem, remedy: 'use a later time' };
  return { member: 'to', problem: `${problem}: ${change.problem}`, remedy: change.remedy };
}

/**
 * Returns warnings about local times that a clock change repeats or skips. Each warning says how logfleet interprets
 * the time.
 */
export function clockChangesIn(text: TimeRangeText): readonly TimeRangeProblem[] {
  const zone = zoneOf(text);
  if (!zone) return [];
  return (['from', 'to'] as const).flatMap((member) => {
    const problem = clockChangeAt(text[member], zone);
    return problem ? [{ member, ...problem }] : [];
  });
}

function clockChangeAt(text: string, zone: Zone): Explanation | undefined {
  const [, date, time, fraction = '', offset] = dateTimeForm.exec(text) ?? [];
  if (date === undefined || offset !== undefined) return undefined;
  const localMs = readReading(`${date}T${time}.${fraction.padEnd(3, '0')}Z`);
  if (localMs === undefined) return undefined;
  const instantMs = zone.instantOf(localMs);
  const readAs = isoText(instantMs);
  if (zone.localMs(instantMs) !== localMs) {
    return {
      problem: `the local time ${text} does not exist, because clocks are set forward; logfleet reads it as ${readAs}`,
      remedy: 'use a local time that exists',
    };
  }
  if (!occursTwice(localMs, instantMs, zone)) return undefined;
  const remedy = `use the time with its offset from UTC, for example ${text}${renderOffset(localMs - instantMs)} for the first occurrence`;
  return {
    problem: `the local time ${text} occurs twice, because clocks are set back; logfleet reads it as the first occurrence, ${readAs}`,
    remedy,
  };
}

/** Reports whether a local time occurs twice because clocks are set back. */
function occursTwice(localMs: number, instantMs: number, zone: Zone): boolean {
  const laterMs = instantMs + afterClockChangeMs;
  const secondMs = localMs - (zone.localMs(laterMs) - laterMs);
  return secondMs > instantMs && zone.localMs(secondMs) === localMs;
}

function renderOffset(offsetMs: number): string {
  const minutes = Math.abs(Math.round(offsetMs / 60_000));
  const part = (value: number) => String(value).padStart(2, '0');
  const sign = offsetMs < 0 ? '-' : '+';
  return sign + [part(Math.floor(minutes / 60)), part(minutes % 60)].join(':');
}

function zoneOf({ timeZone: name }: TimeRangeText): Zone | undefined {
  return name === undefined ? undefined : timeZone(name);
}

/**
 * Problem with the start or the end of a time range. `member` is set only if another field must be corrected, such as
 * `timeZone`.
 */
type InstantProblem = Explanation & Partial<TimeRangeProblem>;

type Zone = NonNullable<ReturnType<typeof timeZone>>;

const forms =
  'a local time such as 2026-11-01T00:00:00 with a time zone, a time with an offset such as 2026-11-01T00:00:00+01:00, or milliseconds since the epoch such as 1793491200000';
/** Matches a time in milliseconds with at most 15 digits, which a double-precision number represents exactly. */
const millisecondsForm = /^\d{1,15}$/;
/**
 * Matches a number with ten digits. Such a number is probably a time in seconds, between the years 2001 and 2286. As
 * milliseconds, it would be a time in early 1970.
 */
const secondsForm = /^\d{10}$/;
const dateTimeForm = /^(\d{4}-\d\d-\d\d)[Tt](\d\d:\d\d:\d\d)(?:\.(\d+))?([Zz]|[+-]\d\d:\d\d)?$/;
/** Maximum length of a clock change in ms. */
const maxClockChangeMs = 3 * hourMs;
/**
 * Time, in ms, from a local time to an instant that is after any nearby clock change. The UTC offset at this instant is
 * the offset after the change.
 */
const afterClockChangeMs = 36 * hourMs;
const dateForm = /^\d{4}-\d\d-\d\d$/;

/** Latest time in ms that RFC 3339 can express. */
const latestMs = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

function readInstant(text: string, zone: Zone | undefined): number | InstantProblem {
  const instantMs = readForm(text, zone);
  if (typeof instantMs !== 'number' || (instantMs >= 0 && instantMs <= latestMs)) return instantMs;
  return { problem: `${JSON.stringify(text)} is not between the years 1970 and 9999`, remedy: `use ${forms}` };
}

function readForm(text: string, zone: Zone | undefined): number | InstantProblem {
  const shown = JSON.stringify(text);
  if (secondsForm.test(text)) return { problem: `${shown} looks like seconds`, remedy: `use milliseconds, ${text}000` };
  if (millisecondsForm.test(text)) return Number(text);
  if (dateForm.test(text)) return { problem: `${shown} has no time of day`, remedy: `use ${text}T00:00:00` };
  const [, date, time, fraction = '', offset] = dateTimeForm.exec(text) ?? [];
  if (date === undefined || time === undefined) return { problem: `${shown} is not a time`, remedy: `use ${forms}` };
  if (fraction.length > 3) {
    const rounded = text.replace(`.${fraction}`, `.${fraction.slice(0, 3)}`);
    return { problem: `${shown} is finer than a millisecond`, remedy: `use ${rounded}` };
  }
  const localMs = readReading(`${date}T${time}.${fraction.padEnd(3, '0')}Z`);
  if (localMs === undefined) return { problem: `${shown} does not exist`, remedy: `use ${forms}` };
  if (offset !== undefined) return withOffset(shown, localMs, offset);
  if (zone) return zone.instantOf(localMs);
  const problem = `${shown} is a local time without a time zone`;
  return { member: 'timeZone', problem, remedy: 'use a time zone such as Europe/Berlin or UTC' };
}

/** Parses a local date-time as if it were in UTC. Returns undefined if the date does not exist, such as February 30. */
function readReading(text: string): number | undefined {
  const readMs = Date.parse(text);
  return Number.isNaN(readMs) || isoText(readMs) !== text ? undefined : readMs;
}

function withOffset(shown: string, localMs: number, offset: string): number | InstantProblem {
  if (offset.toUpperCase() === 'Z') return localMs;
  const [hours = 0, minutes = 0] = offset.slice(1).split(':').map(Number);
  if (hours > 23 || minutes > 59)
    return { problem: `${shown} has an invalid offset`, remedy: 'use an offset such as +01:00' };
  const offsetMs = (hours * 60 + minutes) * 60_000;
  return offset.startsWith('-') ? localMs + offsetMs : localMs - offsetMs;
}

const lengthsMs = { None: Number.POSITIVE_INFINITY, Day: 24 * hourMs, Hour: hourMs } as const;

/**
 * Maximum number of partitions. The maximum is below 10,000, because one search can write a file for each partition,
 * and a commit record lists at most 10,000 files.
 */
const maxPartitions = 9_000;

/** Returns a problem if the time range has too many partitions. */
export function partitionProblem(
  partitionBy: keyof typeof lengthsMs,
  { fromMs, toMs }: TimeRange,
): Explanation | undefined {
  const count = Math.ceil((toMs - fromMs) / lengthsMs[partitionBy]);
  if (count <= maxPartitions) return undefined;
  const coarser = partitionBy === 'Hour' ? 'set partitionBy: Day, or export' : 'export';
  return {
    problem: `the time range has ${count} partitions, but at most ${maxPartitions} are allowed`,
    remedy: `${coarser} a shorter range`,
  };
}

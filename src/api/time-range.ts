/**
 * The time range of an export, as people write it, in whole milliseconds since the epoch: `[fromMs, toMs)`.
 *
 * Three forms there are: a local date-time with a time zone, a date-time with an offset (RFC 3339), and milliseconds. Of a local time
 * that comes twice the first is meant, and one that the clocks leave out is as much later as they are put forward (E12).
 *
 * Whatever is wrong is said with what to write instead. What lies in the future is for others.
 */
import { timeZone } from '../base/time-zone.ts';
import { timeZoneProblem } from './schedule-check.ts';

export interface TimeRangeText {
  readonly from: string;
  readonly to: string;
  /** IANA name; needed for local times alone. */
  readonly timeZone?: string | undefined;
}

export interface TimeRange {
  readonly fromMs: number;
  /** Not in it. */
  readonly toMs: number;
}

export interface TimeRangeProblem {
  /** Which member is to be mended. */
  readonly member: keyof TimeRangeText;
  /** A sentence for people, without its full stop. */
  readonly problem: string;
}

export function readTimeRange(text: TimeRangeText): TimeRange | TimeRangeProblem {
  const unknown = text.timeZone === undefined ? undefined : timeZoneProblem(text.timeZone);
  if (unknown !== undefined) return { member: 'timeZone', problem: unknown };
  const zone = zoneOf(text);
  const fromMs = readInstant(text.from, zone);
  if (typeof fromMs !== 'number') return { member: fromMs.member ?? 'from', problem: fromMs.problem };
  const toMs = readInstant(text.to, zone);
  if (typeof toMs !== 'number') return { member: toMs.member ?? 'to', problem: toMs.problem };
  if (toMs > fromMs) return { fromMs, toMs };
  const [from, to] = [fromMs, toMs].map((instantMs) => new Date(instantMs).toISOString());
  const [change] = fromMs - toMs <= mostChangeMs ? clockChangesIn(text) : [];
  return {
    member: 'to',
    problem: `to is ${to}, which is not after from, ${from}${change ? `: ${change.note}` : '; write a later one'}`,
  };
}

/** A local time that is not what it looks like, since the clocks change there. */
export interface ClockChange {
  readonly member: 'from' | 'to';
  /** What it is read as, and what to write instead, as it follows the name of the member. */
  readonly note: string;
}

/** Of a range that can be read. */
export function clockChangesIn(text: TimeRangeText): readonly ClockChange[] {
  const zone = zoneOf(text);
  if (!zone) return [];
  return (['from', 'to'] as const).flatMap((member) => {
    const note = changeNote(text[member], zone);
    return note === undefined ? [] : [{ member, note }];
  });
}

function changeNote(text: string, zone: Zone): string | undefined {
  const [, date, time, fraction = '', offset] = dateTimeForm.exec(text) ?? [];
  if (date === undefined || offset !== undefined) return undefined;
  const localMs = readReading(`${date}T${time}.${fraction.padEnd(3, '0')}Z`);
  if (localMs === undefined) return undefined;
  const instantMs = zone.instantOf(localMs);
  const readAs = new Date(instantMs).toISOString();
  if (zone.localMs(instantMs) !== localMs) {
    return `the clocks leave out ${text} there, so that it is read as ${readAs}; write a time that there is`;
  }
  if (!comesAgain(localMs, instantMs, zone)) return undefined;
  const offsets = `write an offset to say which, as in ${text}${renderOffset(localMs - instantMs)} for the first`;
  return `${text} comes twice there, and is read as the first, ${readAs}; ${offsets}`;
}

/** Days after a change of the clocks the offset is another, by which the same reading comes a second time. */
function comesAgain(localMs: number, instantMs: number, zone: Zone): boolean {
  const laterMs = instantMs + beyondChangeMs;
  const secondMs = localMs - (zone.localMs(laterMs) - laterMs);
  return secondMs > instantMs && zone.localMs(secondMs) === localMs;
}

function renderOffset(offsetMs: number): string {
  const minutes = Math.abs(Math.round(offsetMs / 60_000));
  const part = (value: number) => String(value).padStart(2, '0');
  return `${offsetMs < 0 ? '-' : '+'}${part(Math.floor(minutes / 60))}:${part(minutes % 60)}`;
}

function zoneOf({ timeZone: name }: TimeRangeText): Zone | undefined {
  return name === undefined ? undefined : timeZone(name);
}

interface InstantProblem {
  readonly problem: string;
  /** Where it is not the time itself that is to be mended. */
  readonly member?: keyof TimeRangeText;
}

type Zone = NonNullable<ReturnType<typeof timeZone>>;

const forms =
  'a local time as 2026-11-01T00:00:00 with a timeZone, one with an offset as 2026-11-01T00:00:00+01:00, or milliseconds since the epoch as 1793491200000';
/** As many digits as are exact in a double, and as `Date` has. */
const millisecondsForm = /^\d{1,15}$/;
/** So many digits have the seconds from 2001 to 2286, and the milliseconds of the first months of 1970. */
const secondsForm = /^\d{10}$/;
const dateTimeForm = /^(\d{4}-\d\d-\d\d)[Tt](\d\d:\d\d:\d\d)(?:\.(\d+))?([Zz]|[+-]\d\d:\d\d)?$/;
/** A range that ends further before it begins does so by whichever reading of a local time. */
const mostChangeMs = 3 * 3_600_000;
/** So long after a local time that comes twice, the clocks have changed. */
const beyondChangeMs = 36 * 3_600_000;
const dateForm = /^\d{4}-\d\d-\d\d$/;

/** As RFC 3339 can write it, and the epoch count it. */
const latestMs = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

function readInstant(text: string, zone: Zone | undefined): number | InstantProblem {
  const instantMs = readForm(text, zone);
  if (typeof instantMs !== 'number' || (instantMs >= 0 && instantMs <= latestMs)) return instantMs;
  return { problem: `${JSON.stringify(text)} is not between the years 1970 and 9999; write ${forms}` };
}

function readForm(text: string, zone: Zone | undefined): number | InstantProblem {
  const shown = JSON.stringify(text);
  if (secondsForm.test(text)) return { problem: `${shown} looks like seconds; write milliseconds, ${text}000` };
  if (millisecondsForm.test(text)) return Number(text);
  if (dateForm.test(text)) return { problem: `${shown} has no time of day; write ${text}T00:00:00` };
  const [, date, time, fraction = '', offset] = dateTimeForm.exec(text) ?? [];
  if (date === undefined || time === undefined) return { problem: `${shown} is no time; write ${forms}` };
  if (fraction.length > 3) {
    const rounded = text.replace(`.${fraction}`, `.${fraction.slice(0, 3)}`);
    return { problem: `${shown} is finer than a millisecond; write ${rounded}` };
  }
  const localMs = readReading(`${date}T${time}.${fraction.padEnd(3, '0')}Z`);
  if (localMs === undefined) return { problem: `${shown} is on no calendar or clock; write ${forms}` };
  if (offset !== undefined) return withOffset(shown, localMs, offset);
  if (zone) return zone.instantOf(localMs);
  const problem = `${shown} is a local time, and no timeZone says where; write one as Europe/Berlin or UTC`;
  return { member: 'timeZone', problem };
}

/** The milliseconds of a reading in UTC; undefined where there is none such, as of February 30 or 24:00:00. */
function readReading(text: string): number | undefined {
  const readMs = Date.parse(text);
  return Number.isNaN(readMs) || new Date(readMs).toISOString() !== text ? undefined : readMs;
}

function withOffset(shown: string, localMs: number, offset: string): number | InstantProblem {
  if (offset.toUpperCase() === 'Z') return localMs;
  const [hours = 0, minutes = 0] = offset.slice(1).split(':').map(Number);
  if (hours > 23 || minutes > 59) return { problem: `${shown} has no offset that there is; write one as +01:00` };
  const offsetMs = (hours * 60 + minutes) * 60_000;
  return offset.startsWith('-') ? localMs + offsetMs : localMs - offsetMs;
}

/**
 * The time range of an export, as people write it, in whole milliseconds since the epoch: `[fromMs, toMs)`.
 *
 * Three forms there are: a local date-time with a time zone, a date-time with an offset (RFC 3339), and milliseconds. Of a local time
 * that comes twice the first is meant, and one that the clocks leave out is as much later as they are put forward (E12).
 *
 * Whatever is wrong is said with what to write instead. What lies in the future is for `export-decision.ts`.
 */
import { timeZone } from '../base/time-zone.ts';

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
  const zone = text.timeZone === undefined ? undefined : timeZone(text.timeZone);
  if (text.timeZone !== undefined && !zone) {
    const problem = `${JSON.stringify(text.timeZone)} is no time zone; write a name as Europe/Berlin or UTC`;
    return { member: 'timeZone', problem };
  }
  const fromMs = readInstant(text.from, zone);
  if (typeof fromMs !== 'number') return { member: fromMs.member ?? 'from', problem: fromMs.problem };
  const toMs = readInstant(text.to, zone);
  if (typeof toMs !== 'number') return { member: toMs.member ?? 'to', problem: toMs.problem };
  if (toMs > fromMs) return { fromMs, toMs };
  const [from, to] = [fromMs, toMs].map((instantMs) => new Date(instantMs).toISOString());
  return { member: 'to', problem: `to is ${to}, which is not after from, ${from}; write a later one` };
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
const dateForm = /^\d{4}-\d\d-\d\d$/;

function readInstant(text: string, zone: Zone | undefined): number | InstantProblem {
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

/** Explains what is wrong with a cron schedule or a time zone. */

import { CronSchedule, cronFields } from '../base/cron.ts';
import { counted } from '../base/number-text.ts';
import { timeZone } from '../base/time-zone.ts';
import { nearest } from './did-you-mean.ts';
import type { Explanation } from './finding.ts';
import listedZones from './time-zone-names.json' with { type: 'json' };

interface FieldForm {
  readonly name: string;
  readonly minimum: number;
  readonly maximum: number;
  readonly names: readonly string[];
  readonly advice: string;
}

const months = ['JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC'];
const days = ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT'];

const forms: readonly FieldForm[] = [
  { name: 'minute', minimum: 0, maximum: 59, names: [], advice: '0 to 59, for example 0, 15,45 or */10' },
  { name: 'hour', minimum: 0, maximum: 23, names: [], advice: '0 to 23, for example 22, 8-17 or */2' },
  {
    name: 'day of month',
    minimum: 1,
    maximum: 31,
    names: [],
    advice: '1 to 31, for example 1, 1-7 or L for the last day',
  },
  { name: 'month', minimum: 1, maximum: 12, names: months, advice: '1 to 12, for example 6, 1-11 or MAR,SEP' },
  {
    name: 'day of week',
    minimum: 0,
    maximum: 6,
    names: days,
    advice: '0 (Sunday) to 6, for example 1-5, SAT,SUN or 2#1 for the first Tuesday',
  },
];
const fieldCount = 5;
const example = '"0 22 * * 1-5"';

/** Explains what is wrong with a cron schedule. Returns undefined if the schedule is valid. */
export function scheduleProblem(schedule: string): Explanation | undefined {
  const fields = cronFields(schedule);
  if (fields.length !== fieldCount) {
    const names = forms.map(({ name }) => name).join(', ');
    const problem = `${JSON.stringify(schedule)} has ${counted(fields.length, 'field')}`;
    return { problem, remedy: `use five: ${names}, for example ${example}` };
  }
  for (const [index, form] of forms.entries()) {
    const field = fields[index] as string;
    const onlyField = forms.map((_, place) => (place === index ? field : '*')).join(' ');
    if (!readSchedule(onlyField)) {
      return { problem: `the ${form.name} ${JSON.stringify(field)} cannot be read`, remedy: adviceFor(field, form) };
    }
  }
  const shown = JSON.stringify(schedule);
  const read = readSchedule(schedule);
  if (!read) return { problem: `${shown} cannot be read`, remedy: `use five fields, for example ${example}` };
  // The cron library searches 400 years for a matching day. This is enough, because the calendar repeats after 400
  // years.
  if (read.from(Date.UTC(2000, 0, 1)).next().done) {
    return {
      problem: `${shown} never occurs, because none of its months has this day`,
      remedy: 'use a day that exists in the month',
    };
  }
  return undefined;
}

function readSchedule(text: string): CronSchedule | undefined {
  try {
    return new CronSchedule(text);
  } catch {
    // Ignores the cron library's error, because the checks of individual fields give better messages.
    return undefined;
  }
}

function adviceFor(field: string, { minimum, maximum, names, advice }: FieldForm): string {
  const backwards = /^(\d+)-(\d+)$/.exec(field);
  if (backwards && Number(backwards[1]) > Number(backwards[2]) && Number(backwards[1]) <= maximum) {
    return `use ${range(Number(backwards[1]), maximum)},${range(minimum, Number(backwards[2]))}`;
  }
  const started = /^(\d+)\/(\d+)$/.exec(field);
  if (started && Number(started[1]) <= maximum) return `use ${started[1]}-${maximum}/${started[2]}`;
  const meant = /^[a-z]+$/i.test(field) ? (nearest(field.slice(0, 3), names) ?? nearest(field, names)) : undefined;
  return meant === undefined ? `use ${advice}` : `use ${meant}`;
}

function range(from: number, to: number): string {
  return from === to ? `${from}` : `${from}-${to}`;
}

/**
 * Names of the tz database (IANA time zones), version 2026f, as API servers accept them. Go accepts exactly these
 * names. Node.js also accepts other names, such as `PST`, and ignores case.
 *
 * The command below regenerates the list from `tzdata.zi`, a file in the tz database (https://www.iana.org/time-zones):
 *
 *     awk '$1 == "Z" { print $2 } $1 == "L" { print $3 }' tzdata.zi | LC_ALL=C sort | jq -nR '[inputs]'
 */
export const timeZoneNames: ReadonlySet<string> = new Set(listedZones);

/** Returns what is wrong with a time zone name, or undefined if the name is valid. Names are case-sensitive. */
export function timeZoneProblem(zone: string): Explanation | undefined {
  if (isKnownName(zone) && timeZone(zone)) return undefined;
  const meant = spellingOf(zone) ?? meantZone(zone);
  const remedy = meant === undefined ? 'use an IANA time zone, for example Europe/Berlin' : `use ${meant}`;
  return { problem: `${JSON.stringify(zone)} is not a known time zone`, remedy };
}

/** Reports whether the tz database has exactly this name. */
function isKnownName(zone: string): boolean {
  return timeZoneNames.has(zone) || Intl.supportedValuesOf('timeZone').includes(zone);
}

/** Returns a valid name that differs only in case. */
function spellingOf(zone: string): string | undefined {
  const lower = zone.toLowerCase();
  const spelling = [...timeZoneNames].find((name) => name.toLowerCase() === lower);
  return spelling !== undefined && spelling !== zone && timeZone(spelling) ? spelling : undefined;
}

/** Well-known time zones that Node.js supports but does not list. */
const otherNames = [
  'UTC',
  'Asia/Kolkata',
  'Asia/Kathmandu',
  'Asia/Ho_Chi_Minh',
  'Asia/Yangon',
  'Europe/Kyiv',
  'Atlantic/Faroe',
];

function meantZone(zone: string): string | undefined {
  const known = [...Intl.supportedValuesOf('timeZone'), ...otherNames];
  const written = zone.trim().replaceAll(' ', '_');
  const city = known.find((name) => name.toLowerCase().endsWith(`/${written.toLowerCase()}`));
  return city ?? nearest(written, known);
}

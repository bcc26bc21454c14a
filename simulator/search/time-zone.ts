/**
 * Converts a local time in a time zone to ms since the epoch. A zone is a three-letter code, an IANA name, or an offset
 * such as `+05:30`.
 */
import { dayMs } from '../../src/base/time-units.ts';

/** IANA time zone for each short code. Codes for summer and winter time, such as PDT and PST, denote the same zone. */
const placesByCode: Readonly<Record<string, string>> = {
  Z: 'UTC',
  HST: 'Pacific/Honolulu',
  AKST: 'America/Anchorage',
  AKDT: 'America/Anchorage',
  PST: 'America/Los_Angeles',
  PDT: 'America/Los_Angeles',
  MST: 'America/Denver',
  MDT: 'America/Denver',
  // CST means Central Standard Time in North America, not China Standard Time or Cuba Standard Time.
  CST: 'America/Chicago',
  CDT: 'America/Chicago',
  EST: 'America/New_York',
  EDT: 'America/New_York',
  // AST means Atlantic Standard Time (Canada), not Arabia Standard Time.
  AST: 'America/Halifax',
  ADT: 'America/Halifax',
  NST: 'America/St_Johns',
  NDT: 'America/St_Johns',
  BRT: 'America/Sao_Paulo',
  ART: 'America/Argentina/Buenos_Aires',
  WET: 'Europe/Lisbon',
  WEST: 'Europe/Lisbon',
  // BST means British Summer Time, not Bangladesh Standard Time.
  BST: 'Europe/London',
  CET: 'Europe/Berlin',
  CEST: 'Europe/Berlin',
  EET: 'Europe/Athens',
  EEST: 'Europe/Athens',
  MSK: 'Europe/Moscow',
  SAST: 'Africa/Johannesburg',
  EAT: 'Africa/Nairobi',
  WAT: 'Africa/Lagos',
  CAT: 'Africa/Maputo',
  PKT: 'Asia/Karachi',
  // IST means India Standard Time, not Israel Standard Time or Irish Standard Time.
  IST: 'Asia/Kolkata',
  ICT: 'Asia/Bangkok',
  WIB: 'Asia/Jakarta',
  HKT: 'Asia/Hong_Kong',
  PHT: 'Asia/Manila',
  SGT: 'Asia/Singapore',
  JST: 'Asia/Tokyo',
  KST: 'Asia/Seoul',
  AWST: 'Australia/Perth',
  ACST: 'Australia/Adelaide',
  ACDT: 'Australia/Adelaide',
  AEST: 'Australia/Sydney',
  AEDT: 'Australia/Sydney',
  NZST: 'Pacific/Auckland',
  NZDT: 'Pacific/Auckland',
};

/**
 * UTC offsets such as `UTC+2`. Here, a positive offset is ahead of UTC, whereas in IANA names, such as `Etc/GMT+2`, it
 * is behind UTC.
 */
const offsetForm = /^(?:UTC|GMT)([+-])(\d{1,2})(?::?(\d\d))?$/i;

/** Maximum number of cached time zones. Time zones are cached because formatters are slow to create. */
const maxZonesKept = 32;
const zones = new Map<string, SearchTimeZone>();

/** Returns the time zone for a name or code, or undefined if the name or code is unknown. */
export function timeZoneOf(name: string): SearchTimeZone | undefined {
  const place = placesByCode[name.toUpperCase()] ?? offsetOf(name) ?? name;
  const kept = zones.get(place);
  if (kept) return kept;
  const zone = makeZone(place);
  if (!zone) return undefined;
  const [oldest] = zones.keys();
  if (zones.size >= maxZonesKept && oldest !== undefined) zones.delete(oldest);
  zones.set(place, zone);
  return zone;
}

/** Returns a UTC offset in IANA notation, such as `+02:00`. */
function offsetOf(name: string): string | undefined {
  const [, sign, hours = '', minutes = '00'] = offsetForm.exec(name) ?? [];
  return sign === undefined ? undefined : `${sign}${hours.padStart(2, '0')}:${minutes}`;
}

function makeZone(timeZone: string): SearchTimeZone | undefined {
  try {
    return new SearchTimeZone(timeZone);
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

export class SearchTimeZone {
  readonly #format: Intl.DateTimeFormat;

  /** Creates the zone. Throws RangeError if the time zone is unknown. */
  constructor(timeZone: string) {
    this.#format = new Intl.DateTimeFormat('en-US', {
      timeZone,
      hourCycle: 'h23',
      era: 'short',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    });
  }

  /**
   * Converts a local time to ms since the epoch. If the local time occurs twice, the first occurrence is used. If a
   * clock change skips the local time, it is moved forward by the length of the gap.
   */
  epochMsOf(localMs: number): number {
    const before = this.#offsetMsAt(localMs - dayMs);
    const after = this.#offsetMsAt(localMs + dayMs);
    const candidates = [localMs - before, localMs - after].sort((left, right) => left - right);
    return candidates.find((atMs) => atMs + this.#offsetMsAt(atMs) === localMs) ?? localMs - before;
  }

  /** Returns the difference between local time and UTC, in ms. */
  #offsetMsAt(atMs: number): number {
    const parts: Record<string, string> = {};
    for (const { type, value } of this.#format.formatToParts(atMs)) parts[type] = value;
    const { year, month, day, hour, minute, second } = parts;
    const local = new Date(0);
    const yearOfEra = Number(year);
    local.setUTCFullYear(parts['era'] === 'BC' ? 1 - yearOfEra : yearOfEra, Number(month) - 1, Number(day));
    local.setUTCHours(Number(hour), Number(minute), Number(second));
    return local.getTime() - Math.floor(atMs / 1000) * 1000;
  }
}

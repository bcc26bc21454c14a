/**
 * Time zones (4.1): from the name or code in a request to what local time there is in ms since the epoch.
 *
 * A code that several places share means the one of this table; every other name is one of the IANA database, in any case, or
 * an offset as `+05:30`, also behind `UTC` or `GMT`.
 */

/** A code stands for the place with its summer time, so that PST and PDT are the same. */
const placesByCode: Readonly<Record<string, string>> = {
  Z: 'UTC',
  HST: 'Pacific/Honolulu',
  AKST: 'America/Anchorage',
  AKDT: 'America/Anchorage',
  PST: 'America/Los_Angeles',
  PDT: 'America/Los_Angeles',
  MST: 'America/Denver',
  MDT: 'America/Denver',
  // North America, and neither China nor Cuba.
  CST: 'America/Chicago',
  CDT: 'America/Chicago',
  EST: 'America/New_York',
  EDT: 'America/New_York',
  // The Atlantic coast of Canada, and not Arabia.
  AST: 'America/Halifax',
  ADT: 'America/Halifax',
  NST: 'America/St_Johns',
  NDT: 'America/St_Johns',
  BRT: 'America/Sao_Paulo',
  ART: 'America/Argentina/Buenos_Aires',
  WET: 'Europe/Lisbon',
  WEST: 'Europe/Lisbon',
  // Britain, and not Bangladesh.
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
  // India, and neither Israel nor Ireland.
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

/** `UTC+2`, `GMT-03:30`: hours ahead of UTC, other than in the zones `Etc/GMT+2` of IANA. */
const offsetForm = /^(?:UTC|GMT)([+-])(\d{1,2})(?::?(\d\d))?$/i;

const dayMs = 86_400_000;
/** A formatter is dear to make, and zones in use are few. */
const mostZonesKept = 32;
const zones = new Map<string, TimeZone>();

/** The zone of this name or code; undefined where there is none. */
export function timeZoneOf(name: string): TimeZone | undefined {
  const place = placesByCode[name.toUpperCase()] ?? offsetOf(name) ?? name;
  const kept = zones.get(place);
  if (kept) return kept;
  const zone = makeZone(place);
  if (!zone) return undefined;
  const [oldest] = zones.keys();
  if (zones.size >= mostZonesKept && oldest !== undefined) zones.delete(oldest);
  zones.set(place, zone);
  return zone;
}

/** As the IANA database is asked for it: `+02:00`. */
function offsetOf(name: string): string | undefined {
  const [, sign, hours = '', minutes = '00'] = offsetForm.exec(name) ?? [];
  return sign === undefined ? undefined : `${sign}${hours.padStart(2, '0')}:${minutes}`;
}

function makeZone(timeZone: string): TimeZone | undefined {
  try {
    return new TimeZone(timeZone);
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

export class TimeZone {
  readonly #format: Intl.DateTimeFormat;

  /** Throws RangeError for a name that nobody knows. */
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
   * ms since the epoch of a local time that is given as if it were UTC. A time that happens twice is the first of the two; one
   * that never happens is moved on by the gap.
   */
  epochMsOf(localMs: number): number {
    const before = this.#offsetMsAt(localMs - dayMs);
    const after = this.#offsetMsAt(localMs + dayMs);
    const candidates = [localMs - before, localMs - after].sort((left, right) => left - right);
    return candidates.find((atMs) => atMs + this.#offsetMsAt(atMs) === localMs) ?? localMs - before;
  }

  /** How far local time is ahead of UTC. */
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

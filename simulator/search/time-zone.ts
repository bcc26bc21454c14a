/**
 * Converts a local time in a time zone to ms since the epoch (service.md 4.1).
 *
 * A zone is a three-letter code of the table below, a name of the IANA database in any case, or an offset such as `+05:30` or
 * `UTC+2`.
 */

/** Name of the IANA time zone for each time zone code. A code includes summer time, so PST and PDT are the same time zone. */
const placesByCode: Readonly<Record<string, string>> = {
  Z: 'UTC',
  HST: 'Pacific/Honolulu',
  AKST: 'America/Anchorage',
  AKDT: 'America/Anchorage',
  PST: 'America/Los_Angeles',
  PDT: 'America/Los_Angeles',
  MST: 'America/Denver',
  MDT: 'America/Denver',
  // CST is Central Standard Time of North America, not the time of China or Cuba.
  CST: 'America/Chicago',
  CDT: 'America/Chicago',
  EST: 'America/New_York',
  EDT: 'America/New_York',
  // AST is Atlantic Standard Time of Canada, not the time of Arabia.
  AST: 'America/Halifax',
  ADT: 'America/Halifax',
  NST: 'America/St_Johns',
  NDT: 'America/St_Johns',
  BRT: 'America/Sao_Paulo',
  ART: 'America/Argentina/Buenos_Aires',
  WET: 'Europe/Lisbon',
  WEST: 'Europe/Lisbon',
  // BST is British Summer Time, not the time of Bangladesh.
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
  // IST is the time of India, not of Israel or Ireland.
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

/** Offsets such as `UTC+2` and `GMT-03:30`, which are ahead of UTC if positive. The IANA zones `Etc/GMT+2` have the opposite sign. */
const offsetForm = /^(?:UTC|GMT)([+-])(\d{1,2})(?::?(\d\d))?$/i;

const dayMs = 86_400_000;
/** Maximum number of time zones whose formatters are cached, because formatters are slow to create. */
const maxZonesKept = 32;
const zones = new Map<string, TimeZone>();

/** Returns the zone of a name or code, or undefined. */
export function timeZoneOf(name: string): TimeZone | undefined {
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

/** Returns a UTC offset in the notation of the IANA database, such as `+02:00`. */
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

  /** Creates a formatter for a time zone. Throws RangeError for an unknown name. */
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
   * Converts a local time, given as if it were UTC, to ms since the epoch. A local time that a clock change repeats means its
   * first occurrence. A local time that a clock change skips is moved by the length of the gap.
   */
  epochMsOf(localMs: number): number {
    const before = this.#offsetMsAt(localMs - dayMs);
    const after = this.#offsetMsAt(localMs + dayMs);
    const candidates = [localMs - before, localMs - after].sort((left, right) => left - right);
    return candidates.find((atMs) => atMs + this.#offsetMsAt(atMs) === localMs) ?? localMs - before;
  }

  /** Returns the difference in ms between local time and UTC at a given time. */
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

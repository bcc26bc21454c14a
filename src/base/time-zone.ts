/**
 * Local time in IANA time zones, from what the runtime knows of them. A local time is the number of milliseconds that UTC would have
 * at that reading of the clock.
 *
 * Every local time has one instant: where a change of the clocks makes it come twice, the first; where a change leaves it out,
 * when it would have come without the change.
 */

/** Zones are texts that others send, so that there may be any number of them. */
const mostZones = 1_000;
/** So far from a local time, whatever its offset, lies the day before a change of the clocks, and the day after. */
const beyondChangeMs = 36 * 3_600_000;

const dayMs = 24 * 3_600_000;
/** Days whose offset is remembered: those of a year and more. */
const mostDays = 500;

const zones = new Map<string, TimeZone | undefined>();

/** The zone of that name, in upper or lower case; undefined where the runtime knows none. */
export function timeZone(name: string): TimeZone | undefined {
  if (!zones.has(name)) {
    if (zones.size >= mostZones) zones.clear();
    zones.set(name, readTimeZone(name));
  }
  return zones.get(name);
}

function readTimeZone(name: string): TimeZone | undefined {
  try {
    return new TimeZone(name);
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

export class TimeZone {
  readonly #format: Intl.DateTimeFormat;
  readonly #offsetsMs = new Map<number, number>();

  /** Throws a RangeError where the runtime does not know the name. */
  constructor(name: string) {
    this.#format = new Intl.DateTimeFormat('en-US', {
      timeZone: name,
      calendar: 'gregory',
      numberingSystem: 'latn',
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    });
  }

  /** What the clock shows. */
  localMs(wallMs: number): number {
    return wallMs + this.#offsetMs(wallMs);
  }

  /** When a local time comes. */
  instantOf(localMs: number): number {
    const beforeMs = this.#dayOffsetMs(localMs - beyondChangeMs);
    const afterMs = this.#dayOffsetMs(localMs + beyondChangeMs);
    const first = localMs - beforeMs;
    if (beforeMs === afterMs || this.localMs(first) === localMs) return first;
    const second = localMs - afterMs;
    return this.localMs(second) === localMs ? second : first;
  }

  /** What the clock shows when a local time comes: something later, where it is left out. */
  readingOf(localMs: number): number {
    const isSteady = this.#dayOffsetMs(localMs - beyondChangeMs) === this.#dayOffsetMs(localMs + beyondChangeMs);
    return isSteady ? localMs : this.localMs(this.instantOf(localMs));
  }

  /** The offset some time on the day of UTC that has this instant: what is asked about many times of a day is read once. */
  #dayOffsetMs(wallMs: number): number {
    const day = Math.floor(wallMs / dayMs);
    let offsetMs = this.#offsetsMs.get(day);
    if (offsetMs === undefined) {
      offsetMs = this.#offsetMs(day * dayMs);
      if (this.#offsetsMs.size >= mostDays) this.#offsetsMs.clear();
      this.#offsetsMs.set(day, offsetMs);
    }
    return offsetMs;
  }

  #offsetMs(wallMs: number): number {
    const parts: Partial<Record<Intl.DateTimeFormatPartTypes, number>> = {};
    for (const { type, value } of this.#format.formatToParts(wallMs)) parts[type] = Number(value);
    const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = parts;
    return Date.UTC(year, month - 1, day, hour, minute, second) - Math.floor(wallMs / 1_000) * 1_000;
  }
}

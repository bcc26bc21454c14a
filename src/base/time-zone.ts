/**
 * Local times in IANA time zones. A local time is a number: the ms from the epoch to the same date and time in UTC. If
 * a local time occurs twice, the first occurrence is used. A skipped local time moves forward by the length of the
 * clock change.
 */
import { cached } from './day-cache.ts';
import { dayMs, hourMs } from './time-units.ts';

/** Maximum number of cached time zones. */
const maxZones = 1_000;
/**
 * Distance in ms before and after a local time at which UTC offsets are compared. If the two offsets differ, clocks
 * change near the local time.
 */
const changeDistanceMs = 36 * hourMs;

const zones = new Map<string, TimeZone | undefined>();

/** Returns the time zone with this name, or undefined if the runtime does not know it. Names are not case-sensitive. */
export function timeZone(name: string): TimeZone | undefined {
  if (!zones.has(name)) {
    if (zones.size >= maxZones) zones.clear();
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
  /**
   * Name of the time zone in the runtime's list of time zones. This name can differ from the constructor's argument,
   * which may be an alias.
   */
  readonly name: string;
  readonly #format: Intl.DateTimeFormat;
  /** Cache: UTC offset in ms at the beginning of each UTC day. */
  readonly #offsetsMs = new Map<number, number>();
  /** Cache: instant at which clocks change, for each UTC day with a clock change. */
  readonly #changesMs = new Map<number, number>();
  /** Cache: UTC offset in ms of each local day. The value is undefined for a day near a clock change. */
  readonly #steadyMs = new Map<number, number | undefined>();

  /** Throws a RangeError for an unknown name. */
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
    this.name = this.#format.resolvedOptions().timeZone;
  }

  /** Converts an instant, in ms since the epoch, to a local time. */
  localMs(wallMs: number): number {
    const beforeMs = this.#dayOffsetMs(wallMs);
    const afterMs = this.#dayOffsetMs(wallMs + dayMs);
    return wallMs + (beforeMs === afterMs || wallMs < this.#changeMs(wallMs) ? beforeMs : afterMs);
  }

  /** Converts a local time to an instant, in ms since the epoch. */
  instantOf(localMs: number): number {
    const steadyMs = this.steadyOffsetMs(localMs);
    if (steadyMs !== undefined) return localMs - steadyMs;
    const beforeMs = this.#dayOffsetMs(localMs - changeDistanceMs);
    const afterMs = this.#dayOffsetMs(localMs + changeDistanceMs);
    const first = localMs - beforeMs;
    if (beforeMs === afterMs || this.localMs(first) === localMs) return first;
    const second = localMs - afterMs;
    return this.localMs(second) === localMs ? second : first;
  }

  /**
   * Returns the given local time if it exists. If clocks skip this local time, returns a time that is later by the
   * length of the clock change.
   */
  readingOf(localMs: number): number {
    return this.steadyOffsetMs(localMs) === undefined ? this.localMs(this.instantOf(localMs)) : localMs;
  }

  /**
   * Returns the UTC offset, in ms, that applies throughout the local day. Returns undefined if clocks change near that
   * day.
   */
  steadyOffsetMs(localMs: number): number | undefined {
    return cached(this.#steadyMs, localMs, (startMs) => this.#findSteadyMs(startMs));
  }

  #findSteadyMs(startMs: number): number | undefined {
    const offsetMs = this.#dayOffsetMs(startMs - changeDistanceMs);
    const endMs = startMs + dayMs + changeDistanceMs;
    for (let wallMs = startMs - changeDistanceMs; wallMs < endMs + dayMs; wallMs += dayMs) {
      if (this.#dayOffsetMs(wallMs) !== offsetMs) return undefined;
    }
    return offsetMs;
  }

  #changeMs(wallMs: number): number {
    return cached(this.#changesMs, wallMs, (startMs) => this.#findChangeMs(startMs));
  }

  /** Finds the instant of a clock change by binary search. Clocks change only at whole seconds. */
  #findChangeMs(startMs: number): number {
    const beforeMs = this.#offsetMs(startMs);
    let [from, to] = [startMs / 1_000, (startMs + dayMs) / 1_000];
    while (to - from > 1) {
      const middle = Math.floor((from + to) / 2);
      if (this.#offsetMs(middle * 1_000) === beforeMs) from = middle;
      else to = middle;
    }
    return to * 1_000;
  }

  /** Returns the UTC offset in ms at the beginning of the UTC day of `wallMs`. */
  #dayOffsetMs(wallMs: number): number {
    return cached(this.#offsetsMs, wallMs, (startMs) => this.#offsetMs(startMs));
  }

  #offsetMs(wallMs: number): number {
    const parts: Partial<Record<Intl.DateTimeFormatPartTypes, number>> = {};
    for (const { type, value } of this.#format.formatToParts(wallMs)) parts[type] = Number(value);
    const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = parts;
    return Date.UTC(year, month - 1, day, hour, minute, second) - Math.floor(wallMs / 1_000) * 1_000;
  }
}

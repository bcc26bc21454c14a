/**
 * Local time in IANA time zones, from what the runtime knows of them. A local time is the number of milliseconds that UTC would have
 * at that reading of the clock.
 *
 * Every local time has one instant: where a change of the clocks makes it come twice, the first; where a change leaves it out,
 * when it would have come without the change.
 */

/** Zones are texts that others send, so that there may be any number of them. */
const mostZones = 1_000;
const dayMs = 24 * 3_600_000;
/** So far from a local time, whatever its offset and however the clocks are changed, lies what is of another time. */
const beyondChangeMs = 36 * 3_600_000;
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
  /** Day of UTC → the offset as it begins. */
  readonly #offsetsMs = new Map<number, number>();
  /** Day of UTC in which the clocks are changed → the instant at which they are. */
  readonly #changesMs = new Map<number, number>();
  /** Day of local time → the offset all through it and about it; undefined where the clocks are changed. */
  readonly #steadyMs = new Map<number, number | undefined>();

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
    const beforeMs = this.#dayOffsetMs(wallMs);
    const afterMs = this.#dayOffsetMs(wallMs + dayMs);
    return wallMs + (beforeMs === afterMs || wallMs < this.#changeMs(wallMs) ? beforeMs : afterMs);
  }

  /** When a local time comes. */
  instantOf(localMs: number): number {
    const steadyMs = this.steadyOffsetMs(localMs);
    if (steadyMs !== undefined) return localMs - steadyMs;
    const beforeMs = this.#dayOffsetMs(localMs - beyondChangeMs);
    const afterMs = this.#dayOffsetMs(localMs + beyondChangeMs);
    const first = localMs - beforeMs;
    if (beforeMs === afterMs || this.localMs(first) === localMs) return first;
    const second = localMs - afterMs;
    return this.localMs(second) === localMs ? second : first;
  }

  /** What the clock shows when a local time comes: something later, where it is left out. */
  readingOf(localMs: number): number {
    return this.steadyOffsetMs(localMs) === undefined ? this.localMs(this.instantOf(localMs)) : localMs;
  }

  /** By how much local times of the same day are ahead of UTC, all of them; undefined where the clocks are changed on it, or near it. */
  steadyOffsetMs(localMs: number): number | undefined {
    const day = Math.floor(localMs / dayMs);
    if (!this.#steadyMs.has(day)) {
      if (this.#steadyMs.size >= mostDays) this.#steadyMs.clear();
      this.#steadyMs.set(day, this.#findSteadyMs(day * dayMs));
    }
    return this.#steadyMs.get(day);
  }

  #findSteadyMs(startMs: number): number | undefined {
    const offsetMs = this.#dayOffsetMs(startMs - beyondChangeMs);
    const endMs = startMs + dayMs + beyondChangeMs;
    for (let wallMs = startMs - beyondChangeMs; wallMs < endMs + dayMs; wallMs += dayMs) {
      if (this.#dayOffsetMs(wallMs) !== offsetMs) return undefined;
    }
    return offsetMs;
  }

  /** The instant at which the clocks are changed on the day of UTC that has this instant. */
  #changeMs(wallMs: number): number {
    const day = Math.floor(wallMs / dayMs);
    let changeMs = this.#changesMs.get(day);
    if (changeMs === undefined) {
      changeMs = this.#findChangeMs(day * dayMs);
      if (this.#changesMs.size >= mostDays) this.#changesMs.clear();
      this.#changesMs.set(day, changeMs);
    }
    return changeMs;
  }

  /** By halves; clocks are changed as a second begins. */
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

  /** The offset as the day of UTC begins that has this instant: what is asked about many times of a day is read once. */
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

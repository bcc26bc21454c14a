/**
 * Computes ticks. A tick is a time at which a cron schedule fires: the end of one run's time range, and the start of
 * the next one. If a clock change skips a local time, the cron schedule fires later. If a local time occurs twice, the
 * cron schedule fires only the first time.
 */
import { CronSchedule } from '../base/cron.ts';
import type { TimeRange } from '../base/time-range.ts';
import { dayMs } from '../base/time-units.ts';
import type { TimeZone } from '../base/time-zone.ts';

/** Maximum time in ms by which a clock change can move a local time. */
const longestChangeMs = dayMs;
/**
 * How far ahead, in ms, to search for the next tick. The calendar repeats every 400 years, so if no tick is found
 * within this time, there is none.
 */
const longestSearchMs = 401 * 366 * dayMs;
const latestMs = Date.UTC(9999, 11, 31);
const maxCalendars = 100;

/**
 * Cache of recently used calendars. Equal cron schedules share a calendar, because a calendar can take more than 100 KB
 * of memory.
 */
export class TickCalendars {
  readonly #recent = new Map<string, TickCalendar>();

  /** Returns the calendar of a cron schedule in a time zone. Calls `create` if the calendar is not cached. */
  get(schedule: string, zoneName: string, create: () => TickCalendar): TickCalendar {
    const key = `${schedule} ${zoneName}`;
    const calendar = this.#recent.get(key) ?? create();
    if (!this.#recent.has(key) && this.#recent.size >= maxCalendars) this.#recent.clear();
    this.#recent.set(key, calendar);
    return calendar;
  }
}

export class TickCalendar {
  readonly #cron: CronSchedule;
  readonly #zone: TimeZone;

  /** Throws if `schedule` is not a valid cron expression. */
  constructor(schedule: string, zone: TimeZone) {
    this.#cron = new CronSchedule(schedule);
    this.#zone = zone;
  }

  /**
   * Returns the last tick (time of the cron schedule) at or before a time, or undefined if there is none since 1970.
   */
  lastUntil(atMs: number): number | undefined {
    for (let lengthMs = dayMs; ; lengthMs *= 4) {
      const fromMs = Math.max(0, atMs + 1 - lengthMs);
      const last = [...this.#ticks({ fromMs, toMs: atMs + 1 })].at(-1);
      if (last !== undefined || fromMs === 0) return last;
    }
  }

  /** Returns the first tick (time of the cron schedule) after a time, or undefined if there is none. */
  firstAfter(afterMs: number): number | undefined {
    const toMs = Math.min(latestMs, afterMs + longestSearchMs);
    for (const tickMs of this.#ticks({ fromMs: afterMs + 1, toMs })) return tickMs;
    return undefined;
  }

  /** Divides a time range at its ticks (times of the cron schedule). Yields the parts in ascending order. */
  *divide({ fromMs, toMs }: TimeRange): Generator<TimeRange, undefined> {
    let startMs = fromMs;
    for (const tickMs of this.#ticks({ fromMs: fromMs + 1, toMs })) {
      yield { fromMs: startMs, toMs: tickMs };
      startMs = tickMs;
    }
    yield { fromMs: startMs, toMs };
  }

  /** Divides a time range at its ticks (times of the cron schedule). Yields the parts in descending order. */
  *divideBackwards({ fromMs, toMs }: TimeRange): Generator<TimeRange, undefined> {
    let endMs = toMs;
    let lengthMs = dayMs;
    for (let searchedMs = toMs; searchedMs > fromMs + 1; lengthMs *= 2) {
      const startMs = Math.max(fromMs + 1, searchedMs - lengthMs);
      for (const tickMs of [...this.#ticks({ fromMs: startMs, toMs: searchedMs })].reverse()) {
        yield { fromMs: tickMs, toMs: endMs };
        endMs = tickMs;
      }
      searchedMs = startMs;
    }
    yield { fromMs, toMs: endMs };
  }

  /** Yields the ticks in a time range, in ascending order. */
  *#ticks({ fromMs, toMs }: TimeRange): Generator<number, undefined> {
    // Ticks that have not been yielded yet, because a clock change can place a tick of the next day before them.
    let waiting: readonly number[] = [];
    for (const day of this.#cron.days(this.#zone.localMs(fromMs) - longestChangeMs)) {
      const safeMs = this.#zone.instantOf(day) - longestChangeMs;
      yield* waiting.filter((tickMs) => tickMs < safeMs);
      if (safeMs >= toMs) return;
      const ticks = this.#cron.timesMs.map((timeMs) => this.#zone.instantOf(day + timeMs));
      const known = waiting.filter((tickMs) => tickMs >= safeMs);
      const added = ticks.filter((tickMs) => tickMs >= fromMs && tickMs < toMs);
      waiting = [...new Set([...known, ...added])].sort((a, b) => a - b);
    }
    yield* waiting;
  }
}

/**
 * Ticks of a schedule: the instants at which one run ends and the next run begins. A tick is a local time of the cron schedule, converted
 * by the time zone. A local time that occurs twice is one tick, at its first occurrence. A local time that a clock change skips is moved
 * forward, and may then coincide with another tick.
 */
import { CronSchedule } from '../base/cron.ts';
import type { TimeZone } from '../base/time-zone.ts';
import type { TimeSpan } from './time-spans.ts';

const dayMs = 24 * 3_600_000;
/** Maximum time in ms by which a clock change moves a local time. */
const longestChangeMs = dayMs;
/**
 * Maximum time in ms in which a tick is searched. Dates of the Gregorian calendar repeat every 400 years, so a schedule without a tick in
 * this time never has one.
 */
const longestSearchMs = 401 * 366 * dayMs;
const latestMs = Date.UTC(9999, 11, 31);
const mostCalendars = 100;

/** Calendars that were used recently. A calendar takes 80 KB, so schedules share equal calendars and keep none. */
export class TickCalendars {
  readonly #recent = new Map<string, TickCalendar>();

  /** Returns the calendar of a cron schedule in the time zone of this name. `create` creates one that was not used recently. */
  get(schedule: string, zoneName: string, create: () => TickCalendar): TickCalendar {
    const key = `${schedule} ${zoneName}`;
    const calendar = this.#recent.get(key) ?? create();
    if (!this.#recent.has(key) && this.#recent.size >= mostCalendars) this.#recent.clear();
    this.#recent.set(key, calendar);
    return calendar;
  }
}

export class TickCalendar {
  readonly #cron: CronSchedule;
  readonly #zone: TimeZone;

  /** Creates the calendar of a valid cron schedule; throws for another text. */
  constructor(schedule: string, zone: TimeZone) {
    this.#cron = new CronSchedule(schedule);
    this.#zone = zone;
  }

  /** Returns the last tick at or before an instant; undefined if there is none since 1970. */
  lastUntil(atMs: number): number | undefined {
    for (let lengthMs = dayMs; ; lengthMs *= 4) {
      const fromMs = Math.max(0, atMs + 1 - lengthMs);
      const last = [...this.#ticks({ fromMs, toMs: atMs + 1 })].at(-1);
      if (last !== undefined || fromMs === 0) return last;
    }
  }

  /** Returns the first tick after an instant; undefined if the schedule has no further tick. */
  firstAfter(afterMs: number): number | undefined {
    const toMs = Math.min(latestMs, afterMs + longestSearchMs);
    for (const tickMs of this.#ticks({ fromMs: afterMs + 1, toMs })) return tickMs;
    return undefined;
  }

  /** Divides a span at the ticks within it, in ascending order. The first and the last part end where the span does. */
  *divide({ fromMs, toMs }: TimeSpan): Generator<TimeSpan, undefined> {
    let startMs = fromMs;
    for (const tickMs of this.#ticks({ fromMs: fromMs + 1, toMs })) {
      yield { fromMs: startMs, toMs: tickMs };
      startMs = tickMs;
    }
    yield { fromMs: startMs, toMs };
  }

  /** Divides a span at the ticks within it, in descending order. */
  *divideBackwards({ fromMs, toMs }: TimeSpan): Generator<TimeSpan, undefined> {
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

  /** Yields the ticks in a span, in ascending order. */
  *#ticks({ fromMs, toMs }: TimeSpan): Generator<number, undefined> {
    // Ticks of the days so far that a tick of a later day may precede, because a clock change can reorder times.
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

/**
 * Cron schedules: minute, hour, day of month, month, day of week. The library Croner finds the days on which a schedule
 * fires, and ignores time zones. `time-zone.ts` converts the local times on these days to instants, because logfleet
 * and Croner handle clock changes differently.
 */
import { Cron, CronPattern } from 'croner';
import { cached } from './day-cache.ts';
import { dayMs, minuteMs } from './time-units.ts';

/** Parsed cron schedule, in local times without a time zone. */
export class CronSchedule {
  /** Times of day at which the schedule fires, in ms since midnight, in ascending order. */
  readonly timesMs: readonly number[];
  readonly #dates: Cron;
  /**
   * Cache of the days on which the schedule fires. The key is a local day. The value is the start of the first day, on
   * or after the key, on which the schedule fires, or undefined if there is no such day.
   */
  readonly #days = new Map<number, number | undefined>();

  constructor(text: string) {
    const { minute, hour } = new CronPattern(text, undefined, { mode: '5-part' });
    this.timesMs = present(hour).flatMap((h) => present(minute).map((m) => (h * 60 + m) * minuteMs));
    const [, , ...date] = cronFields(text);
    this.#dates = new Cron(`0 0 ${date.join(' ')}`, { mode: '5-part', utcOffset: 0 });
  }

  /** Yields, in ascending order and starting at `localMs`, the local times at which the schedule fires. */
  *from(localMs: number): Generator<number> {
    for (const day of this.days(localMs)) {
      for (const timeMs of this.timesMs) if (day + timeMs >= localMs) yield day + timeMs;
    }
  }

  /** Yields the local midnight of each day on which the schedule fires, starting with the day of `localMs`. */
  *days(localMs: number): Generator<number> {
    let day = this.#dayFrom(Math.floor(localMs / dayMs) * dayMs);
    while (day !== undefined) {
      yield day;
      day = this.#dayFrom(day + dayMs);
    }
  }

  #dayFrom(day: number): number | undefined {
    return cached(this.#days, day, (startMs) => this.#dates.nextRun(new Date(startMs - 1))?.getTime());
  }
}

/** Returns the fields of a cron schedule in the order in which they are written. */
export function cronFields(text: string): readonly string[] {
  return text.trim().split(/ +/);
}

function present(marks: readonly number[]): number[] {
  return [...marks.keys()].filter((index) => marks[index]);
}

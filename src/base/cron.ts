/**
 * Cron schedules: minute, hour, day of month, month, day of week. Croner parses them and computes their days, always in UTC, since
 * its handling of clock changes differs from ours. `time-zone.ts` converts the local times to instants.
 */
import { Cron, CronPattern } from 'croner';

const dayMs = 86_400_000;
const minuteMs = 60_000;
/** Maximum number of cached days: more than a year. */
const mostDays = 500;

/** Parsed schedule. */
export class CronSchedule {
  /** Times of each day in ms since midnight, in ascending order. */
  readonly timesMs: readonly number[];
  readonly #dates: Cron;
  /** For each day, the first scheduled day on or after it, or undefined if there is none. */
  readonly #days = new Map<number, number | undefined>();

  /** Throws if the text is not a valid schedule. */
  constructor(text: string) {
    const { minute, hour } = new CronPattern(text, undefined, { mode: '5-part' });
    this.timesMs = present(hour).flatMap((h) => present(minute).map((m) => (h * 60 + m) * minuteMs));
    const [, , ...date] = cronFields(text);
    this.#dates = new Cron(`0 0 ${date.join(' ')}`, { mode: '5-part', utcOffset: 0 });
  }

  /**
   * Yields the scheduled local times (`time-zone.ts`) at or after `localMs`, in ascending order. Endless, unless no further day
   * exists.
   */
  *from(localMs: number): Generator<number> {
    for (const day of this.days(localMs)) {
      for (const timeMs of this.timesMs) if (day + timeMs >= localMs) yield day + timeMs;
    }
  }

  /** Yields the local midnight of each scheduled day, beginning with the day of `localMs`. */
  *days(localMs: number): Generator<number> {
    let day = this.#dayFrom(Math.floor(localMs / dayMs) * dayMs);
    while (day !== undefined) {
      yield day;
      day = this.#dayFrom(day + dayMs);
    }
  }

  #dayFrom(day: number): number | undefined {
    if (!this.#days.has(day)) {
      if (this.#days.size >= mostDays) this.#days.clear();
      this.#days.set(day, this.#dates.nextRun(new Date(day - 1))?.getTime());
    }
    return this.#days.get(day);
  }
}

/** Returns the fields of a schedule as written. */
export function cronFields(text: string): readonly string[] {
  return text.trim().split(/ +/);
}

function present(marks: readonly number[]): number[] {
  return [...marks.keys()].filter((index) => marks[index]);
}

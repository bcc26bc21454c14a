/**
 * Schedules as cron has them: minute, hour, day of month, month, day of week. Croner reads them and says which days they have; it is
 * asked about UTC alone, since it lets local times come at other instants than we promise when the clocks change.
 * `time-zone.ts` makes instants of the local times that come out.
 */
import { Cron, CronPattern } from 'croner';

const dayMs = 86_400_000;
const minuteMs = 60_000;
/** Days that are remembered: those of a year and more. */
const mostDays = 500;

/** A schedule that was read. */
export class CronSchedule {
  /** Its times on each of its days, in ms since the day began, in order. */
  readonly timesMs: readonly number[];
  readonly #dates: Cron;
  /** Day → the first of the schedule's days from there on; undefined where none comes. */
  readonly #days = new Map<number, number | undefined>();

  /** Throws where the text is no schedule. */
  constructor(text: string) {
    const { minute, hour } = new CronPattern(text, undefined, { mode: '5-part' });
    this.timesMs = present(hour).flatMap((h) => present(minute).map((m) => (h * 60 + m) * minuteMs));
    const [, , ...date] = cronFields(text);
    this.#dates = new Cron(`0 0 ${date.join(' ')}`, { mode: '5-part', utcOffset: 0 });
  }

  /** Its local times (`time-zone.ts`) at or after one, in order; without end, unless no further day comes. */
  *from(localMs: number): Generator<number> {
    for (const day of this.days(localMs)) {
      for (const timeMs of this.timesMs) if (day + timeMs >= localMs) yield day + timeMs;
    }
  }

  /** The local times at which its days begin: of the one that has this local time, if it is such, and of all later ones. */
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

/** The fields of a schedule, as they are written. */
export function cronFields(text: string): readonly string[] {
  return text.trim().split(/ +/);
}

function present(marks: readonly number[]): number[] {
  return [...marks.keys()].filter((index) => marks[index]);
}

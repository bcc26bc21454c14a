/**
 * Computes the time ranges in which at least one of several maintenance windows is open. The ranges are sorted, and do
 * not overlap or touch.
 */
import type { CronSchedule } from '../../base/cron.ts';
import type { TimeRange } from '../../base/time-range.ts';
import { dayMs, hourMs } from '../../base/time-units.ts';
import type { TimeZone } from '../../base/time-zone.ts';

/** Maintenance window in a time zone. */
export interface Opening {
  readonly schedule: CronSchedule;
  /** Time in ms for which the window is open. */
  readonly durationMs: number;
  /**
   * Merged time ranges of one day in which the window is open, in ms since the start of the day. Clock changes are
   * ignored.
   */
  readonly daySpans: readonly TimeRange[];
  readonly zone: TimeZone;
}

const always: TimeRange = { fromMs: -Infinity, toMs: Infinity };

/** Maximum time in ms by which a clock change can move the opening of a window. */
const longestChangeMs = dayMs;
/** Length of a time range, in ms, above which the range counts as endless. */
const endlessMs = 400 * dayMs;
/**
 * Time in ms by which the first search for the start of a time range looks back. Each further search looks back twice
 * as far.
 */
const firstLookbackMs = hourMs;
const maxLookbackMs = 2 ** 14 * firstLookbackMs;
/** Maximum number of window openings in one search. */
const maxOpenings = 50_000;

/**
 * Yields the time ranges after `afterMs` in which at least one window is open. The start of the first range may be
 * later than the time at which its window opened. A very long range ends at Infinity. Without windows, one range covers
 * all time.
 */
export function* spansFrom(openings: readonly Opening[] | undefined, afterMs: number): Generator<TimeRange, undefined> {
  if (!openings) {
    yield always;
    return;
  }
  let current: TimeRange | undefined;
  let count = 0;
  for (const span of inOrder(openings.map((opening) => spansOf(opening, afterMs)))) {
    if (!current || span.fromMs > current.toMs) {
      if (current) yield current;
      current = span;
      count = 0;
      continue;
    }
    if (span.toMs > current.toMs) current = { fromMs: current.fromMs, toMs: span.toMs };
    const seenMs = current.toMs - Math.max(afterMs, current.fromMs);
    if (++count < maxOpenings && seenMs <= endlessMs) continue;
    yield { fromMs: current.fromMs, toMs: Infinity };
    return;
  }
  if (current) yield current;
}

/**
 * Returns the start of the time range that contains `atMs` and in which at least one window is open. If the start is
 * too long ago, returns the earliest time that was searched.
 */
export function spanStart(openings: readonly Opening[], atMs: number): number {
  for (let backMs = firstLookbackMs; backMs <= maxLookbackMs; backMs *= 2) {
    const afterMs = atMs - backMs;
    for (const { fromMs, toMs } of spansFrom(openings, afterMs)) {
      if (toMs < atMs) continue;
      if (fromMs > afterMs) return Math.min(fromMs, atMs);
      break;
    }
  }
  return atMs - maxLookbackMs;
}

/** Yields the times at which the given maintenance window is open, in order. Leaves out times before `afterMs`. */
function* spansOf({ schedule, durationMs, daySpans, zone }: Opening, afterMs: number): Generator<TimeRange, undefined> {
  // Local times that replace opening times skipped by a clock change.
  const moved: number[] = [];
  for (const dayMs of schedule.days(zone.localMs(afterMs - durationMs) - longestChangeMs)) {
    const offsetMs = zone.steadyOffsetMs(dayMs);
    const spans = offsetMs === undefined ? spansOfChangedDay(dayMs) : spansOfSteadyDay(dayMs - offsetMs);
    for (const span of spans) if (span.toMs > afterMs) yield span;
  }
  for (const readingMs of moved) yield spanAt(readingMs);

  function* spansOfSteadyDay(beginMs: number): Generator<TimeRange> {
    for (const readingMs of moved.splice(0)) yield spanAt(readingMs);
    for (const { fromMs, toMs } of daySpans) yield { fromMs: beginMs + fromMs, toMs: beginMs + toMs };
  }

  function* spansOfChangedDay(dayMs: number): Generator<TimeRange> {
    for (const timeMs of schedule.timesMs) {
      const localMs = dayMs + timeMs;
      const readingMs = zone.readingOf(localMs);
      if (readingMs !== localMs) {
        moved.push(readingMs);
        continue;
      }
      while (moved[0] !== undefined && moved[0] <= localMs) yield spanAt(moved.shift() as number);
      yield spanAt(localMs);
    }
  }

  function spanAt(localMs: number): TimeRange {
    const fromMs = zone.instantOf(localMs);
    return { fromMs, toMs: fromMs + durationMs };
  }
}

/** Merges several sorted sequences of time ranges into one sorted sequence. */
function* inOrder(sources: readonly Generator<TimeRange, undefined>[]): Generator<TimeRange, undefined> {
  const heads = sources.map((source) => ({ source, span: source.next().value }));
  const startOf = (head: Head | undefined) => head?.span?.fromMs ?? Infinity;
  for (;;) {
    let next = heads[0];
    for (const head of heads) if (startOf(head) < startOf(next)) next = head;
    if (!next?.span) return;
    yield next.span;
    next.span = next.source.next().value;
  }
}

interface Head {
  readonly source: Generator<TimeRange, undefined>;
  span: TimeRange | undefined;
}

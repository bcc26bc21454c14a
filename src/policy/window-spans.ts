/**
 * The times in which at least one of several maintenance windows is open, as spans that neither touch nor overlap, in order.
 *
 * A window opens at the instants of its local times (`../base/time-zone.ts`) and is open for its duration, in time that passes.
 */
import type { CronSchedule } from '../base/cron.ts';
import type { TimeZone } from '../base/time-zone.ts';

/** Half-open, in wall ms. */
export interface Span {
  readonly startMs: number;
  readonly endMs: number;
}

/** Schedule and duration of a window. */
export class Recurrence {
  readonly schedule: CronSchedule;
  readonly durationMs: number;
  /** When it is open that has opened on one of the schedule's days, in ms since the day began, while no clock is changed. */
  readonly spansOfDay: readonly Span[];

  constructor(schedule: CronSchedule, durationMs: number) {
    this.schedule = schedule;
    this.durationMs = durationMs;
    this.spansOfDay = spansOfDay(schedule.timesMs, durationMs);
  }
}

/** A window in the zone that it is in. */
export interface Opening {
  readonly recurrence: Recurrence;
  readonly zone: TimeZone;
}

const always: Span = { startMs: Number.NEGATIVE_INFINITY, endMs: Number.POSITIVE_INFINITY };

/** No clock has been set further than this at once: a local time that is left out comes so much later at most. */
const longestChangeMs = 24 * 3_600_000;
/** Of a span whose end is further away than this nobody needs to know it: some have none. */
const longestSightMs = 400 * 24 * 3_600_000;
/** How far is looked back for when a window opened: first, and at most. */
const shortestLookMs = 3_600_000;
const longestLookBackMs = 2 ** 14 * shortestLookMs;
/** Nor where so many windows have opened on the way to it. */
const mostOpenings = 50_000;

/**
 * The spans that end after `fromMs`, of which the first may begin sooner than is said; one whose end is not in sight ends with
 * Infinity, and is the last. Without windows it is open at any time.
 */
export function* spansFrom(openings: readonly Opening[] | undefined, fromMs: number): Generator<Span, undefined> {
  if (!openings) {
    yield always;
    return;
  }
  let current: Span | undefined;
  let count = 0;
  for (const span of inOrder(openings.map((opening) => spansOf(opening, fromMs)))) {
    if (!current || span.startMs > current.endMs) {
      if (current) yield current;
      current = span;
      count = 0;
      continue;
    }
    if (span.endMs > current.endMs) current = { startMs: current.startMs, endMs: span.endMs };
    const seenMs = current.endMs - Math.max(fromMs, current.startMs);
    if (++count < mostOpenings && seenMs <= longestSightMs) continue;
    yield { startMs: current.startMs, endMs: Number.POSITIVE_INFINITY };
    return;
  }
  if (current) yield current;
}

/** When the span that covers `atMs` began; where it has been open for longer than anybody looks back, some time in it. */
export function spanStart(openings: readonly Opening[], atMs: number): number {
  // Twice as far each time: windows that follow each other every few minutes are walked through once, and not from each one back.
  for (let backMs = shortestLookMs; backMs <= longestLookBackMs; backMs *= 2) {
    const fromMs = atMs - backMs;
    for (const { startMs, endMs } of spansFrom(openings, fromMs)) {
      if (endMs < atMs) continue;
      if (startMs > fromMs) return Math.min(startMs, atMs);
      break;
    }
  }
  return atMs - longestLookBackMs;
}

/** What the openings of a window give that ends after `fromMs`, in order. */
function* spansOf({ recurrence, zone }: Opening, fromMs: number): Generator<Span, undefined> {
  const { schedule, durationMs } = recurrence;
  // Readings of the clock for local times that a change of it leaves out: they come after some that are later by the clock.
  const moved: number[] = [];
  for (const dayMs of schedule.days(zone.localMs(fromMs - durationMs) - longestChangeMs)) {
    const offsetMs = zone.steadyOffsetMs(dayMs);
    const spans = offsetMs === undefined ? spansOfChangedDay(dayMs) : spansOfSteadyDay(dayMs - offsetMs);
    for (const span of spans) if (span.endMs > fromMs) yield span;
  }
  for (const readingMs of moved) yield spanAt(readingMs);

  function* spansOfSteadyDay(beginMs: number): Generator<Span> {
    for (const readingMs of moved.splice(0)) yield spanAt(readingMs);
    for (const { startMs, endMs } of recurrence.spansOfDay)
      yield { startMs: beginMs + startMs, endMs: beginMs + endMs };
  }

  function* spansOfChangedDay(dayMs: number): Generator<Span> {
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

  function spanAt(localMs: number): Span {
    const startMs = zone.instantOf(localMs);
    return { startMs, endMs: startMs + durationMs };
  }
}

/** What opens at these times, less what overlaps or touches: so a day of windows every few minutes is one span, or a few. */
function spansOfDay(timesMs: readonly number[], durationMs: number): readonly Span[] {
  const spans: Span[] = [];
  for (const startMs of timesMs) {
    const last = spans.at(-1);
    const span = { startMs, endMs: startMs + durationMs };
    if (!last || last.endMs < startMs) spans.push(span);
    else spans.splice(-1, 1, { startMs: last.startMs, endMs: span.endMs });
  }
  return spans;
}

/** Merges by their starts. */
function* inOrder(sources: readonly Generator<Span, undefined>[]): Generator<Span, undefined> {
  const heads = sources.map((source) => ({ source, span: first(source) }));
  for (;;) {
    const next = heads.reduce(
      (best, head) => (startOf(head.span) < startOf(best.span) ? head : best),
      heads[0] as Head,
    );
    if (!next.span) return;
    yield next.span;
    next.span = first(next.source);
  }
}

interface Head {
  readonly source: Generator<Span, undefined>;
  span: Span | undefined;
}

function startOf(span: Span | undefined): number {
  return span?.startMs ?? Number.POSITIVE_INFINITY;
}

function first(spans: Iterator<Span, undefined>): Span | undefined {
  return spans.next().value;
}

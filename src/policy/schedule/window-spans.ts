/**
 * Computes the spans of time in which at least one of several maintenance windows is open. Spans are sorted and neither touch nor
 * overlap.
 *
 * A window opens at its local times (`../base/time-zone.ts`) and stays open for its duration in elapsed time.
 */
import type { CronSchedule } from '../../base/cron.ts';
import type { TimeZone } from '../../base/time-zone.ts';

/** Span of time in wall ms; the start is included, the end is excluded. */
export interface Span {
  readonly startMs: number;
  readonly endMs: number;
}

/** Maintenance window in a time zone. */
export interface Opening {
  readonly schedule: CronSchedule;
  /** Time in ms for which the window stays open. */
  readonly durationMs: number;
  /** Spans of one day in which the window is open, as computed by `spansOfDay`. */
  readonly daySpans: readonly Span[];
  readonly zone: TimeZone;
}

const always: Span = { startMs: -Infinity, endMs: Infinity };

/** Maximum time in ms by which a clock change moves the opening of a window. */
const longestChangeMs = 24 * 3_600_000;
/** Maximum length in ms of a span in which windows follow without a gap; a longer span counts as endless. */
const longestSightMs = 400 * 24 * 3_600_000;
/** First step in ms of the search back in time for the start of a span. Each following step is twice as long. */
const shortestLookMs = 3_600_000;
const longestLookBackMs = 2 ** 14 * shortestLookMs;
/** Maximum number of window openings that one search examines. */
const mostOpenings = 50_000;

/**
 * Yields the spans of time with an open window that end after `fromMs`. The first span may begin too late, because windows that
 * ended before `fromMs` are not read. A very long span ends at Infinity and is the last. Without windows, one span covers all
 * time.
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
    yield { startMs: current.startMs, endMs: Infinity };
    return;
  }
  if (current) yield current;
}

/** Returns the start of the span that covers `atMs`. If the search does not reach it, returns the earliest searched time. */
export function spanStart(openings: readonly Opening[], atMs: number): number {
  // Each step back is twice as long as the one before, so even a very long span is searched in a few steps.
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

/** Yields the spans of one maintenance window that end after `fromMs`, in order. */
function* spansOf({ schedule, durationMs, daySpans, zone }: Opening, fromMs: number): Generator<Span, undefined> {
  // Openings that a clock change skips: their later local times, each of which may come after the next opening.
  const moved: number[] = [];
  for (const dayMs of schedule.days(zone.localMs(fromMs - durationMs) - longestChangeMs)) {
    const offsetMs = zone.steadyOffsetMs(dayMs);
    const spans = offsetMs === undefined ? spansOfChangedDay(dayMs) : spansOfSteadyDay(dayMs - offsetMs);
    for (const span of spans) if (span.endMs > fromMs) yield span;
  }
  for (const readingMs of moved) yield spanAt(readingMs);

  function* spansOfSteadyDay(beginMs: number): Generator<Span> {
    for (const readingMs of moved.splice(0)) yield spanAt(readingMs);
    for (const { startMs, endMs } of daySpans) yield { startMs: beginMs + startMs, endMs: beginMs + endMs };
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

/** Returns the merged spans of one day in which a window is open, in ms since the start of the day, without clock changes. */
export function spansOfDay(timesMs: readonly number[], durationMs: number): readonly Span[] {
  const spans: Span[] = [];
  for (const startMs of timesMs) {
    const last = spans.at(-1);
    const span = { startMs, endMs: startMs + durationMs };
    if (!last || last.endMs < startMs) spans.push(span);
    else spans.splice(-1, 1, { startMs: last.startMs, endMs: span.endMs });
  }
  return spans;
}

/** Merges several sorted sequences of spans into one sequence that is sorted by start. */
function* inOrder(sources: readonly Generator<Span, undefined>[]): Generator<Span, undefined> {
  const heads = sources.map((source) => ({ source, span: source.next().value }));
  const startOf = (head: Head | undefined) => head?.span?.startMs ?? Infinity;
  for (;;) {
    let next = heads[0];
    for (const head of heads) if (startOf(head) < startOf(next)) next = head;
    if (!next?.span) return;
    yield next.span;
    next.span = next.source.next().value;
  }
}

interface Head {
  readonly source: Generator<Span, undefined>;
  span: Span | undefined;
}

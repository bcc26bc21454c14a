/** The schedule of a search job. The job searches its time range backwards at constant speed. */
import { pickFrom } from '../base/span.ts';
import type { SearchSettings } from '../scenario/search-settings.ts';

export interface SearchSchedule {
  /** Time range [from, to) of the search job. */
  readonly fromMs: number;
  readonly toMs: number;
  /** Times in ms at which a search job starts, completes its subqueries, completes its histogram, and ends. */
  readonly startMs: number;
  readonly gatherMs: number;
  readonly histogramMs: number;
  readonly doneMs: number;
}

interface ScheduleOptions {
  readonly createdMs: number;
  readonly fromMs: number;
  readonly toMs: number;
  /** Random number in [0, 1) that selects a duration within a range. */
  readonly draw: number;
  readonly timeScale: number;
}

export function scheduleOf(options: ScheduleOptions, settings: SearchSettings): SearchSchedule {
  const { createdMs, fromMs, toMs, draw, timeScale } = options;
  const { rangePerSecondMs, duration, notStartedForMs, subqueriesForMs, histogramFirst } = settings;
  const unscaledMs =
    rangePerSecondMs === undefined ? pickFrom(duration, draw) : ((toMs - fromMs) / rangePerSecondMs) * 1_000;
  const startMs = createdMs + notStartedForMs / timeScale;
  const gatherMs = startMs + subqueriesForMs / timeScale;
  const doneMs = gatherMs + unscaledMs / timeScale;
  const histogramMs = histogramFirst ? (gatherMs + doneMs) / 2 : doneMs;
  return { fromMs, toMs, startMs, gatherMs, histogramMs, doneMs };
}

/** Returns the message time that a search job has reached at `atMs`. The job searches its range backwards in time. */
export function reachedAt({ fromMs, toMs, gatherMs }: SearchSchedule, endMs: number, atMs: number): number {
  if (atMs >= endMs) return fromMs;
  if (atMs <= gatherMs) return toMs;
  return toMs - Math.floor(((toMs - fromMs) * (atMs - gatherMs)) / (endMs - gatherMs));
}

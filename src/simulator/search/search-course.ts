/**
 * How far a job is at a given time: a function of the clock alone. It goes through its range from the end to the beginning, at
 * an even pace.
 */
import { pickFrom } from '../span.ts';
import type { SearchSettings } from './search-settings.ts';

export interface SearchCourse {
  /** The range, [from, to). */
  readonly fromMs: number;
  readonly toMs: number;
  /** When it is no longer NOT STARTED, when subqueries are through, when the histogram is, and when all is. */
  readonly startMs: number;
  readonly gatherMs: number;
  readonly histogramMs: number;
  readonly doneMs: number;
}

interface CourseOptions {
  readonly createdMs: number;
  readonly fromMs: number;
  readonly toMs: number;
  /** In [0, 1), for what is drawn. */
  readonly draw: number;
  readonly timeScale: number;
}

export function courseOf(options: CourseOptions, settings: SearchSettings): SearchCourse {
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

/** Everything of this time and later has been looked at by `atMs`, where all is to be through at `endMs`. */
export function reachedAt({ fromMs, toMs, gatherMs }: SearchCourse, endMs: number, atMs: number): number {
  if (atMs >= endMs) return fromMs;
  if (atMs <= gatherMs) return toMs;
  return toMs - Math.floor(((toMs - fromMs) * (atMs - gatherMs)) / (endMs - gatherMs));
}

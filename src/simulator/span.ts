/** Durations of a scenario in milliseconds: single ones, and ranges that one is drawn from. */
import { parseDuration } from '../base/duration.ts';
import type { DurationRange } from './scenario.ts';

export interface Span {
  readonly minMs: number;
  readonly maxMs: number;
}

/** Milliseconds of a duration that the schema has let through; undefined where there is none. */
export function durationMs(text: string | undefined): number | undefined {
  return text === undefined ? undefined : parseDuration(text);
}

export function spanOf(range: DurationRange | undefined): Span | undefined {
  if (range === undefined) return undefined;
  const [min, max] = typeof range === 'string' ? [range, range] : range;
  return { minMs: durationMs(min) ?? 0, maxMs: durationMs(max) ?? 0 };
}

/** What `draw`, a number in [0, 1), picks from a range. */
export function pickFrom({ minMs, maxMs }: Span, draw: number): number {
  return minMs + draw * (maxMs - minMs);
}

/** Converts durations in a scenario to ms, and draws random durations from ranges. */
import { parseDuration } from '../../src/base/duration.ts';

export interface Span {
  readonly minMs: number;
  readonly maxMs: number;
}

/** Returns a duration in ms. The text must be a valid duration. */
export function durationMs(text: string | undefined): number | undefined {
  return text === undefined ? undefined : parseDuration(text);
}

export function spanOf(range: DurationRange | undefined): Span | undefined {
  if (range === undefined) return undefined;
  const [min, max] = typeof range === 'string' ? [range, range] : range;
  return { minMs: durationMs(min) ?? 0, maxMs: durationMs(max) ?? 0 };
}

/** Returns a random duration within the range. The random number `draw`, in [0, 1), determines the duration. */
export function pickFrom({ minMs, maxMs }: Span, draw: number): number {
  return minMs + draw * (maxMs - minMs);
}

/** A duration, or the lower and upper limits of a range of durations. */
export type DurationRange = string | readonly [string, string];

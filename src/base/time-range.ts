/** Time ranges, and operations on lists of them. */

/** Time range in ms since the epoch: `[fromMs, toMs)`. */
export interface TimeRange {
  readonly fromMs: number;
  /** End of the time range in ms, exclusive. */
  readonly toMs: number;
}

/**
 * Returns the union of the spans, in ascending order and without overlaps. The spans themselves may be unsorted and
 * overlap.
 */
export function union(spans: Iterable<TimeRange>): readonly TimeRange[] {
  const merged: { fromMs: number; toMs: number }[] = [];
  for (const { fromMs, toMs } of [...spans].sort((a, b) => a.fromMs - b.fromMs)) {
    const last = merged.at(-1);
    if (toMs <= fromMs) continue;
    if (last && fromMs <= last.toMs) last.toMs = Math.max(last.toMs, toMs);
    else merged.push({ fromMs, toMs });
  }
  return merged;
}

/** Returns the parts of `whole` that `taken` does not cover. `taken` must be sorted and without overlaps. */
export function without(whole: TimeRange, taken: readonly TimeRange[]): readonly TimeRange[] {
  const free: TimeRange[] = [];
  let fromMs = whole.fromMs;
  for (const span of taken) {
    if (span.fromMs > fromMs) free.push({ fromMs, toMs: Math.min(span.fromMs, whole.toMs) });
    fromMs = Math.max(fromMs, span.toMs);
    if (fromMs >= whole.toMs) break;
  }
  if (fromMs < whole.toMs) free.push({ fromMs, toMs: whole.toMs });
  return free.filter((span) => span.toMs > span.fromMs);
}

/**
 * Returns the end of the time range in `spans` that contains `fromMs`. If there is none, returns `fromMs`. The time
 * ranges must not touch.
 */
export function coveredUntil(spans: readonly TimeRange[], fromMs: number): number {
  return spans.find((span) => span.fromMs <= fromMs && fromMs < span.toMs)?.toMs ?? fromMs;
}

/** Reports whether one of `spans` contains the whole time range. The spans must not touch. */
export function contains(spans: readonly TimeRange[], { fromMs, toMs }: TimeRange): boolean {
  return coveredUntil(spans, fromMs) >= toMs;
}

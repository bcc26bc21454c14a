/** Progress of one complete read of the listing (`fleet-listing.ts`). */
import type { Listed } from './list-order.ts';
import type { View } from './view.ts';

export interface Sweep {
  readonly view: View;
  readonly startedAtMs: number;
  readonly seen: Set<string>;
  /** Rows of the listing for each build of the view, in order. */
  readonly lists: readonly [Listed[], Listed[]];
  offset: number;
  /** Index of the build whose listing is being read. */
  build: number;
  /** Whether certainly no collector runs the view's build, since another listing would have shown it. */
  readonly proven: boolean;
}

export function sweepOf(view: View, startedAtMs: number): Sweep {
  return { view, startedAtMs, seen: new Set(), lists: [[], []], offset: 0, build: 0, proven: false };
}

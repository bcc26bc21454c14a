/** How far one reading of the whole list has come, over the requests that it takes (`fleet-listing.ts`). */
import type { Listed } from './list-order.ts';
import type { View } from './view.ts';

export interface Sweep {
  readonly view: View;
  readonly startedAtMs: number;
  readonly seen: Set<string>;
  /** What the list of each build of the view showed, in its order. */
  readonly lists: readonly [Listed[], Listed[]];
  offset: number;
  /** Which of the view's builds is being read. */
  build: number;
  /** Whether nobody can run the view's build: it was chosen by a list that would have shown them. */
  readonly proven: boolean;
}

export function sweepOf(view: View, startedAtMs: number): Sweep {
  return { view, startedAtMs, seen: new Set(), lists: [[], []], offset: 0, build: 0, proven: false };
}

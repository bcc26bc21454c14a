/**
 * Chooses the width of a segment's next search by receipt time, where a cut search proves nothing and its interval must be halved (E4). The
 * last interval's rows give the estimate. Each cut search costs a job, and so does each search that is too small.
 */
import type { CommitRecord } from '../destination/commit-record.ts';
import type { Segment } from '../destination/plan-object.ts';

/** Limit of most services (8). */
export const usualLimit = 100_000;
/** Ratio of the limit that a search should reach, since rows are not evenly distributed. */
const aimedRatio = 0.6;
/** Maximum growth factor: an interval with few rows predicts little. */
const widest = 4;

/** Start of the next search in the rest of a segment. */
export function nextAim(rest: Segment, before: CommitRecord, smallestLimit: number | undefined): number {
  const widthMs = before.toMs - before.fromMs;
  const aimedRows = aimedRatio * (smallestLimit ?? usualLimit);
  const factor = before.written === 0 ? widest : Math.min(widest, aimedRows / before.written);
  const aimMs = rest.toMs - Math.max(1, Math.floor(widthMs * factor));
  return Math.max(rest.fromMs, aimMs);
}

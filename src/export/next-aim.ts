/**
 * How far the next search of a segment reaches by receipt time, where a cut search gives nothing and its interval has to be halved
 * (E4). What the last interval had is the guess for the next: each search that is cut costs a job, and so does each that is too small.
 */
import type { CommitRecord } from '../destination/commit-record.ts';
import type { Segment } from '../destination/plan-object.ts';

/** What most services have (8). */
export const usualLimit = 100_000;
/** A search is to find this part of the limit: rows are not spread evenly. */
const aimedPart = 0.6;
/** A quiet interval says little of the next one. */
const widest = 4;

/** Where to begin, of what is left of a segment behind its last record. */
export function nextAim(rest: Segment, before: CommitRecord, smallestLimit: number | undefined): number {
  const widthMs = before.toMs - before.fromMs;
  const aimedRows = aimedPart * (smallestLimit ?? usualLimit);
  const factor = before.written === 0 ? widest : Math.min(widest, aimedRows / before.written);
  const aimMs = rest.toMs - Math.max(1, Math.floor(widthMs * factor));
  return Math.max(rest.fromMs, aimMs);
}

/**
 * Divides one export's segments among several worker pods (E16). Each worker decides alone. Two workers that search the
 * same interval do no harm (E3).
 */
import type { ExportPlan, Segment } from '../../destination/plan-object.ts';

/** Number of one worker among all workers of an export. */
export interface WorkerPart {
  /** Completion index of the pod, from 0. */
  readonly index: number;
  readonly workers: number;
}

/** The only process that works on an export. */
export const onlyWorker: WorkerPart = { index: 0, workers: 1 };

/** Maximum time in ms that a worker waits for another worker that writes no new object. */
export const otherWorkersTimeoutMs = 5 * 60_000;
/**
 * Returns the monotonic time from which a worker may replace the first worker. Worker 1 waits five minutes, and each
 * further worker waits five minutes longer.
 */
export function replacesFirstAtMs(othersSeenAtMs: number, { index }: WorkerPart): number {
  return othersSeenAtMs + index * otherWorkersTimeoutMs;
}

/**
 * Maximum age in ms of the last reading of other workers' objects when a worker starts a search. If it is older, the
 * objects are read again.
 */
export const rereadMs = 3_000;
/** Time in ms after which a worker reads new commit records of other workers while its own searches are running. */
export const busyRereadMs = 15_000;

/**
 * Returns the time in ms after which an idle worker reads the objects of other workers again. It grows with the time
 * since these workers wrote an object.
 */
export function idleRereadMs(sinceOthersMs: number): number {
  return Math.min(busyRereadMs, Math.max(1_000, sinceOthersMs / 10));
}

/**
 * Returns one worker's share of a limit. The shares of all workers add up to the limit, but each share is at least 1.
 */
export function partOf(limit: number, { index, workers }: WorkerPart): number {
  return Math.max(1, Math.floor((limit + workers - 1 - index) / workers));
}

/**
 * Returns the segments that a worker may search. Its own segments come first, then segments of other workers. If
 * `yieldsToOwners` is true, each of the other workers keeps some segments. `parallelism` is the number of parallel searches
 * of a worker.
 */
export function segmentsOfWorker(
  remaining: readonly Segment[],
  plan: ExportPlan,
  part: WorkerPart,
  { yieldsToOwners, parallelism }: { readonly yieldsToOwners: boolean; readonly parallelism: number },
): readonly Segment[] {
  if (part.workers === 1) return remaining;
  const byDistance = Array.from({ length: part.workers }, (): Segment[] => []);
  for (const segment of remaining) byDistance[distanceTo(segment, plan, part)]?.push(segment);
  const [own = [], ...others] = byDistance;
  return [
    ...own,
    ...others.flatMap((segments) => segments.slice(yieldsToOwners ? leftTo(segments, parallelism) : 0).reverse()),
  ];
}

/** Returns how many of its segments another worker keeps: a little more than half. */
function leftTo({ length }: readonly Segment[], parallelism: number): number {
  return parallelism + Math.ceil(Math.max(0, length - parallelism) / 2);
}

/** Returns 0 if this worker owns the segment. Otherwise, returns how many worker numbers the owner is away. */
function distanceTo({ index }: Segment, { boundariesMs }: ExportPlan, part: WorkerPart): number {
  return remainder(boundariesMs.length - 2 - index - part.index, part.workers);
}

/** Returns the remainder of a division, which is never negative. The operator `%` can return a negative remainder. */
function remainder(dividend: number, divisor: number): number {
  return ((dividend % divisor) + divisor) % divisor;
}

/**
 * Divides one export's segments among several worker pods (E16). The workers do not communicate. If two workers search
 * the same interval, only one result is stored (E3).
 */
import type { ExportPlan, Segment } from '../../destination/plan-object.ts';

/** Index of one worker, and the number of all workers of an export. */
export interface WorkerIndex {
  /** Completion index of the pod, starting at 0. */
  readonly index: number;
  readonly workers: number;
}

/** Index and number of workers of an export that only one process runs. */
export const onlyWorker: WorkerIndex = { index: 0, workers: 1 };

/** Maximum time in ms that a worker waits for another worker if the other worker writes no new objects. */
export const otherWorkersTimeoutMs = 5 * 60_000;
/**
 * Returns the monotonic time from which a worker may replace the first worker. The worker with index 1 waits five
 * minutes, and each further worker waits five minutes longer.
 */
export function replacesFirstAtMs(othersSeenAtMs: number, { index }: WorkerIndex): number {
  return othersSeenAtMs + index * otherWorkersTimeoutMs;
}

/**
 * Maximum age in ms of a worker's last read of the other workers' objects. If its last read is older, a worker rereads
 * the objects before it starts a search.
 */
export const rereadMs = 3_000;
/** Interval in ms at which a worker reads new commit records of other workers while its own searches are running. */
export const busyRereadMs = 15_000;

/**
 * Returns the interval in ms at which an idle worker reads the objects of other workers. The interval grows with the
 * time since the last object that another worker wrote.
 */
export function idleRereadMs(sinceOthersMs: number): number {
  return Math.min(busyRereadMs, Math.max(1_000, sinceOthersMs / 10));
}

/**
 * Returns one worker's share of a limit. The shares of all workers add up to the limit, except that each share is at
 * least 1.
 */
export function limitOfWorker(limit: number, { index, workers }: WorkerIndex): number {
  return Math.max(1, Math.floor((limit + workers - 1 - index) / workers));
}

/**
 * Returns the segments that a worker may search: first its own segments, then segments of other workers. If
 * `yieldsToOwners` is true, each of the other workers keeps some segments. `parallelism` is the number of parallel
 * searches per worker.
 */
export function segmentsOfWorker(
  remaining: readonly Segment[],
  plan: ExportPlan,
  worker: WorkerIndex,
  { yieldsToOwners, parallelism }: { readonly yieldsToOwners: boolean; readonly parallelism: number },
): readonly Segment[] {
  if (worker.workers === 1) return remaining;
  const byDistance = Array.from({ length: worker.workers }, (): Segment[] => []);
  for (const segment of remaining) byDistance[distanceTo(segment, plan, worker)]?.push(segment);
  const [own = [], ...others] = byDistance;
  return [
    ...own,
    ...others.flatMap((segments) => segments.slice(yieldsToOwners ? leftTo(segments, parallelism) : 0).reverse()),
  ];
}

/**
 * Returns the number of segments that are left to their owner: as many as the owner searches in parallel, plus half of
 * the remaining segments.
 */
function leftTo({ length }: readonly Segment[], parallelism: number): number {
  return parallelism + Math.ceil(Math.max(0, length - parallelism) / 2);
}

/**
 * Returns the distance between this worker's index and the index of the segment's owner, counted cyclically. Returns 0
 * if this worker owns the segment.
 */
function distanceTo({ index }: Segment, { boundariesMs }: ExportPlan, worker: WorkerIndex): number {
  return remainder(boundariesMs.length - 2 - index - worker.index, worker.workers);
}

/** Returns the non-negative remainder of a division. The `%` operator can return a negative remainder. */
function remainder(dividend: number, divisor: number): number {
  return ((dividend % divisor) + divisor) % divisor;
}

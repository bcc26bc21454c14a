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

/** Time in ms after which a worker no longer waits for another worker that has written no new object. */
export const patienceMs = 5 * 60_000;
/**
 * Returns the monotonic time at which a worker may replace the first worker. Each worker waits five minutes longer than
 * the worker with the number before it.
 */
export function standInAtMs(othersSeenAtMs: number, { index }: WorkerPart): number {
  return othersSeenAtMs + index * patienceMs;
}

/** Time in ms after which a worker reads the objects of other workers again, before it starts a search. */
export const rereadMs = 3_000;
/** Time in ms after which a worker reads new commit records of other workers while its own searches are running. */
export const busyRereadMs = 15_000;

/**
 * Returns after how many ms an idle worker reads the objects of other workers: a tenth of the time since their newest
 * object.
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
 * Returns the segments that a worker may search, in order: first its own segments, then segments of other workers. If
 * `isPatient` is true, some segments are left to the workers that own them. `parallelism` is the number of parallel
 * searches of each worker.
 */
export function segmentsOfWorker(
  remaining: readonly Segment[],
  plan: ExportPlan,
  part: WorkerPart,
  { isPatient, parallelism }: { readonly isPatient: boolean; readonly parallelism: number },
): readonly Segment[] {
  if (part.workers === 1) return remaining;
  const byDistance = Array.from({ length: part.workers }, (): Segment[] => []);
  for (const segment of remaining) byDistance[distanceTo(segment, plan, part)]?.push(segment);
  const [own = [], ...others] = byDistance;
  return [
    ...own,
    ...others.flatMap((segments) => segments.slice(isPatient ? leftTo(segments, parallelism) : 0).reverse()),
  ];
}

/** Returns how many of another worker's segments are left to that worker: a little more than half. */
function leftTo({ length }: readonly Segment[], parallelism: number): number {
  return parallelism + Math.ceil(Math.max(0, length - parallelism) / 2);
}

/** Returns how many workers the owner of a segment is away from this worker; 0 if this worker is the owner. */
function distanceTo({ index }: Segment, { boundariesMs }: ExportPlan, part: WorkerPart): number {
  return remainder(boundariesMs.length - 2 - index - part.index, part.workers);
}

/** Returns the remainder of a division. Unlike the result of `%`, it is never negative. */
function remainder(dividend: number, divisor: number): number {
  return ((dividend % divisor) + divisor) % divisor;
}

/**
 * Division of one export's segments among several workers, the pods of its Kubernetes Job. Each worker decides alone, from the plan and the
 * commit records (E16). Two workers that search the same interval do no harm, because only one of them can commit it (E3).
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

/** Time in ms without a new object of another worker, after which a worker no longer waits for the others. */
export const patienceMs = 5 * 60_000;
/**
 * Monotonic time at which a worker may take over the plan and the digest from the first worker. While no other worker writes an object, one
 * more worker may take over every five minutes, so that the workers do not all repeat the same long search.
 */
export function standInAtMs(othersSeenAtMs: number, { index }: WorkerPart): number {
  return othersSeenAtMs + index * patienceMs;
}

/** Time in ms after which a worker reads again what other workers have written, before it starts a search. */
export const rereadMs = 3_000;
/** Time in ms after which a worker with running searches, and none to start, reads again which intervals other workers have committed. */
export const busyRereadMs = 15_000;

/**
 * Time in ms after which a worker without searches reads again what other workers have written: a tenth of the time since an object of
 * another worker was last found. The worker therefore notices new objects soon after a short wait, and spends few requests on a long wait.
 */
export function idleRereadMs(sinceOthersMs: number): number {
  return Math.min(busyRereadMs, Math.max(1_000, sinceOthersMs / 10));
}

/** Part of a limit of the export that applies to one worker. All parts add up to the limit, and each part is at least 1. */
export function partOf(limit: number, { index, workers }: WorkerPart): number {
  return Math.max(1, Math.floor((limit + workers - 1 - index) / workers));
}

/**
 * Segments that a worker may search, in the order of its searches. `isPatient` is false once the worker no longer waits for the other
 * workers. `parallelism` is the number of searches that each worker probably runs at the same time.
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

/**
 * Number of segments that this worker leaves to the worker that owns them: those that the owner probably searches now, and half of the
 * rest. This worker searches the other half, which it probably commits before the owner needs it.
 */
function leftTo({ length }: readonly Segment[], parallelism: number): number {
  return parallelism + Math.ceil(Math.max(0, length - parallelism) / 2);
}

/**
 * Number of steps from this worker to the owner of a segment, in the order of worker numbers; 0 if this worker is the owner. The first
 * worker owns the last segment of the plan, because its planning has already opened a search job for that segment.
 */
function distanceTo({ index }: Segment, { boundariesMs }: ExportPlan, part: WorkerPart): number {
  return remainder(boundariesMs.length - 2 - index - part.index, part.workers);
}

/** Returns the remainder of a division, which is never negative, unlike the result of `%`. */
function remainder(dividend: number, divisor: number): number {
  return ((dividend % divisor) + divisor) % divisor;
}

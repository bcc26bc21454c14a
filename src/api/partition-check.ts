/** Checks that an export does not have too many partitions (days or hours). */
import type { Explanation } from './finding.ts';
import type { TimeRange } from './time-range.ts';

const hourMs = 3_600_000;
const lengthsMs = { None: Number.POSITIVE_INFINITY, Day: 24 * hourMs, Hour: hourMs } as const;

/**
 * Maximum number of partitions. It is below 10,000, because one search may write a file for each partition, and a
 * commit record lists at most 10,000 files.
 */
const maxPartitions = 9_000;

/** Returns a problem if the time range has too many partitions. */
export function partitionProblem(
  partitionBy: keyof typeof lengthsMs,
  { fromMs, toMs }: TimeRange,
): Explanation | undefined {
  const count = Math.ceil((toMs - fromMs) / lengthsMs[partitionBy]);
  if (count <= maxPartitions) return undefined;
  const coarser = partitionBy === 'Hour' ? 'write Day, or export' : 'export';
  return {
    problem: `the range has ${count} partitions, more than ${maxPartitions}`,
    remedy: `${coarser} a shorter range`,
  };
}

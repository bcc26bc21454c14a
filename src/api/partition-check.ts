/** Checks that an export's time range does not have too many partitions (days or hours, each with files of its own). */
import type { Explanation } from './finding.ts';
import type { TimeRange } from './time-range.ts';

const hourMs = 3_600_000;
const lengthsMs = { None: Number.POSITIVE_INFINITY, Day: 24 * hourMs, Hour: hourMs } as const;

/**
 * Maximum number of partitions (days or hours) of an export. One search may find rows of all partitions, each in its own file, and a commit
 * record lists at most 10,000 files.
 */
const maxPartitions = 9_000;

/** Returns what is wrong with a time range that has too many partitions. Undefined if their number is allowed. */
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

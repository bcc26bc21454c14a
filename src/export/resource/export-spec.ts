/** Converts the spec of a SearchExport into settings and limits. */
import type { SearchExport } from '../../api/kinds.ts';
import { assert } from '../../base/assert.ts';
import { parseDuration } from '../../base/duration.ts';
import { parseQuantity } from '../../base/quantity.ts';
import type { ExportRequest } from '../search/export-definition.ts';
import type { WorkLimits } from '../work/work-view.ts';
import { limitOfWorker, onlyWorker } from '../work/worker-segments.ts';

/** Returns the settings that determine the rows and files of the export. */
export function requestOf({ metadata, spec }: SearchExport): ExportRequest {
  const { format, compression, fields, maxPartSize, csv, partitionBy, compressionLevel } = spec.output;
  return {
    ...spec,
    name: metadata.name,
    output: {
      ...{ format, compression, fields },
      maxPartBytes: read(maxPartSize, parseQuantity),
      // Only CSV files depend on `formulaGuard`, so this setting must not change the fingerprint for other formats.
      csv: { formulaGuard: csv?.formulaGuard ?? true },
      ...(compressionLevel === undefined ? {} : { compressionLevel }),
      ...(partitionBy === 'None' ? {} : { partitionBy }),
    },
  };
}

/**
 * Returns the limits of the export's work. `parallelism` and `maxBytesScanned` are divided among the workers.
 * `startedAtMs` is a wall-clock time.
 */
export function limitsOf(
  { spec }: SearchExport,
  startedAtMs: number,
  isPaused: boolean,
  worker = onlyWorker,
): WorkLimits {
  const { parallelism, limits, incompletePolicy, activeDeadlineSeconds, proof } = spec;
  return {
    isPaused,
    parallelism: limitOfWorker(parallelism, worker),
    settleDelayMs: read(spec.settleDelay, parseDuration),
    maxMessages: limits.maxMessages,
    maxBytesScanned:
      limits.maxBytesScanned === undefined
        ? undefined
        : limitOfWorker(read(limits.maxBytesScanned, parseQuantity), worker),
    deadlineMs: activeDeadlineSeconds === undefined ? undefined : startedAtMs + activeDeadlineSeconds * 1_000,
    ...{ incompletePolicy, proof },
  };
}

/**
 * Returns the number of workers of an export in a Kubernetes Job. An export has a single worker if its query cannot be
 * split, or if its spec limits the number of rows.
 */
export function workersOf({ execution, limits }: SearchExport['spec'], isSplittable: boolean): number {
  return isSplittable && limits.maxMessages === undefined ? (execution.job?.workers ?? 1) : 1;
}

/**
 * Parses a duration or a number of bytes. Throws if the text is invalid, because falling back to a delay of 0 could
 * lose late rows.
 */
function read(text: string, parse: (text: string) => number | undefined): number {
  const value = parse(text);
  assert(value !== undefined, `${text} is neither a duration nor a number of bytes`);
  return value;
}

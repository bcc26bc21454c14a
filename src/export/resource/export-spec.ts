/** Converts the spec of a SearchExport to settings and limits. */
import type { SearchExport } from '../../api/kinds.ts';
import { assert } from '../../base/assert.ts';
import { parseDuration } from '../../base/duration.ts';
import { parseQuantity } from '../../base/quantity.ts';
import type { ExportRequest } from '../search/export-definition.ts';
import type { WorkLimits } from '../work/work-view.ts';
import { onlyWorker, partOf } from '../work/worker-part.ts';

/** Returns the settings that determine the rows and files of the export. */
export function requestOf({ metadata, spec }: SearchExport): ExportRequest {
  const { format, compression, fields, maxPartSize, csv, partitionBy, compressionLevel } = spec.output;
  return {
    ...spec,
    name: metadata.name,
    output: {
      ...{ format, compression, fields },
      maxPartBytes: bytesOf(maxPartSize),
      // Only CSV files depend on `formulaGuard`, so this setting must not change the fingerprint of other formats.
      csv: { formulaGuard: csv?.formulaGuard ?? true },
      ...(compressionLevel === undefined ? {} : { compressionLevel }),
      ...(partitionBy === 'None' ? {} : { partitionBy }),
    },
  };
}

/**
 * Returns the limits of the export's work. `parallelism` and `maxBytesScanned` are divided among the workers.
 * `startedAtMs` is wall time.
 */
export function limitsOf(
  { spec }: SearchExport,
  startedAtMs: number,
  isPaused: boolean,
  part = onlyWorker,
): WorkLimits {
  const { parallelism, limits, incompletePolicy, activeDeadlineSeconds, proof } = spec;
  return {
    isPaused,
    parallelism: partOf(parallelism, part),
    settleDelayMs: durationOf(spec.settleDelay),
    maxMessages: limits.maxMessages,
    maxBytesScanned: limits.maxBytesScanned === undefined ? undefined : partOf(bytesOf(limits.maxBytesScanned), part),
    deadlineMs: activeDeadlineSeconds === undefined ? undefined : startedAtMs + activeDeadlineSeconds * 1_000,
    ...{ incompletePolicy, proof },
  };
}

/** Parses a duration. Throws if it is invalid, because a delay of 0 could lose late rows. */
function durationOf(text: string): number {
  const durationMs = parseDuration(text);
  assert(durationMs !== undefined, `${text} is not a duration`);
  return durationMs;
}

function bytesOf(quantity: string): number {
  const bytes = parseQuantity(quantity);
  assert(bytes !== undefined, `${quantity} is not an amount of bytes`);
  return bytes;
}

/** Translates a SearchExport into the request and the limits of the work. */
import type { SearchExport } from '../api/kinds.ts';
import { assert } from '../base/assert.ts';
import { parseDuration } from '../base/duration.ts';
import { parseQuantity } from '../base/quantity.ts';
import type { ExportRequest } from './search/export-task.ts';
import type { WorkLimits } from './work/work-view.ts';
import { onlyWorker, partOf } from './work/worker-part.ts';

/** Builds the request. The API server has validated the spec except for the time range. */
export function requestOf({ metadata, spec }: SearchExport): ExportRequest {
  const { format, compression, fields, maxPartSize, csv, partitionBy, compressionLevel } = spec.output;
  return {
    ...spec,
    name: metadata.name,
    output: {
      ...{ format, compression, fields },
      maxPartBytes: bytesOf(maxPartSize),
      // The option affects only CSV. For other formats it has a fixed value, so that it does not change the
      // fingerprint.
      csv: { formulaGuard: csv?.formulaGuard ?? true },
      ...(compressionLevel === undefined ? {} : { compressionLevel }),
      ...(partitionBy === 'None' ? {} : { partitionBy }),
    },
  };
}

/**
 * Builds the limits. `startedAtMs` is the wall time at which the export started. One of several workers gets its part of the limits on
 * search jobs and scanned bytes. The limit on rows needs no division, because the commit records show the rows of all workers.
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

/** A delay that cannot be parsed must not count as zero: rows that arrive late would be lost. */
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

/** A SearchExport in the words of those who work on it: what it is, and within which limits it is worked on. */
import type { SearchExport } from '../api/kinds.ts';
import { assert } from '../base/assert.ts';
import { parseDuration } from '../base/duration.ts';
import { parseQuantity } from '../base/quantity.ts';
import type { ExportRequest } from './export-task.ts';
import type { WorkLimits } from './work-view.ts';

/** The API server has seen to it that what the spec says can be read, but for the range of time. */
export function requestOf({ metadata, spec }: SearchExport): ExportRequest {
  const { query, timeRange, byReceiptTime, autoParsingMode, results, requiresRawMessages } = spec;
  const { format, compression, fields, maxPartSize, csv } = spec.output;
  return {
    name: metadata.name,
    query,
    timeRange,
    byReceiptTime,
    autoParsingMode,
    results,
    requiresRawMessages,
    output: {
      ...{ format, compression, fields },
      maxPartBytes: bytesOf(maxPartSize),
      // It decides nothing about files that are no CSV: one fingerprint for all of these.
      csv: { formulaGuard: csv?.formulaGuard ?? true },
    },
  };
}

/** `startedAtMs` is when the export began, on the wall clock. */
export function limitsOf({ spec }: SearchExport, startedAtMs: number, isPaused: boolean): WorkLimits {
  const { parallelism, limits, incompletePolicy, activeDeadlineSeconds, proof } = spec;
  return {
    isPaused,
    parallelism,
    settleDelayMs: durationOf(spec.settleDelay),
    maxMessages: limits.maxMessages,
    maxBytesScanned: limits.maxBytesScanned === undefined ? undefined : bytesOf(limits.maxBytesScanned),
    deadlineMs: activeDeadlineSeconds === undefined ? undefined : startedAtMs + activeDeadlineSeconds * 1_000,
    ...{ incompletePolicy, proof },
  };
}

/** Taken for none where it cannot be read, it would cost rows. */
function durationOf(text: string): number {
  const durationMs = parseDuration(text);
  assert(durationMs !== undefined, `${text} is no duration`);
  return durationMs;
}

function bytesOf(quantity: string): number {
  const bytes = parseQuantity(quantity);
  assert(bytes !== undefined, `${quantity} is no amount of bytes`);
  return bytes;
}

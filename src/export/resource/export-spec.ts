/** Converts the spec of a SearchExport into settings and limits. */
import { type HeldShare, type RequestLimits, shareSize } from '../../account/worker-shares.ts';
import type { SearchExport } from '../../api/kinds.ts';
import { assert } from '../../base/assert.ts';
import { parseDuration } from '../../base/duration.ts';
import { parseQuantity } from '../../base/quantity.ts';
import { type ExportRequest, whyUnsplittable } from '../search/export-definition.ts';
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
      // Only CSV files depend on `formulaGuard`. For other formats, this setting must not change the fingerprint.
      csv: { formulaGuard: csv?.formulaGuard ?? true },
      ...(compressionLevel === undefined ? {} : { compressionLevel }),
      ...(partitionBy === 'None' ? {} : { partitionBy }),
    },
  };
}

/** Returns the export's start time from its status (wall-clock time in ms), or undefined for a new export. */
export function startOf({ status }: Pick<SearchExport, 'status'>): number | undefined {
  return status?.startTime === undefined ? undefined : Date.parse(status.startTime);
}

/**
 * Returns the limits of the export's work. `parallelism` and `maxBytesScanned` are divided among the workers.
 * `startedAtMs` is a wall-clock time.
 */
export function limitsOf(
  { spec, status }: SearchExport,
  startedAtMs: number,
  isPaused: boolean,
  worker = onlyWorker,
): WorkLimits {
  const { parallelism, limits, incompletePolicy, activeDeadlineSeconds, proof } = spec;
  // A complete export has met its deadline, even if files were lost later and must be exported again.
  const hasDeadline = activeDeadlineSeconds !== undefined && status?.manifest === undefined;
  return {
    isPaused,
    parallelism: limitOfWorker(parallelism, worker),
    settleDelayMs: read(spec.settleDelay, parseDuration),
    maxMessages: limits.maxMessages,
    maxBytesScanned:
      limits.maxBytesScanned === undefined
        ? undefined
        : limitOfWorker(read(limits.maxBytesScanned, parseQuantity), worker),
    deadlineMs: hasDeadline ? startedAtMs + activeDeadlineSeconds * 1_000 : undefined,
    ...{ incompletePolicy, proof },
  };
}

/**
 * Returns the maximum number of workers of an export in a Kubernetes Job. An export has a single worker if its query
 * cannot be split, or if its spec limits the number of rows.
 */
export function workersOf(spec: Pick<SearchExport['spec'], 'query' | 'results' | 'execution' | 'limits'>): number {
  const isForOne = whyUnsplittable(spec) !== undefined || spec.limits.maxMessages !== undefined;
  return isForOne ? 1 : (spec.execution.job?.workers ?? 1);
}

/**
 * Returns the shares of a user's request limits for the workers of an export in a Kubernetes Job (B8). If the limits are
 * too low, returns a text that explains what to do.
 */
export function wantedShare(
  spec: SearchExport['spec'],
  limits: RequestLimits,
): Omit<HeldShare, 'user'> | { readonly problem: string } {
  const size = shareSize(limits);
  if (size) return { workers: Math.min(workersOf(spec), size.workers), share: size.share };
  const { requestsPerSecond, maxConcurrentRequests } = limits;
  const problem =
    `The limits of the service's user (${requestsPerSecond} requests per second, ${maxConcurrentRequests} concurrent requests) are too low for a Kubernetes Job: ` +
    'the operator and each worker need one request per second and two concurrent requests. ' +
    'Create another export with spec.execution.mode Operator, or raise requestsPerSecond and maxConcurrentRequests in the Secret.';
  return { problem };
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

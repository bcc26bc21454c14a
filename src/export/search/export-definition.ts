/** Derives an export's folder (E1), search jobs and file format from its spec. */
import { partitionProblem, readTimeRange, type TimeRangeText } from '../../api/export-time-range.ts';
import type { Explanation } from '../../api/finding.ts';
import { rewrittenField, rewrittenProblem } from '../../api/rewritten-field.ts';
import { splittability } from '../../api/splittable.ts';
import type { TimeRange } from '../../base/time-range.ts';
import { ExportLayout } from '../../destination/export-layout.ts';
import { type ExportIdentity, type ExportOutput, fingerprintOf } from '../../destination/fingerprint.ts';
import { type DescribedField, messageColumns, recordColumns } from '../../output/columns.ts';
import type { Compression } from '../../output/compression.ts';
import { type FileForm, fileForm, type OutputFormat } from '../../output/output-format.ts';
import type { JobOrder } from '../../service/jobs/search-service.ts';

/** Settings that determine an export's rows and files. */
export interface ExportRequest {
  /** Name of the resource and of its folder. */
  readonly name: string;
  readonly query: string;
  readonly timeRange: TimeRangeText;
  readonly byReceiptTime: boolean;
  readonly autoParsingMode: ExportIdentity['autoParsingMode'];
  readonly results: ExportIdentity['results'];
  /** True if the query must return messages. The default is true, except for an export of aggregation records. */
  readonly requiresRawMessages?: boolean | undefined;
  readonly output: ExportOutput;
}

export interface ExportDefinition {
  readonly identity: ExportIdentity;
  readonly fingerprint: string;
  readonly layout: ExportLayout;
  /** True if several searches of shorter time ranges find the same rows as a single search of the whole range (E8). */
  readonly isSplittable: boolean;
  /**
   * Reason, without a full stop, why the query cannot be split into several searches. Undefined if the query can be
   * split.
   */
  readonly unsplittableReason: string | undefined;
  /**
   * Returns the settings of a search job for an interval. If `isEndInclusive` is true, the job's range ends 1 ms
   * earlier (E10).
   */
  order(interval: TimeRange, isEndInclusive: boolean): JobOrder;
  /**
   * Returns the format of the files. The columns of CSV and Parquet files come from `described`, the service's
   * descriptions of the fields.
   */
  form(described: readonly DescribedField[]): FileForm;
}

/** Reason why an export with these settings is not possible. */
export interface RequestProblem extends Explanation {
  /** Field of the spec that causes the problem. */
  readonly member: string;
}

/** Builds the definition of an export. `serviceHost` is the hostname of the service, with its port if there is one. */
export function exportDefinition(request: ExportRequest, serviceHost: string): ExportDefinition | RequestProblem {
  const range = readTimeRange(request.timeRange);
  if ('problem' in range) return { ...range, member: `timeRange.${range.member}` };
  const tooMany = partitionProblem(request.output.partitionBy ?? 'None', range);
  if (tooMany) return { member: 'output.partitionBy', ...tooMany };
  const rewritten = request.results === 'Messages' ? rewrittenField(request.query) : undefined;
  if (rewritten !== undefined) return { member: 'query', ...rewrittenProblem(rewritten) };
  const { query, byReceiptTime, autoParsingMode, results, output } = request;
  const identity: ExportIdentity = {
    serviceHost,
    query,
    ...range,
    timeZone: request.timeRange.timeZone ?? 'UTC',
    byReceiptTime,
    autoParsingMode,
    results,
    requiresRawMessages: request.requiresRawMessages ?? results === 'Messages',
    output,
  };
  const fingerprint = fingerprintOf(identity);
  const unsplittableReason = whyUnsplittable(identity);
  return {
    identity,
    fingerprint,
    layout: ExportLayout.of(request.name, fingerprint),
    isSplittable: unsplittableReason === undefined,
    unsplittableReason,
    order: (interval, isEndInclusive) => orderOf(identity, interval, isEndInclusive),
    form: (described) => fileForm(formatOf(identity, described), compressionOf(output)),
  };
}

/** Appends operators on a new line, because the query may end with a comment. */
export function withOperators(order: JobOrder, operators: string): JobOrder {
  return { ...order, query: `${order.query}\n| ${operators}` };
}

/**
 * Returns the reason, without a full stop, why a query cannot be split into several searches. Returns undefined if the
 * query can be split (E8).
 */
export function whyUnsplittable({ query, results }: Pick<ExportIdentity, 'query' | 'results'>): string | undefined {
  if (results === 'Records') return 'records are computed from the whole range';
  const split = splittability(query);
  return split.isSplittable ? undefined : split.reason;
}

function orderOf(identity: ExportIdentity, { fromMs, toMs }: TimeRange, isEndInclusive: boolean): JobOrder {
  const { query, timeZone, byReceiptTime, autoParsingMode, requiresRawMessages } = identity;
  const lastMs = isEndInclusive ? toMs - 1 : toMs;
  return { query, fromMs, toMs: lastMs, timeZone, byReceiptTime, autoParsingMode, requiresRawMessages };
}

/** Default compression levels, chosen for speed and size (docs/performance.md, "Levels of compression"). */
const gzipLevel = 5;
const zstdLevel = 3;

function compressionOf({ compression, compressionLevel }: ExportOutput): Compression {
  switch (compression) {
    case 'None':
      return { kind: 'none' };
    case 'Gzip':
      return { kind: 'gzip', level: compressionLevel ?? gzipLevel };
    case 'Zstd':
      return { kind: 'zstd', level: compressionLevel ?? zstdLevel };
  }
}

function formatOf({ results, output }: ExportIdentity, described: readonly DescribedField[]): OutputFormat {
  const { format, fields, csv } = output;
  if (format === 'NDJSON') return { kind: 'ndjson', fields };
  const columns = results === 'Messages' ? messageColumns(fields, described) : recordColumns(fields, described);
  return format === 'Parquet' ? { kind: 'parquet', columns } : { kind: 'csv', columns, formulaGuard: csv.formulaGuard };
}

/**
 * What one export is to do, from what a manifest says: its identity and the folder that follows from it (E1), what is sent to the
 * service for an interval, and the form of its files. Plain data in, so that the command line and the operator mean the same by it.
 *
 * Leaves to others: where the files go, how much may run at once, and everything that is found out on the way.
 */
import { rewrittenField, rewrittenProblem } from '../api/rewritten-field.ts';
import { splittability } from '../api/splittable.ts';
import { readTimeRange, type TimeRangeText } from '../api/time-range.ts';
import { ExportLayout } from '../destination/export-layout.ts';
import { type ExportIdentity, type ExportOutput, fingerprintOf } from '../destination/fingerprint.ts';
import { type DescribedField, messageColumns, recordColumns } from '../output/columns.ts';
import type { Compression } from '../output/compression.ts';
import { type FileForm, fileForm, type OutputFormat } from '../output/output-format.ts';
import type { JobOrder } from '../service/search-service.ts';
import type { Interval } from './cut.ts';

/** As a manifest has it, with everything filled in that has a default of its own. */
export interface ExportRequest {
  /** Of the resource; the folder of its files is called so. */
  readonly name: string;
  readonly query: string;
  readonly timeRange: TimeRangeText;
  readonly byReceiptTime: boolean;
  readonly autoParsingMode: ExportIdentity['autoParsingMode'];
  readonly results: ExportIdentity['results'];
  /** True for messages and false for records where absent. */
  readonly requiresRawMessages?: boolean | undefined;
  readonly output: ExportOutput;
}

export interface ExportTask {
  readonly identity: ExportIdentity;
  readonly fingerprint: string;
  readonly layout: ExportLayout;
  /** E8. */
  readonly isSplittable: boolean;
  /** Why not, a sentence without its full stop; undefined where it is. */
  readonly unsplittableReason: string | undefined;
  /** What to send for an interval; `isEndInclusive` as `ServiceTraits` has it (E10). */
  order(interval: Interval, isEndInclusive: boolean): JobOrder;
  /** Which columns files have depends on what the service describes (2.4); NDJSON does not ask for it. */
  form(described: readonly DescribedField[]): FileForm;
}

/** Why no export can be made of a request. */
export interface RequestProblem {
  /** Member of the spec. */
  readonly member: string;
  /** A sentence for people, without its full stop. */
  readonly problem: string;
}

/** `serviceHost` is the host of the service's address, with its port where it has one. */
export function exportTask(request: ExportRequest, serviceHost: string): ExportTask | RequestProblem {
  const range = readTimeRange(request.timeRange);
  if ('problem' in range) return { ...range, member: `timeRange.${range.member}` };
  const rewritten = request.results === 'Messages' ? rewrittenField(request.query) : undefined;
  if (rewritten !== undefined) return { member: 'query', problem: rewrittenProblem(rewritten) };
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
    form: (described) => fileForm(formatOf(identity, described), compressions[output.compression]),
  };
}

/** The same search with more operators behind its own, which a comment at the query's end does not swallow. */
export function withOperators(order: JobOrder, operators: string): JobOrder {
  return { ...order, query: `${order.query}\n| ${operators}` };
}

function whyUnsplittable({ query, results }: ExportIdentity): string | undefined {
  if (results === 'Records') return 'records are made of the whole range';
  const split = splittability(query);
  return split.isSplittable ? undefined : split.reason;
}

function orderOf(identity: ExportIdentity, { fromMs, toMs }: Interval, isEndInclusive: boolean): JobOrder {
  const { query, timeZone, byReceiptTime, autoParsingMode, requiresRawMessages } = identity;
  const lastMs = isEndInclusive ? toMs - 1 : toMs;
  return { query, fromMs, toMs: lastMs, timeZone, byReceiptTime, autoParsingMode, requiresRawMessages };
}

/** What people expect of gzip; the packing runs beside the reading. */
const gzipLevel = 6;
const zstdLevel = 3;

const compressions: Readonly<Record<ExportOutput['compression'], Compression>> = {
  None: { kind: 'none' },
  Gzip: { kind: 'gzip', level: gzipLevel },
  Zstd: { kind: 'zstd', level: zstdLevel },
};

function formatOf({ results, output }: ExportIdentity, described: readonly DescribedField[]): OutputFormat {
  const { format, fields, csv } = output;
  if (format === 'NDJSON') return { kind: 'ndjson', fields };
  const columns = results === 'Messages' ? messageColumns(fields, described) : recordColumns(fields, described);
  return format === 'Parquet' ? { kind: 'parquet', columns } : { kind: 'csv', columns, formulaGuard: csv.formulaGuard };
}

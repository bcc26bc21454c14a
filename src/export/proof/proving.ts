/**
 * Requests counts from the service, and compares them with the written rows (`digest.ts`, E6). Intervals that were
 * searched by receipt time are first compared as a whole. If there is a difference, they are halved repeatedly until
 * the differing intervals are found.
 */
import { failure, type LogfleetError } from '../../base/errors.ts';
import type { TimeRange } from '../../base/time-range.ts';
import type { CommitRecord, RepeatedMessage } from '../../destination/commit-record.ts';
import type { DifferingRange, DigestVerdict, ProvenRange } from '../../destination/digest-verdict.ts';
import { joinProven } from '../../destination/proof-range.ts';
import type { Aggregated } from '../../service/jobs/aggregation.ts';
import type { JobOrder } from '../../service/jobs/search-service.ts';
import type { ServiceError } from '../../service/requests/service-error.ts';
import { aggregate, isRefused, notCounted } from '../search/interval-count.ts';
import type { JobSet } from '../search/job-set.ts';
import type { SearchTools } from '../search/search-tools.ts';
import { digestSliceLength } from '../search/slice-length.ts';
import {
  againOf,
  areWhole,
  compare,
  confirmedOf,
  confirmOperators,
  type DigestGroup,
  type DigestSlice,
  digestOperators,
  digestSlices,
  groupsOf,
  hasUnconfirmed,
  rangeOf,
  repeatedOf,
} from './digest.ts';

export interface ProvingTools extends Pick<SearchTools, 'definition' | 'quirks'> {
  /** Search jobs that run the aggregations. */
  readonly jobs: JobSet;
}

/** Result of comparing all unchecked intervals with the service's counts. */
export interface DigestResult {
  readonly proven: readonly ProvenRange[];
  readonly differing: readonly DifferingRange[];
  /**
   * Ranges with more repeated rows than one query can list. It is unknown whether the service stores these rows more
   * than once.
   */
  readonly unconfirmed: ReadonlySet<DifferingRange>;
  /** New segments for the ranges with a difference, which are searched again. */
  readonly segments: readonly TimeRange[];
}

interface ComparedGroup {
  readonly group: DigestGroup;
  readonly comparison: ReturnType<typeof compare>;
}

/**
 * Compares the rows of the intervals with the service's counts. `round` is 1 for the first comparison. Rejects with the
 * service's error or an `AbortError`.
 */
export async function prove(
  intervals: readonly CommitRecord[],
  round: number,
  tools: ProvingTools,
): Promise<DigestResult> {
  const { definition, quirks } = tools;
  const { byReceiptTime } = definition.identity;
  // A commit record can show that the service also returns rows at the exclusive end of a range. In that case, the
  // aggregations exclude these rows (E10).
  if (intervals.some(({ endInclusive }) => endInclusive)) quirks.isEndInclusive = true;
  const compared: ComparedGroup[] = [];
  for (const run of runsOf(intervals)) compared.push(...(await compareRun(run, tools)));
  const differing = compared.flatMap(({ group, comparison }) =>
    comparison.kind === 'differs' ? [{ range: comparison.range, group }] : [],
  );
  return {
    proven: joinProven(compared.flatMap(({ comparison }) => (comparison.kind === 'same' ? [comparison.range] : []))),
    differing: differing.map(({ range }) => range),
    unconfirmed: new Set(differing.filter(({ group }) => hasUnconfirmed(group)).map(({ range }) => range)),
    segments: differing.flatMap(({ group }) => againOf(group, { byReceiptTime, round })),
  };
}

/** Compares the written rows of adjacent intervals with the service's counts, using one aggregation. */
async function compareRun(run: readonly CommitRecord[], tools: ProvingTools): Promise<readonly ComparedGroup[]> {
  const slices = await requestDigest(rangeOf(run), tools);
  if (!tools.definition.identity.byReceiptTime) {
    const compared: ComparedGroup[] = [];
    for (const group of groupsOf(run, slices)) compared.push(await compareGroup(group, tools));
    return compared;
  }
  const whole = await compareGroup({ intervals: run, slices }, tools);
  if (whole.comparison.kind === 'same' || run.length === 1) return [whole];
  const middle = run.length >> 1;
  const halves = [...(await compareRun(run.slice(0, middle), tools)), ...(await compareRun(run.slice(middle), tools))];
  const isFound = halves.some(({ comparison }) => comparison.kind === 'differs');
  const groups = halves.map(({ group }) => group);
  // The whole range differs. If neither half differs, the results of the halves are used only if the service's row
  // counts of the halves add up to its row count of the whole range. Otherwise, the service's counts contradict each
  // other.
  return isFound || areWhole(whole.group, groups) ? halves : [whole];
}

async function compareGroup(group: DigestGroup, tools: ProvingTools): Promise<ComparedGroup> {
  const comparison = compare(group);
  const repeated = comparison.kind === 'differs' ? repeatedOf(group) : undefined;
  const confirmed = repeated && (await confirm(group, repeated, tools));
  return { group, comparison: confirmed ? compare(group, confirmed) : comparison };
}

async function requestDigest(
  range: TimeRange,
  { definition, quirks, jobs }: ProvingTools,
): Promise<readonly DigestSlice[]> {
  const { byReceiptTime } = definition.identity;
  const { text, lengthMs } = digestSliceLength(definition.identity);
  for (;;) {
    const isMoved = quirks.isEndInclusive;
    // Some services also return rows at the exclusive end of a range. For such a service, the query excludes these rows
    // (E10).
    const before = isMoved ? `where ${byReceiptTime ? '_receipttime' : '_messagetime'} < ${range.toMs} | ` : '';
    const { records, messageCount } = await request(
      definition.order(range, false),
      before + digestOperators(text),
      jobs,
    );
    const slices = digestSlices(records, lengthMs);
    // A response without records is valid if the range has no rows.
    if (!slices || (slices.length === 0 && messageCount > 0)) throw notCounted();
    const isAtEnd = !byReceiptTime && slices.some(({ newestMs }) => newestMs?.value === range.toMs);
    if (!isAtEnd || isMoved) return slices;
    quirks.isEndInclusive = true;
  }
}

/** Asks the service how many copies of each repeated message it stores. */
async function confirm(
  group: DigestGroup,
  repeated: readonly RepeatedMessage[],
  { definition, quirks, jobs }: ProvingTools,
) {
  const times = repeated.map(({ atMs }) => atMs);
  const range = definition.identity.byReceiptTime
    ? rangeOf(group.intervals)
    : { fromMs: Math.min(...times), toMs: Math.max(...times) + 1 };
  const order = definition.order(range, quirks.isEndInclusive);
  const { records } = await request(order, confirmOperators(repeated), jobs);
  return confirmedOf(records, repeated);
}

async function request(
  order: JobOrder,
  operators: string,
  jobs: JobSet,
): Promise<Extract<Aggregated, { kind: 'records' }>> {
  const aggregated = await aggregate(order, operators, jobs).catch((thrown: unknown) => {
    throw isRefused(thrown) ? digestRefused(thrown) : thrown;
  });
  if (aggregated.kind === 'records') return aggregated;
  throw digestErrors(aggregated.errors);
}

/**
 * Returns the result of a comparison in its stored form. If `isFlagged` is true, ranges with a difference are marked as
 * incomplete. Otherwise, they are searched again.
 */
export function digestVerdictOf(
  round: number,
  { proven, differing, segments }: DigestResult,
  isFlagged: boolean,
): DigestVerdict {
  return isFlagged
    ? { round, proven, differing: [], segments: [], incomplete: differing }
    : { round, proven, differing, segments, incomplete: [] };
}

/** Groups intervals that follow one another without gaps. */
function runsOf(intervals: readonly CommitRecord[]): readonly (readonly CommitRecord[])[] {
  const runs: CommitRecord[][] = [];
  for (const interval of intervals) {
    const run = runs.at(-1);
    if (run?.at(-1)?.toMs === interval.fromMs) run.push(interval);
    else runs.push([interval]);
  }
  return runs;
}

function digestRefused(cause: ServiceError): LogfleetError {
  const { serviceCode = 'no code' } = cause;
  const message = `The service refuses the aggregation that logfleet uses to prove that no row is missing (${serviceCode}): set spec.proof to Count to compare only the row counts of the searches.`;
  return failure('stall', 'export.digestRefused', message, { reason: 'CountMissing', cause });
}

function digestErrors(errors: readonly string[]): LogfleetError {
  const message = `logfleet cannot prove that no row is missing, because the aggregation for this proof reported errors: ${errors.slice(0, 3).join('; ')}.`;
  return failure('backoff', 'export.digestErrors', message, { reason: 'CountMissing' });
}

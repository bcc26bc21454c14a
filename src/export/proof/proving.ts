/**
 * Requests the digest of the written rows from the service, and compares both (E6, `digest.ts`). One aggregation covers each contiguous
 * unproven range. By receipt time only the values of the whole range are compared, because the service slices by message time. If these values
 * differ, the range is halved until the differing intervals are found.
 *
 * Invariant: the digest of a range starts after the last search of that range has ended. Proving writes nothing.
 */
import { failure, type LogfleetError } from '../../base/errors.ts';
import type { CommitRecord, RepeatedMessage } from '../../destination/commit-record.ts';
import type { DifferingRange, DigestVerdict, ProvenRange, TimeRange } from '../../destination/digest-verdict.ts';
import { joinProven } from '../../destination/proof-range.ts';
import type { Aggregated } from '../../service/jobs/aggregation.ts';
import type { JobOrder } from '../../service/jobs/search-service.ts';
import type { ServiceError } from '../../service/requests/service-error.ts';
import { aggregate, isRefused, notCounted } from '../search/aggregation.ts';
import type { JobSet } from '../search/job-set.ts';
import type { SearchTools } from '../search/search-tools.ts';
import { sliceLength } from '../search/slice-length.ts';
import {
  againOf,
  compare,
  confirmedOf,
  confirmOperators,
  type DigestGroup,
  type DigestSlice,
  digestOperators,
  digestSlices,
  groupsOf,
  rangeOf,
  repeatedOf,
} from './digest.ts';

export interface ProvingTools extends Pick<SearchTools, 'task' | 'quirks'> {
  /** Search jobs of the aggregations. Aborting their signal ends the comparison. */
  readonly jobs: JobSet;
}

/** Result of the digest of all unproven intervals. */
export interface DigestResult {
  readonly proven: readonly ProvenRange[];
  readonly differing: readonly DifferingRange[];
  /** Segments in which the differing ranges are searched again. */
  readonly segments: readonly TimeRange[];
}

interface ComparedGroup {
  readonly group: DigestGroup;
  readonly comparison: ReturnType<typeof compare>;
}

/** Slices for a digest by receipt time. Their length does not matter, because the values of all slices are added up. */
const receiptSlice = { text: '1d', lengthMs: 86_400_000 };

/**
 * Requests the digests of intervals in order of time, and compares them with the written rows. `round` counts the digests of the export
 * from 1. Rejects with the service's error or an `AbortError`.
 */
export async function prove(
  intervals: readonly CommitRecord[],
  round: number,
  tools: ProvingTools,
): Promise<DigestResult> {
  const { task, quirks } = tools;
  const { byReceiptTime } = task.identity;
  // The commit records show whether a former process has seen that the service includes the end of a range.
  if (intervals.some(({ endInclusive }) => endInclusive)) quirks.isEndInclusive = true;
  const compared: ComparedGroup[] = [];
  for (const run of runsOf(intervals)) compared.push(...(await compareRun(run, tools)));
  const differing = compared.flatMap(({ group, comparison }) =>
    comparison.kind === 'differs' ? [{ range: comparison.range, group }] : [],
  );
  return {
    proven: joinProven(compared.flatMap(({ comparison }) => (comparison.kind === 'same' ? [comparison.range] : []))),
    differing: differing.map(({ range }) => range),
    segments: differing.flatMap(({ group }) => againOf(group, { byReceiptTime, round })),
  };
}

/** Compares adjacent intervals with an aggregation that covers all of them. */
async function compareRun(run: readonly CommitRecord[], tools: ProvingTools): Promise<readonly ComparedGroup[]> {
  const slices = await requestDigest(rangeOf(run), tools);
  if (!tools.task.identity.byReceiptTime) {
    const compared: ComparedGroup[] = [];
    for (const group of groupsOf(run, slices)) compared.push(await compareGroup(group, tools));
    return compared;
  }
  const whole = await compareGroup({ intervals: run, slices }, tools);
  if (whole.comparison.kind === 'same' || run.length === 1) return [whole];
  const middle = run.length >> 1;
  return [...(await compareRun(run.slice(0, middle), tools)), ...(await compareRun(run.slice(middle), tools))];
}

async function compareGroup(group: DigestGroup, tools: ProvingTools): Promise<ComparedGroup> {
  const comparison = compare(group);
  const repeated = comparison.kind === 'differs' ? repeatedOf(group) : undefined;
  const confirmed = repeated && (await confirm(group, repeated, tools));
  return { group, comparison: confirmed ? compare(group, confirmed) : comparison };
}

async function requestDigest(range: TimeRange, { task, quirks, jobs }: ProvingTools): Promise<readonly DigestSlice[]> {
  const { byReceiptTime } = task.identity;
  const { text, lengthMs } = byReceiptTime ? receiptSlice : sliceLength(task.identity);
  for (;;) {
    const isMoved = quirks.isEndInclusive;
    // The end of the requested range stays, and a condition in the query excludes rows at an inclusive end. If a row with a wrong time had
    // made the end look inclusive, an earlier end would hide the last millisecond from the digest (E10).
    const before = isMoved ? `where ${byReceiptTime ? '_receipttime' : '_messagetime'} < ${range.toMs} | ` : '';
    const { records, messageCount } = await request(task.order(range, false), before + digestOperators(text), jobs);
    const slices = digestSlices(records, lengthMs);
    // Some services return no record for zero rows, which is a valid digest without slices.
    if (!slices || (slices.length === 0 && messageCount > 0)) throw notCounted();
    const isAtEnd = !byReceiptTime && slices.some(({ newestMs }) => newestMs?.value === range.toMs);
    if (!isAtEnd || isMoved) return slices;
    quirks.isEndInclusive = true;
  }
}

/**
 * Asks the service how many copies it stores of each message that was received more than once. An aggregation counts them, so errors in
 * pages do not affect the number.
 */
async function confirm(group: DigestGroup, repeated: readonly RepeatedMessage[], { task, quirks, jobs }: ProvingTools) {
  const times = repeated.map(({ atMs }) => atMs);
  const range = task.identity.byReceiptTime
    ? rangeOf(group.intervals)
    : { fromMs: Math.min(...times), toMs: Math.max(...times) + 1 };
  const order = task.order(range, quirks.isEndInclusive);
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

/** Creates the verdict of a digest round. Ranges with differences are searched again, or flagged as incomplete after the last round. */
export function verdictOf(
  round: number,
  { proven, differing, segments }: DigestResult,
  isFlagged: boolean,
): DigestVerdict {
  return isFlagged
    ? { round, proven, differing: [], segments: [], incomplete: differing }
    : { round, proven, differing, segments, incomplete: [] };
}

/** Groups intervals that follow each other without a gap. */
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
  const what = `The service refuses the aggregation that proves the rows (${serviceCode})`;
  const advice = 'set spec.proof to Count, so that logfleet proves the rows only by the counts of their searches';
  return failure('stall', 'export.digestRefused', `${what}: ${advice}.`, { reason: 'CountMissing', cause });
}

function digestErrors(errors: readonly string[]): LogfleetError {
  const message = `The aggregation that proves the rows reported errors: ${errors.slice(0, 3).join('; ')}.`;
  return failure('backoff', 'export.digestErrors', message, { reason: 'CountMissing' });
}

/**
 * Asks the service for the digest of what was searched, once all of it is, and says what it has shown (E6, `digest.ts`). By message time
 * one aggregation covers all that is not proven yet and lies together; by receipt time, whose slices are none of message time, one covers
 * one interval.
 *
 * Invariant: a digest begins after the last search of its range has ended. Nothing is written here.
 */
import { LogfleetError } from '../base/errors.ts';
import type { CommitRecord, RepeatedMessage } from '../destination/commit-record.ts';
import type { DifferingRange, DigestVerdict, ProvenRange, TimeRange } from '../destination/digest-verdict.ts';
import type { JobOrder } from '../service/search-service.ts';
import type { ServiceError } from '../service/service-error.ts';
import { type Aggregated, aggregate, notCounted } from './aggregation.ts';
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
  joinProven,
  repeatedOf,
} from './digest.ts';
import { isRefused } from './interval-count.ts';
import { JobSet } from './job-set.ts';
import type { JobView, SearchTools } from './search-tools.ts';
import { sliceLength } from './slice-counts.ts';

/** A range whose digest differs is searched again so often. */
export const mostRounds = 3;

export type ProvingTools = Pick<SearchTools, 'jobs' | 'task' | 'traits' | 'clock'>;

export interface ProvingOptions {
  /** What is to be proven, in order of time. */
  readonly intervals: readonly CommitRecord[];
  /** The round whose verdict comes of it, from 1. */
  readonly round: number;
  /** So many aggregations run side by side at most. */
  readonly parallelism: number;
  /** Ends it. */
  readonly signal: AbortSignal;
  readonly onNews: () => void;
}

/** What a digest has shown. */
export interface Shown {
  readonly proven: readonly ProvenRange[];
  readonly differing: readonly DifferingRange[];
  /** How what differs is searched again. */
  readonly segments: readonly TimeRange[];
}

interface ComparedGroup {
  readonly group: DigestGroup;
  readonly comparison: ReturnType<typeof compare>;
}

/** What of 10,000 slices is a slice of receipt time: any length does, since they are added up. */
const receiptSlice = { text: '1d', lengthMs: 86_400_000 };

export class Proving {
  readonly jobs: JobSet;
  readonly #tools: ProvingTools;
  readonly #options: ProvingOptions;

  constructor(tools: ProvingTools, options: ProvingOptions) {
    this.#tools = tools;
    this.#options = options;
    this.jobs = new JobSet({ ...tools, signal: options.signal, onNews: options.onNews });
  }

  get views(): readonly JobView[] {
    return this.jobs.views;
  }

  get scannedBytes(): number {
    return this.jobs.scannedBytes;
  }

  /** Rejects with what keeps the service from counting, or with the signal's reason. No job of it is alive then. */
  async run(): Promise<Shown> {
    const { task, traits } = this.#tools;
    const { intervals, parallelism, round } = this.#options;
    const { byReceiptTime } = task.identity;
    // Of a process before this one, perhaps.
    if (intervals.some(({ endInclusive }) => endInclusive)) traits.isEndInclusive = true;
    const runs = byReceiptTime ? intervals.map((interval) => [interval]) : runsOf(intervals);
    try {
      const compared = (await inParallel(runs, parallelism, (run) => this.#compareRun(run))).flat();
      const differing = compared.flatMap(({ group, comparison }) =>
        comparison.kind === 'differs' ? [{ range: comparison.range, group }] : [],
      );
      return {
        proven: joinProven(
          compared.flatMap(({ comparison }) => (comparison.kind === 'same' ? [comparison.range] : [])),
        ),
        differing: differing.map(({ range }) => range),
        segments: differing.flatMap(({ group }) => againOf(group, { byReceiptTime, round })),
      };
    } finally {
      await this.jobs.closeAll();
    }
  }

  async #compareRun(run: readonly CommitRecord[]): Promise<readonly ComparedGroup[]> {
    const range = rangeOf(run);
    const slices = await this.#digest(range);
    // One aggregation of one interval: whenever its messages happened, they are of it.
    const groups = this.#byReceiptTime ? [{ intervals: run, slices }] : groupsOf(run, slices);
    const compared: ComparedGroup[] = [];
    for (const group of groups) compared.push(await this.#compare(group));
    return compared;
  }

  async #compare(group: DigestGroup): Promise<ComparedGroup> {
    const comparison = compare(group);
    const repeated = comparison.kind === 'differs' ? repeatedOf(group) : undefined;
    const confirmed = repeated && (await this.#confirm(group, repeated));
    return { group, comparison: confirmed ? compare(group, confirmed) : comparison };
  }

  async #digest(range: TimeRange): Promise<readonly DigestSlice[]> {
    const { task, traits } = this.#tools;
    const { text, lengthMs } = this.#byReceiptTime ? receiptSlice : sliceLength(task.identity);
    for (;;) {
      const isMoved = traits.isEndInclusive;
      const operators = isMoved ? `${this.#before(range)} | ${digestOperators(text)}` : digestOperators(text);
      const { records, messageCount } = await this.#aggregate(task.order(range, false), operators);
      const slices = digestSlices(records, lengthMs);
      // Some services have no record of nothing.
      if (!slices || (slices.length === 0 && messageCount > 0)) throw notCounted();
      const isAtEnd = !this.#byReceiptTime && slices.some(({ newestMs }) => newestMs?.value === range.toMs);
      if (!isAtEnd || isMoved) return slices;
      traits.isEndInclusive = true;
    }
  }

  /**
   * Leaves out rows at an inclusive end. The end that is sent stays where it is: one row with a wrong time may have shown the end as
   * inclusive, and an earlier end would hide the last millisecond from the digest, too (E10).
   */
  #before({ toMs }: TimeRange): string {
    return `where ${this.#byReceiptTime ? '_receipttime' : '_messagetime'} < ${toMs}`;
  }

  /** Whether the service has these as often as they came. A lie of the pages cannot show here. */
  async #confirm(group: DigestGroup, repeated: readonly RepeatedMessage[]) {
    const { fromMs, toMs } = rangeOf(group.intervals);
    const times = repeated.map(({ atMs }) => atMs);
    const range = this.#byReceiptTime ? { fromMs, toMs } : { fromMs: Math.min(...times), toMs: Math.max(...times) + 1 };
    const { task, traits } = this.#tools;
    const order = task.order(range, traits.isEndInclusive);
    const { records } = await this.#aggregate(order, confirmOperators(repeated));
    return confirmedOf(records, repeated);
  }

  async #aggregate(order: JobOrder, operators: string): Promise<Extract<Aggregated, { kind: 'records' }>> {
    const { clock } = this.#tools;
    const tools = { jobs: this.jobs, clock, signal: this.#options.signal };
    const aggregated = await aggregate(order, operators, tools).catch((thrown: unknown) => {
      throw isRefused(thrown) ? digestRefused(thrown) : thrown;
    });
    if (aggregated.kind === 'records') return aggregated;
    throw digestErrors(aggregated.errors);
  }

  get #byReceiptTime(): boolean {
    return this.#tools.task.identity.byReceiptTime;
  }
}

/** The verdict of a round: what differs is searched again, or flagged. */
export function verdictOf(round: number, { proven, differing, segments }: Shown, isFlagged: boolean): DigestVerdict {
  return isFlagged
    ? { round, proven, differing: [], segments: [], incomplete: differing }
    : { round, proven, differing, segments, incomplete: [] };
}

/** Intervals that follow one another without a gap. */
function runsOf(intervals: readonly CommitRecord[]): readonly (readonly CommitRecord[])[] {
  const runs: CommitRecord[][] = [];
  for (const interval of intervals) {
    const run = runs.at(-1);
    if (run?.at(-1)?.toMs === interval.fromMs) run.push(interval);
    else runs.push([interval]);
  }
  return runs;
}

function rangeOf(intervals: readonly CommitRecord[]): TimeRange {
  return { fromMs: intervals[0]?.fromMs ?? 0, toMs: intervals.at(-1)?.toMs ?? 0 };
}

/** Results in the order of the items. The first failure ends it; what runs then is waited for. */
async function inParallel<T, R>(
  items: readonly T[],
  most: number,
  act: (item: T) => Promise<R>,
): Promise<readonly R[]> {
  const results: R[] = [];
  let next = 0;
  let hasFailed = false;
  const worker = async () => {
    while (next < items.length && !hasFailed) {
      const index = next++;
      try {
        results[index] = await act(items[index] as T);
      } catch (error) {
        hasFailed = true;
        throw error;
      }
    }
  };
  const ends = await Promise.allSettled(Array.from({ length: Math.min(most, items.length) }, worker));
  for (const end of ends) if (end.status === 'rejected') throw end.reason;
  return results;
}

function digestRefused(cause: ServiceError): LogfleetError {
  const { serviceCode = 'no code', handling } = cause;
  const what = `The service refuses the aggregation by which the rows are proven (${serviceCode})`;
  const advice = 'set spec.proof to Count, and the manifest says that the counts of searches are all that proves them';
  return new LogfleetError({
    ...{ code: 'export.digestRefused', message: `${what}: ${advice}.`, handling, cause },
    reason: 'CountMissing',
  });
}

function digestErrors(errors: readonly string[]): LogfleetError {
  const found = errors.slice(0, 3).join('; ');
  return new LogfleetError({
    code: 'export.digestErrors',
    message: `The aggregation by which the rows are proven brought errors: ${found}.`,
    handling: { kind: 'backoff' },
    reason: 'CountMissing',
  });
}

/**
 * Plans an export: divides its time range into segments and writes the plan at the destination (E2). The search job used for planning
 * becomes the export's first search.
 *
 * This job searches the whole range, so a small export needs no other job. If the service cuts this search short, the rest of the range is
 * divided by the number of rows in it: the service counts the rows (`slice-counts.ts`), or logfleet estimates them. A query that cannot be
 * run for shorter time ranges (E8) gets one segment.
 *
 * While an export waits until its range is old enough (E11), a small test search shows users mistakes in credentials and query.
 *
 * Invariant: the segments always cover the range. Every opened search job is closed or handed over.
 */
import { isDeepStrictEqual } from 'node:util';
import { crossing } from '../../base/boundary.ts';
import { sleep } from '../../base/clock.ts';
import { asLogfleetError } from '../../base/errors.ts';
import { type ExportPlan, type PlannedField, settlePlan } from '../../destination/plan-object.ts';
import type { SearchJob } from '../../service/jobs/search-job.ts';
import { type JobSet, noTurnCode } from '../search/job-set.ts';
import { cutSign, type Interval, wholeBuckets } from '../search/message-limit.ts';
import type { OpenedJob, SearchOrder, SearchTools } from '../search/search-tools.ts';
import { dateRoundingMs } from '../search/service-quirks.ts';
import { settlingMs } from '../search/settling.ts';
import {
  evenSegments,
  firstSegments,
  requestsOfCount,
  requestsOfSegments,
  type SegmentCount,
} from './first-segments.ts';
import { countSlices } from './slice-counts.ts';

/** Only `planExport` writes to the destination. */
export type PlanningTools = Pick<SearchTools, 'task' | 'quirks' | 'log'>;

export interface PlanOptions {
  /** Minimum age in ms of rows that may be searched, because newer rows may still arrive (E11). */
  readonly settleDelayMs: number;
  /** Search jobs of the planning. If the planning fails, the caller closes those that are still open. */
  readonly jobs: JobSet;
  /** Called when the `PlanningWait` changes. */
  readonly onWait?: (wait: PlanningWait) => void;
}

/** State of a planning that waits until the range is old enough to be searched (E11). */
export interface PlanningWait {
  /** Wall time at which enough of the range is old enough to be searched; undefined if planning does not wait. */
  readonly settlesAtMs: number | undefined;
  /** True if a test search has shown that the service accepts credentials and query. */
  readonly isTried: boolean;
}

/** Open search job that the planning hands over, with the interval whose rows are read from this job. */
export interface FirstSearch extends OpenedJob {
  readonly order: SearchOrder;
}

export interface ProposedPlan {
  readonly plan: ExportPlan;
  readonly first: FirstSearch;
  readonly forecast: ExportForecast;
}

/** How well the number of rows is known before the searches. */
export type RowsBasis =
  /** An aggregation or a single complete search counted the rows. */
  | 'Counted'
  /** The number is estimated from the density of the rows that the first search found. */
  | 'Estimated'
  /** The first search found at least this number of rows. */
  | 'Minimum';

/** Expected effort of an export: its segments, rows and requests. */
export interface ExportForecast {
  /** Segments in order of time, without the part of the range that is too recent to be searched. */
  readonly segments: readonly SegmentCount[];
  readonly rowsBasis: RowsBasis;
  /** True if the service was asked to count the rows, but gave no valid count. */
  readonly isCountRefused: boolean;
  /** Number of rows at which the service cuts a search short; undefined if that has not happened. */
  readonly limit: number | undefined;
  /** Minimum number of requests to the service for the whole export, including its planning. */
  readonly requests: number;
}

export interface PlannedExport {
  /** The plan that exists at the destination, written by this or another process. */
  readonly plan: ExportPlan;
  /** First search of the export; undefined if another process wrote a different plan. */
  readonly first: FirstSearch | undefined;
}

/** Plans an export and writes the plan. Rejects with a `LogfleetError` or the signal's reason. */
export async function planExport(tools: SearchTools, options: PlanOptions): Promise<PlannedExport> {
  const { destination, task } = tools;
  const { plan, first } = await proposePlan(tools, options);
  const existing = await crossing('export.plan', () => settlePlan(destination, task.layout, plan));
  // If the plan at the destination equals the new plan, the open search job can serve as its first search, whoever wrote the plan.
  if (isDeepStrictEqual(existing.boundariesMs, plan.boundariesMs)) {
    options.jobs.release(first.job);
    return { plan: existing, first };
  }
  await options.jobs.close(first.job);
  return { plan: existing, first: undefined };
}

/** Returns the plan that `planExport` would write. Rejects like `planExport`. */
export function proposePlan(tools: PlanningTools, options: PlanOptions): Promise<ProposedPlan> {
  return new RangePlanning(tools, options).propose();
}

/** Maximum wait in ms for the end of the first search. After a longer search, the range becomes a single segment. */
const longestWaitMs = 30 * 60_000;
/**
 * Maximum wait in ms for a free search job that counts rows. Without a maximum, planning could wait forever, because it may hold the last
 * free search job itself.
 */
const longestTurnMs = 60_000;
/**
 * Maximum number of rows in a segment of an export by receipt time, as a ratio of the message limit. Such segments have uncertain numbers
 * of rows, because rows are counted by message time.
 */
const receiptRatio = 0.9;
/**
 * Maximum length in ms of a wait that counts as short. During a short wait, planning runs no test search, and does not start with the part
 * of the range that is old enough.
 */
const shortWaitMs = 10_000;
/** Length in ms of the time range of a test search. */
const trialMs = 1_000;
/** Maximum sleep in ms before the wall clock is read again, because the wall clock may be set to another time. */
const longestSleepMs = 60_000;

class RangePlanning {
  readonly #tools: PlanningTools;
  readonly #options: PlanOptions;
  #isTried = false;
  /** Duration in ms of the first search. */
  #firstTookMs = 0;

  constructor(tools: PlanningTools, options: PlanOptions) {
    this.#tools = tools;
    this.#options = options;
  }

  async propose(): Promise<ProposedPlan> {
    const { task, quirks } = this.#tools;
    const { job, range } = await this.#openFirst();
    const isFinished = await this.#finishedInTime(job);
    const describedFields = await this.#describedFields(job);
    const segmentation = isFinished ? await this.#segmentsOf(job, range) : asOne(job, range);
    const { segments, basis, isCountRefused = false } = segmentation;
    const areCounted = basis === 'Counted';
    const boundariesMs = [range.fromMs, ...segments.map(({ toMs }) => toMs)];
    // The recent part of the range, which is not old enough to be searched, becomes a segment for a later search.
    if (range.toMs < task.identity.toMs) boundariesMs.push(task.identity.toMs);
    const segment = segments.length - 1;
    const { fromMs, toMs, rows } = segments[segment] as SegmentCount;
    const isProven = areCounted && !task.identity.byReceiptTime && rows < job.progress.messageCount;
    const countedRows = isProven ? rows : undefined;
    return {
      plan: { boundariesMs, ...(describedFields && { describedFields }) },
      first: { order: { segment, fromMs, toMs }, job, countedRows },
      forecast: {
        segments,
        rowsBasis: cutSign(job.progress, quirks.smallestLimit) === undefined ? 'Counted' : basis,
        isCountRefused,
        limit: quirks.smallestLimit,
        requests: this.#requestsOf(job, segments, areCounted) + (describedFields ? 1 : 0),
      },
    };
  }

  /**
   * Opens the first search. Its first answer may show that the service's clock is behind the clock of logfleet, so that less of the range
   * is old enough (E11). The search is then replaced by one for a shorter range.
   */
  async #openFirst(): Promise<{ readonly job: SearchJob; readonly range: Interval }> {
    const { task, quirks } = this.#tools;
    for (;;) {
      const range = await this.#settledRange();
      const job = await this.#options.jobs.open(task.order(range, quirks.isEndInclusive), 'Rows');
      if (range.toMs <= this.#settledMs(quirks.clockBehindMs)) return { job, range };
      await this.#options.jobs.close(job);
    }
  }

  /**
   * Waits until at least half of the range is old enough to be searched, and returns the part that is old enough. Waits for the whole range
   * if the query cannot be split, or if the wait is short.
   */
  async #settledRange(): Promise<Interval> {
    const { task, quirks } = this.#tools;
    const { onWait, jobs } = this.#options;
    const { clock, signal } = jobs;
    const { fromMs, toMs } = task.identity;
    for (;;) {
      const settledMs = this.#settledMs(quirks.clockBehindMs + dateRoundingMs);
      const missingMs = toMs - settledMs;
      const isHalf = task.isSplittable && settledMs - fromMs >= missingMs && missingMs > shortWaitMs;
      const isEnough = missingMs <= 0 || isHalf;
      const halfMs = Math.ceil((toMs - fromMs) / 2);
      const isHalfSooner = task.isSplittable && halfMs > shortWaitMs && missingMs > halfMs;
      const waitMs = isHalfSooner ? missingMs - halfMs : missingMs;
      onWait?.({ settlesAtMs: isEnough ? undefined : clock.now() + waitMs, isTried: this.#isTried });
      if (isEnough) return { fromMs, toMs: Math.min(toMs, settledMs) };
      const mostMs = Math.min(waitMs, longestSleepMs);
      if (this.#isTried || waitMs <= shortWaitMs) await sleep(clock, mostMs, signal);
      else await this.#tryOut(Math.min(toMs, settledMs), mostMs);
    }
  }

  /**
   * Runs a test search that ends before `toMs`, and ignores its rows. Rejects if the service refuses credentials or query. Gives up without
   * an error if the service accepts no search job within `turnMs`.
   */
  async #tryOut(toMs: number, turnMs: number): Promise<void> {
    const { task, quirks } = this.#tools;
    const order = task.order({ fromMs: toMs - trialMs, toMs }, quirks.isEndInclusive);
    try {
      const job = await this.#options.jobs.open(order, 'Rows', { turnMs });
      this.#isTried = true;
      await this.#options.jobs.close(job);
    } catch (thrown) {
      if (asLogfleetError(thrown).code !== noTurnCode) throw thrown;
    }
  }

  /** Latest time in ms whose rows are old enough to be searched. */
  #settledMs(clockBehindMs: number): number {
    const { settleDelayMs, jobs } = this.#options;
    return Math.floor(jobs.clock.now() - settlingMs(settleDelayMs, clockBehindMs));
  }

  /** Waits until the first search finishes. Returns false if the search takes longer than `longestWaitMs`. */
  async #finishedInTime(job: SearchJob): Promise<boolean> {
    const { quirks, task } = this.#tools;
    const { clock, signal } = this.#options.jobs;
    const patience = new AbortController();
    const timer = clock.after(longestWaitMs, () => patience.abort());
    try {
      const progress = await job.whenFinished(AbortSignal.any([signal, patience.signal]));
      this.#firstTookMs = job.tookMs ?? 0;
      if (task.identity.results === 'Messages') quirks.searched(progress);
      return true;
    } catch (error) {
      if (!patience.signal.aborted || signal.aborted || job.end) throw error;
      return false;
    } finally {
      timer.cancel();
    }
  }

  /** Fields that the service describes, for files with columns (CSV, Parquet); undefined for others. */
  async #describedFields(job: SearchJob): Promise<readonly PlannedField[] | undefined> {
    const { results, output } = this.#tools.task.identity;
    if (results === 'Records' || output.format === 'NDJSON') return undefined;
    const fields = await crossing('export.readPage', () => job.describeFields(this.#options.jobs.signal));
    return fields.map(({ name, fieldType }) => ({ name, fieldType }));
  }

  async #segmentsOf(job: SearchJob, range: Interval): Promise<Segmentation> {
    const { task, quirks, log } = this.#tools;
    const { jobs } = this.#options;
    const { progress } = job;
    const isCut = cutSign(progress, quirks.smallestLimit) !== undefined;
    if (!isCut || !task.isSplittable) return asOne(job, range);
    const limit = this.#limitOf(job);
    const { byReceiptTime } = task.identity;
    // If the service cut short a search by receipt time, rows may be missing anywhere in its range.
    const newest = byReceiptTime ? undefined : newestOf(job, range);
    const rest = newest && restOf(range, newest);
    if (rest && rest.rows < limit) {
      return { segments: [{ ...range, rows: rest.rows + newest.rows }], basis: 'Estimated' };
    }
    const order = (interval: Interval) => task.order(interval, quirks.isEndInclusive);
    // The counting search covers the same range as the first search, so it probably takes at least as long.
    const wishes = { turnMs: longestTurnMs, expectedMs: this.#firstTookMs };
    const counts = await countSlices(range, { order, jobs, wishes });
    if (counts.kind === 'counted') {
      const { slices } = counts;
      // The newest segment gets fewer rows than the first search found. The oldest row found then lies before this segment, which proves
      // that the segment is complete.
      const foundRows = progress.messageCount - 1;
      const most = Math.ceil(receiptRatio * limit);
      const found = byReceiptTime ? { limit: most, foundRows: 0 } : { limit, foundRows };
      return { segments: firstSegments({ range, slices, ...found }), basis: 'Counted' };
    }
    log.info(
      'The service could not count the rows of an export by short periods, so the plan divides the time range by estimates.',
      { reason: counts.reason },
    );
    if (rest) {
      const segments = [...evenSegments(rest, Math.ceil(rest.rows / limit)), newest];
      return { segments, basis: 'Estimated', isCountRefused: true };
    }
    const segments = evenSegments({ ...range, rows: progress.messageCount });
    return { segments, basis: 'Minimum', isCountRefused: true };
  }

  #requestsOf(job: SearchJob, segments: readonly SegmentCount[], areCounted: boolean): number {
    const { task, quirks } = this.#tools;
    const isCut = task.isSplittable && cutSign(job.progress, quirks.smallestLimit) !== undefined;
    // If the search was complete, no segment needs a second search. The limit is therefore set above the number of rows found.
    const limit = isCut ? this.#limitOf(job) : job.progress.messageCount + 1;
    return requestsOfSegments(segments, limit) + (areCounted ? requestsOfCount : 0);
  }

  /** Smallest number of rows at which the service has cut a search short; if unknown, the number of rows that this search has found. */
  #limitOf(job: SearchJob): number {
    return this.#tools.quirks.smallestLimit ?? Math.max(1, job.progress.messageCount);
  }
}

/** Segments of the planned range in order of time. */
interface Segmentation {
  readonly segments: readonly SegmentCount[];
  /** How well the rows are known if the service cut the first search short. `Counted`: by an aggregation. */
  readonly basis: RowsBasis;
  readonly isCountRefused?: true;
}

function asOne(job: SearchJob, range: Interval): Segmentation {
  return { segments: [{ ...range, rows: job.progress.messageCount }], basis: 'Minimum' };
}

/**
 * Newest part of the range that the first search has found completely, although the service cut the search short; undefined if there is
 * none.
 */
function newestOf(job: SearchJob, range: Interval): SegmentCount | undefined {
  const whole = wholeBuckets(job.histogram(), range);
  return whole && { fromMs: whole.atMs, toMs: range.toMs, rows: whole.rows };
}

/** The range before the newest segment. Its number of rows is estimated from the density of rows in the newest segment. */
function restOf({ fromMs }: Interval, newest: SegmentCount): SegmentCount {
  const rows = Math.ceil((newest.rows / (newest.toMs - newest.fromMs)) * (newest.fromMs - fromMs));
  return { fromMs, toMs: newest.fromMs, rows };
}

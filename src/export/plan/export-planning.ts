/**
 * Plans an export: cuts its range into segments, writes the plan at the destination (E2), and hands over the search job used for planning
 * as the first search.
 *
 * The job searches the whole range that is old enough to be complete (E11), so a small export needs no other job. If the message limit cuts
 * this search, and the job's histogram shows that the rest needs more than one search, the service counts rows by slices of time
 * (`slice-counts.ts`). The segments follow from these counts (`first-segments.ts`). For an export by receipt time the segments are an
 * estimate, since slices use message time. If nothing can be counted, segments are equal pieces of time. A query that cannot be split (E8)
 * gets one segment.
 *
 * While an export waits until its range is old enough, a small search tests credentials and query, so that users learn of mistakes
 * immediately.
 *
 * Invariant: the segments always cover the range. Every opened job is closed or handed over.
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
  /**
   * Search jobs of the planning. Aborting their signal ends the planning. If the planning fails, the caller closes the
   * jobs that are still open.
   */
  readonly jobs: JobSet;
  /** Called when the `PlanningWait` changes. */
  readonly onWait?: (wait: PlanningWait) => void;
}

/** State of a planning that waits until the range is old enough to be searched (E11). */
export interface PlanningWait {
  /** Wall time at which enough of the range is old enough to be searched; undefined if planning does not wait. */
  readonly settlesAtMs: number | undefined;
  /** True if a test search showed that the service accepts credentials and query. */
  readonly isTried: boolean;
}

/** A search job that planning opened and left open, with the interval to be searched. */
export interface FirstSearch extends OpenedJob {
  readonly order: SearchOrder;
}

export interface ProposedPlan {
  readonly plan: ExportPlan;
  readonly first: FirstSearch;
  readonly forecast: ExportForecast;
}

/** Expected effort of an export: its segments, rows and requests. */
export interface ExportForecast {
  /** Expected segments in order of time, without the part of the range that is too recent to be searched. */
  readonly segments: readonly SegmentCount[];
  /** True if an aggregation or a single complete search counted the rows of the segments; false if their numbers are estimates. */
  readonly areKnown: boolean;
  /** Number of rows at which the service cuts a search short (message limit); undefined if no search was cut short. */
  readonly limit: number | undefined;
  /** Minimum number of requests to the service for this export, including the requests for planning. */
  readonly requests: number;
}

export interface PlannedExport {
  /** The plan that exists at the destination, written by this or another process. */
  readonly plan: ExportPlan;
  /** First search of the plan; undefined if another process wrote a different plan. */
  readonly first: FirstSearch | undefined;
}

/** Plans an export and writes the plan. Rejects with a `LogfleetError` or the signal's reason. */
export async function planExport(tools: SearchTools, options: PlanOptions): Promise<PlannedExport> {
  const { destination, task } = tools;
  const { plan, first } = await proposePlan(tools, options);
  const existing = await crossing('export.plan', () => settlePlan(destination, task.layout, plan));
  // The existing plan can be used with the open search job if it equals the new plan. Either an earlier attempt wrote it and its answer
  // was lost, or another process wrote an equal plan.
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

/** Maximum wait in ms for the first search of the range. A search that takes longer becomes the only search of its range. */
const longestWaitMs = 30 * 60_000;
/**
 * Maximum wait in ms of the counting query for a free search job. Without a maximum, planning could wait forever: its own open search job
 * may be the one that leaves no job free.
 */
const longestTurnMs = 60_000;
/**
 * Maximum number of rows in a segment by receipt time, as a ratio of the message limit. It is below 1 because the
 * service counts rows by message time, and a row may belong to the next segment by receipt time.
 */
const receiptRatio = 0.9;
/**
 * Maximum wait in ms for recent data of the range to become old enough. For a longer wait, planning runs a test search and makes the recent
 * part a separate segment.
 */
const shortWaitMs = 10_000;
/** Length in ms of the range of a test search. The search is ended as soon as the service has accepted it. */
const trialMs = 1_000;
/** Maximum sleep in ms before the wall clock is read again, because the wall clock may jump. */
const longestSleepMs = 60_000;

class RangePlanning {
  readonly #tools: PlanningTools;
  readonly #options: PlanOptions;
  #isTried = false;
  /** Duration in ms of the first search, from the creation of its job until planning saw it finished. */
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
    const { segments, areCounted } = isFinished ? await this.#segmentsOf(job, range) : asOne(job, range);
    const boundariesMs = [range.fromMs, ...segments.map(({ toMs }) => toMs)];
    // The recent part of the range, which is too new to be searched, becomes a segment of its own and is searched later.
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
        areKnown: areCounted || cutSign(job.progress, quirks.smallestLimit) === undefined,
        limit: quirks.smallestLimit,
        requests: this.#requestsOf(job, segments, areCounted) + (describedFields ? 1 : 0),
      },
    };
  }

  /**
   * Opens the first search. If the first answer shows that the service's clock is behind the clock of logfleet, a smaller part of the range
   * is old enough (E11). The search is then opened again for this part.
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
   * Waits until enough of the range is old enough to be searched, and returns that part: the whole range if the wait is short, otherwise at
   * least half of a range that can be split.
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
   * Tests credentials and query with a search that ends before `toMs`, and uses none of its rows. Rejects if the
   * service refuses them. If no search job becomes free within `turnMs`, nothing is tested.
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

  /** Latest time in ms whose rows are old enough to be searched. Planning searches no newer rows. */
  #settledMs(clockBehindMs: number): number {
    const { settleDelayMs, jobs } = this.#options;
    return Math.floor(jobs.clock.now() - settlingMs({ settleDelayMs, clockBehindMs }));
  }

  /** Waits until the first search finishes. Returns false if the search takes so long that it should stay the only search of its range. */
  async #finishedInTime(job: SearchJob): Promise<boolean> {
    const { quirks, task } = this.#tools;
    const { clock, signal } = this.#options.jobs;
    const patience = new AbortController();
    const timer = clock.after(longestWaitMs, () => patience.abort());
    try {
      const progress = await job.whenFinished(AbortSignal.any([signal, patience.signal]));
      this.#firstTookMs = clock.monotonic() - job.createdAtMs;
      if (task.identity.results === 'Messages') quirks.searched(progress);
      return true;
    } catch (error) {
      if (!patience.signal.aborted || signal.aborted || job.end) throw error;
      return false;
    } finally {
      timer.cancel();
    }
  }

  /** Fields that the service describes, for file formats with columns; undefined for other formats. */
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
    // If the message limit cut a search by receipt time, rows may be missing anywhere in its range, so no part is known to be complete.
    const newest = byReceiptTime ? undefined : newestOf(job, range);
    const rest = newest && restOf(range, newest);
    if (rest && rest.rows < limit) return guessed([{ ...range, rows: rest.rows + newest.rows }]);
    const order = (interval: Interval) => task.order(interval, quirks.isEndInclusive);
    // The counting query covers the whole range of the export, so it is expected to take at least as long as the search that the message
    // limit cut.
    const wishes = { turnMs: longestTurnMs, expectedMs: this.#firstTookMs };
    const counts = await countSlices(range, { order, jobs, wishes });
    if (counts.kind === 'counted') {
      const { slices } = counts;
      // The newest segment gets one row less than the search found. The oldest row found then lies before this segment, and proves that the
      // segment is complete.
      const foundRows = progress.messageCount - 1;
      const most = Math.ceil(receiptRatio * limit);
      const found = byReceiptTime ? { limit: most, foundRows: 0 } : { limit, foundRows };
      return { segments: firstSegments({ range, slices, ...found }), areCounted: true };
    }
    log.info('The service could not count the rows of an export by slices of time.', { reason: counts.reason });
    if (rest) return guessed([...evenSegments(rest, Math.ceil(rest.rows / limit)), newest]);
    return guessed(evenSegments({ ...range, rows: progress.messageCount }));
  }

  #requestsOf(job: SearchJob, segments: readonly SegmentCount[], areCounted: boolean): number {
    const { task, quirks } = this.#tools;
    const isCut = task.isSplittable && cutSign(job.progress, quirks.smallestLimit) !== undefined;
    // The range must not be divided if one complete search covers it. The limit is therefore set above the search's number of rows.
    const limit = isCut ? this.#limitOf(job) : job.progress.messageCount + 1;
    return requestsOfSegments(segments, limit) + (areCounted ? requestsOfCount : 0);
  }

  /** Message limit of the service. If the service cut the search without reporting that, the number of rows found is the limit. */
  #limitOf(job: SearchJob): number {
    return this.#tools.quirks.smallestLimit ?? Math.max(1, job.progress.messageCount);
  }
}

/** Segments of the planned range in order of time. */
interface Segmentation {
  readonly segments: readonly SegmentCount[];
  /** True if an aggregation counted the rows, false for estimates. */
  readonly areCounted: boolean;
}

function guessed(segments: readonly SegmentCount[]): Segmentation {
  return { segments, areCounted: false };
}

function asOne(job: SearchJob, range: Interval): Segmentation {
  return guessed([{ ...range, rows: job.progress.messageCount }]);
}

/**
 * The newest part of a search's range, which the histogram of its job proves complete although the message limit cut the search; undefined
 * if there is none.
 */
function newestOf(job: SearchJob, range: Interval): SegmentCount | undefined {
  const whole = wholeBuckets(job.histogram(), range);
  return whole && { fromMs: whole.atMs, toMs: range.toMs, rows: whole.rows };
}

/** The part of the range before the newest segment. Its number of rows is estimated from the density of the newest segment. */
function restOf({ fromMs }: Interval, newest: SegmentCount): SegmentCount {
  const rows = Math.ceil((newest.rows / (newest.toMs - newest.fromMs)) * (newest.fromMs - fromMs));
  return { fromMs, toMs: newest.fromMs, rows };
}

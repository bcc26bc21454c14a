/**
 * Plans an export: divides its time range into segments, and writes the plan (E2). The first search job covers the
 * whole range, so a small export needs only one job. If the service does not return all rows of this search, the rows
 * are counted or estimated, and the range is divided into segments. One search should be enough for each segment. A
 * query that cannot be split (E8) gets a single segment. While the range is still too recent to be searched (E11), a
 * test search detects mistakes in the credentials and the query.
 */
import { isDeepStrictEqual } from 'node:util';
import { crossing } from '../../base/boundary.ts';
import { sleep } from '../../base/clock.ts';
import { asLogfleetError } from '../../base/errors.ts';
import type { TimeRange } from '../../base/time-range.ts';
import { type ExportPlan, type PlannedField, storePlanOnce } from '../../destination/plan-object.ts';
import type { SearchJob } from '../../service/jobs/search-job.ts';
import type { ExportDefinition } from '../search/export-definition.ts';
import { type JobSet, noTurnCode } from '../search/job-set.ts';
import { cutSign, rowsFound, wholeBuckets } from '../search/message-limit.ts';
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

/** Tools for searches during planning. They do not include the destination, because only `planExport` writes to it. */
export type PlanningTools = Pick<SearchTools, 'definition' | 'quirks' | 'log'>;

export interface ExportPlanOptions {
  /** Age in ms that rows must have before they are searched, because newer rows may still be arriving (E11). */
  readonly settleDelayMs: number;
  /** Search jobs opened during planning. If planning fails, the caller closes them. */
  readonly jobs: JobSet;
  /** Called when the `PlanningWait` changes. */
  readonly onWait?: (wait: PlanningWait) => void;
}

/** State of planning while it waits for the export's time range to become old enough to be searched (E11). */
export interface PlanningWait {
  /** Wall-clock time at which planning continues; undefined if planning is not waiting. */
  readonly settlesAtMs: number | undefined;
  /** True if a test search has shown that the service accepts the credentials and the query. */
  readonly isTried: boolean;
}

/** Open search job, and the interval whose rows are read from it. */
export interface FirstSearch extends OpenedJob {
  readonly order: SearchOrder;
}

export interface ProposedPlan {
  readonly plan: ExportPlan;
  readonly first: FirstSearch;
  readonly forecast: ExportForecast;
}

/** How the number of rows in a segment was determined before the segment was searched. */
export type RowsBasis =
  /** An aggregation or a single complete search counted the rows. */
  | 'Counted'
  /** The number of rows is an estimate based on the rows that the first search found. */
  | 'Estimated'
  /** The first search found at least this number of rows. */
  | 'Minimum';

/** Expected size of an export: its segments, rows and requests. */
export interface ExportForecast {
  /** Segments in chronological order, without the part of the range that is too recent to be searched. */
  readonly segments: readonly SegmentCount[];
  readonly rowsBasis: RowsBasis;
  /** True if an aggregation was asked to count the rows, but returned no valid count. */
  readonly isCountRefused: boolean;
  /** Number of rows at which the service has cut a search short; undefined if it has not cut any search short. */
  readonly limit: number | undefined;
  /** Minimum number of requests for the whole export. */
  readonly requests: number;
}

export interface PlannedExport {
  /** Plan that this process or another process has written to the destination. */
  readonly plan: ExportPlan;
  /**
   * First search of the export, whose job is still open. Undefined if another process wrote a plan with other segments.
   */
  readonly first: FirstSearch | undefined;
}

/** Plans an export, and writes the plan. Rejects with a `LogfleetError` or the signal's reason. */
export async function planExport(tools: SearchTools, options: ExportPlanOptions): Promise<PlannedExport> {
  const { destination, definition } = tools;
  const { plan, first } = await proposePlan(tools, options);
  const existing = await crossing('export.plan', () => storePlanOnce(destination, definition.layout, plan));
  // If another process wrote a plan with the same segments, the open search job is still useful, because it searches
  // one of these segments.
  if (isDeepStrictEqual(existing.boundariesMs, plan.boundariesMs)) {
    options.jobs.release(first.job);
    return { plan: existing, first };
  }
  await options.jobs.close(first.job);
  return { plan: existing, first: undefined };
}

/**
 * Returns a time in the export's time range. The first search starts once all rows before this time are old enough to
 * be searched (E11). The time is the middle of the range, or its end if the range is short or the query cannot be
 * split.
 */
export function settledBeforeSearch({ isSplittable, identity: { fromMs, toMs } }: ExportDefinition): number {
  const halfMs = Math.ceil((toMs - fromMs) / 2);
  return isSplittable && halfMs > shortWaitMs ? toMs - halfMs : toMs;
}

/** Returns the plan that `planExport` would write. */
export function proposePlan(tools: PlanningTools, options: ExportPlanOptions): Promise<ProposedPlan> {
  return new RangePlanning(tools, options).propose();
}

/**
 * Maximum time in ms to wait for the first search to end. If the search takes longer, the range becomes one segment.
 */
const longestWaitMs = 30 * 60_000;
/**
 * Maximum time in ms to wait for a free search-job slot in which rows can be counted. Without a limit, the wait might
 * never end: planning's own first search may occupy the only slot.
 */
const longestTurnMs = 60_000;
/**
 * Maximum number of rows in a segment that is searched by receipt time, as a ratio of the message limit. The ratio is
 * below 1, because row counts by receipt time are only estimates.
 */
const receiptRatio = 0.9;
/**
 * Maximum length in ms of a wait that counts as short. If a wait is short, planning neither runs a test search nor
 * begins with the part of the range that is already old enough.
 */
const shortWaitMs = 10_000;
/** Length in ms of the time range that a test search covers. */
const trialMs = 1_000;
/**
 * Maximum length in ms of one sleep. A longer wait consists of several sleeps, because the wall clock may change during
 * the wait.
 */
const longestSleepMs = 60_000;

class RangePlanning {
  readonly #tools: PlanningTools;
  readonly #options: ExportPlanOptions;
  #isTried = false;
  /** Duration in ms of the first search. */
  #firstTookMs = 0;

  constructor(tools: PlanningTools, options: ExportPlanOptions) {
    this.#tools = tools;
    this.#options = options;
  }

  async propose(): Promise<ProposedPlan> {
    const { definition, quirks } = this.#tools;
    const { job, range } = await this.#openFirst();
    const isFinished = await this.#finishedInTime(job);
    const describedFields = await this.#describedFields(job);
    const segmentation = isFinished ? await this.#segmentsOf(job, range) : this.#asOne(job, range);
    const { segments, basis, isCountRefused = false } = segmentation;
    const areCounted = basis === 'Counted';
    const boundariesMs = [range.fromMs, ...segments.map(({ toMs }) => toMs)];
    // The plan also covers the recent part of the range, which is searched later.
    if (range.toMs < definition.identity.toMs) boundariesMs.push(definition.identity.toMs);
    const segment = segments.length - 1;
    const { fromMs, toMs, rows } = segments[segment] as SegmentCount;
    const isProven = areCounted && !definition.identity.byReceiptTime && rows < job.progress.messageCount;
    const countedRows = isProven ? rows : undefined;
    return {
      plan: { boundariesMs, ...(describedFields && { describedFields }) },
      first: { order: { segment, fromMs, toMs }, job, countedRows },
      forecast: {
        segments,
        rowsBasis: this.#isCut(job) ? basis : 'Counted',
        isCountRefused,
        limit: quirks.smallestLimit,
        requests: this.#requestsOf(job, segments, areCounted) + (describedFields ? 1 : 0),
      },
    };
  }

  /**
   * Opens the first search. If the service's clock is behind, closes this search, and opens one with a shorter range
   * (E11).
   */
  async #openFirst(): Promise<{ readonly job: SearchJob; readonly range: TimeRange }> {
    const { definition, quirks } = this.#tools;
    for (;;) {
      const range = await this.#settledRange();
      const job = await this.#options.jobs.open(definition.order(range, quirks.isEndInclusive), 'Rows');
      if (range.toMs <= this.#settledMs(quirks.clockBehindMs)) return { job, range };
      await this.#options.jobs.close(job);
    }
  }

  /**
   * Waits until enough of the export's time range is old enough to be searched. Returns the part that is old enough.
   */
  async #settledRange(): Promise<TimeRange> {
    const { definition, quirks } = this.#tools;
    const { onWait, jobs } = this.#options;
    const { clock, signal } = jobs;
    const { fromMs, toMs } = definition.identity;
    const beginsMs = settledBeforeSearch(definition);
    for (;;) {
      const settledMs = this.#settledMs(quirks.clockBehindMs + dateRoundingMs);
      const missingMs = toMs - settledMs;
      const isEnough = settledMs >= beginsMs && (missingMs <= 0 || missingMs > shortWaitMs);
      const waitMs = settledMs < beginsMs ? beginsMs - settledMs : missingMs;
      onWait?.({ settlesAtMs: isEnough ? undefined : clock.now() + waitMs, isTried: this.#isTried });
      if (isEnough) return { fromMs, toMs: Math.min(toMs, settledMs) };
      const maxMs = Math.min(waitMs, longestSleepMs);
      if (this.#isTried || waitMs <= shortWaitMs) await sleep(clock, maxMs, signal);
      else await this.#runTestSearch(Math.min(toMs, settledMs), maxMs);
    }
  }

  /**
   * Runs a test search. Rejects if the service refuses the credentials or the query. Does nothing if no search-job slot
   * becomes free within `turnMs`.
   */
  async #runTestSearch(toMs: number, turnMs: number): Promise<void> {
    const { definition, quirks } = this.#tools;
    const order = definition.order({ fromMs: toMs - trialMs, toMs }, quirks.isEndInclusive);
    try {
      const job = await this.#options.jobs.open(order, 'Rows', { turnMs });
      this.#isTried = true;
      await this.#options.jobs.close(job);
    } catch (thrown) {
      if (asLogfleetError(thrown).code !== noTurnCode) throw thrown;
    }
  }

  /** Returns the latest time in ms at which rows are old enough to be searched. */
  #settledMs(clockBehindMs: number): number {
    const { settleDelayMs, jobs } = this.#options;
    return Math.floor(jobs.clock.now() - settlingMs(settleDelayMs, clockBehindMs));
  }

  /** Waits for the first search to end. Returns false if this takes longer than `longestWaitMs`. */
  async #finishedInTime(job: SearchJob): Promise<boolean> {
    const { quirks, definition } = this.#tools;
    const { clock, signal } = this.#options.jobs;
    const timeout = new AbortController();
    const timer = clock.after(longestWaitMs, () => timeout.abort());
    try {
      const progress = await job.whenFinished(AbortSignal.any([signal, timeout.signal]));
      this.#firstTookMs = job.tookMs ?? 0;
      if (definition.identity.results === 'Messages') quirks.searched(progress);
      return true;
    } catch (error) {
      if (!timeout.signal.aborted || signal.aborted || job.end) throw error;
      return false;
    } finally {
      timer.cancel();
    }
  }

  /** Returns the service's descriptions of the fields for CSV and Parquet, or undefined for other formats. */
  async #describedFields(job: SearchJob): Promise<readonly PlannedField[] | undefined> {
    const { results, output } = this.#tools.definition.identity;
    if (results === 'Records' || output.format === 'NDJSON') return undefined;
    const fields = await crossing('export.readPage', () => job.describeFields(this.#options.jobs.signal));
    return fields.map(({ name, fieldType }) => ({ name, fieldType }));
  }

  async #segmentsOf(job: SearchJob, range: TimeRange): Promise<Segmentation> {
    const { definition, quirks, log } = this.#tools;
    const { jobs } = this.#options;
    const { progress } = job;
    if (!this.#isCut(job) || !definition.isSplittable) return this.#asOne(job, range);
    const limit = this.#limitOf(job);
    const { byReceiptTime } = definition.identity;
    // If a search by receipt time was cut short, rows may be missing anywhere in its range, even in the newest part.
    // Therefore, no part of the range counts as completely found.
    const newest = byReceiptTime ? undefined : newestOf(job, range);
    const rest = newest && restOf(range, newest);
    if (rest && rest.rows < limit) {
      return { segments: [{ ...range, rows: rest.rows + newest.rows }], basis: 'Estimated' };
    }
    const order = (interval: TimeRange) => definition.order(interval, quirks.isEndInclusive);
    // The counting aggregation is expected to take as long as the first search, because both cover the same range.
    const wishes = { turnMs: longestTurnMs, expectedMs: this.#firstTookMs };
    const counts = await countSlices(range, { order, jobs, wishes });
    if (counts.kind === 'counted') {
      const { slices } = counts;
      // The oldest row that the search found is left out. The newest segment begins after this row, so all rows of this
      // segment have been found.
      const foundRows = progress.messageCount - 1;
      const max = Math.ceil(receiptRatio * limit);
      const found = byReceiptTime ? { limit: max, foundRows: 0 } : { limit, foundRows };
      return { segments: firstSegments({ range, slices, ...found }), basis: 'Counted' };
    }
    log.info(
      'The service could not count the rows of an export in short periods, so the plan divides the time range based on estimates.',
      { reason: counts.reason },
    );
    if (rest) {
      const segments = [...evenSegments(rest, Math.ceil(rest.rows / limit)), newest];
      return { segments, basis: 'Estimated', isCountRefused: true };
    }
    const segments = evenSegments({ ...range, rows: progress.messageCount });
    return { segments, basis: 'Minimum', isCountRefused: true };
  }

  #asOne(job: SearchJob, range: TimeRange): Segmentation {
    return { segments: [{ ...range, rows: this.#rowsFound(job) }], basis: 'Minimum' };
  }

  #rowsFound({ progress }: SearchJob): number {
    return rowsFound(progress, this.#tools.definition.identity.results);
  }

  #isCut({ progress }: SearchJob): boolean {
    const { definition, quirks } = this.#tools;
    return cutSign(progress, quirks.smallestLimit, definition.identity.results) !== undefined;
  }

  #requestsOf(job: SearchJob, segments: readonly SegmentCount[], areCounted: boolean): number {
    const isCut = this.#tools.definition.isSplittable && this.#isCut(job);
    // If the service did not cut the first search short, or if the query cannot be split, the message limit is assumed
    // to be higher than the number of rows found.
    const limit = isCut ? this.#limitOf(job) : this.#rowsFound(job) + 1;
    return requestsOfSegments(segments, limit) + (areCounted ? requestsOfCount : 0);
  }

  /**
   * Returns the estimated message limit: the smallest row count at which the service has cut a search short. If the
   * service has not cut any search short, returns the row count of `job`.
   */
  #limitOf(job: SearchJob): number {
    return this.#tools.quirks.smallestLimit ?? Math.max(1, job.progress.messageCount);
  }
}

/** A time range divided into segments, in chronological order. */
interface Segmentation {
  readonly segments: readonly SegmentCount[];
  /**
   * How the row counts of the segments were determined. `Counted` means that an aggregation counted the rows. If the
   * first search found all rows, the basis is `Minimum`.
   */
  readonly basis: RowsBasis;
  readonly isCountRefused?: true;
}

/**
 * Returns the newest part of a time range in which a search found all rows, even though the service cut the search
 * short. Returns undefined if there is no such part.
 */
function newestOf(job: SearchJob, range: TimeRange): SegmentCount | undefined {
  const whole = wholeBuckets(job.histogram(), range);
  return whole && { fromMs: whole.atMs, toMs: range.toMs, rows: whole.rows };
}

/**
 * Returns the part of the range before the newest segment. The row count of this part is estimated from the row density
 * in the newest segment.
 */
function restOf({ fromMs }: TimeRange, newest: SegmentCount): SegmentCount {
  const rows = Math.ceil((newest.rows / (newest.toMs - newest.fromMs)) * (newest.fromMs - fromMs));
  return { fromMs, toMs: newest.fromMs, rows };
}

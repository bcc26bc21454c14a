/**
 * How an export begins: its range is cut into segments, which are written down once, at the destination (E2), and the job by which that
 * was found out goes on as the first search.
 *
 * That job searches the whole range, as far as it is settled (E11). Where all fits into it, it costs nothing that the export would not
 * cost anyway. Where the message limit cuts it, and its histogram shows that what is left takes more than one search, the service counts
 * the rows by slice of time (`slice-counts.ts`), and the segments follow from that (`first-segments.ts`). By receipt time these are a guess,
 * since slices are of message time. Where nothing can be counted, segments are even pieces. Where a query cannot be split (E8), there is one.
 *
 * Where it has to wait for its range to settle, a small search tells at once whether the service takes credentials and query: whoever
 * mistyped one of them hears of it now, and not in an hour.
 *
 * Invariant: whatever comes of it, the segments cover the range. Every job that was opened is closed, or handed over.
 */
import { isDeepStrictEqual } from 'node:util';
import { crossing } from '../base/boundary.ts';
import { sleep } from '../base/clock.ts';
import { asLogfleetError } from '../base/errors.ts';
import { type ExportPlan, type PlannedField, settlePlan } from '../destination/plan-object.ts';
import type { SearchJob } from '../service/search-job.ts';
import { cutSign, type Interval, wholeBuckets } from './cut.ts';
import type { SearchOrder } from './export-decision.ts';
import {
  blindSegments,
  evenSegments,
  firstSegments,
  requestsOfCount,
  requestsOfSegments,
  type SegmentCount,
} from './first-segments.ts';
import { JobSet, noTurnCode } from './job-set.ts';
import type { JobView, OpenedJob, SearchTools } from './search-tools.ts';
import { dateRoundingMs } from './service-traits.ts';
import { settlingMs } from './settling.ts';
import { countFinely } from './slice-counts.ts';

/** Nothing is written but by `planExport`. */
export type PlanningTools = Pick<SearchTools, 'jobs' | 'task' | 'traits' | 'clock' | 'log'>;

export interface PlanningOptions {
  /** Nothing newer than now minus this is searched (E11). */
  readonly settleDelayMs: number;
  /** Ends the planning: every job is closed when the promise is rejected. */
  readonly signal: AbortSignal;
  /** Something of `PlanningView` has changed. */
  readonly onNews?: (view: PlanningView) => void;
}

/** What a planning is at. */
export interface PlanningView {
  /** Search jobs that are alive. */
  readonly jobs: readonly JobView[];
  /** By jobs of this planning. */
  readonly scannedBytes: number;
  /** It waits until then, on the wall clock, since too much of the range is not settled (E11). */
  readonly settlesAtMs: number | undefined;
  /** A search has tried out meanwhile that credentials and query are taken. */
  readonly isTried: boolean;
}

/** A job that is open already, and what of it to search; whoever is given it closes it. */
export interface FirstSearch {
  readonly order: SearchOrder;
  readonly opened: OpenedJob;
}

export interface ProposedPlan {
  readonly plan: ExportPlan;
  readonly first: FirstSearch;
  readonly forecast: ExportForecast;
  /** By jobs that are closed again. */
  readonly scannedBytes: number;
}

/** What an export takes, as far as can be known. */
export interface ExportForecast {
  /** In order of time; what is not settled yet is in none of them. */
  readonly segments: readonly SegmentCount[];
  /** Their rows are what an aggregation has counted, or what an only search has found, and no guess. */
  readonly areKnown: boolean;
  /** A search that finds so many is cut. */
  readonly limit: number | undefined;
  /** At least, those of its planning among them. */
  readonly requests: number;
}

export interface PlannedExport {
  /** The one that stands at the destination, whoever wrote it. */
  readonly plan: ExportPlan;
  /** None where somebody else's plan stands. */
  readonly first: FirstSearch | undefined;
  /** By jobs that are closed again. */
  readonly scannedBytes: number;
}

/** Rejects with a `LogfleetError`, or with the signal's reason. */
export async function planExport(tools: SearchTools, options: PlanningOptions): Promise<PlannedExport> {
  const { destination, task } = tools;
  const { plan, first, scannedBytes } = await proposePlan(tools, options);
  const { job } = first.opened;
  try {
    const standing = await crossing('export.plan', () => settlePlan(destination, task.layout, plan));
    // Maybe our own, where the answer to an earlier try was lost; or somebody has cut it likewise.
    if (isDeepStrictEqual(standing.boundariesMs, plan.boundariesMs)) return { plan: standing, first, scannedBytes };
    await job.close();
    return { plan: standing, first: undefined, scannedBytes: scannedBytes + scannedBy(job) };
  } catch (error) {
    await job.close();
    const scanned = scannedBytes + scannedBy(job);
    options.onNews?.({ jobs: [], scannedBytes: scanned, settlesAtMs: undefined, isTried: false });
    throw error;
  }
}

function scannedBy({ progress }: SearchJob): number {
  return progress.scannedBytes ?? 0;
}

/** What `planExport` would write. Rejects as that does. */
export async function proposePlan(tools: PlanningTools, options: PlanningOptions): Promise<ProposedPlan> {
  const planning = new Planning(tools, options);
  try {
    return await planning.propose();
  } catch (error) {
    await planning.jobs.closeAll();
    throw error;
  }
}

/** So long is a search waited for until it goes on as the one search of its range. */
const longestWaitMs = 30 * 60_000;
/** So long a search is kept that waits for a count to get its turn: it may be what keeps others from theirs. */
const longestTurnMs = 60_000;
/** Rows are counted by message time: by receipt time they may be in the next segment. */
const receiptPart = 0.9;
/** A wait for so little is better than a segment of its own, and than a search that tries out whether one is taken. */
const shortWaitMs = 10_000;
/** Of a search that is ended as soon as it is created. */
const trialMs = 1_000;
/** Waits on the wall clock, which may jump, are looked at again so often. */
const longestSleepMs = 60_000;

class Planning {
  readonly jobs: JobSet;
  readonly #tools: PlanningTools;
  readonly #options: PlanningOptions;
  #settlesAtMs: number | undefined;
  #isTried = false;
  /** From the creation of the first job until it was seen to be over. */
  #firstTookMs = 0;

  constructor(tools: PlanningTools, options: PlanningOptions) {
    this.#tools = tools;
    this.#options = options;
    this.jobs = new JobSet({ ...tools, signal: options.signal, onNews: () => this.#tell() });
  }

  async propose(): Promise<ProposedPlan> {
    const { task, traits } = this.#tools;
    const { job, range } = await this.#openFirst();
    const isFinished = await this.#finishedInTime(job);
    const describedFields = await this.#describedFields(job);
    const { segments, areCounted } = isFinished ? await this.#segmentsOf(job, range) : asOne(job, range);
    const boundariesMs = [range.fromMs, ...segments.map(({ toMs }) => toMs)];
    // What is not settled yet is searched later.
    if (range.toMs < task.identity.toMs) boundariesMs.push(task.identity.toMs);
    this.jobs.release(job);
    const segment = segments.length - 1;
    const { fromMs, toMs, rows } = segments[segment] as SegmentCount;
    const isProven = areCounted && !task.identity.byReceiptTime && rows < job.progress.messageCount;
    const countedRows = isProven ? rows : undefined;
    return {
      plan: { boundariesMs, ...(describedFields && { describedFields }) },
      first: { order: { segment, fromMs, toMs }, opened: { job, countedRows } },
      forecast: {
        segments,
        areKnown: areCounted || cutSign(job.progress, traits.smallestLimit) === undefined,
        limit: traits.smallestLimit,
        requests: this.#requestsOf(job, segments, areCounted) + (describedFields ? 1 : 0),
      },
      scannedBytes: this.jobs.scannedBytes,
    };
  }

  /** The service's clock shows with the first answer, and may be behind ours (E11): then less of the range is settled. */
  async #openFirst(): Promise<{ readonly job: SearchJob; readonly range: Interval }> {
    const { task, traits } = this.#tools;
    for (;;) {
      const range = await this.#settledRange();
      const job = await this.jobs.open(task.order(range, traits.isEndInclusive), 'Rows');
      if (range.toMs <= this.#settledMs(traits.clockBehindMs)) return { job, range };
      await this.jobs.close(job);
    }
  }

  /** All of the range where that is settled soon; otherwise what is, once that is half of it, and it can be split. */
  async #settledRange(): Promise<Interval> {
    const { task, traits, clock } = this.#tools;
    const { fromMs, toMs } = task.identity;
    for (;;) {
      const settledMs = this.#settledMs(traits.clockBehindMs + dateRoundingMs);
      const missingMs = toMs - settledMs;
      const isHalf = task.isSplittable && settledMs - fromMs >= missingMs && missingMs > shortWaitMs;
      const isEnough = missingMs <= 0 || isHalf;
      const halfMs = Math.ceil((toMs - fromMs) / 2);
      const isHalfSooner = task.isSplittable && halfMs > shortWaitMs && missingMs > halfMs;
      const waitMs = isHalfSooner ? missingMs - halfMs : missingMs;
      this.#settlesAtMs = isEnough ? undefined : clock.now() + waitMs;
      this.#tell();
      if (isEnough) return { fromMs, toMs: Math.min(toMs, settledMs) };
      const mostMs = Math.min(waitMs, longestSleepMs);
      if (this.#isTried || waitMs <= shortWaitMs) await sleep(clock, mostMs, this.#options.signal);
      else await this.#tryOut(Math.min(toMs, settledMs), mostMs);
    }
  }

  /** Rejects with what the service refuses. Nothing of what is found before `toMs` is used; who gets no turn within `turnMs` has tried nothing. */
  async #tryOut(toMs: number, turnMs: number): Promise<void> {
    const { task, traits } = this.#tools;
    const order = task.order({ fromMs: toMs - trialMs, toMs }, traits.isEndInclusive);
    try {
      const job = await this.jobs.open(order, 'Rows', { turnMs });
      this.#isTried = true;
      await this.jobs.close(job);
    } catch (thrown) {
      if (asLogfleetError(thrown).code !== noTurnCode) throw thrown;
    }
  }

  /** Nothing newer is searched. */
  #settledMs(clockBehindMs: number): number {
    const { settleDelayMs } = this.#options;
    return Math.floor(this.#tools.clock.now() - settlingMs({ settleDelayMs, clockBehindMs }));
  }

  /** False where the search goes on for so long that it has to be the one search of its range. */
  async #finishedInTime(job: SearchJob): Promise<boolean> {
    const { clock, traits, task } = this.#tools;
    const patience = new AbortController();
    const timer = clock.after(longestWaitMs, () => patience.abort());
    const { signal } = this.#options;
    try {
      const progress = await job.whenFinished(AbortSignal.any([signal, patience.signal]));
      this.#firstTookMs = clock.monotonic() - job.createdAtMs;
      if (task.identity.results === 'Messages') traits.searched(progress);
      return true;
    } catch (error) {
      if (!patience.signal.aborted || signal.aborted || job.end) throw error;
      return false;
    } finally {
      timer.cancel();
    }
  }

  /** For the columns of files that have columns. */
  async #describedFields(job: SearchJob): Promise<readonly PlannedField[] | undefined> {
    const { results, output } = this.#tools.task.identity;
    if (results === 'Records' || output.format === 'NDJSON') return undefined;
    const fields = await crossing('export.readPage', () => job.describeFields(this.#options.signal));
    return fields.map(({ name, fieldType }) => ({ name, fieldType }));
  }

  async #segmentsOf(job: SearchJob, range: Interval): Promise<Segmentation> {
    const { task, traits, log, clock } = this.#tools;
    const { progress } = job;
    const isCut = cutSign(progress, traits.smallestLimit) !== undefined;
    if (!isCut || !task.isSplittable) return asOne(job, range);
    const limit = this.#limitOf(job);
    const { byReceiptTime } = task.identity;
    // By receipt time a search that was cut has nothing for sure.
    const newest = byReceiptTime ? undefined : newestOf(job, range);
    const rest = newest && restOf(range, newest);
    if (rest && rest.rows < limit) return guessed([{ ...range, rows: rest.rows + newest.rows }]);
    const order = (interval: Interval) => task.order(interval, traits.isEndInclusive);
    const { signal } = this.#options;
    // It goes through all of the range, and takes no less time than a search that was cut before its end.
    const wishes = { turnMs: longestTurnMs, expectedMs: this.#firstTookMs };
    const counts = await countFinely(range, limit, { order, jobs: this.jobs, clock, signal, ...wishes });
    if (counts.kind === 'counted') {
      const { slices } = counts;
      // One row less, so that the oldest that the search found shows that it found all of the newest segment.
      const foundRows = progress.messageCount - 1;
      const most = Math.ceil(receiptPart * limit);
      const found = byReceiptTime ? { limit: most, foundRows: 0 } : { limit, foundRows };
      return { segments: firstSegments({ range, slices, ...found }), areCounted: true };
    }
    log.info('The rows of an export could not be counted by slices of time.', { reason: counts.reason });
    if (rest) return guessed([...evenSegments(rest, limit), newest]);
    return guessed(blindSegments({ ...range, rows: progress.messageCount }));
  }

  #requestsOf(job: SearchJob, segments: readonly SegmentCount[], areCounted: boolean): number {
    const { task, traits } = this.#tools;
    const isCut = task.isSplittable && cutSign(job.progress, traits.smallestLimit) !== undefined;
    // What found all in one search, or is searched by one alone, is cut nowhere.
    const limit = isCut ? this.#limitOf(job) : job.progress.messageCount + 1;
    return requestsOfSegments(segments, limit) + (areCounted ? requestsOfCount : 0);
  }

  /** A search that was cut without a word has found as many as the limit is. */
  #limitOf(job: SearchJob): number {
    return this.#tools.traits.smallestLimit ?? Math.max(1, job.progress.messageCount);
  }

  #tell(): void {
    const { views: jobs, scannedBytes } = this.jobs;
    this.#options.onNews?.({ jobs, scannedBytes, settlesAtMs: this.#settlesAtMs, isTried: this.#isTried });
  }
}

/** In order of time. */
interface Segmentation {
  readonly segments: readonly SegmentCount[];
  /** Their rows are what an aggregation has counted, and no guess. */
  readonly areCounted: boolean;
}

function guessed(segments: readonly SegmentCount[]): Segmentation {
  return { segments, areCounted: false };
}

function asOne(job: SearchJob, range: Interval): Segmentation {
  return guessed([{ ...range, rows: job.progress.messageCount }]);
}

/** What a search that was cut has found for sure, by its histogram. */
function newestOf(job: SearchJob, range: Interval): SegmentCount | undefined {
  const whole = wholeBuckets(job.histogram(), range);
  return whole && { fromMs: whole.atMs, toMs: range.toMs, rows: whole.rows };
}

/** What is before that, with as many rows as it has if there are as many at all times. */
function restOf({ fromMs }: Interval, newest: SegmentCount): SegmentCount {
  const rows = Math.ceil((newest.rows / (newest.toMs - newest.fromMs)) * (newest.fromMs - fromMs));
  return { fromMs, toMs: newest.fromMs, rows };
}

/**
 * Does the work of one export: plans and runs searches, checks that no row is missing, and writes the manifest.
 * `next-task.ts` and `export-decision.ts` decide what comes next.
 *
 * All results are at the destination (E3), so this process may end at any time. Only `advance` starts work, and it does
 * not wait.
 */
import { asLogfleetError } from '../../base/errors.ts';
import { HeldClock } from '../../base/held-clock.ts';
import { stallRetryMs } from '../../base/retry-delay.ts';
import { recordKey } from '../../destination/commit-record.ts';
import type { Destination } from '../../destination/destination.ts';
import type { PlanningWait, planExport } from '../plan/export-planning.ts';
import { mostConfirmed } from '../proof/digest.ts';
import { type DigestResult, prove, verdictOf } from '../proof/proving.ts';
import { JobSet } from '../search/job-set.ts';
import {
  ChosenFields,
  type ExportTools,
  type OpenedJob,
  type SearchOrder,
  type SearchTools,
} from '../search/search-tools.ts';
import { settlingMs } from '../search/settling.ts';
import {
  decide,
  digestSegment,
  type ExportDecision,
  type ExportProgress,
  haltOf,
  isOver,
  isScannedOut,
  progressOf,
  type Wait,
} from './export-decision.ts';
import { ExportDelays } from './export-delays.ts';
import { figuresText, rangeText, slicesText } from './figure-text.ts';
import { nextTask, type Task } from './next-task.ts';
import { NewestTexts, RunningSearches, type Search, waitingSearches } from './running-searches.ts';
import { StoredExport } from './stored-export.ts';
import type { WorkLimits, WorkStage, WorkView } from './work-view.ts';
import { busyRereadMs, idleRereadMs, patienceMs, rereadMs, standInAtMs, type WorkerPart } from './worker-part.ts';

export interface ExportWorkOptions extends ExportTools {
  /** Opens the destination without changing it. */
  readonly openDestination: () => Promise<Destination>;
  readonly plan: typeof planExport;
  readonly search: (order: SearchOrder, tools: SearchTools, opened?: OpenedJob) => Search;
  /** Bytes that earlier processes scanned. */
  readonly scannedBytes: number;
  /** Number of this worker, and the number of all workers of the export. */
  readonly part: WorkerPart;
  /** Called when new work may be possible, so that the caller calls `advance`. */
  readonly onChange: () => void;
}

/**
 * Minimum delay in ms before a wall time is checked again. The check is repeated, because the wall clock may have been
 * set back.
 */
const minSettleWaitMs = 1_000;
/** Maximum number of comparisons with the service. Further comparisons need a request by a user. */
const mostRounds = 3;
/** Text that follows a message about repeated rows, if the service could not confirm how often it stores them (E6). */
const repeatsText =
  `; result pages repeated more than ${mostConfirmed} rows, so logfleet cannot ask the service whether it stores them more than once. ` +
  'If the service does, set spec.proof to Count';
/** Limits that allow no work. They apply until `advance` is called with the real limits. */
const noLimits: WorkLimits = {
  ...{ isPaused: true, parallelism: 1, settleDelayMs: 0, incompletePolicy: 'Fail', proof: 'Digest' },
  ...{ maxMessages: undefined, maxBytesScanned: undefined, deadlineMs: undefined },
};

/** A running task and its search jobs. */
interface RunningTask {
  readonly kind: Task['kind'];
  readonly jobs: JobSet;
  readonly abort: AbortController;
  /** Monotonic time at which the task began. */
  readonly begunAtMs: number;
  readonly settleDelayMs: number;
  /** Wall time until which the planning waits (E11); undefined if it does not wait. */
  settlesAtMs: number | undefined;
}

export class ExportWork {
  readonly #options: ExportWorkOptions;
  /** Clock whose time stands still during a call of `advance`, so that all decisions of the call use the same time. */
  readonly #clock: HeldClock;
  readonly #delays: ExportDelays;
  readonly #searches: RunningSearches;
  readonly #messages = new NewestTexts();
  readonly #warnings = new NewestTexts();
  readonly #chosenFields: ChosenFields;
  readonly #stored: StoredExport;
  /** Maximum number of comparisons with the service. A user's retry raises it by one. */
  #maxRounds = mostRounds;
  #task: RunningTask | undefined;
  #taskEnded: Promise<void> | undefined;
  #limits = noLimits;
  /** Bytes that were scanned by earlier processes, and by plannings and comparisons that have ended. */
  #scannedBefore: number;
  #isClosed = false;

  constructor(options: ExportWorkOptions) {
    this.#options = options;
    this.#clock = new HeldClock(options.clock);
    this.#stored = new StoredExport(options.openDestination, options.task, this.#clock);
    this.#delays = new ExportDelays(this.#clock);
    this.#chosenFields = new ChosenFields(options.task.identity.output.fields);
    this.#scannedBefore = options.scannedBytes;
    this.#searches = new RunningSearches({
      ...{ log: options.log, delays: this.#delays, messages: this.#messages, range: options.task.identity },
      onCommitted: (record) => this.#stored.keep(record),
      onOthers: () => this.#stored.recordsWritten(),
      onEnded: () => options.onChange(),
    });
  }

  /** True while a search job of the planning is open and its results are still needed. */
  get isPlanning(): boolean {
    const planning = this.#planning;
    // While the planning waits, only a test search can be open. Its rows are not used.
    if (!planning || planning.settlesAtMs !== undefined || planning.jobs.signal.aborted) return false;
    return planning.jobs.views.length > 0;
  }

  /** Starts all work that the limits allow. Returns the state of the work for the status. */
  advance(limits: WorkLimits): WorkView {
    return this.#clock.hold(() => this.#advance(limits));
  }

  #advance(limits: WorkLimits): WorkView {
    if (limits.incompletePolicy === 'Keep' && this.#limits.incompletePolicy === 'Fail') this.#searches.keepIncomplete();
    this.#limits = limits;
    const decision = this.#decide();
    if (decision && this.#isOutdated(decision)) this.#stored.recordsWritten();
    if (this.#isClosed) return this.#view(decision);
    if (decision) this.#follow(decision);
    this.#abortTask(decision);
    const task = this.#task ? undefined : this.#nextTask(decision);
    if (task) this.#begin(task);
    return this.#view(this.#decide());
  }

  /** Repeats failed work and reads all commit records again after a user's retry. */
  tryAgain(): void {
    this.#delays.lift();
    this.#stored.doubtRecords();
    this.#maxRounds = Math.max(mostRounds, this.#stored.verdicts.length + 1);
  }

  /** Ends all work of the export. Resolves when search jobs are closed and unfinished files are removed. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#task?.abort.abort();
    await Promise.all([this.#taskEnded, this.#searches.stop('ShutDown')]);
    await this.#stored.close();
  }

  /** Decides which searches start and stop. Returns undefined if the export has no plan or is complete. */
  #decide(): ExportDecision<Search> | undefined {
    const { task, quirks } = this.#options;
    const { stage, plan, records, verdicts } = this.#stored;
    if (stage !== 'planned' || !plan) return undefined;
    return decide({
      plan,
      records,
      verdicts,
      wantsDigest: this.#limits.proof === 'Digest' && task.identity.results === 'Messages' && task.isSplittable,
      running: this.#searches.list,
      delays: this.#delays.intervals,
      troubleUntilMs: this.#delays.needsProbe ? Number.POSITIVE_INFINITY : this.#delays.trouble?.untilMs,
      narrowed: this.#searches.narrowed,
      scannedBytes: this.#endedBytes,
      byReceiptTime: task.identity.byReceiptTime,
      limits: { ...this.#limits, parallelism: this.#parallelism, smallestLimit: quirks.smallestLimit },
      part: this.#options.part,
      patientUntilMs: this.#patientUntilMs,
      standInAtMs: this.#standInAtMs,
      now: { wallMs: this.#clock.now(), monotonicMs: this.#clock.monotonic(), clockBehindMs: quirks.clockBehindMs },
    });
  }

  /** Maximum number of parallel searches. After a failure, only one search runs. */
  get #parallelism(): number {
    return this.#delays.lastError ? 1 : this.#limits.parallelism;
  }

  /** Monotonic time until which this worker leaves some segments to the workers that own them. */
  get #patientUntilMs(): number {
    return this.#stored.othersSeenAtMs + patienceMs;
  }

  /** Monotonic time from which this worker may do the tasks of the first worker. */
  get #standInAtMs(): number {
    return this.#options.part.index === 0 ? 0 : standInAtMs(this.#stored.othersSeenAtMs, this.#options.part);
  }

  /** True while this process waits for the first worker to write the plan. */
  get #awaitsPlan(): boolean {
    return this.#clock.monotonic() < this.#standInAtMs;
  }

  /** True if other workers may have written objects since this worker last read the destination. */
  #isOutdated(decision: ExportDecision | undefined): boolean {
    return this.#options.part.workers > 1 && this.#stored.ageMs >= this.#rereadMs(decision);
  }

  #rereadMs(decision: ExportDecision | undefined): number {
    if (decision && decision.start.length > 0) return rereadMs;
    const sinceOthersMs = this.#clock.monotonic() - this.#stored.othersSeenAtMs;
    return this.#searches.list.length > 0 ? busyRereadMs : idleRereadMs(sinceOthersMs);
  }

  get #planning(): RunningTask | undefined {
    return this.#task?.kind === 'plan' ? this.#task : undefined;
  }

  #follow(decision: ExportDecision<Search>): void {
    for (const { search, reason } of decision.stop) search.stop(reason);
    for (const search of decision.endAsCut) search.endAsCut();
    // Searches start only when the commit records of other processes are known, so that no interval is searched twice.
    if (this.#stored.recordsState === 'current') for (const order of decision.start) this.#search(order);
    if (decision.waitsFor?.kind === 'disorder') this.#stored.recheckDisorder();
  }

  #search(order: SearchOrder, opened?: OpenedJob): void {
    this.#searches.add(order, this.#options.search(order, this.#tools(), opened));
  }

  #tools(): SearchTools {
    const { destination, plan } = this.#stored;
    return {
      ...this.#options,
      destination,
      describedFields: plan?.describedFields ?? [],
      chosenFields: this.#chosenFields,
      incompletePolicy: () => this.#limits.incompletePolicy,
      failedBefore: (order) => this.#delays.failedBefore(order),
      settleDelayMs: () => this.#limits.settleDelayMs,
      isScannedOut: () => isScannedOut(this.#limits, this.#endedBytes + this.#searches.runningBytes),
      searchesAtOnce: () => Math.max(1, this.#parallelism - this.#searches.list.length + 1),
    };
  }

  /** Scanned bytes, without those of running searches. */
  get #endedBytes(): number {
    return this.#scannedBefore + this.#searches.endedBytes + (this.#task?.jobs.scannedBytes ?? 0);
  }

  /** Aborts the planning or comparison if a limit or a pause no longer allows it. */
  #abortTask(decision: ExportDecision | undefined): void {
    const { kind, abort, settleDelayMs } = this.#task ?? {};
    const isOver = decision?.waitsFor?.kind === 'deadline' || decision?.waitsFor?.kind === 'maxBytesScanned';
    // If `settleDelay` has changed, the planning is aborted, because `settleDelay` decides which rows are old enough to
    // be searched (E11).
    const isOutdated = settleDelayMs !== this.#limits.settleDelayMs || this.#halt;
    if ((kind === 'plan' && isOutdated) || (kind === 'prove' && isOver)) abort?.abort();
  }

  #nextTask(decision: ExportDecision | undefined): Task | undefined {
    return nextTask({
      stored: this.#stored,
      isHeld: this.#delays.trouble !== undefined,
      needsProbe: this.#delays.needsProbe,
      isPaused: this.#limits.isPaused,
      mayPlan: !this.#halt,
      awaitsPlan: this.#awaitsPlan,
      isOutdated: this.#isOutdated(decision),
      decision,
      searches: this.#searches.list.length,
    });
  }

  #begin(task: Task): void {
    const abort = new AbortController();
    const jobs = new JobSet({ ...this.#options, signal: abort.signal });
    const { settleDelayMs } = this.#limits;
    const begunAtMs = this.#clock.monotonic();
    const running: RunningTask = { kind: task.kind, jobs, abort, begunAtMs, settleDelayMs, settlesAtMs: undefined };
    this.#task = running;
    this.#taskEnded = this.#run(task, running)
      .finally(() => jobs.closeAll())
      .then(() => this.#succeeded(task.kind))
      .catch((thrown: unknown) => this.#failed(task.kind, thrown))
      .finally(() => {
        this.#scannedBefore += jobs.scannedBytes;
        this.#task = undefined;
        this.#options.onChange();
      });
  }

  async #run(task: Task, running: RunningTask): Promise<void> {
    switch (task.kind) {
      case 'load':
        return this.#stored.load();
      case 'tidy':
        return this.#stored.tidy();
      case 'probe':
        return this.#probe();
      case 'plan':
        return this.#plan(running);
      case 'readRecords':
        return this.#readRecords();
      case 'prove': {
        const found = await prove(task.intervals, task.round, { ...this.#options, jobs: running.jobs });
        return this.#judge(found, task.round);
      }
      case 'finish':
        return this.#stored.finish(task.coverage);
    }
  }

  #succeeded(task: Task['kind']): void {
    if (task === 'plan') this.#delays.searched();
    else if (task !== 'probe' && task !== 'tidy') this.#delays.succeeded();
  }

  #failed(task: Task['kind'], thrown: unknown): void {
    if (this.#isClosed || this.#task?.jobs.signal.aborted) return;
    const error = asLogfleetError(thrown);
    this.#options.log[error.handling.kind === 'bug' ? 'error' : 'warn']('a task of the export failed', { task, error });
    // If only the removal of unneeded uploads failed, the export can continue.
    if (task !== 'tidy') this.#delays.failed(error, ['plan', 'prove', 'finish'].includes(task));
  }

  async #probe(): Promise<void> {
    const { lastError } = this.#delays;
    await this.#stored.probe(this.#options.writer.newToken());
    this.#delays.probedAfter(lastError);
  }

  async #plan(planning: RunningTask): Promise<void> {
    const { settleDelayMs, jobs } = planning;
    const onWait = ({ settlesAtMs, isTried }: PlanningWait) => {
      planning.settlesAtMs = settlesAtMs;
      // A test search has succeeded, so earlier failures no longer delay the export.
      if (settlesAtMs !== undefined && isTried) this.#delays.searched();
      this.#options.onProgress();
    };
    const { plan, first } = await this.#options.plan(this.#tools(), { settleDelayMs, jobs, onWait });
    this.#stored.adopt(plan);
    if (first && this.#isClosed) await first.job.close();
    else if (first) this.#search(first.order, first);
  }

  async #readRecords(): Promise<void> {
    await this.#stored.readRecords();
    // If another process has committed an interval, this process no longer needs to delay its search.
    for (const record of this.#stored.records) this.#searches.forget(record);
  }

  /**
   * Stores the result of a comparison with the service. With `incompletePolicy: Fail`, differences that remain after
   * the last search are only reported.
   */
  async #judge(shown: DigestResult, round: number): Promise<void> {
    const isLast = shown.differing.length > 0 && round > this.#maxRounds;
    if (isLast && this.#limits.incompletePolicy !== 'Keep') this.#differs(shown);
    else await this.#stored.judge(verdictOf(round, shown, isLast));
  }

  /**
   * Reports time ranges that still differ from the service after the last repeated search. These ranges wait until a
   * user acts.
   */
  #differs({ differing, unconfirmed }: DigestResult): void {
    for (const range of differing) {
      const { fromMs, toMs, counted, written, inSlices = [] } = range;
      const figures = { received: written.rows, expected: counted.rows };
      const message = `an aggregation of the service shows ${figuresText(counted)}, but the files contain ${figuresText(written)}${slicesText(inSlices)}${unconfirmed.has(range) ? repeatsText : ''}`;
      const order = { segment: digestSegment, fromMs, toMs };
      this.#delays.incomplete({ order, reason: 'DigestDiffers', message, figures });
      this.#messages.tell(`${rangeText(order)} ${message}`, recordKey(order));
    }
  }

  /** Reason why neither searches nor the planning may start, such as a pause. Undefined if they may start. */
  get #halt(): Wait | undefined {
    return haltOf(this.#limits, this.#clock.now(), this.#endedBytes);
  }

  /**
   * Returns why the planning may not start yet. Returns undefined if it may start. Until the destination is read, the
   * export may already be complete, so the deadline is ignored unless a failure has occurred.
   */
  get #waitBeforePlan(): Wait | undefined {
    const { quirks, task } = this.#options;
    const wallMs = this.#clock.now();
    const { stage } = this.#stored;
    if (stage === 'complete') return undefined;
    if (stage === 'loading') {
      return this.#delays.lastError && isOver(this.#limits, wallMs) ? { kind: 'deadline' } : undefined;
    }
    const { settleDelayMs } = this.#limits;
    const firstMs = task.identity.fromMs + settlingMs(settleDelayMs, quirks.clockBehindMs);
    const untilMs = this.#planning?.settlesAtMs ?? (wallMs < firstMs ? firstMs : undefined);
    if (this.#halt) return this.#halt;
    if (untilMs !== undefined) return { kind: 'settling', untilMs };
    return this.#awaitsPlan ? { kind: 'workers' } : undefined;
  }

  #view(decision: ExportDecision | undefined): WorkView {
    const { quirks } = this.#options;
    const { location, manifest, lockedFiles } = this.#stored;
    const { trouble, lastError, isLasting: isTroubleLasting, unproven } = this.#delays;
    const { list, written } = this.#searches;
    const jobs = [...(this.#task?.jobs.views ?? []), ...list.flatMap((search) => search.jobs)];
    for (const text of jobs.flatMap(({ warnings }) => warnings)) this.#warnings.keep(text);
    const waitsFor = decision ? decision.waitsFor : this.#waitBeforePlan;
    const waiting = waitingSearches(list, this.#clock.monotonic());
    const intervals = manifest?.manifest.intervals ?? decision?.coverage.intervals ?? [];
    return {
      stage: stageOf(this.#stored, decision),
      location,
      progress: this.#progress(decision),
      digestMs: this.#digestMs(decision),
      intervals,
      histogram: () => this.#searches.histogramOf(intervals),
      searches: list.length,
      waitingSearches: waiting.count,
      ...{ jobs, waitsFor, trouble, lastError, isTroubleLasting, unproven, manifest, lockedFiles },
      clockBehindMs: quirks.clockBehindMs,
      hasServiceAnswered: quirks.hasAnswered,
      messages: this.#messages.all,
      warnings: this.#warnings.all,
      undescribedFields: intervals.length === written ? this.#chosenFields.undescribed : [],
      requeueAfterMs: Math.min(waiting.delayMs, this.#requeueAfterMs(decision, waitsFor)),
    };
  }

  #progress(decision: ExportDecision | undefined): ExportProgress | undefined {
    if (decision) return decision.progress;
    const { stage, manifest } = this.#stored;
    if (stage === 'loading') return undefined;
    return progressOf(manifest?.manifest.intervals ?? [], manifest ? 1 : 0, 0, this.#endedBytes);
  }

  /**
   * Returns the expected remaining time in ms of the comparison with the service (digest). It is 0 if no comparison is
   * left, and undefined if the comparison takes longer than expected.
   *
   * A digest covers the whole range, so it probably takes as long as a search or a counting aggregation.
   */
  #digestMs(decision: ExportDecision | undefined): number | undefined {
    if (!decision?.isDigestLeft) return 0;
    const { countMs = 0, searchMs = 0 } = this.#options.quirks;
    const { kind, begunAtMs } = this.#task ?? {};
    const sinceMs = kind === 'prove' && begunAtMs !== undefined ? this.#clock.monotonic() - begunAtMs : 0;
    const leftMs = Math.max(countMs, searchMs) - sinceMs;
    return leftMs > 0 ? leftMs : undefined;
  }

  /**
   * Returns the time in ms after which the state of the work may change although no event occurs. Searches that wait
   * for a free search job are ignored.
   */
  #requeueAfterMs(decision: ExportDecision | undefined, wait: Wait | undefined): number {
    const { trouble } = this.#delays;
    const delaysMs = [this.#stored.tidyDelayMs];
    if (trouble) delaysMs.push(trouble.untilMs - this.#clock.monotonic());
    if (wait?.kind === 'settling') delaysMs.push(Math.max(minSettleWaitMs, wait.untilMs - this.#clock.now()));
    if (wait?.kind === 'disorder') delaysMs.push(stallRetryMs);
    if (this.#options.part.workers > 1 && this.#stored.stage !== 'complete') {
      delaysMs.push(this.#rereadMs(decision) - this.#stored.ageMs);
    }
    if (this.#awaitsPlan) delaysMs.push(this.#standInAtMs - this.#clock.monotonic());
    if (decision) delaysMs.push(decision.requeueAfterMs);
    else if (this.#stored.stage !== 'complete' && this.#limits.deadlineMs !== undefined) {
      delaysMs.push(this.#limits.deadlineMs - this.#clock.now());
    }
    return Math.min(...delaysMs.filter((delayMs) => delayMs > 0), Number.POSITIVE_INFINITY);
  }
}

function stageOf({ stage }: StoredExport, decision: ExportDecision | undefined): WorkStage {
  if (stage !== 'planned') return stage;
  if (!decision?.isCovered) return 'exporting';
  return decision.unproven.length > 0 ? 'proving' : 'finishing';
}

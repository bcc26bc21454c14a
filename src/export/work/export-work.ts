/**
 * Does the work of one export: plans and runs searches, checks that no row is missing, and writes the manifest.
 * `work-state.ts` contains the states of the work, and `next-actions.ts` decides the next actions. This file carries
 * out these actions, and converts their results into events for the state machine. All results are stored at the
 * destination (E3), so this process may end at any time. Only the method `advance` starts work. It returns without
 * waiting until this work has ended.
 */
import { assert } from '../../base/assert.ts';
import { asLogfleetError, type LogfleetError } from '../../base/errors.ts';
import { recordKey } from '../../destination/commit-record.ts';
import { coverageOf } from '../../destination/coverage.ts';
import type { Destination } from '../../destination/store/destination.ts';
import type { PlanningWait, planExport } from '../plan/export-planning.ts';
import { maxConfirmed } from '../proof/digest.ts';
import { type DigestResult, digestVerdictOf, prove } from '../proof/proving.ts';
import { JobSet } from '../search/job-set.ts';
import {
  ChosenFields,
  type ExportTools,
  type OpenedJob,
  type SearchOrder,
  type SearchTools,
} from '../search/search-tools.ts';
import { describeState } from './describe-work.ts';
import { decideExport, digestSegment, type ExportMoment, isScanLimitReached } from './export-decision.ts';
import { ExportDelays } from './export-delays.ts';
import { differenceText, rangeText } from './figure-text.ts';
import { type DecidedState, nextActions, type RunningStep, type Step, type WorkFacts } from './next-actions.ts';
import { NewestTexts, RunningSearches, type Search, waitingSearches } from './running-searches.ts';
import { StoredExport } from './stored-export.ts';
import { type Exporting, initialState, nextState, type WorkEvent, type WorkState } from './work-state.ts';
import type { WorkLimits, WorkView } from './work-view.ts';
import { otherWorkersTimeoutMs, replacesFirstAtMs, type WorkerIndex } from './worker-segments.ts';

export interface ExportWorkOptions extends ExportTools {
  /** Opens the destination without changing it. */
  readonly openDestination: () => Promise<Destination>;
  readonly plan: typeof planExport;
  readonly search: (order: SearchOrder, tools: SearchTools, opened?: OpenedJob) => Search;
  /** Bytes that earlier processes scanned. */
  readonly scannedBytes: number;
  /** Index of this worker, and the number of the export's workers. */
  readonly worker: WorkerIndex;
  /** Called when new work may be possible. The caller must then call `advance`. */
  readonly onChange: () => void;
}

/**
 * End of a message about repeated rows. It is added if logfleet could not ask the service whether the service stores
 * these rows more than once (E6).
 */
const repeatsText =
  `; result pages repeated more than ${maxConfirmed} rows, so logfleet cannot ask the service whether it stores these rows more than once. ` +
  'If it does, set spec.proof to Count';
/** Initial limits, which allow no work to start. They apply until `advance` is called with the actual limits. */
const noLimits: WorkLimits = {
  ...{ isPaused: true, parallelism: 1, settleDelayMs: 0, incompletePolicy: 'Fail', proof: 'Digest' },
  ...{ maxMessages: undefined, maxBytesScanned: undefined, deadlineMs: undefined },
};

/** Running step of the work, such as planning, with its search jobs. The promise resolves when the step has ended. */
interface StepRun extends RunningStep {
  readonly jobs: JobSet;
  readonly abort: AbortController;
  /** Resolves when the step has ended. */
  readonly ended: Promise<void>;
}

export class ExportWork {
  readonly #options: ExportWorkOptions;
  readonly #delays: ExportDelays;
  readonly #searches: RunningSearches;
  readonly #messages = new NewestTexts();
  readonly #warnings = new NewestTexts();
  readonly #chosenFields: ChosenFields;
  readonly #stored: StoredExport;
  #state: WorkState;
  #run: StepRun | undefined;
  #limits = noLimits;
  /** Bytes scanned by searches of earlier processes, and by steps of this process that have ended. */
  #scannedBefore: number;
  /** Last failure to read the commit records, or to write a probe file. */
  #destinationFailure: LogfleetError | undefined;
  #isClosed = false;

  constructor(options: ExportWorkOptions) {
    const { definition, clock, log, scannedBytes, onChange } = options;
    this.#options = options;
    this.#state = initialState(clock.monotonic());
    this.#stored = new StoredExport(options.openDestination, definition);
    this.#delays = new ExportDelays(clock);
    this.#chosenFields = new ChosenFields(definition.identity.output.fields);
    this.#scannedBefore = scannedBytes;
    this.#searches = new RunningSearches({
      ...{ log, delays: this.#delays, messages: this.#messages, range: definition.identity },
      onCommitted: (record) => this.#on({ kind: 'committed', record }),
      onOthers: () => this.#on({ kind: 'othersWrote' }),
      onEnded: onChange,
    });
  }

  /** True while planning has an open search job whose results are still needed. */
  get isPlanning(): boolean {
    const { step, settlesAtMs, jobs } = this.#run ?? {};
    // While planning waits for rows to become old enough, only a test search can be open. Its rows are not used.
    if (step?.kind !== 'plan' || !jobs || settlesAtMs !== undefined || jobs.signal.aborted) return false;
    return jobs.views.length > 0;
  }

  /**
   * True if the work can end now and begin again later without any loss: nothing is running, and there is no failure to
   * remember. If a failure were forgotten, it would be reported a second time.
   */
  get canBeginAgain(): boolean {
    const { lastError, unproven } = this.#delays;
    return !this.#run && this.#searches.list.length === 0 && lastError === undefined && unproven.length === 0;
  }

  /**
   * True if `tryAgain` makes this work reread all objects at the destination. During planning, and once the manifest is
   * being written, new work must be started instead.
   */
  get canReread(): boolean {
    const { kind } = this.#state;
    return kind === 'loading' || (kind === 'exporting' && this.#run?.step.kind !== 'finish');
  }

  /** Starts all work that the limits allow. Returns the state of the work for the status. */
  advance(limits: WorkLimits): WorkView {
    if (limits.incompletePolicy === 'Keep' && this.#limits.incompletePolicy === 'Fail') this.#searches.keepIncomplete();
    this.#limits = limits;
    // All decisions of this call use the same time.
    const { clock, quirks } = this.#options;
    const now = { wallMs: clock.now(), monotonicMs: clock.monotonic(), clockBehindMs: quirks.clockBehindMs };
    if (!this.#isClosed) this.#act(now);
    return this.#view(now);
  }

  /** Repeats failed work, and rereads all commit records, because a user has requested a retry. */
  tryAgain(): void {
    this.#delays.lift();
    this.#on({ kind: 'retried' });
  }

  /** Ends all work on the export. Resolves when search jobs are closed and unfinished files are removed. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#run?.abort.abort();
    await Promise.all([this.#run?.ended, this.#searches.stop()]);
    await this.#stored.close();
  }

  #on(event: WorkEvent): void {
    this.#state = nextState(this.#state, event);
  }

  /** State of the export while it has a plan but no manifest. */
  get #exporting(): Exporting {
    assert(this.#state.kind === 'exporting', 'searches, comparisons and the manifest require a plan');
    return this.#state;
  }

  #act(now: ExportMoment): void {
    const { stop, endAsCut, start, abortsStep, step } = nextActions(this.#decided(now), this.#facts(now));
    for (const search of stop) search.stop();
    for (const search of endAsCut) search.endAsCut();
    for (const order of start) this.#search(order);
    if (abortsStep) this.#run?.abort.abort();
    if (step) this.#begin(step);
  }

  /** Decides which searches start and stop while the export has a plan but no manifest. */
  #decided(now: ExportMoment): DecidedState<Search> {
    if (this.#state.kind !== 'exporting') return this.#state;
    const { quirks, worker, definition } = this.#options;
    const { identity, isSplittable } = definition;
    const { plan, records, verdicts, othersSeenAtMs } = this.#state;
    const decision = decideExport({
      ...{ plan, records, verdicts, worker, now },
      wantsDigest: this.#limits.proof === 'Digest' && identity.results === 'Messages' && isSplittable,
      running: this.#searches.list,
      delays: this.#delays.intervals,
      troubleUntilMs: this.#delays.needsProbe
        ? Number.POSITIVE_INFINITY
        : this.#delays.troubleAt(now.monotonicMs)?.untilMs,
      narrowed: this.#searches.narrowed,
      scannedBytes: this.#endedBytes,
      byReceiptTime: identity.byReceiptTime,
      limits: { ...this.#limits, parallelism: this.#parallelism, smallestLimit: quirks.smallestLimit },
      yieldsUntilMs: othersSeenAtMs + otherWorkersTimeoutMs,
      replacesFirstAtMs: replacesFirstAtMs(othersSeenAtMs, worker),
    });
    return { ...this.#state, decision };
  }

  #facts(now: ExportMoment): WorkFacts {
    return {
      ...{ now, limits: this.#limits, worker: this.#options.worker, running: this.#run, endedBytes: this.#endedBytes },
      trouble: this.#delays.troubleAt(now.monotonicMs),
      needsProbe: this.#delays.needsProbe,
      searches: this.#searches.list.length,
    };
  }

  /** Maximum number of parallel searches. After a failure, only one search runs. */
  get #parallelism(): number {
    return this.#delays.lastError ? 1 : this.#limits.parallelism;
  }

  #search(order: SearchOrder, opened?: OpenedJob): void {
    const tools = this.#tools(this.#exporting.plan.describedFields);
    this.#searches.add(order, this.#options.search(order, tools, opened));
  }

  #tools(describedFields: SearchTools['describedFields'] = []): SearchTools {
    return {
      ...this.#options,
      destination: this.#stored.destination,
      describedFields,
      chosenFields: this.#chosenFields,
      incompletePolicy: () => this.#limits.incompletePolicy,
      failedBefore: (order) => this.#delays.failedBefore(order),
      settleDelayMs: () => this.#limits.settleDelayMs,
      isScanLimitReached: () => isScanLimitReached(this.#limits, this.#endedBytes + this.#searches.runningBytes),
      searchesAtOnce: () => Math.max(1, this.#parallelism - this.#searches.list.length + 1),
    };
  }

  /** Bytes scanned by searches that have ended, and by the search jobs of the running step. */
  get #endedBytes(): number {
    return this.#scannedBefore + this.#searches.endedBytes + (this.#run?.jobs.scannedBytes ?? 0);
  }

  #begin(step: Step): void {
    const abort = new AbortController();
    const jobs = new JobSet({ ...this.#options, signal: abort.signal });
    const { promise: ended, resolve } = Promise.withResolvers<void>();
    const begunAtMs = this.#options.clock.monotonic();
    this.#run = { step, jobs, abort, ended, begunAtMs, settlesAtMs: undefined };
    this.#carryOut(step, jobs)
      .finally(() => jobs.closeAll())
      .then(() => this.#succeeded(step.kind))
      .catch((thrown: unknown) => this.#failed(step.kind, thrown, abort.signal))
      .finally(() => {
        this.#scannedBefore += jobs.scannedBytes;
        this.#run = undefined;
        this.#options.onChange();
        resolve();
      });
  }

  async #carryOut(step: Step, jobs: JobSet): Promise<void> {
    const { clock, writer } = this.#options;
    switch (step.kind) {
      case 'load':
        return this.#load();
      case 'tidy':
        this.#on({ kind: 'tidyBegan', atMs: clock.monotonic() });
        await this.#stored.abortOldUploads();
        return this.#on({ kind: 'tidied' });
      case 'probe': {
        const { lastError } = this.#delays;
        await this.#stored.probe(writer.newToken());
        return this.#delays.probedAfter(lastError);
      }
      case 'plan':
        return this.#plan(step, jobs);
      case 'readRecords':
        await this.#readRecords(step.which);
        for (const record of this.#exporting.records) this.#searches.committedElsewhere(record);
        return;
      case 'prove':
        return this.#judge(await prove(step.intervals, step.round, { ...this.#options, jobs }), step.round);
      case 'finish':
        return this.#finish(step);
    }
  }

  #succeeded(kind: Step['kind']): void {
    if (kind === 'probe' || kind === 'tidy') return;
    if (kind === 'plan') this.#delays.searched();
    // After a successful read of the commit records, the delay ends only if it was caused by a failure to read them or
    // to write a probe file. The read does not show whether the service is working.
    else if (kind !== 'readRecords' || this.#delays.lastError === this.#destinationFailure) this.#delays.succeeded();
  }

  #failed(kind: Step['kind'], thrown: unknown, signal: AbortSignal): void {
    if (signal.aborted) return;
    const error = asLogfleetError(thrown);
    this.#options.log[error.handling.kind === 'bug' ? 'error' : 'warn']('a step of the export failed', {
      step: kind,
      error,
    });
    if (kind === 'readRecords' || kind === 'probe') this.#destinationFailure = error;
    // If only the removal of unneeded uploads failed, the export continues without a delay.
    if (kind !== 'tidy') this.#delays.failed(error, ['plan', 'prove', 'finish'].includes(kind));
  }

  /**
   * Reads the export's objects at the destination. Before the first read, removes the unfinished uploads of processes
   * that have ended (E15).
   */
  async #load(): Promise<void> {
    await this.#stored.open();
    if (this.#state.kind === 'loading') await this.#stored.abortOldUploads();
    const found = await this.#stored.load();
    this.#on({ kind: 'loaded', found, atMs: this.#options.clock.monotonic() });
  }

  async #plan({ settleDelayMs }: Extract<Step, { kind: 'plan' }>, jobs: JobSet): Promise<void> {
    const onWait = ({ settlesAtMs, isTried }: PlanningWait) => {
      if (this.#run) this.#run = { ...this.#run, settlesAtMs };
      // A test search has succeeded, so earlier failures no longer delay the export.
      if (settlesAtMs !== undefined && isTried) this.#delays.searched();
      this.#options.onProgress();
    };
    const { plan, first } = await this.#options.plan(this.#tools(), { settleDelayMs, jobs, onWait });
    this.#on({ kind: 'planned', plan: this.#stored.checkedPlan(plan) });
    if (first && this.#isClosed) await first.job.close();
    else if (first) this.#search(first.order, first);
  }

  async #readRecords(which: 'new' | 'all'): Promise<void> {
    const before = this.#exporting;
    this.#on({ kind: 'readingBegan' });
    try {
      const found = await this.#stored.readRecords(before, which);
      this.#on({ kind: 'recordsRead', found, atMs: this.#options.clock.monotonic() });
    } catch (error) {
      this.#on({ kind: 'readingFailed' });
      throw error;
    }
  }

  /** Writes the manifest. After a failed attempt, first checks that the commit records still cover the whole export. */
  async #finish({ coverage, isRepeated }: Extract<Step, { kind: 'finish' }>): Promise<void> {
    this.#on({ kind: 'manifestBegan' });
    let found = coverage;
    if (isRepeated) {
      await this.#readRecords('new');
      const { plan, records, verdicts } = this.#exporting;
      found = coverageOf(plan, records, verdicts);
      if (found.remaining.length > 0 || found.strays.length > 0) return;
    }
    this.#on({ kind: 'finished', manifest: await this.#stored.finish(found, this.#exporting.verdicts) });
  }

  /**
   * Stores the result of a comparison with the service's counts. With `incompletePolicy: Fail`, differences that remain
   * after the last search are reported, but not stored.
   */
  async #judge(shown: DigestResult, round: number): Promise<void> {
    const isLast = shown.differing.length > 0 && round > this.#exporting.maxRounds;
    if (isLast && this.#limits.incompletePolicy !== 'Keep') return this.#differs(shown);
    const verdict = await this.#stored.judge(this.#exporting, digestVerdictOf(round, shown, isLast));
    this.#on({ kind: 'judged', verdict });
  }

  /**
   * Reports time ranges that still differ from the service's counts after the last repeated search. These ranges wait
   * until a user acts.
   */
  #differs({ differing, unconfirmed }: DigestResult): void {
    for (const range of differing) {
      const { fromMs, toMs, counted, written } = range;
      const figures = { received: written.rows, expected: counted.rows };
      const message = `${differenceText(range)}${unconfirmed.has(range) ? repeatsText : ''}`;
      const order = { segment: digestSegment, fromMs, toMs };
      this.#delays.incomplete({ order, reason: 'DigestDiffers', message, figures });
      this.#messages.add(`${rangeText(order)} ${message}`, recordKey(order));
    }
  }

  #view(now: ExportMoment): WorkView {
    const { quirks, definition } = this.#options;
    const { location, lockedFiles } = this.#stored;
    const { lastError, isLasting: isTroubleLasting, hasFailedOften, unproven } = this.#delays;
    const { list, written } = this.#searches;
    const jobs = [...(this.#run?.jobs.views ?? []), ...list.flatMap((search) => search.jobs)];
    for (const text of jobs.flatMap(({ warnings }) => warnings)) this.#warnings.addIfAbsent(text);
    const waiting = waitingSearches(list, now.monotonicMs);
    const facts = this.#facts(now);
    const { countMs = 0, searchMs = 0 } = quirks;
    const described = describeState(this.#decided(now), {
      ...{ ...facts, lastError, fromMs: definition.identity.fromMs },
      usualDigestMs: Math.max(countMs, searchMs),
    });
    const { intervals } = described;
    return {
      ...described,
      ...{ location, lockedFiles, jobs, trouble: facts.trouble, lastError, isTroubleLasting, hasFailedOften, unproven },
      histogram: () => this.#searches.histogramOf(intervals),
      searches: list.length,
      waitingSearches: waiting.count,
      clockBehindMs: now.clockBehindMs,
      hasServiceAnswered: quirks.hasAnswered,
      messages: this.#messages.all,
      warnings: this.#warnings.all,
      undescribedFields: intervals.length === written ? this.#chosenFields.undescribed : [],
      requeueAfterMs: Math.min(waiting.delayMs, described.requeueAfterMs),
    };
  }
}

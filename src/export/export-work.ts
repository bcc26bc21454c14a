/**
 * One export at work: finds what stands at its destination, plans it, searches what is left, and writes the manifest. Knows nothing of
 * resources: who wants it done says with each `advance` within which limits, and hears when that may have changed something.
 *
 * ```text
 * loading ──▶ planning ──▶ exporting ──▶ proving ──▶ finishing ──▶ complete
 *    │   (where none was)        ▲            │                        ▲
 *    │                           └─ it differs┘                        │
 *    └── a manifest stands there ──────────────────────────────────────┘
 * ```
 *
 * Invariants: only what stands at the destination says what is done (E3); all that is known here may be lost at any time. Nothing begins
 * but in `advance`, which waits for nothing. What fails is held for a while (`export-holds.ts`), and tried again from what stands there.
 */
import { assert } from '../base/assert.ts';
import { asLogfleetError, type LogfleetError } from '../base/errors.ts';
import type { LogFields } from '../base/log.ts';
import { stallRetryMs } from '../base/retry-delay.ts';
import { type CommitRecord, recordKey } from '../destination/commit-record.ts';
import { ChosenFields } from './chosen-fields.ts';
import {
  decide,
  digestSegment,
  type ExportDecision,
  type ExportProgress,
  isScannedOut,
  type SearchOrder,
} from './export-decision.ts';
import { ExportHolds } from './export-holds.ts';
import { figuresText, slicesText } from './figure-text.ts';
import { NewestTexts } from './newest-texts.ts';
import {
  delayBeforePlan,
  PlanningStep,
  type UnplannedFacts,
  waitBeforePlan,
  waitBeforeSearch,
} from './planning-step.ts';
import { mostRounds, Proving, type Shown, verdictOf } from './proving.ts';
import { RowHistogram } from './row-histogram.ts';
import { searchStart } from './search-start.ts';
import type { OpenedJob, SearchOutcome, SearchTools } from './search-tools.ts';
import { StandingExport } from './standing-export.ts';
import { waitingSearches } from './waiting-searches.ts';
import type { ExportWorkOptions, Search } from './work-options.ts';
import { progressOfManifest, type WorkLimits, type WorkStage, type WorkView } from './work-view.ts';

const nothingDone = { coveredPart: 0, intervalsDone: 0, intervalsPlanned: 0, rows: 0, bytes: 0, duplicates: 0 };
/** Number of checks of record names after which inconsistent records are read again. Reading may cover ten thousand records. */
const looksAtNames = 20;
/** Minimum delay in ms for waits on the wall clock, which may have jumped. */
const shortestLookMs = 1_000;

/** `probing`: tests whether files can be written. `tidying`: removes leftovers of dead writers again. */
type StepStage = WorkStage | 'probing' | 'tidying';

export class ExportWork {
  readonly #options: ExportWorkOptions;
  readonly #holds: ExportHolds;
  readonly #histogram: RowHistogram;
  readonly #searches = new Map<Search, Promise<void>>();
  #standing: StandingExport | undefined;
  #isLoaded = false;
  /** True if other processes have written records. */
  #areRecordsOld = false;
  /** True if known records are inconsistent, or a user requested a check. */
  #areRecordsDoubted = false;
  #recordsReadAtMs = Number.NEGATIVE_INFINITY;
  #looksInDisorder = 0;
  /** Searches that may have been judged before the policy became `Keep`. */
  #ofFormerPolicy = new WeakSet<Search>();
  #narrowed: readonly SearchOrder[] = [];
  readonly #messages = new NewestTexts();
  readonly #warnings = new NewestTexts();
  readonly #chosenFields: ChosenFields;
  /** Number of records written by searches of this work. */
  #written = 0;
  #scannedBytes: number;
  #limits: WorkLimits | undefined;
  /** Failure after which a probe showed that files can be written. */
  #probedAfter: LogfleetError | undefined;
  /** Current step besides searches; one at a time. */
  #step: { readonly stage: StepStage; readonly ended: Promise<void> } | undefined;
  #planning: PlanningStep | undefined;
  #proving: { readonly proving: Proving; readonly abort: AbortController } | undefined;
  /** Maximum number of digest rounds. A user's request adds one. */
  #mostRounds = mostRounds;
  #isClosed = false;

  constructor(options: ExportWorkOptions) {
    this.#options = options;
    this.#holds = new ExportHolds(options.clock);
    this.#histogram = new RowHistogram(options.task.identity);
    this.#chosenFields = new ChosenFields(options.task.identity.output.fields);
    this.#scannedBytes = options.scannedBytes;
  }

  /** True while planning searches run, whose results a pause would lose. */
  get isPlanning(): boolean {
    return this.#planning?.isCostly ?? false;
  }

  /** Starts the work that these limits allow, and returns the export's state. */
  advance(limits: WorkLimits): WorkView {
    if (limits.incompletePolicy === 'Keep' && this.#limits?.incompletePolicy === 'Fail') {
      this.#holds.liftUnproven();
      this.#ofFormerPolicy = new WeakSet(this.#searches.keys());
    }
    this.#limits = limits;
    const decision = this.#decide();
    if (this.#isClosed) return this.#view(decision);
    if (decision) this.#follow(decision);
    this.#beginStep(decision);
    return this.#view(this.#decide());
  }

  /** Checks everything again on a user's request: failures are retried and records are read again. */
  tryAgain(): void {
    this.#holds.lift();
    this.#areRecordsDoubted = true;
    this.#mostRounds = Math.max(mostRounds, (this.#standing?.verdicts.length ?? 0) + 1);
  }

  /** Ends all work: jobs are closed and unfinished files discarded. Resolves when no work is left. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#planning?.abort();
    this.#proving?.abort.abort();
    for (const search of this.#searches.keys()) search.stop('ShutDown');
    await Promise.all([this.#step?.ended, ...this.#searches.values()]);
    await this.#standing?.destination.close();
  }

  #decide(): ExportDecision | undefined {
    const { task, traits, clock } = this.#options;
    const { plan, records, manifest, verdicts = [] } = this.#standing ?? {};
    // Before records are read, everything would seem to be missing.
    if (!this.#isLoaded || !plan || !records || !this.#limits || manifest) return undefined;
    return decide({
      plan,
      records,
      verdicts,
      wantsDigest: this.#limits.proof === 'Digest' && task.identity.results === 'Messages' && task.isSplittable,
      running: [...this.#searches.keys()],
      holds: this.#holds.intervals,
      troubleUntilMs: this.#needsProbe ? Number.POSITIVE_INFINITY : this.#holds.trouble?.untilMs,
      narrowed: this.#narrowed,
      scannedBytes: this.#scannedBytes + (this.#proving?.proving.scannedBytes ?? 0),
      byReceiptTime: task.identity.byReceiptTime,
      limits: { ...this.#limits, parallelism: this.#parallelism, smallestLimit: traits.smallestLimit },
      now: { wallMs: clock.now(), monotonicMs: clock.monotonic(), clockBehindMs: traits.clockBehindMs },
    });
  }

  /** Number of concurrent searches. After a failure one search tests the retry, since each may be costly and fail. */
  get #parallelism(): number {
    return this.#holds.lastError ? 1 : (this.#limits?.parallelism ?? 1);
  }

  /** True if a destination failure must be tested before searching. */
  get #needsProbe(): boolean {
    const { lastError } = this.#holds;
    return lastError?.code.startsWith('destination.') === true && lastError !== this.#probedAfter;
  }

  #follow(decision: ExportDecision): void {
    for (const { search, reason } of decision.stop) (search as Search).stop(reason);
    for (const search of decision.endAsCut) (search as Search).endAsCut();
    // Records of other processes are read first, so that no range is searched twice.
    const isUnread = this.#areRecordsOld || this.#areRecordsDoubted || this.#step?.stage === 'exporting';
    if (!isUnread) for (const order of decision.start) this.#begin(order);
    const ageMs = this.#options.clock.monotonic() - this.#recordsReadAtMs;
    if (decision.waitsFor?.kind !== 'disorder' || ageMs < stallRetryMs) return;
    this.#areRecordsOld = true;
    // Records may have been repaired in place, which their names do not show.
    this.#areRecordsDoubted ||= ++this.#looksInDisorder % looksAtNames === 0;
  }

  #begin(order: SearchOrder, opened?: OpenedJob): void {
    const start = searchStart(() => this.#holds.failedBefore(order), this.#options.onProgress, opened);
    const search = this.#options.search(order, this.#tools(), start);
    const ended = search.done.then((outcome) => {
      this.#searches.delete(search);
      this.#scannedBytes += search.scannedBytes;
      const isOutdated = outcome.kind === 'incomplete' && this.#ofFormerPolicy.has(search);
      if (!isOutdated) this.#learn(order, outcome);
      if (outcome.kind === 'committed') this.#histogram.learn(outcome.record, search.histogram());
      this.#options.onChange();
    });
    this.#searches.set(search, ended);
  }

  #tools(): SearchTools {
    assert(this.#standing !== undefined, 'nothing is searched before it is known what stands there');
    const { destination, plan } = this.#standing;
    return {
      ...this.#options,
      destination,
      describedFields: plan?.describedFields ?? [],
      chosenFields: this.#chosenFields,
      incompletePolicy: () => this.#limits?.incompletePolicy ?? 'Fail',
      settleDelayMs: () => this.#limits?.settleDelayMs ?? 0,
      isScannedOut: () => this.#isScannedOut,
      searchesAtOnce: () => Math.max(1, this.#parallelism - this.#searches.size + 1),
    };
  }

  get #isScannedOut(): boolean {
    const scanned = [...this.#searches.keys()].reduce((sum, each) => sum + each.scannedBytes, this.#scannedBytes);
    return isScannedOut(this.#limits as WorkLimits, scanned);
  }

  #learn(order: SearchOrder, outcome: SearchOutcome): void {
    switch (outcome.kind) {
      case 'committed':
        this.#written++;
        this.#committed(outcome.record);
        break;
      case 'taken':
        this.#committed(outcome.standing);
        this.#areRecordsOld = true;
        break;
      case 'narrowed':
        this.#holds.succeeded(order);
        // The narrowest search goes first.
        this.#narrowed = [...this.#narrowed, outcome.order].sort((left, right) => right.fromMs - left.fromMs);
        break;
      case 'again':
        if (outcome.isFailure) this.#holds.provedNothing(order);
        this.#holds.again(order, outcome.message);
        if (outcome.isFailure) this.#messages.tell(outcome.message, recordKey(order));
        break;
      case 'incomplete': {
        const { reason, message, figures } = outcome;
        this.#holds.incomplete({ order, reason, message, figures });
        this.#messages.tell(message, recordKey(order));
        break;
      }
      case 'failed':
        // Another process has cleaned up after the complete export, including our upload.
        if (outcome.error.code === 'destination.lost') this.#areRecordsOld = true;
        this.#logFailure('the search of an interval failed', outcome.error, { ...order });
        this.#holds.searchFailed(order, outcome.error);
        break;
      case 'stopped':
        break;
    }
  }

  #committed(record: CommitRecord): void {
    const { segment, toMs } = record;
    this.#standing?.keep(record);
    this.#narrowed = this.#narrowed.filter((order) => order.segment !== segment || order.toMs !== toMs);
    this.#holds.succeeded(record);
    this.#messages.forget(recordKey(record));
  }

  /** Starts the next step besides searching, unless a step runs or an obstacle exists. */
  #beginStep(decision: ExportDecision | undefined): void {
    const { plan, manifest } = this.#standing ?? {};
    const limits = this.#limits as WorkLimits;
    const wait = waitBeforePlan(limits, this.#unplanned);
    if (wait || this.#planning?.isOutdated(limits)) this.#planning?.abort();
    const isOver = decision?.waitsFor?.kind === 'deadline' || decision?.waitsFor?.kind === 'maxBytesScanned';
    if (isOver) this.#proving?.abort.abort();
    if (this.#step || manifest || this.#holds.trouble) return;
    if (!this.#isLoaded) this.#run('loading', () => this.#load());
    else if (this.#standing?.isUntidy) this.#run('tidying', async () => this.#standing?.tidy());
    else if (this.#needsProbe && !limits.isPaused) this.#run('probing', () => this.#probe());
    else if (!plan && wait) return;
    else if (!plan) this.#run('planning', () => this.#makePlan());
    else if (this.#areRecordsOld || this.#areRecordsDoubted) this.#run('exporting', () => this.#readRecords());
    else if (decision?.isCovered && this.#searches.size === 0) this.#conclude(decision);
  }

  /** All ranges are searched: proves them or writes the manifest. */
  #conclude({ unproven, coverage, waitsFor }: ExportDecision): void {
    if (unproven.length === 0) this.#run('finishing', async () => this.#standing?.finish(coverage));
    else if (!waitsFor) this.#run('proving', () => this.#prove(unproven));
  }

  async #prove(intervals: readonly CommitRecord[]): Promise<void> {
    const standing = this.#standing as StandingExport;
    const round = standing.verdicts.length + 1;
    const abort = new AbortController();
    const options = { intervals, round, parallelism: this.#parallelism, signal: abort.signal };
    const proving = new Proving(this.#options, { ...options, onNews: this.#options.onProgress });
    this.#proving = { proving, abort };
    const shown = await proving.run().finally(() => {
      this.#scannedBytes += proving.scannedBytes;
      this.#proving = undefined;
    });
    const isLast = shown.differing.length > 0 && round > this.#mostRounds;
    if (isLast && this.#limits?.incompletePolicy !== 'Keep') this.#differs(shown);
    else await standing.judge(verdictOf(round, shown, isLast));
  }

  /** Records ranges whose digest still differs after the last round. A user must decide. */
  #differs({ differing }: Shown): void {
    for (const { fromMs, toMs, counted, written, inSlices = [] } of differing) {
      const [from, to] = [fromMs, toMs].map((ms) => new Date(ms).toISOString());
      const figures = { received: written.rows, expected: counted.rows };
      const message = `from ${from} to ${to} an aggregation of the service has ${figuresText(counted)}, and the files have ${figuresText(written)}${slicesText(inSlices)}`;
      const order = { segment: digestSegment, fromMs, toMs };
      this.#holds.incomplete({ order, reason: 'DigestDiffers', message, figures });
      this.#messages.tell(message, recordKey(order));
    }
  }

  #run(stage: StepStage, step: () => Promise<void>): void {
    const ended = step()
      .then(() => this.#stepSucceeded(stage))
      .catch((thrown: unknown) => this.#stepFailed(stage, thrown))
      .finally(() => {
        this.#step = undefined;
        this.#planning = undefined;
        this.#options.onChange();
      });
    this.#step = { stage, ended };
  }

  #stepSucceeded(stage: StepStage): void {
    if (stage === 'planning') this.#holds.searched();
    else if (stage !== 'probing' && stage !== 'tidying') this.#holds.succeeded();
  }

  #stepFailed(stage: StepStage, thrown: unknown): void {
    const isAborted =
      stage === 'planning' ? this.#planning?.isAborted : (thrown as Partial<Error>)?.name === 'AbortError';
    if (this.#isClosed || ((stage === 'planning' || stage === 'proving') && isAborted)) return;
    const error = asLogfleetError(thrown);
    this.#logFailure('a step of the export failed', error, { stage });
    // The export continues without tidying, and no later success would clear this failure.
    if (stage !== 'tidying') this.#holds.failed(error, ['planning', 'proving', 'finishing'].includes(stage));
  }

  #logFailure(message: string, error: LogfleetError, fields: LogFields): void {
    this.#options.log[error.handling.kind === 'bug' ? 'error' : 'warn'](message, { ...fields, error });
  }

  async #load(): Promise<void> {
    const { openDestination, task, clock } = this.#options;
    this.#standing ??= new StandingExport(await openDestination(), task, clock);
    await this.#standing.load();
    this.#isLoaded = true;
    this.#recordsReadAtMs = this.#options.clock.monotonic();
  }

  async #probe(): Promise<void> {
    const { lastError } = this.#holds;
    await this.#standing?.probe(this.#options.writer.newToken());
    this.#probedAfter = lastError;
  }

  async #makePlan(): Promise<void> {
    const { plan: planning, onProgress } = this.#options;
    const step = new PlanningStep((this.#limits as WorkLimits).settleDelayMs);
    this.#planning = step;
    const onNews = () => {
      if (step.isTaken) this.#holds.searched();
      onProgress();
    };
    const { plan, first } = await step.run(planning, this.#tools(), onNews).finally(() => {
      this.#scannedBytes += step.takeScannedBytes();
    });
    this.#standing?.adopt(plan);
    // Another author of the plan may already have written records.
    this.#areRecordsOld = true;
    if (first && this.#isClosed) await first.opened.job.close();
    else if (first) this.#begin(first.order, first.opened);
  }

  async #readRecords(): Promise<void> {
    const isDoubted = this.#areRecordsDoubted;
    // News during the reading request another reading.
    this.#areRecordsOld = false;
    this.#areRecordsDoubted = false;
    try {
      await this.#standing?.readRecords(isDoubted);
      // Intervals committed by other processes are no longer held.
      for (const record of this.#standing?.records ?? []) this.#committed(record);
      this.#recordsReadAtMs = this.#options.clock.monotonic();
    } catch (error) {
      this.#areRecordsDoubted = true;
      throw error;
    }
  }

  get #unplanned(): UnplannedFacts {
    const { clock, traits, task } = this.#options;
    return {
      wallMs: clock.now(),
      fromMs: task.identity.fromMs,
      clockBehindMs: traits.clockBehindMs,
      scannedBytes: this.#scannedBytesYet,
      isLoaded: this.#isLoaded,
      hasFailed: this.#holds.lastError !== undefined,
      settlesAtMs: this.#planning?.view.settlesAtMs,
    };
  }

  /** Scanned bytes before a plan exists, including the current planning. */
  get #scannedBytesYet(): number {
    return this.#scannedBytes + (this.#planning?.view.scannedBytes ?? 0);
  }

  #view(decision: ExportDecision | undefined): WorkView {
    const { clock } = this.#options;
    const { manifest, location, tidyDelayMs = Number.POSITIVE_INFINITY } = this.#standing ?? {};
    const { trouble, lastError, isLasting: isTroubleLasting, unproven } = this.#holds;
    const searches = [...this.#searches.keys()];
    const others = [...(this.#planning?.view.jobs ?? []), ...(this.#proving?.proving.views ?? [])];
    const jobs = [...others, ...searches.flatMap((search) => search.jobs)];
    for (const text of jobs.flatMap(({ warnings }) => warnings)) this.#warnings.keep(text);
    const limits = this.#limits as WorkLimits;
    const wait = decision || manifest ? decision?.waitsFor : waitBeforeSearch(limits, this.#unplanned);
    const waiting = waitingSearches(searches, clock.monotonic());
    const delaysMs = [
      trouble ? trouble.untilMs - clock.monotonic() : Number.POSITIVE_INFINITY,
      wait?.kind === 'settling' ? Math.max(shortestLookMs, wait.untilMs - clock.now()) : Number.POSITIVE_INFINITY,
      wait?.kind === 'disorder' ? stallRetryMs : Number.POSITIVE_INFINITY,
      manifest ? Number.POSITIVE_INFINITY : (decision?.requeueAfterMs ?? delayBeforePlan(limits, clock.now())),
      ...[tidyDelayMs, waiting.delayMs],
    ];
    const intervals = manifest?.manifest.intervals ?? decision?.coverage.intervals ?? [];
    return {
      stage: this.#stage(decision),
      location,
      progress: manifest
        ? { ...progressOfManifest(manifest.manifest), scannedBytes: this.#scannedBytes }
        : (decision?.progress ?? this.#progressBeforePlan()),
      intervals,
      histogram: () => this.#histogram.read(intervals),
      searches: searches.length,
      waitingSearches: waiting.count,
      jobs,
      waitsFor: wait,
      clockBehindMs: this.#options.traits.clockBehindMs,
      trouble,
      lastError,
      isTroubleLasting,
      unproven,
      messages: this.#messages.all,
      warnings: this.#warnings.all,
      undescribedFields: intervals.length === this.#written ? this.#chosenFields.undescribed : [],
      manifest,
      requeueAfterMs: Math.min(...delaysMs),
    };
  }

  #progressBeforePlan(): ExportProgress | undefined {
    return this.#isLoaded ? { ...nothingDone, scannedBytes: this.#scannedBytesYet } : undefined;
  }

  #stage(decision: ExportDecision | undefined): WorkStage {
    const { plan, manifest } = this.#standing ?? {};
    if (manifest) return 'complete';
    if (!this.#isLoaded) return 'loading';
    if (!plan) return 'planning';
    if (!decision?.isCovered) return 'exporting';
    return decision.unproven.length > 0 ? 'proving' : 'finishing';
  }
}

/**
 * Runs one SearchExport while this process is the leader: starts its work (`export-work.ts`), and writes its status. If
 * the account, destination or spec changes, running searches continue with the previous values. If the new values
 * cannot be read, all work continues with the previous values.
 */
import type { Account } from '../account/accounts.ts';
import { annotations } from '../api/annotations.ts';
import { findCondition, reasons } from '../api/conditions.ts';
import type { SearchExport } from '../api/kinds.ts';
import type { Timer } from '../base/clock.ts';
import { isExpected, type LogfleetError } from '../base/errors.ts';
import { holdMs, retryDelayMs, stallRetryMs } from '../base/retry-delay.ts';
import { pauseOf } from '../controller/pauses.ts';
import type { Result } from '../controller/reconciler.ts';
import { requeue } from '../controller/reconciler.ts';
import { unconfirmedRequest } from '../controller/status-text.ts';
import type { StatusWriter } from '../controller/status-writer.ts';
import type { DestinationSettings } from '../destination/open-destination.ts';
import type { Destination } from '../destination/store/destination.ts';
import type { Writer } from '../destination/store/writer.ts';
import type { ResourceKey } from '../host/host.ts';
import { ServiceError } from '../service/requests/service-error.ts';
import { planExport } from './plan/export-planning.ts';
import { type ChosenDestination, DestinationChoice } from './resource/chosen-destination.ts';
import {
  checkRequestOf,
  type RuntimeOptions,
  resolveDefinition,
  secretOf,
  secretsOf,
  untilRemoval,
  waiterOf,
} from './resource/export-resource.ts';
import type { ExportPlaces } from './resource/export-settings.ts';
import { limitsOf, startOf } from './resource/export-spec.ts';
import type { ExportDefinition } from './search/export-definition.ts';
import { IntervalSearch } from './search/interval-search.ts';
import type { QuirksOfServices } from './search/service-quirks.ts';
import { earlierConditionsHold } from './status/earlier-conditions.ts';
import { type ExportHealth, exportHealth, shownComplete, shownHealth } from './status/export-health.ts';
import { ExportPace, type Pace } from './status/export-pace.ts';
import { describeExportEssentials, describeExportFigures, exportStatusWriter } from './status/export-status.ts';
import type { ExportWording } from './status/export-wording.ts';
import { ExportWork } from './work/export-work.ts';
import type { WorkView } from './work/work-view.ts';
import type { WorkerIndex } from './work/worker-segments.ts';

export interface ExportRuntimeOptions extends RuntimeOptions {
  readonly places: ExportPlaces;
  readonly quirks: QuirksOfServices;
  readonly writer: Writer;
  readonly openDestination: (settings: DestinationSettings) => Promise<Destination>;
  readonly wording: ExportWording;
  /** Index of this process among the export's workers, and the number of workers. */
  readonly worker: WorkerIndex;
}

/** Account, destination and settings of an export. */
interface Means {
  readonly account: Account;
  readonly chosen: ChosenDestination;
  readonly definition: ExportDefinition;
}

interface Begun {
  readonly means: Means;
  readonly work: ExportWork;
}

export class ExportRuntime {
  readonly key: ResourceKey;
  readonly uid: string;
  readonly #options: ExportRuntimeOptions;
  readonly #destination: DestinationChoice;
  readonly #publisher: StatusWriter<'SearchExport'>;
  readonly #pace = new ExportPace();
  #hasPace = false;
  /**
   * The export's account, destination and settings, as last read. Undefined until this process has read them for the
   * first time.
   */
  #means: Means | undefined;
  #begun: Begun | undefined;
  /** Number of bytes that all search jobs have scanned, as far as this process knows. */
  #scannedBytes = 0;
  /** Resolves when the work that is being stopped has ended. Undefined if no work is being stopped. */
  #ending: Promise<void> | undefined;
  #startedAtMs: number | undefined;
  /** The user's last check request that this process has begun to handle. */
  #takenRequest: string | undefined;
  /** Number of committed intervals in the destination when this process first read it. Undefined until then. */
  #doneAtFirst: number | undefined;
  /** True if this process has replaced the conditions that an earlier process wrote. */
  #hasVerdict = false;
  /**
   * Last error that was checked for refused credentials. Each error is checked only once, because one error must not
   * discard the credentials twice.
   */
  #lastCredentialsFailure: LogfleetError | undefined;
  /**
   * Error that the status shows while the service rejects the access key (401). Unlike the service's own error, it
   * names the Secret.
   */
  #rejection: LogfleetError | undefined;
  #enqueueTimer: Timer | undefined;
  #isClosed = false;
  #isLeft = false;

  constructor(resource: SearchExport, options: ExportRuntimeOptions) {
    const { namespace, name, uid } = resource.metadata;
    this.key = { namespace, name };
    this.uid = uid;
    this.#options = options;
    this.#takenRequest = resource.status?.lastHandledReconcileAt;
    this.#destination = new DestinationChoice({ ...options, ...options.settings, secrets: options.accounts.secrets });
    this.#publisher = exportStatusWriter(resource.metadata, options);
  }

  /** True if the process may exit, because no work is left and the status shows no search jobs. */
  get isLeft(): boolean {
    return this.#isLeft;
  }

  async reconcile(given: SearchExport): Promise<Result> {
    const resource = this.#publisher.latest(given);
    if (this.#options.draining()) return this.#leave(resource);
    if (this.#isClosed || resource.metadata.deletionTimestamp !== undefined) {
      this.#end();
      return requeue(Number.POSITIVE_INFINITY, true);
    }
    this.#takeRequest(resource);
    const health = this.#begun ? undefined : this.#knownHealth(resource);
    if (!health) return this.#continue(resource);
    this.#options.accounts.secrets.leave(waiterOf(this.key));
    return untilRemoval(resource, this.#options, await this.#publish(resource, health), true);
  }

  /** True if no work is left and there is no status to write. In that case, this object can be dropped. */
  get isDormant(): boolean {
    const { heldBack } = this.#publisher;
    return !this.#begun && !this.#ending && !this.#enqueueTimer && !heldBack && !this.#isClosed;
  }

  /** Ends all work. Resolves when no work is left. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#enqueueTimer?.cancel();
    this.#end();
    await this.#ending;
  }

  /** Ends the export's work before the process exits, and removes the search jobs from the export's status. */
  async #leave(resource: SearchExport): Promise<Result> {
    this.#end();
    const { status } = resource;
    if (!this.#ending && status?.jobs && status.jobs.length > 0) {
      await this.#publisher.publish(resource, status, () => ({ jobs: [] }), undefined);
    }
    this.#isLeft = !this.#ending;
    return requeue(Number.POSITIVE_INFINITY, true);
  }

  /**
   * Begins a check of the export if a user has requested one since the last reconcile. The status confirms the request
   * only when the check has ended, so that another process repeats an interrupted check.
   */
  #takeRequest(resource: SearchExport): void {
    const asked = checkRequestOf(resource, this.#options.host);
    if (asked === undefined || asked === this.#takenRequest) return;
    this.#takenRequest = asked;
    // After a user has requested a retry, the conditions from an earlier process no longer apply.
    this.#hasVerdict = true;
    this.#options.log.info('the export is being checked again on request', { [annotations.requestedAt]: asked });
    this.#options.accounts.tryAgain(secretOf(resource));
    this.#destination.forget();
    // Reads everything again, because the user may have removed or restored objects at the destination.
    if (this.#begun?.work.canReread) this.#begun.work.tryAgain();
    else this.#end();
  }

  /**
   * Returns the health of a complete, failed or paused export. Returns undefined if the export's Secrets must be read
   * to determine its health (C1), for example because a user has requested a check.
   */
  #knownHealth(resource: SearchExport): ExportHealth | undefined {
    if (checkRequestOf(resource, this.#options.host) !== undefined) return undefined;
    const complete = shownComplete(resource);
    if (complete) return shownHealth(complete);
    const failed = findCondition(resource.status?.conditions, 'Failed');
    if (failed?.observedGeneration === resource.metadata.generation) return shownHealth(failed);
    const pausedBy = pauseOf(resource, this.#options.host);
    return pausedBy === undefined || failed ? undefined : exportHealth({ pausedBy, wording: this.#options.wording });
  }

  async #continue(resource: SearchExport): Promise<Result> {
    const { accounts, clock, draining, worker } = this.#options;
    this.#startedAtMs ??= startOf(resource) ?? clock.now();
    const { changes } = accounts.secrets;
    const problem = await this.#readDefinition(resource);
    if (this.#isClosed) return requeue(Number.POSITIVE_INFINITY, true);
    if (this.#means && !problem && !this.#begun && !this.#ending) this.#begin(resource, this.#means);
    const pausedBy = pauseOf(resource, this.#options.host);
    const isPaused = pausedBy !== undefined || problem?.handling.kind === 'stall' || this.#isOutdated || draining();
    let limits = limitsOf(resource, this.#startedAtMs, isPaused, worker);
    let view = this.#begun?.work.advance(limits);
    if (hasLostManifest(resource, view)) {
      this.#startedAtMs = clock.now();
      limits = limitsOf(resource, this.#startedAtMs, isPaused, worker);
      view = this.#begun?.work.advance(limits);
    }
    this.#scannedBytes = view?.progress?.scannedBytes ?? this.#scannedBytes;
    if (view) this.#rereadCredentials(resource, view);
    const shownView = view && this.#rejection ? { ...view, lastError: this.#rejection } : view;
    this.#awaitSecrets(resource, pausedBy === undefined ? (problem ?? view?.lastError) : undefined, changes);
    if (view?.searches === 0 && this.#isOutdated) this.#end();
    const isChecking = problem?.handling.kind !== 'stall' && (view?.isChecking ?? true);
    const isCheckProceeding = isChecking && !problem && !hasLastingFailure(view);
    // The status shows a complete export as complete while it is being checked, unless the check fails.
    const complete = isCheckProceeding ? shownComplete(resource) : undefined;
    const health = complete
      ? shownHealth(complete)
      : exportHealth({ pausedBy, problem, view: shownView, limits, wording: this.#options.wording });
    const isShown = !health.isComplete && this.#isShown(resource, health, view);
    const statusDelayMs = await (isShown
      ? this.#publishShown(resource)
      : this.#publish(resource, health, view, !isChecking && this.#takenRequest === unconfirmedRequest(resource)));
    // Ends the work on a complete export, but only once the status shows that the export is complete.
    const latest = this.#publisher.latest(resource);
    if (view?.manifest && shownComplete(latest) && checkRequestOf(latest, this.#options.host) === undefined)
      this.#end();
    // Closes the destination of a paused export (C1), but only once the status shows the results of the last searches.
    const isPausedInStatus = health.reason === reasons.paused && !this.#publisher.heldBack;
    if (isPausedInStatus && this.#begun?.work.canBeginAgain) this.#end();
    const refusedMs = holdMs(problem, accounts.refusedForMs(secretOf(resource)));
    const problemMs = problem ? Math.min(recheckMs(problem), refusedMs) : Number.POSITIVE_INFINITY;
    const delayMs = Math.min(statusDelayMs, problemMs, view?.requeueAfterMs ?? Number.POSITIVE_INFINITY);
    const isIdle = (view?.searches ?? 0) === 0 && !health.reconciling && !isCheckProceeding;
    return untilRemoval(this.#publisher.latest(resource), this.#options, delayMs, isIdle);
  }

  /** Reads the export's account, destination and settings. Returns the error if this fails. */
  async #readDefinition(resource: SearchExport): Promise<LogfleetError | undefined> {
    try {
      const { account, definition } = await resolveDefinition(resource, this.#options.accounts);
      this.#means = { account, definition, chosen: await this.#destination.current(resource) };
      return undefined;
    } catch (error) {
      if (isExpected(error)) return error;
      throw error;
    }
  }

  /** True if the running work must be replaced, because the export's account, destination or settings have changed. */
  get #isOutdated(): boolean {
    if (!this.#begun || !this.#means) return false;
    const { means: before, work } = this.#begun;
    const { account, definition, chosen } = this.#means;
    const isSamePlan =
      before.definition.fingerprint === definition.fingerprint && before.chosen.fingerprint === chosen.fingerprint;
    return !isSamePlan || (before.account !== account && !work.isPlanning);
  }

  #begin(resource: SearchExport, means: Means): void {
    const { account, definition, chosen } = means;
    const { clock, log, quirks, writer, openDestination, worker } = this.#options;
    const scannedBytes = Math.max(this.#scannedBytes, resource.status?.progress?.bytesScanned ?? 0);
    const work = new ExportWork({
      ...{ definition, clock, log, writer, scannedBytes, worker },
      jobs: account.searches,
      quirks: quirks.of(account.serviceId, definition.identity.byReceiptTime),
      openDestination: () => openDestination(chosen.settings),
      plan: planExport,
      search: (order, tools, opened) => new IntervalSearch(order, tools, opened),
      onChange: () => this.#enqueue(),
      onProgress: () => this.#enqueueSoon(),
    });
    this.#begun = { means, work };
  }

  /** Discards credentials that the log service or the object store has refused, so that the Secrets are read again. */
  #rereadCredentials(resource: SearchExport, { lastError }: WorkView): void {
    if (lastError === this.#lastCredentialsFailure) return;
    this.#lastCredentialsFailure = lastError;
    this.#rejection = undefined;
    if (!lastError) return;
    const { account } = this.#begun?.means ?? {};
    if (account && lastError instanceof ServiceError && lastError.status === 401) {
      this.#rejection = this.#options.accounts.unauthorized(secretOf(resource), account, lastError);
      this.#enqueue();
    } else if (refusals.has(lastError.code)) this.#destination.forget();
  }

  /** True if the status keeps showing the conditions that an earlier process wrote (H1). */
  #isShown(resource: SearchExport, health: ExportHealth, view: WorkView | undefined): boolean {
    const isLoaded = view !== undefined && view.stage !== 'loading';
    if (isLoaded) this.#doneAtFirst ??= view.progress?.intervalsDone ?? 0;
    this.#hasVerdict ||= !earlierConditionsHold(resource, health, view, this.#doneAtFirst ?? 0);
    return !this.#hasVerdict;
  }

  async #publishShown(resource: SearchExport): Promise<number> {
    const { estimatedCompletionTime: end, ...known } = this.#publisher.known(resource) ?? {};
    const estimate = end !== undefined && this.#mayShow(this.#untilMs(end)) ? { estimatedCompletionTime: end } : {};
    const essentials = { ...known, ...estimate };
    const delayMs = await this.#publisher.publish(resource, essentials, () => ({ jobs: [] }), undefined);
    return Math.min(delayMs, this.#estimateDelayMs(resource));
  }

  /** If a change to one of the export's Secrets may resolve the error, waits for such a change (C2). */
  #awaitSecrets(resource: SearchExport, error: LogfleetError | undefined, changes: number): void {
    const { accounts, enqueue } = this.#options;
    const isForPeople = error !== undefined && (error.handling.kind === 'stall' || refusals.has(error.code));
    const wake = () => enqueue(this.key);
    accounts.secrets.wait(waiterOf(this.key), isForPeople ? secretsOf(resource) : [], changes, wake);
  }

  /** `hasChecked` is true if the status may confirm the user's last request for a check. */
  async #publish(resource: SearchExport, health: ExportHealth, view?: WorkView, hasChecked = false): Promise<number> {
    const { clock } = this.#options;
    const startedAtMs = this.#startedAtMs ?? startOf(resource) ?? clock.now();
    const before = this.#publisher.known(resource);
    const definition = this.#begun?.means.definition;
    const input = { resource, before, health, startedAtMs, definition, view, hasChecked, wallMs: clock.now() };
    this.#measurePace(health, view);
    const figures = () =>
      health.isComplete && !view ? {} : describeExportFigures(input, this.#paceNow(health, before));
    const delayMs = await this.#publisher.publish(resource, describeExportEssentials(input), figures, health);
    return Math.min(delayMs, this.#estimateDelayMs(resource));
  }

  /** Returns the time in ms until a wall-clock time in the status. The result is negative if that time has passed. */
  #untilMs(time: string): number {
    return Date.parse(time) - this.#options.clock.now();
  }

  /**
   * Returns true if the remaining time `leftMs` is long enough for the status to show an estimated end. The estimated
   * end must still be in the future when the status is next written.
   */
  #mayShow(leftMs: number): boolean {
    return leftMs >= this.#options.settings.statusIntervalMs + 2 * estimateMarginMs;
  }

  /** Returns the time in ms until the status needs a new estimated end, shortly before the current one is reached. */
  #estimateDelayMs(resource: SearchExport): number {
    const { estimatedCompletionTime: end } = this.#publisher.latest(resource).status ?? {};
    if (end === undefined) return Number.POSITIVE_INFINITY;
    return Math.max(estimateMarginMs, this.#untilMs(end) - estimateMarginMs);
  }

  /**
   * Returns the speed and the remaining time. After a restart, uses the remaining time from the status until this
   * process has its own estimate (H1).
   */
  #paceNow({ reason }: ExportHealth, before: SearchExport['status']): Pace {
    const pace = this.#pace.read();
    this.#hasPace ||= pace.leftMs !== undefined;
    const { estimatedCompletionTime: end } = before ?? {};
    const isFormer = !this.#hasPace && end !== undefined && reason === reasons.exporting;
    const leftMs = isFormer ? this.#untilMs(end) : pace.leftMs;
    return { ...pace, leftMs: leftMs !== undefined && this.#mayShow(leftMs) ? leftMs : undefined };
  }

  #measurePace({ reconciling }: ExportHealth, view: WorkView | undefined): void {
    if (!reconciling || !view?.progress || view.stage === 'planning' || view.waitsFor?.kind === 'settling') {
      this.#pace.reset();
      return;
    }
    const { searchesDone, rows, encodedBytes: bytes } = view.progress;
    const searchedRatio = view.stage === 'exporting' ? searchesDone : 1;
    const { digestMs } = view;
    this.#pace.add({ atMs: this.#options.clock.monotonic(), searchedRatio, digestMs, rows, bytes });
  }

  #end(): void {
    const { work } = this.#begun ?? {};
    if (!work) return;
    this.#begun = undefined;
    const ending = work.close().finally(() => {
      if (this.#ending === ending) this.#ending = undefined;
      this.#enqueue();
    });
    this.#ending = ending;
  }

  #enqueue(): void {
    if (!this.#isClosed) this.#options.enqueue(this.key, this.#begun !== undefined);
  }

  #enqueueSoon(): void {
    const { clock, settings } = this.#options;
    this.#enqueueTimer ??= clock.after(settings.progressDelayMs, () => {
      this.#enqueueTimer = undefined;
      this.#enqueue();
    });
  }
}

/**
 * Margin in ms. The status gets a new estimated end this long before the current one is reached, because times in the
 * status are rounded to whole seconds.
 */
const estimateMarginMs = 1_000;

/** Error codes for object store credentials that are refused or lack a permission. */
const refusals: ReadonlySet<string> = new Set(['destination.credentials', 'destination.denied']);

/**
 * Returns true if the export's status names a manifest that no longer exists. In that case, the export starts again.
 */
function hasLostManifest({ status }: SearchExport, view: WorkView | undefined): boolean {
  return status?.manifest !== undefined && view !== undefined && view.stage !== 'loading' && !view.manifest;
}

/**
 * Returns true if the last failure is not expected to disappear within a few attempts, as a failure of the destination
 * often does.
 */
function hasLastingFailure(view: WorkView | undefined): boolean {
  return view?.lastError !== undefined && (view.lastError.handling.kind !== 'backoff' || view.hasFailedOften);
}

function recheckMs(problem: LogfleetError): number {
  const { handling } = problem;
  if (handling.kind === 'retryAfter') return retryDelayMs(problem, 0);
  // No timer is needed, because a change to the resource or its Secret triggers a reconcile immediately (C2).
  return handling.kind === 'stall' ? Number.POSITIVE_INFINITY : stallRetryMs;
}

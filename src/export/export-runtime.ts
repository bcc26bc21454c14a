/**
 * One export in this process, for one resource (by uid) and one term of leadership: ties the resource to the work on it (`export-work.ts`),
 * gives the work its limits, and tells how it stands.
 *
 * Invariant: nothing here waits for the service or the destination. What the work was built from is looked at each time; once that is
 * another, what runs is read to its end, a plan that would be the same is made to its end, and the work is built anew. What cannot be
 * looked at for a moment is taken to be as it was.
 */
import type { Account, Accounts } from '../account/accounts.ts';
import { annotations } from '../api/annotations.ts';
import { findCondition, reasons } from '../api/conditions.ts';
import type { SearchExport } from '../api/kinds.ts';
import type { Clock, Timer } from '../base/clock.ts';
import { LogfleetError } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import { retryDelayMs } from '../base/retry-delay.ts';
import { recheckDelayMs } from '../controller/controller.ts';
import { pausedByOf, pausedForAll } from '../controller/pauses.ts';
import type { Result } from '../controller/reconciler.ts';
import { requeue } from '../controller/requeue.ts';
import { StatusPublisher } from '../controller/status-publisher.ts';
import { echoOfRequest } from '../controller/status-text.ts';
import type { Destination } from '../destination/destination.ts';
import type { DestinationSettings } from '../destination/open-destination.ts';
import type { Writer } from '../destination/writer.ts';
import type { Host, ResourceKey } from '../host/host.ts';
import { ServiceError } from '../service/service-error.ts';
import { type ChosenDestination, DestinationChoice } from './chosen-destination.ts';
import { type ExportHealth, exportHealth } from './export-health.ts';
import { ExportPace, type Pace } from './export-pace.ts';
import { planExport } from './export-planning.ts';
import type { ExportPlaces, ExportSettings } from './export-settings.ts';
import { limitsOf, requestOf } from './export-spec.ts';
import { describeEssentials, describeFigures, verdictsOf } from './export-status.ts';
import { type ExportTask, exportTask } from './export-task.ts';
import { ExportWork } from './export-work.ts';
import { IntervalSearch } from './interval-search.ts';
import type { TraitsOfServices } from './service-traits.ts';
import { stillHolds } from './shown-verdict.ts';
import type { WorkView } from './work-view.ts';

export interface ExportRuntimeOptions {
  readonly host: Host;
  readonly accounts: Accounts;
  readonly clock: Clock;
  readonly log: Logger;
  readonly settings: ExportSettings;
  readonly places: ExportPlaces;
  readonly traits: TraitsOfServices;
  readonly writer: Writer;
  readonly openDestination: (settings: DestinationSettings) => Promise<Destination>;
  readonly enqueue: (key: ResourceKey) => void;
  /** Whether this process is about to end, and begins nothing any more. */
  readonly draining: () => boolean;
}

/** What an export is worked on with. */
interface Means {
  readonly account: Account;
  readonly chosen: ChosenDestination;
  readonly task: ExportTask;
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
  readonly #publisher: StatusPublisher<'SearchExport'>;
  readonly #pace = new ExportPace();
  #hasPace = false;
  #begun: Begun | undefined;
  /** What is begun has come to its manifest. */
  #isOver = false;
  /** What it was built from is no longer so. */
  #isOutdated = false;
  /** By all of its jobs, as far as this process knows. */
  #scannedBytes = 0;
  /** While work that was ended has something under way. */
  #ending: Promise<void> | undefined;
  #startedAtMs: number | undefined;
  #handledRequest: string | undefined;
  /** How many intervals stood at the destination when it had been read; undefined until then. */
  #doneAtFirst: number | undefined;
  /** Whether the verdict in status is this process's own: it is not held against that of another process any more. */
  #hasVerdict = false;
  /** The failure for which credentials were looked at again. */
  #heeded: LogfleetError | undefined;
  #newsTimer: Timer | undefined;
  #isClosed = false;
  #isLeft = false;

  constructor(resource: SearchExport, options: ExportRuntimeOptions) {
    const { namespace, name, uid } = resource.metadata;
    const { host, clock, settings, draining } = options;
    this.key = { namespace, name };
    this.uid = uid;
    this.#options = options;
    this.#handledRequest = resource.status?.lastHandledReconcileAt;
    this.#destination = new DestinationChoice({ ...options, ...settings, secrets: options.accounts.secrets });
    this.#publisher = new StatusPublisher({
      rules: { kind: 'SearchExport', verdicts: verdictsOf },
      ...{ host, clock, draining, intervalMs: settings.statusIntervalMs },
      owner: { kind: 'SearchExport', namespace, name, uid },
    });
  }

  /** Whether nothing of it is under way and its status says so: where this process is about to end. */
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
    const isAsked = this.#takeRequest(resource);
    const health = this.#begun ? undefined : this.#healthAtRest(resource, isAsked);
    return health ? this.#rest(resource, health) : this.#goOn(resource);
  }

  /** Whether it holds nothing that the resource does not tell: it can be thrown away, and begun anew when there is something to do. */
  get isDormant(): boolean {
    const { heldBack } = this.#publisher;
    return !this.#begun && !this.#ending && !this.#newsTimer && !heldBack && !this.#isClosed;
  }

  /** Ends all that is under way; fulfilled when nothing is left of it. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#newsTimer?.cancel();
    this.#end();
    await this.#ending;
  }

  /** The next process goes on from what is committed; until then nobody should see jobs that there are no more. */
  async #leave(resource: SearchExport): Promise<Result> {
    this.#end();
    const { status } = resource;
    if (!this.#ending && status?.jobs && status.jobs.length > 0) {
      await this.#publisher.publish(resource, status, () => ({ jobs: [] }), undefined);
    }
    this.#isLeft = !this.#ending;
    return requeue(Number.POSITIVE_INFINITY, true);
  }

  /** Whether a person asks for something since the last time: then everything is looked at again. */
  #takeRequest(resource: SearchExport): boolean {
    const { lastHandledReconcileAt: asked } = echoOfRequest(resource);
    if (asked === undefined || asked === this.#handledRequest) return false;
    this.#handledRequest = asked;
    // The verdict of another process is about what was found before the request.
    this.#hasVerdict = true;
    this.#options.log.info('the export is looked at again', { [annotations.requestedAt]: asked });
    this.#destination.forget();
    // The manifest may have been moved away.
    if (this.#isOver) this.#end();
    this.#begun?.work.tryAgain();
    return true;
  }

  /** The health of an export that needs neither Secret nor destination: one that is complete, or paused (C1). Undefined of others. */
  #healthAtRest(resource: SearchExport, isAsked: boolean): ExportHealth | undefined {
    if (isToldComplete(resource)) return isAsked ? undefined : completeAsTold(resource);
    const pausedBy = this.#pausedBy(resource);
    if (pausedBy === undefined || isToldFailed(resource)) return undefined;
    return exportHealth({ pausedBy, problem: undefined, view: undefined, limits: undefined });
  }

  async #rest(resource: SearchExport, health: ExportHealth): Promise<Result> {
    return this.#untilRemoval(resource, await this.#publish(resource, health), true);
  }

  #pausedBy(resource: SearchExport): string | undefined {
    return pausedForAll(this.#options.host) ?? pausedByOf(resource);
  }

  async #goOn(resource: SearchExport): Promise<Result> {
    const { accounts, clock, draining } = this.#options;
    this.#startedAtMs ??= startOf(resource) ?? clock.now();
    const { changes } = accounts.secrets;
    const means = await this.#means(resource);
    if (this.#isClosed) return requeue(Number.POSITIVE_INFINITY, true);
    const problem = means instanceof LogfleetError ? means : undefined;
    const isOutdated = means instanceof LogfleetError ? this.#isOutdated : this.#renew(resource, means);
    this.#isOutdated = isOutdated;
    const pausedBy = this.#pausedBy(resource);
    const isHeld = isOutdated && !this.#isPlanningFor(means);
    const isPaused = pausedBy !== undefined || problem?.handling.kind === 'stall' || isHeld || draining();
    let limits = limitsOf(resource, this.#startedAtMs, isPaused);
    let view = this.#begun?.work.advance(limits);
    if (hasLostManifest(resource, view)) {
      this.#startedAtMs = clock.now();
      limits = limitsOf(resource, this.#startedAtMs, isPaused);
      view = this.#begun?.work.advance(limits);
    }
    this.#scannedBytes = view?.progress?.scannedBytes ?? this.#scannedBytes;
    this.#isOver = view?.manifest !== undefined;
    if (view) this.#heed(resource, view);
    this.#awaitSecrets(resource, problem ?? view?.lastError, changes);
    if (isOutdated && view?.searches === 0 && !this.#isPlanningFor(means)) this.#end();
    // One that a person has looked at again stays complete until it shows that it is not.
    const isUnread = problem === undefined && (view === undefined || view.stage === 'loading');
    const health =
      isUnread && isToldComplete(resource)
        ? completeAsTold(resource)
        : exportHealth({ pausedBy, problem, view, limits });
    const isShown = !health.isComplete && this.#isShown(resource, health, view);
    const statusDelayMs = await (isShown ? this.#publishShown(resource) : this.#publish(resource, health, view));
    // What is complete is let go of as soon as its status says so.
    if (view?.manifest && isToldComplete(this.#publisher.latest(resource))) this.#end();
    const problemMs = problem ? recheckMs(problem) : Number.POSITIVE_INFINITY;
    const delayMs = Math.min(statusDelayMs, problemMs, view?.requeueAfterMs ?? Number.POSITIVE_INFINITY);
    const isIdle = (view?.searches ?? 0) === 0 && !health.reconciling;
    return this.#untilRemoval(this.#publisher.latest(resource), delayMs, isIdle);
  }

  /** Account, destination and task, as spec and Secrets have them now; or what keeps them from being had. */
  async #means(resource: SearchExport): Promise<Means | LogfleetError> {
    try {
      const account = await this.#options.accounts.resolve(secretOf(resource));
      const task = exportTask(requestOf(resource), new URL(account.serviceId).host);
      if ('problem' in task) return unreadable(`spec.${task.member}: ${task.problem}`);
      return { account, task, chosen: await this.#destination.current(resource) };
    } catch (error) {
      if (error instanceof LogfleetError && error.handling.kind !== 'bug') return error;
      throw error;
    }
  }

  /** Begins the work where there is none. Returns whether what there is has been built from something else. */
  #renew(resource: SearchExport, means: Means): boolean {
    const before = this.#begun?.means;
    const isSame =
      before?.account === means.account &&
      before.task.fingerprint === means.task.fingerprint &&
      before.chosen.fingerprint === means.chosen.fingerprint;
    if (isSame) return false;
    if (before) return true;
    if (!this.#ending) this.#begun = { means, work: this.#build(resource, means) };
    return false;
  }

  /** By the same range and into the same folder, whatever the credentials: it would be planned just so again. */
  #isPlanningFor(means: Means | LogfleetError): boolean {
    const { work, means: before } = this.#begun ?? {};
    if (!work?.isPlanning || !before) return false;
    const { task, chosen } = means instanceof LogfleetError ? before : means;
    return before.task.fingerprint === task.fingerprint && before.chosen.fingerprint === chosen.fingerprint;
  }

  #build(resource: SearchExport, { account, task, chosen }: Means): ExportWork {
    const { clock, log, traits, writer, openDestination } = this.#options;
    const scannedBytes = Math.max(this.#scannedBytes, resource.status?.progress?.bytesScanned ?? 0);
    return new ExportWork({
      ...{ task, clock, log, writer, scannedBytes },
      jobs: account.searches,
      traits: traits.of(account.serviceId, task.identity.byReceiptTime),
      openDestination: () => openDestination(chosen.settings),
      plan: planExport,
      search: (order, tools, start) => new IntervalSearch(order, tools, start),
      onChange: () => this.#enqueue(),
      onProgress: () => this.#news(),
    });
  }

  /** Credentials that were refused are read again before they are used again. */
  #heed(resource: SearchExport, { lastError }: WorkView): void {
    if (!lastError || lastError === this.#heeded) return;
    this.#heeded = lastError;
    if (lastError instanceof ServiceError && lastError.status === 401) {
      this.#options.accounts.unauthorized(secretOf(resource), this.#begun?.means.account);
      this.#enqueue();
    } else if (refusals.has(lastError.code)) this.#destination.forget();
  }

  /** Whether the verdict of another process still holds, so that status stays as it is (H1). */
  #isShown(resource: SearchExport, health: ExportHealth, view: WorkView | undefined): boolean {
    const isLoaded = view !== undefined && view.stage !== 'loading';
    if (isLoaded) this.#doneAtFirst ??= view.progress?.intervalsDone ?? 0;
    this.#hasVerdict ||= !stillHolds(resource, health, view, this.#doneAtFirst ?? 0);
    return !this.#hasVerdict;
  }

  #publishShown(resource: SearchExport): Promise<number> {
    const essentials = { ...this.#publisher.known(resource), ...echoOfRequest(resource) };
    return this.#publisher.publish(resource, essentials, () => ({ jobs: [] }), undefined);
  }

  /** What a person has to mend may be mended in a Secret: the ones that the export names are looked at until they change (C2). */
  #awaitSecrets(resource: SearchExport, error: LogfleetError | undefined, changes: number): void {
    const { accounts, enqueue } = this.#options;
    const isForPeople = error !== undefined && (error.handling.kind === 'stall' || refusals.has(error.code));
    const wake = () => enqueue(this.key);
    accounts.secrets.wait(waiterOf(this.key), isForPeople ? secretsOf(resource) : [], changes, wake);
  }

  #publish(resource: SearchExport, health: ExportHealth, view?: WorkView): Promise<number> {
    const { clock } = this.#options;
    const startedAtMs = this.#startedAtMs ?? startOf(resource) ?? clock.now();
    const before = this.#publisher.known(resource);
    const task = this.#begun?.means.task;
    const input = { resource, before, health, startedAtMs, task, view, wallMs: clock.now() };
    this.#measurePace(health, view);
    const figures = () => (health.isComplete && !view ? {} : describeFigures(input, this.#paceNow(health, before)));
    return this.#publisher.publish(resource, describeEssentials(input), figures, health);
  }

  /** The pace, with the end that another process has estimated until this process has seen how fast the export is (H1). */
  #paceNow({ reason }: ExportHealth, before: SearchExport['status']): Pace {
    const pace = this.#pace.read();
    this.#hasPace ||= pace.leftMs !== undefined;
    const { estimatedCompletionTime: end } = before ?? {};
    if (this.#hasPace || end === undefined || reason !== reasons.exporting) return pace;
    const leftMs = Date.parse(end) - this.#options.clock.now();
    return leftMs > 0 ? { ...pace, leftMs } : pace;
  }

  #measurePace({ reconciling }: ExportHealth, view: WorkView | undefined): void {
    if (!reconciling || !view?.progress || view.stage === 'planning' || view.waitsFor?.kind === 'settling') {
      this.#pace.reset();
      return;
    }
    const { coveredPart, rows } = view.progress;
    const bytes = view.intervals.reduce(
      (sum, { files }) => files.reduce((all, file) => all + file.encodedBytes, sum),
      0,
    );
    this.#pace.add({ atMs: this.#options.clock.monotonic(), coveredPart, rows, bytes });
  }

  /** What is over is removed once nobody needs it any more. */
  async #untilRemoval(resource: SearchExport, delayMs: number, isSettled: boolean): Promise<Result> {
    const { host, clock, log } = this.#options;
    const { ttlSecondsAfterFinished: ttl } = resource.spec;
    const endedAt = resource.status?.completionTime;
    if (ttl === undefined || endedAt === undefined || !host.remove) return requeue(delayMs, isSettled);
    const leftMs = Date.parse(endedAt) + ttl * 1_000 - clock.now();
    if (leftMs > 0) return requeue(Math.min(delayMs, leftMs), isSettled);
    log.info('the export is over for long enough, and is removed; its files stay', { ttlSeconds: ttl });
    await host.remove('SearchExport', resource);
    return requeue(delayMs, isSettled);
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
    if (!this.#isClosed) this.#options.enqueue(this.key);
  }

  #news(): void {
    const { clock, settings } = this.#options;
    this.#newsTimer ??= clock.after(settings.newsDelayMs, () => {
      this.#newsTimer = undefined;
      this.#enqueue();
    });
  }
}

/** The store did not take the credentials, or not for this. */
const refusals: ReadonlySet<string> = new Set(['destination.credentials', 'destination.denied']);

function secretOf({ metadata: { namespace }, spec }: SearchExport): ResourceKey {
  return { namespace, name: spec.credentialsSecretRef.name };
}

/** All that it names. */
function secretsOf(resource: SearchExport): readonly ResourceKey[] {
  const { s3 } = resource.spec.destination;
  const { namespace } = resource.metadata;
  const store = s3?.credentialsSecretRef;
  return [secretOf(resource), ...(store ? [{ namespace, name: store.name }] : [])];
}

/** What an export is called where it waits for Secrets. */
export function waiterOf({ namespace, name }: ResourceKey): string {
  return `SearchExport ${namespace}/${name}`;
}

/** What was kept, and is not whole, is not complete any more for who wants all of it by now. */
function isToldComplete({ spec, status }: SearchExport): boolean {
  const isUnwanted = status?.manifest?.complete === false && spec.incompletePolicy === 'Fail';
  return findCondition(status?.conditions, 'Complete') !== undefined && !isUnwanted;
}

/** It was done once, and somebody has moved that away: it begins anew, and so does its time. */
function hasLostManifest({ status }: SearchExport, view: WorkView | undefined): boolean {
  return status?.manifest !== undefined && view !== undefined && view.stage !== 'loading' && !view.manifest;
}

function isToldFailed({ status }: SearchExport): boolean {
  return findCondition(status?.conditions, 'Failed') !== undefined;
}

function completeAsTold({ status }: SearchExport): ExportHealth {
  const { reason, message } = findCondition(status?.conditions, 'Complete') ?? {};
  return {
    ...{ ready: 'True', reconciling: false, stalled: false, isComplete: true, isFailed: false },
    reason: reason ?? reasons.exported,
    message: message ?? 'All is in files, and the manifest proves it.',
  };
}

function startOf({ status }: SearchExport): number | undefined {
  return status?.startTime === undefined ? undefined : Date.parse(status.startTime);
}

function recheckMs(problem: LogfleetError): number {
  const { handling, reason } = problem;
  if (handling.kind === 'retryAfter') return retryDelayMs(problem, 0);
  // A change of the resource or of its Secrets is heard of (C2). Only the service can tell that it takes a key again.
  return handling.kind === 'stall' && reason !== reasons.unauthorized ? Number.POSITIVE_INFINITY : recheckDelayMs;
}

function unreadable(message: string): LogfleetError {
  return new LogfleetError({
    ...{ code: 'export.spec', reason: reasons.invalidSpec, message },
    handling: { kind: 'stall' },
  });
}

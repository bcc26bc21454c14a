/**
 * Runs one export in a Kubernetes Job (`execution.mode: Job`). Creates, replaces or deletes the Job, and copies its
 * state to the export's status.
 *
 * A paused export has no Job, because a suspended Job would keep its request limits.
 */
import type { Account } from '../../account/accounts.ts';
import type { HeldShare } from '../../account/worker-shares.ts';
import { type Condition, findCondition, reasons } from '../../api/conditions.ts';
import type { KubernetesJobStatus, SearchExportStatus, SummaryStatus } from '../../api/generated/search-export.ts';
import type { SearchExport } from '../../api/kinds.ts';
import { failure, isExpected, LogfleetError } from '../../base/errors.ts';
import type { ProxyVariable } from '../../base/proxy-environment.ts';
import { defined } from '../../base/record.ts';
import { stallRetryMs } from '../../base/retry-delay.ts';
import { isoSeconds } from '../../base/time-text.ts';
import { pauseOf } from '../../controller/pauses.ts';
import { type Result, requeue } from '../../controller/reconciler.ts';
import type { StatusWriter } from '../../controller/status-writer.ts';
import type { ResourceKey } from '../../host/host.ts';
import { jobNameLabel, type WorkerJob, type WorkerJobs, type WorkerPod } from '../../host/worker-jobs.ts';
import type { DestinationChoice } from '../resource/chosen-destination.ts';
import {
  checkRequestOf,
  type RuntimeOptions,
  resolveDefinition,
  secretOf,
  secretsOf,
  untilRemoval,
  waiterOf,
} from '../resource/export-resource.ts';
import { startOf, wantedShare } from '../resource/export-spec.ts';
import {
  type ExportHealth,
  endedHealth,
  exportAtWork,
  exportHealth,
  exportStalled,
  shownComplete,
  shownHealth,
} from '../status/export-health.ts';
import { describeExportEssentials, exportStatusWriter } from '../status/export-status.ts';
import { resourceWording } from '../status/export-wording.ts';
import { amountText } from '../work/figure-text.ts';
import {
  buildJob,
  causeHash,
  isOfRun,
  type JobIdentity,
  jobAnnotations,
  jobName,
  readShare,
  workHash,
} from './job-manifest.ts';
import type { JobShares } from './job-shares.ts';
import { againText, hasEnded, isRepeated, readJob, type WorkerJobState } from './job-state.ts';
import type { WorkerReport } from './worker-report.ts';

export interface JobRuntimeOptions extends RuntimeOptions {
  readonly destination: DestinationChoice;
  /** Request limits of all Jobs. Undefined if this operator cannot run exports in Jobs. */
  readonly shares: JobShares | undefined;
  /** Environment variables with the operator's proxy settings, for the pods. */
  readonly proxy: readonly ProxyVariable[];
}

/** Delay in ms before the next reconcile if the state of the export can change without an event. */
const soonMs = 1_000;
const quotaRetryMs = 30_000;
/** Minimum and maximum delay in ms between the end of a stalled export's Job and the start of its next Job. */
const shortestStallMs = 60_000;
const longestStallMs = 3_600_000;
/** A stalled export gets a new Job. It is shown as stalled until a pod of this Job has run for this time in ms. */
const steadyMs = 300_000;
/**
 * Reasons of exports that are stalled because of a Secret. Such a reason no longer applies once the Secrets can be
 * used.
 */
const reasonsOfSecrets: ReadonlySet<string> = new Set([
  ...[reasons.secretNotFound, reasons.secretIncomplete, reasons.secretInvalid],
]);
/** Label on ServiceAccounts that exports may use. */
const workerLabel = 'logfleet.dev/export-worker';
/** Label on ServiceAccounts whose pods may write progress to the export's status. A user sets this label. */
const progressLabel = 'logfleet.dev/export-progress';
const component = 'apply the operator component manifests/export-jobs';
const noCluster =
  "Kubernetes Jobs need a cluster, but this export is in a directory: remove spec.execution from its manifest to run the export in logfleet's own process";

const afterFormerJob =
  'The export starts a new Kubernetes Job about a minute after the previous Job and its pods have ended.';

/** State of the check that the user requested last. */
type CheckState = 'none' | 'running' | 'ended';

/** Result of one reconcile. `delayMs` is the time until the next reconcile. */
interface Found {
  readonly health: ExportHealth;
  readonly delayMs?: number;
  readonly job?: string;
  readonly state?: WorkerJobState;
  /**
   * Condition of an export that was stalled. While a new Job repeats the work, the status shows this condition instead
   * of `health`.
   */
  readonly stall?: Condition;
  /** Finished Job that the status still shows, usually after the Job was deleted. */
  readonly former?: KubernetesJobStatus | undefined;
}

/**
 * Result of reading an export's Secrets: the account and the identity of the next Job, or the problem with the Secrets.
 */
type Resolved =
  | { readonly account: Account; readonly identity: JobIdentity; readonly problem?: undefined }
  | { readonly account?: undefined; readonly identity?: undefined; readonly problem: LogfleetError };

export class JobRuntime {
  readonly key: ResourceKey;
  readonly uid: string;
  readonly #options: JobRuntimeOptions;
  readonly #publisher: StatusWriter<'SearchExport'>;
  /**
   * The user's last retry request that this object has handled, or that the status already confirms. A new request ends
   * the delay after a rejected access key, and makes this object read the store's Secret again.
   */
  #handledRequest: string | undefined;
  /** Uids of the Jobs that this object has deleted. The cache may still contain these Jobs. */
  readonly #deleted = new Set<string>();
  #isClosed = false;
  #isLeft = false;
  #isDormant = false;
  #waitsForShare = false;

  constructor({ metadata, status }: SearchExport, options: JobRuntimeOptions) {
    const { namespace, name, uid } = metadata;
    this.key = { namespace, name };
    this.uid = uid;
    this.#options = options;
    this.#handledRequest = status?.lastHandledReconcileAt;
    this.#publisher = exportStatusWriter(metadata, options);
  }

  /** True if this process is shutting down. The export's Job keeps running. */
  get isLeft(): boolean {
    return this.#isLeft;
  }

  /**
   * True if the export has ended or is waiting for a user, and there is no status to write. In that case, this object
   * can be dropped.
   */
  get isDormant(): boolean {
    return this.#isDormant && !this.#publisher.heldBack;
  }

  /** True if the export is waiting for a share of the request budget. */
  get waitsForShare(): boolean {
    return this.#waitsForShare;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
  }

  async reconcile(given: SearchExport): Promise<Result> {
    const resource = this.#publisher.latest(given);
    this.#isLeft = this.#options.draining();
    if (this.#isLeft || this.#isClosed || resource.metadata.deletionTimestamp !== undefined) {
      return requeue(Number.POSITIVE_INFINITY, true);
    }
    const isAsked = this.#isAsked(resource);
    const end = isAsked ? undefined : endOf(resource);
    const found: Found = end ? { health: end } : await this.#find(resource);
    const { reconciling, isComplete, stalled } = found.health;
    // A check ends with the result of the Job that the user requested, or with a problem that the user must solve.
    const check = !isAsked ? 'none' : isComplete || stalled ? 'ended' : 'running';
    // An export without a Job and without a delay is waiting for other Jobs to release their request limits.
    this.#waitsForShare = reconciling && found.job === undefined && found.delayMs === undefined;
    const health = found.stall ? shownHealth(found.stall) : found.health;
    const shown = { ...found, health };
    const essentials = this.#essentials(resource, shown, check);
    const repeatMs = repeatDelayMs(essentials, this.#options.clock.now());
    // The next Job is overdue if its start time has passed, but a pod of the previous Job has not ended yet.
    const { delayMs = repeatMs > 0 ? repeatMs : shortestStallMs } = found;
    const figures = () => (end ? {} : { ...describeWorkers(resource, shown, essentials.summary), jobs: [] });
    const statusMs = await this.#publisher.publish(resource, essentials, figures, health);
    this.#isDormant = !reconciling;
    const nextMs = Math.min(statusMs, delayMs);
    return untilRemoval(this.#publisher.latest(resource), this.#options, nextMs, this.#isDormant);
  }

  /** True if a user has requested a check that has not ended yet. */
  #isAsked(resource: SearchExport): boolean {
    const asked = checkRequestOf(resource, this.#options.host);
    if (asked === undefined) return false;
    if (asked !== this.#handledRequest) {
      this.#options.accounts.tryAgain(secretOf(resource));
      this.#options.destination.forget();
    }
    this.#handledRequest = asked;
    return true;
  }

  async #find(resource: SearchExport): Promise<Found> {
    const { changes } = this.#options.accounts.secrets;
    let found: Found;
    try {
      found = await this.#findJob(resource);
    } catch (error) {
      if (!isExpected(error)) throw error;
      if (error.code === 'host.conflict' || error.code === 'host.gone') throw error;
      found = this.#keepStall(ofRun(resource), foundProblem(error));
    }
    this.#awaitSecrets(resource, found.health, changes);
    return found;
  }

  /** Finds or creates the export's Job, unless the export is paused. Throws if the Job cannot be created. */
  async #findJob(resource: SearchExport): Promise<Found> {
    const { host, shares } = this.#options;
    const store = host.workerJobs;
    if (!host.isCluster) throw noJobs(noCluster);
    if (!store || !shares) throw noJobs(`this operator cannot create Kubernetes Jobs: ${component}`);
    if (!store.synced()) throw listProblem(store);
    const pausedBy = pauseOf(resource, host);
    if (pausedBy === undefined) return this.#followJob(resource, store, shares);
    for (const job of store.jobsOf(this.uid))
      if (!this.#hasEnded(job, store) || !isOfRun(job.metadata.name, resource)) await store.remove(job);
    // A failed export has nothing to pause, and must not get another Job when it is resumed.
    const failed = failureOf(ofRun(resource));
    return failed ?? { health: exportHealth({ pausedBy, wording: resourceWording }) };
  }

  async #followJob(resource: SearchExport, store: WorkerJobs, shares: JobShares): Promise<Found> {
    const { account, identity, problem } = await this.#resolve(resource, store);
    const jobs = store.jobsOf(this.uid);
    const job = jobs.find((each) => this.#isKept(each, resource, store, identity));
    // If the Secrets cannot be read, only finished Jobs of earlier runs are deleted, because other Jobs may still be
    // needed.
    const obsolete = identity
      ? jobs
      : jobs.filter((each) => this.#hasEnded(each, store) && !isOfRun(each.metadata.name, resource));
    await this.#removeOthers(obsolete, job, store);
    const shown = ofRun(resource);
    const ofSameCause = !identity || shown?.kubernetesJob?.name === jobName(identity) ? shown : undefined;
    if (job) {
      const found = this.#show(resource, job, store);
      // The pod needs the Secret to start.
      const isHindered = found.state?.phase === 'waiting' && problem?.reason === reasons.secretNotFound;
      if (isHindered) return { ...found, ...foundProblem(problem) };
      // If the pods of a Job are deleted before the Job, their report is found only in the export's status.
      const isUnreported = found.health.stalled && !found.state?.report && shown?.kubernetesJob?.name === found.job;
      const known = isUnreported ? waitingStallOf(shown, this.#options.clock.now()) : undefined;
      return known ?? this.#keepStall(ofSameCause, found);
    }
    // After Kubernetes has removed the Job of a failed or stalled export, the export remains failed or stalled. New
    // credentials can help only a stalled export.
    const former = failureOf(shown) ?? waitingStallOf(ofSameCause, this.#options.clock.now());
    if (former) return former;
    if (!identity) return this.#keepStall(shown, { ...foundProblem(problem), former: shown?.kubernetesJob });
    // A new Job waits until the request limits of the previous Job are free again. Otherwise, the new Job would get
    // fewer workers.
    const isBusy = jobs.length > 0 || shares.isHeldBy(this.uid, { ...this.key, name: jobName(identity) });
    const found = isBusy
      ? { health: waiting(reasons.jobPending, afterFormerJob) }
      : await this.#create(resource, account, identity, store, shares);
    return this.#keepStall(ofSameCause, found);
  }

  /** Reads the Secrets, which determine the identity of the export's next Job. */
  async #resolve(resource: SearchExport, store: WorkerJobs): Promise<Resolved> {
    const { accounts, proxy } = this.#options;
    try {
      const { account } = await resolveDefinition(resource, accounts);
      const credentials = [account.fingerprint, await this.#storeCredentials(resource)].join();
      const identity = { resource, image: store.image, share: { user: account.user }, credentials, proxy };
      return { account, identity };
    } catch (error) {
      if (isExpected(error)) return { problem: error };
      throw error;
    }
  }

  /**
   * Returns true if `job` does or has done the export's work, so that no other Job is needed. `identity` is undefined
   * if the Secrets cannot be used.
   */
  #isKept(job: WorkerJob, resource: SearchExport, store: WorkerJobs, identity: JobIdentity | undefined): boolean {
    const { name, annotations } = job.metadata;
    if (annotations[jobAnnotations.work] !== workHash(resource)) return false;
    const { state, health } = this.#show(resource, job, store);
    const hasResult = state?.phase === 'complete' || state?.phase === 'failed';
    if (hasResult && !isOfRun(name, resource)) return false;
    const isDeleted = this.#isDeleted(job);
    if (!this.#hasEnded(job, store)) {
      const user = readShare(annotations)?.user;
      return !isDeleted && (!user || !identity || user === identity.share.user);
    }
    // Kubernetes deletes a finished Job after some time (`ttlSecondsAfterFinished`). The Job's result still counts if
    // the status names the Job.
    const isInStatus = resource.status?.kubernetesJob?.name === name;
    if (isDeleted && !isInStatus) return false;
    // The result of a complete or failed Job is valid even if the credentials or the image have changed since.
    if (health.isComplete || health.isFailed) return true;
    const isDue = isInStatus && repeatDelayMs(resource.status, this.#options.clock.now()) <= 0;
    return !isDue && (!identity || annotations[jobAnnotations.cause] === causeHash(identity));
  }

  /** Deletes all Jobs of the export except `kept`. */
  async #removeOthers(jobs: readonly WorkerJob[], kept: WorkerJob | undefined, store: WorkerJobs): Promise<void> {
    for (const job of jobs) {
      if (job === kept || this.#isDeleted(job)) continue;
      await store.remove(job);
      this.#deleted.add(job.metadata.uid);
    }
  }

  /**
   * Keeps showing a stalled export as stalled while another Job repeats its work, until a pod of this Job has run for a
   * while. Otherwise, users would be notified again after each stalled Job.
   */
  #keepStall(shown: SearchExportStatus | undefined, found: Found): Found {
    const stall = findCondition(shown?.conditions, 'Failed') ?? findCondition(shown?.conditions, 'Stalled');
    if (!stall || !found.health.reconciling || reasonsOfSecrets.has(stall.reason)) return found;
    const { job, delayMs } = found;
    if (job === undefined) return { ...found, stall, former: shown?.kubernetesJob };
    const store = this.#options.host.workerJobs;
    const pods = store ? this.#podsOf({ namespace: this.key.namespace, name: job }, store) : [];
    const startsMs = pods.flatMap(({ status: { containerStatuses = [] } }) =>
      containerStatuses.flatMap(({ state }) => (state?.running ? Date.parse(state.running.startedAt) : [])),
    );
    const leftMs = Math.min(...startsMs) + steadyMs - this.#options.clock.now();
    return leftMs > 0 ? { ...found, stall, delayMs: Math.min(leftMs, delayMs ?? leftMs) } : found;
  }

  #show({ status }: SearchExport, job: WorkerJob, store: WorkerJobs): Found {
    const state = readJob(job, this.#podsOf(job.metadata, store), status?.workers);
    const { report, reason, message, phase, isHeldUp } = state;
    const found = { job: job.metadata.name, state };
    if (phase === 'running' || phase === 'waiting') {
      const outage = isHeldUp ? { outage: true, mentionsOutageStart: true } : {};
      return { health: { ...exportAtWork, ...outage, reason, message }, ...found };
    }
    if (report) return { health: healthOf(report), ...found };
    const isFailed = reason === reasons.deadlineExceeded;
    return { health: { ...exportStalled, isFailed, reason, message }, ...found };
  }

  async #create(
    resource: SearchExport,
    account: Account,
    identity: JobIdentity,
    store: WorkerJobs,
    shares: JobShares,
  ): Promise<Found> {
    const { accounts, host, log } = this.#options;
    const showsProgress = await this.#checkServiceAccount(resource, store);
    const name = jobName(identity);
    const job = { namespace: this.key.namespace, name };
    const wanted = this.#wantedShare(resource, account);
    await this.#checkClaim(resource, wanted, store);
    const share = shares.reserve(job, this.uid, wanted, accounts.limitsOf(account));
    if (!share) {
      if (shares.get(job)) return { health: waiting(reasons.jobPending, afterFormerJob) };
      // The message must not change when one of the Jobs ends. Otherwise, every Job that ends would cause a status
      // write for each waiting export.
      const message =
        'The Kubernetes Jobs of other exports are using all requests that the service allows this user. The export will start when one of these Jobs ends.';
      return { health: waiting(reasons.waitingForShare, message) };
    }
    if (!accounts.isWithinLimits(account)) {
      const message =
        "The Kubernetes Job will start when some of the operator's requests and search jobs have ended, because the Job and the operator share the request limits.";
      return { health: waiting(reasons.waitingForShare, message), delayMs: soonMs };
    }
    // Only the leader may create a Job, and another process may have become the leader while this process prepared the
    // Job.
    if (!host.leadership.isLeader())
      return { health: waiting(reasons.jobPending, 'Another operator process is now the leader.') };
    shares.start(job);
    try {
      const result = await store.create(job, buildJob({ ...identity, share, showsProgress }));
      if (result === 'created') log.info('a Kubernetes Job is created', { job: name });
    } catch (error) {
      return this.#refused(error, job, shares);
    }
    const message = `The Kubernetes Job ${name} has been created.${fewerText(share, wanted)}`;
    return { health: waiting(reasons.jobPending, message), job: name, delayMs: stallRetryMs };
  }

  /**
   * Handles a failure to create a Kubernetes Job. Releases the Job's request limits if it is certain that the Job was
   * not created.
   */
  #refused(error: unknown, job: ResourceKey, shares: JobShares): Found {
    if (!(error instanceof LogfleetError)) throw error;
    const { code, message } = error;
    if (code !== 'host.forbidden' && code !== 'host.denied' && code !== 'host.invalid') throw error;
    shares.cancel(job);
    if (code === 'host.denied' && message.includes('exceeded quota')) {
      return {
        health: waiting(reasons.jobPending, `A ResourceQuota of the namespace is exhausted: ${message}`),
        delayMs: quotaRetryMs,
      };
    }
    if (code === 'host.forbidden') throw noJobs(`${message}; or ${component}`);
    throw mendable(reasons.jobRefused, `${message}. Correct spec.execution.job.`);
  }

  /**
   * Throws if the export may not use its ServiceAccount. Returns true if pods with this ServiceAccount may write
   * progress to the export's status.
   */
  async #checkServiceAccount({ spec }: SearchExport, store: WorkerJobs): Promise<boolean> {
    const { serviceAccountName: name } = spec.execution.job ?? {};
    if (name === undefined) return false;
    const labels = await store.serviceAccountLabels({ namespace: this.key.namespace, name });
    if (labels?.[workerLabel] === 'true') return labels[progressLabel] === 'true';
    const label = `the label ${workerLabel}: "true"`;
    const problem = labels
      ? `lacks ${label}: add the label if exports may use this identity`
      : `does not exist: create it with ${label}`;
    const message = `The ServiceAccount ${this.key.namespace}/${name} ${problem}.`;
    throw mendable(reasons.serviceAccountNotAllowed, message);
  }

  /** Throws if several workers would use a PersistentVolumeClaim that only one node can mount. */
  async #checkClaim({ spec }: SearchExport, { workers }: HeldShare, store: WorkerJobs): Promise<void> {
    const { persistentVolumeClaim: claim } = spec.destination;
    if (!claim || workers === 1) return;
    const modes = await store.claimAccessModes({ namespace: this.key.namespace, name: claim.claimName });
    if (!modes || modes.includes('ReadWriteMany')) return;
    const name = `${this.key.namespace}/${claim.claimName}`;
    const message =
      `The PersistentVolumeClaim ${name} has the access mode ${modes.join(' and ')}, so only one node can write to the claim, but the export has ${workers} workers. ` +
      'Set spec.execution.job.workers to 1, or create another export that writes to a claim with ReadWriteMany.';
    throw mendable(reasons.claimNotShared, message);
  }

  /** Returns the request limits for the Job. Throws if the limits of the service's user are too low. */
  #wantedShare({ spec }: SearchExport, account: Account): HeldShare {
    const wanted = wantedShare(spec, this.#options.accounts.limitsOf(account));
    if ('problem' in wanted) throw mendable(reasons.shareTooSmall, wanted.problem);
    return { user: account.user, ...wanted };
  }

  /**
   * Returns a hash of the store's credentials, or an empty string for a PersistentVolumeClaim. Throws if the Secret is
   * incomplete.
   */
  async #storeCredentials(resource: SearchExport): Promise<string> {
    const { destination } = this.#options;
    return resource.spec.destination.persistentVolumeClaim ? '' : (await destination.current(resource)).fingerprint;
  }

  #isDeleted({ metadata: { uid, deletionTimestamp } }: WorkerJob): boolean {
    return deletionTimestamp !== undefined || this.#deleted.has(uid);
  }

  /** Returns the pods of one of the export's Jobs. */
  #podsOf({ namespace, name }: ResourceKey, store: WorkerJobs): readonly WorkerPod[] {
    const ofExport = store.podsOf(this.uid);
    return ofExport.filter(
      ({ metadata: { namespace: own, labels } }) => own === namespace && labels[jobNameLabel] === name,
    );
  }

  #hasEnded(job: WorkerJob, store: WorkerJobs): boolean {
    return hasEnded(job, this.#podsOf(job.metadata, store));
  }

  /** Makes a stalled export wait for a change to its Secrets (C2). */
  #awaitSecrets(resource: SearchExport, { stalled, reason }: ExportHealth, changes: number): void {
    const { accounts, enqueue } = this.#options;
    const keys = stalled && reason !== reasons.jobsNotAvailable ? secretsOf(resource) : [];
    accounts.secrets.wait(waiterOf(this.key), keys, changes, () => enqueue(this.key));
  }

  #essentials(resource: SearchExport, { health, job, state, former }: Found, check: CheckState): SearchExportStatus {
    const { clock } = this.#options;
    const known = this.#publisher.known(resource);
    const { completionTime: _, ...unended } = known ?? {};
    const before = job !== undefined && job !== known?.kubernetesJob?.name ? unended : known;
    // An export that had ended starts again when a user requests a check.
    const startsAgain = check === 'running' && known?.completionTime !== undefined;
    const startedAtMs = (startsAgain ? undefined : startOf(resource)) ?? clock.now();
    const {
      kubernetesJob: __,
      workers: ___,
      ...essentials
    } = describeExportEssentials({
      ...{ resource, before, health, startedAtMs, definition: undefined, view: undefined, wallMs: clock.now() },
      hasChecked: check === 'ended',
    });
    const failedPods = state?.failedPods ?? 0;
    const isOver = state?.phase === 'complete' || state?.phase === 'failed';
    const ofSame = before?.kubernetesJob?.name === job ? before?.kubernetesJob : undefined;
    const endTime = isOver ? (ofSame?.endTime ?? isoSeconds(clock.now())) : undefined;
    const shown =
      job === undefined ? undefined : { name: job, ...defined({ failedPods: failedPods || undefined, endTime }) };
    // If Kubernetes has removed a Job, the export's status still shows the Job only if the export has ended or is
    // stalled.
    const earlier = former ?? (health.isComplete || health.isFailed ? before?.kubernetesJob : undefined);
    const kubernetesJob = shown ?? earlier;
    const report = state?.report?.status;
    // A report replaces all results of an earlier Job. Results that are missing from the report are removed.
    const { incomplete: ____, manifest: _____, progress: ______, ...unreported } = essentials;
    return { ...(report ? unreported : essentials), ...report, ...(kubernetesJob && { kubernetesJob }) };
  }
}

/**
 * Returns the status of a Job's workers, and the most recent progress that a worker has reported. The progress with the
 * highest row count is the most recent.
 */
function describeWorkers(
  { status }: SearchExport,
  { job, state, health }: Found,
  summary: SummaryStatus | undefined,
): SearchExportStatus {
  const workers = state?.phase === 'running' ? (status?.workers ?? []).filter((worker) => worker.job === job) : [];
  const [progress] = workers
    .flatMap((worker) => worker.progress ?? [])
    .toSorted((left, right) => right.rowsWritten - left.rowsWritten);
  const shown = workers.length > 0 ? { workers } : {};
  if (!progress) return { ...shown, summary: { ...summary, state: health.reason } };
  const figures = { progress: `${progress.coveredPercent}%`, rows: amountText(progress.rowsWritten) };
  return { ...shown, progress, summary: { ...figures, state: health.reason } };
}

function waiting(reason: string, message: string): ExportHealth {
  return { ...exportAtWork, reason, message };
}

/**
 * Returns a sentence that explains why a Job has fewer workers than requested: other Jobs use some of the request
 * limits. Returns an empty string if the Job has all requested workers.
 */
function fewerText({ workers }: HeldShare, wanted: HeldShare): string {
  if (workers === wanted.workers) return '';
  return ` It has ${workers} instead of ${wanted.workers} workers, because other Jobs are using the rest of the request limits.`;
}

function healthOf({ end, reason, message: text }: WorkerReport): ExportHealth {
  // The reason `userChanged` means that the Secret now has the credentials of another user. In this case, the Job is
  // replaced immediately.
  const isRepeatedLater = end === 'stalled' && reason !== reasons.userChanged && isRepeated(reason);
  return endedHealth(end, reason, isRepeatedLater ? `${text.replace(/\.?$/, '.')} ${againText}` : text);
}

/**
 * Returns the time in ms until a stalled export gets another Job automatically, or Infinity if it does not get one. The
 * delay equals the time for which the export had been stalled when its last Job ended. Therefore, each delay is about
 * twice as long as the previous delay.
 */
function repeatDelayMs({ conditions, kubernetesJob }: SearchExportStatus = {}, nowMs: number): number {
  const stall = findCondition(conditions, 'Stalled');
  const endTime = kubernetesJob?.endTime;
  const isWaiting = stall && endTime !== undefined && isRepeated(stall.reason) && !findCondition(conditions, 'Failed');
  if (!isWaiting) return Number.POSITIVE_INFINITY;
  const endMs = Date.parse(endTime);
  const stalledMs = endMs - Date.parse(stall.lastTransitionTime);
  return endMs + Math.min(longestStallMs, Math.max(shortestStallMs, stalledMs)) - nowMs;
}

/**
 * Returns the export's status if it names a Job of the export's current run (see `runHash`), even if this Job no longer
 * exists. Otherwise returns undefined.
 */
function ofRun(resource: SearchExport): SearchExportStatus | undefined {
  const { status } = resource;
  return status?.kubernetesJob && isOfRun(status.kubernetesJob.name, resource) ? status : undefined;
}

/** Returns the health that the status of a failed export shows. Returns undefined for other exports. */
function failureOf(shown: SearchExportStatus | undefined): Found | undefined {
  const failed = findCondition(shown?.conditions, 'Failed');
  return failed && { health: shownHealth(failed), former: shown?.kubernetesJob };
}

/**
 * Returns the health that the status shows while a stalled export waits for its next Job. Otherwise returns undefined.
 */
function waitingStallOf(shown: SearchExportStatus | undefined, nowMs: number): Found | undefined {
  const stall = findCondition(shown?.conditions, 'Stalled');
  const isWaiting = stall && shown?.kubernetesJob?.endTime !== undefined && repeatDelayMs(shown, nowMs) > 0;
  return isWaiting ? { health: shownHealth(stall), former: shown.kubernetesJob } : undefined;
}

/** Returns the health to show in the status after an error that prevents the creation of a Job. */
function foundProblem(problem: LogfleetError): Found {
  const delayMs = problem.handling.kind === 'stall' ? stallRetryMs : soonMs * 5;
  return { health: exportHealth({ pausedBy: undefined, problem, wording: resourceWording }), delayMs };
}

/** Returns the result of an export from its status, or undefined if the export has not ended. */
function endOf(resource: SearchExport): ExportHealth | undefined {
  const complete = shownComplete(resource);
  if (complete) return shownHealth(complete);
  const failed = findCondition(resource.status?.conditions, 'Failed');
  const isOfThisWork = failed?.observedGeneration === resource.metadata.generation || ofRun(resource);
  return failed && isOfThisWork ? shownHealth(failed) : undefined;
}

/** Returns the reason why Jobs and pods cannot be listed, for example a missing permission. */
function listProblem(store: WorkerJobs): LogfleetError {
  const problem = store.problem();
  if (problem?.code === 'host.forbidden') return noJobs(`${problem.message}; or ${component}`);
  return failure('backoff', 'jobs.unlisted', 'Kubernetes Jobs have not been listed yet.', {
    reason: reasons.progressing,
  });
}

function noJobs(message: string): LogfleetError {
  return mendable(reasons.jobsNotAvailable, `${message}.`);
}

function mendable(reason: string, message: string): LogfleetError {
  return failure('stall', 'export.job', message, { reason });
}

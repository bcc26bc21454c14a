/**
 * Types and reasons of the conditions in a resource's status. The conditions follow kstatus, which Flux, Argo CD and
 * `kubectl wait` understand.
 *
 * - A resource has at most one condition of each type.
 * - `lastTransitionTime` changes only when `status` changes.
 * - A message has at most `maxMessageLength` characters.
 * - Every condition except `Ready` is present only while it is True.
 */
import { assert } from '../base/assert.ts';
import { sameValue } from '../base/canonical-text.ts';
import type { Condition } from './generated/collector-version-policy.ts';

export type { Condition };

/**
 * Types of conditions, in the order in which a status lists them.
 *
 * - `Ready`: always present. True: the spec is fulfilled. False: the spec is not yet fulfilled, or a user must act.
 *   Unknown: the resource is paused.
 * - `Reconciling`: logfleet is working, or is waiting for an event that does not depend on a user.
 * - `Stalled`: a user must act. Never present together with `Reconciling`.
 * - `Outage`: a dependency has not worked for ten minutes. logfleet keeps retrying.
 * - `Overlapping`: another policy owns collectors that this policy selects.
 * - `OtherOperator`: an operator in another namespace manages the same resource.
 * - `Complete`: all rows of an export are in files, and its manifest is written.
 * - `Failed`: an export has ended without being complete.
 */
const types = [
  'Ready',
  'Reconciling',
  'Stalled',
  'Outage',
  'Overlapping',
  'OtherOperator',
  'Complete',
  'Failed',
] as const;
const typeOrder: readonly string[] = types;

export type ConditionType = (typeof types)[number];

/** All reasons of conditions. Programs match on reasons, so a reason must never be renamed. */
export const reasons = {
  // Reasons with Ready=True.
  /** Every collector runs the target version, except offline and skipped collectors. */
  allUpdated: 'AllUpdated',
  /** All rows that match the query are in the files. The `Complete` condition is True. */
  exported: 'Exported',
  /**
   * The export completed with `incompletePolicy: Keep`, but some intervals may lack rows. The `Complete` condition is
   * True. A schedule has this reason if all due runs are complete, but intervals of some runs may lack rows.
   */
  exportedIncomplete: 'ExportedIncomplete',
  /** All due runs of the schedule are complete. Only the latest run may still be active. */
  upToDate: 'UpToDate',
  /** The schedule has ended, and everything is exported. */
  scheduleEnded: 'ScheduleEnded',

  // Reasons with Ready=False and Reconciling=True: logfleet is working or waiting.
  /** Collectors are being upgraded, or upgrades will start. */
  rollingOut: 'RollingOut',
  /** Some collectors do not run the target version, but the policy starts no upgrades (`mode: Observe`). */
  observing: 'Observing',
  /** A user must approve the next stage. */
  awaitingApproval: 'AwaitingApproval',
  /** All collectors of a stage run the target version, and the stage's soak is not over yet. */
  soaking: 'Soaking',
  /** The soak of a stage is over, and the log service is counting the messages of the stage's collectors. */
  analyzing: 'Analyzing',
  /** The log service gives no reliable count of a stage's messages. logfleet repeats the search. */
  analysisUnavailable: 'AnalysisUnavailable',
  /** No upgrade starts until a maintenance window opens or an exclusion ends. */
  waitingForWindow: 'WaitingForWindow',
  /** There is no target version yet, because no build of the channel is at least `minAge` old. */
  waitingForBuildAge: 'WaitingForBuildAge',
  /** The failure policy stopped the rollout, and collectors are being returned to their former versions. */
  rollingBack: 'RollingBack',
  /** The spec is new, and logfleet has not yet read its collectors or destination. */
  progressing: 'Progressing',
  /** A schedule is exporting past time ranges. */
  backfilling: 'Backfilling',
  /** Search jobs of an export are running, or will start. */
  exporting: 'Exporting',
  /** All data older than `settleDelay` has been exported. The export waits until newer data is old enough (E11). */
  waitingToSettle: 'WaitingToSettle',
  /** The Kubernetes Job of an export has no running pod yet. */
  jobPending: 'JobPending',
  /**
   * The Kubernetes Job of an export is waiting, because other Jobs use too large a share of the request limits (B8).
   */
  waitingForShare: 'WaitingForShare',
  /** The destination is full. The export continues when there is space. */
  destinationFull: 'DestinationFull',
  /** The destination does not respond, or is temporarily unavailable. */
  destinationUnavailable: 'DestinationUnavailable',
  /** The log service does not respond. */
  serviceUnreachable: 'ServiceUnreachable',
  /** The service responds with a 5xx status. */
  serviceUnavailable: 'ServiceUnavailable',
  /** A response from the log service violates its API specification, for example because a proxy sent the response. */
  responseInvalid: 'ResponseInvalid',
  /** The log service rejects a request as malformed. */
  requestRefused: 'RequestRefused',
  /** Too many requests are waiting in the queue that keeps logfleet within the rate limits. */
  requestBudgetFull: 'RequestBudgetFull',
  /** The log service responds with 429, because other clients send requests as the same user. */
  rateLimited: 'RateLimited',
  /** The log service has no upgrade task with the requested id. */
  taskNotFound: 'TaskNotFound',
  /** The log service refuses to upgrade one collector. */
  collectorRefused: 'CollectorRefused',
  /** A request was cancelled, for example at shutdown. */
  callAborted: 'CallAborted',
  /** The request was not sent, because this process may no longer be the leader. Only log lines contain this reason. */
  notLeading: 'NotLeading',
  /** The client was closed before it sent the request, because no resource uses the client's credentials any more. */
  clientClosed: 'ClientClosed',
  /** A search job was lost and is created again. */
  jobNotKnownYet: 'JobNotKnownYet',
  jobSilenced: 'JobSilenced',
  jobTimedOut: 'JobTimedOut',
  jobCookieMissing: 'JobCookieMissing',
  jobDeleted: 'JobDeleted',
  jobLost: 'JobLost',
  jobCancelled: 'JobCancelled',
  jobClosed: 'JobClosed',
  /** The log service returned fewer results than it had reported. */
  resultsMissing: 'ResultsMissing',
  /** The log service returned no reliable count for an interval (E6). */
  countMissing: 'CountMissing',
  /** The log service is running its maximum number of search jobs, and none of them has ended for a long time. */
  jobsExhausted: 'JobsExhausted',
  /** The destination accepted data too slowly, so logfleet stopped the download of a page. */
  destinationSlow: 'DestinationSlow',
  /** Unexpected error. logfleet retries. */
  internalError: 'InternalError',

  // Reasons with Ready=False and Stalled=True: a user must act.
  /** Runs of a schedule failed. Only a user can restart them, for example with `logfleet retry`. */
  runsFailed: 'RunsFailed',
  /** A run of a schedule is stalled. */
  runStalled: 'RunStalled',
  /** A run of a schedule cannot be created, because another SearchExport already has the run's name. */
  runNameTaken: 'RunNameTaken',
  /** A value in the spec is wrong, for example an unknown time zone. */
  invalidSpec: 'InvalidSpec',
  /** The selector matches no collector. */
  noCollectorsMatched: 'NoCollectorsMatched',
  /** The target version is older than some collectors, and `allowDowngrade` is false. */
  downgradeNotAllowed: 'DowngradeNotAllowed',
  /** The failure policy stopped the rollout. No further upgrades start. */
  rolloutStopped: 'RolloutStopped',
  /** The failure policy stopped the rollout, and collectors have been returned to their former versions. */
  rolledBack: 'RolledBack',
  /** No collector of a stage reached the target version. */
  stageInconclusive: 'StageInconclusive',
  /** A user aborted the rollout. */
  aborted: 'Aborted',
  /** The upgrades of some collectors failed, and so did all retries. */
  collectorsFailed: 'CollectorsFailed',
  /** The log service refuses to upgrade some collectors, or some collectors repeatedly leave the target version. */
  collectorsRefused: 'CollectorsRefused',
  /** The log service does not offer the target version. The message lists the available builds. */
  versionNotOffered: 'VersionNotOffered',
  /**
   * The ledger (stored rollout state) cannot be written, because another program owns an object or file with its name.
   */
  ledgerForeign: 'LedgerForeign',
  /** The ledger (stored rollout state) is damaged, or another program has changed it. */
  ledgerUnreadable: 'LedgerUnreadable',
  /**
   * The status shows a rollout, but the rollout's stored state (the ledger) is missing. The operator might lack
   * permission to read the ledger.
   */
  ledgerMissing: 'LedgerMissing',
  /**
   * The CRDs are older than the operator, so the API server does not know the kind Ledger, which stores rollout state.
   */
  ledgerNotInstalled: 'LedgerNotInstalled',
  /** The ledger (stored rollout state) has no space for another upgrade attempt, so no upgrade can start (U1). */
  ledgerFull: 'LedgerFull',
  /**
   * The API server rejects requests for the ledger (stored rollout state), or does not answer them. If this may be
   * temporary, logfleet retries, and the condition `Reconciling` is True instead of `Stalled`.
   */
  ledgerInaccessible: 'LedgerInaccessible',
  /** logfleet could not check that an interval is complete, and `incompletePolicy` is `Fail` (E6). */
  intervalIncomplete: 'IntervalIncomplete',
  /** The export has reached `limits.maxMessages` rows. */
  maxMessagesReached: 'MaxMessagesReached',
  /** The export has reached `limits.maxBytesScanned`. */
  maxBytesScannedReached: 'MaxBytesScannedReached',
  /** The export took longer than `activeDeadlineSeconds`. The `Failed` condition is True. */
  deadlineExceeded: 'DeadlineExceeded',
  /** The operator cannot create Kubernetes Jobs, because it runs outside a cluster or lacks the permissions. */
  jobsNotAvailable: 'JobsNotAvailable',
  /** The Kubernetes Job of an export failed, and no pod reported why. */
  jobFailed: 'JobFailed',
  /** The API server rejects the Kubernetes Job that the operator creates for an export. */
  jobRefused: 'JobRefused',
  /** The ServiceAccount of an export's pod does not exist, or lacks the label that lets exports use it. */
  serviceAccountNotAllowed: 'ServiceAccountNotAllowed',
  /** Only one node can mount the PersistentVolumeClaim, but the export has several workers. */
  claimNotShared: 'ClaimNotShared',
  /** The request limits are too small for the pods of an export's Job (B8). */
  shareTooSmall: 'ShareTooSmall',
  /** The Secret now contains the credentials of another user of the log service, so the operator replaces the Job. */
  userChanged: 'UserChanged',
  /** The operator has no volume with the name given in `destination.volume`. */
  volumeNotFound: 'VolumeNotFound',
  /**
   * The export names no Secret for its object store, and exports are not allowed to use the operator's own credentials.
   */
  ambientCredentialsNotAllowed: 'AmbientCredentialsNotAllowed',
  /** The root directory or bucket of the destination does not exist. */
  destinationNotFound: 'DestinationNotFound',
  /** The destination denies read or write access. */
  destinationAccessDenied: 'DestinationAccessDenied',
  /** The object store rejects the credentials of an export. */
  destinationCredentialsInvalid: 'DestinationCredentialsInvalid',
  /** A setting of the destination is wrong. */
  destinationInvalid: 'DestinationInvalid',
  /** The destination lacks a feature that the export needs. */
  destinationUnsupported: 'DestinationUnsupported',
  /** A file at the destination differs from the file that logfleet wrote. */
  destinationDamaged: 'DestinationDamaged',
  /** The Secret named in `credentialsSecretRef` does not exist. */
  secretNotFound: 'SecretNotFound',
  /** The Secret lacks a required key. */
  secretIncomplete: 'SecretIncomplete',
  /** A key of the Secret has an unusable value. */
  secretInvalid: 'SecretInvalid',
  /** `baseURL` in the Secret is not an `https://` address. */
  addressInvalid: 'AddressInvalid',
  /** The log service's certificate is not trusted, or is valid only for other host names. */
  certificateNotTrusted: 'CertificateNotTrusted',
  /** The log service responds with 401, because the access ID or the access key is wrong. */
  unauthorized: 'Unauthorized',
  /** The log service responds with 403, because its user lacks a permission. */
  forbidden: 'Forbidden',
  /** The log service does not accept the query. */
  queryRefused: 'QueryRefused',
  /** The service does not accept the time range. */
  rangeRefused: 'RangeRefused',
  /** `results` is `Records`, but the query has no aggregation. */
  notAnAggregation: 'NotAnAggregation',
  /** The query has an aggregation and `results` is `Messages`, but the log service returned no messages. */
  rawMessagesNotAvailable: 'RawMessagesNotAvailable',
  /** The export selects messages by receipt time, but the messages have no receipt time. */
  receiptTimeMissing: 'ReceiptTimeMissing',
  /** No upgrade starts, because another manifest in the directory is invalid and has no earlier valid version. */
  manifestUnusable: 'ManifestUnusable',
  /** The log service redirects to a host that the Secret does not allow. */
  redirectNotAllowed: 'RedirectNotAllowed',

  // Reasons with Ready=Unknown.
  /** The resource, or the whole operator, is paused. */
  paused: 'Paused',

  // Reason of Events about an outage. No condition has this reason, because the `Outage` condition has the same reason
  // as the `Ready` condition.
  /** A dependency, such as the log service, has not worked for ten minutes. */
  outage: 'Outage',

  // Reason of the condition OtherOperator=True.
  /** Operators in two namespaces manage the same resource. Only the operator that has managed it for longer acts. */
  otherOperator: 'OtherOperator',

  // Reason of the condition Overlapping=True.
  /** Another policy owns some of the selected collectors. This policy does not upgrade them. */
  overlapping: 'Overlapping',
} as const;

/** Maximum length, in characters, of a condition's message. A longer message is truncated, and ends in `…`. */
export const maxMessageLength = 1024;

export interface ConditionChange {
  readonly type: ConditionType;
  readonly status: Condition['status'];
  /** One of `reasons`, or the reason of an error. */
  readonly reason: string;
  readonly message: string;
  readonly observedGeneration: number;
}

const reasonForm = /^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$/;

/**
 * Returns the conditions with a change applied. If `status` changes, `lastTransitionTime` becomes `nowIso`. If nothing
 * changes, returns the same array.
 */
export function setCondition(
  conditions: readonly Condition[] | undefined,
  change: ConditionChange,
  nowIso: string,
): readonly Condition[] {
  assert(reasonForm.test(change.reason), `a condition's reason must be one CamelCase word: ${change.reason}`);
  const before = findCondition(conditions, change.type);
  const after: Condition = {
    type: change.type,
    status: change.status,
    observedGeneration: change.observedGeneration,
    lastTransitionTime: before?.status === change.status ? before.lastTransitionTime : nowIso,
    reason: change.reason,
    message: bounded(change.message),
  };
  if (conditions && sameValue(before, after)) return conditions;
  const others = conditions?.filter(({ type }) => type !== change.type) ?? [];
  return [...others, after].sort((left, right) => rank(left) - rank(right));
}

/** Returns the conditions without the condition of this type. If there is no such condition, returns the same array. */
export function removeCondition(
  conditions: readonly Condition[] | undefined,
  type: ConditionType,
): readonly Condition[] {
  if (conditions === undefined) return [];
  return findCondition(conditions, type) === undefined
    ? conditions
    : conditions.filter((condition) => condition.type !== type);
}

export function findCondition(
  conditions: readonly Condition[] | undefined,
  type: ConditionType,
): Condition | undefined {
  return conditions?.find((condition) => condition.type === type);
}

/** Returns the sort key that determines a condition's place in the status. Conditions of unknown types come last. */
function rank({ type }: Condition): number {
  const index = typeOrder.indexOf(type);
  return index === -1 ? typeOrder.length : index;
}

function bounded(message: string): string {
  if (message.length <= maxMessageLength) return message;
  const characters = [...message];
  return characters.length <= maxMessageLength ? message : `${characters.slice(0, maxMessageLength - 1).join('')}…`;
}

/**
 * Conditions of resources in kstatus style, and all reasons of conditions. Conditions are read by people, Flux, Argo CD and
 * `kubectl wait`.
 *
 * Invariants:
 * - A resource has at most one condition of each type.
 * - `lastTransitionTime` changes only when `status` changes.
 * - A message has at most `maxMessageLength` characters.
 * - Every condition except `Ready` is present only while it is True.
 *
 * The code of each kind decides when a reason applies.
 */
import { assert } from '../base/assert.ts';
import { sameValue } from '../base/canonical-text.ts';
import type { Condition } from './generated/collector-version-policy.ts';

export type { Condition };

/**
 * Types of conditions, in the order in which they are written, so that equal statuses have equal texts.
 * - `Ready`: always present. True: every collector that counts, or every row, is as the spec requires. False: not yet, or not
 *   without help. Unknown: paused. The message explains in one sentence why nothing is happening.
 * - `Reconciling`: logfleet is working, or waits for an event that needs no person.
 * - `Stalled`: a person must act. Never present together with `Reconciling`.
 * - `Outage`: a dependency has not worked for ten minutes. logfleet keeps retrying, so `Reconciling` is present, and the resource
 *   needs no change.
 * - `Overlapping`: another policy owns collectors that this policy selects. Does not affect health.
 * - `OtherOperator`: an operator of another namespace manages the same resource.
 * - `Complete`: all rows of an export are in files and its manifest is written. As in a Job.
 * - `Failed`: an export has ended without being complete. As in a Job.
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

/** All reasons of conditions. Programs match on them, so a reason must never be renamed. */
export const reasons = {
  // Reasons of resources with the condition Ready=True, which have neither Reconciling nor Stalled.
  /** Every collector of the policy runs the target version, except collectors that are offline or left out. */
  allUpdated: 'AllUpdated',
  /** Every row that matches the query is in the files, as the export manifest proves. The condition `Complete` is also True. */
  exported: 'Exported',
  /**
   * The export completed under `incompletePolicy: Keep`: the received rows are in the files, and the export manifest marks the
   * unproven intervals. The condition `Complete` is also True.
   */
  exportedIncomplete: 'ExportedIncomplete',
  /** The schedule has exported its time range up to now, except the time range of its newest run, which may still be active. */
  upToDate: 'UpToDate',
  /** The schedule has ended, and its whole time range is exported. */
  scheduleEnded: 'ScheduleEnded',

  // Reasons of resources with Ready=False and Reconciling=True: logfleet is working, or waits for something other than a person.
  /** Collectors are being upgraded, or will be. */
  rollingOut: 'RollingOut',
  /**
   * The policy has `mode: Observe`, so it upgrades no collector, although some collectors do not run the target version. The condition
   * `Reconciling` is absent.
   */
  observing: 'Observing',
  /** A person must approve the next stage. */
  awaitingApproval: 'AwaitingApproval',
  /** All collectors of a stage run the target version, and are watched for some time (the soak) before the next stage starts. */
  soaking: 'Soaking',
  /** The soak (waiting time) of a stage is over, and the log service counts the messages of the stage's collectors. */
  analyzing: 'Analyzing',
  /**
   * The log service gives no reliable count of the messages that a stage's collectors sent. The search that counts them is
   * repeated.
   */
  analysisUnavailable: 'AnalysisUnavailable',
  /** No upgrade starts until a maintenance window opens or an exclusion ends. */
  waitingForWindow: 'WaitingForWindow',
  /** The policy has no target version yet, because the log service has offered no build of the channel for at least `minAge`. */
  waitingForBuildAge: 'WaitingForBuildAge',
  /** The failure policy stopped the rollout, and the upgraded collectors are returning to their former versions. */
  rollingBack: 'RollingBack',
  /** The spec is new, and the list of collectors or the destination of the export has not been read yet. */
  progressing: 'Progressing',
  /** A schedule is still exporting past time ranges, because it was just created, it was paused, or logfleet did not run. */
  backfilling: 'Backfilling',
  /** Search jobs of an export are running, or will be. */
  exporting: 'Exporting',
  /** All data that is old enough is exported. Data newer than `settleDelay` is exported later (E11). */
  waitingToSettle: 'WaitingToSettle',
  /** The Kubernetes Job of an export has no running pod yet. */
  jobPending: 'JobPending',
  /**
   * The Kubernetes Job of an export waits until other Jobs leave it a large enough share of the log service's request limits
   * (B8).
   */
  waitingForShare: 'WaitingForShare',
  /** The destination is full. The export continues when there is space. */
  destinationFull: 'DestinationFull',
  /** The destination does not answer, or reports that it is temporarily unavailable. */
  destinationUnavailable: 'DestinationUnavailable',
  /** The log service does not answer: name resolution or connection failed, or the request timed out. */
  serviceUnreachable: 'ServiceUnreachable',
  /** The service answers with 5xx. */
  serviceUnavailable: 'ServiceUnavailable',
  /**
   * The log service's answer does not follow the API specification: it is truncated, comes from a proxy, or has fields of the
   * wrong type.
   */
  answerInvalid: 'AnswerInvalid',
  /** The log service rejects a request as malformed (400 or 415 without an error code of the specification). */
  requestRefused: 'RequestRefused',
  /**
   * logfleet rejected a request, because too many requests already wait in its own queue, which keeps the rate limits of the log
   * service.
   */
  requestBudgetFull: 'RequestBudgetFull',
  /**
   * The log service answers 429, although logfleet keeps its rate limit: other clients send requests as the same user of the
   * service.
   */
  rateLimited: 'RateLimited',
  /**
   * The log service does not know an upgrade task. Appears in logs, and in a condition only if no more precise reason is known.
   */
  taskNotFound: 'TaskNotFound',
  /**
   * The log service refuses to upgrade one collector. Appears in logs, and in a condition only if no more precise reason is
   * known.
   */
  collectorRefused: 'CollectorRefused',
  /** A request was cancelled, for example at shutdown. */
  callAborted: 'CallAborted',
  /** A request was not sent, because this process may no longer be the leader. Appears only in logs. */
  notLeading: 'NotLeading',
  /** A request was not sent, because no resource uses its credentials any more. */
  clientClosed: 'ClientClosed',
  /**
   * A search job was lost and is created again: it was polled too late, the log service cancelled it, or its cookie is missing.
   */
  jobNotKnownYet: 'JobNotKnownYet',
  jobSilenced: 'JobSilenced',
  jobTimedOut: 'JobTimedOut',
  jobCookieMissing: 'JobCookieMissing',
  jobDeleted: 'JobDeleted',
  jobLost: 'JobLost',
  jobCancelled: 'JobCancelled',
  jobClosed: 'JobClosed',
  /** The log service counts more results of a search job than it returns. */
  resultsMissing: 'ResultsMissing',
  /** The log service returned no reliable count for an interval (E6). */
  countMissing: 'CountMissing',
  /** No search job can start: the log service runs the maximum number of search jobs, and none of them ends. */
  jobsExhausted: 'JobsExhausted',
  /** The download of a page of results was stopped, because the destination accepted the data too slowly. */
  destinationSlow: 'DestinationSlow',
  /** An error for which there is no more specific reason. logfleet retries. */
  internalError: 'InternalError',

  // Reasons of resources with the conditions Ready=False and Stalled=True: a person must act.
  /** Runs of a schedule failed. Their time ranges are exported again only if a user requests it, for example with `logfleet retry`. */
  runsFailed: 'RunsFailed',
  /** A run of a schedule is stalled. */
  runStalled: 'RunStalled',
  /** A run of a schedule cannot be created, because another SearchExport has its name. */
  runNameTaken: 'RunNameTaken',
  /** The spec matches the schema, but one of its values is wrong, such as an unknown time zone. */
  invalidSpec: 'InvalidSpec',
  /** The selector matches no collector. Probably a mistake, unless matching collectors will be installed later. */
  noCollectorsMatched: 'NoCollectorsMatched',
  /** The target version is older than the versions of some collectors, and `allowDowngrade` is false. */
  downgradeNotAllowed: 'DowngradeNotAllowed',
  /** The failure policy stopped the rollout. No further upgrade starts. */
  rolloutStopped: 'RolloutStopped',
  /** The failure policy stopped the rollout, and the upgraded collectors have returned to their former versions. */
  rolledBack: 'RolledBack',
  /** No collector of a stage reached the target version. */
  stageInconclusive: 'StageInconclusive',
  /** A person aborted the rollout. */
  aborted: 'Aborted',
  /** The upgrades of some collectors failed, with all retries exhausted. */
  collectorsFailed: 'CollectorsFailed',
  /** The log service refuses to upgrade some collectors, or some collectors repeatedly leave the target version. */
  collectorsRefused: 'CollectorsRefused',
  /** The log service does not offer the target version. The message lists the available builds. */
  versionNotOffered: 'VersionNotOffered',
  /** The ledger (stored rollout state) cannot be stored, because an object or file with its name belongs to someone else. */
  ledgerForeign: 'LedgerForeign',
  /** The ledger (stored rollout state) is damaged or was changed by someone else. */
  ledgerUnreadable: 'LedgerUnreadable',
  /** The status shows a rollout, but its ledger (stored state) is missing: it may be in ConfigMaps that the operator cannot read. */
  ledgerMissing: 'LedgerMissing',
  /** The API server does not know the kind Ledger: the CRDs are older than the operator. */
  ledgerNotInstalled: 'LedgerNotInstalled',
  /** The ledger (stored rollout state) has no space for further upgrade attempts, so no upgrade can start (U1). */
  ledgerFull: 'LedgerFull',
  /** An interval (part of the time range) could not be proven complete, and `incompletePolicy` is `Fail` (E6). */
  intervalIncomplete: 'IntervalIncomplete',
  /** The export has written or found as many rows as `limits.maxMessages` allows. */
  maxMessagesReached: 'MaxMessagesReached',
  /** The log service has scanned as many bytes for the export as `limits.maxBytesScanned` allows. */
  maxBytesScannedReached: 'MaxBytesScannedReached',
  /** The export took longer than `activeDeadlineSeconds`. The condition `Failed` is also True. */
  deadlineExceeded: 'DeadlineExceeded',
  /** The operator cannot create Kubernetes Jobs: it runs outside of a cluster, or lacks the rights. */
  jobsNotAvailable: 'JobsNotAvailable',
  /** The Kubernetes Job of an export failed, and no pod reported why. */
  jobFailed: 'JobFailed',
  /** The API server does not accept the Kubernetes Job of an export. */
  jobRefused: 'JobRefused',
  /** The ServiceAccount of an export's pod does not exist, or lacks the label for exports. */
  serviceAccountNotAllowed: 'ServiceAccountNotAllowed',
  /** Only one node can mount the PersistentVolumeClaim of an export, but the export has several workers. */
  claimNotShared: 'ClaimNotShared',
  /** The log service's request limits are too small to give a share to each pod of an export's Kubernetes Job (B8). */
  shareTooSmall: 'ShareTooSmall',
  /**
   * The credentials in a pod's Secret belong to another user of the log service than when the Kubernetes Job was created. The
   * operator replaces the Job.
   */
  userChanged: 'UserChanged',
  /** The operator has no volume with the name in `destination.volume`. */
  volumeNotFound: 'VolumeNotFound',
  /** The export names no Secret for its object store, and the operator may not use its own credentials for exports. */
  ambientCredentialsNotAllowed: 'AmbientCredentialsNotAllowed',
  /** The root of the destination does not exist: no such directory or bucket. */
  destinationNotFound: 'DestinationNotFound',
  /** The destination denies logfleet read or write access. */
  destinationAccessDenied: 'DestinationAccessDenied',
  /** The object store rejects the credentials of an export. */
  destinationCredentialsInvalid: 'DestinationCredentialsInvalid',
  /** A setting of the destination is wrong. */
  destinationInvalid: 'DestinationInvalid',
  /** The destination lacks a feature that exports need, or that the spec asks for. */
  destinationUnsupported: 'DestinationUnsupported',
  /** An object at the destination differs from the object that logfleet wrote. */
  destinationDamaged: 'DestinationDamaged',
  /** The Secret in `credentialsSecretRef` does not exist. */
  secretNotFound: 'SecretNotFound',
  /** The Secret lacks a required key. */
  secretIncomplete: 'SecretIncomplete',
  /** A key of the Secret has an unusable value. */
  secretInvalid: 'SecretInvalid',
  /** `baseURL` is not an address, or does not begin with `https://`. */
  addressInvalid: 'AddressInvalid',
  /** The log service's certificate has no trusted issuer, or is for another name. */
  certificateNotTrusted: 'CertificateNotTrusted',
  /** The log service answers 401: the access id is unknown, or the access key is wrong. */
  unauthorized: 'Unauthorized',
  /** The log service answers 403: its user, or the user's role, lacks a permission. */
  forbidden: 'Forbidden',
  /** The log service cannot parse the query, or does not accept it. */
  queryRefused: 'QueryRefused',
  /** The service does not accept the time range. */
  rangeRefused: 'RangeRefused',
  /** The export's `results` is `Records`, but its query has no aggregation. */
  notAnAggregation: 'NotAnAggregation',
  /** The export's `results` is `Messages`, but the log service returned an aggregation without its messages. */
  rawMessagesNotAvailable: 'RawMessagesNotAvailable',
  /** The export selects messages by the time of their receipt, but the messages do not contain this time. */
  receiptTimeMissing: 'ReceiptTimeMissing',
  /** Another manifest in the directory is invalid, and logfleet knows no earlier valid version of that manifest. */
  manifestUnusable: 'ManifestUnusable',
  /** The log service redirects a request (301) to a host that the Secret does not allow. */
  redirectNotAllowed: 'RedirectNotAllowed',

  // Reasons of resources with the condition Ready=Unknown, which have neither Reconciling nor Stalled.
  /** The resource is paused by `spec.paused`, by its annotation, or by the switch that pauses the whole operator. */
  paused: 'Paused',

  // Reason of Events about an outage. The condition `Outage` itself has the same reason as the condition `Ready`.
  /** The log service, the store or something else that logfleet needs has not worked for ten minutes. */
  outage: 'Outage',

  // Reason of the condition OtherOperator=True.
  /** Operators of two namespaces manage the same resource. Only the operator that started first manages it. */
  otherOperator: 'OtherOperator',

  // Reason of the condition Overlapping=True.
  /** Another policy owns collectors that this policy selects, so this policy does not upgrade them. */
  overlapping: 'Overlapping',
} as const;

/** Maximum length of a condition's message, in characters. A longer message is cut and ends in `…`. */
export const maxMessageLength = 1024;

export interface ConditionChange {
  readonly type: ConditionType;
  readonly status: Condition['status'];
  /** Reason of the condition. One of `reasons`, or the reason of an error. */
  readonly reason: string;
  readonly message: string;
  readonly observedGeneration: number;
}

const reasonForm = /^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$/;

/**
 * Returns the conditions with `change` applied, or the same array if nothing changes. A new `status` sets `lastTransitionTime` to `nowIso`.
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

/** Returns the conditions without the condition of this type, or the same array if there is none. */
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

/** Returns the position of a condition type in a status, where conditions have a fixed order. Unknown types come last. */
function rank({ type }: Condition): number {
  const index = typeOrder.indexOf(type);
  return index === -1 ? typeOrder.length : index;
}

function bounded(message: string): string {
  if (message.length <= maxMessageLength) return message;
  const characters = [...message];
  return characters.length <= maxMessageLength ? message : `${characters.slice(0, maxMessageLength - 1).join('')}…`;
}

/**
 * Conditions in the kstatus style, and the catalogue of their reasons: what Flux, Argo CD, `kubectl wait` and people read.
 *
 * Invariants: one condition a type; `lastTransitionTime` moves only when `status` does; a message has at most
 * `maxMessageLength` characters. All but `Ready` stand there only while they are True, and are removed otherwise. Which situation gets which reason is for the kinds to decide.
 */
import { assert } from '../base/assert.ts';
import type { Condition } from './generated/collector-version-policy.ts';

export type { Condition };

/**
 * - `Ready`: always there. True: everything that counts is as the spec says. False: not yet, or not without help. Unknown:
 *   logfleet was told not to look after it. Its message answers "why is nothing happening?" in one sentence.
 * - `Reconciling`: there while logfleet is at work on it, or waits for something that will come by itself.
 * - `Stalled`: there while a person has to mend something. Never together with `Reconciling`.
 * - `Outage`: there once something that logfleet depends on has not worked for ten minutes. Beside `Reconciling`: it is tried again, and
 *   nobody has to change the resource, but somebody should know.
 * - `Overlapping`: there while another policy owns collectors that this one selects. Says nothing about health.
 * - `Complete`: there once all of an export is in files and its manifest is written, as a Job has it.
 * - `Failed`: there once an export has ended without that, as a Job has it.
 */
export type ConditionType =
  | 'Ready'
  | 'Reconciling'
  | 'Stalled'
  | 'Outage'
  | 'Overlapping'
  | 'OtherOperator'
  | 'Complete'
  | 'Failed';

/** The order in which conditions are written, so that two equal statuses are equal texts. */
const types: readonly ConditionType[] = [
  'Ready',
  'Reconciling',
  'Stalled',
  'Outage',
  'Overlapping',
  'OtherOperator',
  'Complete',
  'Failed',
];
const typeOrder: readonly string[] = types;

/** Every reason that a condition can have. Programs match on them: they are never renamed. */
export const reasons = {
  // Ready=True. Neither Reconciling nor Stalled is there.
  /** Every collector that counts is at the target. */
  allUpdated: 'AllUpdated',
  /** Every matching row is in the files, and the manifest proves it. With Complete. */
  exported: 'Exported',
  /** Under `incompletePolicy: Keep`: what was found is in the files, and the manifest flags what is not proven. With Complete. */
  exportedIncomplete: 'ExportedIncomplete',

  // Ready=False and Reconciling=True: at work, or waiting for what comes by itself.
  /** Collectors are being upgraded, or are to be. */
  rollingOut: 'RollingOut',
  /** `mode: Observe`, and collectors are not at the target; nothing will be upgraded. Without Reconciling. */
  observing: 'Observing',
  /** A person has to approve the next stage. */
  awaitingApproval: 'AwaitingApproval',
  /** All of a stage are at the target, and are watched for a while before the next begins. */
  soaking: 'Soaking',
  /** Nothing is started before a maintenance window opens, or an exclusion ends. */
  waitingForWindow: 'WaitingForWindow',
  /** The builds of the channel have not been offered for `minAge` yet. */
  waitingForBuildAge: 'WaitingForBuildAge',
  /** The failure policy stopped the rollout, and those that it upgraded are brought back to the versions that they had. */
  rollingBack: 'RollingBack',
  /** The spec is new, and neither fleet nor destination were looked at yet. */
  progressing: 'Progressing',
  /** Search jobs of an export run, or are to. */
  exporting: 'Exporting',
  /** All that is left of an export's range is newer than now minus `settleDelay` (protocol E11). */
  waitingToSettle: 'WaitingToSettle',
  /** No room is left where an export's files go; it goes on once there is. */
  destinationFull: 'DestinationFull',
  /** Where an export's files go does not answer, or says that it cannot now. */
  destinationUnavailable: 'DestinationUnavailable',
  /** The service does not answer at all: name resolution, connection, or time-out. */
  serviceUnreachable: 'ServiceUnreachable',
  /** The service answers with 5xx. */
  serviceUnavailable: 'ServiceUnavailable',
  /** The service answers, and not as its specification says: cut off, a proxy's page, members of the wrong type. */
  answerInvalid: 'AnswerInvalid',
  /** The service refuses a request of logfleet's as wrong in itself (400 or 415 without an error that the specification names). */
  requestRefused: 'RequestRefused',
  /** Too many requests to the service wait for their turn already. */
  requestBudgetFull: 'RequestBudgetFull',
  /** The service answers with 429 although the request budget is kept: others use the same user. */
  rateLimited: 'RateLimited',
  /** Of one task the service knows nothing (any more). It shows in logs, and in conditions only if nothing better is known. */
  taskNotFound: 'TaskNotFound',
  /** The service refuses to upgrade one collector. It shows in logs, and in conditions only if nothing better is known. */
  collectorRefused: 'CollectorRefused',
  /** A request was given up before its end, such as at a shutdown. */
  callAborted: 'CallAborted',
  /** A request was not sent, since another process may lead. It shows in logs. */
  notLeading: 'NotLeading',
  /** A request was not sent, since its credentials are no longer in use. */
  clientClosed: 'ClientClosed',
  /** A search job was lost, and is begun again: nobody polled it in time, the service ended it, or its cookie is missing. */
  jobNotKnownYet: 'JobNotKnownYet',
  jobSilenced: 'JobSilenced',
  jobTimedOut: 'JobTimedOut',
  jobCookieMissing: 'JobCookieMissing',
  jobDeleted: 'JobDeleted',
  jobLost: 'JobLost',
  jobCancelled: 'JobCancelled',
  jobClosed: 'JobClosed',
  /** The service counts more results of a job than it gives. */
  resultsMissing: 'ResultsMissing',
  /** The service gave no count of an interval that can be relied on (protocol E6). */
  countMissing: 'CountMissing',
  /** As many search jobs are active as there may be, and none of them ends. */
  jobsExhausted: 'JobsExhausted',
  /** A page was given up, since what it is written to took too long. */
  destinationSlow: 'DestinationSlow',
  /** A failure that logfleet has no better word for; it tries again. */
  internalError: 'InternalError',

  // Ready=False and Stalled=True: a person has to mend something.
  /** What the spec says cannot be read, although its form is right. */
  invalidSpec: 'InvalidSpec',
  /** The selector matches no collector: a mistake, until somebody installs one that it matches. */
  noCollectorsMatched: 'NoCollectorsMatched',
  /** The target is older than what collectors run, and `allowDowngrade` is false. */
  downgradeNotAllowed: 'DowngradeNotAllowed',
  /** The failure policy stopped the rollout: nothing more is started. */
  rolloutStopped: 'RolloutStopped',
  /** The failure policy stopped the rollout, and those that it upgraded are back at the versions that they had. */
  rolledBack: 'RolledBack',
  /** A person ended the rollout. */
  aborted: 'Aborted',
  /** Collectors are out of retries. */
  collectorsFailed: 'CollectorsFailed',
  /** The service refuses to upgrade collectors, or they keep leaving the target. */
  collectorsRefused: 'CollectorsRefused',
  /** The service does not offer the target; the message names the builds that there are. */
  versionNotOffered: 'VersionNotOffered',
  /** Something else stands where the ledger belongs. */
  ledgerForeign: 'LedgerForeign',
  /** The ledger is not what logfleet wrote. */
  ledgerUnreadable: 'LedgerUnreadable',
  /** Status shows a rollout, and its ledger may be in ConfigMaps that the operator may not read. */
  ledgerMissing: 'LedgerMissing',
  /** The API server does not know the kind Ledger: the CRDs are older than the operator. */
  ledgerNotInstalled: 'LedgerNotInstalled',
  /** The ledger of attempts is full, so that nothing more can be admitted (protocol U1). */
  ledgerFull: 'LedgerFull',
  /** Rows of an interval could not be proven to be all (protocol E6), and `incompletePolicy` is `Fail`. */
  intervalIncomplete: 'IntervalIncomplete',
  /** `limits.maxMessages` rows are written or found. */
  maxMessagesReached: 'MaxMessagesReached',
  /** `limits.maxBytesScanned` bytes are scanned. */
  maxBytesScannedReached: 'MaxBytesScannedReached',
  /** `activeDeadlineSeconds` are over. With Failed. */
  deadlineExceeded: 'DeadlineExceeded',
  /** The operator was given no volume of the name in `destination.volume`. */
  volumeNotFound: 'VolumeNotFound',
  /** No Secret for the store is named, and the operator does not lend its own credentials. */
  ambientCredentialsNotAllowed: 'AmbientCredentialsNotAllowed',
  /** The root of a destination is not there: no such directory, no such bucket. */
  destinationNotFound: 'DestinationNotFound',
  /** The destination does not let logfleet read or write. */
  destinationAccessDenied: 'DestinationAccessDenied',
  /** The store does not know the credentials. */
  destinationCredentialsInvalid: 'DestinationCredentialsInvalid',
  /** A setting of the destination cannot be right. */
  destinationInvalid: 'DestinationInvalid',
  /** The destination lacks what exports need, or what was asked for. */
  destinationUnsupported: 'DestinationUnsupported',
  /** What stands at the destination is not what logfleet wrote. */
  destinationDamaged: 'DestinationDamaged',
  /** There is no Secret of the name in `credentialsSecretRef`. */
  secretNotFound: 'SecretNotFound',
  /** The Secret lacks a key that is needed. */
  secretIncomplete: 'SecretIncomplete',
  /** A key of the Secret has a value that cannot be used. */
  secretInvalid: 'SecretInvalid',
  /** `baseURL` is no address, or not one of `https://`. */
  addressInvalid: 'AddressInvalid',
  /** The service's certificate is not signed by an authority that is trusted, or is for another name. */
  certificateNotTrusted: 'CertificateNotTrusted',
  /** 401: the service does not know the access id, or the key is wrong. */
  unauthorized: 'Unauthorized',
  /** 403: the account or its role may not do this. */
  forbidden: 'Forbidden',
  /** The service cannot read the query, or does not take it. */
  queryRefused: 'QueryRefused',
  /** The service does not take the range of time. */
  rangeRefused: 'RangeRefused',
  /** Records were asked for, and the query has no aggregation. */
  notAnAggregation: 'NotAnAggregation',
  /** Messages were asked for, of an aggregation that was run without them. */
  rawMessagesNotAvailable: 'RawMessagesNotAvailable',
  /** An export goes by receipt time, and the messages do not have theirs. */
  receiptTimeMissing: 'ReceiptTimeMissing',
  /** A manifest of the same directory cannot be used, and no former version of it is known. */
  manifestUnusable: 'ManifestUnusable',
  /** 301: the service lives elsewhere, at a host that the Secret does not allow. */
  redirectNotAllowed: 'RedirectNotAllowed',

  // Ready=Unknown. Neither Reconciling nor Stalled is there.
  /** `spec.paused`, the annotation, or the switch for all. */
  paused: 'Paused',

  // Of an Event alone: the condition Outage has the reason of Ready.
  /** Something that logfleet depends on has not worked for ten minutes. */
  outage: 'Outage',

  // OtherOperator=True.
  /** An operator of another namespace follows the same resource. Only the first of the two acts. */
  otherOperator: 'OtherOperator',

  // Overlapping=True.
  /** Another policy owns collectors that this one selects. */
  overlapping: 'Overlapping',
} as const;

/** Longest message of a condition, in characters. A longer one ends in `…`. */
export const maxMessageLength = 1024;

export interface ConditionChange {
  readonly type: ConditionType;
  readonly status: Condition['status'];
  /** One of `reasons`, mostly; errors bring theirs along. */
  readonly reason: string;
  readonly message: string;
  readonly observedGeneration: number;
}

const reasonForm = /^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$/;

/**
 * The conditions with one of them as `change` says. `nowIso` (RFC 3339, whole seconds) becomes its `lastTransitionTime` if its status
 * is another than before. Gives back the very same array when nothing changes.
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
  if (conditions !== undefined && before !== undefined && isSame(before, after)) return conditions;
  const others = conditions?.filter(({ type }) => type !== change.type) ?? [];
  return [...others, after].sort((left, right) => rank(left) - rank(right));
}

/** The conditions without the one of this type; the very same array when there is none. */
export function removeCondition(
  conditions: readonly Condition[] | undefined,
  type: ConditionType,
): readonly Condition[] {
  if (conditions === undefined) return [];
  return findCondition(conditions, type) === undefined ? conditions : conditions.filter((one) => one.type !== type);
}

export function findCondition(
  conditions: readonly Condition[] | undefined,
  type: ConditionType,
): Condition | undefined {
  return conditions?.find((condition) => condition.type === type);
}

/** Conditions of types that are not ours come last. */
function rank({ type }: Condition): number {
  const index = typeOrder.indexOf(type);
  return index === -1 ? typeOrder.length : index;
}

function bounded(message: string): string {
  if (message.length <= maxMessageLength) return message;
  const characters = [...message];
  return characters.length <= maxMessageLength ? message : `${characters.slice(0, maxMessageLength - 1).join('')}…`;
}

function isSame(left: Condition, right: Condition): boolean {
  return (
    left.status === right.status &&
    left.reason === right.reason &&
    left.message === right.message &&
    left.observedGeneration === right.observedGeneration
  );
}

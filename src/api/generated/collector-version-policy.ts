/** Generated from crds/collector-version-policy.yaml by `make generate`. Edit that file instead. */

/** What you want to be true. */
export interface CollectorVersionPolicySpec {
  /**
   * The Secret with the address of the log service and the credentials for it, in the namespace of the policy. Its keys
   * are `baseURL` (https only), `accessId` and `accessKey`; and, where needed, `ca.crt`, `allowedHosts`, `user`,
   * `requestsPerSecond` and `maxConcurrentRequests`.
   */
  readonly credentialsSecretRef: {
    /** The name of the Secret. */
    readonly name: string;
  };
  /** The version to bring collectors to. Exactly one of `version` and `channel`. */
  readonly target: Target;
  /**
   * Whether collectors that run a newer version than the target are brought down to it. Without it they are left as
   * they are, are counted as `newer`, and the policy does not become ready.
   */
  readonly allowDowngrade: boolean;
  /**
   * Which installed collectors the policy is about. All members must match; `{}` is every installed collector that the
   * credentials can see. Hosted collectors are never upgraded.
   */
  readonly selector: CollectorSelector;
  /** Collectors to leave alone although `selector` matches them, as those that one of these selectors matches. */
  readonly exclude?: readonly CollectorSelector[];
  /**
   * Where several policies match a collector, one of them owns it: that of the highest priority, then the oldest, then
   * the first by namespace and name. The others count it as `foreign` and say so in the condition `Overlapping`.
   */
  readonly priority: number;
  /** `Enforce` upgrades. `Observe` upgrades nothing and shows in the status what `Enforce` would find. */
  readonly mode: 'Enforce' | 'Observe';
  /**
   * Starts no further upgrade while true; those under way end by themselves, since the service cannot cancel them. The
   * annotation `logfleet.dev/paused: "true"` does the same without a change of the spec.
   */
  readonly paused: boolean;
  /**
   * How often the fleet is looked at again while nothing is to do, from `10s` to `24h`. Large fleets are looked at less
   * often than asked for, so that listing them takes a tenth of the time at most.
   */
  readonly resyncInterval: string;
  /** How many collectors are upgraded at once, in which order, and in which stages. */
  readonly strategy: Strategy;
  /**
   * When a rollout stops by itself, and what then. Failures are upgrades that failed or timed out, and collectors that
   * died or left the target within the soak of their stage; what the service refused without trying is none. Without
   * it, and without `maxFailures` in a stage, a rollout goes on whatever fails.
   */
  readonly failurePolicy?: FailurePolicy;
  /**
   * Collectors that are not running: `Skip` leaves them out, and catches up when they come back; `Wait` holds their
   * stage, and so the rollout, until they are back.
   */
  readonly offlinePolicy: 'Skip' | 'Wait';
  /** When upgrades may be started; at any time without it. */
  readonly maintenance?: Maintenance;
  /** What happens after the upgrade of a collector has failed. */
  readonly retryPolicy: RetryPolicy;
}

/** The version to bring collectors to. Exactly one of `version` and `channel`. */
export interface Target {
  /**
   * A build by its version, as the service lists it (`19.500-1`). When the service does not offer it, nothing is
   * upgraded and the condition `Stalled` names the builds that there are.
   */
  readonly version?: string;
  /** `Latest`: whichever build the service calls its latest, also when that changes. */
  readonly channel?: 'Latest';
  /**
   * With `channel`: a glob that the version must match, as in `19.*`. The newest build that matches is taken, also
   * where the service calls another its latest.
   */
  readonly versionPattern?: string;
  /**
   * With `channel`: how long the service must have offered a build, as far as this policy has seen, before it is rolled
   * out; from `0s` to `2160h`. Until then the policy stays with the build that it had.
   */
  readonly minAge?: string;
}

/**
 * Which installed collectors the policy is about. All members must match; `{}` is every installed collector that the
 * credentials can see. Hosted collectors are never upgraded.
 */
export interface CollectorSelector {
  /**
   * Globs for the collector's name, of which one must match: `*` stands for any characters, also none, and `?` for one.
   * Upper and lower case differ.
   */
  readonly matchNames?: readonly string[];
  /**
   * Fields of a collector with the value that each must have, as in `{osName: Linux}`. The fields are `name`,
   * `hostName`, `timeZone`, `ephemeral`, `sourceSyncMode`, `collectorType`, `collectorVersion`, `osName`, `osVersion`,
   * `osArch` and `alive`. Values are strings (`alive: "true"`).
   */
  readonly matchFields?: {
    readonly [k: string]: string;
  };
  /** Conditions on fields of a collector, all of which must hold. */
  readonly matchExpressions?: readonly CollectorExpression[];
}

/** One condition on one field. */
export interface CollectorExpression {
  /** The field of a collector. */
  readonly key:
    | 'name'
    | 'hostName'
    | 'timeZone'
    | 'ephemeral'
    | 'sourceSyncMode'
    | 'collectorType'
    | 'collectorVersion'
    | 'osName'
    | 'osVersion'
    | 'osArch'
    | 'alive';
  /**
   * `In` and `NotIn` compare with `values`; `Exists` and `DoesNotExist` ask whether the collector has the field at all;
   * `Lt`, `Lte`, `Gt` and `Gte` order versions, for `collectorVersion` only. A collector without the field matches
   * `NotIn` and `DoesNotExist`, and nothing else.
   */
  readonly operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist' | 'Lt' | 'Lte' | 'Gt' | 'Gte';
  /**
   * What to compare with: at least one for `In` and `NotIn`, none for `Exists` and `DoesNotExist`, exactly one version
   * for the others.
   */
  readonly values?: readonly string[];
}

/** How many collectors are upgraded at once, in which order, and in which stages. */
export interface Strategy {
  /**
   * How many collectors may be in upgrade at the same time: a number from 1 to 1000, or a percentage of the matched
   * collectors, rounded up and at least 1. Never more than 1000.
   */
  readonly maxInProgress: number | string;
  /**
   * Who goes first: `OldestVersionFirst` and `NewestVersionFirst` by the version that a collector runs, `Name` by its
   * name.
   */
  readonly order: 'OldestVersionFirst' | 'NewestVersionFirst' | 'Name';
  /**
   * The stages of a rollout, one after the other; without any, all collectors are one. A collector belongs to the first
   * stage that has it. A stage has ended when all its collectors that can be are at the target, and have been for
   * `soakDuration`. Collectors that no stage has are `skipped`.
   */
  readonly stages?: readonly Stage[];
}

/** One part of the fleet. With neither `size` nor `selector`, all that is left; only as the last. */
export interface Stage {
  /** Names the stage. */
  readonly name: string;
  /**
   * So many of the collectors that no stage before has: a number, or a percentage of the matched ones, rounded up and
   * at least 1. Who they are follows from their ids, so that it is the same ones each time.
   */
  readonly size?: number | string;
  /**
   * Those of the collectors that no stage before has which this matches, in the form of `spec.selector`. Who has been
   * in the stage stays there, whatever its fields become.
   */
  readonly selector?: CollectorSelector;
  /**
   * How many of the stage may be in upgrade at the same time: a number from 1 to 1000, or a percentage of its members,
   * rounded up and at least 1. `strategy.maxInProgress` holds as well.
   */
  readonly maxInProgress?: number | string;
  /**
   * How many failures of the stage are tolerated: a number, or a percentage of its attempts that have ended. One more,
   * and `failurePolicy.action` is taken. `failurePolicy.maxFailures` holds as well.
   */
  readonly maxFailures?: number | string;
  /**
   * How long all of the stage must have been at the target before the next one begins, from `0s` to `720h`. A collector
   * that dies or leaves the target within this time counts as a failure. The service takes half an hour to see a death,
   * so that a soak of less than 35m cannot.
   */
  readonly soakDuration: string;
  /**
   * `Required`: the stage begins only once a person has approved it (`logfleet approve`, or the annotation
   * `logfleet.dev/approve: ROLLOUT/STAGE`).
   */
  readonly approval?: 'Required';
}

/**
 * When a rollout stops by itself, and what then. Failures are upgrades that failed or timed out, and collectors that
 * died or left the target within the soak of their stage; what the service refused without trying is none. Without it,
 * and without `maxFailures` in a stage, a rollout goes on whatever fails.
 */
export interface FailurePolicy {
  /**
   * How many failures of a rollout are tolerated: a number, or a percentage of the attempts that have ended. A number
   * acts with the first failure beyond it; a percentage is judged once `minSamples` attempts have ended, or all that
   * there can be, and at the end of each stage.
   */
  readonly maxFailures?: number | string;
  /** How many attempts must have ended before a percentage is judged, in a stage or in the whole. */
  readonly minSamples: number;
  /**
   * `Pause` starts no more until a person goes on (`logfleet retry`). `Rollback` brings those that this rollout
   * upgraded back to the versions that they had. `Continue` goes on, and says in the condition that it is beyond the
   * tolerance.
   */
  readonly action: 'Pause' | 'Rollback' | 'Continue';
}

/** When upgrades may be started; at any time without it. */
export interface Maintenance {
  /** Upgrades are started while one of these is open; at any time where there is none. */
  readonly windows?: readonly MaintenanceWindow[];
  /** Times in which nothing is started, whatever the windows say. */
  readonly exclusions?: readonly Exclusion[];
  /**
   * Nothing is started so shortly before a window closes, or an exclusion begins, from `0s` to `24h`. The service gives
   * an upgrade up to half an hour.
   */
  readonly cutoff: string;
}

/** A time that comes again. */
export interface MaintenanceWindow {
  /**
   * When it opens, as cron has it: minute, hour, day of month, month, day of week. Local times that a change of the
   * clocks leaves out open when they would have come; those that come twice open the first time.
   */
  readonly schedule: string;
  /** How long it is open, from `1m` to `168h`, in time that passes, whatever the clocks do. */
  readonly duration: string;
  /** The IANA time zone of `schedule`; `UTC` without it. */
  readonly timeZone?: string;
  /**
   * `Collector`: the window opens for each collector by its own time zone. Collectors without one that can be read are
   * `skipped`.
   */
  readonly timeZoneSource?: 'Collector';
}

/** From `startTime` on, up to and without `endTime`. */
export interface Exclusion {
  /** Names it, for people. */
  readonly name: string;
  /** When it begins. */
  readonly startTime: string;
  /** When it ends. */
  readonly endTime: string;
}

/** What happens after the upgrade of a collector has failed. */
export interface RetryPolicy {
  /** How many times the upgrade of one collector is tried again in one rollout; 0 never. */
  readonly limit: number;
  /** How long to wait before trying again. */
  readonly backoff: Backoff;
}

/** How long to wait before trying again. */
export interface Backoff {
  /** The wait before the first retry, from `1s` to `24h`. */
  readonly duration: string;
  /** By what each further wait is longer than the one before. */
  readonly factor: number;
  /** The longest wait, from `1s` to `24h`, and no shorter than `duration`. */
  readonly cap: string;
}

/** What logfleet has found and done. Written by logfleet alone. */
export interface CollectorVersionPolicyStatus {
  /** The generation of the spec that this status is about. */
  readonly observedGeneration?: number;
  /**
   * How the ledger of this policy is kept. 2: as resources of the kind Ledger, or as files of a directory. Absent in a
   * status that an older logfleet wrote, which kept ledgers in ConfigMaps.
   */
  readonly ledgerFormat?: number;
  /**
   * When the outage began that keeps logfleet from going on, as a service that does not answer; absent while there is
   * none. After ten minutes the condition `Outage` is `True`.
   */
  readonly outageStartTime?: string;
  /**
   * The operators that follow this resource, by the namespace of their lease. Only the first acts; the others hold.
   * More than one is a mistake, which the condition `OtherOperator` reports.
   */
  readonly operators?: readonly OperatorMark[];
  /** The value of the annotation `logfleet.dev/requestedAt` that was acted on last (its first 256 characters). */
  readonly lastHandledReconcileAt?: string;
  /** The version that collectors are brought to; with `channel`, the one that it stands for now. */
  readonly targetVersion?: string;
  /** Short texts for tables. */
  readonly summary?: Summary;
  /** The rollout under way; absent when there is nothing to do. */
  readonly rollout?: Rollout;
  /** The stages of the rollout, as `spec.strategy.stages` has them; empty where it has none. */
  readonly stages?: readonly StageStatus[];
  /** The maintenance window that is open, or opens next; absent where the policy has none, or none is to come. */
  readonly nextWindow?: NextWindow;
  /** Collectors by where they stand. The others add up to `matched`. */
  readonly collectors?: CollectorCounts;
  /** The versions that the matched collectors run, the most frequent first; up to 50. */
  readonly versions?: readonly VersionCount[];
  /** A sample of the upgrades, up to 50 under way and the 50 that ended last. */
  readonly tasks?: readonly TaskSample[];
  /** Why upgrades failed, the most frequent first; up to 20. */
  readonly failureReasons?: readonly ReasonCount[];
  /** Why collectors are left alone, the most frequent first; up to 20. */
  readonly skippedReasons?: readonly ReasonCount[];
  /** The last ten rollouts that ended, the newest first. */
  readonly history?: readonly RolloutRecord[];
  /**
   * `Ready`, `Reconciling`, `Stalled`, `Outage` and `Overlapping`, in the form that kstatus, Flux and Argo CD read. The
   * message of `Ready` says why nothing is happening.
   */
  readonly conditions?: readonly Condition[];
}

/** One operator. */
export interface OperatorMark {
  /** The namespace of the operator's lease. */
  readonly name: string;
  /** When the operator first marked this resource. The earliest acts. */
  readonly since: string;
  /** What the operator answered last. An operator asks by a later time, and each other one answers with the same. */
  readonly seen: string;
}

/** Short texts for tables. */
export interface Summary {
  /** Collectors at the target, of those that count, as in `180/200`. */
  readonly updated?: string;
  /** Where the policy stands, in one word; mostly the reason of the condition that matters most. */
  readonly state?: string;
}

/** The rollout under way; absent when there is nothing to do. */
export interface Rollout {
  /** Names this rollout; another target makes another rollout. */
  readonly id: string;
  /** When it began. */
  readonly startTime: string;
  /** The stage that it is in; absent where the policy has none. */
  readonly stage?: string;
  /**
   * When it will be done, as far as was measured, soaks and windows counted in; absent while that cannot be said, or
   * waits for a person.
   */
  readonly estimatedCompletionTime?: string;
  /** What has to happen before more collectors are upgraded, in one sentence; absent when nothing has to. */
  readonly waitingFor?: string;
  /** Why nothing more of it is started, whatever the conditions tell of; absent while it goes on. */
  readonly stopped?: StoppedRollout;
  /**
   * What people did in it, the oldest first: the last of it, and always the last retry and each stage's last approval.
   */
  readonly actions?: readonly PersonAction[];
}

/** Why nothing more of it is started, whatever the conditions tell of; absent while it goes on. */
export interface StoppedRollout {
  /**
   * `RolloutStopped`: by the failure policy. `RollingBack`: and what it had upgraded is brought back, or has been.
   * `Aborted`: by a person.
   */
  readonly reason: 'RolloutStopped' | 'RollingBack' | 'Aborted';
  /** When it was stopped. */
  readonly time: string;
  /** Why, in one sentence. */
  readonly message: string;
  /** The stage whose tolerance was exceeded; absent where it was that of the whole. */
  readonly stage?: string;
}

/** Something that a person did. */
export interface PersonAction {
  /** What was done. */
  readonly action: 'Pause' | 'Resume' | 'Approve' | 'Retry' | 'Abort';
  /** When it was done, or heard of where nobody says when. */
  readonly time: string;
  /** The stage that it was about. */
  readonly stage?: string;
  /** The field manager that did it, where the API server says so. */
  readonly by?: string;
}

/** One stage. */
export interface StageStatus {
  /** Its name. */
  readonly name: string;
  /** Collectors in it. */
  readonly members: number;
  /** Those at the target. */
  readonly updated: number;
  /** Those that could not be upgraded, and are out of retries. */
  readonly failed: number;
  /**
   * Failures as `maxFailures` counts them, also of collectors that are tried again or were upgraded since; absent where
   * there are none.
   */
  readonly failedAttempts?: number;
  /**
   * `Pending`: its turn has not come. `AwaitingApproval`: a person has to approve it. `Progressing`: its collectors are
   * upgraded. `Soaking`: they are at the target, and watched. `Failed`: collectors of it failed, died or are gone, and
   * a person has to look. `Completed`: it has ended. `Stopped`: the rollout was stopped in it.
   */
  readonly state: 'Pending' | 'AwaitingApproval' | 'Progressing' | 'Soaking' | 'Failed' | 'Completed' | 'Stopped';
  /** When it began. */
  readonly startTime?: string;
  /** When its soak ends, or ended. */
  readonly soakedUntil?: string;
}

/** The maintenance window that is open, or opens next; absent where the policy has none, or none is to come. */
export interface NextWindow {
  /** When it opens, or opened. */
  readonly startTime: string;
  /** When it closes. */
  readonly endTime: string;
  /** Whose collectors it is open for, or opens for first; absent where no window goes by the collector's zone. */
  readonly timeZone?: string;
}

/** Collectors by where they stand. The others add up to `matched`. */
export interface CollectorCounts {
  /** Collectors that the selector matches. */
  readonly matched: number;
  /** At the target. */
  readonly updated: number;
  /**
   * In upgrade now, also one that somebody else started, or that has just ended for a former target or another policy,
   * until a list shows what became of it. Of these there may be more than `strategy.maxInProgress`, which counts what
   * has not ended.
   */
  readonly inProgress: number;
  /** Still to be upgraded. */
  readonly pending: number;
  /** Not upgraded, and out of retries. */
  readonly failed: number;
  /** Not running, so that they cannot be upgraded now. */
  readonly offline: number;
  /** At a newer version than the target, which `allowDowngrade` does not let go down. */
  readonly newer: number;
  /** Left alone for the reasons of `skippedReasons`. */
  readonly skipped: number;
  /** Owned by another policy. */
  readonly foreign: number;
}

export interface VersionCount {
  /** As the service writes it. */
  readonly version: string;
  /** How many run it. */
  readonly count: number;
}

/** One upgrade of one collector. */
export interface TaskSample {
  /** The id of the service's upgrade task; absent as long as it is not known. */
  readonly id?: string;
  /** The name of the collector. */
  readonly collector: string;
  /** The id of the collector, in decimal digits. */
  readonly collectorId: string;
  /** The version that it ran before. */
  readonly from?: string;
  /** The version that it is brought to. */
  readonly to: string;
  /** Where it stands, in one word. */
  readonly state: string;
  /** When it was begun. */
  readonly startTime: string;
  /** When it ended; absent as long as it goes on. */
  readonly endTime?: string;
  /** What the service said, mostly why it failed. */
  readonly message?: string;
}

/** Collectors that share a reason. */
export interface ReasonCount {
  /** What the service or logfleet says about them. */
  readonly reason: string;
  /** How many there are. */
  readonly count: number;
  /** Names of up to five of them. */
  readonly examples?: readonly string[];
}

/** A rollout that ended. */
export interface RolloutRecord {
  /** The id that the rollout had. */
  readonly id: string;
  /** The version that it went to. */
  readonly targetVersion: string;
  /** When it began. */
  readonly startTime: string;
  /** When it ended. */
  readonly completionTime: string;
  /**
   * `Completed`: nothing was left to do. `Superseded`: another target came before that. `Stopped`: the failure policy
   * had stopped it before. `RolledBack`: and its collectors were brought back. `Aborted`: a person had.
   */
  readonly outcome: 'Completed' | 'Superseded' | 'Stopped' | 'RolledBack' | 'Aborted';
  /** Collectors at its target when it ended. */
  readonly updated: number;
  /** Collectors that it could not upgrade. */
  readonly failed: number;
  /**
   * What people did in it, the oldest first: the last of it, and always the last retry and each stage's last approval.
   */
  readonly actions?: readonly PersonAction[];
}

/** One aspect of the state. */
export interface Condition {
  /** Which aspect. */
  readonly type: string;
  /** Whether it holds. */
  readonly status: 'True' | 'False' | 'Unknown';
  /** The generation of the spec that this condition is about. */
  readonly observedGeneration?: number;
  /** When `status` changed last. */
  readonly lastTransitionTime: string;
  /** Why, as one CamelCase word for programs. */
  readonly reason: string;
  /** Why, and what to do, for people. */
  readonly message: string;
}

/** Generated from crds/collector-version-policy.yaml by `make generate`. Edit that file instead. */

/** Desired state of the policy: the target version, the collectors, and the settings for their upgrades. */
export interface CollectorVersionPolicySpec {
  /**
   * Secret, in the policy's namespace, with the address and credentials of the log service. The Secret needs the keys
   * `baseURL` (https only), `accessId` and `accessKey`. Optional keys are `ca.crt` (the service's certificate
   * authority), `allowedHosts` (hosts to which the service may redirect) and `user` (service user that owns the access
   * id). The service limits the requests of each user. Therefore, if several Secrets have access ids of the same user,
   * set the same `user` in all of them. logfleet does not check whether the access id belongs to `user`. Therefore,
   * anyone who can create Secrets can use up part of any user's request limits. The optional keys `requestsPerSecond`
   * and `maxConcurrentRequests` (at least 2) lower the request limits. If Secrets of the same user set different
   * limits, logfleet finds the smallest limit in each namespace, and then applies the largest of these limits to the
   * user.
   */
  readonly credentialsSecretRef: {
    /** Name of the Secret. */
    readonly name: string;
  };
  /**
   * Version that the collectors must run. Set either `version` for a fixed version, or `channel` to let logfleet choose
   * a build.
   */
  readonly target: Target;
  /**
   * Whether collectors that run a newer version than the target are downgraded. If false (default), these collectors
   * keep their version, and the condition `Stalled` reports `DowngradeNotAllowed`.
   */
  readonly allowDowngrade: boolean;
  /**
   * Installed collectors that the policy manages. A collector must match all fields of the selector. `{}` matches every
   * installed collector that the credentials give access to. Hosted collectors are never upgraded.
   */
  readonly selector: CollectorSelector;
  /**
   * Selectors of collectors that the policy does not upgrade, even if `spec.selector` matches them. A collector is
   * excluded if at least one selector of this list matches it.
   */
  readonly exclude?: readonly CollectorSelector[];
  /**
   * Priority of the policy. If several policies with the same `mode` select a collector, the policy with the highest
   * priority owns it. If their priorities are equal, the oldest policy owns the collector. If they are also equally
   * old, the policy whose namespace and name sort first owns it. The other policies count the collector as `foreign`,
   * and have the condition `Overlapping`.
   */
  readonly priority: number;
  /**
   * `Enforce` (default) upgrades collectors. `Observe` upgrades no collectors, but shows in the status how many need an
   * upgrade. If policies of both modes select a collector, a policy with `Enforce` owns it, even if the `priority` of
   * this policy is lower.
   */
  readonly mode: 'Enforce' | 'Observe';
  /**
   * If true, no further upgrade starts. Upgrades in flight continue, because the service cannot cancel them. Setting
   * the annotation `logfleet.dev/paused` to `true` has the same effect without a change to the spec.
   */
  readonly paused: boolean;
  /**
   * Interval at which logfleet reads the service's collector list while no upgrade is needed, from `10s` to `24h`.
   * Defaults to `5m`. If reading the list takes a long time, logfleet reads it less often, so that reading takes at
   * most a tenth of the time.
   */
  readonly resyncInterval: string;
  /** Stages and order of the upgrades, and the maximum number of simultaneous upgrades. */
  readonly strategy: Strategy;
  /**
   * Number of failures that a rollout tolerates, and what happens if there are more. Failures are upgrades that fail or
   * time out, and upgraded collectors that go offline, leave the target version or send too few messages before their
   * stage ends. An upgrade that the log service refuses is not a failure. If no `maxFailures` is set, a failed
   * collector prevents its stage from ending.
   */
  readonly failurePolicy?: FailurePolicy;
  /**
   * How offline collectors are treated. With `Skip` (default), stages choose only online collectors. A collector that
   * comes back online later belongs to the last stage. With `Wait`, stages also choose offline collectors, and end only
   * once these collectors are back online.
   */
  readonly offlinePolicy: 'Skip' | 'Wait';
  /** Times at which upgrades may start. By default, upgrades start at any time. */
  readonly maintenance?: Maintenance;
  /** Number and timing of retries after a collector's upgrade has failed. */
  readonly retryPolicy: RetryPolicy;
}

/**
 * Version that the collectors must run. Set either `version` for a fixed version, or `channel` to let logfleet choose a
 * build.
 */
export interface Target {
  /**
   * Version that the collectors must run, in the log service's format, for example `19.500-1`. If the service does not
   * offer this version, no upgrade starts, and the condition `Stalled` lists the offered versions.
   */
  readonly version?: string;
  /**
   * Lets logfleet choose the target version from the builds that the log service offers. The only value is `Latest`.
   * Without `versionPattern`, logfleet chooses the build that the service marks as its latest. With `versionPattern`,
   * it chooses the newest build that matches the pattern.
   */
  readonly channel?: 'Latest';
  /**
   * Glob for the target version, for example `19.*`. The newest matching build becomes the target, even if the log
   * service marks another build as its latest. Allowed only with `channel`.
   */
  readonly versionPattern?: string;
  /**
   * Minimum age of a build before it can become the target, from `0s` (default) to `2160h`. The age is counted from the
   * time at which the policy first sees the build at the log service. Until the build reaches this age, the policy
   * keeps its previous target. Allowed only with `channel`.
   */
  readonly minAge?: string;
}

/**
 * Installed collectors that the policy manages. A collector must match all fields of the selector. `{}` matches every
 * installed collector that the credentials give access to. Hosted collectors are never upgraded.
 */
export interface CollectorSelector {
  /**
   * Globs for the collector's name. At least one of them must match the name. `*` matches any number of characters, and
   * `?` matches exactly one. Matching is case-sensitive.
   */
  readonly matchNames?: readonly string[];
  /**
   * Fields of a collector, and the values that they must have, for example `Linux` for `osName`. Possible fields are
   * `name`, `hostName`, `timeZone`, `ephemeral`, `sourceSyncMode`, `collectorType`, `collectorVersion`, `osName`,
   * `osVersion`, `osArch` and `alive`. Values are strings, so `alive` needs `"true"` or `"false"` in quotes.
   */
  readonly matchFields?: {
    readonly [k: string]: string;
  };
  /**
   * Conditions on the fields of a collector, such as its version. A collector matches only if it meets all conditions.
   */
  readonly matchExpressions?: readonly CollectorExpression[];
}

/** Condition on one field of a collector. */
export interface CollectorExpression {
  /** Field of the collector to compare. */
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
   * How the collector's field is compared with `values`. `In` requires that the field equals one of the values, and
   * `NotIn` that it equals none of them or is missing. `Exists` requires that the collector has the field, and
   * `DoesNotExist` that it does not. The field `collectorVersion` also supports `Lt` (older than the version in
   * `values`), `Lte` (not newer), `Gt` (newer) and `Gte` (not older).
   */
  readonly operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist' | 'Lt' | 'Lte' | 'Gt' | 'Gte';
  /**
   * Values to compare the collector's field with. `In` and `NotIn` need at least one value, `Exists` and `DoesNotExist`
   * allow none, and `Lt`, `Lte`, `Gt` and `Gte` need exactly one version.
   */
  readonly values?: readonly string[];
}

/** Stages and order of the upgrades, and the maximum number of simultaneous upgrades. */
export interface Strategy {
  /**
   * Maximum number of collectors that are upgraded at the same time. Either a number from 1 to 1000, or a percentage of
   * the selected collectors. A percentage is rounded up, and allows at least 1 and at most 1000 collectors. Defaults to
   * `5%`.
   */
  readonly maxInProgress: number | string;
  /**
   * Order in which collectors are upgraded. `OldestVersionFirst` and `NewestVersionFirst` sort by the version that a
   * collector runs; `Name` sorts by the collector's name.
   */
  readonly order: 'OldestVersionFirst' | 'NewestVersionFirst' | 'Name';
  /**
   * Stages of a rollout, which run one after another in this order. Each stage chooses its collectors when it starts. A
   * stage ends when its collectors run the target version and its soak (`soakDuration`) is over. Collectors that no
   * stage chooses are not upgraded, and count as `skipped`. Without stages, all collectors are upgraded together.
   */
  readonly stages?: readonly Stage[];
}

/**
 * Stage of a rollout. Every stage except the last needs `size` or `selector`. If the last stage has neither, it
 * contains all collectors that are in no other stage.
 */
export interface Stage {
  /** Name of the stage: at most 63 lower-case letters, digits and `-`. */
  readonly name: string;
  /**
   * Number of collectors in the stage, from 1 to 1000000, or a percentage. A percentage refers to the collectors that
   * the policy selects when the first stage of the rollout starts, and is rounded up to at least 1 collector. A hash of
   * the collectors' ids decides which collectors are chosen. Each rollout therefore chooses the same collectors, as
   * long as they can be upgraded.
   */
  readonly size?: number | string;
  /**
   * Selector of the collectors in the stage, with the same fields as `spec.selector`. When the stage starts, it takes
   * all matching collectors that are not in an earlier stage. A collector stays in the stage even if its fields change.
   */
  readonly selector?: CollectorSelector;
  /**
   * Maximum number of collectors of the stage that are upgraded at the same time. Either a number from 1 to 1000, or a
   * percentage of the collectors in the stage, rounded up. The limit of the whole policy,
   * `spec.strategy.maxInProgress`, also applies.
   */
  readonly maxInProgress?: number | string;
  /**
   * Maximum number of failures that the stage tolerates. Either a number from 0 to 1000000, or a percentage of the
   * stage's upgrade attempts that have ended. If the stage has more failures, `spec.failurePolicy.action` decides what
   * happens. The limit of the whole rollout, `spec.failurePolicy.maxFailures`, also applies.
   */
  readonly maxFailures?: number | string;
  /**
   * Soak of the stage: time for which its collectors must run the target version before the next stage starts, from
   * `0s` (default) to `720h`. Use at least `35m`, because the log service reports a dead collector as alive for half an
   * hour.
   */
  readonly soakDuration: string;
  /**
   * Whether a person must approve the stage before it starts. With `Required`, the stage waits for an approval. By
   * default, no approval is needed. To approve the stage, run `logfleet approve`, or set the annotation
   * `logfleet.dev/approve` to `ROLLOUT/STAGE` (id of the rollout and name of the stage).
   */
  readonly approval?: 'Required';
  /**
   * Analysis at the end of the soak, which shows whether the upgraded collectors of the stage still send enough log
   * messages. Each collector that sends too few messages adds one failure to the stage.
   */
  readonly analysis?: StageAnalysis;
}

/**
 * Analysis at the end of the soak, which shows whether the upgraded collectors of the stage still send enough log
 * messages. Each collector that sends too few messages adds one failure to the stage.
 */
export interface StageAnalysis {
  /**
   * Message analysis, which compares how many messages the log service received from each collector before and after
   * its upgrade. logfleet counts the messages with searches, which start 3 minutes after the end of the soak. The
   * credentials must have permission to search.
   */
  readonly messages: MessageAnalysis;
}

/**
 * Message analysis, which compares how many messages the log service received from each collector before and after its
 * upgrade. logfleet counts the messages with searches, which start 3 minutes after the end of the soak. The credentials
 * must have permission to search.
 */
export interface MessageAnalysis {
  /**
   * Minimum number of messages that a collector must send after its upgrade, as a percentage of its messages before the
   * upgrade, from `1%` to `100%`. Defaults to `50%`. A collector that sends fewer messages counts as a failure of its
   * stage.
   */
  readonly minRatio: string;
  /**
   * Length of each of the two periods, before and after the upgrade, in which messages are counted. From `5s` to `24h`,
   * and at most `soakDuration`. Defaults to `30m`. The period after the upgrade is the last part of the soak.
   */
  readonly duration: string;
  /**
   * Period before the upgrade whose messages are compared with the messages after the upgrade. `BeforeUpgrade`
   * (default) is the period just before the stage started. `DayBefore` is the latest period that ended before the stage
   * started, and that has the same time of day (UTC) as the period after the upgrade. `WeekBefore` also requires the
   * same weekday. Use `DayBefore` or `WeekBefore` for traffic with a daily or weekly pattern.
   */
  readonly baseline: 'BeforeUpgrade' | 'DayBefore' | 'WeekBefore';
  /**
   * Minimum number of messages that a collector must have sent before its upgrade to be included in the message
   * analysis, from 1 to 1000000. Defaults to 100. With fewer messages, the percentage of messages after the upgrade
   * would be unreliable.
   */
  readonly minMessages: number;
  /**
   * Search query that limits which messages the message analysis counts, for example `_sourceCategory=prod/*`. Only
   * search terms are allowed, not operators after `|`. By default, all messages are counted. A narrow query scans fewer
   * bytes.
   */
  readonly scope?: string;
}

/**
 * Number of failures that a rollout tolerates, and what happens if there are more. Failures are upgrades that fail or
 * time out, and upgraded collectors that go offline, leave the target version or send too few messages before their
 * stage ends. An upgrade that the log service refuses is not a failure. If no `maxFailures` is set, a failed collector
 * prevents its stage from ending.
 */
export interface FailurePolicy {
  /**
   * Maximum number of failures that the rollout tolerates. Either a number from 0 to 1000000, or a percentage of the
   * upgrade attempts that have ended. A number is checked after each failure. A percentage is checked once `minSamples`
   * attempts have ended, and at the end of each stage. Once the rollout is completed, earlier attempts no longer count.
   */
  readonly maxFailures?: number | string;
  /**
   * Number of upgrade attempts, from 1 to 1000000, that must have ended before a percentage in `maxFailures` is
   * checked. Defaults to 1. For the `maxFailures` of a stage, the attempts in this stage count. For the `maxFailures`
   * of the rollout, the attempts in all stages count. If `minSamples` is low, a single failure can exceed the
   * percentage.
   */
  readonly minSamples: number;
  /**
   * What happens if there are more failures than `maxFailures` allows. `Pause` (default) starts no further upgrade
   * until a person runs `logfleet retry`. `Rollback` returns the upgraded collectors to their former versions. Once the
   * rollout is completed, `Rollback` acts like `Pause`. `Continue` continues the rollout and reports the failures in
   * the `Ready` condition.
   */
  readonly action: 'Pause' | 'Rollback' | 'Continue';
}

/** Times at which upgrades may start. By default, upgrades start at any time. */
export interface Maintenance {
  /**
   * Maintenance windows. Upgrades and rollbacks start only while at least one window is open. If the list is empty,
   * upgrades start at any time.
   */
  readonly windows?: readonly MaintenanceWindow[];
  /** Periods in which no upgrade starts, even if a maintenance window is open. */
  readonly exclusions?: readonly Exclusion[];
  /**
   * No upgrade starts within this time before the end of a maintenance window, or before the start of a period in
   * `exclusions`. From `0s` to `24h`. Defaults to `30m`, because an upgrade takes up to half an hour.
   */
  readonly cutoff: string;
}

/** Maintenance window: a recurring period in which upgrades may start. */
export interface MaintenanceWindow {
  /**
   * Times at which the maintenance window opens, as a cron expression with five fields (minute, hour, day of month,
   * month, day of week). If clocks go forward and skip an opening time, the window opens later by the length of the
   * clock change. If clocks go back and an opening time occurs twice, the window opens only the first time.
   */
  readonly schedule: string;
  /**
   * Length of the maintenance window, from `1m` to `168h`. It must be longer than `spec.maintenance.cutoff`. Clock
   * changes for daylight saving time do not affect the length.
   */
  readonly duration: string;
  /**
   * IANA time zone for the maintenance window's `schedule`, for example `Europe/Berlin`. Defaults to `UTC`. Not allowed
   * with `timeZoneSource`.
   */
  readonly timeZone?: string;
  /**
   * Source of the time zone for the maintenance window's `schedule`. By default, `timeZone` is used. With `Collector`,
   * each collector's own time zone is used, as reported by the log service. A collector without a valid time zone is
   * then not upgraded and counts as `skipped`.
   */
  readonly timeZoneSource?: 'Collector';
}

/** Period in which no upgrade starts, from `startTime` (inclusive) to `endTime` (exclusive). */
export interface Exclusion {
  /** Name of the period in which no upgrade starts. logfleet's messages show this name. */
  readonly name: string;
  /** Start (inclusive) of the period in which no upgrade starts. */
  readonly startTime: string;
  /** End (exclusive) of the period in which no upgrade starts. */
  readonly endTime: string;
}

/** Number and timing of retries after a collector's upgrade has failed. */
export interface RetryPolicy {
  /**
   * Maximum number of retries for each collector in a rollout after its upgrade has failed, from 0 to 10. `0` means no
   * retries. Defaults to 2.
   */
  readonly limit: number;
  /**
   * Backoff between a failed upgrade and its retry. The first wait is `duration`. Each later wait is `factor` times as
   * long as the previous wait, but at most `cap`.
   */
  readonly backoff: Backoff;
}

/**
 * Backoff between a failed upgrade and its retry. The first wait is `duration`. Each later wait is `factor` times as
 * long as the previous wait, but at most `cap`.
 */
export interface Backoff {
  /** Wait before the first retry of a failed upgrade, from `1s` to `24h`. Defaults to `5m`. */
  readonly duration: string;
  /**
   * Backoff factor for retries of failed upgrades: the wait is multiplied by this factor after each retry. From 1 to
   * 10. Defaults to 2.
   */
  readonly factor: number;
  /**
   * Maximum wait before a retry of a failed upgrade. From `1s` to `24h`, and at least as long as `backoff.duration`.
   * Defaults to `1h`.
   */
  readonly cap: string;
}

/** Observed state of the policy, written only by logfleet. */
export interface CollectorVersionPolicyStatus {
  /**
   * Value of the policy's `metadata.generation` that this status describes. If it is lower than the current
   * `metadata.generation`, logfleet has not yet processed the latest change to the spec.
   */
  readonly observedGeneration?: number;
  /**
   * Format version of the policy's ledger (stored rollout state). If the field is absent, an older version of logfleet
   * wrote this status. The current version then cannot read the ledger, and does not continue the rollout.
   */
  readonly ledgerFormat?: number;
  /**
   * Address of the log service. Present only while the policy needs no ledger (stored rollout state), for example
   * before the first upgrade. If logfleet finds no ledger after a restart, the presence of this field shows that no
   * ledger was lost.
   */
  readonly noLedgerFor?: string;
  /**
   * Time at which the current outage began. During an outage, something that the policy needs is failing, for example
   * requests to the log service. Absent if there is no outage. If the outage lasts ten minutes, the condition `Outage`
   * becomes `True`.
   */
  readonly outageStartTime?: string;
  /**
   * Hash of the state that the `Ready` condition showed before the current interruption. An interruption is a pause, an
   * outage, or a return from `RolledBack` to `RollingBack`. If the policy returns to the same state after the
   * interruption, logfleet does not repeat the notification. Absent if there is no interruption.
   */
  readonly interruptedState?: string;
  /**
   * logfleet operators that manage this policy. The operator with the earliest `since` upgrades collectors, and the
   * others wait. Having more than one operator is a configuration error, which the condition `OtherOperator` reports.
   */
  readonly operators?: readonly OperatorEntry[];
  /**
   * Last value of the annotation `logfleet.dev/requestedAt` that logfleet has processed. A longer value is truncated to
   * 256 characters. If the annotation gets a new value, logfleet reads the collector list immediately.
   */
  readonly lastHandledReconcileAt?: string;
  /**
   * Version that the collectors must run: `spec.target.version`, or the build that logfleet chose for
   * `spec.target.channel`. All numbers in the status refer to this version. After a change to `spec.target`, this
   * version and the numbers change together.
   */
  readonly targetVersion?: string;
  /** Short texts about the policy for the columns of `kubectl get`. */
  readonly summary?: Summary;
  /**
   * Current rollout of the policy. Present while collectors need an upgrade, or while a person must decide what to do
   * after a failure.
   */
  readonly rollout?: Rollout;
  /**
   * Progress of each stage. Stages that have started come first, then the stages of `spec.strategy.stages` that have
   * not started. Empty if the policy has no stages.
   */
  readonly stages?: readonly StageStatus[];
  /**
   * Open maintenance window or, if no window is open, the next one. Absent if the policy has no maintenance windows, or
   * if none will open.
   */
  readonly nextWindow?: NextWindow;
  /**
   * Numbers of collectors by state. Each collector that the policy's selector matches has exactly one state, so the
   * numbers of all states add up to `matched`.
   */
  readonly collectors?: CollectorCounts;
  /** Versions that the policy's collectors run, most frequent first. */
  readonly versions?: readonly VersionCount[];
  /** Some of the policy's upgrades: up to 50 running upgrades, and the last 50 that ended. */
  readonly tasks?: readonly TaskSample[];
  /** Causes of failed upgrades and of rejected upgrade requests, most frequent first. */
  readonly failureReasons?: readonly ReasonCount[];
  /** Reasons why collectors are skipped, most frequent first. */
  readonly skippedReasons?: readonly ReasonCount[];
  /** Rollouts that have ended, newest first, at most 10. */
  readonly history?: readonly RolloutRecord[];
  /**
   * Conditions of the policy. `Ready`, `Reconciling` and `Stalled` follow the kstatus convention, which Flux and Argo
   * CD read. `Outage`, `Overlapping` and `OtherOperator` report problems. The message of `Ready` says what the policy
   * is doing or waiting for, and any action that you must take.
   */
  readonly conditions?: readonly Condition[];
}

/** logfleet operator that manages this policy. */
export interface OperatorEntry {
  /**
   * Namespace of the operator's Lease. Each operator has its own namespace, so this namespace identifies the operator.
   */
  readonly name: string;
  /**
   * Time at which the operator started to manage this policy. If several operators manage it, the operator with the
   * earliest time upgrades collectors, and the others wait. If two operators manage the same resources, each operator
   * writes its earliest time into all these resources, so that one operator acts on all of them.
   */
  readonly since: string;
  /**
   * Timestamp with which the operators of a policy check whether the other operators are still running. For this check,
   * an operator writes a newer time into the field `seen` of its own entry. Every other operator responds by copying
   * this time into its own entry. If an operator does not respond within a minute, its entry is removed.
   */
  readonly seen: string;
}

/** Short texts about the policy for the columns of `kubectl get`. */
export interface Summary {
  /**
   * Progress of the policy. For example, `180/200` means that 180 of 200 collectors run the target version. Collectors
   * that are offline, cannot be upgraded or are owned by another policy are not counted.
   */
  readonly updated?: string;
  /** State of the policy in one word: the reason of its `Ready` condition, for example `RollingOut`. */
  readonly state?: string;
}

/**
 * Current rollout of the policy. Present while collectors need an upgrade, or while a person must decide what to do
 * after a failure.
 */
export interface Rollout {
  /**
   * Id of the rollout, for example `3-19.500-1` for the third rollout of the policy, to version 19.500-1. Each new
   * target starts a new rollout.
   */
  readonly id: string;
  /** Time at which the rollout started. */
  readonly startTime: string;
  /** Name of the running stage or, between two stages, of the next stage. Absent if the policy has no stages. */
  readonly stage?: string;
  /**
   * Estimated time at which the last collector will be upgraded, computed from the running soak and the speed over the
   * last 15 minutes. The estimate ignores later soaks, approvals and maintenance windows. `logfleet plan` takes these
   * into account. Absent while the speed is unknown, or while the rollout is waiting for a person.
   */
  readonly estimatedCompletionTime?: string;
  /**
   * What the rollout is waiting for before it starts more upgrades, for example `the next maintenance window`. Absent
   * while upgrades are being started.
   */
  readonly waitingFor?: string;
  /**
   * Why and when the rollout stopped. Present as long as the rollout is stopped, even if the conditions report another
   * problem.
   */
  readonly stopped?: StoppedRollout;
  /**
   * Actions that people took in this rollout, such as approvals and retries, oldest first. The list has at most 20
   * actions. If there are more, older actions are removed, except the last retry, the last pause or resume, and the
   * last approval of each stage.
   */
  readonly actions?: readonly PersonAction[];
}

/**
 * Why and when the rollout stopped. Present as long as the rollout is stopped, even if the conditions report another
 * problem.
 */
export interface StoppedRollout {
  /**
   * Reason why the rollout stopped. `RolloutStopped`: too many failures. `RollingBack`: too many failures, so the
   * rollout is or was rolled back. `StageInconclusive`: a stage did not test the version, because none of its
   * collectors reached it, or because the message analysis could judge none of them. `Aborted`: a person aborted the
   * rollout.
   */
  readonly reason: 'RolloutStopped' | 'RollingBack' | 'StageInconclusive' | 'Aborted';
  /** Time at which the rollout stopped. */
  readonly time: string;
  /** Sentence that explains why the rollout stopped. */
  readonly message: string;
  /**
   * Name of the stage that stopped the rollout, because the stage had too many failures or was inconclusive. Absent if
   * no single stage was the cause, for example if the failures of all stages together exceeded
   * `failurePolicy.maxFailures`.
   */
  readonly stage?: string;
}

/** Action that a person took on the rollout by setting an annotation. Examples are retries and approvals. */
export interface PersonAction {
  /** Action that a person took on the rollout. */
  readonly action: 'Pause' | 'Resume' | 'Approve' | 'Retry' | 'Abort';
  /**
   * Time at which a person set the annotation for this action. If the API server does not record this time, logfleet
   * uses the time at which it first saw the annotation.
   */
  readonly time: string;
  /** Name of the stage that an `Approve` action approved. Absent for other actions. */
  readonly stage?: string;
  /**
   * Name of the client (Kubernetes field manager) that set the annotation for this action. Absent if the API server
   * does not record the client.
   */
  readonly by?: string;
}

/** Progress of one stage. */
export interface StageStatus {
  /** Name of the stage. */
  readonly name: string;
  /**
   * Number of collectors that the stage chose when it started or, if it has not started, would choose now. A last stage
   * without `size` or `selector` contains all other collectors that have been or can be upgraded.
   */
  readonly members: number;
  /** Number of collectors of the stage that run the target version. */
  readonly updated: number;
  /**
   * Number of failed collectors of the stage. A collector counts as failed if its upgrade and all retries failed, or if
   * it went offline after its upgrade. With `offlinePolicy: Skip`, a collector also counts as failed if it goes offline
   * during its upgrade.
   */
  readonly failed: number;
  /**
   * Number of collectors of the stage that are being upgraded. A collector is included until the service's collector
   * list shows the result of its upgrade. Absent if the number is 0 or the stage has not started.
   */
  readonly inProgress?: number;
  /**
   * Number of failures in the stage, which `maxFailures` limits. A failure is a failed upgrade attempt, or an upgraded
   * collector that went offline, left the target version or sent too few messages during the stage. A successful retry
   * does not reduce the number. Absent if there are no failures.
   */
  readonly failedAttempts?: number;
  /**
   * State of the stage. `Pending`: the stage has not started. `AwaitingApproval`: a person must approve the stage. If
   * the stage has no collectors, the approval skips it. `Progressing`: its collectors are being upgraded. `Soaking`:
   * its collectors run the target version, and the soak or the message analysis is running. `Failed`: collectors of the
   * stage failed, no `maxFailures` is set, and a person must act. `Completed`: the stage and its soak have ended.
   * `Stopped`: the rollout stopped in this stage.
   */
  readonly state: 'Pending' | 'AwaitingApproval' | 'Progressing' | 'Soaking' | 'Failed' | 'Completed' | 'Stopped';
  /** Time at which the stage started. */
  readonly startTime?: string;
  /** Time at which the soak of the stage ends or ended. Absent while the soak has not started. */
  readonly soakedUntil?: string;
  /**
   * Message analysis of the stage, which compares how many messages its collectors sent before and after the upgrade.
   * Absent if `spec` sets no message analysis for the stage, or if the soak has not started.
   */
  readonly analysis?: StageAnalysisStatus;
}

/**
 * Message analysis of the stage, which compares how many messages its collectors sent before and after the upgrade.
 * Absent if `spec` sets no message analysis for the stage, or if the soak has not started.
 */
export interface StageAnalysisStatus {
  /**
   * State of the message analysis. `Pending`: the counting period after the upgrade (`result`) has not ended.
   * `Running`: messages are being counted. `Unavailable`: the log service gave no reliable count, and the search is
   * repeated. `Passed`: no collector sent too few messages. `Failed`: at least one collector sent too few.
   * `Inconclusive`: no collector could be judged, because each collector either sent too few messages before the
   * upgrade, or was upgraded too late to be compared.
   */
  readonly state: 'Pending' | 'Running' | 'Unavailable' | 'Passed' | 'Failed' | 'Inconclusive';
  /** Reason why the log service gave no reliable count of messages. Present only in the state `Unavailable`. */
  readonly message?: string;
  /** Number of collectors for which the message analysis could compare the messages before and after the upgrade. */
  readonly judged?: number;
  /**
   * Number of collectors that sent too few messages after the upgrade (fewer than `minRatio` of the number before the
   * upgrade).
   */
  readonly quiet?: number;
  /**
   * Number of collectors that the message analysis could not judge. These collectors sent fewer messages than
   * `minMessages` before the upgrade, or were upgraded after the counting period `result` had begun.
   */
  readonly unjudged?: number;
  /** Bytes scanned by the searches of the message analysis, or `0` if the log service does not report scanned bytes. */
  readonly scannedBytes?: number;
  /** Period before the upgrade in which the messages of the stage's collectors are counted. */
  readonly baseline?: AnalysisPeriod;
  /** Period after the upgrade in which the messages of the stage's collectors are counted. */
  readonly result?: AnalysisPeriod;
  /**
   * Collectors that sent too few messages after the upgrade, at most 10. Collectors that lost the largest percentage of
   * their messages come first.
   */
  readonly quietest?: readonly QuietMember[];
  /**
   * Whether the collectors listed in `quietest` send enough messages again after a rollback. Absent until a rollback is
   * over.
   */
  readonly recovery?: RecoveryStatus;
}

/** Period before the upgrade in which the messages of the stage's collectors are counted. */
export interface AnalysisPeriod {
  /**
   * Start (inclusive) of the period in which messages are counted. A message counts if the log service received it in
   * this period.
   */
  readonly startTime: string;
  /**
   * End (exclusive) of the period in which messages are counted. A message counts if the log service received it in
   * this period.
   */
  readonly endTime: string;
}

/** Collector that sent too few messages after its upgrade. */
export interface QuietMember {
  /** Id of the collector. */
  readonly id: string;
  /** Name of the collector. */
  readonly name: string;
  /**
   * Number of messages that the collector sent after the upgrade, counted over the `duration` of the message analysis.
   */
  readonly messages: number;
  /**
   * Number of messages that the collector sent before the upgrade, counted over the `duration` of the message analysis.
   */
  readonly baseline: number;
  /**
   * Number of messages that the collector sent after its rollback, counted over the `duration` of the message analysis.
   * Absent until the messages are counted, and for a collector that was deleted before the count.
   */
  readonly messagesAfterRollback?: number;
}

/**
 * Whether the collectors listed in `quietest` send enough messages again after a rollback. Absent until a rollback is
 * over.
 */
export interface RecoveryStatus {
  /**
   * State of the check after a rollback. `Pending`: the counting period after the rollback has not ended. `Running`:
   * messages are being counted. `Unavailable`: the log service gave no reliable count, and the search is repeated.
   * `Recovered`: all collectors in `quietest` that still exist send enough messages again. `StillQuiet`: at least one
   * of them sends too few.
   */
  readonly state: 'Pending' | 'Running' | 'Unavailable' | 'Recovered' | 'StillQuiet';
  /** Reason why the messages after the rollback could not be counted. Present only in the state `Unavailable`. */
  readonly message?: string;
  /**
   * Number of collectors listed in `quietest` that send enough messages again after the rollback (at least `minRatio`
   * of the number before the upgrade).
   */
  readonly recovered?: number;
  /** Period after the rollback in which the messages of the collectors listed in `quietest` are counted. */
  readonly period: AnalysisPeriod;
}

/**
 * Open maintenance window or, if no window is open, the next one. Absent if the policy has no maintenance windows, or
 * if none will open.
 */
export interface NextWindow {
  /** Time at which the maintenance window opens or opened. */
  readonly startTime: string;
  /** Time at which the maintenance window closes. */
  readonly endTime: string;
  /**
   * Time zone in which the maintenance window opens first. Present only with `timeZoneSource: Collector`, because the
   * window then opens at a different time in each time zone.
   */
  readonly timeZone?: string;
}

/**
 * Numbers of collectors by state. Each collector that the policy's selector matches has exactly one state, so the
 * numbers of all states add up to `matched`.
 */
export interface CollectorCounts {
  /** Number of collectors that the policy's selector matches. */
  readonly matched: number;
  /** Number of collectors that run the target version. */
  readonly updated: number;
  /**
   * Number of collectors that are being upgraded. A collector is counted until the service's collector list shows the
   * result of its upgrade. The number can exceed `strategy.maxInProgress`, because it includes upgrades that other
   * tools or policies started, and upgrades that have just ended.
   */
  readonly inProgress: number;
  /**
   * Number of collectors that are waiting for an upgrade. They are waiting for their first attempt or for a retry, or
   * have left the target version.
   */
  readonly pending: number;
  /**
   * Number of failed collectors. A collector counts as failed if its upgrade and all retries failed, or if it went
   * offline after its upgrade. If `offlinePolicy` is `Skip`, a collector that goes offline during its upgrade also
   * counts as failed.
   */
  readonly failed: number;
  /** Number of collectors that cannot be upgraded now, because they are offline. */
  readonly offline: number;
  /**
   * Number of collectors that run a newer version than the target and keep it, because `spec.allowDowngrade` is false.
   */
  readonly newer: number;
  /**
   * Number of collectors that the policy selects, but does not upgrade, for example hosted collectors.
   * `status.skippedReasons` lists the reasons.
   */
  readonly skipped: number;
  /** Number of collectors that the policy's selector matches, but that belong to another policy. */
  readonly foreign: number;
}

export interface VersionCount {
  /** Version of the collector software, as the service writes it. */
  readonly version: string;
  /** Number of the policy's collectors that run this version. */
  readonly count: number;
}

/** Upgrade of one collector. */
export interface TaskSample {
  /** Id of the log service's upgrade task for this collector. Absent while the id is unknown. */
  readonly id?: string;
  /** Name of the collector that the upgrade applies to. */
  readonly collector: string;
  /** Id of the collector that the upgrade applies to, in decimal digits. */
  readonly collectorId: string;
  /** Version of the collector before the upgrade. */
  readonly from?: string;
  /** Target version of the upgrade. */
  readonly to: string;
  /** State of the upgrade in one word, for example `Running`, `Succeeded`, `Failed` or `TimedOut`. */
  readonly state: string;
  /** Time at which the upgrade started. */
  readonly startTime: string;
  /** Time at which the upgrade of this collector ended. Absent while the upgrade is running. */
  readonly endTime?: string;
  /** Message from the log service about the upgrade of this collector, usually the cause of a failure. */
  readonly message?: string;
}

/** Group of collectors that failed to upgrade, or were skipped, for the same reason. */
export interface ReasonCount {
  /**
   * Reason why the upgrade of these collectors failed, or why they are not upgraded. The text is from the log service
   * or from logfleet.
   */
  readonly reason: string;
  /** Number of collectors to which this reason applies. */
  readonly count: number;
  /** Names of collectors to which this reason applies, at most 5. */
  readonly examples?: readonly string[];
}

/** Rollout that has ended, with its result. */
export interface RolloutRecord {
  /** Id of the rollout. */
  readonly id: string;
  /** Target version of the rollout. */
  readonly targetVersion: string;
  /** Time at which the rollout started. */
  readonly startTime: string;
  /** Time at which the rollout ended. */
  readonly completionTime: string;
  /**
   * Result of the rollout. `Completed`: all stages ended, or no upgrade was left. `Superseded`: a new target replaced
   * the rollout before it was completed. `Stopped`: too many failures or an inconclusive stage stopped the rollout.
   * `RolledBack`: after too many failures, its collectors were returned to their former versions. `Aborted`: a person
   * aborted the rollout.
   */
  readonly outcome: 'Completed' | 'Superseded' | 'Stopped' | 'RolledBack' | 'Aborted';
  /** Number of collectors that ran the target version when the rollout ended. */
  readonly updated: number;
  /** Number of collectors whose upgrade and all retries had failed when the rollout ended. */
  readonly failed: number;
  /**
   * Actions that people took in this rollout, such as approvals and retries, oldest first. The list has at most 20
   * actions. If there are more, older actions are removed, except the last retry, the last pause or resume, and the
   * last approval of each stage.
   */
  readonly actions?: readonly PersonAction[];
}

/** One aspect of the policy's state. */
export interface Condition {
  /** Type of the condition, for example `Ready`. */
  readonly type: string;
  /** Whether the condition holds. */
  readonly status: 'True' | 'False' | 'Unknown';
  /** Generation (`metadata.generation`) of the policy to which this condition applies. */
  readonly observedGeneration?: number;
  /** Time at which `status` last changed. */
  readonly lastTransitionTime: string;
  /** Reason for the condition's current status, as one machine-readable CamelCase word. */
  readonly reason: string;
  /** Human-readable explanation of the condition's status, including any problem and how to solve it. */
  readonly message: string;
}

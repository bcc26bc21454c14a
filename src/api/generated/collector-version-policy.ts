/** Generated from crds/collector-version-policy.yaml by `make generate`. Edit that file instead. */

/** Desired state of the policy. */
export interface CollectorVersionPolicySpec {
  /**
   * Secret with the address and the credentials of the log service, in the namespace of the policy. It needs the keys
   * `baseURL` (https only), `accessId` and `accessKey`. The keys `ca.crt`, `allowedHosts`, `user`, `requestsPerSecond`
   * and `maxConcurrentRequests` are optional.
   */
  readonly credentialsSecretRef: {
    /** Name of the Secret. */
    readonly name: string;
  };
  /** Version that the collectors must run. Set exactly one of `version` and `channel`. */
  readonly target: Target;
  /**
   * Whether collectors with a newer version than the target are downgraded. If false, they keep their version, count as
   * `newer`, and the policy does not become ready.
   */
  readonly allowDowngrade: boolean;
  /**
   * Installed collectors that the policy manages. A collector must match all fields of the selector. `{}` matches every
   * installed collector that the credentials can see. Hosted collectors are never upgraded.
   */
  readonly selector: CollectorSelector;
  /**
   * Collectors that the policy leaves alone although `selector` matches them. A collector is excluded if one of these
   * selectors matches it.
   */
  readonly exclude?: readonly CollectorSelector[];
  /**
   * Decides which policy owns a collector that several policies match. The policy with the highest priority wins, then
   * the oldest policy, then the first by namespace and name. The other policies count the collector as `foreign` and
   * list it in the condition `Overlapping`.
   */
  readonly priority: number;
  /**
   * `Enforce` upgrades collectors. `Observe` starts no upgrade, and its status shows the state that `Enforce` would
   * start from.
   */
  readonly mode: 'Enforce' | 'Observe';
  /**
   * If true, no further upgrade starts. Upgrades in flight end as usual, since the service cannot cancel them. The
   * annotation `logfleet.dev/paused` with the value `true` has the same effect without a change of the spec.
   */
  readonly paused: boolean;
  /**
   * Time between two listings of the fleet while no upgrade is needed, from `10s` to `24h`. Large fleets are listed
   * less often, so that listing takes at most a tenth of the time.
   */
  readonly resyncInterval: string;
  /** Number, order and stages of the upgrades. */
  readonly strategy: Strategy;
  /**
   * Tolerated failures of a rollout, and the reaction if there are more. A failure is an upgrade that failed or timed
   * out, or an upgraded member that went offline, left the target or went quiet before its stage ended. Upgrades that
   * the service refused do not count. Without any `maxFailures`, here or in a stage, a collector with exhausted retries
   * holds its stage.
   */
  readonly failurePolicy?: FailurePolicy;
  /**
   * Treatment of offline collectors. With `Skip`, stages do not choose them, and they are upgraded with the last stage
   * when they are back online. With `Wait`, stages choose them, and a stage ends only after its members are back
   * online.
   */
  readonly offlinePolicy: 'Skip' | 'Wait';
  /** Times at which upgrades may start. Without it, upgrades start at any time. */
  readonly maintenance?: Maintenance;
  /** Number and delay of retries after the upgrade of a collector has failed. */
  readonly retryPolicy: RetryPolicy;
}

/** Version that the collectors must run. Set exactly one of `version` and `channel`. */
export interface Target {
  /**
   * Version of a build, as the service lists it (`19.500-1`). If the service does not offer this build, no collector is
   * upgraded, and the condition `Stalled` lists the available builds.
   */
  readonly version?: string;
  /**
   * Channel of the service that the policy follows. `Latest` is the build that the service currently marks as its
   * latest.
   */
  readonly channel?: 'Latest';
  /**
   * Glob that the version must match, as in `19.*`. Only with `channel`. The newest matching build becomes the target,
   * even if the service marks another build as its latest.
   */
  readonly versionPattern?: string;
  /**
   * Minimum time that this policy must have seen the service offer a build before the build can become the target, from
   * `0s` to `2160h`. Only with `channel`. Until then the policy keeps its current target. A policy never returns to an
   * older build because of `minAge`.
   */
  readonly minAge?: string;
}

/**
 * Installed collectors that the policy manages. A collector must match all fields of the selector. `{}` matches every
 * installed collector that the credentials can see. Hosted collectors are never upgraded.
 */
export interface CollectorSelector {
  /**
   * Globs for the name of the collector. At least one glob must match. `*` matches any number of characters, `?`
   * matches exactly one. Names are case-sensitive.
   */
  readonly matchNames?: readonly string[];
  /**
   * Exact values that fields of a collector must have, for example `Linux` for `osName`. Possible fields are `name`,
   * `hostName`, `timeZone`, `ephemeral`, `sourceSyncMode`, `collectorType`, `collectorVersion`, `osName`, `osVersion`,
   * `osArch` and `alive`. Values are strings, so `alive` needs `"true"` or `"false"` in quotes.
   */
  readonly matchFields?: {
    readonly [k: string]: string;
  };
  /** Conditions on fields of a collector. All conditions must hold. */
  readonly matchExpressions?: readonly CollectorExpression[];
}

/** One condition on one field. */
export interface CollectorExpression {
  /** Name of the field. */
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
   * `In` and `NotIn` compare the field with `values`. `Exists` and `DoesNotExist` test whether the collector has the
   * field. `Lt`, `Lte`, `Gt` and `Gte` compare versions, and only `collectorVersion` supports them. A collector without
   * the field matches only `NotIn` and `DoesNotExist`.
   */
  readonly operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist' | 'Lt' | 'Lte' | 'Gt' | 'Gte';
  /**
   * Values for the comparison. `In` and `NotIn` need at least one value, `Exists` and `DoesNotExist` take none, and the
   * other operators need exactly one version.
   */
  readonly values?: readonly string[];
}

/** Number, order and stages of the upgrades. */
export interface Strategy {
  /**
   * Maximum number of collectors in upgrade at the same time. Either a number from 1 to 1000, or a percentage of the
   * matched collectors, rounded up, at least 1 and at most 1000.
   */
  readonly maxInProgress: number | string;
  /**
   * Order in which collectors are upgraded. `OldestVersionFirst` and `NewestVersionFirst` sort by the version that a
   * collector runs, `Name` sorts by name.
   */
  readonly order: 'OldestVersionFirst' | 'NewestVersionFirst' | 'Name';
  /**
   * Stages of a rollout, in order. A stage chooses its members once, when it starts, and ends when they are at the
   * target and have soaked. Collectors that no stage chooses are `skipped`. Without stages, all collectors are upgraded
   * together.
   */
  readonly stages?: readonly Stage[];
}

/**
 * One stage of a rollout. A stage with neither `size` nor `selector` has all collectors that no other stage has, and
 * must be the last stage.
 */
export interface Stage {
  /** Name of the stage. */
  readonly name: string;
  /**
   * Number of members, at most 1000000, or a percentage of the collectors that match when the rollout's first stage
   * starts, rounded up and at least 1. Members are chosen from the collectors that no started stage has. The choice
   * depends on collector ids, so each rollout chooses the same collectors.
   */
  readonly size?: number | string;
  /**
   * Selects the members of the stage from the collectors that no started stage has. Same fields as `spec.selector`. A
   * member stays in the stage when its fields change.
   */
  readonly selector?: CollectorSelector;
  /**
   * Maximum number of members in upgrade at the same time. Either a number from 1 to 1000, or a percentage of the
   * stage's members, rounded up and at least 1. `strategy.maxInProgress` applies as well.
   */
  readonly maxInProgress?: number | string;
  /**
   * Maximum number of tolerated failures in the stage. Either a number, or a percentage of the stage's ended upgrade
   * attempts. One more failure triggers `failurePolicy.action`. `failurePolicy.maxFailures` applies as well.
   */
  readonly maxFailures?: number | string;
  /**
   * Time that all members must stay at the target before the next stage starts, from `0s` to `720h`. The time starts
   * once, when the last member reaches the target. The service reports a silent collector as offline after half an
   * hour, so use at least `35m`.
   */
  readonly soakDuration: string;
  /**
   * With `Required`, the stage starts only after a person has approved it, with `logfleet approve` or the annotation
   * `logfleet.dev/approve` with the value `ROLLOUT/STAGE`.
   */
  readonly approval?: 'Required';
  /**
   * Checks at the end of the soak that decide whether the members of the stage still work. A member that fails a check
   * counts as a failure of the stage.
   */
  readonly analysis?: StageAnalysis;
}

/**
 * Checks at the end of the soak that decide whether the members of the stage still work. A member that fails a check
 * counts as a failure of the stage.
 */
export interface StageAnalysis {
  /**
   * Compares the number of messages that each member sends after its upgrade with the number that it sent before. The
   * credentials must be allowed to search. Messages are counted by the time of their receipt, 3 minutes after the end
   * of the soak.
   */
  readonly messages: MessageAnalysis;
}

/**
 * Compares the number of messages that each member sends after its upgrade with the number that it sent before. The
 * credentials must be allowed to search. Messages are counted by the time of their receipt, 3 minutes after the end of
 * the soak.
 */
export interface MessageAnalysis {
  /**
   * Minimum ratio of the messages after the upgrade to the messages in the baseline period, from `1%` to `100%`. A
   * member below this ratio counts as quiet.
   */
  readonly minRatio: string;
  /**
   * Length of the two compared periods, from `5s` to `24h`, and at most `soakDuration`. The period after the upgrade is
   * the last part of the soak.
   */
  readonly duration: string;
  /**
   * Period with which the messages after the upgrade are compared (the baseline). `BeforeUpgrade` is the period right
   * before the stage started. `DayBefore` and `WeekBefore` are the same time of day in UTC, one day or one week
   * earlier, for traffic with a daily or weekly rhythm. If this period is not before the start of the stage, an earlier
   * day or week is used.
   */
  readonly baseline: 'BeforeUpgrade' | 'DayBefore' | 'WeekBefore';
  /** Minimum number of messages in the baseline, from 1 to 1000000. A member with fewer messages is not judged. */
  readonly minMessages: number;
  /**
   * Query for the messages that are counted, without operators (`|`). A narrow scope saves scanned bytes. Without it,
   * all messages are counted.
   */
  readonly scope?: string;
}

/**
 * Tolerated failures of a rollout, and the reaction if there are more. A failure is an upgrade that failed or timed
 * out, or an upgraded member that went offline, left the target or went quiet before its stage ended. Upgrades that the
 * service refused do not count. Without any `maxFailures`, here or in a stage, a collector with exhausted retries holds
 * its stage.
 */
export interface FailurePolicy {
  /**
   * Maximum number of tolerated failures in the rollout. Either a number, or a percentage of the ended upgrade
   * attempts. A number applies from the first failure. A percentage applies once `minSamples` attempts have ended, and
   * at the end of each stage. After the rollout is completed, only later attempts count.
   */
  readonly maxFailures?: number | string;
  /**
   * Minimum number of ended upgrade attempts, in the stage or the rollout, before a `maxFailures` percentage is
   * evaluated. With fewer attempts, a single failure would be a large percentage.
   */
  readonly minSamples: number;
  /**
   * Reaction to too many failures. `Pause` starts no further upgrade until a person runs `logfleet retry`. `Rollback`
   * returns the collectors that this rollout upgraded to their former versions. `Continue` continues the rollout and
   * reports the failures in the condition. After the rollout is completed, `Rollback` acts as `Pause`.
   */
  readonly action: 'Pause' | 'Rollback' | 'Continue';
}

/** Times at which upgrades may start. Without it, upgrades start at any time. */
export interface Maintenance {
  /** Maintenance windows. Upgrades start only while a window is open. Without windows, upgrades start at any time. */
  readonly windows?: readonly MaintenanceWindow[];
  /** Periods in which no upgrade starts, even if a window is open. */
  readonly exclusions?: readonly Exclusion[];
  /**
   * Time before a window closes, or an exclusion begins, in which no upgrade starts, from `0s` to `24h`. An upgrade
   * takes up to half an hour.
   */
  readonly cutoff: string;
}

/** Maintenance window: a recurring period in which upgrades may start. */
export interface MaintenanceWindow {
  /**
   * Opening times as a cron expression with five fields, namely minute, hour, day of month, month and day of week. When
   * clocks go forward, a window in the skipped hour opens later by the length of the change. When clocks go back, a
   * window in the repeated hour opens only the first time.
   */
  readonly schedule: string;
  /** Length of the window in elapsed time, from `1m` to `168h`. Clock changes do not alter it. */
  readonly duration: string;
  /** IANA time zone of `schedule`. Defaults to `UTC`. */
  readonly timeZone?: string;
  /**
   * With `Collector`, `schedule` is in the time zone of each collector. Collectors without a valid time zone are
   * `skipped`.
   */
  readonly timeZoneSource?: 'Collector';
}

/** Period in which no upgrade starts, from `startTime` (included) to `endTime` (excluded). */
export interface Exclusion {
  /** Name of the period in which no upgrade starts. Messages to people show this name. */
  readonly name: string;
  /** Start of the period in which no upgrade starts. */
  readonly startTime: string;
  /** End of the period in which no upgrade starts. */
  readonly endTime: string;
}

/** Number and delay of retries after the upgrade of a collector has failed. */
export interface RetryPolicy {
  /** Maximum number of retries for each collector in a rollout. 0 means no retry. */
  readonly limit: number;
  /** Wait between a failed upgrade attempt and its retry. */
  readonly backoff: Backoff;
}

/** Wait between a failed upgrade attempt and its retry. */
export interface Backoff {
  /** Wait before the first retry, from `1s` to `24h`. */
  readonly duration: string;
  /** Factor by which the wait grows after each retry. */
  readonly factor: number;
  /** Maximum wait, from `1s` to `24h`. Must be at least `duration`. */
  readonly cap: string;
}

/** Observed state of the policy. Only logfleet writes it. */
export interface CollectorVersionPolicyStatus {
  /** Generation of the spec that this status describes. */
  readonly observedGeneration?: number;
  /**
   * Version of the format in which the policy's ledger (its stored rollout state) is written. Absent in a status that
   * an older logfleet wrote; this version refuses the ledger of such a policy.
   */
  readonly ledgerFormat?: number;
  /**
   * Address of the service for which the policy has needed no ledger (stored rollout state) so far, because this status
   * contains all state of the rollout. Absent once a ledger was written.
   */
  readonly noLedgerFor?: string;
  /**
   * Start of the current outage. In an outage, something that the policy needs does not work, for example the service
   * does not answer. Absent otherwise. After ten minutes the condition `Outage` becomes `True`.
   */
  readonly outageStartTime?: string;
  /**
   * Operators that manage this resource, each named by the namespace of its lease. Only the first operator acts, the
   * others wait. More than one operator is a configuration error, which the condition `OtherOperator` reports.
   */
  readonly operators?: readonly OperatorEntry[];
  /** Last processed value of the annotation `logfleet.dev/requestedAt`, up to 256 characters. */
  readonly lastHandledReconcileAt?: string;
  /** Version that the collectors must run. With `channel`, the build that the channel currently resolves to. */
  readonly targetVersion?: string;
  /** Short texts that the columns of `kubectl get` show. */
  readonly summary?: Summary;
  /** Current rollout of the policy. Absent when no collector has to be upgraded. */
  readonly rollout?: Rollout;
  /**
   * Progress of the stages. The stages that have started come first, then the other stages of the spec. Empty if the
   * policy has no stages.
   */
  readonly stages?: readonly StageStatus[];
  /**
   * Maintenance window that is open or opens next. Absent if the policy has no windows, or if no further window opens.
   */
  readonly nextWindow?: NextWindow;
  /**
   * Numbers of collectors by state. Each matched collector has one state, so the numbers of all states add up to
   * `matched`.
   */
  readonly collectors?: CollectorCounts;
  /** Versions of the matched collectors, most frequent first. */
  readonly versions?: readonly VersionCount[];
  /** Sample of the policy's upgrades: up to 50 upgrades that are running, and the 50 that ended last. */
  readonly tasks?: readonly TaskSample[];
  /** Causes of failed upgrades, most frequent first. */
  readonly failureReasons?: readonly ReasonCount[];
  /** Reasons why collectors are skipped, most frequent first. */
  readonly skippedReasons?: readonly ReasonCount[];
  /** Last ten ended rollouts, newest first. */
  readonly history?: readonly RolloutRecord[];
  /**
   * Conditions of the policy, in the form that kstatus, Flux and Argo CD read. They are `Ready`, `Reconciling`,
   * `Stalled`, `Outage`, `Overlapping` and `OtherOperator`. The message of `Ready` explains why nothing is happening.
   */
  readonly conditions?: readonly Condition[];
}

/** Entry of one operator that manages this resource. */
export interface OperatorEntry {
  /** Namespace of the operator's lease, by which operators tell each other apart. */
  readonly name: string;
  /**
   * Time at which the operator first wrote its entry here. The operator with the earliest time acts, and the others
   * wait.
   */
  readonly since: string;
  /**
   * Time of the operator's latest sign of life. To check whether the other operators still run, an operator writes a
   * later time into its own entry. Each operator that still runs copies this time into its entry.
   */
  readonly seen: string;
}

/** Short texts that the columns of `kubectl get` show. */
export interface Summary {
  /**
   * Number of collectors that run the target version, and number of collectors that the policy can upgrade, as in
   * `180/200`. The second number excludes collectors that are offline, skipped, or owned by another policy.
   */
  readonly updated?: string;
  /** State of the policy in one word. Usually the reason of the most important condition. */
  readonly state?: string;
}

/** Current rollout of the policy. Absent when no collector has to be upgraded. */
export interface Rollout {
  /** Id of the rollout. Each new target starts a new rollout. */
  readonly id: string;
  /** Time at which the rollout started. */
  readonly startTime: string;
  /** Name of the current stage of the rollout. Absent if the policy has no stages. */
  readonly stage?: string;
  /**
   * Estimated time at which the collectors that are left will be upgraded, at the speed of the last 15 minutes. Soaks,
   * approvals and maintenance windows that are still to come are not included; `logfleet plan` shows them. Absent while
   * no speed is known, and while the rollout waits for a person.
   */
  readonly estimatedCompletionTime?: string;
  /**
   * Event for which the rollout waits before more collectors are upgraded, in one sentence. Absent while upgrades
   * start.
   */
  readonly waitingFor?: string;
  /**
   * Cause and time of the rollout's stop. Present as long as the rollout is stopped, even if the conditions report
   * another problem.
   */
  readonly stopped?: StoppedRollout;
  /**
   * Actions of people in this rollout, oldest first. If there are too many, the list has the newest actions, the last
   * retry, and the last approval of each stage.
   */
  readonly actions?: readonly PersonAction[];
}

/**
 * Cause and time of the rollout's stop. Present as long as the rollout is stopped, even if the conditions report
 * another problem.
 */
export interface StoppedRollout {
  /**
   * Cause of the stop. `RolloutStopped` means too many failures. `RollingBack` means too many failures, after which the
   * upgraded collectors return, or have returned, to their former versions. `StageInconclusive` means that no member of
   * a stage reached the target, or that no member could be judged by its messages. `Aborted` means that a person
   * aborted the rollout.
   */
  readonly reason: 'RolloutStopped' | 'RollingBack' | 'StageInconclusive' | 'Aborted';
  /** Time at which the rollout stopped. */
  readonly time: string;
  /** Sentence that explains why the rollout stopped. */
  readonly message: string;
  /**
   * Stage whose failures or missing results stopped the rollout. Absent if the failures of all stages together exceeded
   * `failurePolicy.maxFailures`.
   */
  readonly stage?: string;
}

/** Action that a person took on the rollout by an annotation. */
export interface PersonAction {
  /** Kind of the action that the person took. */
  readonly action: 'Pause' | 'Resume' | 'Approve' | 'Retry' | 'Abort';
  /**
   * Time at which the person set the annotation. If the API server does not record this time, the time at which
   * logfleet first saw the annotation.
   */
  readonly time: string;
  /** Name of the stage that an `Approve` action approved. Absent for other actions. */
  readonly stage?: string;
  /** Field manager that wrote the annotation, if the API server records it. */
  readonly by?: string;
}

/** Progress of one stage. */
export interface StageStatus {
  /** Name of the stage. */
  readonly name: string;
  /**
   * Number of collectors in the stage. A stage chooses its members when it starts; later, members can only leave. A
   * stage that has not started shows how many members it would have now. A last stage without `size` and `selector` has
   * the collectors of no other stage that were upgraded or can be upgraded.
   */
  readonly members: number;
  /** Number of members of the stage that run the target version. */
  readonly updated: number;
  /** Number of members of the stage whose upgrade failed, with all retries exhausted. */
  readonly failed: number;
  /**
   * Number of failures of the stage that `maxFailures` limits, namely failed upgrade attempts, and collectors that went
   * offline, left the target or went quiet during the stage. A successful retry does not reduce the number. Absent if
   * there are no failures.
   */
  readonly failedAttempts?: number;
  /**
   * State of the stage. `Pending` means that the stage has not started. `AwaitingApproval` means that a person must
   * approve the stage, or can skip it by an approval because it has no members. `Progressing` means that its members
   * are being upgraded. `Soaking` means that its members are at the target, and the soak is running. `Failed` means
   * that members failed or went offline, no `maxFailures` is set, and a person must act. `Completed` means that the
   * stage and its soak have ended. `Stopped` means that the rollout stopped in this stage.
   */
  readonly state: 'Pending' | 'AwaitingApproval' | 'Progressing' | 'Soaking' | 'Failed' | 'Completed' | 'Stopped';
  /** Time at which the stage started. */
  readonly startTime?: string;
  /** Time at which the soak of the stage (its waiting time before the next stage) ends or ended. */
  readonly soakedUntil?: string;
  /**
   * Message analysis of the stage. Absent if the stage has no message analysis, or if its members have not reached the
   * target.
   */
  readonly analysis?: StageAnalysisStatus;
}

/**
 * Message analysis of the stage. Absent if the stage has no message analysis, or if its members have not reached the
 * target.
 */
export interface StageAnalysisStatus {
  /**
   * State of the analysis. `Pending` means that the analyzed period has not ended. `Running` means that the messages
   * are being counted. `Unavailable` means that the service gave no reliable count, and the search is repeated.
   * `Passed` means that no member went quiet. `Failed` means that members went quiet (sent too few messages).
   * `Inconclusive` means that no member could be judged.
   */
  readonly state: 'Pending' | 'Running' | 'Unavailable' | 'Passed' | 'Failed' | 'Inconclusive';
  /** Reason why the analysis is unavailable. */
  readonly message?: string;
  /** Number of members that were judged. */
  readonly judged?: number;
  /** Number of members that went quiet. */
  readonly quiet?: number;
  /**
   * Number of members that were not judged, because they sent too few messages in the baseline period, or were upgraded
   * within the analyzed period.
   */
  readonly unjudged?: number;
  /** Number of bytes that the searches of the analysis scanned, as far as the service reports it. */
  readonly scannedBytes?: number;
  /** Period in which messages were received, before or after the upgrade. */
  readonly baseline?: AnalysisPeriod;
  /** Period in which messages were received, before or after the upgrade. */
  readonly result?: AnalysisPeriod;
  /** The members that lost the largest part of their messages, at most 10. */
  readonly quietest?: readonly QuietMember[];
  /**
   * Check after a rollback whether the members in `quietest` send messages again. Absent unless the rollback is over.
   */
  readonly recovery?: RecoveryStatus;
}

/** Period in which messages were received, before or after the upgrade. */
export interface AnalysisPeriod {
  /** Start of the period, included. */
  readonly startTime: string;
  /** End of the period, excluded. */
  readonly endTime: string;
}

/** Member that went quiet. */
export interface QuietMember {
  /** Id of the collector. */
  readonly id: string;
  /** Name of the collector. */
  readonly name: string;
  /** Number of messages after the upgrade. */
  readonly messages: number;
  /** Number of messages in the baseline. */
  readonly baseline: number;
  /** Number of messages after the rollback. Absent until they are counted. */
  readonly messagesAfterRollback?: number;
}

/** Check after a rollback whether the members in `quietest` send messages again. Absent unless the rollback is over. */
export interface RecoveryStatus {
  /**
   * State of the check. `Pending` means that the period has not ended. `Running` means that the messages are being
   * counted. `Unavailable` means that the service gave no reliable count, and the search is repeated. `Recovered` means
   * that all members in `quietest` send enough messages again. `StillQuiet` means that some of them do not.
   */
  readonly state: 'Pending' | 'Running' | 'Unavailable' | 'Recovered' | 'StillQuiet';
  /** Reason why the check is unavailable. */
  readonly message?: string;
  /** Number of members in `quietest` that send at least `minRatio` of their baseline again. */
  readonly recovered?: number;
  /** Period in which messages were received, before or after the upgrade. */
  readonly period: AnalysisPeriod;
}

/**
 * Maintenance window that is open or opens next. Absent if the policy has no windows, or if no further window opens.
 */
export interface NextWindow {
  /** Time at which the maintenance window opens or opened. */
  readonly startTime: string;
  /** Time at which the maintenance window closes. */
  readonly endTime: string;
  /**
   * Time zone in which the window is open, or opens first. Absent unless a window uses the time zones of collectors
   * (`timeZoneSource`).
   */
  readonly timeZone?: string;
}

/**
 * Numbers of collectors by state. Each matched collector has one state, so the numbers of all states add up to
 * `matched`.
 */
export interface CollectorCounts {
  /** Number of collectors that the policy's selector matches. */
  readonly matched: number;
  /** Number of collectors that run the target version. */
  readonly updated: number;
  /**
   * Number of collectors whose upgrade is running, or has ended with a result that the service's collector list does
   * not show yet. This number can exceed `strategy.maxInProgress`, because it includes ended upgrades and upgrades that
   * other tools and policies started.
   */
  readonly inProgress: number;
  /** Number of collectors that have yet to be upgraded. */
  readonly pending: number;
  /** Number of collectors whose upgrade failed, with all retries exhausted. */
  readonly failed: number;
  /** Number of collectors that are offline, so they cannot be upgraded now. */
  readonly offline: number;
  /** Number of collectors that run a newer version than the target, and keep it because `allowDowngrade` is false. */
  readonly newer: number;
  /**
   * Number of collectors that this policy does not upgrade, for example hosted collectors. The reasons are in
   * `skippedReasons`.
   */
  readonly skipped: number;
  /** Number of collectors that the selector matches, but that another policy owns and upgrades. */
  readonly foreign: number;
}

export interface VersionCount {
  /** Version of the collector software, as the service writes it. */
  readonly version: string;
  /** Number of collectors with this version. */
  readonly count: number;
}

/** Upgrade of one collector. */
export interface TaskSample {
  /** Id of the service's task for this upgrade. Absent while the id is unknown. */
  readonly id?: string;
  /** Name of the collector. */
  readonly collector: string;
  /** Id of the collector, in decimal digits. */
  readonly collectorId: string;
  /** Version of the collector before the upgrade. */
  readonly from?: string;
  /** Target version of the upgrade. */
  readonly to: string;
  /** State of the upgrade, in one word. */
  readonly state: string;
  /** Time at which the upgrade started. */
  readonly startTime: string;
  /** Time at which the upgrade ended. Absent while the upgrade is running. */
  readonly endTime?: string;
  /** Message of the service about the upgrade, usually the cause of a failure. */
  readonly message?: string;
}

/** Collectors that failed or were skipped for the same reason. */
export interface ReasonCount {
  /** Reason why these collectors failed or were skipped, in the words of the service or of logfleet. */
  readonly reason: string;
  /** Number of collectors with this reason. */
  readonly count: number;
  /** Names of some of these collectors. */
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
   * Result of the rollout. `Completed` means that all upgrades were done. `Superseded` means that another target
   * replaced it first. `Stopped` means that it had stopped because of failures or an inconclusive stage. `RolledBack`
   * means that its collectors returned to their former versions after failures. `Aborted` means that a person had
   * aborted it.
   */
  readonly outcome: 'Completed' | 'Superseded' | 'Stopped' | 'RolledBack' | 'Aborted';
  /** Number of collectors at the target when the rollout ended. */
  readonly updated: number;
  /** Number of collectors whose upgrade had failed when the rollout ended. */
  readonly failed: number;
  /**
   * Actions of people in this rollout, oldest first. If there are too many, the list has the newest actions, the last
   * retry, and the last approval of each stage.
   */
  readonly actions?: readonly PersonAction[];
}

/** One aspect of the policy's state. */
export interface Condition {
  /** Type of the condition, as in `Ready`. */
  readonly type: string;
  /** Whether the condition holds. */
  readonly status: 'True' | 'False' | 'Unknown';
  /** Generation of the spec that this condition describes. */
  readonly observedGeneration?: number;
  /** Time of the last change of `status`. */
  readonly lastTransitionTime: string;
  /** Reason of the condition's current status, as one CamelCase word for programs. */
  readonly reason: string;
  /** Explanation of the condition's current status for people: what is wrong, and what to do. */
  readonly message: string;
}

/** Generated from crds/search-export-schedule.yaml by `make generate`. Edit that file instead. */
import type { SearchExportSpec } from './search-export.ts';

/** Settings that determine when the schedule creates runs (SearchExports), and what each run exports. */
export interface SearchExportScheduleSpec {
  /**
   * Cron schedule with five fields (minute, hour, day of month, month, day of week). `0 * * * *` is hourly. Each run
   * (SearchExport) exports the period between two consecutive times of the cron schedule. A change to the cron schedule
   * affects only periods for which no run exists yet.
   */
  readonly schedule: string;
  /**
   * IANA time zone for the cron schedule, for local times in `startTime` and `endTime`, and for date functions in the
   * query, for example `Europe/Berlin`. Defaults to `UTC`. When clocks go back, one run of an hourly schedule covers
   * two hours.
   */
  readonly timeZone: string;
  /**
   * Start of the first run's time range, in whole seconds, for example `2026-10-01T00:00:00`. If the start is in the
   * past, the schedule also exports the period since then. Defaults to the most recent time of the cron schedule before
   * the SearchExportSchedule was first created. This default is stored at the destination, and remains the same even if
   * the SearchExportSchedule is deleted and created again.
   */
  readonly startTime?: string;
  /**
   * End of the last run's time range (exclusive), in whole seconds, for example `2027-01-01T00:00:00`. `endTime` must
   * be later than the start of the schedule. Without `endTime`, the schedule has no end.
   */
  readonly endTime?: string;
  /**
   * If true, the schedule creates no further runs. Existing runs (SearchExports) continue. Setting the annotation
   * `logfleet.dev/paused` to `true` has the same effect. Defaults to false.
   */
  readonly paused: boolean;
  /**
   * Maximum number of runs (SearchExports) that are active at the same time, from 1 to 10 (default 2). A run is active
   * until it completes or fails. If `maxActive` runs are active and all of them are stalled, one additional run is
   * created for the newest time range. If `execution.mode` is `Job`, each run needs at least one share of the log
   * service's request limits, so fewer runs are active if no share is free.
   */
  readonly maxActive: number;
  /**
   * Order in which runs (SearchExports) for past time ranges are created. Either `NewestFirst` (default) or
   * `OldestFirst`. The order matters after downtime or a pause, or if `startTime` is in the past. The run with the
   * newest time range is always created first.
   */
  readonly backfillOrder: 'NewestFirst' | 'OldestFirst';
  /**
   * Number of completed runs whose SearchExports are kept, from 0 to 100 (default 3). The SearchExports of other
   * completed runs are deleted, the oldest first. The SearchExports of runs that are not proven complete are deleted
   * last. The files of all runs are kept.
   */
  readonly successfulRunsHistoryLimit: number;
  /**
   * Number of failed runs whose SearchExports are kept, from 0 to 100 (default 3). SearchExports of earlier failed runs
   * are deleted, but their time ranges stay in `status.gaps`.
   */
  readonly failedRunsHistoryLimit: number;
  /**
   * Template of the SearchExports that the schedule creates. A change to the template applies only to SearchExports
   * that are created later.
   */
  readonly template: RunTemplate;
}

/**
 * Template of the SearchExports that the schedule creates. A change to the template applies only to SearchExports that
 * are created later.
 */
export interface RunTemplate {
  /** Labels and annotations of the SearchExports that the schedule creates. */
  readonly metadata?: RunMetadata;
  /**
   * Spec of the SearchExports that the schedule creates, with all fields of a SearchExport except `timeRange`, `paused`
   * and `ttlSecondsAfterFinished`. The field `destination` cannot be changed.
   */
  readonly spec: RunSpec;
}

/** Labels and annotations of the SearchExports that the schedule creates. */
export interface RunMetadata {
  /** Labels of the SearchExports that the schedule creates. */
  readonly labels?: {
    readonly [k: string]: string;
  };
  /** Annotations of the SearchExports that the schedule creates. */
  readonly annotations?: {
    readonly [k: string]: string;
  };
}

/**
 * Spec of the SearchExports that the schedule creates, with all fields of a SearchExport except `timeRange`, `paused`
 * and `ttlSecondsAfterFinished`. The field `destination` cannot be changed.
 */
export type RunSpec = Omit<SearchExportSpec, 'timeRange' | 'ttlSecondsAfterFinished' | 'paused'>;

/**
 * Observed state of the schedule, written only by logfleet. If the status is lost, logfleet restores the exported time
 * ranges from the records at the destination.
 */
export interface SearchExportScheduleStatus {
  /**
   * Value of the schedule's `metadata.generation` that this status describes. If it is lower than the current
   * `metadata.generation`, logfleet has not yet processed the latest change to the spec.
   */
  readonly observedGeneration?: number;
  /**
   * Last value of the annotation `logfleet.dev/requestedAt` that logfleet has processed. A longer value is truncated to
   * 256 characters. If the annotation gets a new value, for example from `logfleet retry`, logfleet repeats failed and
   * stalled runs, and rewrites lost schedule records.
   */
  readonly lastHandledReconcileAt?: string;
  /**
   * Time at which the current outage of the destination began. Absent if the destination works. If the outage lasts ten
   * minutes, the condition `Outage` becomes `True`.
   */
  readonly outageStartTime?: string;
  /**
   * Hash of the state that the `Ready` condition showed before the current interruption. An interruption is a pause, an
   * outage, or a return from `ExportedIncomplete` to `Backfilling`. If the schedule returns to the same state after the
   * interruption, logfleet does not repeat the notification. Absent if there is no interruption.
   */
  readonly interruptedState?: string;
  /**
   * Operators (installations of logfleet) that manage this resource. Only the operator with the earliest `since` acts;
   * the others wait. Having more than one operator is a configuration error, which the condition `OtherOperator`
   * reports.
   */
  readonly operators?: readonly OperatorEntry[];
  /** Short texts about the schedule for the columns of `kubectl get`. */
  readonly summary?: ScheduleSummary;
  /** Start of the first run's time range, in UTC. */
  readonly startTime?: string;
  /**
   * Time up to which everything since `status.startTime` has been exported without a gap. Equal to `status.startTime`
   * until the first run is complete.
   */
  readonly coveredUntil?: string;
  /**
   * End of the time range of the latest run that is due. This end is a time of the cron schedule, and is never later
   * than `spec.endTime`.
   */
  readonly lastScheduleTime?: string;
  /**
   * Time at which the next run becomes due: the end of the run's time range plus `template.spec.settleDelay`. Absent if
   * the schedule has ended.
   */
  readonly nextScheduleTime?: string;
  /** Number of runs (SearchExports) that are due but have not been created yet. `1000` means 1000 or more. */
  readonly pendingRuns?: number;
  /** Time ranges of complete runs, in ascending order. Adjacent ranges are merged. Only the newest ranges are shown. */
  readonly covered?: readonly CoveredRange[];
  /**
   * Gaps: the time ranges of failed runs, in ascending order. A gap is not exported until a person runs `logfleet
   * retry`. While there are 100 gaps, the schedule creates no further runs.
   */
  readonly gaps?: readonly ScheduleGap[];
  /**
   * Runs (SearchExports) of the schedule, newest first. If a schedule has more than 50 runs, complete and failed runs
   * are left out first, then runs that are not proven complete.
   */
  readonly runs?: readonly RunStatus[];
  /**
   * Conditions of the schedule. `Ready`, `Reconciling` and `Stalled` follow the kstatus convention, which Flux and Argo
   * CD read. `Outage` and `OtherOperator` report problems. The message of `Ready` explains the current state.
   */
  readonly conditions?: readonly Condition[];
}

/** One operator (installation of logfleet) that manages this resource. */
export interface OperatorEntry {
  /** Name of the operator. This is the namespace of its leader election Lease. */
  readonly name: string;
  /**
   * Time at which the operator started to manage this resource. If several operators manage it, the operator with the
   * earliest time acts, and the others wait. If two operators manage the same resources, each operator writes its
   * earliest time into all these resources, so that one operator acts on all of them.
   */
  readonly since: string;
  /**
   * Timestamp with which the operators of a resource check whether the other operators are still running. For this
   * check, an operator writes a newer time into the field `seen` of its own entry. Every other operator responds by
   * copying this time into its own entry. If an operator does not respond within a minute, its entry is removed.
   */
  readonly seen: string;
}

/** Short texts about the schedule for the columns of `kubectl get`. */
export interface ScheduleSummary {
  /** State of the schedule in one word: the reason of its `Ready` condition, for example `UpToDate`. */
  readonly state?: string;
  /**
   * Number of active runs (SearchExports). An active run has neither completed nor failed. Runs whose time range is
   * already exported do not count.
   */
  readonly active?: number;
  /** Number of failed runs (SearchExports) whose time range has still not been exported. */
  readonly failedRuns?: number;
  /**
   * Time up to which everything has been exported, equal to `status.coveredUntil`. Absent before the schedule starts,
   * and after everything up to `spec.endTime` has been exported.
   */
  readonly lagSince?: string;
}

/** One exported time range. */
export interface CoveredRange {
  /** Start of the exported time range (inclusive). */
  readonly from: string;
  /** End of the exported time range (exclusive). */
  readonly to: string;
}

/** Time range of one failed run. */
export interface ScheduleGap {
  /** Start of the failed run's time range (inclusive). */
  readonly from: string;
  /** End of the failed run's time range (exclusive). */
  readonly to: string;
  /** Name of the failed run's SearchExport, which may already have been deleted. */
  readonly run: string;
  /** Reason for the failure, as one CamelCase word, taken from the failed run's `Ready` condition. */
  readonly reason: string;
}

/** State and result of one run (SearchExport) of the schedule. */
export interface RunStatus {
  /** Name of the run's SearchExport, which may already have been deleted. */
  readonly name: string;
  /** Start of the run's time range (inclusive). */
  readonly from: string;
  /** End of the run's time range (exclusive). */
  readonly to: string;
  /** State of the run: `Active`, `Stalled` (waits for a person), `Complete` or `Failed`. */
  readonly state: 'Active' | 'Stalled' | 'Complete' | 'Failed';
  /** Number of rows in the files of the run. Absent until the run is complete. */
  readonly rows?: number;
  /** Total size of the run's files after compression, in bytes. Absent until the run is complete. */
  readonly bytes?: number;
  /** URL of the run's export manifest, the file that lists all its data files. Absent until the run is complete. */
  readonly manifest?: string;
  /**
   * True if the run kept an interval (part of its time range) that is not proven complete (`incompletePolicy` is
   * `Keep`). Absent otherwise.
   */
  readonly incomplete?: boolean;
}

/** One condition of the schedule. */
export interface Condition {
  /** Type of the condition, for example `Ready`. */
  readonly type: string;
  /** Status of the condition: `True`, `False` or `Unknown`. */
  readonly status: 'True' | 'False' | 'Unknown';
  /** Generation (`metadata.generation`) of the schedule to which this condition applies. */
  readonly observedGeneration?: number;
  /** Time at which the status of this condition last changed. */
  readonly lastTransitionTime: string;
  /** Reason for the status of this condition, as one machine-readable CamelCase word. */
  readonly reason: string;
  /** Human-readable explanation of the condition's status, including any problem and how to solve it. */
  readonly message: string;
}

/** Generated from crds/search-export-schedule.yaml by `make generate`. Edit that file instead. */
import type { SearchExportSpec } from './search-export.ts';

/** Times of the runs, and the export that each run makes. */
export interface SearchExportScheduleSpec {
  /**
   * Cron schedule of five fields: minute, hour, day of month, month, day of week. A run exports the time from one time
   * of the schedule to the next. If the schedule changes, all time that is not exported yet is divided at the new
   * times.
   */
  readonly schedule: string;
  /**
   * IANA time zone of the schedule, of local times in `startTime` and `endTime`, and of functions on days and hours in
   * the query. A time that occurs twice when clocks change counts once, so one run of an hourly schedule exports two
   * hours on that day.
   */
  readonly timeZone: string;
  /**
   * First time to export, as in `2026-10-01T00:00:00`, in whole seconds. A time in the past makes runs for all time
   * since then. Defaults to the latest time of the schedule before the SearchExportSchedule was first seen. Recreating
   * the SearchExportSchedule does not change this default, since it is stored at the destination.
   */
  readonly startTime?: string;
  /** Last time to export, excluded, in the form of `startTime`. Without it, the schedule has no end. */
  readonly endTime?: string;
  /**
   * If true, no run is created. Active runs continue. The annotation `logfleet.dev/paused` with the value `true` has
   * the same effect without a change of the spec.
   */
  readonly paused: boolean;
  /**
   * Maximum number of active runs, which have neither completed nor failed. The run that became due last is created
   * before older ones.
   */
  readonly maxActive: number;
  /**
   * Order of runs for older time, which is not exported because of a `startTime` in the past, a pause or a downtime.
   */
  readonly backfillOrder: 'NewestFirst' | 'OldestFirst';
  /** Number of completed runs whose SearchExports are kept. The files of all runs are kept. */
  readonly successfulRunsHistoryLimit: number;
  /** Number of failed runs whose SearchExports are kept. */
  readonly failedRunsHistoryLimit: number;
  /** SearchExport that each run creates. A change applies to runs that do not exist yet. */
  readonly template: RunTemplate;
}

/** SearchExport that each run creates. A change applies to runs that do not exist yet. */
export interface RunTemplate {
  /** Labels and annotations of each run. */
  readonly metadata?: RunMetadata;
  /**
   * Spec of each run: that of a SearchExport without `timeRange`, `paused` and `ttlSecondsAfterFinished`. The
   * destination cannot be changed.
   */
  readonly spec: RunSpec;
}

/** Labels and annotations of each run. */
export interface RunMetadata {
  /** Labels of each run. */
  readonly labels?: {
    readonly [k: string]: string;
  };
  /** Annotations of each run. */
  readonly annotations?: {
    readonly [k: string]: string;
  };
}

/**
 * Spec of each run: that of a SearchExport without `timeRange`, `paused` and `ttlSecondsAfterFinished`. The destination
 * cannot be changed.
 */
export type RunSpec = Omit<SearchExportSpec, 'timeRange' | 'ttlSecondsAfterFinished' | 'paused'>;

/**
 * Observed state of the schedule. Only logfleet writes it. If it is lost, logfleet restores the covered time from the
 * records of complete runs at the destination.
 */
export interface SearchExportScheduleStatus {
  /** Generation of the spec that this status describes. */
  readonly observedGeneration?: number;
  /** Last processed value of the annotation `logfleet.dev/requestedAt`, up to 256 characters. */
  readonly lastHandledReconcileAt?: string;
  /**
   * Start of the current outage, in which the destination does not work. Absent otherwise. After ten minutes the
   * condition `Outage` becomes `True`.
   */
  readonly outageStartTime?: string;
  /**
   * Operators that manage this resource, each named by the namespace of its lease. Only the first operator acts, the
   * others wait. More than one operator is a configuration error, which the condition `OtherOperator` reports.
   */
  readonly operators?: readonly OperatorEntry[];
  /** Short values that the columns of `kubectl get` show. */
  readonly summary?: ScheduleSummary;
  /** First time to export, in UTC. */
  readonly startTime?: string;
  /**
   * Time up to which everything since `startTime` is exported. Equal to `startTime` until the first run is complete.
   */
  readonly coveredUntil?: string;
  /** Latest time of the schedule that has passed. */
  readonly lastScheduleTime?: string;
  /** Next time of the schedule, at which another run becomes due. Absent if the schedule has ended. */
  readonly nextScheduleTime?: string;
  /** Number of runs that are due and do not exist yet. `1000` means at least 1000. */
  readonly pendingRuns?: number;
  /**
   * Time ranges that are exported completely, merged and in ascending order. If there are more than the maximum, the
   * newest are shown.
   */
  readonly covered?: readonly CoveredRange[];
  /**
   * Time ranges whose runs failed, in ascending order. They are exported again only on request, by `logfleet retry`.
   * While there are 100 gaps, no further run is created.
   */
  readonly gaps?: readonly ScheduleGap[];
  /** Latest runs, newest first. */
  readonly runs?: readonly RunStatus[];
  /**
   * Conditions of the schedule. `Ready`, `Reconciling`, `Stalled`, `Outage` and `OtherOperator` have the form that
   * kstatus, Flux and Argo CD read. The message of `Ready` explains why nothing is happening.
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

/** Short values that the columns of `kubectl get` show. */
export interface ScheduleSummary {
  /** State of the schedule in one word. Usually the reason of the most important condition. */
  readonly state?: string;
  /** Number of runs that exist and have not ended. */
  readonly active?: number;
  /** Number of runs that failed and have not been exported since. */
  readonly failedRuns?: number;
}

/** Time range that is exported completely. */
export interface CoveredRange {
  /** Start of the range, included. */
  readonly from: string;
  /** End of the range, excluded. */
  readonly to: string;
}

/** Time range of a run that failed. */
export interface ScheduleGap {
  /** Start of the range, included. */
  readonly from: string;
  /** End of the range, excluded. */
  readonly to: string;
  /** Name of the run's SearchExport, which may be deleted. */
  readonly run: string;
  /** Reason in the condition of the run, as one CamelCase word. */
  readonly reason: string;
}

/** State and result of one run. */
export interface RunStatus {
  /** Name of the run's SearchExport. */
  readonly name: string;
  /** Start of the run's time range, included. */
  readonly from: string;
  /** End of the run's time range, excluded. */
  readonly to: string;
  /** State of the run. */
  readonly state: 'Active' | 'Stalled' | 'Complete' | 'Failed';
  /** Number of rows in the files of a complete run. */
  readonly rows?: number;
  /** Total size of the files of a complete run in bytes, after compression. */
  readonly bytes?: number;
  /** Address of the manifest of a complete run. */
  readonly manifest?: string;
}

/** One aspect of the schedule's state. */
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

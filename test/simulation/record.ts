/** Record of a simulated run. Times are in ms since the start, unless their names indicate otherwise. */

import type { JournalEntry } from '../../simulator/requests/journal.ts';
import type { SimulatorState } from '../../simulator/snapshot.ts';
import type { CollectorVersionPolicyStatus } from '../../src/api/generated/collector-version-policy.ts';
import type { CollectorVersionPolicy } from '../../src/api/kinds.ts';
import type { RequestRecord } from '../support/memory-api-server.ts';
import type { HistoryPlan } from './plan.ts';

/** Interval in ms at which collector versions are recorded. */
export const versionLookMs = 5_000;

/** Upgrade request from a process, with the time at which the process sent it. */
export interface PostRecord {
  readonly atMs: number;
  readonly process: string;
  readonly collectorId: string;
  readonly toVersion: string;
  /** Policies as known to the process when it sent the request. */
  readonly known: readonly CollectorVersionPolicy[];
  /** Process that held the lease when the request was sent, or undefined without leader election. */
  readonly leaseHolder: string | undefined;
  /** Version that the collector was running when the request was sent, even if the operator did not know it. */
  readonly truth: { readonly version: string; readonly sinceMs: number } | undefined;
  /** Whether the operator had already sent a request for the same collector and version. */
  readonly repeats: boolean;
  readonly wallMs: number;
  /** Whether the process knew that the kill switch was set. */
  readonly knownAllPaused: boolean;
  /** Upgrade attempt in the ledger just before the request was sent, or undefined if there was none. */
  readonly intent: Intent | undefined;
  /** Response that the process received, or undefined if it received none. */
  response: { readonly status: number; readonly atMs: number; readonly taskId: string | undefined } | undefined;
}

export interface Intent {
  readonly policy: string;
  readonly rolloutId: string;
  readonly target: string;
  /** Whether this request is a retry of an earlier one whose outcome is unknown (U3). */
  readonly probe: boolean;
  /** Whether the attempt belongs to a rollback. */
  readonly isRollback: boolean;
  /** Reason why the rollout stopped, or undefined while it is not stopped. */
  readonly stop: 'failures' | 'rollback' | 'abort' | 'inconclusive' | undefined;
}

export interface RecordedTally {
  readonly finished: number;
  readonly failed: number;
}

/** A started stage in a ledger header. */
export interface RecordedStage {
  readonly name: string;
  /** Ids of the stage's collectors, or undefined for a last stage that takes all remaining collectors. */
  readonly members: readonly string[] | undefined;
  readonly maxFailures?: number | string;
  readonly maxInProgress?: number | string;
  readonly soakMs: number;
  readonly tally: RecordedTally;
  /** Wall-clock time in ms at which the stage started. A retry starts the stage again. */
  readonly startedAtMs: number;
  /**
   * Wall-clock time in ms at which the last collector reached the target, or undefined until all collectors have
   * reached it.
   */
  readonly updatedAtMs?: number;
  readonly endedAtMs?: number;
}

/** A write that changed a ledger header. */
export interface LedgerWrite {
  readonly atMs: number;
  readonly policy: string;
  readonly rolloutId: string;
  readonly target: string;
  readonly stop: Intent['stop'];
  /** Number of selected collectors, which is the base for percentages in stages. */
  readonly selected: number | undefined;
  readonly tally: RecordedTally & { readonly number: number };
  /** Number of upgrade attempts in the ledger, including attempts from earlier rollouts. */
  readonly attempts: number;
  /** Wall-clock time in ms at which the rollout last completed. */
  readonly completedAtMs: number | undefined;
  /** Started stages of the rollout, in order. */
  readonly stages: readonly RecordedStage[];
}

export interface TaskNews {
  readonly atMs: number;
  readonly process: string;
  readonly taskId: string;
  readonly outcome: 'succeeded' | 'failed';
}

/** Event that makes a collector go offline after its upgrade. */
export interface Death {
  readonly name: string;
  readonly atMs: number;
  readonly untilMs: number;
}

export interface SettingsChange {
  readonly atMs: number;
  readonly paused: boolean;
}

/** A collector's row in a list that a process received. */
export interface Sighting {
  readonly sentAtMs: number;
  readonly process: string;
  readonly version: string;
}

export interface StatusRecord {
  readonly atMs: number;
  readonly policy: string;
  readonly uid: string;
  readonly status: CollectorVersionPolicyStatus;
}

export interface PolicyChange {
  readonly atMs: number;
  readonly policy: CollectorVersionPolicy;
  readonly deleted: boolean;
}

/** Event, such as a kill, after which the operator may not know how its requests in flight ended. */
export interface Disturbance {
  readonly atMs: number;
  readonly what: string;
}

export interface HistoryRecord {
  readonly plan: HistoryPlan;
  readonly journal: readonly JournalEntry[];
  readonly startMs: number;
  readonly api: readonly RequestRecord[];
  readonly posts: readonly PostRecord[];
  /** Collector rows received by processes, by collector id, oldest first. */
  readonly sightings: ReadonlyMap<string, readonly Sighting[]>;
  readonly statuses: readonly StatusRecord[];
  readonly ledgerWrites: readonly LedgerWrite[];
  readonly policyChanges: readonly PolicyChange[];
  readonly settingsChanges: readonly SettingsChange[];
  readonly taskNews: readonly TaskNews[];
  readonly deaths: readonly Death[];
  readonly disturbances: readonly Disturbance[];
  /** Versions that each collector ran, each with the time at which the collector started to run it, by collector id. */
  readonly versions: ReadonlyMap<string, readonly { readonly version: string; readonly sinceMs: number }[]>;
  /** Ledger objects at the end of the run, by policy uid. */
  readonly ledgers: ReadonlyMap<string, ReadonlyMap<string, string>>;
  readonly largestShardBytes: number;
  readonly state: SimulatorState;
  readonly policies: readonly CollectorVersionPolicy[];
  /**
   * Time in ms at which every policy was complete or its status said why it was not. Undefined if this state was never
   * reached.
   */
  readonly convergedAtMs: number | undefined;
  readonly missing: readonly string[];
  /** Descriptions of decisions that were not pure: they changed their input, or their results were not plain data. */
  readonly impurities: readonly string[];
  readonly endMs: number;
}

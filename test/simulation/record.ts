/**
 * Record of a simulated run: what the service, the API server and the connections saw. Times are in ms since the start, unless
 * their name says otherwise.
 */

import type { JournalEntry } from '../../simulator/journal.ts';
import type { SimulatorState } from '../../simulator/snapshot.ts';
import type { CollectorVersionPolicyStatus } from '../../src/api/generated/collector-version-policy.ts';
import type { CollectorVersionPolicy } from '../../src/api/kinds.ts';
import type { RequestRecord } from '../support/memory-api-server.ts';
import type { HistoryPlan } from './plan.ts';

/**
 * Interval in ms at which the versions of collectors are recorded. A recorded version may be older by this interval.
 */
export const versionLookMs = 5_000;

/** A POST that creates an upgrade task, at the time when it left its process. */
export interface PostRecord {
  readonly atMs: number;
  readonly process: string;
  readonly collectorId: string;
  readonly toVersion: string;
  /** All policies as the process knew them when it sent the POST. */
  readonly known: readonly CollectorVersionPolicy[];
  /** Holder of the lease in the API server when the POST left; undefined without leader election. */
  readonly leaseHolder: string | undefined;
  /** Version that the collector really ran when the POST was sent, and the time since which it had run this version. */
  readonly truth: { readonly version: string; readonly sinceMs: number } | undefined;
  /** True if an earlier POST named the same collector and version. */
  readonly repeats: boolean;
  readonly wallMs: number;
  /** True if the process knew that the kill switch was set. */
  readonly knownAllPaused: boolean;
  /** Upgrade attempt that the operator wrote to a ledger before the POST; undefined if there is none. */
  readonly intent: Intent | undefined;
  /** Answer to the POST that the process received; undefined when no answer arrived. */
  answer: { readonly status: number; readonly atMs: number; readonly taskId: string | undefined } | undefined;
}

/** The upgrade attempt of a POST and its rollout, as they were stored in the ledger. */
export interface Intent {
  readonly policy: string;
  readonly rolloutId: string;
  readonly target: string;
  /** True if the POST repeats an earlier POST of the attempt, whose outcome is unknown (U3). */
  readonly probe: boolean;
  /** True if the attempt returns a collector to its former version in a rollback. */
  readonly back: boolean;
  /** Kind of stop of the rollout; undefined while the rollout continues. */
  readonly stop: 'failures' | 'rollback' | 'abort' | 'inconclusive' | undefined;
}

/** Number of ended upgrade attempts, and the failures among them. */
export interface Tally {
  readonly finished: number;
  readonly failed: number;
}

/** A started stage in the header of a ledger. */
export interface RecordedStage {
  readonly name: string;
  /** Ids of the collectors in the stage; undefined for a last stage that takes all remaining collectors. */
  readonly members: readonly string[] | undefined;
  readonly maxFailures?: number | string;
  readonly maxInProgress?: number | string;
  readonly soakMs: number;
  readonly tally: Tally;
  /** Wall time in ms at which the stage started, which identifies the stage if a retry starts it again. */
  readonly startedAtMs: number;
  /** Wall time in ms at which the last collector of the stage reached the target; undefined until then. */
  readonly updatedAtMs?: number;
  /** Wall time in ms at which the stage ended; undefined until then. */
  readonly endedAtMs?: number;
}

/** A write that changed the header of a ledger. */
export interface LedgerWrite {
  readonly atMs: number;
  readonly policy: string;
  readonly rolloutId: string;
  readonly target: string;
  readonly stop: Intent['stop'];
  /** Number of collectors that the policy selects. Percentages in stages refer to this number. */
  readonly selected: number | undefined;
  readonly tally: Tally & { readonly number: number };
  /** Number of upgrade attempts in the ledger so far, including those of former rollouts. */
  readonly attempts: number;
  /** Wall time in ms of the rollout's last completion. */
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

/** Collector that goes offline after its upgrade, as planned for the simulated run. */
export interface Death {
  readonly name: string;
  readonly atMs: number;
  /** Time at which the collector came back online; Infinity if it never did. */
  readonly untilMs: number;
}

export interface SettingsChange {
  readonly atMs: number;
  readonly paused: boolean;
}

/** A row of a collector in a page of the collector list that a process received. */
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

/** An event after which the outcomes of requests in flight may be unknown, such as a kill of their process. */
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
  /** Rows of the collector list that processes received, by collector id, in order of receipt. */
  readonly sightings: ReadonlyMap<string, readonly Sighting[]>;
  readonly statuses: readonly StatusRecord[];
  readonly ledgerWrites: readonly LedgerWrite[];
  readonly policyChanges: readonly PolicyChange[];
  readonly settingsChanges: readonly SettingsChange[];
  readonly taskNews: readonly TaskNews[];
  readonly deaths: readonly Death[];
  readonly disturbances: readonly Disturbance[];
  /** Versions that each collector ran, with the time at which it began to run each version, by collector id. */
  readonly versions: ReadonlyMap<string, readonly { readonly version: string; readonly sinceMs: number }[]>;
  /** Ledger objects at the end, by the uid of the policy. */
  readonly ledgers: ReadonlyMap<string, ReadonlyMap<string, string>>;
  readonly largestShardBytes: number;
  readonly state: SimulatorState;
  readonly policies: readonly CollectorVersionPolicy[];
  /** Time at which all policies were complete or reported why they were not. Undefined if this never happened. */
  readonly convergedAtMs: number | undefined;
  readonly missing: readonly string[];
  readonly endMs: number;
}

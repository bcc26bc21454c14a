/**
 * Record of a history, as the service, the API server and the connections of each process saw it. All times are ms since the start
 * unless their name says otherwise.
 */

import type { JournalEntry } from '../../simulator/journal.ts';
import type { SimulatorState } from '../../simulator/snapshot.ts';
import type { CollectorVersionPolicyStatus } from '../../src/api/generated/collector-version-policy.ts';
import type { CollectorVersionPolicy } from '../../src/api/kinds.ts';
import type { RequestRecord } from '../support/memory-api-server.ts';
import type { HistoryPlan } from './plan.ts';

/** Interval in ms at which versions are recorded. A recorded version may be this much older. */
export const versionLookMs = 5_000;

/** A POST that creates a task, at the time when it left its process. */
export interface PostRecord {
  readonly atMs: number;
  readonly process: string;
  readonly collectorId: string;
  readonly toVersion: string;
  /** Policies as the process knew them at that moment. */
  readonly known: readonly CollectorVersionPolicy[];
  /** Holder of the lease in the API server; undefined without leader election. */
  readonly leaseHolder: string | undefined;
  /** Version that the collector ran then, and since when. */
  readonly truth: { readonly version: string; readonly sinceMs: number } | undefined;
  /** Whether an earlier POST named the same collector and version. */
  readonly repeats: boolean;
  /** Wall clock of the process in ms. */
  readonly wallMs: number;
  /** Whether the process knew that the kill switch is set. */
  readonly knownAllPaused: boolean;
  /** The attempt as it was written ahead; undefined when no ledger in the API server has it. */
  readonly intent: Intent | undefined;
  /** Answer that the process received; undefined when none arrived. */
  answer: { readonly status: number; readonly atMs: number; readonly taskId: string | undefined } | undefined;
}

/** The attempt behind a POST and its rollout, as the ledger had them when the POST left. */
export interface Intent {
  /** Uid of the policy. */
  readonly policy: string;
  readonly rolloutId: string;
  readonly target: string;
  /** Whether the attempt is posted again after an unknown outcome (U3). */
  readonly probe: boolean;
  /** Whether this is a rollback attempt. */
  readonly back: boolean;
  /** Kind of the stop; undefined while the rollout continues. */
  readonly stop: 'failures' | 'rollback' | 'abort' | 'inconclusive' | undefined;
}

/** Ended attempts, and failures among them. */
export interface Tally {
  readonly finished: number;
  readonly failed: number;
}

/** A started stage in the header of a ledger. */
export interface RecordedStage {
  readonly name: string;
  /** Ids of the frozen members; undefined for a last stage that has no list. */
  readonly members: readonly string[] | undefined;
  readonly maxFailures?: number | string;
  readonly maxInProgress?: number | string;
  readonly soakMs: number;
  readonly tally: Tally;
  /** Wall ms. It identifies the stage when a retry starts a stage of this name again. */
  readonly startedAtMs: number;
  /** Wall ms at which the last member reached the target; undefined until then. */
  readonly updatedAtMs?: number;
  /** Wall ms; undefined until the stage has ended. */
  readonly endedAtMs?: number;
}

/** A header of a ledger that differs from the header before. */
export interface LedgerWrite {
  readonly atMs: number;
  /** Uid of the policy. */
  readonly policy: string;
  readonly rolloutId: string;
  readonly target: string;
  readonly stop: Intent['stop'];
  /** Number of collectors that percentages refer to. */
  readonly selected: number | undefined;
  readonly tally: Tally & { readonly number: number };
  /** Number of attempts so far, also of former rollouts. */
  readonly attempts: number;
  /** Wall ms of the last completion. */
  readonly completedAtMs: number | undefined;
  /** Started stages, in order. */
  readonly stages: readonly RecordedStage[];
}

/** A final task status that a process received. */
export interface TaskNews {
  readonly atMs: number;
  readonly process: string;
  readonly taskId: string;
  readonly outcome: 'succeeded' | 'failed';
}

/** A collector that went offline after an upgrade, as planned. */
export interface Death {
  readonly name: string;
  readonly atMs: number;
  /** Time of its return; Infinity for never. */
  readonly untilMs: number;
}

/** A change of the kill switch by a person. */
export interface SettingsChange {
  readonly atMs: number;
  readonly paused: boolean;
}

/** A row of a collector in a page of a list that a process received. */
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

/** A change of a policy by a person. */
export interface PolicyChange {
  readonly atMs: number;
  readonly policy: CollectorVersionPolicy;
  readonly deleted: boolean;
}

/** An event that can leave outcomes of requests in flight unknown. */
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
  /** Rows by collector id, in the order of their arrival. */
  readonly sightings: ReadonlyMap<string, readonly Sighting[]>;
  readonly statuses: readonly StatusRecord[];
  readonly ledgerWrites: readonly LedgerWrite[];
  readonly policyChanges: readonly PolicyChange[];
  readonly settingsChanges: readonly SettingsChange[];
  readonly taskNews: readonly TaskNews[];
  readonly deaths: readonly Death[];
  readonly disturbances: readonly Disturbance[];
  /** Versions that each collector has run, and since when, by collector id. */
  readonly versions: ReadonlyMap<string, readonly { readonly version: string; readonly sinceMs: number }[]>;
  /** Shards of the final ledgers, by the policy's uid. */
  readonly ledgers: ReadonlyMap<string, ReadonlyMap<string, string>>;
  readonly largestShardBytes: number;
  readonly state: SimulatorState;
  readonly policies: readonly CollectorVersionPolicy[];
  /** Time of convergence; undefined when the history never converged. */
  readonly convergedAtMs: number | undefined;
  readonly missing: readonly string[];
  readonly endMs: number;
}

/**
 * Observations of a history from outside the operator: by the service, the API server, and the connections of each process. All
 * times are ms since the start.
 */

import type { JournalEntry } from '../../simulator/journal.ts';
import type { SimulatorState } from '../../simulator/snapshot.ts';
import type { CollectorVersionPolicyStatus } from '../../src/api/generated/collector-version-policy.ts';
import type { CollectorVersionPolicy } from '../../src/api/kinds.ts';
import type { RequestRecord } from '../support/memory-api-server.ts';
import type { HistoryPlan } from './plan.ts';

/** How often versions are looked at: what is written down may have been so for this long. */
export const versionLookMs = 5_000;

/** A request to create a task when it left a process. */
export interface PostRecord {
  readonly atMs: number;
  readonly process: string;
  readonly collectorId: string;
  readonly toVersion: string;
  /** Policies as the process knew them at that moment. */
  readonly known: readonly CollectorVersionPolicy[];
  /** Holder of the lease in the API server; undefined without leader election. */
  readonly leaseHolder: string | undefined;
  /** The version that ran then, and since when. */
  readonly truth: { readonly version: string; readonly sinceMs: number } | undefined;
  /** Whether this collector had been asked to go to the same version before. */
  readonly repeats: boolean;
  /** Wall ms by the clock of the process. */
  readonly wallMs: number;
  /** Whether the process knew that everything is paused. */
  readonly knownAllPaused: boolean;
  /** Under what it was written ahead; undefined where no ledger in the API server has it. */
  readonly intent: Intent | undefined;
  /** What the process heard, and the task's id where there is one; undefined where it heard nothing. */
  answer: { readonly status: number; readonly atMs: number; readonly taskId: string | undefined } | undefined;
}

/** The attempt and its rollout in the ledger when its request left. */
export interface Intent {
  /** The policy's uid. */
  readonly policy: string;
  readonly rolloutId: string;
  readonly target: string;
  /** The stage that the collector was started in. */
  readonly stage: string | undefined;
  /** Whether it was posted before, as far as its process knows, and nobody knows with what effect (U3). */
  readonly probe: boolean;
  /** Whether it is a rollback attempt. */
  readonly back: boolean;
  /** Why the rollout was stopped. */
  readonly stop: 'failures' | 'rollback' | 'abort' | undefined;
  /** Whether all was at the target when it was written ahead. */
  readonly isComplete: boolean;
  /** How often all had been there by then. */
  readonly completions: number;
  /** The stage that the collector came late to. */
  readonly lateTo: string | undefined;
  /** Wall ms at which the stages ended that had. */
  readonly stagesEndedMs: ReadonlyMap<string, number>;
}

/** A task status that a process received. */
export interface TaskNews {
  readonly atMs: number;
  readonly process: string;
  readonly taskId: string;
  readonly outcome: 'succeeded' | 'failed';
}

/** A collector that fell silent after an upgrade, as its plan says. */
export interface Death {
  readonly name: string;
  readonly atMs: number;
  /** Infinity where it never talks again. */
  readonly untilMs: number;
}

/** A change of the operator's settings by a person. */
export interface SettingsChange {
  readonly atMs: number;
  readonly paused: boolean;
}

/** One collector in one page of a list that a process has heard. */
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

/** An event that may leave the outcome of requests in flight unknown. */
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
  /** By collector id, in order. */
  readonly sightings: ReadonlyMap<string, readonly Sighting[]>;
  readonly statuses: readonly StatusRecord[];
  readonly policyChanges: readonly PolicyChange[];
  readonly settingsChanges: readonly SettingsChange[];
  readonly taskNews: readonly TaskNews[];
  readonly deaths: readonly Death[];
  readonly disturbances: readonly Disturbance[];
  /** By collector id: each version that it has run, and since when. */
  readonly versions: ReadonlyMap<string, readonly { readonly version: string; readonly sinceMs: number }[]>;
  /** Ledgers as they stood at the end, by the policy's uid: the text of their heads. */
  readonly ledgers: ReadonlyMap<string, string>;
  readonly largestShardBytes: number;
  readonly state: SimulatorState;
  readonly policies: readonly CollectorVersionPolicy[];
  /** When all was as it should be, or undefined when it never came to that, and then what was missing. */
  readonly convergedAtMs: number | undefined;
  readonly missing: readonly string[];
  readonly endMs: number;
}

/**
 * The in-memory ledger of a policy. The ledger contains data that the service does not report, such as the number of
 * upgrade attempts and the former version of each collector (U1).
 *
 * Invariant: a collector has at most one entry, and an entry has at most one open attempt.
 */
import type { QuietMember } from '../../api/generated/collector-version-policy.ts';
import { SparseMap } from '../../base/sparse.ts';

/**
 * States of an open upgrade attempt.
 * - `intended`: the attempt has been stored, and its request has not been answered yet. After a restart, it is unknown
 *   whether the former process sent the request.
 * - `accepted`: the service answered 202 with a task id.
 * - `unknown`: the service may have received the request, but the response was lost or unclear (U3).
 * - `adopted`: the service reported a running upgrade without its task id (U3, U10).
 */
export type AttemptState = (typeof attemptStates)[number];
/**
 * All states of an upgrade attempt. The stored ledger contains indexes into this list, so its order must not change.
 */
export const attemptStates = ['intended', 'accepted', 'unknown', 'adopted'] as const;

export interface Attempt {
  /** Number of the attempt. The attempts of a ledger are numbered from 1. */
  readonly number: number;
  readonly toVersion: string;
  readonly state: AttemptState;
  readonly taskId: string | undefined;
  /**
   * True if logfleet started the upgrade. An upgrade started by another tool counts neither as an attempt nor as a
   * failure (U10).
   */
  readonly ours: boolean;
  /**
   * True if the upgrade request has been repeated, or is about to be repeated, because the outcome of the first request
   * was unknown (U3).
   */
  readonly probe: boolean;
  /** Start of the upgrade as wall-clock time in ms, for display. */
  readonly startedAtMs: number;
  /** Monotonic time in ms from which the age of the attempt counts (U5). This time is not stored in the ledger. */
  readonly sinceMs: number;
  /** True if listings requested within a grace period after `sinceMs` may be outdated. Not stored in the ledger. */
  readonly needsGrace: boolean;
  /**
   * Monotonic time in ms at which the request was last repeated. A grace period must pass before the next repetition.
   * Not stored in the ledger.
   */
  readonly probedAtMs?: number;
  /**
   * Value of `lastSeenAlive` in ms when the service reported that the collector is offline. The upgrade request is
   * repeated only after the service reports a newer value (U11). Not stored in the ledger.
   */
  readonly silentSinceMs?: number;
}

/**
 * Ways in which an upgrade attempt can end.
 * - `updated`: the collector runs the target version (U7).
 * - `failed`: the upgrade task reported a failure.
 * - `timedOut`: the attempt did not end within the time limit (U5).
 * - `refused`: the service refused to upgrade this collector (U11).
 * - `offline`: the service refused the upgrade because the collector was offline.
 * - `invalid`: the service did not know the collector, or denied access (U11).
 * - `unobservable`: the collector list cannot show whether the collector runs the target version (U7).
 * - `died`: the collector was upgraded, but went offline before its stage ended.
 * - `left`: the collector was upgraded, but no longer ran the target version when its stage ended.
 */
export type EndingKind = (typeof endingKinds)[number];
/**
 * All ways in which an upgrade attempt can end. The stored ledger contains indexes into this list, so its order must
 * not change.
 */
export const endingKinds = [
  'updated',
  'failed',
  'timedOut',
  'refused',
  'offline',
  'invalid',
  'unobservable',
  'died',
  'left',
] as const;

export interface Ending {
  readonly kind: EndingKind;
  readonly toVersion: string;
  readonly taskId: string | undefined;
  /** Message about the end of the upgrade, from the service or from logfleet; may be empty. */
  readonly message: string;
  readonly startedAtMs: number;
  /** Wall-clock time in ms at which the upgrade ended, for display. */
  readonly endedAtMs: number;
  /**
   * Monotonic time in ms at which the attempt ended. After a restart, the time at which the ledger was read. Not stored
   * in the ledger.
   */
  readonly sinceMs: number;
  /**
   * Value of `lastSeenAlive` in ms when the upgrade was refused because the collector was offline. The next attempt
   * waits until the service reports a newer value (U11).
   */
  readonly lastSeenAliveMs: number | undefined;
}

/**
 * Identifies the counts that include an ended attempt: the counts of the rollout and, if `stage` is defined, the counts
 * of that stage.
 */
export interface Counted {
  /**
   * Value of `tally.number` when the attempt was counted. `tally.number` increases when the counts are reset, for
   * example by a retry.
   */
  readonly tally: number;
  /** Index of the stage in which the attempt was counted. Undefined if it was not counted in a stage. */
  readonly stage: number | undefined;
}

export interface Entry {
  readonly collectorId: string;
  /** Version of the collector before its first attempt in this rollout (U14); undefined if unknown. */
  readonly before: string | undefined;
  /**
   * Number of this collector's upgrade attempts in this rollout that the service has accepted, or may have accepted.
   */
  readonly used: number;
  /** Number of times that the collector left the target version (U8). */
  readonly drifts: number;
  /** Set if the last ended attempt has already been counted in the rollout, and must not be counted again. */
  readonly counted?: Counted;
  /**
   * Set if the collector went offline after its upgrade, and a user has since retried the rollout. This failure must
   * not be counted again.
   */
  readonly failureCleared?: true;
  /**
   * True if the entry is about the rollback of the collector to its former version. In that case, `used` counts only
   * attempts of the rollback.
   */
  readonly isRollback: boolean;
  readonly open: Attempt | undefined;
  readonly ending: Ending | undefined;
}

export interface RolloutHistory {
  readonly id: string;
  readonly targetVersion: string;
  readonly startedAtMs: number;
  readonly endedAtMs: number;
  readonly outcome: 'Completed' | 'Superseded' | 'Stopped' | 'RolledBack' | 'Aborted';
  readonly updated: number;
  readonly failed: number;
  /** Actions of users in the rollout; absent in ledgers that earlier versions of logfleet wrote. */
  readonly actions?: readonly ActionRecord[];
  /** Reason why the rollout was stopped; absent if the rollout was not stopped. */
  readonly stop?: RolloutStop;
}

/**
 * A started stage of this rollout. Later changes to the spec do not affect a started stage. All times are wall-clock
 * times in ms.
 */
export interface StageRecord {
  readonly name: string;
  readonly startedAtMs: number;
  readonly maxFailures?: Share;
  readonly maxInProgress?: Share;
  readonly soakMs: number;
  /** Number of collectors that the stage has chosen; absent for a last stage that takes all remaining collectors. */
  readonly members?: number;
  /**
   * Hash of the selector that the policy had when the stage started; absent in ledgers that earlier versions of
   * logfleet wrote (U12).
   */
  readonly selection?: string;
  readonly tally: Tally;
  /** Set when an upgrade in the stage has succeeded. A stage in which no upgrade has succeeded does not soak. */
  readonly upgraded?: true;
  /**
   * Start of the soak as wall-clock time in ms: the time at which the last collector of the stage reached the target
   * version.
   */
  readonly updatedAtMs?: number;
  readonly endedAtMs?: number;
  readonly analysis?: StageAnalysis;
}

/** Message analysis of a stage, with the settings that applied when the stage started. */
export interface StageAnalysis {
  /** Minimum number of messages after the upgrade, as a percentage of the number of messages before the upgrade. */
  readonly minRatio: number;
  readonly durationMs: number;
  readonly baseline: 'BeforeUpgrade' | 'DayBefore' | 'WeekBefore';
  /** Minimum number of messages before the upgrade. A collector with fewer messages is not judged. */
  readonly minMessages: number;
  /** Query that selects the messages to count; absent if all messages are counted. */
  readonly scope?: string;
  /** Latest end of the baseline period as wall-clock time in ms. Default: the start of the stage. */
  readonly baselineBeforeMs?: number;
  /**
   * Start of the period after the upgrades in which messages are counted, as wall-clock time in ms. Set when a user
   * retries the rollout. If absent, the period is the last `durationMs` of the soak.
   */
  readonly fromMs?: number;
  readonly outcome?: AnalysisOutcome;
  /** Result of the message count after a rollback. */
  readonly recovery?: RecoveryCheck;
}

/** Result of the check after a rollback. The check counts the messages of the collectors in `quietest` again. */
export interface RecoveryCheck {
  /** Wall-clock time in ms from which messages are counted after the rollback. */
  readonly fromMs: number;
  /**
   * Number of collectors in `quietest` that are sending enough messages again. Absent until the messages have been
   * counted.
   */
  readonly recovered?: number;
}

export interface AnalysisOutcome {
  /**
   * Number of collectors whose messages were compared. `quiet` is the number of these collectors that have sent too few
   * messages since their upgrade.
   */
  readonly judged: number;
  readonly quiet: number;
  /**
   * Number of collectors that were not compared, because they sent too few messages before the upgrade or were upgraded
   * too late.
   */
  readonly unjudged: number;
  /** Number of bytes that the searches scanned. 0 if the service does not report this number. */
  readonly scannedBytes: number;
  /** At most 10 collectors: those that lost the largest fraction of their messages. */
  readonly quietest: readonly QuietMember[];
}

/** A number of collectors or attempts, or a percentage such as `10%`. */
export type Share = number | string;

/** Number of upgrades that have ended in a stage or rollout, and the number of these upgrades that failed. */
export interface Tally {
  readonly finished: number;
  readonly failed: number;
}

export const emptyTally: Tally = { finished: 0, failed: 0 };

/** Numbers of failed and ended upgrades at the time when a stage or the rollout exceeded its `maxFailures`. */
export interface Exceeded extends Tally {
  readonly tolerated: Share;
  readonly stage?: string;
}

/** Reason why a rollout was stopped. */
export interface RolloutStop {
  /**
   * Why the rollout was stopped.
   * - `failures`: more upgrades failed than `maxFailures` tolerates.
   * - `rollback`: more upgrades failed than `maxFailures` tolerates, so the upgraded collectors return to their former
   *   versions.
   * - `inconclusive`: no collector of the stage reached the target version, or the message analysis could judge no
   *   collector.
   * - `abort`: a user stopped the rollout.
   */
  readonly kind: 'failures' | 'rollback' | 'inconclusive' | 'abort';
  /** Sentence that explains the stop, with the counts at the time of the stop. */
  readonly message: string;
  /**
   * Numbers of failed and ended upgrades. Present only if the rollout was stopped because more upgrades failed than
   * `maxFailures` allows.
   */
  readonly exceeded?: Exceeded;
  /** Name of the stage in which the rollout was stopped. */
  readonly stage?: string;
  readonly atMs: number;
}

/** A user's action in a rollout, such as an approval or a retry. */
export interface ActionRecord {
  readonly action: 'Pause' | 'Resume' | 'Approve' | 'Retry' | 'Abort';
  readonly atMs: number;
  readonly stage?: string;
  /** Field manager that set the annotation, if the API server reports it. */
  readonly by?: string;
  /**
   * Value of the annotation with which the user requested the action. The same value is not applied again (R9). Absent
   * for a pause, and in ledgers that earlier versions of logfleet wrote.
   */
  readonly value?: string;
}

export interface LedgerHeader {
  /**
   * Identity of the service to which the ledger belongs. The task ids in the ledger are valid only for this service
   * (U1).
   */
  readonly service: string;
  readonly rolloutId: string;
  /** Number of this rollout. The rollouts of a policy are numbered from 1. */
  readonly rolloutNumber: number;
  readonly target: string;
  readonly startedAtMs: number;
  /** Wall-clock time in ms at which the rollout was first completed; undefined until then. */
  readonly completedAtMs: number | undefined;
  /**
   * Numbers of ended and failed upgrades in the rollout. Both numbers are set to 0 by a retry, and when the rollout is
   * completed.
   */
  readonly tally: Tally & { readonly number: number };
  /** Number of the newest upgrade attempt. The attempts in this ledger are numbered from 1. */
  readonly attempts: number;
  /** Hash of the selector that the policy had when the upgrades were started (U12). */
  readonly selection?: string;
  /** Started stages of the rollout, in order. Only the last of these stages can still be running. */
  readonly stages?: readonly StageRecord[];
  /** Number of selected collectors when the first stage started. Stage sizes given in percent refer to this number. */
  readonly selected?: number;
  /** Names of the stages that a user has approved. */
  readonly approved?: readonly string[];
  /**
   * Set if an earlier rollout to this version was not completed, or if the policy's ledger was lost. Every stage of
   * this rollout must then soak (R6).
   */
  readonly unproven?: true;
  /**
   * Start of the first incomplete rollout to this version, as wall-clock time in ms. Set only together with `unproven`.
   */
  readonly unprovenSinceMs?: number;
  /** Reason why the rollout was stopped; absent while the rollout continues. */
  readonly stop?: RolloutStop;
  /**
   * At most 20 user actions, oldest first. If there are more, old ones are removed, but never the newest approvals, the
   * newest retry, or the newest pause or resume.
   */
  readonly actions?: readonly ActionRecord[];
  /**
   * Annotation values that are never applied again, in addition to the values in `actions`. `liftedAtMs` is the
   * wall-clock time in ms of the newest stop that a user has ended with a retry, or with the approval of an
   * inconclusive stage.
   */
  readonly handled?: {
    readonly retry?: string;
    readonly abort?: string;
    /**
     * Value of the approval annotation that is ignored because the approval is no longer valid, for example after a
     * rollback.
     */
    readonly approve?: string;
    readonly liftedAtMs?: number;
  };
  /** The last ten ended rollouts of the policy, newest first. */
  readonly history: readonly RolloutHistory[];
}

export function hasFailed(ending: Ending | undefined): boolean {
  return ending?.kind === 'failed' || ending?.kind === 'timedOut' || ending?.kind === 'died';
}

/** Returns the header with the numbers of ended and failed upgrades set to zero, for the rollout and for each stage. */
export function withNewTally(header: LedgerHeader): LedgerHeader {
  const { tally, stages } = header;
  const emptied = stages?.map((stage) => ({ ...stage, tally: emptyTally }));
  return { ...header, tally: { ...emptyTally, number: tally.number + 1 }, ...(emptied && { stages: emptied }) };
}

/** Returns the version that the collector must reach: the target version, or the former version during a rollback. */
export function wantedVersion({ before, isRollback }: Entry, target: string): string {
  return isRollback ? (before ?? target) : target;
}

/** New ledger entry for a collector. An undefined `entry` deletes the existing entry. */
export type EntryChange = { readonly collectorId: string; readonly entry: Entry | undefined };

export interface LedgerChange {
  readonly header: LedgerHeader;
  readonly changes: readonly EntryChange[];
  /** Collectors of the stage that this decision starts. Empty if the decision starts no stage. */
  readonly started: readonly string[];
}

/** Read-only view of the ledger, as used by decisions. */
export type LedgerView = Pick<Ledger, 'header' | 'size' | 'entry' | 'entries' | 'open'>;

export class Ledger {
  #header: LedgerHeader;
  readonly #entries = new SparseMap<string, Entry>();
  readonly #open = new SparseMap<string, Entry>();
  /** For each collector of a started stage, the index of this stage, by collector id. */
  readonly #members = new SparseMap<string, number>();

  /** @param members collectors of the started stages, each with the index of its stage */
  constructor(header: LedgerHeader, entries: Iterable<Entry> = [], members: Iterable<readonly [string, number]> = []) {
    this.#header = header;
    for (const [id, stage] of members) this.#members.set(id, stage);
    for (const entry of entries) this.#put(entry);
  }

  get header(): LedgerHeader {
    return this.#header;
  }

  get size(): number {
    return this.#entries.size;
  }

  entry(collectorId: string): Entry | undefined {
    return this.#entries.get(collectorId);
  }

  entries(): IterableIterator<Entry> {
    return this.#entries.values();
  }

  open(): ReadonlyMap<string, Entry> {
    return this.#open;
  }

  /** Returns the collectors that the started stages have chosen. */
  listed(): IterableIterator<string> {
    return this.#members.keys();
  }

  /**
   * Returns the index of the started stage that has chosen the collector, or undefined if no started stage has chosen
   * it.
   */
  listedIn(collectorId: string): number | undefined {
    return this.#members.get(collectorId);
  }

  /**
   * Replaces the header.
   * @param started collectors of the last stage in `header` if this stage starts now; otherwise empty
   */
  setHeader(header: LedgerHeader, started: readonly string[] = []): void {
    this.#header = header;
    const { length } = header.stages ?? [];
    for (const [id, stage] of this.#members) if (stage >= length) this.#members.delete(id);
    for (const id of started) this.#members.set(id, length - 1);
  }

  apply(changes: Iterable<EntryChange>): void {
    for (const { collectorId, entry } of changes) {
      if (entry) {
        this.#put(entry);
      } else {
        this.#entries.delete(collectorId);
        this.#open.delete(collectorId);
      }
    }
  }

  /** Begins a new rollout in this ledger. Of the former rollout, only entries with an open attempt are kept. */
  begin(header: LedgerHeader): void {
    this.setHeader(header);
    this.#members.clear();
    const before = [...this.#entries.values()];
    this.#entries.clear();
    for (const { collectorId, open, isRollback, before: former } of before) {
      if (!open) continue;
      // A running upgrade to the new target counts as an attempt of the new rollout. Otherwise, a rollback would leave
      // out the collector.
      const isOwn = !isRollback && open.ours && open.toVersion === header.target;
      const blank = { drifts: 0, isRollback: false, ending: undefined };
      this.#put({ collectorId, open, ...blank, used: Number(isOwn), before: isRollback ? undefined : former });
    }
  }

  #put(entry: Entry): void {
    this.#entries.set(entry.collectorId, entry);
    if (entry.open) this.#open.set(entry.collectorId, entry);
    else this.#open.delete(entry.collectorId);
  }
}

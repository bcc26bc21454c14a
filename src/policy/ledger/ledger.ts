/**
 * The ledger of a policy in memory. For each collector that this rollout has tried to upgrade, the ledger contains facts that
 * the service does not report: the last attempt, the number of attempts, and the version before the rollout (U1).
 *
 * `ledger-codec.ts` converts the ledger to text and back, and `ledger-file.ts` stores it.
 *
 * Invariant: a collector has at most one entry, and an entry has at most one open attempt.
 */
import type { QuietMember } from '../../api/generated/collector-version-policy.ts';
import { SparseMap } from '../../base/sparse.ts';

/**
 * States of an open upgrade attempt.
 * - `intended`: stored in the ledger before its POST. The POST will be sent, or was sent by a former process.
 * - `accepted`: the service answered 202 with a task id.
 * - `unknown`: the POST was sent, and no conclusive answer came (U3).
 * - `adopted`: the service reported a running upgrade without its task id (U3, U10).
 */
export type AttemptState = (typeof attemptStates)[number];
/** All states in a fixed order. The stored ledger contains the index of a state in this list instead of its name. */
export const attemptStates = ['intended', 'accepted', 'unknown', 'adopted'] as const;

export interface Attempt {
  /** Number of the upgrade attempt in this ledger, from 1. */
  readonly number: number;
  readonly toVersion: string;
  readonly state: AttemptState;
  readonly taskId: string | undefined;
  /**
   * Whether logfleet started the upgrade (U10). An upgrade that logfleet did not start counts neither as an attempt nor as a
   * failure of this policy.
   */
  readonly ours: boolean;
  /** Whether the POST of the attempt was repeated after an unknown outcome (U3). */
  readonly probe: boolean;
  /** Start of the upgrade attempt as wall time in ms, for display. */
  readonly startedAtMs: number;
  /**
   * Monotonic time in ms from which the age of the attempt counts: when the service accepted it, when logfleet first noticed
   * it, or when its outcome became unknown (U5). Not stored, so another process counts from the time when it reads the
   * ledger.
   */
  readonly sinceMs: number;
  /**
   * True if the result of the attempt is shown only by listings that are requested a grace period (`graceMs`) or more after
   * `sinceMs`. Not stored; true after another process took over.
   */
  readonly needsGrace: boolean;
  /**
   * Monotonic time in ms at which a repeated POST (probe) had no effect or got no answer. The next probe waits for a grace
   * period (`graceMs`). Not stored.
   */
  readonly probedAtMs?: number;
  /**
   * `lastSeenAlive` of the collector in ms when the service refused a repeated POST (probe), because the collector is offline.
   * The next probe waits for a newer value (U11). Not stored.
   */
  readonly silentSinceMs?: number;
}

/**
 * Ways in which an upgrade attempt ends.
 * - `updated`: a listing or a task status proves that the collector reached the target (U7).
 * - `failed`: the task's status reports a failure.
 * - `timedOut`: the attempt did not end within the time limit (U5).
 * - `refused`: the service does not upgrade this collector, and nothing was tried (U11).
 * - `offline`: the service refused the upgrade because the collector is not running.
 * - `invalid`: the service does not know the collector, or denies access (U11).
 * - `unobservable`: no listing can show the version of the collector (U7).
 * - `died`: the collector reached the target and was no longer alive before its stage ended.
 * - `left`: the collector reached the target and was seen at another version before its stage ended.
 */
export type EndingKind = (typeof endingKinds)[number];
/** All kinds in a fixed order. The stored ledger contains the index of a kind in this list instead of its name. */
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
  /** Message about the end of the attempt, from the service or from logfleet; empty when there is none. */
  readonly message: string;
  readonly startedAtMs: number;
  /** End of the upgrade attempt as wall time in ms, for display. */
  readonly endedAtMs: number;
  /** Monotonic time in ms at which the attempt ended or this process read the ledger. Not stored. */
  readonly sinceMs: number;
  /**
   * `lastSeenAlive` of an `offline` collector in ms when the service refused its upgrade. The next attempt waits for a newer
   * value (U11).
   */
  readonly lastSeenAliveMs: number | undefined;
}

/**
 * Counts that include an ended upgrade attempt: those of the rollout and, if the attempt belongs to a stage, those of the
 * stage.
 */
export interface Counted {
  /** Serial number of the rollout's count (`tally.number`) that includes the attempt. Each retry starts a new count. */
  readonly tally: number;
  /** Index of the stage that also counted the attempt; undefined when the attempt belongs to no stage. */
  readonly stage: number | undefined;
}

export interface Entry {
  readonly collectorId: string;
  /** Version of the collector before its first attempt in this rollout (U14); undefined when no listing showed it. */
  readonly before: string | undefined;
  /** Number of this policy's attempts for the collector in this rollout that the service may have accepted. */
  readonly used: number;
  /** Number of times that the collector left the target version in this rollout (U8). */
  readonly drifts: number;
  /**
   * Counts that already include the collector's last ended attempt, so that it is not counted twice; absent when there are
   * none.
   */
  readonly counted?: Counted;
  /** Set by a person's retry if the collector had gone offline after its upgrade. That failure is then not counted again. */
  readonly forgiven?: true;
  /** Whether a rollback returns the collector to its former version. If so, `used` counts rollback attempts. */
  readonly back: boolean;
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
  /** Actions of people in the rollout; absent in ledgers that an earlier version of logfleet wrote. */
  readonly actions?: readonly ActionRecord[];
  /** Reason why the rollout was stopped; absent if the rollout was not stopped. */
  readonly stop?: RolloutStop;
}

/**
 * A started stage of this rollout. Its limits and its number of collectors stay the same even if the spec is edited later. All
 * times are wall times in ms.
 */
export interface StageRecord {
  readonly name: string;
  readonly startedAtMs: number;
  readonly maxFailures?: Share;
  readonly maxInProgress?: Share;
  readonly soakMs: number;
  /** Number of collectors that the stage chose; absent for a last stage that takes all collectors of no other stage. */
  readonly members?: number;
  readonly tally: Tally;
  /** Set once an upgrade of this rollout has succeeded in the stage. A stage without a successful upgrade does not soak. */
  readonly upgraded?: true;
  /**
   * Start of the soak: the wall time in ms at which the last collector of the stage reached the target version. Set only once.
   */
  readonly updatedAtMs?: number;
  readonly endedAtMs?: number;
  readonly analysis?: StageAnalysis;
}

/** Message analysis of a stage, with its settings at the start of the stage. */
export interface StageAnalysis {
  /** Minimum number of messages after the upgrade, in percent of the number in the baseline. */
  readonly minRatio: number;
  readonly durationMs: number;
  readonly baseline: 'BeforeUpgrade' | 'DayBefore' | 'WeekBefore';
  /**
   * Minimum number of messages of a collector before the upgrade. A collector with fewer messages is not judged by the analysis.
   */
  readonly minMessages: number;
  /** Query for the messages that are counted; absent when all messages are counted. */
  readonly scope?: string;
  /**
   * Wall time in ms by which the baseline must end, because collectors of the stage may have run the target version since
   * then. If this time is absent, the baseline must end by the start of the stage.
   */
  readonly baselineBeforeMs?: number;
  /**
   * Start of the period in which messages after the upgrade are counted, as wall time in ms. Set by a person's retry. If this
   * time is absent, the period is the last part of the soak.
   */
  readonly fromMs?: number;
  readonly outcome?: AnalysisOutcome;
  /** Count of messages after a rollback, which shows whether collectors that stopped sending logs send them again. */
  readonly recovery?: RecoveryCheck;
}

/** Check after a rollback whether the collectors that had lost the most messages (`quietest`) send logs again. */
export interface RecoveryCheck {
  /** Start of the period in which messages are counted after the rollback, as wall time in ms. */
  readonly fromMs: number;
  /** Number of collectors in `quietest` that send enough messages again; absent until the messages are counted. */
  readonly recovered?: number;
}

export interface AnalysisOutcome {
  /** Number of collectors that were judged by their messages. `quiet` of them send too few messages since the upgrade. */
  readonly judged: number;
  readonly quiet: number;
  /** Number of collectors that were not judged: they sent too few messages before the upgrade, or were upgraded too late. */
  readonly unjudged: number;
  /** Bytes that the searches of the analysis scanned, as far as the service reports bytes. */
  readonly scannedBytes: number;
  /** The collectors that lost the largest part of their messages, at most 10. */
  readonly quietest: readonly QuietMember[];
}

/** A number (of collectors or attempts), or a percentage such as `10%`. */
export type Share = number | string;

/** Number of ended upgrade attempts of a stage or of a rollout, and the number of failures among them. */
export interface Tally {
  readonly finished: number;
  readonly failed: number;
}

export const emptyTally: Tally = { finished: 0, failed: 0 };

/** Failures of a stage or rollout that exceed the tolerance, and the number of ended attempts that they are compared with. */
export interface Exceeded extends Tally {
  readonly tolerated: Share;
  readonly stage?: string;
}

/** Reason why a rollout was stopped before all its collectors were upgraded. */
export interface RolloutStop {
  /**
   * Kind of the stop.
   * - `failures`: more upgrades failed than the failure policy tolerates.
   * - `rollback`: more upgrades failed than tolerated, and upgraded collectors return to their former versions.
   * - `inconclusive`: no collector of the stage reached the target version, or none could be judged by its messages.
   * - `abort`: a person stopped the rollout.
   */
  readonly kind: 'failures' | 'rollback' | 'inconclusive' | 'abort';
  /** One sentence that explains the stop, with the numbers at the time of the stop. */
  readonly message: string;
  /**
   * Numbers of failures and attempts that stopped the rollout; absent if the stop has another cause, or was inherited from an
   * earlier rollout.
   */
  readonly exceeded?: Exceeded;
  /** Name of the stage in which the rollout was stopped. */
  readonly stage?: string;
  readonly atMs: number;
}

/** Record of a person's action in a rollout, such as an approval or a retry. */
export interface ActionRecord {
  readonly action: 'Pause' | 'Resume' | 'Approve' | 'Retry' | 'Abort';
  readonly atMs: number;
  readonly stage?: string;
  /** Field manager that set the annotation of a person's action, if the API server reports it. */
  readonly by?: string;
}

export interface LedgerHeader {
  /** Identity of the service that issued the task ids. Ids of another service are meaningless (U1). */
  readonly service: string;
  readonly rolloutId: string;
  /** Number of the rollout among all rollouts of this policy. */
  readonly rolloutNumber: number;
  readonly target: string;
  readonly startedAtMs: number;
  /** Wall time in ms at which the rollout was first completed; undefined until then. */
  readonly completedAtMs: number | undefined;
  /**
   * Numbers of ended and failed attempts of the whole rollout. They are reset to zero by a retry and by each completion of
   * the rollout.
   */
  readonly tally: Tally & { readonly number: number };
  /** Highest number of an upgrade attempt in this ledger so far. */
  readonly attempts: number;
  /** Digest of the selector for which the attempts were made (U12); absent until a decision was stored. */
  readonly selection?: string;
  /** Stages of the rollout that have started, in order. Only the last of them can still be active. */
  readonly stages?: readonly StageRecord[];
  /** Number of collectors that the policy selected when the first stage started. Stage sizes in percent refer to this number. */
  readonly selected?: number;
  /** Names of the stages that a person has approved. */
  readonly approved?: readonly string[];
  /**
   * Set if an earlier rollout to this version was not completed, or if its ledger was lost. In this case, every stage soaks,
   * even if its collectors already run the version (R6).
   */
  readonly unproven?: true;
  /** Start of the first rollout to this version that was not completed, as wall time in ms. Set only with `unproven`. */
  readonly unprovenSinceMs?: number;
  /** Reason why the rollout was stopped; absent while the rollout continues. */
  readonly stop?: RolloutStop;
  /**
   * Actions of people in this rollout, oldest first, at most 20. The newest retry, the newest approval of each stage, and the
   * newest pause or resume are always kept.
   */
  readonly actions?: readonly ActionRecord[];
  /** Last applied values of people's annotations, and the time of the newest stop after which a person retried the rollout. */
  readonly handled?: {
    readonly retry?: string;
    readonly abort?: string;
    /** Value of an approval annotation that is not applied again, because a later rollback made the approval void. */
    readonly approve?: string;
    readonly liftedAtMs?: number;
  };
  /** The last ten ended rollouts of the policy, newest first. */
  readonly history: readonly RolloutHistory[];
}

export function hasFailed(ending: Ending | undefined): boolean {
  return ending?.kind === 'failed' || ending?.kind === 'timedOut' || ending?.kind === 'died';
}

/** Returns the header with the attempt counts of the rollout and of each stage reset to zero. */
export function withNewTally(header: LedgerHeader): LedgerHeader {
  const { tally, stages } = header;
  const emptied = stages?.map((stage) => ({ ...stage, tally: emptyTally }));
  return { ...header, tally: { ...emptyTally, number: tally.number + 1 }, ...(emptied && { stages: emptied }) };
}

/** Version that attempts for this collector must reach: the rollout's target, or the former version during a rollback. */
export function wantedVersion({ before, back }: Entry, target: string): string {
  return back ? (before ?? target) : target;
}

/**
 * Whether attempts of this kind may start: upgrades only before the rollout is stopped, rollback attempts only during a
 * rollback.
 */
export function goesOn({ back }: Pick<Entry, 'back'>, { stop }: LedgerHeader): boolean {
  return back ? stop?.kind === 'rollback' : stop === undefined;
}

/** Change of one collector's ledger entry, returned by `decide`: the new entry, or undefined to delete the entry. */
export type EntryChange = { readonly collectorId: string; readonly entry: Entry | undefined };

/** Ledger changes that one decision makes. */
export interface LedgerChange {
  readonly header: LedgerHeader;
  readonly changes: readonly EntryChange[];
  /** Collectors of the stage that starts with the decision; empty when no stage starts. */
  readonly started: readonly string[];
}

export class Ledger {
  #header: LedgerHeader;
  readonly #entries = new SparseMap<string, Entry>();
  readonly #open = new SparseMap<string, Entry>();
  /** Index of the started stage that has chosen a collector, by collector id. */
  readonly #members: SparseMap<string, number>;

  /**
   * Creates the ledger of a policy in memory.
   * @param members collectors of the started stages, each with the index of its stage
   */
  constructor(header: LedgerHeader, entries: Iterable<Entry> = [], members: Iterable<readonly [string, number]> = []) {
    this.#header = header;
    this.#members = new SparseMap();
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

  /** Index of the started stage that has chosen the collector; undefined if no stage has. */
  listedIn(collectorId: string): number | undefined {
    return this.#members.get(collectorId);
  }

  /**
   * Replaces the header of the ledger.
   * @param started collectors of the stage that started with the new header
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

  /** Begins another rollout in this ledger. Open attempts stay until they end; all other entries are deleted. */
  begin(header: LedgerHeader): void {
    this.setHeader(header);
    this.#members.clear();
    const before = [...this.#entries.values()];
    this.#entries.clear();
    for (const { collectorId, open, back, before: former } of before) {
      if (!open) continue;
      // An open attempt counts for the new rollout if it leads to the new target version. A rollback then includes its
      // collector.
      const isOwn = !back && open.ours && open.toVersion === header.target;
      const blank = { drifts: 0, back: false, ending: undefined };
      this.#put({ collectorId, open, ...blank, used: Number(isOwn), before: back ? undefined : former });
    }
  }

  #put(entry: Entry): void {
    this.#entries.set(entry.collectorId, entry);
    if (entry.open) this.#open.set(entry.collectorId, entry);
    else this.#open.delete(entry.collectorId);
  }
}

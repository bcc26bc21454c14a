/**
 * The ledger of a policy in memory. It holds what cannot be asked from the service (U1): for each collector touched in this
 * rollout, the open attempt or the end of the last one, the attempts used, and the version before.
 *
 * `ledger-codec.ts` converts the ledger to shards and back, and `ledger-file.ts` stores it in the host.
 *
 * Invariant: a collector has at most one entry, and an entry at most one open attempt.
 */
import { SparseMap } from '../../base/sparse.ts';

/**
 * States of an open attempt.
 * - `intended`: written ahead. Its POST will be sent, or was sent by a former process.
 * - `accepted`: the service answered 202 with a task id.
 * - `unknown`: posted, and no conclusive answer came (U3).
 * - `adopted`: the service reported a running upgrade without its id (U3, U10).
 */
export type AttemptState = 'intended' | 'accepted' | 'unknown' | 'adopted';

export interface Attempt {
  /** Number of the attempt in this ledger, from 1. */
  readonly number: number;
  readonly toVersion: string;
  readonly state: AttemptState;
  readonly taskId: string | undefined;
  /** False for an upgrade that logfleet did not start (U10). It is neither a failure nor an attempt of this policy. */
  readonly ours: boolean;
  /** Whether the attempt was posted again after an unknown outcome (U3). */
  readonly probe: boolean;
  /** Wall time in ms, for display. */
  readonly startedAtMs: number;
  /**
   * Monotonic ms from which ages count: acceptance, adoption, unknown outcome or takeover (U5). Not stored; a process that takes
   * over counts from its takeover.
   */
  readonly sinceMs: number;
  /** Whether only listings sent G after `sinceMs` count as evidence. Not stored; true after a takeover. */
  readonly needsGrace: boolean;
  /**
   * Monotonic ms at which a probe came back without result or effect. The next probe and its listing wait G from here; ages still
   * count from `sinceMs`. Not stored.
   */
  readonly probedAtMs?: number;
  /** Newest sign of life when a probe was refused because the collector is offline (U11). Not stored. */
  readonly silentSinceMs?: number;
}

/**
 * Kinds of ended attempts.
 * - `updated`: positive evidence of the target (U7).
 * - `failed`: the task's status reports a failure.
 * - `timedOut`: no end within the limit of U5.
 * - `refused`: the service does not upgrade this collector, and nothing was tried (U11).
 * - `offline`: refused because the collector is not running.
 * - `invalid`: the service does not know the collector, or denies access (U11).
 * - `unobservable`: the version of the collector cannot be observed (U7).
 * - `died`: reached the target, and was no longer alive before its stage ended.
 * - `left`: reached the target, and was seen at another version before its stage ended.
 */
export type EndingKind =
  | 'updated'
  | 'failed'
  | 'timedOut'
  | 'refused'
  | 'offline'
  | 'invalid'
  | 'unobservable'
  | 'died'
  | 'left';

export interface Ending {
  readonly kind: EndingKind;
  readonly toVersion: string;
  readonly taskId: string | undefined;
  /** Message of the service or of logfleet; empty when there is none. */
  readonly message: string;
  readonly startedAtMs: number;
  /** Wall time in ms, for display. */
  readonly endedAtMs: number;
  /** Monotonic ms of the end or of the takeover. Not stored. */
  readonly sinceMs: number;
  /** For `offline`: newest sign of life at the refusal. Nothing is posted until there is a newer one (U11). */
  readonly lastSeenAliveMs: number | undefined;
}

/** Tally of a rollout that counts an attempt. */
export interface Counted {
  /** Number of the tally. */
  readonly tally: number;
  /** Index of the stage that counts the attempt as well; undefined when none does. */
  readonly stage: number | undefined;
}

export interface Entry {
  readonly collectorId: string;
  /** Version before the first attempt of this rollout (U14); undefined when it was not observed. */
  readonly before: string | undefined;
  /** Attempts of this policy in this rollout that the service may have accepted. */
  readonly used: number;
  /** Number of times the collector left the target in this rollout (U8). */
  readonly drifts: number;
  /** Tally that counts its last ended attempt; absent when none does. So no attempt counts twice. */
  readonly counted?: Counted;
  /** Set by a retry: its death, or that it left the target, is not counted as a failure again. */
  readonly forgiven?: true;
  /** Whether its attempts go to `before`, because the rollout is rolled back. `used` then counts these attempts. */
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
  /** Absent in ledgers of an earlier version. */
  readonly actions?: readonly ActionRecord[];
  /** Reason why the rollout started nothing more when it ended. */
  readonly stop?: RolloutStop;
}

/**
 * A stage of this rollout that has started. Its limits and its members are frozen: later edits of the spec do not change them.
 * Wall times in ms.
 */
export interface StageRecord {
  readonly name: string;
  readonly startedAtMs: number;
  readonly maxFailures?: Share;
  readonly maxInProgress?: Share;
  readonly soakMs: number;
  /** Number of chosen members. Absent for the last stage without list: it is every collector that no other stage has. */
  readonly members?: number;
  /** Numbers of the first of its member shards, and of the shard after its last. */
  readonly shards?: readonly [number, number];
  readonly tally: Tally;
  /** Set when an upgrade of this rollout succeeded in the stage. Only such a stage soaks. */
  readonly upgraded?: true;
  /** Time at which the last member reached the target. The soak counts from here and never starts again. */
  readonly updatedAtMs?: number;
  readonly endedAtMs?: number;
}

/** Number of collectors or attempts, or a percentage such as `10%`. */
export type Share = number | string;

/** Number of ended attempts of a stage or of the rollout, and failures among them. */
export interface Tally {
  readonly finished: number;
  readonly failed: number;
}

export const emptyTally: Tally = { finished: 0, failed: 0 };

/** Failures beyond a tolerance, and the attempts that they were counted in: of a stage, or of the rollout. */
export interface Exceeded extends Tally {
  readonly tolerated: Share;
  readonly stage?: string;
}

/** Reason why a rollout starts nothing more although collectors are left. */
export interface RolloutStop {
  /**
   * `failures`: stopped by the failure policy. `rollback`: stopped, and upgraded collectors are rolled back. `inconclusive`: no
   * member of the stage reached the target. `abort`: stopped by a person.
   */
  readonly kind: 'failures' | 'rollback' | 'inconclusive' | 'abort';
  /** The exceeded tolerance at the time of the stop, in one sentence. */
  readonly message: string;
  /** Figures of the message; absent when no count of this rollout caused the stop. */
  readonly exceeded?: Exceeded;
  /** Stage in which the rollout was stopped. */
  readonly stage?: string;
  readonly atMs: number;
}

/** Action of a person in a rollout. */
export interface ActionRecord {
  readonly action: 'Pause' | 'Resume' | 'Approve' | 'Retry' | 'Abort';
  readonly atMs: number;
  readonly stage?: string;
  /** Field manager, when the API server reports it. */
  readonly by?: string;
}

export interface LedgerHeader {
  /** Identity of the service that issued the ids. Ids of another service are void (U1). */
  readonly service: string;
  readonly rolloutId: string;
  /** Number of the rollout of this policy. */
  readonly rolloutNumber: number;
  readonly target: string;
  readonly startedAtMs: number;
  /** Wall time in ms when everything that counts first ran the target; undefined until then. */
  readonly completedAtMs: number | undefined;
  /** Tally of the whole rollout. A retry and each completion begin the next tally, also in the stages. */
  readonly tally: Tally & { readonly number: number };
  /** Highest number of an attempt so far. */
  readonly attempts: number;
  /** Name of the selection that the attempts were made for (U12); absent until a decision was written. */
  readonly selection?: string;
  /** Stages that have started, in order. Only the last one can still be under way. */
  readonly stages?: readonly StageRecord[];
  /** Number of selected collectors when the first stage started. Sizes in percent refer to it. */
  readonly selected?: number;
  /** Number of member shards that this rollout has written. No number is used twice. */
  readonly memberShards?: number;
  /** Stages that a person has approved. */
  readonly approved?: readonly string[];
  /**
   * Set when an earlier rollout to this version did not complete, or when its ledger was lost. Every stage then soaks, also a stage whose
   * members are at the target already (R6).
   */
  readonly unproven?: true;
  /** Absent while the rollout continues. */
  readonly stop?: RolloutStop;
  /**
   * Actions of people in this rollout, oldest first. At most 20; always includes the newest retry and the newest approval of each
   * stage.
   */
  readonly actions?: readonly ActionRecord[];
  /** Annotation values that were applied last, and the start of the newest stop that was lifted by annotation. */
  readonly handled?: {
    readonly retry?: string;
    readonly abort?: string;
    /** An approval that is void because everything was rolled back after it. */
    readonly approve?: string;
    readonly liftedAtMs?: number;
  };
  /** Whether the actions contain the present pause. */
  readonly pauseNoted?: boolean;
  /** The last ten ended rollouts, newest first. */
  readonly history: readonly RolloutHistory[];
}

export function hasFailed(ending: Ending | undefined): boolean {
  return ending?.kind === 'failed' || ending?.kind === 'timedOut' || ending?.kind === 'died';
}

/** Header with a new tally of the rollout and of each stage. */
export function withNewTally(header: LedgerHeader): LedgerHeader {
  const { tally, stages } = header;
  const emptied = stages?.map((stage) => ({ ...stage, tally: emptyTally }));
  return { ...header, tally: { ...emptyTally, number: tally.number + 1 }, ...(emptied && { stages: emptied }) };
}

/** Version that attempts for this member go to. */
export function wantedVersion({ before, back }: Entry, target: string): string {
  return back ? (before ?? target) : target;
}

/** Whether attempts of this direction are made: upgrades while the rollout is not stopped, rollbacks while it is rolled back. */
export function goesOn({ back }: Pick<Entry, 'back'>, { stop }: LedgerHeader): boolean {
  return back ? stop?.kind === 'rollback' : stop === undefined;
}

/** Change to the ledger that `decide` returns: the new entry, or undefined to forget the collector. */
export type EntryChange = { readonly collectorId: string; readonly entry: Entry | undefined };

/** All changes to the ledger by one decision. */
export interface LedgerChange {
  readonly header: LedgerHeader;
  readonly changes: readonly EntryChange[];
  /** Listed members of the stage that starts with the decision; empty when none does. */
  readonly started: readonly string[];
}

export class Ledger {
  #header: LedgerHeader;
  readonly #entries = new SparseMap<string, Entry>();
  readonly #open = new SparseMap<string, Entry>();
  /** Index of the stage of each listed member. */
  readonly #members: SparseMap<string, number>;

  /** @param members listed members of the started stages, with the index of their stage */
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

  /** Index of the started stage that lists the collector; undefined when none does. */
  listedIn(collectorId: string): number | undefined {
    return this.#members.get(collectorId);
  }

  /** @param started members of the stage that the new header has in addition */
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

  /** Begins another rollout. Open attempts stay until they end; everything else belonged to the former rollout. */
  begin(header: LedgerHeader): void {
    this.setHeader(header);
    this.#members.clear();
    const before = [...this.#entries.values()];
    this.#entries.clear();
    for (const { collectorId, open, back, before: former } of before) {
      if (!open) continue;
      // An open attempt towards the new target belongs to this rollout: it is judged and rolled back with it.
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

/**
 * The ledger of a policy in memory. It holds what cannot be asked from the service (U1): for each collector touched in this
 * rollout, the open attempt or the end of the last one, the attempts used, and the version before.
 *
 * `ledger-codec.ts` converts the ledger to shards and back, and `ledger-file.ts` stores it in the host.
 *
 * Invariant: a collector has at most one entry, and an entry at most one open attempt.
 */
import { SparseMap } from '../base/sparse.ts';

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

export interface Entry {
  readonly collectorId: string;
  /** Version before the first attempt of this rollout (U14); undefined when it was not observed. */
  readonly before: string | undefined;
  /** Attempts of this policy in this rollout that the service may have accepted. */
  readonly used: number;
  /** Number of times the collector left the target in this rollout (U8). */
  readonly drifts: number;
  /**
   * Failures in this rollout that the failure policy counts: failed attempts, and collectors that died or left the target during a
   * soak.
   */
  readonly failures: number;
  /** Stage in which the collector was started; undefined without stages, or for a late joiner. */
  readonly stage: string | undefined;
  /** Late start of the collector. Absent when its last start was while its stage, or the rollout without stages, was under way. */
  readonly late?: LateStart;
  /** Whether its attempts go to `before`, because the rollout is rolled back. `used` then counts these attempts. */
  readonly back: boolean;
  readonly open: Attempt | undefined;
  readonly ending: Ending | undefined;
}

/**
 * Stage of an entry whose start stage is not known any more. No stage has this name; the entry counts in the present stage of the
 * collector.
 */
export const unnamedStage = '';

/** Late start: the stage soaked or had ended, or the rollout was complete. Late joiners have their own tally (R5). */
export interface LateStart {
  /** Number of times the rollout had been complete by then. */
  readonly completions: number;
  /** Stage that the collector joined late; undefined when there is none. */
  readonly stage: string | undefined;
  /** Number of its failures before the late start. */
  readonly failures: number;
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

/** A stage of this rollout that has begun. Wall times in ms. */
export interface StageRecord {
  readonly name: string;
  readonly startedAtMs: number;
  /** Time since which all members that count run the target. The soak counts from here. */
  readonly updatedAtMs?: number;
  /**
   * Hash of the stage definitions up to this stage at that time. Collectors that join because of changed definitions are not late
   * joiners.
   */
  readonly shape?: number;
  /** Number of members of a stage with `size` at that time. From then on it does not grow with the fleet. */
  readonly members?: number;
  readonly endedAtMs?: number;
}

/** Number of collectors or attempts, or a percentage such as `10%`. */
export type Share = number | string;

/**
 * Failures beyond a tolerance, and the attempts that they were counted in: of a stage, of the rollout, or of late joiners of
 * either.
 */
export interface Exceeded {
  readonly failed: number;
  readonly finished: number;
  readonly tolerated: Share;
  readonly stage?: string;
  readonly late?: true;
}

/** Reason why a rollout starts nothing more although collectors are left. */
export interface RolloutStop {
  /**
   * `failures`: stopped by the failure policy. `rollback`: stopped, and upgraded collectors are rolled back. `abort`: stopped by a
   * person.
   */
  readonly kind: 'failures' | 'rollback' | 'abort';
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
  /** Number of times the rollout was complete, with at least one upgrade since the time before; absent for never. */
  readonly completions?: number;
  /** Highest number of an attempt so far. */
  readonly attempts: number;
  /** Name of the selection that the attempts were made for (U12); absent until a decision was written. */
  readonly selection?: string;
  /** Stages that have begun, in the order of their beginning. */
  readonly stages?: readonly StageRecord[];
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

/** Number of ended attempts of a scope, and failures among them. */
export interface Tally {
  readonly finished: number;
  readonly failed: number;
  /**
   * Collectors whose last attempt failed, or that died after it, and that were not retried by a person. Includes collectors that
   * left the listing.
   */
  readonly broken: number;
  /** Of these, collectors that reached the target and are not alive. */
  readonly died: number;
}

export const emptyTally: Tally = { finished: 0, failed: 0, broken: 0, died: 0 };

export function hasFailed(ending: Ending | undefined): boolean {
  return ending?.kind === 'failed' || ending?.kind === 'timedOut' || ending?.kind === 'died';
}

/** Contribution of one collector to the tallies of its stage and of the rollout. Rollback attempts contribute nothing. */
export function tallyOf({ failures, open, ending, used, back }: Entry, target: string): Tally {
  const isBroken = failures > 0 && !open && !back && hasFailed(ending);
  const succeeded = back || (ending?.kind === 'updated' && ending.toVersion === target && used > 0);
  return {
    finished: failures + Number(succeeded),
    failed: failures,
    broken: Number(isBroken),
    died: Number(isBroken && ending?.kind === 'died'),
  };
}

/** Contribution of a late start alone. */
function lateTallyOf(entry: Entry, { failures }: LateStart, target: string): Tally {
  // While the collector is tried again, the end of its former attempt does not count.
  const own = { ...entry, failures: Math.max(0, entry.failures - failures), ...(entry.open && { ending: undefined }) };
  return tallyOf(own, target);
}

/** Sum of two tallies; with sign -1, the difference. */
export function addTally(left: Tally, right: Tally, sign: 1 | -1 = 1): Tally {
  return {
    finished: left.finished + sign * right.finished,
    failed: left.failed + sign * right.failed,
    broken: left.broken + sign * right.broken,
    died: left.died + sign * right.died,
  };
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

export class Ledger {
  #header: LedgerHeader;
  readonly #entries = new SparseMap<string, Entry>();
  readonly #open = new SparseMap<string, Entry>();
  readonly #tallies = new Tallies();

  constructor(header: LedgerHeader, entries: Iterable<Entry> = []) {
    this.#header = header;
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

  /** Tally of a stage by its name, or of the rollout. */
  tally(stage?: string): Tally {
    return this.#tallies.of(stage);
  }

  /** Tally of late joiners since the rollout was complete for the given number of times, of one stage by its name or of all. */
  lateTally(completions: number, stage?: string): Tally {
    return this.#tallies.ofLate(completions, stage);
  }

  /** Stages in which collectors were started. */
  tallied(): Iterable<string | undefined> {
    return this.#tallies.names();
  }

  setHeader(header: LedgerHeader): void {
    this.#header = header;
  }

  apply(changes: Iterable<EntryChange>): void {
    for (const { collectorId, entry } of changes) {
      if (entry) {
        this.#put(entry);
      } else {
        this.#count(collectorId, undefined);
        this.#entries.delete(collectorId);
        this.#open.delete(collectorId);
      }
    }
  }

  /** Begins another rollout. Open attempts stay until they end; everything else belonged to the former rollout. */
  begin(header: LedgerHeader): void {
    this.#header = header;
    const before = [...this.#entries.values()];
    this.#entries.clear();
    this.#tallies.clear();
    const blank = { drifts: 0, failures: 0, back: false, ending: undefined };
    for (const entry of before) {
      const { late: _, ...former } = entry;
      const { open, back } = former;
      if (!open) continue;
      // An open attempt towards the new target belongs to this rollout: it is judged and rolled back with it.
      const isOwn = !back && open.ours && open.toVersion === header.target;
      const own = { used: Number(isOwn), stage: isOwn ? unnamedStage : undefined };
      this.#put({ ...former, ...blank, ...own, before: back ? undefined : entry.before });
    }
  }

  #put(entry: Entry): void {
    this.#count(entry.collectorId, entry);
    this.#entries.set(entry.collectorId, entry);
    if (entry.open) this.#open.set(entry.collectorId, entry);
    else this.#open.delete(entry.collectorId);
  }

  #count(id: string, after: Entry | undefined): void {
    const before = this.#entries.get(id);
    if (before) this.#tallies.add(before, this.#header.target, -1);
    if (after) this.#tallies.add(after, this.#header.target, 1);
  }
}

/** Tallies by stage and of the rollout, including those of late joiners. */
export class Tallies {
  readonly #tallies = new SparseMap<string | undefined, Tally>();
  readonly #late = new SparseMap<string, Tally>();

  of(stage: string | undefined): Tally {
    return this.#tallies.get(stage) ?? emptyTally;
  }

  ofLate(completions: number, stage: string | undefined): Tally {
    return this.#late.get(lateScope(completions, stage)) ?? emptyTally;
  }

  add(entry: Entry, target: string, sign: 1 | -1): void {
    const change = tallyOf(entry, target);
    if (change.finished === 0) return;
    for (const scope of new Set([undefined, entry.stage])) {
      this.#tallies.set(scope, addTally(this.of(scope), change, sign));
    }
    if (entry.late) this.#addLate(lateTallyOf(entry, entry.late, target), entry.late, sign);
  }

  #addLate(change: Tally, { completions, stage }: LateStart, sign: 1 | -1): void {
    for (const one of new Set([undefined, stage])) {
      const scope = lateScope(completions, one);
      this.#late.set(scope, addTally(this.ofLate(completions, one), change, sign));
    }
  }

  names(): Iterable<string | undefined> {
    return this.#tallies.keys();
  }

  clear(): void {
    this.#tallies.clear();
    this.#late.clear();
  }
}

function lateScope(completions: number, stage: string | undefined): string {
  return stage === undefined ? `${completions}` : `${completions}/${stage}`;
}

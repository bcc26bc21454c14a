/**
 * What a policy must remember because the service cannot be asked for it (U1): for each collector that was touched in this
 * rollout, its open attempt or how the last one ended, the attempts used, and the version it had before.
 *
 * This is the ledger in memory; `ledger-codec.ts` turns it into shards and back, `ledger-file.ts` keeps it in the host.
 *
 * Invariant: a collector has at most one entry, and an entry at most one open attempt.
 */
import { SparseMap } from '../base/sparse.ts';
import type { Exceeded } from './failure-verdict.ts';

/**
 * - `intended`: written ahead; its POST is about to be sent, or was sent by a process that is no more.
 * - `accepted`: the service answered 202 with a task id.
 * - `unknown`: posted, without a trustworthy answer (U3).
 * - `adopted`: the service said that an upgrade is running whose id we do not have (U3, U10).
 */
export type AttemptState = 'intended' | 'accepted' | 'unknown' | 'adopted';

export interface Attempt {
  /** Counts the attempts of this ledger from 1. */
  readonly number: number;
  readonly toVersion: string;
  readonly state: AttemptState;
  readonly taskId: string | undefined;
  /** False for an upgrade that somebody else started (U10): neither a failure nor an attempt of ours. */
  readonly ours: boolean;
  /** Posted again after an unknown outcome (U3). */
  readonly probe: boolean;
  /** Wall time in ms, for people. */
  readonly startedAtMs: number;
  /**
   * Monotonic ms: the acceptance, adoption, unknown outcome or takeover that ages count from (U5). Not kept: a
   * process that takes over counts from its takeover.
   */
  readonly sinceMs: number;
  /** Its evidence may be older than it is: only listings sent G after `sinceMs` count. Not kept: true after a takeover. */
  readonly needsGrace: boolean;
  /**
   * Monotonic ms: a probe came back without having settled anything, and without an effect. The next one, and the listing
   * before it, wait G from here; ages still count from `sinceMs`. Not kept.
   */
  readonly probedAtMs?: number;
  /** A probe was refused because the collector is not running: its newest sign of life known then (U11). Not kept. */
  readonly silentSinceMs?: number;
}

/**
 * - `updated`: positive evidence of the target (U7).
 * - `failed`: the task's status says so. - `timedOut`: no end within U5's limit.
 * - `refused`: the service will not upgrade this collector, and nothing was tried (U11). - `offline`: refused as not running.
 * - `invalid`: the service does not know it, or does not let us (U11). - `unobservable`: its version cannot be seen (U7).
 * - `died`: was at the target, and fell silent before its stage had ended. - `left`: and was seen at another version.
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
  /** The service's own message, or ours; empty where there is nothing to say. */
  readonly message: string;
  readonly startedAtMs: number;
  /** Wall time in ms, for people. */
  readonly endedAtMs: number;
  /** Monotonic ms of the end, or of the takeover. Not kept. */
  readonly sinceMs: number;
  /** For `offline`: the newest sign of life known then; nothing is posted until there is a newer one (U11). */
  readonly lastSeenAliveMs: number | undefined;
}

export interface Entry {
  readonly collectorId: string;
  /** The version before the first attempt of this rollout (U14); undefined where it was not seen. */
  readonly before: string | undefined;
  /** Attempts of ours in this rollout that the service may have accepted. */
  readonly used: number;
  /** How often it left the target again in this rollout (U8). */
  readonly drifts: number;
  /** Attempts of ours in this rollout that failed, and deaths and returns within a soak: what the failure policy counts. */
  readonly failures: number;
  /** The stage that it was started in; undefined where there are none, or where it came late. */
  readonly stage: string | undefined;
  /** Absent of who was started for the last time while its stage, or the rollout without stages, was under way. */
  readonly late?: LateStart;
  /** Whether its attempts take it back to `before`: the rollout is rolled back. `used` counts those, then. */
  readonly back: boolean;
  readonly open: Attempt | undefined;
  readonly ending: Ending | undefined;
}

/** The stage of who was started in one that is not known any more: no stage is called so, and it counts in the one that has it. */
export const unnamedStage = '';

/** That a collector was started when its stage soaked or had ended, or the whole rollout had: such are judged by themselves (R5). */
export interface LateStart {
  /** How often the rollout had been complete by then. */
  readonly completions: number;
  /** The stage that it came late to, or belongs to; undefined where there is none. */
  readonly stage: string | undefined;
  /** How many of its failures were before that. */
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
  /** Absent from what an earlier version wrote. */
  readonly actions?: readonly ActionRecord[];
  /** Why it started nothing more when it ended. */
  readonly stop?: RolloutStop;
  /** How many had failed or died in it by then, whom nobody had forgiven. */
  readonly broken?: number;
}

/** A stage of this rollout that has begun. Wall times in ms. */
export interface StageRecord {
  readonly name: string;
  readonly startedAtMs: number;
  /** Since when all of it that count are at the target: its soak counts from then on. */
  readonly updatedAtMs?: number;
  /** Names what the stages up to it took by then: who comes by another text of them does not come late. */
  readonly shape?: number;
  /** How many it had by then, of a stage with a size: it does not grow with the fleet any more. */
  readonly members?: number;
  readonly endedAtMs?: number;
  /** Taken over from status: it soaks although no attempt in it is on record. */
  readonly adopted?: true;
}

/** Why a rollout starts nothing more, although there is more to do. */
export interface RolloutStop {
  /** `failures`: by the failure policy. `rollback`: and who it upgraded is brought back. `abort`: by a person. */
  readonly kind: 'failures' | 'rollback' | 'abort';
  /** What was beyond the tolerance when it was stopped, in one sentence. */
  readonly message: string;
  /** The figures of the message; absent where no count of this rollout stopped it. */
  readonly exceeded?: Exceeded;
  /** The stage that it was stopped in. */
  readonly stage?: string;
  readonly atMs: number;
}

/** What a person did in a rollout. */
export interface ActionRecord {
  readonly action: 'Pause' | 'Resume' | 'Approve' | 'Retry' | 'Abort';
  readonly atMs: number;
  readonly stage?: string;
  /** The field manager, where the API server says it. */
  readonly by?: string;
}

export interface LedgerHeader {
  /** Identity of the service whose ids these are; those of another are void (U1). */
  readonly service: string;
  readonly rolloutId: string;
  /** Counts the rollouts of this policy. */
  readonly rolloutNumber: number;
  readonly target: string;
  readonly startedAtMs: number;
  /** Wall time in ms when everything that counts was first at the target; undefined until then. */
  readonly completedAtMs: number | undefined;
  /** How often everything was at the target, with somebody upgraded since the last time; absent for never. */
  readonly completions?: number;
  /** Attempts numbered so far. */
  readonly attempts: number;
  /** Names the selection that its attempts were made for (U12); absent until a decision was written. */
  readonly selection?: string;
  /** The stages that have begun, in the order in which they did. */
  readonly stages?: readonly StageRecord[];
  /** The stages that a person has approved. */
  readonly approved?: readonly string[];
  /** Whether a rollout towards the same version ended before it was complete: stages soak although their members are there already. */
  readonly again?: true;
  /** Absent while the rollout goes on. */
  readonly stop?: RolloutStop;
  /** What people did in this rollout, the oldest first: 20 at most, the newest retry and the newest approval of each stage among them. */
  readonly actions?: readonly ActionRecord[];
  /** What was asked for last by annotation, and has been done; and when the last stop began that was lifted so. */
  readonly handled?: {
    readonly retry?: string;
    readonly abort?: string;
    /** An approval that is void, since all was taken back after it. */
    readonly approve?: string;
    readonly liftedAtMs?: number;
  };
  /** Whether it is noted among the actions that a person paused it. */
  readonly pauseNoted?: boolean;
  /** The last ten rollouts that ended, newest first. */
  readonly history: readonly RolloutHistory[];
}

/** The attempts of a scope that have ended, and of these the failures. */
export interface Tally {
  readonly finished: number;
  readonly failed: number;
  /** Collectors whose last attempt failed, or who died after it, and whom nobody has forgiven; also who is in no list any more. */
  readonly broken: number;
  /** Of these, who were at the target and are not alive. */
  readonly died: number;
}

export const emptyTally: Tally = { finished: 0, failed: 0, broken: 0, died: 0 };

export function hasFailed(ending: Ending | undefined): boolean {
  return ending?.kind === 'failed' || ending?.kind === 'timedOut' || ending?.kind === 'died';
}

/** What one collector adds to the tally of its stage and of the whole. What takes it back adds nothing. */
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

/** The same of a late start alone. */
function lateTallyOf(entry: Entry, { failures }: LateStart, target: string): Tally {
  // While it is tried anew, what it came to before says nothing of that.
  const own = { ...entry, failures: Math.max(0, entry.failures - failures), ...(entry.open && { ending: undefined }) };
  return tallyOf(own, target);
}

/** The two together; with sign -1, the first without the second. */
export function addTally(left: Tally, right: Tally, sign: 1 | -1 = 1): Tally {
  return {
    finished: left.finished + sign * right.finished,
    failed: left.failed + sign * right.failed,
    broken: left.broken + sign * right.broken,
    died: left.died + sign * right.died,
  };
}

/** The version that a member's attempts go to now. */
export function wantedVersion({ before, back }: Entry, target: string): string {
  return back ? (before ?? target) : target;
}

/** Whether attempts of this direction are made: forth while nothing stops the rollout, back while it is rolled back. */
export function goesOn({ back }: Pick<Entry, 'back'>, { stop }: LedgerHeader): boolean {
  return back ? stop?.kind === 'rollback' : stop === undefined;
}

/** A change to the ledger that `decide` asks for: the entry as it shall be, or undefined to forget the collector. */
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

  /** Of a stage by its name, or of the whole. */
  tally(stage?: string): Tally {
    return this.#tallies.of(stage);
  }

  /** Of those that came late once the rollout had been complete so often: of one stage by its name, or all. */
  lateTally(completions: number, stage?: string): Tally {
    return this.#tallies.ofLate(completions, stage);
  }

  /** The stages that somebody was started in. */
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

  /** Begins another rollout: what is open stays until it ends, all else belonged to the one before. */
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
      // What goes to this target already is an attempt of this rollout, to be judged and taken back with it.
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

/** Tallies by stage, and of the whole; of who came late, too. */
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

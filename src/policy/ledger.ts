/**
 * What a policy must remember because the service cannot be asked for it (U1): for each collector that was touched in this
 * rollout, its open attempt or how the last one ended, the attempts used, and the version it had before.
 *
 * This is the ledger in memory; `ledger-codec.ts` turns it into shards and back, `ledger-file.ts` keeps it in the host.
 *
 * Invariant: a collector has at most one entry, and an entry at most one open attempt.
 */

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
 */
export type EndingKind = 'updated' | 'failed' | 'timedOut' | 'refused' | 'offline' | 'invalid' | 'unobservable';

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
  readonly open: Attempt | undefined;
  readonly ending: Ending | undefined;
}

export interface RolloutHistory {
  readonly id: string;
  readonly targetVersion: string;
  readonly startedAtMs: number;
  readonly endedAtMs: number;
  readonly outcome: 'Completed' | 'Superseded';
  readonly updated: number;
  readonly failed: number;
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
  /** Attempts numbered so far. */
  readonly attempts: number;
  /** Names the selection that its attempts were made for (U12); absent until a decision was written. */
  readonly selection?: string;
  /** The last ten rollouts that ended, newest first. */
  readonly history: readonly RolloutHistory[];
}

/** A change to the ledger that `decide` asks for: the entry as it shall be, or undefined to forget the collector. */
export type EntryChange = { readonly collectorId: string; readonly entry: Entry | undefined };

export class Ledger {
  #header: LedgerHeader;
  readonly #entries = new Map<string, Entry>();
  readonly #open = new Map<string, Entry>();

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

  setHeader(header: LedgerHeader): void {
    this.#header = header;
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

  /** Begins another rollout: what is open stays until it ends, all else belonged to the one before. */
  begin(header: LedgerHeader): void {
    this.#header = header;
    for (const entry of [...this.#entries.values()]) {
      if (entry.open) this.#put({ ...entry, before: undefined, used: 0, drifts: 0, ending: undefined });
      else this.#entries.delete(entry.collectorId);
    }
  }

  #put(entry: Entry): void {
    this.#entries.set(entry.collectorId, entry);
    if (entry.open) this.#open.set(entry.collectorId, entry);
    else this.#open.delete(entry.collectorId);
  }
}

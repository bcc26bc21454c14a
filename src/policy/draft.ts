/**
 * Pending changes of a decision, as a layer over the ledger and the index of members. Ledger and index stay unchanged until the
 * changes are written. This keeps `decide` pure, and a failed write needs no undo.
 */
import { type Entry, type EntryChange, emptyTally, type Ledger, type LedgerHeader, type Tally } from './ledger.ts';
import type { Roster } from './roster.ts';
import type { StageCandidate } from './stages.ts';
import type { Standing } from './standing.ts';
import type { Counts, MutableCounts } from './standing-counts.ts';

export class Draft {
  readonly #ledger: Ledger;
  readonly #roster: Roster;
  readonly #changes = new Map<string, Entry | undefined>();
  /** Changes of the tallies by the index of the stage, and of the rollout. */
  readonly #tallies = new Map<number | undefined, Tally>();
  /** Stages in which an upgrade succeeded. */
  readonly #upgraded = new Set<number | undefined>();
  #openDelta = 0;

  constructor(ledger: Ledger, roster: Roster) {
    this.#ledger = ledger;
    this.#roster = roster;
  }

  entry(collectorId: string): Entry | undefined {
    return this.#changes.has(collectorId) ? this.#changes.get(collectorId) : this.#ledger.entry(collectorId);
  }

  set(collectorId: string, entry: Entry | undefined): void {
    const before = this.entry(collectorId);
    this.#openDelta += Number(entry?.open !== undefined) - Number(before?.open !== undefined);
    this.#changes.set(collectorId, entry);
  }

  get openCount(): number {
    return this.#ledger.open().size + this.#openDelta;
  }

  /** All entries including pending changes. Also correct after the changes were written. */
  *entries(): IterableIterator<Entry> {
    for (const entry of this.#ledger.entries()) if (!this.#changes.has(entry.collectorId)) yield entry;
    for (const entry of this.#changes.values()) if (entry) yield entry;
  }

  /** Entries with an open attempt, including pending changes. */
  *open(): IterableIterator<Entry> {
    for (const [id, entry] of this.#ledger.open()) if (!this.#changes.has(id)) yield entry;
    for (const entry of this.#changes.values()) if (entry?.open) yield entry;
  }

  /** State of a member; undefined for a collector that is not a member, or is none after its attempt is forgotten. */
  standing(collectorId: string): Standing | undefined {
    if (!this.#changes.has(collectorId)) return this.#roster.standingNow(collectorId);
    const entry = this.#changes.get(collectorId);
    return entry || this.#roster.selects(collectorId) ? this.#roster.standing(collectorId, entry) : undefined;
  }

  /** Counts ended attempts in the tally of the rollout, and in that of a stage if there is one. */
  count(stage: number | undefined, change: Tally): void {
    if (change.finished > change.failed) this.#upgraded.add(stage);
    for (const scope of new Set([undefined, stage])) {
      this.#tallies.set(scope, addTally(this.#tallies.get(scope) ?? emptyTally, change));
    }
  }

  /** Header with the attempts that were counted; the same object when there are none. */
  counted(header: LedgerHeader): LedgerHeader {
    const change = this.#tallies.get(undefined);
    if (!change) return header;
    const stages = header.stages?.map((stage, index) => {
      const own = this.#tallies.get(index);
      if (!own) return stage;
      const upgraded = this.#upgraded.has(index) && { upgraded: true as const };
      return { ...stage, tally: addTally(stage.tally, own), ...upgraded };
    });
    return { ...header, tally: { ...header.tally, ...addTally(header.tally, change) }, ...(stages && { stages }) };
  }

  /** Collectors that a stage may choose: those that no started stage lists. */
  *candidates(): IterableIterator<StageCandidate> {
    for (const { id, collector } of this.#roster.unlisted()) {
      const standing = this.standing(id);
      if (standing !== undefined) yield { id, collector, standing };
    }
  }

  counts(): Counts {
    return this.#counts({ ...this.#roster.counts }, () => true);
  }

  stageCounts(stage: number): Counts {
    return this.#counts({ ...this.#roster.stageCounts(stage) }, (id) => this.#roster.stageOf(id) === stage);
  }

  #counts(counts: MutableCounts, isIn: (id: string) => boolean): Counts {
    for (const id of this.#changes.keys()) {
      if (!isIn(id)) continue;
      const before = this.#roster.standingNow(id);
      // A collector that is not yet a member does not count as matched.
      if (before === undefined) continue;
      counts[before]--;
      const after = this.standing(id);
      if (after !== undefined) counts[after]++;
    }
    return counts;
  }

  /** Number of members after this decision. */
  get matched(): number {
    let leaving = 0;
    for (const id of this.#changes.keys()) {
      if (this.#roster.standingNow(id) !== undefined && this.standing(id) === undefined) leaving++;
    }
    return this.#roster.matched - leaving;
  }

  changes(): readonly EntryChange[] {
    return [...this.#changes].map(([collectorId, entry]) => ({ collectorId, entry }));
  }
}

function addTally(left: Tally, right: Tally): Tally {
  return { finished: left.finished + right.finished, failed: left.failed + right.failed };
}

/**
 * Pending changes of a decision, as a layer over the ledger and the index of members. Ledger and index stay unchanged until the
 * changes are written. This keeps `decide` pure, and a failed write needs no undo.
 */
import {
  type Entry,
  type EntryChange,
  emptyTally,
  type Ledger,
  type LedgerHeader,
  type Tally,
} from '../ledger/ledger.ts';
import type { StageCandidate } from '../rollout/stages.ts';
import type { MemberState } from './member-state.ts';
import type { PolicyMemberIndex } from './policy-member-index.ts';
import type { Counts, MutableCounts } from './state-counts.ts';

export class PendingChanges {
  readonly #ledger: Ledger;
  readonly #memberIndex: PolicyMemberIndex;
  readonly #changes = new Map<string, Entry | undefined>();
  /** Changes of the tallies by the index of the stage, and of the rollout. */
  readonly #tallies = new Map<number | undefined, Tally>();
  /** Stages in which an upgrade succeeded. */
  readonly #upgraded = new Set<number | undefined>();
  #openDelta = 0;

  /** @param changes changes of an earlier decision; absent for a new one */
  constructor(ledger: Ledger, memberIndex: PolicyMemberIndex, changes: readonly EntryChange[] = []) {
    this.#ledger = ledger;
    this.#memberIndex = memberIndex;
    for (const { collectorId, entry } of changes) this.#changes.set(collectorId, entry);
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
  stateOf(collectorId: string): MemberState | undefined {
    if (!this.#changes.has(collectorId)) return this.#memberIndex.stateNow(collectorId);
    const entry = this.#changes.get(collectorId);
    return entry || this.#memberIndex.selects(collectorId) ? this.#memberIndex.stateOf(collectorId, entry) : undefined;
  }

  /** Counts ended attempts in the tally of the rollout, and in that of a stage if there is one. Without a failure, one succeeded. */
  count(stage: number | undefined, change: Tally): void {
    if (change.finished >= 0 && change.failed <= 0) this.#upgraded.add(stage);
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
    for (const { id, collector } of this.#memberIndex.unlisted()) {
      const memberState = this.stateOf(id);
      if (memberState !== undefined) yield { id, collector, memberState };
    }
  }

  counts(): Counts {
    return this.#counts({ ...this.#memberIndex.counts }, () => true);
  }

  stageCounts(stage: number): Counts {
    return this.#counts({ ...this.#memberIndex.stageCounts(stage) }, (id) => this.#memberIndex.stageOf(id) === stage);
  }

  #counts(counts: MutableCounts, isIn: (id: string) => boolean): Counts {
    for (const id of this.#changes.keys()) {
      if (!isIn(id)) continue;
      const before = this.#memberIndex.stateNow(id);
      // A collector that is not yet a member does not count as matched.
      if (before === undefined) continue;
      counts[before]--;
      const after = this.stateOf(id);
      if (after !== undefined) counts[after]++;
    }
    return counts;
  }

  /** Number of members after this decision. */
  get matched(): number {
    let leaving = 0;
    for (const id of this.#changes.keys()) {
      if (this.#memberIndex.stateNow(id) !== undefined && this.stateOf(id) === undefined) leaving++;
    }
    return this.#memberIndex.matched - leaving;
  }

  changes(): readonly EntryChange[] {
    return [...this.#changes].map(([collectorId, entry]) => ({ collectorId, entry }));
  }
}

function addTally(left: Tally, right: Tally): Tally {
  return { finished: left.finished + right.finished, failed: left.failed + right.failed };
}

/**
 * Changes to the ledger that a decision has made, but that are not stored yet. The methods return values as if these
 * changes were already stored.
 */
import {
  type Entry,
  type EntryChange,
  emptyTally,
  type LedgerHeader,
  type LedgerView,
  type Tally,
} from '../ledger/ledger.ts';
import type { MemberState } from './member-state.ts';
import type { MemberView } from './policy-member-index.ts';
import type { StageCandidate } from './stages.ts';
import type { Counts, MutableCounts } from './state-counts.ts';

export class PendingChanges {
  readonly #ledger: LedgerView;
  readonly #memberIndex: MemberView;
  readonly #changes = new Map<string, Entry | undefined>();
  /**
   * Changes to the numbers of ended and failed upgrades, by stage index. The key `undefined` stands for the whole
   * rollout.
   */
  readonly #tallies = new Map<number | undefined, Tally>();
  /** Indexes of the stages in which an upgrade succeeded. */
  readonly #upgraded = new Set<number | undefined>();

  /** @param changes earlier changes that have not been stored yet */
  constructor(ledger: LedgerView, memberIndex: MemberView, changes: readonly EntryChange[] = []) {
    this.#ledger = ledger;
    this.#memberIndex = memberIndex;
    for (const { collectorId, entry } of changes) this.#changes.set(collectorId, entry);
  }

  entry(collectorId: string): Entry | undefined {
    return this.#changes.has(collectorId) ? this.#changes.get(collectorId) : this.#ledger.entry(collectorId);
  }

  set(collectorId: string, entry: Entry | undefined): void {
    this.#changes.set(collectorId, entry);
  }

  /** Number of open attempts, including unsaved changes. */
  get openCount(): number {
    const open = this.#ledger.open();
    let count = open.size;
    for (const [id, entry] of this.#changes) count += Number(entry?.open !== undefined) - Number(open.has(id));
    return count;
  }

  /** All ledger entries, including unsaved changes. */
  *entries(): IterableIterator<Entry> {
    for (const entry of this.#ledger.entries()) if (!this.#changes.has(entry.collectorId)) yield entry;
    for (const entry of this.#changes.values()) if (entry) yield entry;
  }

  *open(): IterableIterator<Entry> {
    for (const [id, entry] of this.#ledger.open()) if (!this.#changes.has(id)) yield entry;
    for (const entry of this.#changes.values()) if (entry?.open) yield entry;
  }

  /**
   * Returns the collector's state after the unsaved changes. Returns undefined if these changes remove the collector
   * from the policy.
   */
  stateOf(collectorId: string): MemberState | undefined {
    if (!this.#changes.has(collectorId)) return this.#memberIndex.member(collectorId)?.memberState;
    return this.#memberIndex.stateOf(collectorId, this.#changes.get(collectorId));
  }

  /** Adds ended attempts to the rollout's counts and, if `stage` is defined, also to the counts of that stage. */
  count(stage: number | undefined, change: Tally): void {
    if (change.finished >= 0 && change.failed <= 0) this.#upgraded.add(stage);
    for (const scope of new Set([undefined, stage])) {
      this.#tallies.set(scope, addTally(this.#tallies.get(scope) ?? emptyTally, change));
    }
  }

  /** Returns the header with the new counts. Returns the same object if the counts are unchanged. */
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

  /** Yields the collectors that no started stage contains. The next stage may choose these collectors. */
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
      const before = this.#memberIndex.member(id)?.memberState;
      // A collector that did not belong to the policy before is not in any of the counts.
      if (before === undefined) continue;
      counts[before]--;
      const after = this.stateOf(id);
      if (after !== undefined) counts[after]++;
    }
    return counts;
  }

  /** Number of collectors in the policy after the unsaved changes. */
  get matched(): number {
    let leaving = 0;
    for (const id of this.#changes.keys()) {
      if (this.#memberIndex.member(id)?.memberState !== undefined && this.stateOf(id) === undefined) leaving++;
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

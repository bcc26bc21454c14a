/**
 * Pending changes of a decision, as a layer over the ledger and the index of members. Ledger and index stay unchanged until the
 * changes are written. This keeps `decide` pure, and a failed write needs no undo.
 */
import { addTally, type Entry, type EntryChange, type Ledger, Tallies, type Tally, tallyOf } from './ledger.ts';
import type { Roster } from './roster.ts';
import type { Standing } from './standing.ts';
import type { Counts, MutableCounts } from './standing-counts.ts';

export class Draft {
  readonly #ledger: Ledger;
  readonly #roster: Roster;
  readonly #changes = new Map<string, Entry | undefined>();
  readonly #tallies = new Tallies();
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
    const { target } = this.#ledger.header;
    if (before) this.#tallies.add(before, target, -1);
    if (entry) this.#tallies.add(entry, target, 1);
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

  /** Tally of ended attempts of a stage. It includes members whose own stage was renamed or removed. */
  stageTally(stage: number): Tally {
    const { stages } = this.#roster;
    let sum = this.tally(stages.stages[stage]?.name);
    const isGone = (name: string | undefined) => name !== undefined && stages.indexOf(name) === undefined;
    if (![...this.#ledger.tallied(), ...this.#tallies.names()].some(isGone)) return sum;
    for (const entry of this.entries()) {
      if (!isGone(entry.stage) || this.#roster.stageOf(entry.collectorId) !== stage) continue;
      sum = addTally(sum, tallyOf(entry, this.#ledger.header.target));
    }
    return sum;
  }

  /**
   * Number of members of a stage that this decision found not to be upgradable. The next decision gives their places to other
   * collectors (R1).
   */
  vacated(stage: number, isEligible: (standing: Standing) => boolean): number {
    const roster = this.#roster;
    const holds = (standing: Standing | undefined) => standing !== undefined && isEligible(standing);
    let vacated = 0;
    for (const id of this.#changes.keys()) {
      if (roster.stageOf(id) === stage && holds(roster.standingNow(id)) && !holds(this.standing(id))) vacated++;
    }
    return vacated;
  }

  /** Number of late joiners of a stage that wait for an upgrade or are being upgraded. The stage does not wait for them. */
  latecomers(stage: number): number {
    const roster = this.#roster;
    const isLate = (id: string) => roster.stageOf(id) === stage && this.entry(id)?.stage === undefined;
    let late = this.stageCounts(stage).pending;
    for (const { collectorId } of this.open()) if (isLate(collectorId)) late++;
    for (const id of roster.members('retrying')) if (this.standing(id) === 'retrying' && isLate(id)) late++;
    return late;
  }

  /** Tally of ended attempts, of the collectors started in a stage or of the whole rollout. */
  tally(stage?: string): Tally {
    return addTally(this.#ledger.tally(stage), this.#tallies.of(stage));
  }

  /**
   * Tally of late joiners since the rollout was complete for the given number of times, of one stage by its name or of all stages.
   */
  lateTally(completions: number, stage?: string): Tally {
    return addTally(this.#ledger.lateTally(completions, stage), this.#tallies.ofLate(completions, stage));
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

/**
 * Index of the members of each stage and their states, updated by changes. Assigning stages takes a walk over all members, so it is
 * done once for all pending changes.
 */

import { SparseMap } from '../base/sparse.ts';
import { compareText } from '../base/text-order.ts';
import { noStage, type StageCandidate, type StageList, stageOrder } from './stages.ts';
import type { Standing } from './standing.ts';
import { type Counts, emptyCounts, type MutableCounts } from './standing-counts.ts';

/** Inputs that determine the stage of a member. */
export type StageTraits = Omit<StageCandidate, 'id'>;

export class StageIndex {
  readonly list: StageList;
  readonly #traits = new SparseMap<string, StageTraits>();
  readonly #stageOf = new SparseMap<string, number>();
  readonly #counts: readonly MutableCounts[];
  /** Collectors that were started in a stage and left the listing. Their places stay taken. */
  readonly #vanished = new SparseMap<string, number>();
  #isStale = false;
  /** All members in the order in which sizes take them; undefined after members came or went. */
  #line: string[] | undefined;

  constructor(list: StageList) {
    this.list = list;
    this.#counts = list.stages.map(emptyCounts);
  }

  /** Whether the policy has stages. */
  get isUsed(): boolean {
    return this.list.stages.length > 0;
  }

  get isStale(): boolean {
    return this.#isStale;
  }

  stageOf(id: string): number {
    return this.#stageOf.get(id) ?? noStage;
  }

  counts(stage: number): Counts {
    return this.#counts[stage] ?? emptyCounts();
  }

  /** Records the inputs for the stage of a member, which may be new. */
  note(id: string, traits: StageTraits): void {
    const { eligible, isThere, matches, startedIn } = traits;
    const before = this.#traits.get(id);
    this.#traits.set(id, traits);
    this.#vanished.delete(id);
    if (!before) this.#line = undefined;
    const isAsBefore = before?.eligible === eligible && before.isThere === isThere && before.matches === matches;
    // A member that is started in its present stage does not affect other members.
    if (isAsBefore && (before.startedIn === startedIn || startedIn === this.stageOf(id))) return;
    this.#isStale = true;
  }

  remove(id: string): void {
    if (!this.#traits.delete(id)) return;
    this.#stageOf.delete(id);
    this.#line = undefined;
    this.#isStale = true;
  }

  /**
   * @param stage stage in which a collector that is no longer a member was started; undefined when there is none or it is not known
   */
  noteVanished(id: string, stage: number | undefined): void {
    if (this.#vanished.get(id) === stage) return;
    if (stage === undefined) this.#vanished.delete(id);
    else this.#vanished.set(id, stage);
    this.#isStale = true;
  }

  /** Number of collectors started in the stage that left the listing. */
  vanished(stage: number): number {
    let vanished = 0;
    for (const one of this.#vanished.values()) if (one === stage) vanished++;
    return vanished;
  }

  count(stage: number, standing: Standing, change: 1 | -1): void {
    const counts = this.#counts[stage];
    if (counts) counts[standing] += change;
  }

  /**
   * Assigns all stages. Returns the members whose stage changed.
   * @param settled as for `StageList.assign`
   */
  assign(settled: (stage: string) => number | undefined): readonly string[] {
    this.#isStale = false;
    this.#line ??= inStageOrder(this.#traits.keys());
    const candidates = this.#line.map((id): StageCandidate => ({ id, ...(this.#traits.get(id) as StageTraits) }));
    const assigned = this.list.assign(candidates, [...this.#vanished.values()], settled);
    const moved: string[] = [];
    for (const [index, { id }] of candidates.entries()) {
      const stage = assigned[index] as number;
      if (this.stageOf(id) === stage) continue;
      this.#stageOf.set(id, stage);
      moved.push(id);
    }
    return moved;
  }
}

function inStageOrder(ids: Iterable<string>): string[] {
  const keyed = Array.from(ids, (id) => ({ id, at: stageOrder(id) }));
  return keyed.sort((left, right) => left.at - right.at || compareText(left.id, right.id)).map(({ id }) => id);
}

/**
 * Which stage of a rollout each collector belongs to (R1).
 *
 * A collector belongs to the first stage that has it. Stages with a size take so many of those that no stage before has, in an order
 * that follows from their ids alone: it is the same ones after a restart, and in the next rollout. They prefer those that can be
 * upgraded, for a canary that is switched off proves nothing. Who was started in a stage stays there, whatever becomes of the others, and nobody
 * takes the place of one that is gone from the list.
 *
 * Leaves to others: when a stage begins and ends (`stage-progress.ts`).
 */
import type { Stage } from '../api/generated/collector-version-policy.ts';
import type { Collector } from '../service/upgrade-service.ts';
import { compileSelection, type Matcher } from './selector.ts';
import { type Counts, totalOf } from './standing-counts.ts';

/** Of who belongs to no stage, or where there are none. */
export const noStage = -1;

/** One collector, as far as stages need it. */
export interface StageCandidate {
  readonly id: string;
  /** A bit for each stage whose selector matches it, the first stage's the lowest. */
  readonly matches: number;
  /** The stage that it was started in. */
  readonly startedIn: number | undefined;
  /** Whether it can be upgraded, or has been. */
  readonly eligible: boolean;
  /** Whether it is at the target without having been started in a stage. */
  readonly isThere: boolean;
}

const noIndexes: ReadonlyMap<string, number> = new Map();

/** The stages of a policy, compiled once for each text of it. */
export class StageList {
  readonly stages: readonly Stage[];
  readonly #matchers: readonly (Matcher | undefined)[];
  readonly #indexes: ReadonlyMap<string, number>;

  constructor(stages: readonly Stage[] = []) {
    this.stages = stages;
    this.#matchers = stages.map(({ selector }) => selector && compileSelection(selector));
    this.#indexes = stages.length === 0 ? noIndexes : new Map(stages.map(({ name }, index) => [name, index]));
  }

  indexOf(name: string | undefined): number | undefined {
    return name === undefined ? undefined : this.#indexes.get(name);
  }

  /** For `StageCandidate.matches`. */
  matches(collector: Collector): number {
    let bits = 0;
    for (const [index, matches] of this.#matchers.entries()) if (matches?.(collector)) bits |= 1 << index;
    return bits;
  }

  /**
   * The stage of each candidate, in their order; `noStage` where none has it.
   * @param candidates in the order of `stageOrder`
   * @param vanished the stages of those who were started in them and are no candidates any more
   * @param settled how many a stage has that is settled; undefined of one that is not. Places that are free in it are for those who are at
   *   the target by then: whoever is to be upgraded is the next stage's, or would be past its approval. It takes more only of those whom no
   *   other stage has
   */
  assign(
    candidates: readonly StageCandidate[],
    vanished: readonly number[] = [],
    settled: (stage: string) => number | undefined = () => undefined,
  ): Int8Array {
    const assigned = new Int8Array(candidates.length).fill(noStage);
    for (const [index, { startedIn = noStage }] of candidates.entries()) assigned[index] = startedIn;
    const first = this.stages.map(({ name }) => settled(name) ?? Number.POSITIVE_INFINITY);
    this.#fill(assigned, candidates, vanished, first);
    if (first.some(Number.isFinite) && assigned.includes(noStage)) this.#fill(assigned, candidates, vanished);
    return assigned;
  }

  /** Gives those who have no stage to the first one that takes them. @param most how many each may have, where that is less than its size */
  #fill(
    assigned: Int8Array,
    candidates: readonly StageCandidate[],
    vanished: readonly number[],
    most: readonly number[] = [],
  ): void {
    for (const [stage, { size, selector }] of this.stages.entries()) {
      let left = size === undefined ? Number.POSITIVE_INFINITY : shareOf(size, candidates.length);
      const limit = most[stage] ?? Number.POSITIVE_INFINITY;
      const isSettled = Number.isFinite(limit);
      left = Math.min(left, limit);
      for (const one of assigned) if (one === stage) left--;
      for (const one of vanished) if (one === stage) left--;
      const take = (isWanted: (candidate: StageCandidate) => boolean) => {
        for (let index = 0; index < candidates.length && left > 0; index++) {
          const candidate = candidates[index] as StageCandidate;
          if (assigned[index] !== noStage || (isSettled && !candidate.isThere) || !isWanted(candidate)) continue;
          assigned[index] = stage;
          left--;
        }
      };
      if (selector) {
        take(({ matches }) => (matches & (1 << stage)) !== 0);
      } else {
        take(({ eligible }) => eligible);
        take(() => true);
      }
    }
  }
}

/** Where a collector stands in the order in which sizes take; equal ones by id. An FNV-1a hash, its bits mixed. */
export function stageOrder(id: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < id.length; at++) hash = Math.imul(hash ^ id.charCodeAt(at), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/** A number of collectors, or a percentage of so many: rounded up, at least 1. */
export function shareOf(share: number | string, of: number): number {
  if (typeof share === 'number') return share;
  return Math.max(1, Math.ceil((Number.parseFloat(share) * of) / 100));
}

/** A stage's own limit as a number, of its members by how they stand; undefined where it sets none. */
export function placesOf({ maxInProgress }: Stage, counts: Counts): number | undefined {
  return maxInProgress === undefined ? undefined : shareOf(maxInProgress, totalOf(counts));
}

export function compareText(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}

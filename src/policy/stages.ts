/**
 * Assigns each collector to a stage of the rollout (R1).
 *
 * - A collector belongs to the first stage that takes it.
 * - A stage with `size` takes that many of the collectors that no earlier stage has. The order follows from the ids alone, so it is
 *   the same after a restart and in the next rollout.
 * - Upgradable collectors come first, because an offline canary proves nothing.
 * - A collector that was started in a stage stays there. When it leaves the listing, its place stays taken.
 *
 * `stage-progress.ts` decides when a stage begins and ends.
 */
import type { Stage } from '../api/generated/collector-version-policy.ts';
import type { Collector } from '../service/collectors/upgrade-service.ts';
import { compileSelection, type Matcher } from './selector.ts';
import { type Counts, totalOf } from './standing-counts.ts';

/** Stage index of collectors without a stage, and of all collectors of a policy without stages. */
export const noStage = -1;

/** A collector with the inputs for its stage. */
export interface StageCandidate {
  readonly id: string;
  /** Bit mask of the stages whose selector matches the collector. The lowest bit is the first stage. */
  readonly matches: number;
  /** Index of the stage in which the collector was started. */
  readonly startedIn: number | undefined;
  /** Whether the collector can be upgraded or was upgraded. */
  readonly eligible: boolean;
  /** Whether the collector runs the target without having been started in a stage. */
  readonly isThere: boolean;
}

const noIndexes: ReadonlyMap<string, number> = new Map();

/** Stages of a policy, compiled once per generation of the spec. */
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

  /** Bit mask for `StageCandidate.matches`. */
  matches(collector: Collector): number {
    let bits = 0;
    for (const [index, matches] of this.#matchers.entries()) if (matches?.(collector)) bits |= 1 << index;
    return bits;
  }

  /**
   * Stage index of each candidate, in the order of the candidates; `noStage` when no stage takes it.
   * @param candidates in the order of `stageOrder`
   * @param vanished stages of the collectors that were started in them and are no candidates any more
   * @param settled frozen number of members of a stage, or undefined while it is not frozen. Free places of a frozen stage go only
   * to collectors that already run the target; a collector to upgrade would skip the approval, so it goes to the next stage. Beyond
   * its number, a frozen stage takes only collectors that no other stage takes
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

  /**
   * Assigns the remaining candidates to the first stage that takes them.
   * @param most maximum number of members of each stage, when smaller than its size
   */
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

/** Sort key of a collector for sizes of stages; ties are broken by id. An FNV-1a hash with mixed bits. */
export function stageOrder(id: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < id.length; at++) hash = Math.imul(hash ^ id.charCodeAt(at), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/** A number of collectors, or a percentage of `of`, rounded up and at least 1. */
export function shareOf(share: number | string, of: number): number {
  if (typeof share === 'number') return share;
  return Math.max(1, Math.ceil((Number.parseFloat(share) * of) / 100));
}

/** `maxInProgress` of a stage as a number, relative to its members; undefined when the stage sets none. */
export function placesOf({ maxInProgress }: Stage, counts: Counts): number | undefined {
  return maxInProgress === undefined ? undefined : shareOf(maxInProgress, totalOf(counts));
}

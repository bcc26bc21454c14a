/**
 * Sorts a policy's pending collectors in the order of their upgrades: by stage, then by `strategy.order`, then by
 * position in the service's list (U9).
 */

import type { CollectorVersionPolicySpec } from '../../api/generated/collector-version-policy.ts';
import { compareBuildVersions, parseBuildVersion } from '../../base/build-version.ts';
import { SparseSet } from '../../base/sparse.ts';
import { compareText } from '../../base/text-order.ts';
import type { MemberState } from './member-state.ts';

type Order = CollectorVersionPolicySpec['strategy']['order'];

/** Collector that is waiting for an upgrade, with its sort keys. */
export interface PendingMember {
  readonly id: string;
  readonly stage: number;
  readonly version: string | undefined;
  /** Name of the collector, if `strategy.order` orders collectors by name. */
  readonly name: string;
  /** Position of the collector in the service's list. */
  readonly place: number;
}

/** Current state and stage of a collector. */
interface Ordered {
  readonly memberState: MemberState;
  readonly stage: number;
}

type MemberOf = (id: string) => Ordered | undefined;

export class PendingOrder {
  readonly #sorted: readonly PendingMember[];
  #start = 0;
  /** Collectors that have become pending since the list was sorted. */
  readonly #returned = new SparseSet<string>();

  constructor(members: readonly PendingMember[], order: Order) {
    const versions = new Set(members.map(({ version = '' }) => version));
    const rank = rankVersions(versions, order);
    const ranked = members.map((member) => ({ ...member, rank: rank.get(member.version ?? '') ?? 0 }));
    this.#sorted = ranked.sort(comparePlaces);
  }

  returned(id: string): void {
    this.#returned.add(id);
  }

  forget(id: string): void {
    this.#returned.delete(id);
  }

  /** Skips the collectors at the start of the list that are no longer pending, so that `upTo` need not check them. */
  trim(memberOf: MemberOf): void {
    for (const id of this.#returned) if (!isPending(memberOf(id))) this.#returned.delete(id);
    const sorted = this.#sorted;
    while (this.#start < sorted.length && !isPending(memberOf((sorted[this.#start] as PendingMember).id)))
      this.#start++;
  }

  /** Yields the pending collectors of all stages up to `lastStage`, in the order of their upgrades. */
  *upTo(lastStage: number, memberOf: MemberOf): IterableIterator<string> {
    for (const id of this.#returned) {
      const member = memberOf(id);
      if (isPending(member) && member.stage <= lastStage) yield id;
    }
    for (let index = this.#start; index < this.#sorted.length; index++) {
      const { id, stage } = this.#sorted[index] as PendingMember;
      if (stage > lastStage) return;
      if (isPending(memberOf(id)) && !this.#returned.has(id)) yield id;
    }
  }
}

function isPending(member: Ordered | undefined): member is Ordered {
  return member?.memberState === 'pending';
}

type Ranked = PendingMember & { readonly rank: number };

function comparePlaces(left: Ranked, right: Ranked): number {
  return (
    left.stage - right.stage ||
    left.rank - right.rank ||
    compareText(left.name, right.name) ||
    left.place - right.place ||
    compareText(left.id, right.id)
  );
}

function rankVersions(versions: Iterable<string>, order: Order): ReadonlyMap<string, number> {
  if (order === 'Name') return new Map();
  const sign = order === 'OldestVersionFirst' ? 1 : -1;
  const sorted = [...versions].sort((left, right) => {
    const leftVersion = parseBuildVersion(left);
    const rightVersion = parseBuildVersion(right);
    if (!leftVersion || !rightVersion) return leftVersion ? -1 : rightVersion ? 1 : 0;
    return sign * compareBuildVersions(leftVersion, rightVersion);
  });
  return new Map(sorted.map((version, index) => [version, index]));
}

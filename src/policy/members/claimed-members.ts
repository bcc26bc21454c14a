/**
 * Keeps a policy's claims on collectors and its index of collectors up to date with the listing, the ledger and the ownership
 * table.
 *
 * Invariant: the policy claims exactly the collectors in its index. A collector is claimed before its state is computed, because
 * the state depends on the owner (U13).
 */
import type { CollectorVersionPolicySpec } from '../../api/generated/collector-version-policy.ts';
import { sameValue } from '../../base/canonical-text.ts';
import { SparseSet } from '../../base/sparse.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { type MemberIndexOptions, opensByCollector, PolicyMemberIndex } from './policy-member-index.ts';
import { anchorOf } from './selector.ts';

export class ClaimedMembers {
  readonly index: PolicyMemberIndex;
  readonly #options: MemberIndexOptions;
  /**
   * Collectors with a ledger entry that the policy does not select now. Changes of their listing rows are still observed, because
   * the policy may select these collectors again.
   */
  readonly #former = new SparseSet<string>();
  #isNew = true;

  constructor(options: MemberIndexOptions) {
    this.#options = options;
    this.index = new PolicyMemberIndex(options);
  }

  /** Whether this index was built for a policy with this spec and ledger. Otherwise, all collectors must be evaluated again. */
  isFor(spec: CollectorVersionPolicySpec, ledger: Ledger): boolean {
    const isSameTarget = ledger.header.target === this.index.context.targetVersion;
    return ledger === this.#options.ledger && isSameTarget && sameSelection(this.#options.spec, spec);
  }

  /** Updates the claims and the index of the policy's collectors from the listing, the ledger and the ownership table. */
  sync(): void {
    const { ownership, policy } = this.#options;
    this.index.noteStages();
    this.claimNew();
    for (const id of this.index.unsettled()) this.place(id);
    for (const id of ownership.takeChanged(policy)) this.place(id);
  }

  /** Evaluates only collectors whose listing rows changed, so that the policy claims new collectors early (U13). */
  claimNew(): void {
    const { listing, policy } = this.#options;
    if (this.#isNew) this.#begin();
    else for (const id of listing.rows.members.takeChanged(policy)) this.place(id);
  }

  /** Evaluates one collector again after a change of its row, its ledger entry or its owner. */
  place(id: string): void {
    const { listing, ledger, ownership, policy } = this.#options;
    const membership = this.index.membershipOf(id);
    const isMember = membership !== 'none';
    const isFormer = !isMember && ledger.entry(id) !== undefined;
    if (isMember) ownership.claim(policy, id);
    else ownership.unclaim(policy, id);
    if (isFormer) this.#former.add(id);
    else this.#former.delete(id);
    if (isMember || isFormer) listing.rows.members.follow(policy, id);
    else listing.rows.members.unfollow(policy, id);
    this.index.place(id, membership);
  }

  /** Stops observing changes of collectors. The policy keeps its claims. */
  leave(): void {
    const { listing, policy } = this.#options;
    const { members } = listing.rows;
    for (const id of [...this.index.ids(), ...this.#former]) members.unfollow(policy, id);
    members.leave(policy);
  }

  /** Evaluates every collector that the policy's selector may match, that has a ledger entry, or that the policy has claimed. */
  #begin(): void {
    this.#isNew = false;
    const { listing, ledger, ownership, policy, spec } = this.#options;
    const anchor = anchorOf(spec.selector);
    const onChange = () => ownership.outdate(policy, () => this.claimNew());
    listing.rows.members.enter(policy, { anchor, matches: this.index.matches, onChange });
    for (const id of listing.rows.anchored(anchor)) this.place(id);
    for (const { collectorId } of ledger.entries()) this.place(collectorId);
    for (const id of [...ownership.claimed(policy)]) if (!this.index.member(id)) this.place(id);
  }
}

/**
 * Whether two specs agree in all fields that determine which collectors a policy has, their states and their order. The index is
 * then still valid.
 */
export function sameSelection(left: CollectorVersionPolicySpec, right: CollectorVersionPolicySpec): boolean {
  return (
    left.allowDowngrade === right.allowDowngrade &&
    left.retryPolicy.limit === right.retryPolicy.limit &&
    left.strategy.order === right.strategy.order &&
    left.offlinePolicy === right.offlinePolicy &&
    opensByCollector(left) === opensByCollector(right) &&
    sameValue(
      [left.selector, left.exclude, left.strategy.stages],
      [right.selector, right.exclude, right.strategy.stages],
    )
  );
}

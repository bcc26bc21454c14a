/**
 * Keeps a policy's claims on collectors and its index of collectors up to date.
 *
 * Invariant: the policy claims exactly the collectors in its index. A collector is claimed before its state is computed,
 * because the state depends on the policy that owns the collector (U13).
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
   * Collectors with a ledger entry that the policy does not select at present. Their changes are observed, because the policy
   * may select these collectors again.
   */
  readonly #former = new SparseSet<string>();
  #isNew = true;

  constructor(options: MemberIndexOptions) {
    this.#options = options;
    this.index = new PolicyMemberIndex(options);
  }

  /** Whether the index fits this spec and this ledger. An index that does not fit is replaced by a new one. */
  isFor(spec: CollectorVersionPolicySpec, ledger: Ledger): boolean {
    const isSameTarget = ledger.header.target === this.index.context.targetVersion;
    return ledger === this.#options.ledger && isSameTarget && sameSelection(this.#options.spec, spec);
  }

  /** Updates the policy's claims and its index of collectors after changes of the service's list, the ledger or the owners. */
  sync(): void {
    const { ownership, policy } = this.#options;
    this.index.noteStages();
    this.claimNew();
    for (const id of this.index.unsettled()) this.place(id);
    for (const id of ownership.takeChanged(policy)) this.place(id);
  }

  /** Evaluates the collectors that changed in the service's list, so that the policy claims new collectors early (U13). */
  claimNew(): void {
    const { listing, policy } = this.#options;
    if (this.#isNew) this.#begin();
    else for (const id of listing.rows.members.takeChanged(policy)) this.place(id);
  }

  /** Updates the claim on one collector and the state of the collector. */
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

  /** Stops observing changes of the policy's collectors. The policy keeps its claims. */
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
 * Whether two specs give a policy the same collectors, in the same states and order, so that its index of collectors stays
 * valid.
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

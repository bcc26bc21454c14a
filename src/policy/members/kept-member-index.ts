/**
 * Keeps the index of a policy's collectors and the policy's claims on them from one decision to the next. The index is built again only
 * when the policy's selector, target or ledger changes.
 *
 * Invariant: the policy claims exactly the collectors that the index selects. A collector is claimed before its state is computed,
 * because the state depends on the policy that owns the collector (U13).
 */

import type { CollectorVersionPolicySpec } from '../../api/generated/collector-version-policy.ts';
import type { CollectorVersionPolicy } from '../../api/kinds.ts';
import { sameValue } from '../../base/canonical-text.ts';
import { SparseSet } from '../../base/sparse.ts';
import { Ledger } from '../ledger/ledger.ts';
import { nextRollout } from '../ledger/rollout-header.ts';
import type { PolicyEnvironment } from '../policy-environment.ts';
import type { Bound } from '../service-binding.ts';
import { type MemberIndexOptions, opensByCollector, PolicyMemberIndex } from './policy-member-index.ts';
import { anchorOf } from './selector.ts';

export class KeptMemberIndex {
  readonly #environment: Pick<PolicyEnvironment, 'clock' | 'settings'>;
  readonly #policy: string;
  #members: ClaimedMembers | undefined;
  /**
   * Whether the next decision must build a new index, because the policy's selector, target or ledger was replaced. The policy
   * keeps the claims of the outdated index until then.
   */
  #isOutdated = false;
  /** Empty ledger for a policy whose rollout cannot begin, because the service does not offer the target build. */
  #blank: Ledger | undefined;

  /** @param policy uid of the policy whose collectors are indexed */
  constructor(environment: Pick<PolicyEnvironment, 'clock' | 'settings'>, policy: string) {
    this.#environment = environment;
    this.#policy = policy;
  }

  /** Index of collectors from the last decision; undefined when there is none, or when it is outdated. */
  get known(): PolicyMemberIndex | undefined {
    return this.#isOutdated ? undefined : this.#members?.index;
  }

  /** Marks the index of collectors as outdated, so that the next decision builds a new index. */
  forget(): void {
    this.#isOutdated = true;
  }

  /** Evaluates a collector again after a change of its ledger entry. */
  place(id: string): void {
    this.#members?.place(id);
  }

  /** Stops observing changes of the policy's collectors and discards the index of collectors. The policy keeps its claims. */
  close(): void {
    this.#members?.leave();
    this.#members = undefined;
  }

  /**
   * Claims the collectors of a policy without a rollout, so that no other policy upgrades them. There is no rollout because
   * the service does not offer the target build (U13).
   */
  claim(policy: CollectorVersionPolicy, target: string, bound: Bound): void {
    if (this.#blank?.header.target !== target) {
      const beginning = { service: bound.account.serviceId, target, counts: undefined, wallMs: 0 };
      this.#blank = new Ledger(nextRollout(undefined, undefined, beginning));
    }
    this.current(policy, this.#blank, bound);
  }

  /** Returns the index of the policy's collectors, with their present states. */
  current({ spec }: CollectorVersionPolicy, ledger: Ledger, { listing, ownership }: Bound): PolicyMemberIndex {
    const { clock, settings } = this.#environment;
    const policy = this.#policy;
    const known = this.#isOutdated ? undefined : this.#members;
    const members = known?.isFor(spec, ledger)
      ? known
      : new ClaimedMembers({ policy, spec, listing, ownership, ledger, settings });
    if (members !== known) {
      this.close();
      this.#members = members;
      this.#isOutdated = false;
    }
    const seenMs = (listing.completeSinceMs() ?? 0) - settings.graceMs;
    ownership.forgetOrphans(clock.monotonic() - settings.openLimitMs, seenMs);
    // The other policies update their claims first, because this policy could otherwise claim collectors that belong to them
    // (U13).
    ownership.catchUp(policy);
    members.sync();
    ownership.announce();
    return members.index;
  }
}

export class ClaimedMembers {
  readonly index: PolicyMemberIndex;
  readonly #options: MemberIndexOptions;
  /**
   * Collectors with a ledger entry that the policy does not select at present. Changes of these collectors are observed,
   * because the policy may select them again.
   */
  readonly #former = new SparseSet<string>();
  #isNew = true;

  constructor(options: MemberIndexOptions) {
    this.#options = options;
    this.index = new PolicyMemberIndex(options);
  }

  /** Whether the index was built for this spec and this ledger. Otherwise a new index replaces it. */
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

  /**
   * Evaluates all collectors that the policy's selector may match, all with a ledger entry, and all that the policy has
   * claimed.
   */
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

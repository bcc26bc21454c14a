/**
 * Keeps the index of a policy's collectors between decisions. If the selector, the target or the ledger is replaced, a
 * new index is built. The policy claims exactly the collectors in the index (U13).
 */
import type { CollectorVersionPolicySpec } from '../../api/generated/collector-version-policy.ts';
import type { CollectorVersionPolicy } from '../../api/kinds.ts';
import { sameValue } from '../../base/canonical-text.ts';
import type { Clock } from '../../base/clock.ts';
import { SparseSet } from '../../base/sparse.ts';
import type { FleetListing } from '../../fleet/fleet-listing.ts';
import type { Bound } from '../../fleet/fleets.ts';
import type { Ownership } from '../../fleet/ownership.ts';
import type { PolicySettings } from '../attempts/settings.ts';
import { Ledger } from '../ledger/ledger.ts';
import { nextRollout } from '../ledger/rollout-header.ts';
import { opensByCollector } from '../schedule/maintenance-calendar.ts';
import { type ListedRows, type MemberIndexOptions, PolicyMemberIndex } from './policy-member-index.ts';
import { anchorOf } from './selector.ts';

export interface MemberIndexEnvironment {
  readonly clock: Clock;
  readonly settings: PolicySettings;
}

export class MemberIndexCache {
  readonly #environment: MemberIndexEnvironment;
  readonly #policy: string;
  #members: ClaimedMembers | undefined;
  /** True if the next decision must build a new index. */
  #isOutdated = false;
  /**
   * Empty ledger for a policy whose rollout cannot begin yet, for example because the service does not offer the target
   * build.
   */
  #blank: Ledger | undefined;

  /** @param policy uid of the policy whose collectors are indexed */
  constructor(environment: MemberIndexEnvironment, policy: string) {
    this.#environment = environment;
    this.#policy = policy;
  }

  /**
   * Index of collectors from the last decision. Undefined before the first decision, or if the next decision must build
   * a new index.
   */
  get known(): PolicyMemberIndex | undefined {
    return this.#isOutdated ? undefined : this.#members?.index;
  }

  forget(): void {
    this.#isOutdated = true;
  }

  /**
   * After a change to a collector's ledger entry, updates the collector's state and the policy's claim on the
   * collector.
   */
  update(id: string): void {
    this.#members?.update(id);
  }

  /** Discards the index, but keeps the policy's claims on its collectors. */
  close(): void {
    this.#members?.leave();
    this.#members = undefined;
  }

  /**
   * Claims the policy's collectors although the rollout cannot begin yet, so that no other policy upgrades them (U13).
   */
  claim(policy: CollectorVersionPolicy, target: string, bound: Bound): void {
    if (this.#blank?.header.target !== target) {
      const beginning = { service: bound.account.serviceId, target, counts: undefined, wallMs: 0 };
      this.#blank = new Ledger(nextRollout(undefined, undefined, beginning));
    }
    this.current(policy, this.#blank, bound);
  }

  /** Updates the state of each changed collector, and returns the index of the policy's collectors. */
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
    // Lets all other policies update their claims first, so that this policy does not become the owner of their
    // collectors (U13).
    ownership.catchUp(policy);
    members.sync();
    ownership.announce();
    return members.index;
  }
}

export interface ClaimedMembersOptions extends MemberIndexOptions {
  readonly listing: ListedRows & Pick<FleetListing, 'rows'>;
  readonly ownership: Ownership;
  readonly ledger: Ledger;
}

/** Index of a policy's collectors, and the policy's claims on them in the ownership table. */
export class ClaimedMembers {
  readonly index: PolicyMemberIndex;
  readonly #options: ClaimedMembersOptions;
  /** Collectors that no longer belong to the policy, but are still in its ledger. */
  readonly #former = new SparseSet<string>();
  #isNew = true;

  constructor(options: ClaimedMembersOptions) {
    this.#options = options;
    this.index = new PolicyMemberIndex(options);
  }

  /** Reports whether the index was built for this spec and ledger. */
  isFor(spec: CollectorVersionPolicySpec, ledger: Ledger): boolean {
    const isSameTarget = ledger.header.target === this.index.context.targetVersion;
    return ledger === this.#options.ledger && isSameTarget && sameSelection(this.#options.spec, spec);
  }

  /** Updates the index after changes to the service's list, the ledger, or the owners of collectors. */
  sync(): void {
    const { ownership, policy } = this.#options;
    for (const id of this.index.noteStages()) this.update(id);
    this.claimNew();
    for (const id of this.index.unfinished()) this.update(id);
    for (const id of ownership.takeChanged(policy)) this.update(id);
    this.index.sortPending();
  }

  /**
   * Evaluates the collectors that have changed in the service's list, so that new collectors are claimed before the
   * next decision (U13).
   */
  claimNew(): void {
    const { listing, policy } = this.#options;
    if (this.#isNew) this.#begin();
    else for (const id of listing.rows.members.takeChanged(policy)) this.update(id);
  }

  /** Adds or removes the policy's claim on one collector, and updates the state of the collector in the index. */
  update(id: string): void {
    const membership = this.index.membershipOf(id);
    this.#claim(id, membership !== 'none');
    this.index.place(id, membership);
  }

  #claim(id: string, isMember: boolean): void {
    const { listing, ledger, ownership, policy } = this.#options;
    const isFormer = !isMember && (ledger.entry(id) ?? ledger.listedIn(id)) !== undefined;
    if (isMember) ownership.claim(policy, id);
    else ownership.unclaim(policy, id);
    if (isFormer) this.#former.add(id);
    else this.#former.delete(id);
    if (isMember || isFormer) listing.rows.members.follow(policy, id);
    else listing.rows.members.unfollow(policy, id);
  }

  /** Stops the notifications about changed collectors, but keeps the policy's claims on its collectors. */
  leave(): void {
    const { listing, policy } = this.#options;
    const { members } = listing.rows;
    for (const id of [...this.index.ids(), ...this.#former]) members.unfollow(policy, id);
    members.leave(policy);
  }

  /**
   * Evaluates all collectors that the selector might match, that the ledger contains, or that the policy has claimed.
   */
  #begin(): void {
    this.#isNew = false;
    const { listing, ledger, ownership, policy, spec } = this.#options;
    const anchor = anchorOf(spec.selector);
    const onChange = () => ownership.outdate(policy, () => this.claimNew());
    listing.rows.members.enter(policy, { anchor, matches: this.index.matches, onChange });
    for (const id of listing.rows.anchored(anchor)) this.update(id);
    for (const { collectorId } of ledger.entries()) this.update(collectorId);
    for (const id of [...ledger.listed(), ...ownership.claimed(policy)]) if (!this.index.member(id)) this.update(id);
  }
}

/**
 * Reports whether two specs select the same collectors, give them the same states and upgrade them in the same order.
 */
export function sameSelection(left: CollectorVersionPolicySpec, right: CollectorVersionPolicySpec): boolean {
  return (
    left.allowDowngrade === right.allowDowngrade &&
    left.retryPolicy.limit === right.retryPolicy.limit &&
    left.strategy.order === right.strategy.order &&
    left.offlinePolicy === right.offlinePolicy &&
    opensByCollector(left.maintenance) === opensByCollector(right.maintenance) &&
    sameValue(
      [left.selector, left.exclude, left.strategy.stages],
      [right.selector, right.exclude, right.strategy.stages],
    )
  );
}

/**
 * The index of members of one policy in this process. The index is built again when the selection, the target or the ledger
 * changes. Otherwise, each decision updates the existing index.
 *
 * Invariant: the policy's claims in the ownership table are the collectors that the current index selects.
 */
import type { CollectorVersionPolicy } from '../../api/kinds.ts';
import { sameValue } from '../../base/canonical-text.ts';
import { Ledger } from '../ledger/ledger.ts';
import { nextRollout } from '../ledger/rollout-header.ts';
import type { PolicyEnvironment } from '../policy-environment.ts';
import type { Bound } from '../service-binding.ts';
import { ClaimedMembers } from './claimed-members.ts';
import { opensByCollector, type PolicyMemberIndex } from './policy-member-index.ts';

type Spec = CollectorVersionPolicy['spec'];

interface Kept {
  /**
   * Set when the selection, target or ledger of the policy has been replaced. This index is then not used for
   * decisions. Until the next index is built, it observes changes and keeps the claims.
   */
  readonly isOutdated?: true;
  readonly members: ClaimedMembers;
  readonly spec: Spec;
  readonly ledger: Ledger;
  readonly target: string;
}

export class KeptMemberIndex {
  readonly #environment: Pick<PolicyEnvironment, 'clock' | 'settings'>;
  readonly #policy: string;
  #kept: Kept | undefined;
  /** Empty ledger for a policy whose rollout cannot begin. */
  #blank: Ledger | undefined;

  /**
   * Creates the kept index of one policy.
   * @param policy Kubernetes uid of the policy
   */
  constructor(environment: Pick<PolicyEnvironment, 'clock' | 'settings'>, policy: string) {
    this.#environment = environment;
    this.#policy = policy;
  }

  /** Index of members that the last decision used; undefined before the first decision. */
  get known(): PolicyMemberIndex | undefined {
    return this.#kept?.isOutdated ? undefined : this.#kept?.members.index;
  }

  /** Marks the index as outdated, so that the next decision builds a new index. */
  forget(): void {
    if (this.#kept) this.#kept = { ...this.#kept, isOutdated: true };
  }

  /** Evaluates a collector again after a change of its ledger entry. */
  place(id: string): void {
    this.#kept?.members.place(id);
  }

  /** Releases all claims and stops observing. Called when the policy was deleted or uses another account. */
  close(): void {
    this.#kept?.members.leave();
    this.#kept = undefined;
  }

  /**
   * Claims the selected collectors of a policy that has no rollout, because the service does not offer the policy's build and
   * the policy never had another target (U13).
   */
  claim(policy: CollectorVersionPolicy, target: string, bound: Bound): void {
    if (this.#blank?.header.target !== target) {
      const beginning = { service: bound.account.serviceId, target, counts: undefined, wallMs: 0 };
      this.#blank = new Ledger(nextRollout(undefined, undefined, beginning));
    }
    this.current(policy, this.#blank, bound);
  }

  /** Index of the collectors that the policy selects, with their states computed for the ledger's target version. */
  current({ spec }: CollectorVersionPolicy, ledger: Ledger, { listing, ownership }: Bound): PolicyMemberIndex {
    const { clock, settings } = this.#environment;
    const policy = this.#policy;
    const { target } = ledger.header;
    let kept = this.#kept;
    if (kept?.ledger !== ledger || kept.isOutdated || kept.target !== target || !sameSelection(kept.spec, spec)) {
      kept?.members.leave();
      const members = new ClaimedMembers({
        policy,
        spec,
        targetVersion: target,
        listing,
        ownership,
        ledger,
        settings,
      });
      kept = { members, spec, ledger, target };
      this.#kept = kept;
      ownership.follow(policy, () => members.claimNew());
    }
    const seenMs = (listing.completeSinceMs() ?? 0) - settings.graceMs;
    ownership.forgetOrphans(clock.monotonic() - settings.openLimitMs, seenMs);
    // The other policies claim new collectors before this policy, so that it does not take collectors that belong to
    // them (U13).
    ownership.catchUp(policy);
    kept.members.sync();
    ownership.announce();
    return kept.members.index;
  }
}

/** Whether two specs agree in all fields that determine the states and the order of members, so that the index can be kept. */
export function sameSelection(left: Spec, right: Spec): boolean {
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

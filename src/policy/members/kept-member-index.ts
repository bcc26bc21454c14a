/**
 * Keeps the index of a policy's collectors from one decision to the next. The index is built again only when the policy's
 * selector, target or ledger changes.
 *
 * Invariant: the policy claims exactly the collectors that the index selects.
 */
import type { CollectorVersionPolicy } from '../../api/kinds.ts';
import { Ledger } from '../ledger/ledger.ts';
import { nextRollout } from '../ledger/rollout-header.ts';
import type { PolicyEnvironment } from '../policy-environment.ts';
import type { Bound } from '../service-binding.ts';
import { ClaimedMembers } from './claimed-members.ts';
import type { PolicyMemberIndex } from './policy-member-index.ts';

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

  /** Stops observing the policy's collectors and discards their index. The policy keeps its claims. */
  close(): void {
    this.#members?.leave();
    this.#members = undefined;
  }

  /**
   * Claims the collectors of a policy without a rollout, so that no other policy upgrades them. The policy has no rollout,
   * because the service does not offer its target build (U13).
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

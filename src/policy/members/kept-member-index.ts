/**
 * The index of one policy's collectors in this process. The index is built again when the selector, the target or the ledger
 * changes. Otherwise, each decision updates the existing index.
 *
 * Invariant: the policy's claims in the ownership table are the collectors that the current index selects.
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
   * Whether the selector, target or ledger of the policy has been replaced since the index was built. An outdated index is not
   * used for decisions, but keeps the policy's claims until the next index is built.
   */
  #isOutdated = false;
  /** Empty ledger for a policy whose rollout cannot begin. */
  #blank: Ledger | undefined;

  /**
   * Creates the index of one policy's collectors.
   * @param policy Kubernetes uid of the policy
   */
  constructor(environment: Pick<PolicyEnvironment, 'clock' | 'settings'>, policy: string) {
    this.#environment = environment;
    this.#policy = policy;
  }

  /** Index of collectors that the last decision used; undefined before the first decision. */
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

  /** Releases all claims and stops observing collectors. Called when the policy was deleted or uses another account. */
  close(): void {
    this.#members?.leave();
    this.#members = undefined;
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
    // Before this policy claims new collectors, the other policies do so. Otherwise it could take collectors that belong to the
    // other policies (U13).
    ownership.catchUp(policy);
    members.sync();
    ownership.announce();
    return members.index;
  }
}

/**
 * The roster of one policy as this process keeps it: made anew when selection, target or ledger is another, brought up to date for
 * each decision otherwise.
 *
 * Invariant: what is claimed in ownership is what the present roster selects.
 */
import type { CollectorVersionPolicy } from '../api/kinds.ts';
import { sameValue } from '../base/canonical-text.ts';
import type { Clock } from '../base/clock.ts';
import { Ledger } from './ledger.ts';
import { nextRollout } from './rollout.ts';
import { opensByCollector, Roster } from './roster.ts';
import type { Bound } from './service-binding.ts';
import type { PolicySettings } from './settings.ts';

export interface KeptRosterOptions {
  /** uid of the policy. */
  readonly policy: string;
  readonly clock: Clock;
  readonly settings: PolicySettings;
}

type Spec = CollectorVersionPolicy['spec'];

interface Kept {
  /** Whether it stands on what is no more. It hears of changes, and claims, until the next one is made. */
  readonly isOutdated?: true;
  readonly roster: Roster;
  readonly spec: Spec;
  readonly ledger: Ledger;
  readonly target: string;
}

export class KeptRoster {
  readonly #options: KeptRosterOptions;
  #kept: Kept | undefined;
  /** Stands for the ledger of a rollout that cannot begin. */
  #blank: Ledger | undefined;

  constructor(options: KeptRosterOptions) {
    this.#options = options;
  }

  /** As of the last decision; undefined where there was none. */
  get known(): Roster | undefined {
    return this.#kept?.isOutdated ? undefined : this.#kept?.roster;
  }

  /** It stands on what is no more: the next one is made anew. */
  forget(): void {
    if (this.#kept) this.#kept = { ...this.#kept, isOutdated: true };
  }

  /** The policy is gone, or speaks to another account. */
  close(): void {
    this.#kept?.roster.leave();
    this.#kept = undefined;
  }

  /** Claims what the policy selects, where there is no rollout: the build that it wants is not offered, and it has had no other (U13). */
  claim(policy: CollectorVersionPolicy, target: string, bound: Bound): void {
    if (this.#blank?.header.target !== target) {
      const beginning = { service: bound.account.serviceId, target, counts: undefined, wallMs: 0 };
      this.#blank = new Ledger(nextRollout(undefined, undefined, beginning));
    }
    this.current(policy, this.#blank, bound);
  }

  /** How the collectors that the policy selects stand now towards the ledger's target. */
  current({ spec }: CollectorVersionPolicy, ledger: Ledger, { listing, ownership }: Bound): Roster {
    const { policy, clock, settings } = this.#options;
    const { target } = ledger.header;
    let kept = this.#kept;
    if (kept?.ledger !== ledger || kept.isOutdated || kept.target !== target || !sameSelection(kept.spec, spec)) {
      kept?.roster.leave();
      const roster = new Roster({ policy, spec, targetVersion: target, listing, ownership, ledger, settings });
      kept = { roster, spec, ledger, target };
      this.#kept = kept;
      ownership.follow(policy, () => roster.claimNew());
    }
    const seenMs = (listing.completeSinceMs() ?? 0) - settings.graceMs;
    ownership.forgetOrphans(clock.monotonic() - settings.openLimitMs, seenMs);
    // Of who is new, the others claim what is theirs first (U13).
    ownership.catchUp(policy);
    kept.roster.sync();
    ownership.announce();
    return kept.roster;
  }
}

/** Whether everything that decides standings and order is the same, so that a roster can be kept. */
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

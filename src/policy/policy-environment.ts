/** Objects that all policies of this process share. */
import type { Counter, Metrics } from '../base/metrics.ts';
import type { Host, ResourceKey } from '../host/host.ts';
import type { BindingEnvironment } from './attempts/service-binding.ts';
import type { PolicySettings } from './attempts/settings.ts';
import { type EndingKind, type Entry, endingKinds } from './ledger/ledger.ts';
import type { ClaimTurns } from './members/claim-turns.ts';

export interface PolicyEnvironment extends BindingEnvironment {
  readonly host: Host;
  readonly settings: PolicySettings;
  readonly turns: ClaimTurns;
  readonly attempts: AttemptCounter;
  /** Requests another reconcile of this policy. */
  readonly enqueue: (key: ResourceKey) => void;
  /** Returns whether this process is about to end. Then it starts no new upgrades. */
  readonly draining: () => boolean;
}

/** Endings that replace the ending `updated` later. No attempt has them as its outcome. */
const endsLater: ReadonlySet<EndingKind> = new Set(['died', 'left']);

/** Metric that counts the ended upgrade attempts of all policies by outcome. */
export class AttemptCounter {
  readonly #attempts: Counter;

  constructor(metrics: Metrics) {
    this.#attempts = metrics.counter(
      'logfleet_upgrade_attempts_total',
      'Upgrade attempts that have ended, by outcome. Upgrades that other tools started are not counted.',
      ['outcome'],
    );
    // Creates the series with the value 0. Without it, the increase of the counter would miss the first attempt with an
    // outcome.
    for (const outcome of endingKinds.filter((kind) => !endsLater.has(kind))) this.#attempts.add({ outcome }, 0);
  }

  /** Increments the counter if this change of a ledger entry ends an upgrade that logfleet started. */
  changed(before: Entry | undefined, after: Entry | undefined): void {
    if (!before?.open?.ours || !after?.ending || after.open || after.ending === before.ending) return;
    this.#attempts.add({ outcome: after.ending.kind });
  }
}

/** Objects shared by all policies in this process. */
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
  /** Reports whether this process is about to end. A process that is about to end starts no new upgrades. */
  readonly draining: () => boolean;
}

/**
 * Outcomes that can later replace the outcome `updated` of an upgrade attempt. The metric ignores these outcomes,
 * because it has already counted the attempt as `updated`.
 */
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
    // Creates all series with the value 0. Otherwise, a query for the counter's increase would miss the first attempt
    // with each outcome.
    for (const outcome of endingKinds.filter((kind) => !endsLater.has(kind))) this.#attempts.add({ outcome }, 0);
  }

  /** Increments the counter if this change to a ledger entry ends an upgrade that logfleet started. */
  changed(before: Entry | undefined, after: Entry | undefined): void {
    if (!before?.open?.ours || !after?.ending || after.open || after.ending === before.ending) return;
    this.#attempts.add({ outcome: after.ending.kind });
  }
}

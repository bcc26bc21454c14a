/** Metric that counts the ended upgrade attempts of all policies, by their outcome. */
import type { Counter, Metrics } from '../../base/metrics.ts';
import type { Entry } from '../ledger/ledger.ts';

export class AttemptCounter {
  readonly #attempts: Counter;

  constructor(metrics: Metrics) {
    this.#attempts = metrics.counter(
      'logfleet_upgrade_attempts_total',
      'Upgrade attempts that have ended, by outcome. Upgrades that other tools started are not counted.',
      ['outcome'],
    );
  }

  /** Counts the attempt that ended when the ledger entry of a collector changed. Does nothing if no attempt ended. */
  changed(before: Entry | undefined, after: Entry | undefined): void {
    if (!before?.open?.ours || !after?.ending || after.open || after.ending === before.ending) return;
    this.#attempts.add({ outcome: after.ending.kind });
  }
}

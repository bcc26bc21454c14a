/**
 * Time limits and size limits of the upgrade protocol (rules U1 to U14), collected in one object so that tests and demos can
 * change them together.
 */

export interface PolicySettings {
  /**
   * Grace period G in ms: the maximum time until an effect, such as a completed upgrade, shows in every listing of the service.
   */
  readonly graceMs: number;
  /** Age in ms, since acceptance, adoption or takeover, at which a new listing decides how an open attempt has ended (U5). */
  readonly openLimitMs: number;
  /** Minimum interval in ms between the two listings that confirm that a collector left the target version (U8). */
  readonly driftConfirmMs: number;
  /** Age in ms at which an attempt that is stored in the ledger and not sent yet is no longer posted (U2). */
  readonly intentLifeMs: number;
  /** Maximum number of attempts that are stored in the ledger together before they are posted (U2). */
  readonly batchSize: number;
  /** Maximum number of open upgrade attempts of one policy (U1). */
  readonly maxOpen: number;
  /**
   * Minimum interval in ms between two writes of a policy's status in which only counts and
   * estimates have changed.
   */
  readonly statusIntervalMs: number;
  /**
   * Delay in ms between the acceptance of an upgrade task and the first read of its status, while usual durations of upgrades are
   * unknown.
   */
  readonly firstReadMs: number;
  /** Maximum time in ms for which a finished upgrade waits until other upgrades on its page of the collector list finish. */
  readonly pageWaitMs: number;
}

export const policySettings: PolicySettings = {
  graceMs: 60_000,
  openLimitMs: 35 * 60_000,
  driftConfirmMs: 10 * 60_000,
  intentLifeMs: 5_000,
  batchSize: 20,
  maxOpen: 1_000,
  statusIntervalMs: 10_000,
  firstReadMs: 15_000,
  pageWaitMs: 60_000,
};

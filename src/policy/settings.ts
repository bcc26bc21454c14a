/** Time and size limits of the upgrade protocol (rules U1 to U14), in one object so that tests and demos can change them. */

export interface PolicySettings {
  /** Grace period G in ms. A listing requested this long after a change, such as a completed upgrade, shows the change. */
  readonly graceMs: number;
  /** Age in ms of an open attempt, since acceptance or discovery, at which a new listing decides how it has ended (U5). */
  readonly openLimitMs: number;
  /** Minimum interval in ms between the two listings that confirm that a collector left the target version (U8). */
  readonly driftConfirmMs: number;
  /** Age in ms at which a stored attempt expires: its POST is not sent any more (U2). */
  readonly intentLifeMs: number;
  /** Maximum number of attempts that are stored in the ledger together before they are posted (U2). */
  readonly batchSize: number;
  /** Maximum number of open upgrade attempts of one policy (U1). */
  readonly maxOpen: number;
  /** Minimum interval in ms between two writes of a status in which only counts and estimates have changed. */
  readonly statusIntervalMs: number;
  /**
   * Delay in ms from the acceptance of an upgrade task to the first read of its status, while the usual duration of an
   * upgrade is unknown.
   */
  readonly firstReadMs: number;
  /** Maximum delay in ms of the read of a page, so that one read shows the end of several upgrades on the page. */
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

/**
 * Settings for a service with this grace period. If the grace period is short, as in a simulator, upgrade tasks are also read
 * sooner.
 */
export function settingsForGrace(graceMs: number): Pick<PolicySettings, 'graceMs' | 'firstReadMs'> {
  return { graceMs, firstReadMs: Math.min(policySettings.firstReadMs, 5 * graceMs) };
}

/**
 * Time limits and size limits of the upgrade protocol (rules U1 to U14), collected in one object so that tests and demos can
 * change them together.
 */

export interface PolicySettings {
  /**
   * Grace period G in ms: after this time, every listing of the service shows an effect such as a completed upgrade.
   */
  readonly graceMs: number;
  /**
   * Age in ms of an open attempt at which a new listing decides how the attempt has ended (U5). The age counts from the
   * acceptance of the attempt, from its adoption (logfleet found it running), or from the start of this process's
   * leadership.
   */
  readonly openLimitMs: number;
  /** Minimum interval in ms between the two listings that confirm that a collector left the target version (U8). */
  readonly driftConfirmMs: number;
  /** Age in ms at which a stored attempt expires: its POST is not sent any more (U2). */
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
  /**
   * Maximum time in ms for which the read of a page waits, so that one read shows the end of several upgrades on the page.
   */
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
 * Settings for a service whose listings show effects within `graceMs`. If that is only a few seconds, as with a simulator,
 * upgrades are fast as well, so the first read of their tasks comes sooner.
 */
export function settingsForGrace(graceMs: number): Pick<PolicySettings, 'graceMs' | 'firstReadMs'> {
  return { graceMs, firstReadMs: Math.min(policySettings.firstReadMs, 5 * graceMs) };
}

/** Time and size limits of the upgrade protocol (rules U1 to U14). Tests and demos can change them. */

export interface PolicySettings {
  /**
   * Grace period in ms. A listing that is requested less than a grace period after a collector has changed may be
   * outdated.
   */
  readonly graceMs: number;
  /**
   * Time limit for a running upgrade, in ms. After this time, the next listing determines the outcome of the upgrade
   * (U5).
   */
  readonly openLimitMs: number;
  /** Minimum interval in ms between the two listings that confirm that a collector left the target version (U8). */
  readonly driftConfirmMs: number;
  /** Time in ms after which a stored upgrade expires if its request has not been sent (U2). */
  readonly intentLifeMs: number;
  /** Maximum number of upgrades that are stored in the ledger before their requests are sent (U2). */
  readonly batchSize: number;
  /** Maximum number of open upgrade attempts per policy (U1). */
  readonly maxOpen: number;
  /** Minimum interval in ms between two status writes that change only counts and estimates. */
  readonly statusIntervalMs: number;
  /**
   * Delay in ms from the start of an upgrade to the first read of its task. Used until the usual duration of an upgrade
   * is known.
   */
  readonly firstReadMs: number;
  /**
   * Maximum delay of the read of a collector-list page, in ms. A delayed read can show the ends of several upgrades.
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
 * Returns the settings that depend on the grace period. A short grace period (for example in a simulation) also
 * shortens the delay before the first read of a task.
 */
export function settingsForGrace(graceMs: number): Pick<PolicySettings, 'graceMs' | 'firstReadMs'> {
  return { graceMs, firstReadMs: Math.min(policySettings.firstReadMs, 5 * graceMs) };
}

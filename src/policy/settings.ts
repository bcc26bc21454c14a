/** Time and size limits of the upgrade protocol (rules U1 to U14). Tests and demos can change them. */

export interface PolicySettings {
  /** Grace period in ms. A listing that is requested this long after a change is sure to show the change. */
  readonly graceMs: number;
  /**
   * Maximum age in ms of a running upgrade. A listing that is requested after this age decides how the upgrade has
   * ended (U5).
   */
  readonly openLimitMs: number;
  /** Minimum interval in ms between two listings that confirm that a collector left the target version (U8). */
  readonly driftConfirmMs: number;
  /** Age in ms at which an upgrade that is stored and not requested expires (U2). */
  readonly intentLifeMs: number;
  /** Maximum number of upgrades that are stored together before they are requested (U2). */
  readonly batchSize: number;
  /** Maximum number of open upgrade attempts of one policy (U1). */
  readonly maxOpen: number;
  /** Minimum interval in ms between two status writes in which only counts and estimates have changed. */
  readonly statusIntervalMs: number;
  /** Delay in ms from the start of an upgrade to the first read of its task, while the usual duration is unknown. */
  readonly firstReadMs: number;
  /** Maximum delay in ms of a page read, so that one read shows several upgrades. */
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
 * Returns the settings that depend on the grace period. If it is short, as in a simulator, upgrade tasks are read
 * sooner.
 */
export function settingsForGrace(graceMs: number): Pick<PolicySettings, 'graceMs' | 'firstReadMs'> {
  return { graceMs, firstReadMs: Math.min(policySettings.firstReadMs, 5 * graceMs) };
}

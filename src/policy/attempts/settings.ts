/** Time and size limits of the upgrade protocol (rules U1 to U14). Tests and demos can change them. */

export interface PolicySettings {
  /** Time in ms after a change until every new listing shows the change. An earlier listing may be outdated. */
  readonly graceMs: number;
  /** Time limit in ms of a running upgrade. After this time, the next listing decides how the upgrade ended (U5). */
  readonly openLimitMs: number;
  /** Minimum interval in ms between two listings that confirm that a collector left the target version (U8). */
  readonly driftConfirmMs: number;
  /** After this time in ms, a stored upgrade expires if its request was not sent (U2). */
  readonly intentLifeMs: number;
  /** Maximum number of upgrades that are stored together before they are requested (U2). */
  readonly batchSize: number;
  /** Maximum number of open upgrade attempts of one policy (U1). */
  readonly maxOpen: number;
  /** Minimum interval in ms between two status writes in which only counts and estimates have changed. */
  readonly statusIntervalMs: number;
  /**
   * Delay in ms from the start of an upgrade to the first read of its task. Used until the usual duration of upgrades
   * is known.
   */
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
 * Returns the settings that depend on the grace period. A short grace period, as in a simulator, also shortens the
 * delay before the first read of a task.
 */
export function settingsForGrace(graceMs: number): Pick<PolicySettings, 'graceMs' | 'firstReadMs'> {
  return { graceMs, firstReadMs: Math.min(policySettings.firstReadMs, 5 * graceMs) };
}

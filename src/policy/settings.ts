/** Times and limits of the upgrade protocol (U), in one object so that tests and demos can change them together. */

export interface PolicySettings {
  /** G: the time that the service may need until an effect shows in every listing. */
  readonly graceMs: number;
  /** Age of an attempt after acceptance, adoption or takeover at which a new listing decides its end (U5). */
  readonly openLimitMs: number;
  /** Minimum interval between the two listings that confirm a drift (U8). */
  readonly driftConfirmMs: number;
  /** Age at which a written-ahead attempt is no longer posted (U2). */
  readonly intentLifeMs: number;
  /** Maximum number of attempts in one written-ahead batch (U2). */
  readonly batchSize: number;
  /** Maximum number of open attempts of one policy (U1). */
  readonly maxOpen: number;
  /** Minimum interval between writes of the figures in status. */
  readonly statusIntervalMs: number;
  /** Delay of the first read of a task's status after its acceptance, while durations of upgrades are not known. */
  readonly firstReadMs: number;
  /** Maximum time that a finished task waits for others of its page to finish. */
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

/** The named times and limits of the upgrade protocol (U). One object, so that tests and demonstrations set them together. */

export interface PolicySettings {
  /** G: what the service may need until an effect shows in every listing. */
  readonly graceMs: number;
  /** U5: an attempt without an end this long after acceptance, adoption or takeover is judged by a fresh listing. */
  readonly openLimitMs: number;
  /** U8: drift is acted on after two listings this far apart. */
  readonly driftConfirmMs: number;
  /** U2: attempts older than this are not posted. */
  readonly intentLifeMs: number;
  /** U2: attempts are written ahead in batches of at most this many. */
  readonly batchSize: number;
  /** U1: at most this many attempts are open in one policy. */
  readonly maxOpen: number;
  /** Figures in status are written at most once in this time. */
  readonly statusIntervalMs: number;
  /** The first read of a task's status after its acceptance, while nothing is known of how long upgrades take. */
  readonly firstReadMs: number;
  /** A finished task waits at most this long for others of its page to finish. */
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

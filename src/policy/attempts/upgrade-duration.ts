/** Estimates, from earlier upgrades, the time within which nearly all upgrades end. */

/** Shortest and longest possible duration of a successful upgrade, in ms. */
export interface DurationSample {
  /** Age of the upgrade in ms when a read first showed that it had ended. */
  readonly endedByMs: number;
  /**
   * Age of the upgrade in ms when a read last showed that it was still running. 0 if no read showed a running upgrade.
   */
  readonly unendedAtMs: number;
}

/**
 * After an upgrade that was shorter or longer than estimated, the estimate moves by one of these fractions of the
 * difference. The estimate falls slowly and rises fast, so that nearly all upgrades take less time than estimated.
 */
const downShare = 0.02;
const upShare = 0.1;
/**
 * Maximum duration of an upgrade in ms. The service ends an upgrade after 30 minutes (section 8 of docs/service.md).
 */
const longestMs = 30 * 60_000;

/**
 * Updates the estimate after another upgrade has ended. Returns the time in ms within which nearly all upgrades end.
 * @param typicalMs previous estimate; undefined if no upgrade had ended before
 */
export function typicalAfter(typicalMs: number | undefined, { endedByMs, unendedAtMs }: DurationSample): number {
  if (typicalMs === undefined) return Math.min(longestMs, endedByMs);
  if (endedByMs < typicalMs) return typicalMs - downShare * (typicalMs - endedByMs);
  return unendedAtMs < typicalMs ? typicalMs : Math.min(longestMs, typicalMs + upShare * (endedByMs - typicalMs));
}

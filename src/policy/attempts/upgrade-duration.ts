/** Estimates, from earlier upgrades, the time within which nearly all upgrades end. */

/** Shortest and longest possible duration of a successful upgrade, in ms. */
export interface DurationSample {
  /** Age of the upgrade in ms at the first read that showed the end of the upgrade. */
  readonly endedByMs: number;
  /**
   * Age of the upgrade in ms at the last read that showed that the upgrade was still running; 0 if there was no such
   * read.
   */
  readonly unendedAtMs: number;
}

/**
 * Fractions of the difference between the estimate and the duration of an upgrade. They set how far a shorter upgrade
 * lowers the estimate (`downShare`), and how far a longer upgrade raises it (`upShare`). The estimate falls slowly and
 * rises fast, so nearly all upgrades take less time than estimated.
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

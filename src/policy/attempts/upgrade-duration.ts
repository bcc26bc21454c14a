/** Estimates, from the durations of earlier upgrades, the time within which nearly all upgrades end. */

/** Shortest and longest possible duration of a successful upgrade, in ms. */
export interface DurationSample {
  /** Age in ms at which the upgrade had ended. */
  readonly endedByMs: number;
  /** Age of the upgrade in ms when a read last showed that it was still running. 0 if no read showed this. */
  readonly unendedAtMs: number;
}

/**
 * Fractions by which a shorter and a longer upgrade change the estimate. The estimate falls slowly and rises fast, so
 * that nearly all upgrades are shorter.
 */
const downShare = 0.02;
const upShare = 0.1;
/** Maximum duration of an upgrade in ms: the service ends it after 30 minutes (section 8). */
const longestMs = 30 * 60_000;

export class UpgradeDuration {
  #typicalMs: number | undefined;

  /** Time in ms within which nearly all upgrades end. Undefined until the first upgrade has ended. */
  get typicalMs(): number | undefined {
    return this.#typicalMs;
  }

  learn({ endedByMs, unendedAtMs }: DurationSample): void {
    const typical = this.#typicalMs;
    if (typical === undefined) this.#typicalMs = Math.min(longestMs, endedByMs);
    else if (endedByMs < typical) this.#typicalMs = typical - downShare * (typical - endedByMs);
    else if (unendedAtMs >= typical) {
      this.#typicalMs = Math.min(longestMs, typical + upShare * (endedByMs - typical));
    }
  }
}

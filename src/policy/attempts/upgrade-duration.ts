/** Estimates how long nearly all upgrades take at most, from the upgrades so far. */

/** Lower and upper bound for the duration of a successful upgrade in ms. */
export interface DurationSample {
  /** Age in ms at which the upgrade had ended. */
  readonly endedByMs: number;
  /** Age of the upgrade in ms when a read last showed that it was running. 0 if no read showed it running. */
  readonly unendedAtMs: number;
}

/**
 * Fraction by which each ended upgrade changes the estimate. The estimate rises faster than it falls, to cover nearly
 * all upgrades.
 */
const downShare = 0.02;
const upShare = 0.1;
/** Maximum duration of an upgrade in ms: the service ends it after 30 minutes (section 8). */
const longestMs = 30 * 60_000;

export class UpgradeDuration {
  #typicalMs: number | undefined;

  /** Age in ms by which nearly all upgrades have ended; undefined until an upgrade has ended. */
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

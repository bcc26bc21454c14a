/**
 * Estimates the duration of an upgrade from observations. Tasks have a time of request and no end time, so each observation gives
 * only bounds: an age at which the upgrade had ended, and perhaps one at which it had not. The estimate follows the age by which
 * nearly all upgrades have ended. Failed and stuck upgrades do not count.
 */

/** Observation of one successful upgrade; ages in ms from its acceptance. */
export interface DurationSample {
  /** Age at which the upgrade had ended. */
  readonly endedByMs: number;
  /** Age at which the upgrade had not ended; 0 without an earlier read. */
  readonly unendedAtMs: number;
}

/** Ratio by which one observation moves the estimate: small for shorter upgrades, larger for longer ones. */
const downShare = 0.02;
const upShare = 0.1;
/** Upgrades time out after 30 minutes (section 8). */
const longestMs = 30 * 60_000;

export class UpgradeDuration {
  #typicalMs: number | undefined;

  /** Age in ms by which nearly all upgrades have ended; undefined before the first has ended. */
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

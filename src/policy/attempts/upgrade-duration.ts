/**
 * Estimates from the successful upgrades so far how long nearly all upgrades take at most. The service does not report when
 * an upgrade ended. So each upgrade gives only bounds: an age at which it still ran, and an age at which it had ended.
 */

/** Lower and upper bound for the duration of one successful upgrade, in ms since the service accepted the upgrade. */
export interface DurationSample {
  /** Age in ms at which the upgrade had ended. */
  readonly endedByMs: number;
  /** Age in ms at which the upgrade was last seen running; 0 when it was never read while it ran. */
  readonly unendedAtMs: number;
}

/**
 * Fraction by which each ended upgrade moves the estimate towards the duration of this upgrade. The estimate rises faster
 * than it falls, so that nearly all upgrades take less time than estimated.
 */
const downShare = 0.02;
const upShare = 0.1;
/** Maximum duration of an upgrade in ms: the service ends an upgrade after 30 minutes (section 8). */
const longestMs = 30 * 60_000;

export class UpgradeDuration {
  #typicalMs: number | undefined;

  /** Age in ms by which nearly all upgrades have ended; undefined until the first upgrade has ended. */
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

/**
 * Estimates the duration of an upgrade from past upgrades. A task of the service has no end time, so each past upgrade gives only
 * bounds: an age at which the upgrade had ended, and sometimes an age at which it was still running. The estimate is the age by
 * which nearly all upgrades have ended. Failed and timed-out upgrades are not used.
 */

/** Bounds for the duration of one successful upgrade, as ages in ms since its acceptance. */
export interface DurationSample {
  /** Age in ms at which the upgrade had ended. */
  readonly endedByMs: number;
  /** Age in ms at which the upgrade was last seen running; 0 when it was never read while it ran. */
  readonly unendedAtMs: number;
}

/**
 * Weights of one observed upgrade in the estimate of the usual duration. A shorter upgrade changes the estimate a little; a
 * longer upgrade changes the estimate more.
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

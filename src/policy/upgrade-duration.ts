/**
 * How long an upgrade takes, learnt from looking: tasks tell when they were requested and never when they ended, so each look
 * says only "by this age it had ended" or "it had not". The estimate follows the age at which nearly all have ended.
 */

/** One look at an attempt. */
export interface Look {
  /** From acceptance to the sending of the request that showed it, in ms. */
  readonly ageMs: number;
  readonly ended: boolean;
}

const downShare = 0.02;
const upShare = 0.1;
/** Upgrades time out after 30 minutes (section 8). */
const longestMs = 30 * 60_000;

export class UpgradeDuration {
  #typicalMs: number | undefined;

  /** The age at which nearly all upgrades have ended, in ms; undefined before the first one has. */
  get typicalMs(): number | undefined {
    return this.#typicalMs;
  }

  learn({ ageMs, ended }: Look): void {
    const typical = this.#typicalMs;
    if (typical === undefined) {
      if (ended) this.#typicalMs = ageMs;
    } else if (ended && ageMs < typical) {
      this.#typicalMs = typical - downShare * (typical - ageMs);
    } else if (!ended && ageMs >= typical) {
      this.#typicalMs = Math.min(longestMs, typical + upShare * Math.max(ageMs - typical, downShare * typical));
    }
  }
}

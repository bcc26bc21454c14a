/**
 * How long an upgrade takes, learnt from looking: tasks tell when they were requested and never when they ended, so all that is
 * known of one is an age by which it had ended, and perhaps one at which it had not. The estimate follows the age by which
 * nearly all have ended. Upgrades that failed or hang teach nothing.
 */

/** What was seen of one upgrade that ended well; ages in ms from its acceptance. */
export interface Look {
  /** It had ended by then. */
  readonly endedByMs: number;
  /** It had not ended then; 0 where nobody looked before. */
  readonly unendedAtMs: number;
}

/** How far one look moves the estimate: little towards those that ended sooner, more towards one that took longer. */
const downShare = 0.02;
const upShare = 0.1;
/** Upgrades time out after 30 minutes (section 8). */
const longestMs = 30 * 60_000;

export class UpgradeDuration {
  #typicalMs: number | undefined;

  /** The age by which nearly all upgrades have ended, in ms; undefined before the first one has. */
  get typicalMs(): number | undefined {
    return this.#typicalMs;
  }

  learn({ endedByMs, unendedAtMs }: Look): void {
    const typical = this.#typicalMs;
    if (typical === undefined) this.#typicalMs = Math.min(longestMs, endedByMs);
    else if (endedByMs < typical) this.#typicalMs = typical - downShare * (typical - endedByMs);
    else if (unendedAtMs >= typical) {
      this.#typicalMs = Math.min(longestMs, typical + upShare * (endedByMs - typical));
    }
  }
}

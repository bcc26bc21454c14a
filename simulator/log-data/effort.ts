/**
 * Limits how long searches run before other requests are handled. The running time is not measured but estimated in units of
 * about a microsecond. The estimate is called *effort*, and makes a search get equally far on every machine.
 *
 * Invariant: while any effort is left, the next piece of work is done completely. So every search makes progress.
 */

export class Effort {
  #perTurn = Number.POSITIVE_INFINITY;
  #left = Number.POSITIVE_INFINITY;

  /**
   * Sets the maximum effort (estimated computing time) between two calls of `renew`. Without a number, the effort is unlimited.
   */
  limit(unitsPerTurn: number): void {
    this.#perTurn = unitsPerTurn;
  }

  /** Grants the maximum effort again. */
  renew(): void {
    this.#left = this.#perTurn;
  }

  get isSpent(): boolean {
    return this.#left <= 0;
  }

  spend(units: number): void {
    this.#left -= units;
  }

  /** Returns how many pieces of work the effort allows now, at least one. `units` is the effort of one piece. */
  allows(units: number): number {
    return units > 0 ? Math.max(1, Math.floor(this.#left / units)) : Number.POSITIVE_INFINITY;
  }
}

/** Effort of counting the matches in one whole block of generated messages. */
export const unitsPerBlock = 0.05;

interface Reader {
  readonly cost?: number;
  readonly reads?: ReadonlySet<string> | undefined;
}

/** Effort of examining one message: to create the message, to read its fields, and to call the filter or listener. */
export function unitsPerMessage({ cost = 1, reads }: Reader, rawBytes: number): number {
  return 1 + cost * (reads?.has('_raw') === false ? 0.05 : 0.05 + rawBytes / 20_000);
}

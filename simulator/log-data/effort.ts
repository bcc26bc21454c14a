/**
 * Limits the work of searches in one turn, so that other requests are not delayed. The work is counted as *effort*, in
 * units of about a microsecond. It is computed, not measured, so a search gets equally far on every machine.
 *
 * Invariant: while any effort is left, the next piece of work is done, whatever its effort. So every search makes
 * progress.
 */

export class Effort {
  #perTurn = Number.POSITIVE_INFINITY;
  #left = Number.POSITIVE_INFINITY;

  /** Sets the maximum effort of each turn, from the next turn on. Without a number the effort is unlimited. */
  limit(unitsPerTurn: number): void {
    this.#perTurn = unitsPerTurn;
  }

  /** Begins the next turn, with the full effort. */
  renew(): void {
    this.#left = this.#perTurn;
  }

  get isSpent(): boolean {
    return this.#left <= 0;
  }

  spend(units: number): void {
    this.#left -= units;
  }

  /**
   * Returns the number of pieces of work that may be done in this turn, at least one. `units` is the effort of each
   * piece.
   */
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

/**
 * Returns the effort of examining one message: creating it, reading the fields that the filter or listener needs, and
 * calling the filter or listener.
 */
export function unitsPerMessage({ cost = 1, reads }: Reader, rawBytes: number): number {
  return 1 + cost * (reads?.has('_raw') === false ? 0.05 : 0.05 + rawBytes / 20_000);
}

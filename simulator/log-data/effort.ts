/**
 * Limits how long searches run before the simulator handles other requests. *Effort* is the computing time, estimated in units
 * of about a microsecond. It is not measured, so that a search makes the same progress on every machine.
 *
 * Invariant: while any computing time remains, a search can do one more piece of work, so every search makes progress.
 */

export class Effort {
  #perTurn = Number.POSITIVE_INFINITY;
  #left = Number.POSITIVE_INFINITY;

  /** Sets the computing time, in units of about a microsecond, that each call of `renew` grants. By default, it is unlimited. */
  limit(unitsPerTurn: number): void {
    this.#perTurn = unitsPerTurn;
  }

  /** Grants the full computing time (set by `limit`) again. */
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
   * Returns how many pieces of work the remaining computing time allows, at least one. `units` is the computing time of one
   * piece.
   */
  allows(units: number): number {
    return units > 0 ? Math.max(1, Math.floor(this.#left / units)) : Number.POSITIVE_INFINITY;
  }
}

/** Estimated computing time, in microseconds, for counting the matches in one block of generated messages. */
export const unitsPerBlock = 0.05;

interface Reader {
  readonly cost?: number;
  readonly reads?: ReadonlySet<string> | undefined;
}

/** Returns the estimated computing time, in microseconds, for creating one message and passing it to a filter or aggregation. */
export function unitsPerMessage({ cost = 1, reads }: Reader, rawBytes: number): number {
  return 1 + cost * (reads?.has('_raw') === false ? 0.05 : 0.05 + rawBytes / 20_000);
}

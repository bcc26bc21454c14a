/**
 * Limits how long a search runs before the simulator handles other requests. Computing time is estimated in
 * microseconds, not measured, so a search makes the same progress on every machine.
 */

export class Effort {
  #perTurn = Number.POSITIVE_INFINITY;
  #left = Number.POSITIVE_INFINITY;

  /**
   * Sets the computing time in microseconds that each call to `renew` grants. Until this method is called, the
   * computing time is unlimited.
   */
  limit(unitsPerTurn: number): void {
    this.#perTurn = unitsPerTurn;
  }

  /** Grants the search the computing time that `limit` has set. */
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
   * Returns how many operations fit into the remaining computing time, but at least 1. `units` is the estimated time of
   * one operation, in microseconds.
   */
  allows(units: number): number {
    return units > 0 ? Math.max(1, Math.floor(this.#left / units)) : Number.POSITIVE_INFINITY;
  }
}

/** Estimated time to count the matches in one block of generated messages, in microseconds. */
export const unitsPerBlock = 0.05;

interface FieldReader {
  readonly cost?: number;
  readonly reads?: ReadonlySet<string> | undefined;
}

/** Returns the estimated time to create and filter one message, in microseconds. */
export function unitsPerMessage({ cost = 1, reads }: FieldReader, rawBytes: number): number {
  return 1 + cost * (reads?.has('_raw') === false ? 0.05 : 0.05 + rawBytes / 20_000);
}

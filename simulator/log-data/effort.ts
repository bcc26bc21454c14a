/**
 * Limits how long a search runs before the simulator handles other requests. Computing time is estimated in
 * microseconds, not measured. Searches therefore progress equally on every machine.
 */

export class Effort {
  #perTurn = Number.POSITIVE_INFINITY;
  #left = Number.POSITIVE_INFINITY;

  /**
   * Sets the computing time in microseconds that each call of `renew` grants. Without a call of this method, the
   * computing time is unlimited.
   */
  limit(unitsPerTurn: number): void {
    this.#perTurn = unitsPerTurn;
  }

  /** Grants the full computing time again. */
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
   * Returns how many operations fit into the remaining computing time. The result is at least 1. `units` is the
   * estimated time of one operation in microseconds.
   */
  allows(units: number): number {
    return units > 0 ? Math.max(1, Math.floor(this.#left / units)) : Number.POSITIVE_INFINITY;
  }
}

/** Estimated time in microseconds to count the matches in one block of generated messages. */
export const unitsPerBlock = 0.05;

interface FieldReader {
  readonly cost?: number;
  readonly reads?: ReadonlySet<string> | undefined;
}

/** Returns the estimated time in microseconds to create and filter one message. */
export function unitsPerMessage({ cost = 1, reads }: FieldReader, rawBytes: number): number {
  return 1 + cost * (reads?.has('_raw') === false ? 0.05 : 0.05 + rawBytes / 20_000);
}

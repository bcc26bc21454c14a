/**
 * How much searches may do before others get their turn. Counted, not timed: a unit is about a microsecond, and how far a search
 * gets with so many of them is the same on every machine.
 *
 * Invariant: whoever has anything left may do one more thing, however dear, so that everybody gets on.
 */

export class Effort {
  #perTurn = Number.POSITIVE_INFINITY;
  #left = Number.POSITIVE_INFINITY;

  /** From the next turn on; without end until it is called. */
  limit(unitsPerTurn: number): void {
    this.#perTurn = unitsPerTurn;
  }

  /** The next turn begins. */
  renew(): void {
    this.#left = this.#perTurn;
  }

  get isSpent(): boolean {
    return this.#left <= 0;
  }

  spend(units: number): void {
    this.#left -= units;
  }

  /** How many things of `units` each are left to be done, at least one. */
  allows(units: number): number {
    return units > 0 ? Math.max(1, Math.floor(this.#left / units)) : Number.POSITIVE_INFINITY;
  }
}

/** Of one whole block, counted by its layout. */
export const unitsPerBlock = 0.05;

interface Reader {
  readonly cost?: number;
  readonly reads?: ReadonlySet<string> | undefined;
}

/** Of making up a message, reading what somebody reads of it, and asking or telling that somebody. */
export function unitsPerLook({ cost = 1, reads }: Reader, rawBytes: number): number {
  return 1 + cost * (reads?.has('_raw') === false ? 0.05 : 0.05 + rawBytes / 20_000);
}

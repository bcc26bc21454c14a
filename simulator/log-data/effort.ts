/**
 * *Effort* limits the work of searches in one turn, so that other requests are not delayed. Its unit is about a microsecond. It is
 * computed, not measured, so that a search gets equally far on every machine.
 *
 * Invariant: while any effort is left, the next piece of work is done, whatever it costs. So every search makes progress.
 */

export class Effort {
  #perTurn = Number.POSITIVE_INFINITY;
  #left = Number.POSITIVE_INFINITY;

  /** Sets the effort of each turn, from the next turn on. Without a limit the effort is unlimited. */
  limit(unitsPerTurn: number): void {
    this.#perTurn = unitsPerTurn;
  }

  /** Begins the next turn. */
  renew(): void {
    this.#left = this.#perTurn;
  }

  get isSpent(): boolean {
    return this.#left <= 0;
  }

  spend(units: number): void {
    this.#left -= units;
  }

  /** Returns the number of pieces of work that may be done, at least one. `units` is the effort of each. */
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
 * Effort of examining one message: making it, reading the fields that the filter or listener needs, and calling the filter or
 * listener.
 */
export function unitsPerMessage({ cost = 1, reads }: Reader, rawBytes: number): number {
  return 1 + cost * (reads?.has('_raw') === false ? 0.05 : 0.05 + rawBytes / 20_000);
}

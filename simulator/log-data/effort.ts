/**
 * The share of work that searches may do before other requests are handled. It is counted in units of about a microsecond. It is not
 * measured, so that a search gets equally far on every machine.
 *
 * Invariant: with any effort left, the next piece of work may be done, whatever it costs. So every search makes progress.
 */

export class Effort {
  #perTurn = Number.POSITIVE_INFINITY;
  #left = Number.POSITIVE_INFINITY;

  /** Limits the effort from the next turn on. The effort is unlimited before. */
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

  /** Returns how many pieces of work of `units` each may be done, at least one. */
  allows(units: number): number {
    return units > 0 ? Math.max(1, Math.floor(this.#left / units)) : Number.POSITIVE_INFINITY;
  }
}

/** Effort of counting one whole block. */
export const unitsPerBlock = 0.05;

interface Reader {
  readonly cost?: number;
  readonly reads?: ReadonlySet<string> | undefined;
}

/** Effort of generating a message, reading the fields that a filter or listener reads, and calling it. */
export function unitsPerLook({ cost = 1, reads }: Reader, rawBytes: number): number {
  return 1 + cost * (reads?.has('_raw') === false ? 0.05 : 0.05 + rawBytes / 20_000);
}

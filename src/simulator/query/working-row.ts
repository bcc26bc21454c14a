/** A row while the operators of a query work on it: what they parsed lies over what is stored, and `fields` hides some of both. */
import type { Row } from './row.ts';

interface ParsedField {
  /** As pages show it. */
  readonly name: string;
  readonly value: string;
}

/** Whether a stored field can still be seen; by its name in lower case. */
export type Visibility = (lowerName: string) => boolean;

export class WorkingRow implements Row {
  readonly #stored: Row;
  /** By name in lower case. */
  readonly #parsed = new Map<string, ParsedField>();
  #sees: Visibility | undefined;

  constructor(stored: Row) {
    this.#stored = stored;
  }

  get messageTimeMs(): number {
    return this.#stored.messageTimeMs;
  }

  get receiptTimeMs(): number {
    return this.#stored.receiptTimeMs;
  }

  field(name: string): string | undefined {
    const lowerName = name.toLowerCase();
    const parsed = this.#parsed.get(lowerName);
    if (parsed) return parsed.value;
    return this.#sees?.(lowerName) === false ? undefined : this.#stored.field(lowerName);
  }

  get parsed(): ReadonlyMap<string, string> {
    return new Map([...this.#parsed.values()].map(({ name, value }) => [name, value]));
  }

  /** A field of the same name, but for its case, is replaced. */
  set(name: string, value: string): void {
    this.#parsed.set(name.toLowerCase(), { name, value });
  }

  /** From now on stored fields are seen by `stored` alone; parsed ones stay where `parsed` says so. */
  restrict(stored: Visibility, parsed: Visibility): void {
    this.#sees = stored;
    for (const lowerName of this.#parsed.keys()) if (!parsed(lowerName)) this.#parsed.delete(lowerName);
  }
}

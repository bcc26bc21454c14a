/**
 * A row while it passes through the operators of a query. A parsed field replaces a stored field of the same name. `fields` hides
 * fields of both kinds.
 */
import type { Row } from './row.ts';

interface ParsedField {
  /** Name of the field as result pages show it. */
  readonly name: string;
  readonly value: string;
}

/** Returns whether a message field is visible. Its name is in lower case. */
export type Visibility = (lowerName: string) => boolean;

export class WorkingRow implements Row {
  readonly #stored: Row;
  /** Values of the parsed fields by lower-case name. */
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

  /** Sets a parsed field. Replaces a field of the same name in any case. */
  set(name: string, value: string): void {
    this.#parsed.set(name.toLowerCase(), { name, value });
  }

  /** Hides the fields of a message for which `stored` returns false, and its parsed fields for which `parsed` returns false. */
  restrict(stored: Visibility, parsed: Visibility): void {
    this.#sees = stored;
    for (const lowerName of this.#parsed.keys()) if (!parsed(lowerName)) this.#parsed.delete(lowerName);
  }
}

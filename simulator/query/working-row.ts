/**
 * A message to which the operators of a query are being applied. Parsed fields replace stored fields with the same
 * name.
 */
import type { ScalarValue } from './numeric.ts';
import type { MessageRow } from './row.ts';

interface ParsedField {
  readonly lowerName: string;
  /** Name of the field as shown on result pages. */
  readonly name: string;
  readonly value: ScalarValue;
}

/** Reports whether a field is visible. The name must be given in lower case. */
export type Visibility = (lowerName: string) => boolean;

export class WorkingRow implements MessageRow {
  readonly #stored: MessageRow;
  /** Fields that the query parsed from the message. A list is faster than a map if there are only a few fields. */
  #parsed: ParsedField[] = [];
  #sees: Visibility | undefined;

  constructor(stored: MessageRow) {
    this.#stored = stored;
  }

  get messageTimeMs(): number {
    return this.#stored.messageTimeMs;
  }

  get receiptTimeMs(): number {
    return this.#stored.receiptTimeMs;
  }

  field(lowerName: string): ScalarValue | undefined {
    for (let index = this.#parsed.length - 1; index >= 0; index--) {
      const parsed = this.#parsed[index] as ParsedField;
      if (parsed.lowerName === lowerName) return parsed.value;
    }
    return this.#sees?.(lowerName) === false ? undefined : this.#stored.field(lowerName);
  }

  get parsed(): ReadonlyMap<string, string> {
    const latest = new Map(this.#parsed.map((parsed) => [parsed.lowerName, parsed]));
    return new Map([...latest.values()].map(({ name, value }) => [name, String(value)]));
  }

  /** Sets a parsed field. Replaces any field with the same name, ignoring case. */
  set(name: string, value: ScalarValue): void {
    this.#parsed.push({ lowerName: name.toLowerCase(), name, value });
  }

  /**
   * Hides fields. `stored` returns true for each stored field that remains visible, and `parsed` does so for parsed
   * fields.
   */
  restrict(stored: Visibility, parsed: Visibility): void {
    this.#sees = stored;
    this.#parsed = this.#parsed.filter(({ lowerName }) => parsed(lowerName));
  }
}

/**
 * Which of the fields that files are to have (`output.fields`) the service has described in none of the pages that were read (2.4): mostly
 * they are spelled otherwise, and files without them look as if no row had a value. For people; nothing is decided by it.
 *
 * Invariant: nothing is said of a service that does not describe its fields.
 */
import { foldedName } from '../output/columns.ts';

export class ChosenFields {
  /** As they were written, by the names under which they are looked for. */
  readonly #undescribed: Map<string, string>;
  #hasRows = false;

  constructor(fields: readonly string[]) {
    this.#undescribed = new Map(fields.map((name) => [foldedName(name), name]));
  }

  /** In the order in which they were chosen; none before the first row. */
  get undescribed(): readonly string[] {
    return this.#hasRows ? [...this.#undescribed.values()] : [];
  }

  /** The fields of a page that has rows. */
  saw(described: readonly { readonly name: string }[]): void {
    this.#hasRows = true;
    if (described.length === 0) this.#undescribed.clear();
    for (const { name } of described) this.#undescribed.delete(foldedName(name));
  }
}

/**
 * Finds selected fields (`output.fields`) that no page described (2.4). They are usually misspelled, and their columns would be empty. The
 * result is only shown to users.
 *
 * Invariant: nothing is reported for a service that does not describe its fields.
 */
import { foldedName } from '../output/columns.ts';

export class ChosenFields {
  /** Selected names by their folded form. */
  readonly #undescribed: Map<string, string>;
  #hasRows = false;

  constructor(fields: readonly string[]) {
    this.#undescribed = new Map(fields.map((name) => [foldedName(name), name]));
  }

  /** Undescribed fields in the order of selection. Empty before the first row. */
  get undescribed(): readonly string[] {
    return this.#hasRows ? [...this.#undescribed.values()] : [];
  }

  /** Takes the described fields of a page that has rows. */
  saw(described: readonly { readonly name: string }[]): void {
    this.#hasRows = true;
    if (described.length === 0) this.#undescribed.clear();
    for (const { name } of described) this.#undescribed.delete(foldedName(name));
  }
}

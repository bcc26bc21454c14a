/** Maximum number of texts shown in status, all different, newest first. */

const maxTexts = 10;

interface Told {
  readonly text: string;
  /** Subject of the latest report of this text. */
  readonly of: string | undefined;
}

export class NewestTexts {
  #told: readonly Told[] = [];

  get all(): readonly string[] {
    return this.#told.map(({ text }) => text);
  }

  /** Adds a text. A known text becomes the newest again. */
  tell(text: string, of?: string): void {
    this.#told = [{ text, of }, ...this.#told.filter((other) => other.text !== text)].slice(0, maxTexts);
  }

  /** Adds a text unless it is known; a known text keeps its position. */
  keep(text: string): void {
    if (!this.all.includes(text)) this.tell(text);
  }

  /** Removes the texts about this subject. */
  forget(of: string): void {
    this.#told = this.#told.filter((told) => told.of !== of);
  }
}

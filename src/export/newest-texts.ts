/** Different texts for people, the newest first; so many as a status shows. */

const maxTexts = 10;

interface Told {
  readonly text: string;
  /** What it was told of last. */
  readonly of: string | undefined;
}

export class NewestTexts {
  #told: readonly Told[] = [];

  get all(): readonly string[] {
    return this.#told.map(({ text }) => text);
  }

  /** One that came before becomes the newest again. */
  tell(text: string, of?: string): void {
    this.#told = [{ text, of }, ...this.#told.filter((other) => other.text !== text)].slice(0, maxTexts);
  }

  /** One that came before stays where it is: it has not come again. */
  keep(text: string): void {
    if (!this.all.includes(text)) this.tell(text);
  }

  /** What was told of this is so no longer. */
  forget(of: string): void {
    this.#told = this.#told.filter((told) => told.of !== of);
  }
}

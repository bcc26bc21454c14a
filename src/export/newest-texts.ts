/** Different texts for people, the newest first; so many as a status shows. */

const maxTexts = 10;

export class NewestTexts {
  #texts: readonly string[] = [];

  get all(): readonly string[] {
    return this.#texts;
  }

  /** One that came before becomes the newest again. */
  tell(text: string): void {
    this.#texts = [text, ...this.#texts.filter((other) => other !== text)].slice(0, maxTexts);
  }

  /** One that came before stays where it is: it has not come again. */
  keep(text: string): void {
    if (!this.#texts.includes(text)) this.tell(text);
  }
}

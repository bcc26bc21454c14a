/**
 * Stores equal strings once: the versions, operating systems and time zones of 100,000 collectors are a few dozen different
 * strings. Cleared when it is full.
 */
const maxEntries = 4096;

export class StringPool {
  readonly #texts = new Map<string, string>();

  intern(text: string): string {
    const known = this.#texts.get(text);
    if (known !== undefined) return known;
    if (this.#texts.size >= maxEntries) this.#texts.clear();
    this.#texts.set(text, text);
    return text;
  }
}

/** Errors or warnings of a job (2.3): what came since the last status call, as long as it is not to be told again and again. */

export class Notices {
  readonly #all: string[] = [];
  #told = 0;

  add(text: string): void {
    this.#all.push(text);
  }

  /** Those that were not told before; `all` of them where the service repeats itself. Counts as told. */
  take(which: 'new' | 'all'): readonly string[] {
    const first = which === 'new' ? this.#told : 0;
    this.#told = this.#all.length;
    return this.#all.slice(first);
  }
}

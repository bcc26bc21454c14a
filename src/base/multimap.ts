/** Sets of texts by key. Most keys have one value: that one is held as it is, and a set is made only where there are more. */
export class Multimap {
  readonly #sets = new Map<string, string | Set<string>>();

  /** How many keys have a value. */
  get size(): number {
    return this.#sets.size;
  }

  keys(): IterableIterator<string> {
    return this.#sets.keys();
  }

  /** The values of a key, in the order in which they came. The iteration must not outlive a change. */
  get(key: string): Iterable<string> {
    const values = this.#sets.get(key);
    return values === undefined ? [] : typeof values === 'string' ? [values] : values;
  }

  hasKey(key: string): boolean {
    return this.#sets.has(key);
  }

  has(key: string, value: string): boolean {
    const values = this.#sets.get(key);
    return typeof values === 'string' ? values === value : (values?.has(value) ?? false);
  }

  /** Whether the value is new. */
  add(key: string, value: string): boolean {
    if (this.has(key, value)) return false;
    const values = this.#sets.get(key);
    if (values === undefined) this.#sets.set(key, value);
    else if (typeof values === 'string') this.#sets.set(key, new Set([values, value]));
    else values.add(value);
    return true;
  }

  /** Whether the value was there. */
  delete(key: string, value: string): boolean {
    const values = this.#sets.get(key);
    if (typeof values !== 'object') return values === value && this.#sets.delete(key);
    const wasThere = values.delete(value);
    if (values.size === 0) this.#sets.delete(key);
    return wasThere;
  }

  /** Removes a key. Returns the values that it had. */
  take(key: string): Iterable<string> {
    const values = this.get(key);
    this.#sets.delete(key);
    return values;
  }
}

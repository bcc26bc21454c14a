/** Map from a key to a set of strings. To save memory, a single value is stored without a set. */
export class Multimap {
  readonly #sets = new Map<string, string | Set<string>>();

  /** Number of keys that have at least one value. */
  get size(): number {
    return this.#sets.size;
  }

  /** Returns the values of a key in insertion order. Do not change the map while you iterate over these values. */
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

  /** Adds a value to a key. Reports whether the value is new. */
  add(key: string, value: string): boolean {
    if (this.has(key, value)) return false;
    const values = this.#sets.get(key);
    if (values === undefined) this.#sets.set(key, value);
    else if (typeof values === 'string') this.#sets.set(key, new Set([values, value]));
    else values.add(value);
    return true;
  }

  /** Removes a value from a key. Reports whether the value existed. */
  delete(key: string, value: string): boolean {
    const values = this.#sets.get(key);
    if (typeof values !== 'object') return values === value && this.#sets.delete(key);
    const wasThere = values.delete(value);
    if (values.size === 0) this.#sets.delete(key);
    return wasThere;
  }

  /** Removes a key and returns its values. */
  take(key: string): Iterable<string> {
    const values = this.get(key);
    this.#sets.delete(key);
    return values;
  }
}

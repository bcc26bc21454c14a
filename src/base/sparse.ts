/**
 * Maps and sets that use almost no memory while they are empty. There are thousands of resources, and each has many
 * empty collections.
 */

/** Read-only view of a set. The set is not copied. */
export interface SetView<T> extends Iterable<T> {
  readonly size: number;
  has(value: T): boolean;
}

export class SparseSet<T> implements SetView<T> {
  #values: Set<T> | undefined;

  get size(): number {
    return this.#values?.size ?? 0;
  }

  has(value: T): boolean {
    return this.#values?.has(value) ?? false;
  }

  add(value: T): this {
    this.#values ??= new Set();
    this.#values.add(value);
    return this;
  }

  delete(value: T): boolean {
    const wasThere = this.#values?.delete(value) ?? false;
    if (this.#values?.size === 0) this.#values = undefined;
    return wasThere;
  }

  clear(): void {
    this.#values = undefined;
  }

  [Symbol.iterator](): IterableIterator<T> {
    return (this.#values ?? none)[Symbol.iterator]() as IterableIterator<T>;
  }
}

/** Map from a key to a set of values. A key without values uses no memory. */
export class SparseSets<L, T> {
  readonly #sets = new SparseMap<L, Set<T>>();

  get(label: L): SetView<T> {
    return this.#sets.get(label) ?? none;
  }

  /** Adds `value` to the set for `label` if `isIn` is true, and removes it from this set if `isIn` is false. */
  put(label: L, value: T, isIn: boolean): void {
    const values = this.#sets.get(label);
    if (isIn && !values) this.#sets.set(label, new Set([value]));
    else if (isIn) values?.add(value);
    else if (values?.delete(value) && values.size === 0) this.#sets.delete(label);
  }
}

export class SparseMap<K, V> implements ReadonlyMap<K, V> {
  #values: Map<K, V> | undefined;

  get size(): number {
    return this.#values?.size ?? 0;
  }

  has(key: K): boolean {
    return this.#values?.has(key) ?? false;
  }

  get(key: K): V | undefined {
    return this.#values?.get(key);
  }

  set(key: K, value: V): this {
    this.#values ??= new Map();
    this.#values.set(key, value);
    return this;
  }

  delete(key: K): boolean {
    const wasThere = this.#values?.delete(key) ?? false;
    if (this.#values?.size === 0) this.#values = undefined;
    return wasThere;
  }

  clear(): void {
    this.#values = undefined;
  }

  forEach(callback: (value: V, key: K, map: ReadonlyMap<K, V>) => void): void {
    for (const [key, value] of this) callback(value, key, this);
  }

  keys(): MapIterator<K> {
    return this.#read().keys();
  }

  values(): MapIterator<V> {
    return this.#read().values();
  }

  entries(): MapIterator<[K, V]> {
    return this.#read().entries();
  }

  [Symbol.iterator](): MapIterator<[K, V]> {
    return this.entries();
  }

  #read(): Map<K, V> {
    return this.#values ?? (nothing as Map<K, V>);
  }
}

const none = new Set<never>();
const nothing = new Map<never, never>();

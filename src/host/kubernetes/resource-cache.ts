/**
 * Cache of all resources of one kind in a cluster, filled by reflectors.
 *
 * Invariants:
 * - Resource versions are compared only for equality, never for order.
 * - A write by this process is in the cache before the write returns. The cache ignores older versions that a watch or
 *   list reports later.
 * - If a resource has a new uid, the old resource counts as deleted, and the new one as added.
 * - Listeners are called only for changes by other writers. An error in one listener does not affect other listeners.
 * - Listeners are not called while this process is writing the resource, because the watch may report the write before
 *   its response arrives.
 */
import { keyText } from '../../base/key-text.ts';
import { Listeners } from '../../base/listeners.ts';
import type { Logger } from '../../base/log.ts';
import type { ResourceKey, ResourceSource } from '../host.ts';

/** Metadata that each cached resource must have. */
export interface CachedResource {
  readonly metadata: {
    readonly namespace: string;
    readonly name: string;
    readonly uid: string;
    readonly resourceVersion: string;
  };
}

/** Maximum number of replaced resource versions that are remembered for one resource (`superseded`). */
const maxSuperseded = 64;

interface CacheEntry<R> {
  resource: R;
  /**
   * Resource versions that this process's own writes have replaced. The cache ignores these versions if the watch
   * reports them later.
   */
  superseded: string[];
  /** Number of writes to the resource by this process that have not ended yet. */
  writes: number;
  /**
   * Resource versions that the watch has reported while this process was writing the resource. The listeners are called
   * when the write has ended.
   */
  unreported?: Set<string>;
}

export class ResourceCache<R extends CachedResource> implements ResourceSource<R> {
  readonly #entries = new Map<string, CacheEntry<R>>();
  readonly #listeners = new Listeners<ResourceKey>();
  /** Resource versions that this process's writes have created and that the watch has not reported yet. */
  readonly #unreportedWrites = new Set<string>();
  readonly #unfilled: Set<string | undefined>;
  readonly #filled = Promise.withResolvers<void>();
  readonly #log: Logger;

  /** @param scopes namespaces whose resources are in the cache; undefined means all namespaces */
  constructor(scopes: readonly (string | undefined)[], log: Logger) {
    this.#unfilled = new Set(scopes);
    this.#log = log;
  }

  synced(): boolean {
    return this.#unfilled.size === 0;
  }

  whenSynced(): Promise<void> {
    return this.#filled.promise;
  }

  *list(): Iterable<R> {
    for (const { resource } of this.#entries.values()) yield resource;
  }

  get(key: ResourceKey): R | undefined {
    return this.#entries.get(keyText(key))?.resource;
  }

  subscribe(listener: (key: ResourceKey) => void): () => void {
    return this.#listeners.add(listener);
  }

  /**
   * Reports whether a write of this process caused the watch event with this resource version. Call this method only
   * once per event, because it returns true only once for a write.
   */
  takeOwnWrite(resourceVersion: string): boolean {
    return this.#unreportedWrites.delete(resourceVersion);
  }

  /** Stores a resource that the API server reports as added or changed. */
  put(resource: R): void {
    const { metadata } = resource;
    const entry = this.#entries.get(keyText(metadata));
    if (!entry) {
      this.#entries.set(keyText(metadata), { resource, superseded: [], writes: 0 });
      this.#notify(metadata);
      return;
    }
    const known = entry.resource.metadata;
    if (known.uid !== metadata.uid) {
      this.#remove(known);
      this.put(resource);
      return;
    }
    if (entry.superseded.includes(metadata.resourceVersion)) return;
    if (known.resourceVersion === metadata.resourceVersion) return;
    entry.resource = resource;
    if (entry.writes === 0) {
      this.#notify(metadata);
      return;
    }
    entry.unreported ??= new Set();
    entry.unreported.add(metadata.resourceVersion);
  }

  /** Removes the resource with this uid, but not a newer resource with the same name. */
  remove(key: ResourceKey, uid: string): void {
    if (this.get(key)?.metadata.uid === uid) this.#remove(key);
  }

  /**
   * Replaces the cached resources of a namespace with a complete list. If `scope` is undefined, replaces the resources
   * of all namespaces.
   */
  replace(scope: string | undefined, resources: readonly R[]): void {
    const listed = new Set(resources.map(({ metadata }) => keyText(metadata)));
    for (const { metadata } of [...this.list()]) {
      if ((scope === undefined || metadata.namespace === scope) && !listed.has(keyText(metadata)))
        this.#remove(metadata);
    }
    for (const resource of resources) this.put(resource);
    // The list already contains this process's writes. The next watch will not report them, because it reports only
    // changes made after the list.
    this.#unreportedWrites.clear();
    this.#unfilled.delete(scope);
    if (this.synced()) this.#filled.resolve();
  }

  /**
   * Calls `send`, which writes a resource. Then stores the written resource in the cache, unless the cache already
   * contains a newer version.
   */
  async write(basedOn: R['metadata'], send: () => Promise<R>): Promise<R> {
    const entry = this.#entries.get(keyText(basedOn));
    if (!entry) return send();
    entry.writes++;
    try {
      const written = await send();
      this.#adopt(entry, written, basedOn);
      return written;
    } finally {
      entry.writes--;
      if (entry.writes === 0) this.#reportDelayed(entry);
    }
  }

  #adopt(entry: CacheEntry<R>, written: R, basedOn: R['metadata']): void {
    const { uid, resourceVersion } = basedOn;
    if (entry.resource.metadata.uid !== uid) return;
    entry.unreported?.delete(written.metadata.resourceVersion);
    if (entry.resource.metadata.resourceVersion !== resourceVersion) return;
    if (written.metadata.resourceVersion === resourceVersion) return;
    entry.superseded.push(resourceVersion);
    if (entry.superseded.length > maxSuperseded) entry.superseded.shift();
    entry.resource = written;
    this.#unreportedWrites.add(written.metadata.resourceVersion);
  }

  /** Calls the listeners for changes that the watch reported during a write. */
  #reportDelayed(entry: CacheEntry<R>): void {
    const { unreported, resource } = entry;
    delete entry.unreported;
    const isKnown = this.#entries.get(keyText(resource.metadata)) === entry;
    if (isKnown && unreported && unreported.size > 0) this.#notify(resource.metadata);
  }

  #remove(key: ResourceKey): void {
    this.#entries.delete(keyText(key));
    this.#notify(key);
  }

  #notify({ namespace, name }: ResourceKey): void {
    this.#listeners.notify({ namespace, name }, (error) => {
      this.#log.error('a listener of resources failed', { namespace, name, error });
    });
  }
}

/**
 * Cache of all resources of one kind. Reflectors fill it (one per namespace, or one for all), and readers use the port `ResourceSource`.
 *
 * Invariants:
 * - Resource versions are opaque. They are compared for equality, never for order.
 * - Read your writes: the cache contains a write of this process before the write returns. Older versions that a watch or list still
 *   delivers are ignored.
 * - A resource with the same name and another uid is a deletion and an addition. Listeners are called for both.
 * - Listeners are called for changes by other writers, not for our own writes. A listener that throws affects neither the cache nor other
 *   listeners.
 * - The watch may report a write before its answer arrives. Calls for a resource are therefore delayed while a write of it is in flight.
 *   They are dropped if the write itself explains all changes.
 */
import { keyText } from '../../base/key-text.ts';
import type { Logger } from '../../base/log.ts';
import type { ResourceKey, ResourceSource } from '../host.ts';

/** Members that the cache needs of each object. */
export interface CachedResource {
  readonly metadata: {
    readonly namespace: string;
    readonly name: string;
    readonly uid: string;
    readonly resourceVersion: string;
  };
}

/** Maximum number of consecutive own writes that no watch has reported yet. Forgetting older ones costs at most a conflict. */
const maxSuperseded = 64;

interface Entry<R> {
  resource: R;
  /** Versions that our own writes replaced and that the watch may still deliver. */
  superseded: string[];
  /** Number of our writes in flight. */
  writes: number;
  /** Versions that arrived during writes in flight and were not reported to listeners. Absent if there are none. */
  unreported?: Set<string>;
}

export class ResourceCache<R extends CachedResource> implements ResourceSource<R> {
  readonly #entries = new Map<string, Entry<R>>();
  readonly #listeners = new Set<(key: ResourceKey) => void>();
  readonly #unfilled: Set<string | undefined>;
  readonly #log: Logger;

  /** `scopes`: namespaces that reflectors fill the cache from; undefined stands for all namespaces. */
  constructor(scopes: readonly (string | undefined)[], log: Logger) {
    this.#unfilled = new Set(scopes);
    this.#log = log;
  }

  synced(): boolean {
    return this.#unfilled.size === 0;
  }

  *list(): Iterable<R> {
    for (const { resource } of this.#entries.values()) yield resource;
  }

  get(key: ResourceKey): R | undefined {
    return this.#entries.get(keyText(key))?.resource;
  }

  subscribe(listener: (key: ResourceKey) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Applies an addition or a change from the server. */
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

  /** Applies a deletion of the resource with this uid. A newer resource with its name stays. */
  remove(key: ResourceKey, uid: string): void {
    if (this.get(key)?.metadata.uid === uid) this.#remove(key);
  }

  /** Applies a complete list of a scope. Resources missing in the list are removed. */
  replace(scope: string | undefined, resources: readonly R[]): void {
    const listed = new Set(resources.map(({ metadata }) => keyText(metadata)));
    for (const { metadata } of [...this.list()]) {
      if ((scope === undefined || metadata.namespace === scope) && !listed.has(keyText(metadata)))
        this.#remove(metadata);
    }
    for (const resource of resources) this.put(resource);
    this.#unfilled.delete(scope);
  }

  /** Runs a write of this resource. The write calls `adopt` with its answer. */
  async write<T>(key: ResourceKey, send: () => Promise<T>): Promise<T> {
    const entry = this.#entries.get(keyText(key));
    if (!entry) return send();
    entry.writes++;
    try {
      return await send();
    } finally {
      entry.writes--;
      if (entry.writes === 0) this.#reportDelayed(entry);
    }
  }

  /** Takes over the answer to our own write, which was based on version `basedOn`. A newer version in the cache stays. */
  adopt(written: R, basedOn: string): void {
    const entry = this.#entries.get(keyText(written.metadata));
    if (entry?.resource.metadata.uid !== written.metadata.uid) return;
    entry.unreported?.delete(written.metadata.resourceVersion);
    if (entry.resource.metadata.resourceVersion !== basedOn) return;
    if (written.metadata.resourceVersion === basedOn) return;
    entry.superseded.push(basedOn);
    if (entry.superseded.length > maxSuperseded) entry.superseded.shift();
    entry.resource = written;
  }

  /** Calls the listeners for delayed changes. The removal of an entry was already reported. */
  #reportDelayed(entry: Entry<R>): void {
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
    for (const listener of [...this.#listeners]) {
      try {
        listener({ namespace, name });
      } catch (error) {
        this.#log.error('a listener of resources failed', { namespace, name, error });
      }
    }
  }
}

/**
 * What is known of all resources of one kind: filled by reflectors (one for each namespace, or one for all), read by everybody
 * through the port `ResourceSource`.
 *
 * Invariants:
 * - Resource versions are opaque: they are compared for sameness, never for order.
 * - Read your writes: what this process wrote stands in the cache before the write returns, and news from before that write,
 *   which a watch or a list may still bring, does not take its place.
 * - A resource of another uid under the same name is a deletion and an addition, and listeners see both.
 * - Listeners hear of changes made elsewhere, not of our own writes; one that throws harms neither the cache nor the others.
 */
import type { Logger } from '../../base/log.ts';
import type { ResourceKey, ResourceSource } from '../host.ts';

/** What the cache must know of whatever it holds. */
export interface CachedResource {
  readonly metadata: {
    readonly namespace: string;
    readonly name: string;
    readonly uid: string;
    readonly resourceVersion: string;
  };
}

/** Own writes in a row of which the watch has shown none yet; older ones are forgotten, which costs a conflict at worst. */
const maxSuperseded = 64;

interface Entry<R> {
  resource: R;
  /** Versions that our own writes have replaced and that news may still bring. */
  superseded: string[];
}

export class ResourceCache<R extends CachedResource> implements ResourceSource<R> {
  readonly #entries = new Map<string, Entry<R>>();
  readonly #listeners = new Set<(key: ResourceKey) => void>();
  readonly #unfilled: Set<string | undefined>;
  readonly #log: Logger;

  /** `scopes`: the namespaces that reflectors will fill it from; undefined stands for all of them. */
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
    return this.#entries.get(textOf(key))?.resource;
  }

  subscribe(listener: (key: ResourceKey) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** News from the server: the resource came or changed. */
  put(resource: R): void {
    const { metadata } = resource;
    const entry = this.#entries.get(textOf(metadata));
    if (!entry) {
      this.#entries.set(textOf(metadata), { resource, superseded: [] });
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
    this.#notify(metadata);
  }

  /** News from the server: the resource of this uid went. One that has taken its name since stays. */
  remove(key: ResourceKey, uid: string): void {
    if (this.get(key)?.metadata.uid === uid) this.#remove(key);
  }

  /** News from the server: these are all that there are in a scope. What is not among them went. */
  replace(scope: string | undefined, resources: readonly R[]): void {
    const listed = new Set(resources.map(({ metadata }) => textOf(metadata)));
    for (const { metadata } of [...this.list()]) {
      if ((scope === undefined || metadata.namespace === scope) && !listed.has(textOf(metadata)))
        this.#remove(metadata);
    }
    for (const resource of resources) this.put(resource);
    this.#unfilled.delete(scope);
  }

  /**
   * Takes over the answer to a write of ours that was made under optimistic lock on version `basedOn`. Where the cache has news
   * from after that version, the news stays.
   */
  adopt(written: R, basedOn: string): void {
    const entry = this.#entries.get(textOf(written.metadata));
    if (entry?.resource.metadata.uid !== written.metadata.uid) return;
    if (entry.resource.metadata.resourceVersion !== basedOn) return;
    if (written.metadata.resourceVersion === basedOn) return;
    entry.superseded.push(basedOn);
    if (entry.superseded.length > maxSuperseded) entry.superseded.shift();
    entry.resource = written;
  }

  #remove(key: ResourceKey): void {
    this.#entries.delete(textOf(key));
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

/** Neither a namespace nor a name can hold a slash. */
function textOf({ namespace, name }: ResourceKey): string {
  return `${namespace}/${name}`;
}

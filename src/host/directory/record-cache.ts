/**
 * In-memory cache of the records of all resources in manifest directories. Controllers subscribe to changes in the
 * cache.
 */

import type { KindName, ResourceOf } from '../../api/kinds.ts';
import { getOrAdd } from '../../base/get-or-add.ts';
import { identify } from '../../base/key-text.ts';
import { Listeners } from '../../base/listeners.ts';
import type { ResourceKey, ResourceSource } from '../host.ts';
import type { ResourceRecord } from './resource-records.ts';

export class RecordCache {
  readonly #records = new Map<string, ResourceRecord>();
  readonly #listeners = new Map<KindName, Listeners<ResourceKey>>();
  #synced = false;
  readonly #filled = Promise.withResolvers<void>();

  get(kind: KindName, key: ResourceKey): ResourceRecord | undefined {
    return this.#records.get(identify(kind, key));
  }

  byIdentity(id: string): ResourceRecord | undefined {
    return this.#records.get(id);
  }

  all(): readonly ResourceRecord[] {
    return [...this.#records.values()];
  }

  put(record: ResourceRecord): void {
    const { kind, metadata } = record.resource;
    this.#records.set(identify(kind, metadata), record);
    this.#announce(kind, metadata);
  }

  remove({ resource: { kind, metadata } }: ResourceRecord): void {
    this.#records.delete(identify(kind, metadata));
    this.#announce(kind, metadata);
  }

  /** Marks the cache as complete after the first reading of all manifests. */
  markSynced(): void {
    this.#synced = true;
    this.#filled.resolve();
  }

  source<K extends KindName>(kind: K): ResourceSource<ResourceOf<K>> {
    return {
      synced: () => this.#synced,
      whenSynced: () => this.#filled.promise,
      list: () => this.all().flatMap(({ resource }) => (resource.kind === kind ? [resource as ResourceOf<K>] : [])),
      get: (key) => this.get(kind, key)?.resource as ResourceOf<K> | undefined,
      subscribe: (listener) => getOrAdd(this.#listeners, kind, () => new Listeners()).add(listener),
    };
  }

  #announce(kind: KindName, { namespace, name }: ResourceKey): void {
    this.#listeners.get(kind)?.notify({ namespace, name });
  }
}

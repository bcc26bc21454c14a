/**
 * Host that keeps resources in memory, for `logfleet export` and `logfleet plan`. The process has no other replicas, so
 * it is always the leader.
 */
import type { AnyResource, KindName, ResourceOf } from '../../api/kinds.ts';
import { getOrAdd } from '../../base/get-or-add.ts';
import { identify } from '../../base/key-text.ts';
import { Listeners } from '../../base/listeners.ts';
import type {
  EventSink,
  Host,
  Leadership,
  LedgerShard,
  LedgerStore,
  OperatorSettings,
  ResourceKey,
  ResourceSource,
  SecretReader,
} from '../../host/host.ts';

export const alwaysLeading: Leadership = {
  isLeader: () => true,
  term: () => 1,
  tookOverByForce: () => false,
  subscribe: () => () => {},
};

const noLedgers: Pick<LedgerStore, 'read'> = { read: async () => undefined };

export interface MemoryHostOptions {
  readonly resources: readonly AnyResource[];
  readonly secrets: SecretReader;
  readonly ledgers?: Pick<LedgerStore, 'read'>;
  readonly settings?: OperatorSettings;
}

export class MemoryHost implements Host {
  readonly secrets: SecretReader;
  readonly ledgers: LedgerStore;
  readonly events: EventSink = { publish() {} };
  readonly leadership = alwaysLeading;
  readonly isCluster = false;
  readonly #resources: Map<string, AnyResource>;
  readonly #listeners = new Map<KindName, Listeners<ResourceKey>>();
  readonly #settings: OperatorSettings;

  constructor({ resources, secrets, ledgers = noLedgers, settings = {} }: MemoryHostOptions) {
    this.#resources = new Map(resources.map((resource) => [identify(resource.kind, resource.metadata), resource]));
    this.secrets = secrets;
    const written = new Map<string, LedgerShard>();
    let writes = 0;
    this.ledgers = {
      read: async (owner, shard) => written.get(`${owner.uid}/${shard}`) ?? ledgers.read(owner, shard),
      write: async ({ uid }, shard, content) => {
        const version = `memory-${++writes}`;
        written.set(`${uid}/${shard}`, { content, version });
        return version;
      },
    };
    this.#settings = settings;
  }

  resources<K extends KindName>(kind: K): ResourceSource<ResourceOf<K>> {
    return {
      synced: () => true,
      whenSynced: async () => {},
      list: () => [...this.#resources.values()].filter((resource) => resource.kind === kind) as ResourceOf<K>[],
      get: (metadata) => this.#resources.get(identify(kind, metadata)) as ResourceOf<K> | undefined,
      subscribe: (listener) => getOrAdd(this.#listeners, kind, () => new Listeners()).add(listener),
    };
  }

  async writeStatus<K extends KindName>(kind: K, resource: ResourceOf<K>): Promise<ResourceOf<K>> {
    const { metadata } = resource;
    const resourceVersion = String(Number(metadata.resourceVersion) + 1);
    const written = { ...resource, metadata: { ...metadata, resourceVersion } };
    this.#resources.set(identify(kind, metadata), written);
    this.#listeners.get(kind)?.notify(metadata);
    return written;
  }

  create(): never {
    return unexpected('create a resource');
  }

  canRemove(): boolean {
    return false;
  }

  remove(): never {
    return unexpected('remove a resource');
  }

  commandFlags(): string {
    return '';
  }

  settings(): OperatorSettings {
    return this.#settings;
  }

  subscribeSettings(): () => void {
    return () => {};
  }
}

function unexpected(what: string): never {
  throw new Error(`a command without an operator cannot ${what}`);
}

/**
 * Host of a plan: the policies of the manifests, beside those of a cluster or a directory, with their current ledgers.
 *
 * Invariant: it only reads. Writes of ledgers stay in memory, status cannot be written, and events are dropped.
 */
import type { CollectorVersionPolicy, KindName, ResourceOf, SearchExport } from '../../api/kinds.ts';
import { assert } from '../../base/assert.ts';
import type {
  EventSink,
  Host,
  LedgerShard,
  LedgerStore,
  OperatorSettings,
  OwnerRef,
  ResourceKey,
  ResourceSource,
  SecretReader,
} from '../../host/host.ts';
import { alwaysLeading } from '../alone.ts';
import { nameOf } from '../given-manifests.ts';
import type { PlanOptions, TargetOptions } from '../options.ts';

export interface PlanHostOptions {
  readonly policies: readonly CollectorVersionPolicy[];
  readonly ledgers: Pick<LedgerStore, 'read'>;
  readonly secrets: SecretReader;
  readonly settings: OperatorSettings;
}

export class PlanHost implements Host {
  readonly ledgers: LedgerStore;
  readonly secrets: SecretReader;
  readonly events: EventSink = { publish() {} };
  readonly leadership = alwaysLeading;
  readonly #policies: ReadonlyMap<string, CollectorVersionPolicy>;
  readonly #settings: OperatorSettings;

  constructor({ policies, ledgers, secrets, settings }: PlanHostOptions) {
    this.#policies = new Map(policies.map((policy) => [nameOf(policy.metadata), policy]));
    this.ledgers = new LedgersInMemory(ledgers);
    this.secrets = secrets;
    this.#settings = settings;
  }

  resources<K extends KindName>(kind: K): ResourceSource<ResourceOf<K>> {
    const ofKind = [...this.#policies.values()].filter((policy) => policy.kind === kind) as ResourceOf<K>[];
    return {
      synced: () => true,
      list: () => ofKind,
      get: (key) => ofKind.find(({ metadata }) => nameOf(metadata) === nameOf(key)),
      subscribe: () => () => {},
    };
  }

  async writeStatus<K extends KindName>(): Promise<ResourceOf<K>> {
    assert(false, 'a plan writes no status');
  }

  settings(): OperatorSettings {
    return this.#settings;
  }

  subscribeSettings(): () => void {
    return () => {};
  }
}

/** Reads the current ledgers until a shard is written. Written shards stay in memory. */
class LedgersInMemory implements LedgerStore {
  readonly #below: Pick<LedgerStore, 'read'>;
  readonly #written = new Map<string, Map<string, LedgerShard>>();
  #writes = 0;

  constructor(below: Pick<LedgerStore, 'read'>) {
    this.#below = below;
  }

  async read(owner: OwnerRef, shard: string): Promise<LedgerShard | undefined> {
    return this.#written.get(owner.uid)?.get(shard) ?? this.#below.read(owner, shard);
  }

  async write(owner: OwnerRef, shard: string, content: string): Promise<string> {
    const shards = this.#written.get(owner.uid) ?? new Map<string, LedgerShard>();
    const version = `plan-${++this.#writes}`;
    this.#written.set(owner.uid, shards.set(shard, { content, version }));
    return version;
  }
}

export interface PlanPlace {
  /** Namespace of manifests that name none. */
  readonly namespace: string;
  /** Current policies, with their status. */
  policies(): Promise<readonly CollectorVersionPolicy[]>;
  /** Current export with its status. Undefined if there is none. */
  findExport(key: ResourceKey): Promise<SearchExport | undefined>;
  readonly ledgers: Pick<LedgerStore, 'read'>;
  readonly secrets: Pick<SecretReader, 'get'>;
  /** True if environment variables replace Secrets that are missing. */
  readonly takesVariables: boolean;
  settings(): OperatorSettings;
  close(): Promise<void>;
}

export type PlaceOptions = TargetOptions & Pick<PlanOptions, 'allNamespaces'>;

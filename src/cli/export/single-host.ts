/**
 * Host of a process that works on one export, for example in a Job. The resource and its Secrets are in memory. The state of an export is
 * at its destination, so nothing in this host has to outlive the process.
 */
import type { KindName, ResourceOf, SearchExport } from '../../api/kinds.ts';
import type {
  EventSink,
  Host,
  LedgerStore,
  OperatorSettings,
  ResourceKey,
  ResourceSource,
  SecretReader,
} from '../../host/host.ts';
import { alwaysLeading, notPaused } from '../alone.ts';

export class SingleHost implements Host {
  readonly secrets: SecretReader;
  readonly events: EventSink = { publish() {} };
  /** An export has no ledger. */
  readonly ledgers: LedgerStore = { read: async () => undefined, write: async () => '' };
  readonly leadership = alwaysLeading;
  #resource: SearchExport;
  readonly #listeners = new Set<(key: ResourceKey) => void>();

  constructor(resource: SearchExport, secrets: SecretReader) {
    this.#resource = resource;
    this.secrets = secrets;
  }

  /** The resource with the status that was written last. */
  get resource(): SearchExport {
    return this.#resource;
  }

  resources<K extends KindName>(kind: K): ResourceSource<ResourceOf<K>> {
    const all = () => (kind === 'SearchExport' ? [this.#resource as ResourceOf<K>] : []);
    return {
      synced: () => true,
      list: all,
      get: ({ namespace, name }) =>
        all().find(({ metadata }) => metadata.namespace === namespace && metadata.name === name),
      subscribe: (listener) => {
        if (kind === 'SearchExport') this.#listeners.add(listener);
        return () => this.#listeners.delete(listener);
      },
    };
  }

  async writeStatus<K extends KindName>(_kind: K, resource: ResourceOf<K>): Promise<ResourceOf<K>> {
    const { metadata } = this.#resource;
    const resourceVersion = String(Number(metadata.resourceVersion) + 1);
    this.#resource = { ...(resource as SearchExport), metadata: { ...metadata, resourceVersion } };
    for (const listener of this.#listeners) listener(metadata);
    return this.#resource as ResourceOf<K>;
  }

  settings(): OperatorSettings {
    return notPaused;
  }

  subscribeSettings(): () => void {
    return () => {};
  }
}

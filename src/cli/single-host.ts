/**
 * The host of a process that works on one export and nothing else, as a Job does: the resource in memory, with its Secrets. What counts of
 * an export stands at its destination, so that nothing here has to outlive the process.
 */
import type { KindName, ResourceOf, SearchExport } from '../api/kinds.ts';
import { anotherExport } from '../export/export-health.ts';
import type {
  EventSink,
  Host,
  LedgerStore,
  OperatorSettings,
  ResourceKey,
  ResourceSource,
  SecretReader,
} from '../host/host.ts';
import { alwaysLeading, notPaused } from './alone.ts';
import { byAnotherStart } from './way-on.ts';

export class SingleHost implements Host {
  readonly secrets: SecretReader;
  readonly events: EventSink = { publish() {} };
  /** Exports keep none. */
  readonly ledgers: LedgerStore = { read: async () => new Map(), write: async () => '' };
  readonly leadership = alwaysLeading;
  #resource: SearchExport;
  readonly #listeners = new Set<(key: ResourceKey) => void>();

  constructor(resource: SearchExport, secrets: SecretReader) {
    this.#resource = resource;
    this.secrets = secrets;
  }

  /** With the status as it was written last. */
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
    const { status, ...rest } = resource as SearchExport;
    const said = status && { ...status, ...(status.conditions && { conditions: status.conditions.map(asSaidHere) }) };
    this.#resource = { ...rest, ...(said && { status: said }), metadata: { ...metadata, resourceVersion } };
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

/** Nothing keeps a process from being started with another query. */
function asSaidHere<C extends { readonly message: string }>(condition: C): C {
  return { ...condition, message: byAnotherStart(condition.message.replace(anotherExport, '.')) };
}

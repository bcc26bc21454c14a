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

type InWords = (message: string) => string;

/** A condition, as much of it as is said to people. */
interface Said {
  readonly message: string;
}

export class SingleHost implements Host {
  readonly secrets: SecretReader;
  readonly events: EventSink = { publish() {} };
  /** Exports keep none. */
  readonly ledgers: LedgerStore = { read: async () => undefined, write: async () => '' };
  readonly leadership = alwaysLeading;
  #resource: SearchExport;
  readonly #inWords: InWords;
  readonly #listeners = new Set<(key: ResourceKey) => void>();

  /** @param inWords turns what an export says of itself into the words of whoever started it */
  constructor(resource: SearchExport, secrets: SecretReader, inWords: InWords = (message) => message) {
    this.#resource = resource;
    this.secrets = secrets;
    this.#inWords = inWords;
  }

  /** With the status as it was written last. */
  get resource(): SearchExport {
    return this.#resource;
  }

  /** What an export says of itself, as it is said here. */
  inWords(message: string): string {
    return this.#inWords(asSaidHere(message));
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
    const inWords = <C extends Said>(condition: C) => ({ ...condition, message: this.inWords(condition.message) });
    const said = status && { ...status, ...(status.conditions && { conditions: status.conditions.map(inWords) }) };
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

/** Nothing keeps a process from being started with another query; and what is incomplete is told of when it ends. */
function asSaidHere(message: string): string {
  const said = message
    .replace(anotherExport, '.')
    .replaceAll(' in another SearchExport', '')
    .replaceAll(', which status.incomplete names', ', as listed below');
  // It is counted from the start of the process.
  const again = said.includes('activeDeadlineSeconds is over')
    ? said.replace('Raise it to go on.', 'Run it again to go on.')
    : said;
  return byAnotherStart(again);
}

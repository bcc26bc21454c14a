/**
 * A read-only view of manifest directories. It shows the same resources and status as the operator does, whether an operator runs there or
 * not. It takes no lock and writes nothing.
 */
import type { PlacedFinding } from '../../api/finding.ts';
import type { KindName, ResourceOf } from '../../api/kinds.ts';
import { sameValue } from '../../base/canonical-text.ts';
import { type Clock, sleep } from '../../base/clock.ts';
import type { Random } from '../../base/random.ts';
import type { SecretText } from '../../base/secret-text.ts';
import type { LedgerStore, OperatorSettings, ResourceKey, ResourceSource } from '../host.ts';
import { DirectoryContents } from './directory-contents.ts';
import { LedgerFiles } from './ledger-files.ts';
import { type RecordStore, type ResourceRecord, recordFiles } from './resource-records.ts';
import { SerialTasks } from './serial-tasks.ts';
import { StateDirectory } from './state-directory.ts';

const lookEveryMs = 500;

interface DirectoryViewOptions {
  readonly directories: readonly string[];
  readonly clock: Clock;
  readonly random: Random;
}

export class DirectoryView {
  /** Ledgers as they are on the disk. A running operator may be about to change them. */
  readonly ledgers: Pick<LedgerStore, 'read'>;
  readonly #contents: DirectoryContents;
  readonly #clock: Clock;

  /** Resolves when everything has been read. */
  static async open(options: DirectoryViewOptions): Promise<DirectoryView> {
    const view = new DirectoryView(options);
    await view.#contents.open();
    return view;
  }

  private constructor({ directories, clock, random }: DirectoryViewOptions) {
    this.#clock = clock;
    this.#contents = new DirectoryContents({ directories, clock, random, records: readOnly, isOperator: false });
    this.ledgers = new LedgerFiles({
      stateOf: (owner) => {
        const directory = this.#contents.directoryOf(owner);
        return directory === undefined ? undefined : new StateDirectory(directory);
      },
      tasks: new SerialTasks(),
    });
  }

  /** Source of the resources. A resource that no operator has read yet has no status and a temporary identity. */
  resources<K extends KindName>(kind: K): ResourceSource<ResourceOf<K>> {
    return this.#contents.cache.source(kind);
  }

  /** Members of a Secret manifest, or undefined if there is none. */
  secret(key: ResourceKey): ReadonlyMap<string, SecretText> | undefined {
    return this.#contents.secret(key);
  }

  /** The operator-wide settings. */
  settings(): OperatorSettings {
    return this.#contents.settings.current();
  }

  /** Resources whose manifest was deleted and whose state is kept. */
  parked(): readonly ResourceRecord[] {
    return this.#contents.parked();
  }

  problems(): readonly PlacedFinding[] {
    return this.#contents.problems();
  }

  /** Reads records and manifests again. */
  refresh(): Promise<void> {
    return this.#contents.reload();
  }

  /** Calls `onChange` with the resources of a kind now and after each change. Resolves when the signal is aborted. */
  async follow<K extends KindName>(
    kind: K,
    onChange: (resources: readonly ResourceOf<K>[]) => void,
    signal: AbortSignal,
  ): Promise<void> {
    let shown: readonly ResourceOf<K>[] | undefined;
    while (!signal.aborted) {
      await this.refresh();
      const resources = [...this.resources(kind).list()];
      if (!signal.aborted && !sameValue(resources, shown)) onChange(resources);
      shown = resources;
      await sleep(this.#clock, lookEveryMs, signal).catch(() => {});
    }
  }
}

const readOnly: RecordStore = {
  load: recordFiles.load,
  create: async () => {},
  save: async () => {},
  move: async (record, directory) => ({ ...record, directory }),
  remove: async () => {},
  removeRequest: async () => {},
  loadFiles: recordFiles.loadFiles,
  saveFiles: async () => {},
};

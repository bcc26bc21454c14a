/**
 * A directory of manifests for those who only look: the same resources with the same status that an operator has, which may be at
 * work there meanwhile or not. Takes no lock and writes nothing.
 */
import type { KindName, ResourceOf } from '../../api/kinds.ts';
import { type Clock, sleep } from '../../base/clock.ts';
import type { Random } from '../../base/random.ts';
import type { SecretText } from '../../base/secret-text.ts';
import type { LedgerStore, OperatorSettings, ResourceKey, ResourceSource } from '../host.ts';
import { DirectoryContents } from './directory-contents.ts';
import { LedgerFiles } from './ledger-files.ts';
import { isSameData } from './plain-data.ts';
import type { Problem } from './problem.ts';
import { type RecordStore, type ResourceRecord, recordFiles } from './resource-records.ts';
import { SerialTasks } from './serial-tasks.ts';
import { StateDirectory } from './state-directory.ts';

const lookEveryMs = 500;

export interface DirectoryViewOptions {
  readonly directories: readonly string[];
  readonly clock: Clock;
  readonly random: Random;
}

export class DirectoryView {
  /** As they are on the disk; an operator that is at work there may be about to write them. */
  readonly ledgers: Pick<LedgerStore, 'read'>;
  readonly #contents: DirectoryContents;
  readonly #clock: Clock;

  /** Resolves with everything read. */
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

  /** A resource that no operator has seen yet is there, without status and with an identity made up for the moment. */
  resources<K extends KindName>(kind: K): ResourceSource<ResourceOf<K>> {
    return this.#contents.cache.source(kind);
  }

  /** The members of a Secret manifest; undefined where there is none. */
  secret(key: ResourceKey): ReadonlyMap<string, SecretText> | undefined {
    return this.#contents.secret(key);
  }

  /** What is said to the operator as a whole. */
  settings(): OperatorSettings {
    return this.#contents.settings.current();
  }

  /** Resources whose manifest was deleted and whose state is kept. */
  parked(): readonly ResourceRecord[] {
    return this.#contents.parked();
  }

  problems(): readonly Problem[] {
    return this.#contents.problems();
  }

  /** Reads everything anew. */
  refresh(): Promise<void> {
    return this.#contents.reload();
  }

  /** Calls `onChange` with the resources of a kind now and after each change; resolves when the signal is aborted. */
  async follow<K extends KindName>(
    kind: K,
    onChange: (resources: readonly ResourceOf<K>[]) => void,
    signal: AbortSignal,
  ): Promise<void> {
    let shown: readonly ResourceOf<K>[] | undefined;
    while (!signal.aborted) {
      await this.refresh();
      const resources = [...this.resources(kind).list()];
      if (!signal.aborted && !isSameData(resources, shown)) onChange(resources);
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

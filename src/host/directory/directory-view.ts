/**
 * A read-only view of manifest directories. It shows the same resources and status as the operator does, whether an operator runs there or
 * not. It takes no lock and writes nothing.
 */
import type { KindName, ResourceOf } from '../../api/kinds.ts';
import { sameValue } from '../../base/canonical-text.ts';
import { sleep } from '../../base/clock.ts';
import type { LedgerStore } from '../host.ts';
import { DirectoryContents, type DirectoryContentsOptions } from './directory-contents.ts';
import { LedgerFiles } from './ledger-files.ts';
import { SerialTasks } from './serial-tasks.ts';

const pollIntervalMs = 500;

/** A resource that no operator has read yet has no status and a temporary identity. */
export class DirectoryView extends DirectoryContents {
  /** Ledgers as they are on the disk. A running operator may be about to change them. */
  readonly ledgers: Pick<LedgerStore, 'read'> = new LedgerFiles((owner) => this.stateOf(owner), new SerialTasks());

  /** Resolves when everything has been read. */
  static async open(options: Omit<DirectoryContentsOptions, 'isOperator'>): Promise<DirectoryView> {
    const view = new DirectoryView({ ...options, isOperator: false });
    await view.open();
    return view;
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
      await sleep(this.clock, pollIntervalMs, signal).catch(() => {});
    }
  }
}

/** Read-only view of manifest directories, for commands such as `logfleet get`. */
import type { KindName, ResourceOf } from '../../api/kinds.ts';
import { sameValue } from '../../base/canonical-text.ts';
import { sleep } from '../../base/clock.ts';
import { DirectoryContents, type DirectoryContentsOptions } from './directory-contents.ts';

const pollIntervalMs = 500;

/**
 * Read-only resources of manifest directories. A resource that no operator has processed yet has a temporary uid and no
 * status.
 */
export class DirectoryView extends DirectoryContents {
  /**
   * Read of the manifests that is in progress, shared by all calls to `follow`. Undefined if no read is in progress.
   */
  #reading: Promise<void> | undefined;

  /** Opens the directories and reads all manifests and resource records. */
  static async open(options: Omit<DirectoryContentsOptions, 'isOperator'>): Promise<DirectoryView> {
    const view = new DirectoryView({ ...options, isOperator: false });
    await view.open();
    return view;
  }

  /**
   * Calls `onChange` with all resources of a kind, immediately and after each change. Calls `onRead` after each read of
   * the manifests. Resolves when the signal is aborted.
   */
  async follow<K extends KindName>(
    kind: K,
    onChange: (resources: readonly ResourceOf<K>[]) => void,
    signal: AbortSignal,
    onRead: () => void = () => {},
  ): Promise<void> {
    let shown: readonly ResourceOf<K>[] | undefined;
    while (!signal.aborted) {
      this.#reading ??= this.refresh().finally(() => {
        this.#reading = undefined;
      });
      await this.#reading;
      if (!signal.aborted) onRead();
      const resources = [...this.resources(kind).list()];
      if (!signal.aborted && !sameValue(resources, shown)) onChange(resources);
      shown = resources;
      await sleep(this.clock, pollIntervalMs, signal).catch(() => {});
    }
  }
}

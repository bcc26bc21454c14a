/**
 * Calls back when something in some folders has changed, soon after the last of several changes in a row; and every `pollMs` in any
 * case, since watches get lost (network volumes, watch limits, folders that were replaced).
 *
 * Invariant: never two calls at once; a change during a call leads to another one after it.
 */
import { type FSWatcher, watch } from 'node:fs';
import type { Clock, Timer } from '../../base/clock.ts';
import { stateFolderName } from './state-directory.ts';

export const debounceMs = 50;
export const pollMs = 10_000;

export interface ChangeWatchOptions {
  readonly clock: Clock;
  /** Looks at what is there now. Must not reject. */
  readonly onChange: () => Promise<void>;
}

export class ChangeWatch {
  readonly #options: ChangeWatchOptions;
  readonly #watchers = new Map<string, FSWatcher>();
  #timer: Timer | undefined;
  #running = false;
  #changed = false;
  #closed = false;

  constructor(options: ChangeWatchOptions) {
    this.#options = options;
    this.#callAfter(pollMs);
  }

  /**
   * From now on watches these folders and no others, and calls back once more when one is new: what changed before its watch
   * stood has told nobody. Those that cannot be watched are left to the poll.
   */
  follow(folders: readonly string[]): void {
    if (this.#closed) return;
    for (const [folder, watcher] of this.#watchers) {
      if (folders.includes(folder)) continue;
      watcher.close();
      this.#watchers.delete(folder);
    }
    for (const folder of folders) if (!this.#watchers.has(folder)) this.#watch(folder);
  }

  close(): void {
    this.#closed = true;
    this.#timer?.cancel();
    for (const watcher of this.#watchers.values()) watcher.close();
    this.#watchers.clear();
  }

  #watch(folder: string): void {
    try {
      const watcher = watch(folder, { persistent: false }, (_, name) => {
        if (name !== stateFolderName) this.#onEvent();
      });
      watcher.on('error', () => this.#forget(folder, watcher));
      this.#watchers.set(folder, watcher);
      this.#onEvent();
    } catch {
      // Gone already, or out of watches: the next poll looks at it.
    }
  }

  /** A watch that failed is set up anew by the next `follow`. */
  #forget(folder: string, watcher: FSWatcher): void {
    watcher.close();
    if (this.#watchers.get(folder) === watcher) this.#watchers.delete(folder);
  }

  #onEvent(): void {
    if (this.#running) this.#changed = true;
    else this.#callAfter(debounceMs);
  }

  #callAfter(delayMs: number): void {
    if (this.#closed) return;
    this.#timer?.cancel();
    this.#timer = this.#options.clock.after(delayMs, () => void this.#call());
  }

  async #call(): Promise<void> {
    this.#running = true;
    this.#changed = false;
    try {
      await this.#options.onChange();
    } finally {
      this.#running = false;
      this.#callAfter(this.#changed ? debounceMs : pollMs);
    }
  }
}

/**
 * Watches manifest folders. Calls `onChange` when a folder has changed and then stayed the same for `debounceMs`. Also
 * calls `onChange` at least every `pollMs`, because the operating system can lose file watches, and because a folder
 * that a program changes continuously never stays the same. Calls to `onChange` never overlap. A change during a call
 * triggers another call.
 */
import { type FSWatcher, watch } from 'node:fs';
import type { Clock, Timer } from '../../base/clock.ts';
import { stateFolderName } from './state-directory.ts';

const debounceMs = 50;
const pollMs = 10_000;

interface ChangeWatchOptions {
  readonly clock: Clock;
  /** Reads the current content of the folders. The returned promise must not reject. */
  readonly onChange: () => Promise<void>;
}

export class ChangeWatch {
  readonly #options: ChangeWatchOptions;
  readonly #watchers = new Map<string, FSWatcher>();
  #timer: Timer | undefined;
  /**
   * Deadline of the next call to `onChange`, as monotonic time in ms. At the deadline, it is called even if the folders
   * have not changed.
   */
  #pollAtMs: number;
  #running = false;
  #changed = false;
  #closed = false;

  constructor(options: ChangeWatchOptions) {
    this.#options = options;
    this.#pollAtMs = options.clock.monotonic() + pollMs;
    this.#callAfter(pollMs);
  }

  /**
   * Watches exactly these folders. A new folder triggers a call to `onChange`, because its files may have changed
   * before the watch began. Folders that cannot be watched are polled for changes every `pollMs`.
   */
  follow(folders: readonly string[]): void {
    if (this.#closed) return;
    const wanted = new Set(folders);
    for (const [folder, watcher] of this.#watchers) {
      if (wanted.has(folder)) continue;
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
      // If a folder cannot be watched, its changes are found by the next poll.
    }
  }

  /** Closes the failed watch on a folder. The next call to `follow` watches the folder again. */
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
    const { clock } = this.#options;
    const longestMs = Math.max(0, this.#pollAtMs - clock.monotonic());
    this.#timer = clock.after(Math.min(delayMs, longestMs), () => void this.#call());
  }

  async #call(): Promise<void> {
    this.#running = true;
    this.#changed = false;
    try {
      await this.#options.onChange();
    } finally {
      this.#running = false;
      this.#pollAtMs = this.#options.clock.monotonic() + pollMs;
      this.#callAfter(this.#changed ? debounceMs : pollMs);
    }
  }
}

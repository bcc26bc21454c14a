/** Runs the tasks of one key in order of arrival. Tasks of different keys run concurrently. */

export class SerialTasks {
  /** Promise of the last task of each key. A key without unfinished tasks has no entry. */
  readonly #last = new Map<string, Promise<unknown>>();

  /** Runs `task` after the earlier tasks of its key have ended or failed. Resolves or rejects like `task`. */
  run<T>(key: string, task: () => Promise<T>): Promise<T> {
    const before = this.#last.get(key) ?? Promise.resolve();
    const running = before.then(task, task);
    const settled = running
      .catch(() => {})
      .then(() => {
        if (this.#last.get(key) === settled) this.#last.delete(key);
      });
    this.#last.set(key, settled);
    return running;
  }

  /** Resolves when all tasks that have been added have ended. */
  async drained(): Promise<void> {
    await Promise.all(this.#last.values());
  }
}

/** Runs the tasks of one key in order of arrival. Tasks of different keys run concurrently. */

export class SerialTasks {
  /** Last added task of each key, until it ends. */
  readonly #last = new Map<string, Promise<unknown>>();

  /** Runs `task` after all earlier tasks of the same key. Resolves or rejects like `task`. */
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

  /** Resolves when all added tasks have ended. */
  async drained(): Promise<void> {
    await Promise.all(this.#last.values());
  }
}

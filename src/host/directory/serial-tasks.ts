/** Tasks of one key run one after the other, in the order in which they came; those of different keys run side by side. */

export class SerialTasks {
  /** The last task of each key that has any; a key whose tasks have all ended stands here no more. */
  readonly #last = new Map<string, Promise<unknown>>();

  /** Runs `task` once those before it have ended, however they ended, and resolves or rejects as it does. */
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

  /** Resolves once the tasks of all keys have ended that there are now. */
  async drained(): Promise<void> {
    await Promise.all(this.#last.values());
  }
}

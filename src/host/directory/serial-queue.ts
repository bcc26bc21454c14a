/**
 * Runs functions with the same key one at a time, in order of arrival. Functions with different keys run concurrently.
 */

export class SerialQueue {
  /**
   * For each key, the promise of the function that was added last. The promise is removed when the function has ended.
   */
  readonly #last = new Map<string, Promise<unknown>>();

  /** Runs `act` after all functions that were added earlier with the same key. Resolves or rejects like `act`. */
  run<T>(key: string, act: () => Promise<T>): Promise<T> {
    const before = this.#last.get(key) ?? Promise.resolve();
    const running = before.then(act, act);
    const settled = running
      .catch(() => {})
      .then(() => {
        if (this.#last.get(key) === settled) this.#last.delete(key);
      });
    this.#last.set(key, settled);
    return running;
  }

  /** Resolves when all functions added so far have ended. */
  async drained(): Promise<void> {
    await Promise.all(this.#last.values());
  }
}

/** Runs the functions of one key in order of arrival. Functions of different keys run concurrently. */

export class SerialQueue {
  /** Result of the last added function of each key, until the function ends. */
  readonly #last = new Map<string, Promise<unknown>>();

  /** Runs `act` after all earlier queue of the same key. Resolves or rejects like `act`. */
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

  /** Resolves when all added functions have ended. */
  async drained(): Promise<void> {
    await Promise.all(this.#last.values());
  }
}

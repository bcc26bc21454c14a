/** Functions that want to be called when something changes. */
export class Listeners<T = void> {
  readonly #listeners = new Set<(event: T) => void>();

  /** Adds a listener. Returns the function that removes it. */
  add(listener: (event: T) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /**
   * Calls each listener. Listeners may add and remove listeners meanwhile.
   * @param onError called with the error of a listener, so that the other listeners are still called; without this
   * function, the error is thrown
   */
  notify(event: T, onError = rethrow): void {
    for (const listener of [...this.#listeners]) {
      try {
        listener(event);
      } catch (error) {
        onError(error);
      }
    }
  }
}

function rethrow(error: unknown): void {
  throw error;
}

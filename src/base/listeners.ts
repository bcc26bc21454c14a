/** List of functions that are called when something changes. */
export class Listeners<T = void> {
  readonly #listeners = new Set<(event: T) => void>();

  /** Adds a listener. Returns the function that removes it. */
  add(listener: (event: T) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /**
   * Calls each listener. During the calls, listeners may add and remove listeners.
   * @param onError called with the error of a listener; the remaining listeners are still called. By default, the error
   * is thrown.
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

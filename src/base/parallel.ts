/** Runs work on many things, a bounded number at once. */

/**
 * Runs `run` on each item, in their order. `atOnce` is asked before each begins, and one runs in any case. Rejects with the first
 * rejection once everything that had begun has ended; nothing begins after it.
 */
export async function inParallel<T>(
  items: readonly T[],
  atOnce: () => number,
  run: (item: T) => Promise<void>,
): Promise<void> {
  const waiting = [...items];
  const running = new Set<Promise<void>>();
  const failures: unknown[] = [];
  while (waiting.length > 0 || running.size > 0) {
    while (waiting.length > 0 && running.size < Math.max(1, atOnce())) {
      const one: Promise<void> = run(waiting.shift() as T)
        .catch((error: unknown) => {
          failures.push(error);
          waiting.length = 0;
        })
        .finally(() => running.delete(one));
      running.add(one);
    }
    await Promise.race(running);
  }
  if (failures.length > 0) throw failures[0];
}

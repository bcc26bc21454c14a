/**
 * Leadership by lock: the process leads while it holds the locks of all its directories. Leadership is interrupted only if the machine was
 * suspended or a lock was taken away.
 */
import type { Leadership } from '../host.ts';
import type { ProcessLock } from './process-lock.ts';

export class DirectoryLeadership implements Leadership {
  readonly #locks: readonly ProcessLock[];
  readonly #tookOver: boolean;
  #term = 1;
  #led = true;
  readonly #listeners = new Set<() => void>();

  constructor(locks: readonly ProcessLock[]) {
    this.#locks = locks;
    this.#tookOver = locks.some(({ tookOver }) => tookOver);
    for (const lock of locks) lock.subscribe(() => this.#look());
  }

  isLeader(): boolean {
    return this.#locks.every((lock) => lock.held());
  }

  term(): number {
    return this.#term;
  }

  /**
   * Only the first term can follow another process. A later term follows our own suspension, and no other process sent requests meanwhile.
   */
  tookOverByForce(): boolean {
    return this.#term === 1 && this.#tookOver;
  }

  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /**
   * Updates the term when a lock changes. A lock also reports that it is held again after it had expired by the clock: that starts a new
   * term.
   */
  #look(): void {
    const leads = this.isLeader();
    if (leads) this.#term++;
    if (!leads && !this.#led) return;
    this.#led = leads;
    for (const listener of this.#listeners) listener();
  }
}

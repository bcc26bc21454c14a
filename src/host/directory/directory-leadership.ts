/**
 * Leadership where a lock keeps other processes out: this one leads as long as it holds the locks of all its directories, which is
 * from start to end unless the machine was suspended or somebody took a lock away.
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

  /** A later term of ours follows upon our own silence, so nobody was there to leave requests behind. */
  tookOverByForce(): boolean {
    return this.#term === 1 && this.#tookOver;
  }

  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** A lock announces that it was won back after it had run out by the clock, too: that is a new term. */
  #look(): void {
    const leads = this.isLeader();
    if (leads) this.#term++;
    if (!leads && !this.#led) return;
    this.#led = leads;
    for (const listener of this.#listeners) listener();
  }
}

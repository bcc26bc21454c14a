/** Leadership that a test grants and withdraws. */
import type { Leadership } from '../../src/host/host.ts';

export class SwitchedLeadership implements Leadership {
  #isLeader: boolean;
  #term: number;
  readonly #listeners = new Set<() => void>();

  constructor(isLeader: boolean, term = isLeader ? 1 : 0) {
    this.#isLeader = isLeader;
    this.#term = term;
  }

  isLeader(): boolean {
    return this.#isLeader;
  }

  term(): number {
    return this.#term;
  }

  tookOverByForce(): boolean {
    return true;
  }

  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Begins a new term. */
  begin(): void {
    this.#isLeader = true;
    this.#term++;
    this.#report();
  }

  /** Ends the term. If `isSilent` is true, the listeners are not called. */
  end({ isSilent = false } = {}): void {
    this.#isLeader = false;
    if (!isSilent) this.#report();
  }

  #report(): void {
    for (const listener of this.#listeners) listener();
  }
}

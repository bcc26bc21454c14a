/**
 * Leadership that begins when the leader has read what it must know before its first request, such as the Kubernetes Jobs of exports (B8).
 * The preparation is repeated in each term of leadership. Until it ends, this process counts as a follower.
 */
import type { Leadership } from '../host.ts';

export class PreparedLeadership implements Leadership {
  readonly #inner: Leadership;
  readonly #prepare: () => Promise<void>;
  readonly #listeners = new Set<() => void>();
  /** Term of leadership in which `prepare` was last called. `#preparedTerm`: term in which `prepare` last succeeded. */
  #begunTerm = 0;
  #preparedTerm = 0;

  constructor(inner: Leadership, prepare: () => Promise<void>) {
    this.#inner = inner;
    this.#prepare = prepare;
    inner.subscribe(() => this.#follow());
    this.#follow();
  }

  isLeader(): boolean {
    return this.#inner.isLeader() && this.#preparedTerm === this.#inner.term();
  }

  term(): number {
    return this.#inner.term();
  }

  tookOverByForce(): boolean {
    return this.#inner.tookOverByForce();
  }

  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #follow(): void {
    const term = this.#inner.term();
    if (this.#inner.isLeader() && this.#begunTerm !== term) {
      this.#begunTerm = term;
      void this.#prepare().then(() => {
        this.#preparedTerm = term;
        this.#notify();
      });
    }
    this.#notify();
  }

  #notify(): void {
    for (const listener of [...this.#listeners]) listener();
  }
}

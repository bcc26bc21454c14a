/**
 * Leadership that begins only after a preparation step, in which a new leader reads the data that it needs, such as the
 * Jobs of exports (B8). Until this step has succeeded, the process does not count as the leader.
 */
import { Listeners } from '../../base/listeners.ts';
import type { Leadership } from '../host.ts';

export class PreparedLeadership implements Leadership {
  readonly #inner: Leadership;
  readonly #prepare: () => Promise<void>;
  readonly #listeners = new Listeners();
  /** Leadership term for which `prepare` last succeeded. */
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
    return this.#listeners.add(listener);
  }

  #follow(): void {
    const term = this.#inner.term();
    if (this.#inner.isLeader()) {
      void this.#prepare().then(() => {
        this.#preparedTerm = term;
        this.#listeners.notify();
      });
    }
    this.#listeners.notify();
  }
}

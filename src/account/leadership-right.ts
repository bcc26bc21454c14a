/** Right to send requests to the service: a process may send only while it is the leader (L1). */
import type { Clock } from '../base/clock.ts';
import type { Leadership } from '../host/host.ts';
import type { SendRight, Term } from '../service/budget/send-right.ts';

export class LeadershipRight implements SendRight {
  readonly #leadership: Leadership;
  readonly #clock: Clock;
  #term: Term | undefined;
  readonly #unsubscribe: () => void;

  constructor(leadership: Leadership, clock: Clock) {
    this.#leadership = leadership;
    this.#clock = clock;
    // A term begins when leadership is announced, not with the first request.
    this.#unsubscribe = leadership.subscribe(() => void this.current());
    this.current();
  }

  current(): Term | undefined {
    const leadership = this.#leadership;
    if (!leadership.isLeader()) return undefined;
    const number = leadership.term();
    if (this.#term?.number === number) return this.#term;
    this.#term = { number, sinceMs: this.#clock.monotonic(), tookOverByForce: leadership.tookOverByForce() };
    return this.#term;
  }

  close(): void {
    this.#unsubscribe();
  }
}

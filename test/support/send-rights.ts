/** Rights to send for tests of code below leadership. */
import { type Departure, depart, type SendRight, type Term } from '../../src/service/budget/send-right.ts';

const everlasting: Term = { number: 1, sinceMs: Number.NEGATIVE_INFINITY, tookOverByForce: false };

/** Permanent right, too old for the requests of a former leader to matter. */
export const everlastingRight: SendRight = { current: () => everlasting };

/** Proof for tests of transports without a budget. */
export function grantedDeparture(): Departure {
  return depart(everlastingRight, everlasting, 0);
}

/** Right that a test grants and withdraws. */
export class SwitchedRight implements SendRight {
  #term: Term | undefined;
  #terms = 0;

  current(): Term | undefined {
    return this.#term;
  }

  begin(sinceMs: number, tookOverByForce = false): void {
    this.#term = { number: ++this.#terms, sinceMs, tookOverByForce };
  }

  end(): void {
    this.#term = undefined;
  }
}

/**
 * Permissions to send requests, for tests without leader election. In production, only the process that holds the lease
 * may send requests.
 */
import { type Departure, depart, type SendRight, type Term } from '../../src/service/budget/send-right.ts';

const everlasting: Term = { number: 1, sinceMs: Number.NEGATIVE_INFINITY, tookOverByForce: false };

/** Permission to send requests that is never withdrawn. No requests of a previous leader are in flight. */
export const everlastingRight: SendRight = { current: () => everlasting };

/** Returns a permission to send one request, without a request budget. */
export function grantedDeparture(): Departure {
  return depart(everlastingRight, everlasting, 0);
}

/** Permission to send requests that a test grants and withdraws. */
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

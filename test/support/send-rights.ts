/** Rights to send for tests of what lies below leadership. */
import { type Departure, depart, type SendRight, type Term } from '../../src/service/send-right.ts';

const everlasting: Term = { number: 1, sinceMs: Number.NEGATIVE_INFINITY, tookOverByForce: false };

/** Always there, and so old that no former leader matters any more. */
export const everlastingRight: SendRight = { current: () => everlasting };

/** A proof for transports that are tried without a budget. */
export function grantedDeparture(): Departure {
  return depart(everlastingRight, everlasting, 0);
}

/** A right that a test gives and takes. */
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

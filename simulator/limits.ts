/**
 * Request limits (section 8 of docs/service.md): requests per user in any second, and concurrent requests per access
 * key.
 */
import { secondMs } from '../src/base/time-units.ts';
import type { AccessKey, Settings } from './scenario/settings.ts';

/** Counts the requests that arrived within the last second up to a given time. */
class ArrivalCounter {
  #times: number[] = [];
  #first = 0;

  countAt(atMs: number): number {
    while (this.#first < this.#times.length && (this.#times[this.#first] as number) <= atMs - secondMs) this.#first++;
    if (this.#first > 1_024 && this.#first * 2 > this.#times.length) {
      this.#times = this.#times.slice(this.#first);
      this.#first = 0;
    }
    return this.#times.length - this.#first;
  }

  add(atMs: number): void {
    this.#times.push(atMs);
  }
}

export interface Arrival {
  /** Limit that the request exceeds, or undefined if it exceeds none. */
  readonly exceeded: 'rate' | 'concurrency' | undefined;
  /** Number of requests in flight with the same access key, including the current request. */
  readonly inFlight: number;
  /** Number of requests by the user in the last second, including the current request. */
  readonly perSecond: number;
}

export class Limits {
  readonly #arrivals = new Map<string, ArrivalCounter>();
  readonly #counted = new Map<string, ArrivalCounter>();
  readonly #inFlight = new Map<string, number>();
  maxInFlight = 0;
  maxPerSecond = 0;

  /** Counts a request as in flight. The caller must call `leave` when the request has ended. */
  arrive(key: AccessKey, limits: Settings['limits'], atMs: number): Arrival {
    const arrivals = counterOf(this.#arrivals, key.user);
    const counted = counterOf(this.#counted, key.user);
    arrivals.add(atMs);
    const perSecond = arrivals.countAt(atMs);
    const inFlight = (this.#inFlight.get(key.accessId) ?? 0) + 1;
    this.#inFlight.set(key.accessId, inFlight);
    this.maxPerSecond = Math.max(this.maxPerSecond, perSecond);
    this.maxInFlight = Math.max(this.maxInFlight, inFlight);
    const exceeded = !isWithin(counted.countAt(atMs) + 1, limits.requestsPerSecond)
      ? 'rate'
      : isWithin(inFlight, limits.concurrentRequests)
        ? undefined
        : 'concurrency';
    if (exceeded === undefined || limits.countRefused) counted.add(atMs);
    return { exceeded, inFlight, perSecond };
  }

  leave(accessId: string): void {
    const inFlight = this.#inFlight.get(accessId) ?? 0;
    if (inFlight > 1) this.#inFlight.set(accessId, inFlight - 1);
    else this.#inFlight.delete(accessId);
  }
}

function isWithin(count: number, limit: number): boolean {
  return limit === 0 || count <= limit;
}

function counterOf(counters: Map<string, ArrivalCounter>, user: string): ArrivalCounter {
  let counter = counters.get(user);
  if (!counter) {
    counter = new ArrivalCounter();
    counters.set(user, counter);
  }
  return counter;
}

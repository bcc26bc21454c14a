/**
 * The limits of section 8 that every request meets: starts in any one second per user, requests at once per access key. Also
 * the record of what arrived, refused or not, which is what tests of a client look at.
 *
 * A second is half-open: a request may start exactly one second after the fourth last one.
 */
import type { AccessKey, Settings } from './settings.ts';

const windowMs = 1_000;

/** Times of arrivals within the last second; the oldest are dropped from the front. */
class Window {
  #times: number[] = [];
  #first = 0;

  /** How many arrived in the second that ends now. */
  countAt(atMs: number): number {
    while (this.#first < this.#times.length && (this.#times[this.#first] as number) <= atMs - windowMs) this.#first++;
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
  /** The limit that it exceeds, the first of them; undefined where it is admitted. */
  readonly exceeded: 'rate' | 'concurrency' | undefined;
  /** Requests of this key that are unanswered, this one among them. */
  readonly inFlight: number;
  /** Arrivals of this user within the second that ends with this one. */
  readonly perSecond: number;
}

export class Limits {
  readonly #arrivals = new Map<string, Window>();
  readonly #counted = new Map<string, Window>();
  readonly #inFlight = new Map<string, number>();
  maxInFlight = 0;
  maxPerSecond = 0;

  /** Counts a request in; `leave` must be called when it is over. */
  arrive(key: AccessKey, limits: Settings['limits'], atMs: number): Arrival {
    const arrivals = windowOf(this.#arrivals, key.user);
    const counted = windowOf(this.#counted, key.user);
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

function windowOf(windows: Map<string, Window>, user: string): Window {
  let window = windows.get(user);
  if (!window) {
    window = new Window();
    windows.set(user, window);
  }
  return window;
}

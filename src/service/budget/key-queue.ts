/**
 * Queue of one access key in the request budget: its waiting requests by class, and its requests in flight (B1, B2, B3, B6).
 * `request-budget.ts` decides which request gets a slot, and when.
 *
 * Invariant: a request occupies a slot from its grant until the service has certainly finished the request. At the time of a grant,
 * the number of occupied slots is below the limit.
 */
import type { Path, RequestClass } from './request-slot.ts';
import type { Term } from './send-right.ts';
import { requestClasses } from './turn-order.ts';

/**
 * Ratio of an access key's concurrent requests that page reads may use: 8 of 10 (B3). While search
 * jobs are kept alive, the ratio limits all requests except keep-alives, because slow list requests
 * would block keep-alives as well.
 */
const workShare = 0.8;
/** Time in ms after the last request for a search job during which the job is expected to need another keep-alive. */
const pollExpectedMs = 30_000;
const ofJobs: ReadonlySet<RequestClass> = new Set(['keepAlive', 'jobCreation', 'jobCare']);

/** Request that waits in the queue of its access key. */
export interface Waiter {
  readonly class: RequestClass;
  readonly path: Path | undefined;
  readonly queue: KeyQueue;
  readonly sinceMs: number;
  readonly dueMs: number;
  /** Ends the wait and gives the request a slot (the right to be sent) in this term of leadership. */
  readonly grant: (term: Term) => void;
  /** Ends the wait of the request and rejects the request with an error. */
  readonly refuse: (error: Error) => void;
}

/** Request that occupies one of the access key's concurrent slots, from the grant of the slot to its end. */
export interface Occupant {
  readonly class: RequestClass;
  /** Time at which the service has certainly finished a cancelled request; undefined for other requests. */
  readonly heldUntilMs: number | undefined;
  /** Whether the request is being cancelled, so that its slot becomes free soon. */
  readonly endsSoon: boolean;
  /** Cancels the request in favour of a keep-alive; undefined if the request may not be cancelled. */
  readonly giveUp: (() => void) | undefined;
}

export class KeyQueue {
  /** Maximum number of concurrent requests that this process may send with the access key (B7). */
  maxConcurrent: number;
  /** Waiting requests of each class, sorted by due time and then by arrival. */
  readonly #queues = Object.fromEntries(
    requestClasses.map((requestClass) => [requestClass, []]),
  ) as unknown as Readonly<Record<RequestClass, Waiter[]>>;
  readonly #occupants = new Set<Occupant>();
  /**
   * Turn (value of a growing counter) in which each class of requests was last served. The lowest turn shows which
   * access key of a user has waited longest.
   */
  readonly #turns = new Map<RequestClass, number>();
  /**
   * Returns the time until which only half of the concurrent requests may be used. After a takeover by force, the other half is
   * left for requests that the former leader may still have in flight (B6).
   */
  readonly #halfUntilMs: () => number;
  #pollExpectedUntilMs = Number.NEGATIVE_INFINITY;

  constructor(maxConcurrent: number, halfUntilMs: () => number) {
    this.maxConcurrent = maxConcurrent;
    this.#halfUntilMs = halfUntilMs;
  }

  /** Number of requests that occupy a slot. */
  get occupied(): number {
    return this.#occupants.size;
  }

  get waiting(): number {
    return Object.values(this.#queues).reduce((sum, { length }) => sum + length, 0);
  }

  head(requestClass: RequestClass): Waiter | undefined {
    return this.#queues[requestClass][0];
  }

  /** All waiting requests, by class. */
  all(): readonly Waiter[] {
    return Object.values(this.#queues).flat();
  }

  push(waiter: Waiter, nowMs: number): void {
    this.#expectPoll(waiter.class, nowMs);
    const queue = this.#queues[waiter.class];
    queue.splice(queue.findLastIndex(({ dueMs }) => dueMs <= waiter.dueMs) + 1, 0, waiter);
  }

  remove(waiter: Waiter): void {
    const queue = this.#queues[waiter.class];
    queue.splice(queue.indexOf(waiter), 1);
  }

  /** Whether one more request of this class may be in flight with the access key. */
  hasSlot(requestClass: RequestClass, nowMs: number): boolean {
    const isHalved = nowMs < this.#halfUntilMs();
    const most = isHalved ? Math.max(1, Math.floor(this.maxConcurrent / 2)) : this.maxConcurrent;
    if (this.#occupants.size >= most) return false;
    if (requestClass === 'keepAlive') return true;
    const maxWork = Math.max(1, Math.floor(most * workShare));
    if (requestClass === 'pageRead' && this.#inUseBy('pageRead') >= maxWork) return false;
    return nowMs >= this.#pollExpectedUntilMs || this.#occupants.size - this.#inUseBy('keepAlive') < maxWork;
  }

  enter(occupant: Occupant, turn: number, nowMs: number): void {
    this.#expectPoll(occupant.class, nowMs);
    this.#occupants.add(occupant);
    this.#turns.set(occupant.class, turn);
  }

  leave(occupant: Occupant): void {
    this.#occupants.delete(occupant);
  }

  /**
   * Frees slots for waiting keep-alives by cancelling other requests, the longest running ones first. No request is cancelled
   * if a slot becomes free soon anyway.
   */
  freeSlots(nowMs: number): void {
    if (this.hasSlot('keepAlive', nowMs)) return;
    const occupants = [...this.#occupants];
    const needed = this.#queues.keepAlive.length - occupants.filter(({ endsSoon }) => endsSoon).length;
    const yielding = occupants.filter(({ giveUp }) => giveUp !== undefined);
    for (const { giveUp } of yielding.slice(0, Math.max(0, needed))) giveUp?.();
  }

  /** Frees the slots of cancelled requests that the service has certainly finished. */
  expire(nowMs: number): void {
    for (const occupant of this.#occupants) {
      if (occupant.heldUntilMs !== undefined && occupant.heldUntilMs <= nowMs) this.leave(occupant);
    }
  }

  /** Times at which a slot may become free without an answer from the service. */
  changesMs(): readonly number[] {
    const heldMs = [...this.#occupants].map(({ heldUntilMs = Number.POSITIVE_INFINITY }) => heldUntilMs);
    return [this.#halfUntilMs(), this.#pollExpectedUntilMs, ...heldMs];
  }

  /** Turn number at which the class of requests was last served; 0 if the class was never served. */
  turnOf(requestClass: RequestClass): number {
    return this.#turns.get(requestClass) ?? 0;
  }

  #expectPoll(requestClass: RequestClass, nowMs: number): void {
    if (ofJobs.has(requestClass)) this.#pollExpectedUntilMs = nowMs + pollExpectedMs;
  }

  #inUseBy(requestClass: RequestClass): number {
    return [...this.#occupants].filter((occupant) => occupant.class === requestClass).length;
  }
}

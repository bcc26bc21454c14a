/** Waiting and in-flight requests of one access key (B1, B2, B3, B6). `request-budget.ts` chooses the next request. */
import type { Path, RequestClass } from './request-slot.ts';
import type { Term } from './send-right.ts';
import { requestClasses } from './turn-order.ts';

/**
 * Fraction of the limit on concurrent requests that page reads may use. The rest is reserved for keep-alives of search
 * jobs, so that slow page reads do not block keep-alives (B3).
 */
const workShare = 0.8;
/**
 * Time in ms for which part of the limit on concurrent requests is reserved for keep-alives after a request for a
 * search job.
 */
const pollExpectedMs = 30_000;
const ofJobs: ReadonlySet<RequestClass> = new Set(['keepAlive', 'jobCreation', 'jobCare']);

export interface Waiter {
  readonly class: RequestClass;
  readonly path: Path | undefined;
  readonly queue: KeyQueue;
  readonly sinceMs: number;
  readonly dueMs: number;
  /** Gives the request permission to be sent. */
  readonly grant: (term: Term) => void;
  readonly refuse: (error: Error) => void;
}

/** Request that counts against the limit on concurrent requests, because the service may still be working on it. */
export interface Occupant {
  readonly class: RequestClass;
  /**
   * Time after which the service is no longer working on the cancelled request. Undefined if the request was not
   * cancelled.
   */
  readonly heldUntilMs: number | undefined;
  /** True if the request was cancelled, and will soon stop counting against the limit on concurrent requests. */
  readonly endsSoon: boolean;
  /**
   * Cancels this request to make room for a keep-alive request of a search job. Undefined if this request must not be
   * cancelled.
   */
  readonly giveUp: (() => void) | undefined;
}

export class KeyQueue {
  /** Maximum number of concurrent requests by this process (B7). */
  maxConcurrent: number;
  /** Waiting requests of each class, ordered by due time. */
  readonly #queues = Object.fromEntries(
    requestClasses.map((requestClass) => [requestClass, []]),
  ) as unknown as Readonly<Record<RequestClass, Waiter[]>>;
  readonly #occupants = new Set<Occupant>();
  /**
   * Sequence number of the last request sent with this access key, by class. The next request of a class is sent with
   * the access key that has the lowest number.
   */
  readonly #turns = new Map<RequestClass, number>();
  /**
   * Returns the time until which half of the limit on concurrent requests is reserved for a former leader's requests
   * that may still be in flight (B6).
   */
  readonly #halfUntilMs: () => number;
  #pollExpectedUntilMs = Number.NEGATIVE_INFINITY;

  constructor(maxConcurrent: number, halfUntilMs: () => number) {
    this.maxConcurrent = maxConcurrent;
    this.#halfUntilMs = halfUntilMs;
  }

  /** Number of concurrent requests with this access key. */
  get occupied(): number {
    return this.#occupants.size;
  }

  get waiting(): number {
    return Object.values(this.#queues).reduce((sum, { length }) => sum + length, 0);
  }

  head(requestClass: RequestClass): Waiter | undefined {
    return this.#queues[requestClass][0];
  }

  /** Returns all waiting requests, by class. */
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

  hasSlot(requestClass: RequestClass, nowMs: number): boolean {
    const isHalved = nowMs < this.#halfUntilMs();
    const max = isHalved ? Math.max(1, Math.floor(this.maxConcurrent / 2)) : this.maxConcurrent;
    if (this.#occupants.size >= max) return false;
    if (requestClass === 'keepAlive') return true;
    const maxWork = Math.max(1, Math.floor(max * workShare));
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

  /** Cancels the longest-running requests, so that waiting keep-alives of search jobs can be sent. */
  freeSlots(nowMs: number): void {
    if (this.hasSlot('keepAlive', nowMs)) return;
    const occupants = [...this.#occupants];
    const needed = this.#queues.keepAlive.length - occupants.filter(({ endsSoon }) => endsSoon).length;
    const yielding = occupants.filter(({ giveUp }) => giveUp !== undefined);
    for (const { giveUp } of yielding.slice(0, Math.max(0, needed))) giveUp?.();
  }

  /**
   * Removes cancelled requests on which the service is no longer working, so that they no longer count against the
   * limit on concurrent requests.
   */
  expire(nowMs: number): void {
    for (const occupant of this.#occupants) {
      if (occupant.heldUntilMs !== undefined && occupant.heldUntilMs <= nowMs) this.leave(occupant);
    }
  }

  /**
   * Returns the times at which the limits may allow more requests with this access key, even if no response arrives
   * before then.
   */
  changesMs(): readonly number[] {
    const heldMs = [...this.#occupants].map(({ heldUntilMs = Number.POSITIVE_INFINITY }) => heldUntilMs);
    return [this.#halfUntilMs(), this.#pollExpectedUntilMs, ...heldMs];
  }

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

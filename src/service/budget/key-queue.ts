/**
 * Waiting requests of one access key by class, and its requests in flight (B1, B2, B3, B6). `request-budget.ts`
 * decides which waiting request is sent next.
 *
 * Invariant: when another request is permitted, fewer than `maxConcurrent` requests are in flight. A request is in
 * flight from its permission until the service has certainly finished it.
 */
import type { Path, RequestClass } from './request-slot.ts';
import type { Term } from './send-right.ts';
import { requestClasses } from './turn-order.ts';

/**
 * Ratio of an access key's concurrent requests that page reads may use (8 of 10), so that slow page reads never block the
 * keep-alives of search jobs (B3). While jobs are kept alive, the limit applies to the total of all requests other than
 * keep-alives.
 */
const workShare = 0.8;
/** Time in ms after the last request about a search job during which further keep-alives are expected. */
const pollExpectedMs = 30_000;
const ofJobs: ReadonlySet<RequestClass> = new Set(['keepAlive', 'jobCreation', 'jobCare']);

export interface Waiter {
  readonly class: RequestClass;
  readonly path: Path | undefined;
  readonly queue: KeyQueue;
  readonly sinceMs: number;
  readonly dueMs: number;
  /** Permits the request to be sent, in this term of leadership. */
  readonly grant: (term: Term) => void;
  readonly refuse: (error: Error) => void;
}

/** Request that counts as one of the access key's concurrent requests until the service has finished it. */
export interface Occupant {
  readonly class: RequestClass;
  /**
   * Time at which the service has certainly finished this cancelled request; undefined if the request was not cancelled.
   */
  readonly heldUntilMs: number | undefined;
  /** Whether the request is cancelled and ends soon, so that another request can take its place. */
  readonly endsSoon: boolean;
  /** Cancels the request so that a keep-alive can be sent instead; undefined if the request must not be cancelled. */
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
   * For each class of requests: serial number of the last request of this class that the access key sent. The access key
   * with the lowest number has waited longest.
   */
  readonly #turns = new Map<RequestClass, number>();
  /**
   * Returns the time until which the access key may use only half of its concurrent requests. The other half is left
   * for requests of a former leader that ended without handing over (B6).
   */
  readonly #halfUntilMs: () => number;
  #pollExpectedUntilMs = Number.NEGATIVE_INFINITY;

  constructor(maxConcurrent: number, halfUntilMs: () => number) {
    this.maxConcurrent = maxConcurrent;
    this.#halfUntilMs = halfUntilMs;
  }

  /** Number of the access key's concurrent requests. */
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
   * Cancels requests, the longest running first, so that waiting keep-alives can be sent. Nothing is cancelled if
   * enough requests end soon anyway.
   */
  freeSlots(nowMs: number): void {
    if (this.hasSlot('keepAlive', nowMs)) return;
    const occupants = [...this.#occupants];
    const needed = this.#queues.keepAlive.length - occupants.filter(({ endsSoon }) => endsSoon).length;
    const yielding = occupants.filter(({ giveUp }) => giveUp !== undefined);
    for (const { giveUp } of yielding.slice(0, Math.max(0, needed))) giveUp?.();
  }

  /** Forgets cancelled requests that the service has certainly finished. */
  expire(nowMs: number): void {
    for (const occupant of this.#occupants) {
      if (occupant.heldUntilMs !== undefined && occupant.heldUntilMs <= nowMs) this.leave(occupant);
    }
  }

  /** Times at which the access key may send more requests even if no answer arrives. */
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

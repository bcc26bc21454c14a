/**
 * One access key's part of the request budget: what waits, by class, and how many requests are under way (B1, B2, B3, B6).
 *
 * Invariant: `inUse` counts every request from its grant until the server can no longer be busy with it; it is never above the
 * limit that held when it was raised. Leaves to `request-budget.ts`: when, and whose turn it is.
 */
import type { Path, RequestClass } from './request-slot.ts';
import type { Term } from './send-right.ts';
import { requestClasses } from './turn-order.ts';
import { type Waiting, WaitingQueue } from './waiting-queue.ts';

/**
 * Of the requests at once, the part that page reads may take (B3): 8 of 10. While jobs are kept alive it binds everything
 * but their polls, since listings that hang would keep these from starting just as well.
 */
const workPart = 0.8;
/** For so long after a request that is about a job, a keep-alive poll of one is expected. */
const pollExpectedMs = 30_000;
const ofJobs: ReadonlySet<RequestClass> = new Set(['keepAlive', 'jobCreation', 'jobCare']);

/** A request in the queue. */
export interface Waiter extends Waiting {
  readonly class: RequestClass;
  readonly path: Path | undefined;
  readonly lane: KeyLane;
  readonly sinceMs: number;
  /** Ends the waiting with a slot of this term. */
  readonly grant: (term: Term) => void;
  /** Ends the waiting with an error. */
  readonly refuse: (error: Error) => void;
}

/** A request between its grant and its end. */
export interface Occupant {
  readonly class: RequestClass;
  /** Given up, it keeps its place for a short time only. */
  readonly isPoll: boolean;
}

export class KeyLane {
  /** This process's share of the key's concurrency (B7). */
  maxConcurrent: number;
  readonly #queues: Readonly<Record<RequestClass, WaitingQueue<Waiter>>>;
  readonly #occupants = new Set<Occupant>();
  /** Requests that were given up, with the time until which they keep their place, as far as it is known now. */
  readonly #held = new Map<Occupant, () => number>();
  /** Those that may be given up for a keep-alive poll, in the order in which they have had their time. */
  readonly #yielding = new Map<Occupant, () => void>();
  /** Those of them that were told to, until they do. */
  readonly #told = new Set<Occupant>();
  /** The turn in which each class of this key was last served, for fairness between keys. */
  readonly #turns = new Map<RequestClass, number>();
  #halfUntilMs = Number.NEGATIVE_INFINITY;
  #pollExpectedUntilMs = Number.NEGATIVE_INFINITY;

  constructor(maxConcurrent: number) {
    this.maxConcurrent = maxConcurrent;
    this.#queues = {
      keepAlive: new WaitingQueue(),
      pageRead: new WaitingQueue(),
      taskCreation: new WaitingQueue(),
      taskStatus: new WaitingQueue(),
      jobCreation: new WaitingQueue(),
      jobCare: new WaitingQueue(),
      listing: new WaitingQueue(),
    };
  }

  get waiting(): number {
    return requestClasses.reduce((sum, requestClass) => sum + this.#queues[requestClass].size, 0);
  }

  get inUse(): number {
    return this.#occupants.size;
  }

  head(requestClass: RequestClass): Waiter | undefined {
    return this.#queues[requestClass].peek();
  }

  /** All that wait, in no order. */
  all(): readonly Waiter[] {
    return requestClasses.flatMap((requestClass) => this.#queues[requestClass].all());
  }

  push(waiter: Waiter, nowMs: number): void {
    this.#expectPoll(waiter.class, nowMs);
    this.#queues[waiter.class].push(waiter);
  }

  remove(waiter: Waiter): void {
    this.#queues[waiter.class].remove(waiter);
  }

  /** Whether one more of the class may be under way. */
  hasPlace(requestClass: RequestClass, nowMs: number): boolean {
    const most = this.limit(nowMs);
    if (requestClass === 'keepAlive') return this.inUse < most;
    const mostWork = Math.max(1, Math.floor(most * workPart));
    const pollsExpected = nowMs < this.#pollExpectedUntilMs;
    if (this.inUse - this.#inUseBy('keepAlive') >= (pollsExpected ? mostWork : most)) return false;
    return this.inUse < most && (requestClass !== 'pageRead' || this.#inUseBy('pageRead') < mostWork);
  }

  /** How many may be under way now: all of the share, or half of it after a takeover by force (B6). */
  limit(nowMs: number): number {
    return nowMs < this.#halfUntilMs ? Math.max(1, Math.floor(this.maxConcurrent / 2)) : this.maxConcurrent;
  }

  halve(untilMs: number): void {
    this.#halfUntilMs = Math.max(this.#halfUntilMs, untilMs);
  }

  enter(occupant: Occupant, turn: number, nowMs: number): void {
    this.#expectPoll(occupant.class, nowMs);
    this.#occupants.add(occupant);
    this.#turns.set(occupant.class, turn);
  }

  leave(occupant: Occupant): void {
    this.#occupants.delete(occupant);
    this.#held.delete(occupant);
    this.#yielding.delete(occupant);
    this.#told.delete(occupant);
  }

  /** Keeps the place of a request that was given up until `untilMs()`, which may change, unless it leaves before (B2). */
  hold(occupant: Occupant, untilMs: () => number): void {
    this.#held.set(occupant, untilMs);
    this.#yielding.delete(occupant);
    this.#told.delete(occupant);
  }

  /** From now on it may be given up for a keep-alive poll: `giveUp` is called once, when one finds no place. */
  yieldTo(occupant: Occupant, giveUp: () => void): void {
    if (this.#occupants.has(occupant) && !this.#held.has(occupant)) this.#yielding.set(occupant, giveUp);
  }

  /** Has as many given up as keep-alive polls wait for a place, but for those whose place comes back soon anyway. */
  makeRoom(nowMs: number): void {
    if (!this.head('keepAlive') || this.hasPlace('keepAlive', nowMs)) return;
    const soon = [...this.#held.keys()].filter(({ isPoll }) => isPoll).length + this.#told.size;
    const needed = Math.max(0, this.#queues.keepAlive.size - soon);
    for (const [occupant, giveUp] of [...this.#yielding].slice(0, needed)) {
      this.#yielding.delete(occupant);
      this.#told.add(occupant);
      giveUp();
    }
  }

  /** Frees the places whose time is over. */
  expire(nowMs: number): void {
    for (const [occupant, untilMs] of this.#held) if (untilMs() <= nowMs) this.leave(occupant);
  }

  /** When `hasPlace` may next change without anybody's doing; infinity when it will not. */
  nextChangeMs(nowMs: number): number {
    let next = Number.POSITIVE_INFINITY;
    if (this.#halfUntilMs > nowMs) next = this.#halfUntilMs;
    for (const untilMs of this.#held.values()) next = Math.min(next, untilMs());
    return this.#pollExpectedUntilMs > nowMs ? Math.min(next, this.#pollExpectedUntilMs) : next;
  }

  /** The turn in which the class was last served here; 0 when never. */
  turnOf(requestClass: RequestClass): number {
    return this.#turns.get(requestClass) ?? 0;
  }

  #expectPoll(requestClass: RequestClass, nowMs: number): void {
    if (ofJobs.has(requestClass)) this.#pollExpectedUntilMs = nowMs + pollExpectedMs;
  }

  #inUseBy(requestClass: RequestClass): number {
    let count = 0;
    for (const occupant of this.#occupants) if (occupant.class === requestClass) count++;
    return count;
  }
}

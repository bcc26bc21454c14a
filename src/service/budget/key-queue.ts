/**
 * Queue of one access key in the request budget: its waiting requests by class, and the number of its requests in flight (B1, B2, B3, B6).
 *
 * Invariant: `inUse` counts every request from the grant of its slot until the service has certainly finished it. `inUse` never exceeds the
 * limit at the time of the grant. `request-budget.ts` decides which request is granted, and when.
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
/**
 * Time in ms after the last request for a search job during which the job is expected to need
 * another keep-alive.
 */
const pollExpectedMs = 30_000;
const ofJobs: ReadonlySet<RequestClass> = new Set(['keepAlive', 'jobCreation', 'jobCare']);

/** Entry of a queue of waiting requests. */
export interface Waiting {
  readonly dueMs: number;
  /** Unique number of the request in its order of arrival. */
  readonly order: number;
}

/** Waiting requests, sorted by due time and then by arrival. */
export class WaitingQueue<W extends Waiting> {
  readonly #entries: W[] = [];

  get size(): number {
    return this.#entries.length;
  }

  peek(): W | undefined {
    return this.#entries[0];
  }

  all(): readonly W[] {
    return [...this.#entries];
  }

  push(entry: W): void {
    this.#entries.splice(this.#indexFor(entry), 0, entry);
  }

  /** Removes an entry of this queue. */
  remove(entry: W): void {
    this.#entries.splice(this.#indexFor(entry), 1);
  }

  /** Index of the first entry that does not precede `entry`, found by binary search. */
  #indexFor({ dueMs, order }: Waiting): number {
    let [low, high] = [0, this.#entries.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      const other = this.#entries[middle] as W;
      if (other.dueMs < dueMs || (other.dueMs === dueMs && other.order < order)) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** Request that waits in the queue of its access key. */
export interface Waiter extends Waiting {
  readonly class: RequestClass;
  readonly path: Path | undefined;
  readonly queue: KeyQueue;
  readonly sinceMs: number;
  /**
   * Ends the wait and gives the request a slot (the right to be sent) in this term of leadership.
   */
  readonly grant: (term: Term) => void;
  /** Ends the wait of the request and rejects the request with an error. */
  readonly refuse: (error: Error) => void;
}

/**
 * Request that occupies one of the access key's concurrent slots, from the grant of the slot to its
 * end.
 */
export interface Occupant {
  readonly class: RequestClass;
  /**
   * Whether the request asks for the status of a search job. After such a request was cancelled,
   * its slot is kept only for a short time.
   */
  readonly isPoll: boolean;
}

export class KeyQueue {
  /** Maximum number of concurrent requests that this process may send with the access key (B7). */
  maxConcurrent: number;
  readonly #queues = Object.fromEntries(
    requestClasses.map((requestClass) => [requestClass, new WaitingQueue<Waiter>()]),
  ) as Readonly<Record<RequestClass, WaitingQueue<Waiter>>>;
  readonly #occupants = new Set<Occupant>();
  /**
   * Cancelled requests that still occupy a slot, each with a function that returns the estimated
   * time at which the slot becomes free.
   */
  readonly #held = new Map<Occupant, () => number>();
  /** Requests that may be cancelled to free a slot for a keep-alive, in order of their deadlines. */
  readonly #yielding = new Map<Occupant, () => void>();
  /** Requests that are being cancelled in favour of a keep-alive, and that have not ended yet. */
  readonly #asked = new Set<Occupant>();
  /**
   * Turn (value of a growing counter) in which each class of requests was last served. The lowest turn shows which
   * access key of a user has waited longest.
   */
  readonly #turns = new Map<RequestClass, number>();
  #halfUntilMs = Number.NEGATIVE_INFINITY;
  #pollExpectedUntilMs = Number.NEGATIVE_INFINITY;

  constructor(maxConcurrent: number) {
    this.maxConcurrent = maxConcurrent;
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

  /** All waiting requests, in no particular order. */
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

  /** Whether one more request of this class may be in flight with the access key. */
  hasSlot(requestClass: RequestClass, nowMs: number): boolean {
    const most = this.limit(nowMs);
    if (requestClass === 'keepAlive') return this.inUse < most;
    const maxWork = Math.max(1, Math.floor(most * workShare));
    const pollsExpected = nowMs < this.#pollExpectedUntilMs;
    if (this.inUse - this.#inUseBy('keepAlive') >= (pollsExpected ? maxWork : most)) return false;
    return this.inUse < most && (requestClass !== 'pageRead' || this.#inUseBy('pageRead') < maxWork);
  }

  /**
   * Current maximum of concurrent requests with the access key: the whole share of this process, or
   * half of it after a takeover by force (B6).
   */
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
    this.#asked.delete(occupant);
  }

  /**
   * Keeps the slot of a cancelled request until the time that `untilMs` returns, which may change,
   * or until `leave` is called (B2).
   */
  hold(occupant: Occupant, untilMs: () => number): void {
    this.#held.set(occupant, untilMs);
    this.#yielding.delete(occupant);
    this.#asked.delete(occupant);
  }

  /**
   * Allows a running request to be cancelled in favour of a keep-alive. `giveUp` is called once,
   * when a keep-alive finds no free slot.
   */
  yieldTo(occupant: Occupant, giveUp: () => void): void {
    if (this.#occupants.has(occupant) && !this.#held.has(occupant)) this.#yielding.set(occupant, giveUp);
  }

  /**
   * Frees slots for waiting keep-alives by cancelling other requests. No request is cancelled if a slot becomes free
   * soon without that.
   */
  freeSlots(nowMs: number): void {
    if (!this.head('keepAlive') || this.hasSlot('keepAlive', nowMs)) return;
    const soon = [...this.#held.keys()].filter(({ isPoll }) => isPoll).length + this.#asked.size;
    const needed = Math.max(0, this.#queues.keepAlive.size - soon);
    for (const [occupant, giveUp] of [...this.#yielding].slice(0, needed)) {
      this.#yielding.delete(occupant);
      this.#asked.add(occupant);
      giveUp();
    }
  }

  /** Frees the slots of cancelled requests whose hold time has ended. */
  expire(nowMs: number): void {
    for (const [occupant, untilMs] of this.#held) if (untilMs() <= nowMs) this.leave(occupant);
  }

  /**
   * Next time at which `hasSlot` may change without an answer from the service; Infinity if there
   * is none.
   */
  nextChangeMs(nowMs: number): number {
    let next = Number.POSITIVE_INFINITY;
    if (this.#halfUntilMs > nowMs) next = this.#halfUntilMs;
    for (const untilMs of this.#held.values()) next = Math.min(next, untilMs());
    return this.#pollExpectedUntilMs > nowMs ? Math.min(next, this.#pollExpectedUntilMs) : next;
  }

  /**
   * Turn number at which the class of requests was last served; 0 if the class was never served.
   */
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

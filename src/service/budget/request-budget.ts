/**
 * Decides when each of a user's waiting requests may be sent (B1 to B7). The service limits the rate per user and
 * concurrency per access key, so each access key has its own `KeyBudget`.
 */

import { assert } from '../../base/assert.ts';
import type { Clock, Timer } from '../../base/clock.ts';
import { getOrAdd } from '../../base/get-or-add.ts';
import { type Histogram, type Metrics, noMetrics } from '../../base/metrics.ts';
import { type Answered, GrantedSlot } from './granted-slot.ts';
import { JobAdmission } from './job-admission.ts';
import { KeyQueue, type Waiter } from './key-queue.ts';
import { PathMargin } from './path-margin.ts';
import { longestRequestMs, RateLimiter } from './rate-limiter.ts';
import { paceOf, RatePace, type RequestPace } from './rate-pace.ts';
import { Refusals } from './refusals.ts';
import type { KeyBudget, Path, RequestClass, Slot, SlotRequest } from './request-slot.ts';
import { NotLeadingError, type SendRight, type Term } from './send-right.ts';
import { type ClassHead, requestClasses, TurnOrder } from './turn-order.ts';

/**
 * Limits of the service (section 8 of docs/service.md): requests per second per user, and concurrent requests per
 * access key.
 */
export const serviceLimits = { requestsPerSecond: 4, maxConcurrentRequests: 10 } as const;

/** Maximum number of waiting requests across all access keys. */
const maxWaiting = 20_000;

export interface RequestBudgetOptions {
  readonly clock: Clock;
  readonly right: SendRight;
  readonly metrics?: Metrics;
}

/** Fraction of the request rate that is reserved for search-job keep-alives (B3, B4). */
const pollShare = 0.5;
const pollCycleMs = 15_000;
/** Pause in ms after a failed test connection. */
const probeRestMs = 1_000;

export class BudgetFullError extends Error {
  override readonly name = 'BudgetFullError';
  override readonly message = `more than ${maxWaiting} requests to the service are waiting`;
}

/** First waiting request of a class. */
interface NextRequest extends ClassHead {
  readonly waiter: Waiter;
}

export class RequestBudget {
  /** Limit on active search jobs. */
  readonly jobs: JobAdmission;
  readonly #clock: Clock;
  readonly #right: SendRight;
  readonly #waitSeconds: Histogram;
  readonly #margin = new PathMargin();
  readonly #pace = new RatePace(serviceLimits.requestsPerSecond);
  /**
   * Request rate from which the limit on search jobs is computed: the current rate, or a lower rate that applies soon.
   */
  #pollRate: number = serviceLimits.requestsPerSecond;
  readonly #limiter: RateLimiter;
  readonly #refusals = new Refusals();
  readonly #order = new TurnOrder();
  /** Queues of requests by access key. */
  readonly #queues = new Map<string, KeyQueue>();
  #turn = 0;
  #term: Term | undefined;
  /**
   * Time until which each access key may use only half of its concurrent requests. The other half is left for a former
   * leader's requests that may still be in flight (B6).
   */
  #halfUntilMs = Number.NEGATIVE_INFINITY;
  /**
   * Earliest time of the next test connection, by origin. Contains only origins with a running or failed test
   * connection.
   */
  readonly #probed = new Map<string, number>();
  /** Number of consecutive failed test connections. */
  #failedProbes = 0;
  #timer: { readonly atMs: number; readonly timer: Timer } | undefined;

  constructor(options: RequestBudgetOptions) {
    const { clock, right, metrics = noMetrics } = options;
    this.#clock = clock;
    this.#right = right;
    this.#limiter = new RateLimiter(this.#pace, this.#margin);
    this.jobs = new JobAdmission(clock, () => this.#sustainableJobs());
    this.#waitSeconds = metrics.histogram(
      'logfleet_service_budget_wait_seconds',
      'Time that requests to the log service waited because of rate limits, by class of request.',
      ['class'],
      [0.001, 0.01, 0.1, 0.25, 0.5, 1, 2, 5, 10, 30, 60, 300],
    );
  }

  /** Time allowed for the network delay of a request, in ms. */
  get allowedDelayMs(): number {
    return this.#margin.currentMs;
  }

  /** Number of requests waiting for permission. */
  get waiting(): number {
    return [...this.#queues.values()].reduce((sum, { waiting }) => sum + waiting, 0);
  }

  /** Number of permitted requests on which the service may still be working. */
  get inFlight(): number {
    return [...this.#queues.values()].reduce((sum, { occupied }) => sum + occupied, 0);
  }

  /** Number of requests per second that are currently permitted. It is lower for a while after a 429 response. */
  get requestsPerSecond(): number {
    const { starts, periodMs } = this.#pace.current(this.#clock.monotonic());
    return (starts * 1_000) / periodMs;
  }

  /** Returns the budget of one access key. */
  key(accessKeyId: string): KeyBudget {
    const queue = this.#queue(accessKeyId);
    return { jobs: this.jobs, acquire: (request) => this.#acquire(queue, request) };
  }

  /**
   * Sets the maximum request rate of this process (B7). Earlier requests still count against the new rate.
   * @param pollRate lower rate that will apply soon; a search job starts only if this rate is enough to poll all jobs
   */
  setRequestsPerSecond(requestsPerSecond: number, pollRate = requestsPerSecond): void {
    assert(requestsPerSecond > 0 && Number.isFinite(requestsPerSecond), 'the request rate must be greater than 0');
    this.#pace.requestsPerSecond = requestsPerSecond;
    this.#pollRate = pollRate;
    this.#pump();
  }

  /** Sets the maximum number of concurrent requests per access key (B7). Does not cancel any requests. */
  setMaxConcurrent(accessKeyId: string, maxConcurrent: number): void {
    assert(
      Number.isInteger(maxConcurrent) && maxConcurrent >= 1,
      'the maximum number of concurrent requests must be a whole number of at least 1',
    );
    this.#queue(accessKeyId).maxConcurrent = maxConcurrent;
    this.#pump();
  }

  /**
   * Reports whether every access key is within its limit on requests in flight, and whether the active search jobs are
   * within their limit. After a limit has been lowered, the requests and search jobs can exceed it for a while.
   */
  isWithinLimits(): boolean {
    const nowMs = this.#clock.monotonic();
    for (const queue of this.#queues.values()) queue.expire(nowMs);
    if (this.jobs.active > this.jobs.limit) return false;
    return [...this.#queues.values()].every(({ occupied, maxConcurrent }) => occupied <= maxConcurrent);
  }

  #queue(accessKeyId: string): KeyQueue {
    const create = () => new KeyQueue(serviceLimits.maxConcurrentRequests, () => this.#halfUntilMs);
    return getOrAdd(this.#queues, accessKeyId, create);
  }

  /** Returns this process's current term of leadership, or undefined while this process may not send requests (B6). */
  #currentTerm(): Term | undefined {
    const term = this.#right.current();
    if (!term || term.number === this.#term?.number) return term;
    this.#term = term;
    this.#limiter.inherit(term.sinceMs);
    if (term.tookOverByForce) this.#halfUntilMs = term.sinceMs + longestRequestMs;
    return term;
  }

  #acquire(queue: KeyQueue, request: SlotRequest): Promise<Slot> {
    const { signal } = request;
    if (signal?.aborted) return Promise.reject(signal.reason);
    if (!this.#currentTerm()) return Promise.reject(new NotLeadingError());
    if (this.waiting >= maxWaiting) return Promise.reject(new BudgetFullError());
    return new Promise((resolve, reject) => {
      const nowMs = this.#clock.monotonic();
      const waiter: Waiter = {
        class: request.class,
        path: request.path,
        queue,
        sinceMs: nowMs,
        dueMs: request.dueMs ?? nowMs,
        grant: (term) => {
          signal?.removeEventListener('abort', onAbort);
          resolve(this.#slot(waiter, request.isPoll ?? request.class === 'keepAlive', term));
        },
        refuse: (error) => {
          signal?.removeEventListener('abort', onAbort);
          reject(error);
        },
      };
      const onAbort = () => {
        queue.remove(waiter);
        this.#pump();
        reject(signal?.reason);
      };
      signal?.addEventListener('abort', onAbort, { once: true });
      queue.push(waiter, nowMs);
      this.#pump();
    });
  }

  #allWaiters(): readonly Waiter[] {
    return [...this.#queues.values()].flatMap((queue) => queue.all());
  }

  /** Permits all requests that may be sent now, and sets a timer for the others. */
  #pump(): void {
    const nowMs = this.#clock.monotonic();
    for (const queue of this.#queues.values()) queue.expire(nowMs);
    const term = this.#currentTerm();
    if (term) this.#grant(term, nowMs);
    else this.#refuseAll();
    for (const queue of this.#queues.values()) queue.freeSlots(nowMs);
    this.#probeDoubtful(nowMs);
    this.#setTimer(nowMs);
  }

  #grant(term: Term, nowMs: number): void {
    for (;;) {
      const next = this.#order.next(this.#candidates(nowMs));
      if (!next) return;
      next.waiter.queue.remove(next.waiter);
      this.#waitSeconds.observe({ class: next.class }, (nowMs - next.waiter.sinceMs) / 1000);
      next.waiter.grant(term);
    }
  }

  /** Rejects all waiting requests, because another process is the leader. */
  #refuseAll(): void {
    for (const waiter of this.#allWaiters()) {
      waiter.queue.remove(waiter);
      waiter.refuse(new NotLeadingError());
    }
  }

  /** Opens test connections if waiting requests need proof that earlier requests have arrived. */
  #probeDoubtful(nowMs: number): void {
    if (this.waiting === 0) return;
    for (const { path: own } of this.#limiter.doubtful(nowMs)) {
      const path = this.#probePath(own);
      if (path && (this.#probed.get(path.origin) ?? nowMs) <= nowMs) void this.#probe(path, nowMs);
    }
  }

  async #probe(path: Path, startedAtMs: number): Promise<void> {
    this.#probed.set(path.origin, Number.POSITIVE_INFINITY);
    try {
      await path.probe();
      this.#probed.delete(path.origin);
      this.#failedProbes = 0;
      this.#limiter.connected(path.origin, startedAtMs, this.#clock.monotonic());
    } catch {
      // After a failed test connection, it is still not known whether earlier requests have arrived, so another test
      // connection is opened after a pause.
      this.#probed.set(path.origin, this.#clock.monotonic() + probeRestMs);
      this.#failedProbes++;
    }
    this.#pump();
  }

  /**
   * Returns the network path for the next test connection. `own` is the path of the request that may not have arrived,
   * or undefined for any path. The client that sent this request may have been closed since then, for example because a
   * Secret has changed. Therefore, after a failed test connection, the paths of waiting requests are used in turn.
   */
  #probePath(own: Path | undefined): Path | undefined {
    if (own && this.#failedProbes === 0) return own;
    const heads = [...this.#queues.values()].flatMap((queue) => requestClasses.map((each) => queue.head(each)?.path));
    const paths = [own, ...heads].filter((path) => path !== undefined && path.origin === (own ?? path).origin);
    return paths[this.#failedProbes % paths.length];
  }

  #candidates(nowMs: number): readonly NextRequest[] {
    return requestClasses.flatMap((requestClass) => this.#candidate(requestClass, nowMs) ?? []);
  }

  /**
   * Returns the next request of a class. For keep-alives, this is the request that is due first. For other classes, the
   * access keys take turns: the next request uses the access key whose last request of this class was sent longest ago.
   */
  #candidate(requestClass: RequestClass, nowMs: number): NextRequest | undefined {
    let next: Waiter | undefined;
    let dueMs = Number.POSITIVE_INFINITY;
    for (const queue of this.#queues.values()) {
      const head = queue.head(requestClass);
      if (!head || !queue.hasSlot(requestClass, nowMs)) continue;
      if (this.#refusals.heldUntilMs(requestClass, head.dueMs) > nowMs) continue;
      dueMs = Math.min(dueMs, head.dueMs);
      if (!next || goesBefore(head, next)) next = head;
    }
    if (!next || this.#limiter.freeAtMs(requestClass, nowMs) > nowMs) return undefined;
    return { class: requestClass, lateMs: nowMs - dueMs, waiter: next };
  }

  #setTimer(nowMs: number): void {
    const atMs = this.waiting === 0 ? Number.POSITIVE_INFINITY : this.#nextChangeMs(nowMs);
    if (this.#timer?.atMs === atMs) return;
    this.#timer?.timer.cancel();
    this.#timer = undefined;
    if (atMs === Number.POSITIVE_INFINITY) return;
    const timer = this.#clock.after(atMs - nowMs, () => {
      this.#timer = undefined;
      this.#pump();
    });
    this.#timer = { atMs, timer };
  }

  /**
   * Returns the next time at which more requests may be allowed even if no response arrives, or Infinity if there is no
   * such time.
   */
  #nextChangeMs(nowMs: number): number {
    const changesMs: number[] = [
      this.#pace.nextStepMs(nowMs),
      this.#limiter.nextDoubtMs(nowMs),
      ...this.#probed.values(),
    ];
    for (const queue of this.#queues.values()) {
      changesMs.push(...queue.changesMs());
      for (const requestClass of requestClasses) {
        const head = queue.head(requestClass);
        if (!head) continue;
        changesMs.push(
          this.#refusals.heldUntilMs(requestClass, head.dueMs),
          this.#limiter.freeAtMs(requestClass, nowMs),
        );
      }
    }
    return Math.min(Number.POSITIVE_INFINITY, ...changesMs.filter((timeMs) => timeMs > nowMs));
  }

  #slot(waiter: Waiter, isPoll: boolean, term: Term): Slot {
    const { class: requestClass, queue, path } = waiter;
    const slot = new GrantedSlot({
      ...{ class: requestClass, path, isPoll },
      clock: this.#clock,
      right: this.#right,
      term,
      limiter: this.#limiter,
      queue,
      onResponse: (response, sentAtMs) => this.#answered(requestClass, sentAtMs, response),
      onChange: () => this.#pump(),
    });
    queue.enter(slot, ++this.#turn, this.#clock.monotonic());
    return slot;
  }

  /** Adjusts the limits after a response from the service. */
  #answered(requestClass: RequestClass, sentAtMs: number, { status, retryAfterMs }: Answered): void {
    const nowMs = this.#clock.monotonic();
    if (status !== 429) {
      this.#refusals.passed(requestClass, sentAtMs);
      this.#margin.passed();
      return;
    }
    const cause = this.#refusals.refused(requestClass, sentAtMs, retryAfterMs, nowMs);
    if (cause === 'jobs') {
      this.jobs.refused(sentAtMs);
    } else if (this.#pace.slowDown(sentAtMs, nowMs)) {
      this.#margin.refused();
    }
  }

  #sustainableJobs(): number {
    const pace = this.#pace.current(this.#clock.monotonic());
    return Math.min(pollableJobs(pace), pollableJobs(paceOf(this.#pollRate)));
  }
}

/** Returns the maximum number of search jobs that can all be polled in time at this request rate. */
function pollableJobs({ starts, periodMs }: RequestPace): number {
  return Math.floor((pollShare * starts * pollCycleMs) / periodMs);
}

/** Reports whether request `left` is to be sent before request `right`. Both must belong to the same class. */
function goesBefore(left: Waiter, right: Waiter): boolean {
  if (left.class === 'keepAlive') return left.dueMs < right.dueMs;
  return left.queue.turnOf(left.class) < right.queue.turnOf(right.class);
}

/**
 * The request budget of one user of one service host (protocol B): who may send a request, and when.
 *
 * Rate is counted per user, concurrency per access key, so one `RequestBudget` has a `KeyBudget` for each key. Everything that
 * speaks as the user goes through it, whatever resource it serves.
 *
 * Invariant: seen from the server never more starts in a second than our share (`rate-window.ts`), nor more requests of a key at
 * once than its share (`key-lane.ts`), as long as no request is later on its way than `marginMs` when it left.
 * While somebody waits exactly one timer is set; otherwise none.
 *
 * Leaves to others: deadlines, retries and what an answer means to its caller.
 */
import { assert } from '../base/assert.ts';
import type { Clock, Timer } from '../base/clock.ts';
import { type Histogram, type Metrics, noMetrics } from '../base/metrics.ts';
import { JobAdmission } from './job-admission.ts';
import { KeyLane, type Waiter } from './key-lane.ts';
import { marginBounds, PathMargin } from './path-margin.ts';
import { paceOf, RatePace } from './rate-pace.ts';
import { RateWindow, type Reservation } from './rate-window.ts';
import { Refusals } from './refusals.ts';
import type { KeyBudget, RequestClass, Slot, SlotOutcome, SlotRequest } from './request-slot.ts';
import { ServiceError } from './service-error.ts';
import { type ClassHead, requestClasses, TurnOrder } from './turn-order.ts';

export type { KeyBudget, RequestClass, Slot, SlotOutcome, SlotRequest } from './request-slot.ts';

/** The settings of a budget, each by its name. */
export interface BudgetSettings {
  /** This process's share of the user's rate (B7): more than 0, may be a fraction. The service gives a user 4 (chapter 8). */
  readonly requestsPerSecond: number;
  /** This process's share of each key's concurrency (B7). The service gives a key 10 (chapter 8). */
  readonly maxConcurrentRequests: number;
  /** How long a request that was given up keeps its place (B2). */
  readonly abandonedHoldMs: number;
  /** The same for a question for a job's status, which is little work; places that are held must not keep polls back (B2, B4). */
  readonly abandonedPollHoldMs: number;
  /** No request takes longer, of ours or of those before us (B6). */
  readonly longestRequestMs: number;
  /** More may not wait at once, over all keys. */
  readonly maxWaiting: number;
}

export const defaultBudgetSettings: BudgetSettings = {
  requestsPerSecond: 4,
  maxConcurrentRequests: 10,
  abandonedHoldMs: 10_000,
  abandonedPollHoldMs: 2_000,
  longestRequestMs: 60_000,
  maxWaiting: 20_000,
};

export interface RequestBudgetOptions extends Partial<BudgetSettings> {
  readonly clock: Clock;
  readonly metrics?: Metrics;
}

/** Half of the rate keeps jobs alive, the other half works; a poll due after 12 s may be 3 s late (B3, B4). */
const pollPart = 0.5;
const pollCycleMs = 15_000;

/** Next of a class: the key whose turn it is, and how late the class is. */
interface Candidate extends ClassHead {
  readonly waiter: Waiter;
}

export class RequestBudget {
  /** How many search jobs may be active at once. */
  readonly jobs: JobAdmission;
  readonly #clock: Clock;
  readonly #settings: BudgetSettings;
  readonly #waitSeconds: Histogram;
  readonly #margin = new PathMargin();
  readonly #pace: RatePace;
  readonly #window: RateWindow;
  readonly #refusals = new Refusals();
  readonly #order = new TurnOrder();
  /** Weak, so that the lane of a key that nobody speaks with any more goes away, and never while somebody does. */
  readonly #lanes = new Map<string, WeakRef<KeyLane>>();
  /** The lanes where somebody waits. */
  readonly #queued = new Set<KeyLane>();
  #waiting = 0;
  #arrivals = 0;
  #turn = 0;
  #quietUntilMs = Number.NEGATIVE_INFINITY;
  #timer: { readonly atMs: number; readonly timer: Timer } | undefined;

  constructor(options: RequestBudgetOptions) {
    const { clock, metrics = noMetrics, ...settings } = options;
    this.#clock = clock;
    this.#settings = { ...defaultBudgetSettings, ...settings };
    this.#pace = new RatePace(checkedRate(this.#settings.requestsPerSecond));
    this.#window = new RateWindow(this.#pace, this.#margin);
    this.jobs = new JobAdmission({ clock, sustainable: () => this.#sustainableJobs() });
    this.#waitSeconds = metrics.histogram(
      'logfleet_service_budget_wait_seconds',
      'Time that requests waited for the request budget, by class.',
      ['class'],
      [0.001, 0.01, 0.1, 0.25, 0.5, 1, 2, 5, 10, 30, 60, 300],
    );
  }

  /** How much later than the quickest a request may come and still be counted right by the server, in ms. */
  get marginMs(): number {
    return this.#margin.currentMs;
  }

  /**
   * The budget of one access key: the same for the same id. `maxConcurrent` is this process's share (B7);
   * where several are named, the smallest holds until `setMaxConcurrent`.
   */
  key(accessKeyId: string, maxConcurrent?: number): KeyBudget {
    const lane = this.#lane(accessKeyId);
    if (maxConcurrent !== undefined) lane.maxConcurrent = Math.min(lane.maxConcurrent, checkedPlaces(maxConcurrent));
    return {
      jobs: this.jobs,
      acquire: (request) => this.#acquire(lane, request),
      takeover: (forced) => this.#takeover(lane, forced),
    };
  }

  /** Changes our share of the rate (B7), with all that was sent still counted. */
  setRequestsPerSecond(requestsPerSecond: number): void {
    this.#pace.requestsPerSecond = checkedRate(requestsPerSecond);
    this.#pump();
  }

  /** Changes our share of a key's concurrency (B7), up or down; what is under way ends in its own time. */
  setMaxConcurrent(accessKeyId: string, maxConcurrent: number): void {
    this.#lane(accessKeyId).maxConcurrent = checkedPlaces(maxConcurrent);
    this.#pump();
  }

  #lane(accessKeyId: string): KeyLane {
    const known = this.#lanes.get(accessKeyId)?.deref();
    if (known) return known;
    for (const [id, lane] of this.#lanes) if (!lane.deref()) this.#lanes.delete(id);
    const lane = new KeyLane(this.#settings.maxConcurrentRequests);
    this.#lanes.set(accessKeyId, new WeakRef(lane));
    return lane;
  }

  #takeover(lane: KeyLane, forced: boolean): void {
    const nowMs = this.#clock.monotonic();
    // The last request of the one before us may be as late as any, and we have measured nothing yet.
    const quietMs = paceOf(this.#pace.requestsPerSecond).periodMs + marginBounds.mostMs;
    this.#quietUntilMs = Math.max(this.#quietUntilMs, nowMs + quietMs);
    if (forced) lane.halve(nowMs + this.#settings.longestRequestMs);
    this.#pump();
  }

  #acquire(lane: KeyLane, request: SlotRequest): Promise<Slot> {
    const { signal } = request;
    if (signal?.aborted) return Promise.reject(signal.reason);
    if (this.#waiting >= this.#settings.maxWaiting) return Promise.reject(fullError(this.#settings.maxWaiting));
    return new Promise((resolve, reject) => {
      const nowMs = this.#clock.monotonic();
      const waiter: Waiter = {
        class: request.class,
        lane,
        sinceMs: nowMs,
        dueMs: request.dueMs ?? nowMs,
        order: this.#arrivals++,
        place: 0,
        grant: () => {
          signal?.removeEventListener('abort', onAbort);
          resolve(this.#slot(waiter, request.isPoll ?? request.class === 'keepAlive'));
        },
      };
      const onAbort = () => {
        this.#dequeue(waiter);
        this.#pump();
        reject(signal?.reason);
      };
      signal?.addEventListener('abort', onAbort, { once: true });
      this.#enqueue(waiter, nowMs);
      this.#pump();
    });
  }

  #enqueue(waiter: Waiter, nowMs: number): void {
    waiter.lane.push(waiter, nowMs);
    this.#queued.add(waiter.lane);
    this.#waiting++;
  }

  #dequeue(waiter: Waiter): void {
    waiter.lane.remove(waiter);
    if (waiter.lane.waiting === 0) this.#queued.delete(waiter.lane);
    this.#waiting--;
  }

  /** Grants all that may go now, and sets the timer for the rest. */
  #pump(): void {
    const nowMs = this.#clock.monotonic();
    for (const lane of this.#queued) lane.expire(nowMs);
    while (this.#waiting > 0) {
      const next = this.#order.next(this.#candidates(nowMs));
      if (!next) break;
      this.#dequeue(next.waiter);
      this.#waitSeconds.observe({ class: next.class }, (nowMs - next.waiter.sinceMs) / 1000);
      next.waiter.grant();
    }
    for (const lane of this.#queued) lane.makeRoom(nowMs);
    this.#setTimer(nowMs);
  }

  /** When the rate allows one more of the class. */
  #freeAtMs(requestClass: RequestClass, nowMs: number): number {
    return Math.max(this.#quietUntilMs, this.#window.freeAtMs(requestClass, nowMs));
  }

  #candidates(nowMs: number): readonly Candidate[] {
    return requestClasses.flatMap((requestClass) => this.#candidate(requestClass, nowMs) ?? []);
  }

  /** The next of a class over all keys that have a place for it: the earliest due poll, or the key served longest ago. */
  #candidate(requestClass: RequestClass, nowMs: number): Candidate | undefined {
    let next: Waiter | undefined;
    let dueMs = Number.POSITIVE_INFINITY;
    for (const lane of this.#queued) {
      const head = lane.head(requestClass);
      if (!head || !lane.hasPlace(requestClass, nowMs)) continue;
      if (this.#refusals.heldUntilMs(requestClass, head.dueMs) > nowMs) continue;
      dueMs = Math.min(dueMs, head.dueMs);
      if (!next || goesBefore(head, next)) next = head;
    }
    if (!next || this.#freeAtMs(requestClass, nowMs) > nowMs) return undefined;
    return { class: requestClass, lateMs: nowMs - dueMs, waiter: next };
  }

  #setTimer(nowMs: number): void {
    const atMs = this.#waiting === 0 ? Number.POSITIVE_INFINITY : this.#nextChangeMs(nowMs);
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

  /** The next moment at which somebody may go without anybody's doing; infinity when all wait for an answer. */
  #nextChangeMs(nowMs: number): number {
    const changesMs: number[] = [this.#pace.nextStepMs(nowMs)];
    for (const lane of this.#queued) {
      changesMs.push(lane.nextChangeMs(nowMs));
      for (const requestClass of requestClasses) {
        const head = lane.head(requestClass);
        if (!head) continue;
        changesMs.push(this.#refusals.heldUntilMs(requestClass, head.dueMs), this.#freeAtMs(requestClass, nowMs));
      }
    }
    return changesMs.reduce(
      (next, timeMs) => (timeMs > nowMs ? Math.min(next, timeMs) : next),
      Number.POSITIVE_INFINITY,
    );
  }

  #slot(waiter: Waiter, isPoll: boolean): Slot {
    const { lane } = waiter;
    const occupant = { class: waiter.class, isPoll };
    const reservation = this.#window.reserve(waiter.class);
    lane.enter(occupant, ++this.#turn, this.#clock.monotonic());
    let state: 'granted' | 'underWay' | 'held' | 'ended' = 'granted';
    let isHeard = false;

    const leave = () => {
      state = 'ended';
      lane.leave(occupant);
    };
    const started = () => {
      if (state !== 'granted') return;
      state = 'underWay';
      this.#window.stamp(reservation, this.#clock.monotonic());
      this.#pump();
    };
    const learn = (headAtMs: number) => {
      if (!isHeard) this.#heard(reservation, headAtMs);
      isHeard = true;
    };
    const heard = (headAtMs: number) => {
      if (state === 'granted') return;
      learn(headAtMs);
      this.#pump();
    };
    const finished = (outcome: SlotOutcome) => {
      // What is over must have begun: counted from now on, which is the latest that it can have been.
      started();
      if (state === 'ended') return;
      if (outcome.kind === 'abandoned') {
        if (state === 'held') return;
        state = 'held';
        const { abandonedHoldMs, abandonedPollHoldMs } = this.#settings;
        const holdMs = isPoll ? Math.min(abandonedPollHoldMs, abandonedHoldMs) : abandonedHoldMs;
        lane.hold(occupant, this.#clock.monotonic() + holdMs);
      } else {
        leave();
        if (outcome.kind === 'answered') {
          learn(outcome.headAtMs ?? this.#clock.monotonic());
          this.#answered(waiter.class, reservation, outcome);
        } else if (!isHeard) {
          this.#window.broken(reservation, this.#clock.monotonic());
        }
      }
      this.#pump();
    };
    const release = () => {
      if (state === 'underWay') finished({ kind: 'abandoned' });
      if (state !== 'granted') return;
      this.#window.cancel(reservation);
      leave();
      this.#pump();
    };
    const yieldTo = (giveUp: () => void) => {
      if (state !== 'underWay') return;
      lane.yieldTo(occupant, giveUp);
      this.#pump();
    };
    return { started, heard, yieldTo, finished, release };
  }

  /** Learns from the head of an answer how late the path is. */
  #heard(reservation: Reservation, headAtMs: number): void {
    const { sentAtMs = headAtMs } = reservation;
    this.#window.answered(reservation, Math.max(0, headAtMs - sentAtMs), sentAtMs);
  }

  /** Learns from an answer whether we are too fast or keep too many jobs. */
  #answered(
    requestClass: RequestClass,
    reservation: Reservation,
    outcome: Extract<SlotOutcome, { kind: 'answered' }>,
  ): void {
    const nowMs = this.#clock.monotonic();
    const sentAtMs = reservation.sentAtMs ?? nowMs;
    if (outcome.status !== 429) {
      this.#refusals.passed(requestClass, sentAtMs);
      this.#margin.passed();
      return;
    }
    const cause = this.#refusals.refused(requestClass, sentAtMs, outcome.retryAfterMs, nowMs);
    if (cause === 'jobs') {
      this.jobs.refused(sentAtMs);
    } else if (this.#pace.slowDown(sentAtMs, nowMs)) {
      this.#margin.refused();
      this.#window.widen();
    }
  }

  #sustainableJobs(): number {
    const { starts, periodMs } = this.#pace.current(this.#clock.monotonic());
    return Math.floor((pollPart * starts * pollCycleMs) / periodMs);
  }
}

/** Polls go by their due time over all keys; of the others, the key whose class was served longest ago. */
function goesBefore(left: Waiter, right: Waiter): boolean {
  if (left.class === 'keepAlive') return left.dueMs < right.dueMs;
  return left.lane.turnOf(left.class) < right.lane.turnOf(right.class);
}

function checkedRate(requestsPerSecond: number): number {
  assert(requestsPerSecond > 0 && Number.isFinite(requestsPerSecond), 'a share of the rate is a number above 0');
  return requestsPerSecond;
}

function checkedPlaces(maxConcurrent: number): number {
  assert(
    Number.isInteger(maxConcurrent) && maxConcurrent >= 1,
    'a share of the concurrency is a whole number from 1 on',
  );
  return maxConcurrent;
}

function fullError(maxWaiting: number): ServiceError {
  return new ServiceError({
    code: 'service.budget.full',
    message: `More than ${maxWaiting} requests to the service wait for their turn; further ones have to wait outside.`,
    handling: { kind: 'backoff' },
    reason: 'RequestBudgetFull',
    effect: 'none',
  });
}

/**
 * The request budget of one user of one service host (protocol B): who may send a request, and when.
 *
 * Rate is counted per user, concurrency per access key, so one `RequestBudget` has a `KeyBudget` for each key. Everything that
 * speaks as the user goes through it, whatever resource it serves.
 *
 * Invariants:
 * - Each request asks for the right to send in the turn in which it is written (L1).
 * - Seen from the server never more starts in a second than our share (`rate-window.ts`), nor more requests of a key at once than its
 *   share (`key-lane.ts`).
 * - While somebody waits exactly one timer is set; otherwise none.
 *
 * Leaves to others: deadlines, retries and what an answer means to its caller.
 */
import { assert } from '../base/assert.ts';
import type { Clock, Timer } from '../base/clock.ts';
import { type Histogram, type Metrics, noMetrics } from '../base/metrics.ts';
import { JobAdmission } from './job-admission.ts';
import { KeyLane, type Waiter } from './key-lane.ts';
import { PathMargin } from './path-margin.ts';
import { RatePace } from './rate-pace.ts';
import { RateWindow, type Reservation } from './rate-window.ts';
import { Refusals } from './refusals.ts';
import type { KeyBudget, Path, RequestClass, Slot, SlotOutcome, SlotRequest } from './request-slot.ts';
import { depart, NotLeadingError, type SendRight, type Term } from './send-right.ts';
import { ServiceError } from './service-error.ts';
import { type ClassHead, requestClasses, TurnOrder } from './turn-order.ts';

export type { KeyBudget, Path, RequestClass, Slot, SlotOutcome, SlotRequest } from './request-slot.ts';

/** The settings of a budget, each by its name. */
export interface BudgetSettings {
  /** This process's share of the user's rate (B7): more than 0, may be a fraction. The service gives a user 4 (chapter 8). */
  readonly requestsPerSecond: number;
  /** This process's share of each key's concurrency (B7). The service gives a key 10 (chapter 8). */
  readonly maxConcurrentRequests: number;
  /** How long a request that was given up, and has arrived, keeps its place (B2). */
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
  /** Whether this process may send at all (L1). */
  readonly right: SendRight;
  readonly metrics?: Metrics;
}

/** Half of the rate keeps jobs alive, the other half works; a poll due after 12 s may be 3 s late (B3, B4). */
const pollPart = 0.5;
const pollCycleMs = 15_000;
/** After a probe that failed, the next one waits for so long. */
const probeRestMs = 1_000;

/** Next of a class: the key whose turn it is, and how late the class is. */
interface Candidate extends ClassHead {
  readonly waiter: Waiter;
}

export class RequestBudget {
  /** How many search jobs may be active at once. */
  readonly jobs: JobAdmission;
  readonly #clock: Clock;
  readonly #right: SendRight;
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
  /** The term in which requests were last granted. */
  #term: Term | undefined;
  /** Keys have half of their concurrency until then (B6). */
  #halfUntilMs = Number.NEGATIVE_INFINITY;
  /** Origins that are probed now, or were in vain, with the time from which they may be probed again. */
  readonly #probed = new Map<string, number>();
  #timer: { readonly atMs: number; readonly timer: Timer } | undefined;

  constructor(options: RequestBudgetOptions) {
    const { clock, right, metrics = noMetrics, ...settings } = options;
    this.#clock = clock;
    this.#right = right;
    this.#settings = { ...defaultBudgetSettings, ...settings };
    this.#pace = new RatePace(checkedRate(this.#settings.requestsPerSecond));
    this.#window = new RateWindow(this.#pace, this.#margin, this.#settings.longestRequestMs);
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
    lane.halve(this.#halfUntilMs);
    this.#lanes.set(accessKeyId, new WeakRef(lane));
    return lane;
  }

  /** The current term; undefined while nothing may be sent. A new one begins with what the one before may have left (B6). */
  #currentTerm(): Term | undefined {
    const term = this.#right.current();
    if (!term || term.number === this.#term?.number) return term;
    this.#term = term;
    this.#window.inherit(term.sinceMs);
    if (!term.tookOverByForce) return term;
    this.#halfUntilMs = term.sinceMs + this.#settings.longestRequestMs;
    for (const lane of this.#lanes.values()) lane.deref()?.halve(this.#halfUntilMs);
    return term;
  }

  #acquire(lane: KeyLane, request: SlotRequest): Promise<Slot> {
    const { signal } = request;
    if (signal?.aborted) return Promise.reject(signal.reason);
    if (!this.#currentTerm()) return Promise.reject(new NotLeadingError());
    if (this.#waiting >= this.#settings.maxWaiting) return Promise.reject(fullError(this.#settings.maxWaiting));
    return new Promise((resolve, reject) => {
      const nowMs = this.#clock.monotonic();
      const waiter: Waiter = {
        class: request.class,
        path: request.path,
        lane,
        sinceMs: nowMs,
        dueMs: request.dueMs ?? nowMs,
        order: this.#arrivals++,
        place: 0,
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
    const term = this.#currentTerm();
    if (!term) this.#refuseAll();
    while (term && this.#waiting > 0) {
      const next = this.#order.next(this.#candidates(nowMs));
      if (!next) break;
      this.#dequeue(next.waiter);
      this.#waitSeconds.observe({ class: next.class }, (nowMs - next.waiter.sinceMs) / 1000);
      next.waiter.grant(term);
    }
    for (const lane of this.#queued) lane.makeRoom(nowMs);
    this.#probeDoubtful(nowMs);
    this.#setTimer(nowMs);
  }

  /** Whoever leads now has its own requests to send. */
  #refuseAll(): void {
    for (const lane of this.#queued) {
      for (const waiter of lane.all()) {
        this.#dequeue(waiter);
        waiter.refuse(new NotLeadingError());
      }
    }
  }

  /** Finds out whether requests have arrived that others wait for: one handshake for each origin at a time. */
  #probeDoubtful(nowMs: number): void {
    if (this.#waiting === 0) return;
    for (const { path = this.#anyPath() } of this.#window.doubtful(nowMs)) {
      if (path && (this.#probed.get(path.origin) ?? nowMs) <= nowMs) void this.#probe(path, nowMs);
    }
  }

  async #probe(path: Path, startedAtMs: number): Promise<void> {
    this.#probed.set(path.origin, Number.POSITIVE_INFINITY);
    try {
      await path.probe();
      this.#probed.delete(path.origin);
      this.#window.connected(path.origin, startedAtMs, this.#clock.monotonic());
    } catch {
      // A server that does not even take connections has shown nothing; nor has a client that is being closed.
      this.#probed.set(path.origin, this.#clock.monotonic() + probeRestMs);
    }
    this.#pump();
  }

  /** Where one of those goes that wait. */
  #anyPath(): Path | undefined {
    for (const lane of this.#queued) for (const { path } of lane.all()) if (path) return path;
    return undefined;
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
    if (!next || this.#window.freeAtMs(requestClass, nowMs) > nowMs) return undefined;
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
    const changesMs: number[] = [
      this.#pace.nextStepMs(nowMs),
      this.#window.nextDoubtMs(nowMs),
      ...this.#probed.values(),
    ];
    for (const lane of this.#queued) {
      changesMs.push(lane.nextChangeMs(nowMs));
      for (const requestClass of requestClasses) {
        const head = lane.head(requestClass);
        if (!head) continue;
        changesMs.push(
          this.#refusals.heldUntilMs(requestClass, head.dueMs),
          this.#window.freeAtMs(requestClass, nowMs),
        );
      }
    }
    return changesMs.reduce(
      (next, timeMs) => (timeMs > nowMs ? Math.min(next, timeMs) : next),
      Number.POSITIVE_INFINITY,
    );
  }

  #slot(waiter: Waiter, isPoll: boolean, term: Term): Slot {
    const { lane } = waiter;
    const occupant = { class: waiter.class, isPoll };
    const reservation = this.#window.reserve(waiter.class, waiter.path);
    lane.enter(occupant, ++this.#turn, this.#clock.monotonic());
    let state: 'granted' | 'underWay' | 'held' | 'ended' = 'granted';
    let isHeard = false;

    const leave = () => {
      state = 'ended';
      lane.leave(occupant);
    };
    const stamp = (nowMs: number) => {
      if (state !== 'granted') return;
      state = 'underWay';
      this.#window.stamp(reservation, nowMs);
      this.#pump();
    };
    const started = (lastCheck?: () => void) => {
      const departure = depart(this.#right, term, this.#clock.monotonic());
      lastCheck?.();
      stamp(departure.atMs);
      return departure;
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
      stamp(this.#clock.monotonic());
      if (state === 'ended') return;
      if (outcome.kind === 'abandoned') {
        if (state === 'held') return;
        state = 'held';
        const { abandonedHoldMs, abandonedPollHoldMs } = this.#settings;
        const holdMs = isPoll ? Math.min(abandonedPollHoldMs, abandonedHoldMs) : abandonedHoldMs;
        const nowMs = this.#clock.monotonic();
        lane.hold(occupant, () => Math.max(nowMs, this.#window.arrivedByMs(reservation)) + holdMs);
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

/**
 * A service as seen from the server, for tests of the request budget: requests take their way, keep the server busy, and are
 * written down when they arrive. The oracle at the end looks at what the server saw and knows nothing of the budget.
 */
import type { KeyBudget, Path, RequestClass, Slot, SlotOutcome } from '../../../../src/service/request-budget.ts';
import type { VirtualClock } from '../../../support/virtual-clock.ts';

/** How one request fares; times in ms. */
export interface Fate {
  /** On its way to the server. */
  readonly outMs?: number;
  /** How long the server is busy with it. */
  readonly workMs?: number;
  /** On the way back. */
  readonly backMs?: number;
  /** From the head of the answer to its end, for as long as the server is busy with it. */
  readonly bodyMs?: number;
  /** Given up so long after its head, since nobody takes the body; the server notices `bodyMs` after its head. */
  readonly heldUpMs?: number;
  readonly status?: number;
  readonly retryAfterMs?: number;
  /** Given up after this long; the server goes on. */
  readonly deadlineMs?: number;
  /** So long after it was given up, or has arrived after that, the server is done with it. */
  readonly afterMs?: number;
  /** From so long after the start on, it is given up when a poll needs its place; the server is done with it `afterMs` later. */
  readonly patience?: { readonly patienceMs: number; readonly afterMs: number };
}

export interface Seen {
  readonly key: string;
  readonly class: RequestClass;
  readonly sentMs: number;
  readonly arrivedMs: number;
  endedMs: number;
}

export class Wire {
  readonly seen: Seen[] = [];
  /** The way there: a handshake takes no time while the server does not stall. */
  readonly path: Path = { origin: 'https://service.test', probe: () => this.#handshake() };
  handshakes = 0;
  readonly #clock: VirtualClock;
  readonly #stalls: { readonly fromMs: number; readonly untilMs: number }[] = [];

  constructor(clock: VirtualClock) {
    this.#clock = clock;
  }

  /** Between the two times the server reads nothing; then it reads everything at once. */
  stall(fromMs: number, untilMs: number): void {
    this.#stalls.push({ fromMs, untilMs });
  }

  #readAtMs(atMs: number): number {
    const stall = this.#stalls.find(({ fromMs, untilMs }) => atMs >= fromMs && atMs < untilMs);
    return stall ? this.#readAtMs(stall.untilMs) : atMs;
  }

  #handshake(): Promise<void> {
    this.handshakes++;
    const delayMs = this.#readAtMs(this.#clock.monotonic()) - this.#clock.monotonic();
    return delayMs === 0 ? Promise.resolve() : new Promise((resolve) => void this.#clock.after(delayMs, resolve));
  }

  /** Sends on a slot; resolves to the outcome that the client sees, which the slot has been told. */
  send(key: string, requestClass: RequestClass, slot: Slot, fate: Fate = {}): Promise<SlotOutcome> {
    const {
      outMs = 0,
      workMs = 0,
      backMs = 0,
      bodyMs = 0,
      heldUpMs = Number.POSITIVE_INFINITY,
      status = 200,
      retryAfterMs,
      deadlineMs = Number.POSITIVE_INFINITY,
      afterMs = Number.POSITIVE_INFINITY,
      patience,
    } = fate;
    try {
      slot.started();
    } catch (error) {
      slot.release();
      return Promise.reject(error);
    }
    const sentMs = this.#clock.monotonic();
    const arrivedMs = this.#readAtMs(sentMs + outMs);
    const headMs = arrivedMs - sentMs + workMs + backMs;
    const isLate = headMs > deadlineMs;
    const doneMs = arrivedMs + workMs + (isLate ? 0 : bodyMs);
    const endedMs = isLate ? Math.min(doneMs, Math.max(arrivedMs, sentMs + deadlineMs) + afterMs) : doneMs;
    const seen = { key, class: requestClass, sentMs, arrivedMs, endedMs };
    this.seen.push(seen);
    const isHeldUp = bodyMs > heldUpMs;
    const outcome: SlotOutcome =
      isLate || isHeldUp
        ? { kind: 'abandoned' }
        : {
            kind: 'answered',
            status,
            headAtMs: sentMs + headMs,
            ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
          };
    let isOver = false;
    if (!isLate) this.#clock.after(headMs, () => !isOver && slot.heard(this.#clock.monotonic()));
    return new Promise((resolve) => {
      const end = (how: SlotOutcome) => {
        if (isOver) return;
        isOver = true;
        slot.finished(how);
        resolve(how);
      };
      this.#clock.after(isLate ? deadlineMs : headMs + Math.min(bodyMs, heldUpMs), () => end(outcome));
      if (!patience) return;
      this.#clock.after(patience.patienceMs, () =>
        slot.yieldTo(() => {
          seen.endedMs = Math.min(seen.endedMs, Math.max(arrivedMs, this.#clock.monotonic()) + patience.afterMs);
          queueMicrotask(() => end({ kind: 'abandoned' }));
        }),
      );
    });
  }

  /** Waits for a slot and sends. */
  async call(key: string, budget: KeyBudget, requestClass: RequestClass, fate?: Fate): Promise<SlotOutcome> {
    return this.send(key, requestClass, await budget.acquire({ class: requestClass, path: this.path }), fate);
  }

  /** The sockets die now: the server drops all of a key's requests but the first `lingering`, which it goes on with. */
  kill(lingering: number): void {
    const nowMs = this.#clock.monotonic();
    const left = new Map<string, number>();
    for (const request of this.seen.filter(({ endedMs }) => endedMs > nowMs)) {
      const count = left.get(request.key) ?? 0;
      left.set(request.key, count + 1);
      if (count >= lingering) request.endedMs = Math.max(nowMs, request.arrivedMs);
    }
  }

  /** The most arrivals in any half-open span of `spanMs`. */
  mostArrivals(spanMs = 1000): number {
    const times = this.seen.map(({ arrivedMs }) => arrivedMs).sort((left, right) => left - right);
    // What double precision loses over an hour is far below a nanosecond's worth of any limit.
    const counts = times.map((from, first) => {
      let next = first;
      while (next < times.length && (times[next] as number) < from + spanMs - 1e-6) next++;
      return next - first;
    });
    return Math.max(0, ...counts);
  }

  /** The most requests of one key at the server at once; one that ends when another comes is not at once with it. */
  mostAtOnce(key?: string): number {
    const requests = this.seen.filter((request) => key === undefined || request.key === key);
    const counts = requests.map(
      ({ key: own, arrivedMs }) =>
        requests.filter(
          (other) => other.key === own && other.arrivedMs <= arrivedMs && arrivedMs < other.endedMs - 1e-6,
        ).length,
    );
    return Math.max(0, ...counts);
  }

  sentAt(requestClass?: RequestClass): readonly number[] {
    return this.seen
      .filter((one) => requestClass === undefined || one.class === requestClass)
      .map(({ sentMs }) => sentMs);
  }
}

/** Simulated service for tests of the request budget. It records each request. */
import type { KeyBudget, Path, RequestClass, Slot, SlotResult } from '../../../../src/service/budget/request-slot.ts';
import type { VirtualClock } from '../../../support/virtual-clock.ts';

/** How one request proceeds, with all times in ms. */
export interface Fate {
  readonly outMs?: number;
  /** Time in ms that the server takes to respond. */
  readonly workMs?: number;
  readonly backMs?: number;
  /** Duration of the response body in ms. */
  readonly bodyMs?: number;
  /**
   * Time in ms from the response headers until the client cancels the request. If undefined, the client does not cancel
   * it.
   */
  readonly heldUpMs?: number;
  readonly status?: number;
  readonly retryAfterMs?: number;
  /** Time in ms after which the client cancels the request. The server keeps processing it. */
  readonly deadlineMs?: number;
  /** Time in ms for which the server keeps processing a cancelled request. */
  readonly afterMs?: number;
  /**
   * The budget may cancel the request after `cancellableAfterMs`. The server keeps processing it for another `afterMs`.
   */
  readonly cancellation?: { readonly cancellableAfterMs: number; readonly afterMs: number };
}

export interface WireRequest {
  readonly key: string;
  readonly class: RequestClass;
  readonly sentMs: number;
  readonly arrivedMs: number;
  endedMs: number;
}

export class Wire {
  readonly seen: WireRequest[] = [];
  readonly path: Path = { origin: 'https://service.test', probe: () => this.#handshake() };
  handshakes = 0;
  /** Duration of a TLS handshake in ms. */
  handshakeMs = 0;
  readonly #clock: VirtualClock;
  readonly #stalls: { readonly fromMs: number; readonly untilMs: number }[] = [];

  constructor(clock: VirtualClock) {
    this.#clock = clock;
  }

  /** Makes the server stop reading data at `fromMs`. At `untilMs`, it reads everything that has arrived. */
  stall(fromMs: number, untilMs: number): void {
    this.#stalls.push({ fromMs, untilMs });
  }

  #readAtMs(atMs: number): number {
    const stall = this.#stalls.find(({ fromMs, untilMs }) => atMs >= fromMs && atMs < untilMs);
    return stall ? this.#readAtMs(stall.untilMs) : atMs;
  }

  #handshake(): Promise<void> {
    this.handshakes++;
    const delayMs = this.#readAtMs(this.#clock.monotonic()) - this.#clock.monotonic() || this.handshakeMs;
    return delayMs === 0 ? Promise.resolve() : new Promise((resolve) => void this.#clock.after(delayMs, resolve));
  }

  /** Sends a request in this request slot. Resolves to the request's result, which is also reported to the budget. */
  send(key: string, requestClass: RequestClass, slot: Slot, fate: Fate = {}): Promise<SlotResult> {
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
      cancellation,
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
    const result: SlotResult =
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
      const end = (how: SlotResult) => {
        if (isOver) return;
        isOver = true;
        slot.finished(how);
        resolve(how);
      };
      this.#clock.after(isLate ? deadlineMs : headMs + Math.min(bodyMs, heldUpMs), () => end(result));
      if (!cancellation) return;
      this.#clock.after(cancellation.cancellableAfterMs, () =>
        slot.yieldTo(() => {
          seen.endedMs = Math.min(seen.endedMs, Math.max(arrivedMs, this.#clock.monotonic()) + cancellation.afterMs);
          queueMicrotask(() => end({ kind: 'abandoned' }));
        }),
      );
    });
  }

  /** Waits until the budget allows the request, and sends it. */
  async call(key: string, budget: KeyBudget, requestClass: RequestClass, fate?: Fate): Promise<SlotResult> {
    return this.send(key, requestClass, await budget.acquire({ class: requestClass, path: this.path }), fate);
  }

  /** Closes all connections. The server still completes the first `lingering` requests of each API key. */
  kill(lingering: number): void {
    const nowMs = this.#clock.monotonic();
    const left = new Map<string, number>();
    for (const request of this.seen.filter(({ endedMs }) => endedMs > nowMs)) {
      const count = left.get(request.key) ?? 0;
      left.set(request.key, count + 1);
      if (count >= lingering) request.endedMs = Math.max(nowMs, request.arrivedMs);
    }
  }

  maxArrivals(spanMs = 1000): number {
    const times = this.seen.map(({ arrivedMs }) => arrivedMs).sort((left, right) => left - right);
    // Tolerates rounding errors: a request in the last nanosecond of the span is not counted.
    const counts = times.map((from, first) => {
      let next = first;
      while (next < times.length && (times[next] as number) < from + spanMs - 1e-6) next++;
      return next - first;
    });
    return Math.max(0, ...counts);
  }

  /**
   * Returns the highest number of requests in flight at the same time. If `key` is given, only requests with that API
   * key are counted.
   */
  maxAtOnce(key?: string): number {
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

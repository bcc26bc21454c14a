/** Permission (slot) to send one request. The interface `Slot` in `request-slot.ts` describes a slot's states. */
import type { Clock } from '../../base/clock.ts';
import type { KeyQueue, Occupant } from './key-queue.ts';
import type { RateLimiter, Reservation } from './rate-limiter.ts';
import type { Path, RequestClass, Slot, SlotResult } from './request-slot.ts';
import { type Departure, depart, type SendRight, type Term } from './send-right.ts';

export type Answered = Extract<SlotResult, { kind: 'answered' }>;

/**
 * Time in ms for which a cancelled request still counts against the limit on concurrent requests, because the service
 * may still be working on it (B2).
 */
const abandonedHoldMs = 10_000;
/**
 * Time in ms for which a cancelled status request still counts against the limit on concurrent requests. It is short,
 * because the service answers status requests quickly (B2).
 */
const abandonedPollHoldMs = 2_000;

export interface GrantedSlotOptions {
  readonly class: RequestClass;
  readonly path: Path | undefined;
  readonly isPoll: boolean;
  readonly clock: Clock;
  readonly right: SendRight;
  readonly term: Term;
  readonly limiter: RateLimiter;
  readonly queue: KeyQueue;
  readonly onResponse: (response: Answered, sentAtMs: number) => void;
  /** Called when the request changes state, which may allow another request to start. */
  readonly onChange: () => void;
}

export class GrantedSlot implements Slot, Occupant {
  readonly class: RequestClass;
  readonly #options: GrantedSlotOptions;
  readonly #reservation: Reservation;
  #state: 'granted' | 'inFlight' | 'givingUp' | 'held' | 'ended' = 'granted';
  #isHeard = false;
  #giveUp: (() => void) | undefined;
  #abandonedAtMs = 0;

  constructor(options: GrantedSlotOptions) {
    this.class = options.class;
    this.#options = options;
    this.#reservation = options.limiter.reserve(options.class, options.path);
  }

  get heldUntilMs(): number | undefined {
    if (this.#state !== 'held') return undefined;
    const { limiter, isPoll } = this.#options;
    const arrivedByMs = Math.max(this.#abandonedAtMs, limiter.arrivedByMs(this.#reservation));
    return arrivedByMs + (isPoll ? abandonedPollHoldMs : abandonedHoldMs);
  }

  get endsSoon(): boolean {
    return this.#state === 'givingUp' || (this.#state === 'held' && this.#options.isPoll);
  }

  get giveUp(): (() => void) | undefined {
    return this.#state === 'inFlight' ? this.#giveUp : undefined;
  }

  started(lastCheck?: () => void): Departure {
    const { right, term } = this.#options;
    const departure = depart(right, term, this.#nowMs());
    lastCheck?.();
    this.#state = 'inFlight';
    this.#options.limiter.stamp(this.#reservation, departure.atMs);
    this.#options.onChange();
    return departure;
  }

  heard(headAtMs: number): void {
    this.#learn(headAtMs);
    this.#options.onChange();
  }

  yieldTo(giveUp: () => void): void {
    this.#giveUp = () => {
      this.#state = 'givingUp';
      giveUp();
    };
    this.#options.onChange();
  }

  finished(result: SlotResult): void {
    if (result.kind === 'abandoned') {
      this.#state = 'held';
      this.#abandonedAtMs = this.#nowMs();
    } else this.#end(result);
    this.#options.onChange();
  }

  release(): void {
    this.#options.limiter.cancel(this.#reservation);
    this.#leave();
    this.#options.onChange();
  }

  #nowMs(): number {
    return this.#options.clock.monotonic();
  }

  #end(result: Exclude<SlotResult, { kind: 'abandoned' }>): void {
    const nowMs = this.#nowMs();
    this.#leave();
    if (result.kind === 'answered') {
      this.#learn(result.headAtMs ?? nowMs);
      this.#options.onResponse(result, this.#reservation.sentAtMs ?? nowMs);
    } else if (!this.#isHeard) {
      this.#options.limiter.broken(this.#reservation, nowMs);
    }
  }

  /** Updates the estimate of the network delay with this request's round-trip time. */
  #learn(headAtMs: number): void {
    if (this.#isHeard) return;
    this.#isHeard = true;
    const { sentAtMs = headAtMs } = this.#reservation;
    this.#options.limiter.answered(this.#reservation, Math.max(0, headAtMs - sentAtMs), sentAtMs);
  }

  #leave(): void {
    this.#state = 'ended';
    this.#options.queue.leave(this);
  }
}

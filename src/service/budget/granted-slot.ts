/** Slot of one request, from its grant to its end. The states are described at `Slot`. */
import type { Clock } from '../../base/clock.ts';
import type { KeyQueue, Occupant } from './key-queue.ts';
import type { RateLimiter, Reservation } from './rate-limiter.ts';
import type { Slot, SlotOutcome } from './request-slot.ts';
import { type Departure, depart, type SendRight, type Term } from './send-right.ts';

export type Answered = Extract<SlotOutcome, { kind: 'answered' }>;

export interface GrantedSlotOptions {
  readonly clock: Clock;
  readonly right: SendRight;
  /** Term (period of leadership of this process) in which the slot was granted. */
  readonly term: Term;
  readonly limiter: RateLimiter;
  readonly reservation: Reservation;
  readonly queue: KeyQueue;
  readonly occupant: Occupant;
  /**
   * Time in ms for which a request that reached the service and was then cancelled keeps its slot,
   * because the service may still work on the request (B2).
   */
  readonly holdMs: number;
  readonly onAnswer: (answer: Answered) => void;
  /** Called when this slot has changed in a way that may allow other requests to start. */
  readonly onChange: () => void;
}

export class GrantedSlot implements Slot {
  readonly #options: GrantedSlotOptions;
  #state: 'granted' | 'inFlight' | 'held' | 'ended' = 'granted';
  #isHeard = false;

  constructor(options: GrantedSlotOptions) {
    this.#options = options;
  }

  started(lastCheck?: () => void): Departure {
    const { right, term } = this.#options;
    const departure = depart(right, term, this.#nowMs());
    lastCheck?.();
    this.#stamp(departure.atMs);
    return departure;
  }

  heard(headAtMs: number): void {
    if (this.#state === 'granted') return;
    this.#learn(headAtMs);
    this.#options.onChange();
  }

  yieldTo(giveUp: () => void): void {
    if (this.#state !== 'inFlight') return;
    this.#options.queue.yieldTo(this.#options.occupant, giveUp);
    this.#options.onChange();
  }

  finished(outcome: SlotOutcome): void {
    // If the start of the request was not recorded, the current time counts as its start, because
    // the request cannot have started later.
    this.#stamp(this.#nowMs());
    if (this.#state === 'ended' || (this.#state === 'held' && outcome.kind === 'abandoned')) return;
    if (outcome.kind === 'abandoned') this.#hold();
    else this.#end(outcome);
    this.#options.onChange();
  }

  release(): void {
    if (this.#state === 'inFlight') this.finished({ kind: 'abandoned' });
    if (this.#state !== 'granted') return;
    this.#options.limiter.cancel(this.#options.reservation);
    this.#leave();
    this.#options.onChange();
  }

  #nowMs(): number {
    return this.#options.clock.monotonic();
  }

  #stamp(nowMs: number): void {
    if (this.#state !== 'granted') return;
    this.#state = 'inFlight';
    this.#options.limiter.stamp(this.#options.reservation, nowMs);
    this.#options.onChange();
  }

  #hold(): void {
    const { queue, occupant, limiter, reservation, holdMs } = this.#options;
    this.#state = 'held';
    const nowMs = this.#nowMs();
    queue.hold(occupant, () => Math.max(nowMs, limiter.arrivedByMs(reservation)) + holdMs);
  }

  #end(outcome: Exclude<SlotOutcome, { kind: 'abandoned' }>): void {
    const { limiter, reservation, onAnswer } = this.#options;
    this.#leave();
    if (outcome.kind === 'answered') {
      this.#learn(outcome.headAtMs ?? this.#nowMs());
      onAnswer(outcome);
    } else if (!this.#isHeard) {
      limiter.broken(reservation, this.#nowMs());
    }
  }

  /** Updates the estimated delay of the network path with the round-trip time of this request. */
  #learn(headAtMs: number): void {
    if (this.#isHeard) return;
    this.#isHeard = true;
    const { limiter, reservation } = this.#options;
    const { sentAtMs = headAtMs } = reservation;
    limiter.answered(reservation, Math.max(0, headAtMs - sentAtMs), sentAtMs);
  }

  #leave(): void {
    this.#state = 'ended';
    this.#options.queue.leave(this.#options.occupant);
  }
}

/**
 * When the next request may start, so that the server never sees more than our share in any second (B1), and no more work than the
 * pace allows after a 429 (B5). Keep-alive polls are not slowed down: there are no more of them than jobs need, and a job that misses
 * one is lost with all that it has found.
 *
 * A start stands in the way of later ones for a period and its margin. The margin is what we know of how late it may have come:
 * - on its way, all that it may be, since an answer would have been here by now if it had not been late; where answers of its
 *   class take longer than a period anyway, the path's margin of when it left;
 * - answered or broken, the round trip, for it cannot have come after its end left; or, where that is long, its lateness
 *   or the path's margin, whichever is larger.
 *
 * Invariant: a reservation that is not stamped yet may start at any moment from now on, so it counts as starting now. Of any five
 * starts within one period and margin the last reserved would have found four others, whatever was given back in between.
 */
import { marginBounds, type PathMargin } from './path-margin.ts';
import type { Pace, RatePace } from './rate-pace.ts';
import type { RequestClass } from './request-slot.ts';

/** One start, reserved or made. Only `RateWindow` reads and writes it. */
export interface Reservation {
  readonly class: RequestClass;
  sentAtMs: number | undefined;
  /** What round trips say of how late it may have come. */
  measuredMs: number;
  /** The same for as long as nothing has come back. */
  unansweredMs: number | undefined;
  /** What answers of 429 add. */
  cautionMs: number;
}

export class RateWindow {
  readonly #pace: RatePace;
  readonly #margin: PathMargin;
  /** What still stands in the way; as many as one period holds. */
  #live: Reservation[] = [];

  constructor(pace: RatePace, margin: PathMargin) {
    this.#pace = pace;
    this.#margin = margin;
  }

  reserve(requestClass: RequestClass): Reservation {
    const reservation: Reservation = {
      class: requestClass,
      sentAtMs: undefined,
      measuredMs: 0,
      unansweredMs: undefined,
      cautionMs: 0,
    };
    this.#live.push(reservation);
    return reservation;
  }

  /** Gives back what never started. */
  cancel(reservation: Reservation): void {
    const index = this.#live.indexOf(reservation);
    if (index >= 0) this.#live.splice(index, 1);
  }

  stamp(reservation: Reservation, nowMs: number): void {
    reservation.sentAtMs = nowMs;
    reservation.measuredMs = this.#margin.measuredMs;
    const quickestMs = this.#margin.quickestMs(reservation.class) ?? 0;
    const { periodMs } = this.#pace.whole;
    reservation.unansweredMs = quickestMs < periodMs ? marginBounds.mostMs : undefined;
    reservation.cautionMs = this.#margin.cautionMs;
  }

  /** The head of the answer came `roundTripMs` after the start at `sentAtMs`. */
  answered(reservation: Reservation, roundTripMs: number, sentAtMs: number): void {
    this.#bound(reservation, this.#margin.learn(reservation.class, roundTripMs, sentAtMs), roundTripMs);
  }

  /** The connection broke: nothing comes after that, and no answer tells more. */
  broken(reservation: Reservation, nowMs: number): void {
    const elapsedMs = nowMs - (reservation.sentAtMs ?? nowMs);
    this.#bound(reservation, Math.min(marginBounds.mostMs, elapsedMs), elapsedMs);
  }

  #bound(reservation: Reservation, lateMs: number, roundTripMs: number): void {
    reservation.unansweredMs = undefined;
    const likelyMs = Math.max(reservation.measuredMs, marginBounds.floorMs + lateMs);
    const provenMs = Math.max(marginBounds.floorMs, roundTripMs);
    reservation.measuredMs = Math.min(provenMs, likelyMs);
  }

  /** The margin has grown after a 429: what has left already waits longer, too. */
  widen(): void {
    for (const reservation of this.#live) reservation.cautionMs = this.#margin.cautionMs;
  }

  /** When one more of the class may be reserved: `nowMs` if at once, infinity if only after one is stamped or given back. */
  freeAtMs(requestClass: RequestClass, nowMs: number): number {
    const pace = this.#pace.current(nowMs);
    this.#live = this.#live.filter((reservation) => clearAtMs(reservation, pace.periodMs) > nowMs);
    const wholeAtMs = freeAtMs(this.#live, this.#pace.whole, nowMs);
    if (requestClass === 'keepAlive') return wholeAtMs;
    const work = this.#live.filter((reservation) => reservation.class !== 'keepAlive');
    return Math.max(wholeAtMs, freeAtMs(work, pace, nowMs));
  }
}

/** When there are fewer than the pace allows in a period. */
function freeAtMs(reservations: readonly Reservation[], { starts, periodMs }: Pace, nowMs: number): number {
  const times = reservations.map((one) => clearAtMs(one, periodMs)).filter((timeMs) => timeMs > nowMs);
  const excess = times.length - starts;
  if (excess < 0) return nowMs;
  times.sort((left, right) => left - right);
  return times[excess] as number;
}

/** When a start no longer stands in the way. */
function clearAtMs(reservation: Reservation, periodMs: number): number {
  if (reservation.sentAtMs === undefined) return Number.POSITIVE_INFINITY;
  const lateMs = reservation.unansweredMs ?? reservation.measuredMs;
  const marginMs = Math.min(marginBounds.mostMs, lateMs + reservation.cautionMs);
  return reservation.sentAtMs + periodMs + marginMs;
}

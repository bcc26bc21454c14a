/**
 * When the next request may start, so that the server never sees more than the pace allows in any second (B1).
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
import type { RatePace } from './rate-pace.ts';
import type { RequestClass } from './request-slot.ts';

/** One start, reserved or made. Only `RateWindow` reads and writes it. */
export interface Reservation {
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

  reserve(): Reservation {
    const reservation: Reservation = {
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

  stamp(reservation: Reservation, requestClass: RequestClass, nowMs: number): void {
    reservation.sentAtMs = nowMs;
    reservation.measuredMs = this.#margin.measuredMs;
    const quickestMs = this.#margin.quickestMs(requestClass) ?? 0;
    const { periodMs } = this.#pace.current(nowMs);
    reservation.unansweredMs = quickestMs < periodMs ? marginBounds.mostMs : undefined;
    reservation.cautionMs = this.#margin.cautionMs;
  }

  /** The head of the answer came `roundTripMs` after the start at `sentAtMs`. */
  answered(reservation: Reservation, requestClass: RequestClass, roundTripMs: number, sentAtMs: number): void {
    this.#bound(reservation, this.#margin.learn(requestClass, roundTripMs, sentAtMs), roundTripMs);
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

  /** When one more may be reserved: not after `nowMs` if at once, infinity if only after one is stamped or given back. */
  freeAtMs(nowMs: number): number {
    const { starts, periodMs } = this.#pace.current(nowMs);
    this.#live = this.#live.filter((reservation) => clearAtMs(reservation, periodMs) > nowMs);
    const excess = this.#live.length - starts;
    if (excess < 0) return nowMs;
    const times = this.#live.map((reservation) => clearAtMs(reservation, periodMs));
    if (excess > 0) times.sort((left, right) => left - right);
    return excess > 0 ? (times[excess] as number) : times.reduce((least, time) => Math.min(least, time));
  }
}

/** When a start no longer stands in the way. */
function clearAtMs(reservation: Reservation, periodMs: number): number {
  if (reservation.sentAtMs === undefined) return Number.POSITIVE_INFINITY;
  const lateMs = reservation.unansweredMs ?? reservation.measuredMs;
  const marginMs = Math.min(marginBounds.mostMs, lateMs + reservation.cautionMs);
  return reservation.sentAtMs + periodMs + marginMs;
}

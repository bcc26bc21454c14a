/**
 * When the next request may start, so that the server never sees more than our share in any second (B1), and no more work than the
 * pace allows after a 429 (B5). Keep-alive polls are not slowed down: there are no more of them than jobs need, and a job that misses
 * one is lost with all that it has found.
 *
 * A start stands in the way of later starts until one period after the latest time at which it can have arrived. That time is known
 * only once something shows that the server has read the request:
 * - its own answer, or the end of its connection;
 * - the answer to a request to the same origin that was sent a quarter of a second later (`marginBounds.mostMs`), since two requests
 *   may overtake each other on their way;
 * - a handshake that began as much later (`Path.probe`).
 * Until then the request may arrive at any moment, together with all others of its kind, as when a server stalls and then reads
 * everything at once. So there are never more such requests than may arrive in one period.
 *
 * Invariant: a reservation that is not stamped yet may start at any moment from now on, so it counts as starting now.
 */
import { marginBounds, type PathMargin } from './path-margin.ts';
import type { Pace, RatePace } from './rate-pace.ts';
import type { Path, RequestClass } from './request-slot.ts';

/** One start, reserved or made. Only `RateWindow` reads and writes it. */
export interface Reservation {
  readonly class: RequestClass;
  /** Undefined for the requests of a former leader, which may have gone anywhere. */
  readonly path: Path | undefined;
  sentAtMs: number | undefined;
  /** From its start to the head of its answer; undefined before that. */
  roundTripMs: number | undefined;
  /** How much longer that was than the quickest when it came. */
  lateMs: number;
  /** The latest time of its arrival by other evidence, as if all took the quickest way; undefined while there is none. */
  arrivedByMs: number | undefined;
  /** How long after its start a probe is worth the handshake, should nothing have shown the arrival by then. */
  patienceMs: number;
  /** How late it may be on its way, by what the path was like when it left. */
  marginMs: number;
  /** What answers of 429 add. */
  cautionMs: number;
}

/** A class that is answered this quickly is not probed before. */
const leastDoubtMs = 20;
/** The same for a class that has never been answered. */
const unknownDoubtMs = 250;

export class RateWindow {
  readonly #pace: RatePace;
  readonly #margin: PathMargin;
  /** After this time a request has ended, whatever became of it. */
  readonly #longestRequestMs: number;
  /** What still stands in the way, in the order of reservation. */
  #live: Reservation[] = [];

  constructor(pace: RatePace, margin: PathMargin, longestRequestMs: number) {
    this.#pace = pace;
    this.#margin = margin;
    this.#longestRequestMs = longestRequestMs;
  }

  reserve(requestClass: RequestClass, path: Path | undefined): Reservation {
    const reservation: Reservation = {
      class: requestClass,
      path,
      sentAtMs: undefined,
      roundTripMs: undefined,
      lateMs: 0,
      arrivedByMs: undefined,
      patienceMs: 0,
      marginMs: 0,
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
    reservation.marginMs = this.#margin.measuredMs;
    reservation.cautionMs = this.#margin.cautionMs;
    reservation.patienceMs = this.#patienceMs(reservation.class);
  }

  /**
   * Counts the requests that a former leader may have left under way when this term began (B6): as many as one period holds. Nothing is
   * known of the path yet.
   */
  inherit(sinceMs: number): void {
    for (let count = 0; count < this.#pace.whole.starts; count++) {
      const reservation = this.reserve('listing', undefined);
      reservation.sentAtMs = sinceMs;
      reservation.marginMs = marginBounds.mostMs;
    }
  }

  /** The head of the answer came `roundTripMs` after the start at `sentAtMs`. */
  answered(reservation: Reservation, roundTripMs: number, sentAtMs: number): void {
    reservation.lateMs = this.#margin.learn(reservation.class, roundTripMs, sentAtMs);
    reservation.roundTripMs = roundTripMs;
    this.#witness(reservation.path?.origin, sentAtMs, this.arrivedByMs(reservation));
  }

  /** The connection broke: nothing comes after that, and no answer tells more. */
  broken(reservation: Reservation, nowMs: number): void {
    settle(reservation, nowMs);
  }

  /** A handshake with the origin began at `startedAtMs` and was completed now: the server has read what was sent before. */
  connected(origin: string, startedAtMs: number, nowMs: number): void {
    const tookMs = nowMs - startedAtMs;
    const lateMs = this.#margin.lateness('handshake', tookMs, startedAtMs);
    // The first message that the server itself has to read leaves after half of it.
    const halfMs = (this.#margin.quickestMs('handshake') ?? 0) / 2;
    this.#witness(origin, startedAtMs, startedAtMs + Math.min(tookMs, halfMs + marginBounds.floorMs + lateMs));
  }

  /** When a request that was sent has arrived at the latest, as far as it is known by now: the earliest bound counts. */
  arrivedByMs(reservation: Reservation): number {
    const { class: kind, sentAtMs = Number.POSITIVE_INFINITY, roundTripMs, marginMs } = reservation;
    const byOthersMs = reservation.arrivedByMs ?? sentAtMs + this.#longestRequestMs;
    if (roundTripMs === undefined) return byOthersMs;
    const lateMs = Math.max(reservation.lateMs, this.#margin.latenessNow(kind, roundTripMs));
    // After a stall the quickest answer says too little: only the answer itself came later for sure.
    const likelyMs = lateMs > marginBounds.mostMs ? roundTripMs : Math.max(marginMs, marginBounds.floorMs + lateMs);
    return Math.min(byOthersMs, sentAtMs + Math.min(Math.max(marginBounds.floorMs, roundTripMs), likelyMs));
  }

  /** The margin has grown after a 429: what has left already waits longer, too. */
  widen(): void {
    for (const reservation of this.#live) reservation.cautionMs = this.#margin.cautionMs;
  }

  /** The requests of which a probe would show whether they have arrived, and which may stand in the way until then. */
  *doubtful(nowMs: number): IterableIterator<Reservation> {
    for (const reservation of this.#live) {
      if (doubtAtMs(reservation) <= nowMs) yield reservation;
    }
  }

  /** When a request next becomes doubtful; infinity when none will. */
  nextDoubtMs(nowMs: number): number {
    return Math.min(...this.#live.map(doubtAtMs).filter((atMs) => atMs > nowMs), Number.POSITIVE_INFINITY);
  }

  /** When one more of the class may be reserved: `nowMs` if at once, infinity if only after one is stamped or given back. */
  freeAtMs(requestClass: RequestClass, nowMs: number): number {
    const pace = this.#pace.current(nowMs);
    this.#live = this.#live.filter((reservation) => this.#clearAtMs(reservation, pace.periodMs) > nowMs);
    const wholeAtMs = this.#freeAtMs(this.#live, this.#pace.whole, nowMs);
    if (requestClass === 'keepAlive') return wholeAtMs;
    const work = this.#live.filter((reservation) => reservation.class !== 'keepAlive');
    return Math.max(wholeAtMs, this.#freeAtMs(work, pace, nowMs));
  }

  /** A request that was sent to the origin earlier, by more than it may have been late on its way, has arrived by then. */
  #witness(origin: string | undefined, sentAtMs: number, arrivedByMs: number): void {
    for (const reservation of this.#live) {
      if (latestMs(reservation) > sentAtMs) continue;
      if (reservation.path === undefined || reservation.path.origin === origin) settle(reservation, arrivedByMs);
    }
  }

  /** For how long an answer of the class is nothing to wonder about; no time where it comes too late to be of use anyway. */
  #patienceMs(requestClass: RequestClass): number {
    const quickestMs = this.#margin.quickestMs(requestClass);
    if (quickestMs === undefined) return unknownDoubtMs;
    const usualMs = quickestMs + this.#margin.measuredMs;
    return usualMs < this.#pace.whole.periodMs ? Math.max(leastDoubtMs, usualMs) : 0;
  }

  /** When there are fewer than the pace allows in a period. */
  #freeAtMs(reservations: readonly Reservation[], { starts, periodMs }: Pace, nowMs: number): number {
    const times = reservations.map((one) => this.#clearAtMs(one, periodMs)).filter((timeMs) => timeMs > nowMs);
    const excess = times.length - starts;
    if (excess < 0) return nowMs;
    times.sort((left, right) => left - right);
    return times[excess] as number;
  }

  /** When a start no longer stands in the way. */
  #clearAtMs(reservation: Reservation, periodMs: number): number {
    return this.arrivedByMs(reservation) + reservation.cautionMs + periodMs;
  }
}

/** When a request has come to the server at the latest, were it not for a stall; infinity before it is sent. */
function latestMs({ sentAtMs = Number.POSITIVE_INFINITY }: Reservation): number {
  return sentAtMs + marginBounds.mostMs;
}

/** From when on a probe would show whether it has arrived; infinity where that is known. */
function doubtAtMs(reservation: Reservation): number {
  const { sentAtMs, roundTripMs, arrivedByMs, patienceMs } = reservation;
  if (sentAtMs === undefined || roundTripMs !== undefined || arrivedByMs !== undefined) return Number.POSITIVE_INFINITY;
  return Math.max(latestMs(reservation), sentAtMs + patienceMs);
}

/** Each piece of evidence bounds the arrival; the earliest bound counts. */
function settle(reservation: Reservation, arrivedByMs: number): void {
  reservation.arrivedByMs = Math.min(reservation.arrivedByMs ?? Number.POSITIVE_INFINITY, arrivedByMs);
}

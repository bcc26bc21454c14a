/**
 * Limits the start times of requests, so that the service never receives too many in one second (B1, B5).
 *
 * A request counts until one second after its latest possible arrival at the service. The arrival is certain when:
 * - its answer arrives, or its connection ends;
 * - another request to the same origin, sent at least `marginBounds.mostMs` later, gets its answer;
 * - a handshake with the origin completes that began at least `marginBounds.mostMs` later (`Path.probe`).
 *
 * An answer with 429 does not reduce the rate of keep-alives, because a search job without keep-alives is lost.
 */
import { marginBounds, type PathMargin } from './path-margin.ts';
import type { RatePace, RequestPace } from './rate-pace.ts';
import type { Path, RequestClass } from './request-slot.ts';

/** One request in the rate limiter, permitted or sent. Only `RateLimiter` uses the fields. */
export interface Reservation {
  readonly class: RequestClass;
  /** Network path of the request; undefined if a former leader sent the request. */
  readonly path: Path | undefined;
  sentAtMs: number | undefined;
  /** Time in ms until the first bytes of the answer; undefined until they arrive. */
  roundTripMs: number | undefined;
  /** Time in ms by which the answer was slower than the fastest answer, possibly because of a network delay. */
  lateMs: number;
  /** Latest time at which the request can have reached the service; undefined if unknown. */
  arrivedByMs: number | undefined;
  /** Network delay in ms that was allowed when the request was sent. */
  allowedDelayMs: number;
}

/** Maximum duration of a request in ms (B6). */
export const longestRequestMs = 60_000;

export class RateLimiter {
  readonly #pace: RatePace;
  readonly #margin: PathMargin;
  /** Requests that count against the request rate. */
  #live: Reservation[] = [];

  constructor(pace: RatePace, margin: PathMargin) {
    this.#pace = pace;
    this.#margin = margin;
  }

  reserve(requestClass: RequestClass, path: Path | undefined): Reservation {
    const reservation: Reservation = {
      class: requestClass,
      path,
      sentAtMs: undefined,
      roundTripMs: undefined,
      lateMs: 0,
      arrivedByMs: undefined,
      allowedDelayMs: 0,
    };
    this.#live.push(reservation);
    return reservation;
  }

  /** Removes a request that was permitted but never started. */
  cancel(reservation: Reservation): void {
    const index = this.#live.indexOf(reservation);
    if (index >= 0) this.#live.splice(index, 1);
  }

  stamp(reservation: Reservation, nowMs: number): void {
    reservation.sentAtMs = nowMs;
    reservation.allowedDelayMs = this.#margin.measuredMs;
  }

  /**
   * Assumes that a former leader sent as many requests as the rate permits, just before this process became the leader
   * (B6). These requests count against the rate.
   */
  inherit(sinceMs: number): void {
    for (let count = 0; count < this.#pace.whole.starts; count++) {
      const reservation = this.reserve('listing', undefined);
      reservation.sentAtMs = sinceMs;
      reservation.allowedDelayMs = marginBounds.mostMs;
    }
  }

  /** Records the time in ms from the sending of a request to the first bytes of its answer. */
  answered(reservation: Reservation, roundTripMs: number, sentAtMs: number): void {
    reservation.lateMs = this.#margin.learn(reservation.class, roundTripMs, sentAtMs);
    reservation.roundTripMs = roundTripMs;
    this.#witness(reservation.path?.origin, sentAtMs, this.arrivedByMs(reservation));
  }

  /** Records that the connection has ended, so that the request can no longer arrive. */
  broken(reservation: Reservation, nowMs: number): void {
    boundArrival(reservation, nowMs);
  }

  /** Records a completed handshake, which shows that earlier requests to this origin have arrived. */
  connected(origin: string, startedAtMs: number, nowMs: number): void {
    const tookMs = nowMs - startedAtMs;
    const lateMs = this.#margin.lateness('handshake', tookMs, startedAtMs);
    // Earlier requests have usually arrived when half of the handshake's time has passed. After a stall, they may
    // arrive as late as the end of the handshake.
    const halfMs = (this.#margin.quickestMs('handshake') ?? 0) / 2;
    const likelyMs = lateMs > marginBounds.mostMs ? tookMs : halfMs + marginBounds.floorMs + lateMs;
    this.#witness(origin, startedAtMs, startedAtMs + Math.min(tookMs, likelyMs));
  }

  /** Returns the latest time at which a sent request can have arrived. */
  arrivedByMs(reservation: Reservation): number {
    const { class: kind, sentAtMs = Number.POSITIVE_INFINITY, roundTripMs, allowedDelayMs } = reservation;
    const byOthersMs = reservation.arrivedByMs ?? sentAtMs + longestRequestMs;
    if (roundTripMs === undefined) return byOthersMs;
    const lateMs = Math.max(reservation.lateMs, this.#margin.latenessNow(kind, roundTripMs));
    // After a very late answer, the whole round trip counts as network delay.
    const likelyMs =
      lateMs > marginBounds.mostMs ? roundTripMs : Math.max(allowedDelayMs, marginBounds.floorMs + lateMs);
    return Math.min(byOthersMs, sentAtMs + Math.min(Math.max(marginBounds.floorMs, roundTripMs), likelyMs));
  }

  /**
   * Returns the sent requests that may not have arrived yet, and whose arrival a test connection would show if it were
   * opened now.
   */
  doubtful(nowMs: number): readonly Reservation[] {
    return this.#live.filter((reservation) => this.#doubtAtMs(reservation) <= nowMs);
  }

  /**
   * Returns the next time at which a test connection could show that a request has arrived; Infinity if there is none.
   */
  nextDoubtMs(nowMs: number): number {
    const timesMs = this.#live.map((reservation) => this.#doubtAtMs(reservation));
    return Math.min(...timesMs.filter((atMs) => atMs > nowMs), Number.POSITIVE_INFINITY);
  }

  /**
   * Returns the earliest time at which one more request of this class may be sent. Returns Infinity if this depends on
   * permitted requests that are not sent yet.
   */
  freeAtMs(requestClass: RequestClass, nowMs: number): number {
    const pace = this.#pace.current(nowMs);
    this.#live = this.#live.filter((reservation) => this.#clearAtMs(reservation, pace.periodMs) > nowMs);
    const wholeAtMs = this.#freeAtMs(this.#live, this.#pace.whole, nowMs);
    if (requestClass === 'keepAlive') return wholeAtMs;
    const work = this.#live.filter((reservation) => reservation.class !== 'keepAlive');
    return Math.max(wholeAtMs, this.#freeAtMs(work, pace, nowMs));
  }

  /**
   * Records that requests to `origin` have arrived by `arrivedByMs`. Applies only to requests that were sent at least
   * `marginBounds.mostMs` before `sentAtMs`, because later requests may still be on the way.
   */
  #witness(origin: string | undefined, sentAtMs: number, arrivedByMs: number): void {
    for (const reservation of this.#live) {
      if (latestMs(reservation) > sentAtMs) continue;
      if (reservation.path === undefined || reservation.path.origin === origin) boundArrival(reservation, arrivedByMs);
    }
  }

  /**
   * Returns the time from which a test connection can show that the request has arrived. Returns Infinity if the
   * request was not sent, or if its arrival is already known.
   */
  #doubtAtMs(reservation: Reservation): number {
    const { sentAtMs, roundTripMs, arrivedByMs } = reservation;
    if (sentAtMs === undefined || roundTripMs !== undefined || arrivedByMs !== undefined)
      return Number.POSITIVE_INFINITY;
    const usualMs = (this.#margin.quickestMs(reservation.class) ?? 0) + this.#margin.measuredMs;
    return Math.max(latestMs(reservation), usualMs < this.#pace.whole.periodMs ? sentAtMs + usualMs : 0);
  }

  /**
   * Returns the earliest time at which fewer than `starts` requests count against the rate, so that one more may be
   * sent.
   */
  #freeAtMs(reservations: readonly Reservation[], { starts, periodMs }: RequestPace, nowMs: number): number {
    const times = reservations.map((one) => this.#clearAtMs(one, periodMs)).filter((timeMs) => timeMs > nowMs);
    const excess = times.length - starts;
    if (excess < 0) return nowMs;
    times.sort((left, right) => left - right);
    return times[excess] as number;
  }

  /** Returns the time from which a request no longer counts against the rate. */
  #clearAtMs(reservation: Reservation, periodMs: number): number {
    return this.arrivedByMs(reservation) + this.#margin.cautionMs + periodMs;
  }
}

/**
 * Returns the latest time at which a request arrives, unless the network or the service stalls. Returns Infinity until
 * the request is sent.
 */
function latestMs({ sentAtMs = Number.POSITIVE_INFINITY }: Reservation): number {
  return sentAtMs + marginBounds.mostMs;
}

/** Sets the latest time at which a request can have arrived, unless an earlier time is known. */
function boundArrival(reservation: Reservation, arrivedByMs: number): void {
  reservation.arrivedByMs = Math.min(reservation.arrivedByMs ?? Number.POSITIVE_INFINITY, arrivedByMs);
}

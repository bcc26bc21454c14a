/**
 * Limits how often requests start, so that the service never receives too many in one second (B1, B5).
 *
 * A request counts against the rate until one second after its latest possible arrival at the service. A request has
 * arrived, or can no longer arrive, as soon as one of the following happens:
 * - its response arrives, or its connection ends;
 * - another request, sent to the same origin at least `marginBounds.maxMs` later, gets its response;
 * - a handshake with the same origin, begun at least `marginBounds.maxMs` later, completes (`Path.probe`).
 *
 * A 429 response does not reduce the rate of keep-alives, because the service cancels search jobs that get no
 * keep-alives.
 */
import { marginBounds, type PathMargin } from './path-margin.ts';
import type { RatePace, RequestPace } from './rate-pace.ts';
import type { Path, RequestClass } from './request-slot.ts';

/**
 * A request that the rate limiter has permitted, or that has already been sent. The fields are for use by `RateLimiter`
 * only.
 */
export interface Reservation {
  readonly class: RequestClass;
  /** Network path of the request. Undefined if a former leader sent the request. */
  readonly path: Path | undefined;
  sentAtMs: number | undefined;
  /** Time in ms from sending the request to the first bytes of its response. Undefined until they arrive. */
  roundTripMs: number | undefined;
  /**
   * Time in ms by which this request's round trip exceeded the shortest recent round trip. The network may have caused
   * this delay.
   */
  lateMs: number;
  /** Upper bound of the time at which the request arrived at the service. Undefined if unknown. */
  arrivedByMs: number | undefined;
  /**
   * Time in ms that was allowed for network delays when the request was sent. It is used to compute the latest possible
   * arrival time of the request.
   */
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
   * Assumes that, just before this process became the leader, a former leader sent as many requests as the rate permits
   * (B6). These requests count against the rate.
   */
  inherit(sinceMs: number): void {
    for (let count = 0; count < this.#pace.whole.starts; count++) {
      const reservation = this.reserve('listing', undefined);
      reservation.sentAtMs = sinceMs;
      reservation.allowedDelayMs = marginBounds.maxMs;
    }
  }

  /** Records a request's round-trip time in ms, from sending the request to the first bytes of its response. */
  answered(reservation: Reservation, roundTripMs: number, sentAtMs: number): void {
    reservation.lateMs = this.#margin.learn(reservation.class, roundTripMs, sentAtMs);
    reservation.roundTripMs = roundTripMs;
    this.#recordArrivals(reservation.path?.origin, sentAtMs, this.arrivedByMs(reservation));
  }

  /** Records that the request's connection has ended, after which the request can no longer arrive. */
  broken(reservation: Reservation, nowMs: number): void {
    boundArrival(reservation, nowMs);
  }

  /** Records a completed handshake, which shows that earlier requests to this origin have arrived. */
  connected(origin: string, startedAtMs: number, nowMs: number): void {
    const tookMs = nowMs - startedAtMs;
    const lateMs = this.#margin.lateness('handshake', tookMs, startedAtMs);
    // Earlier requests have usually arrived by the middle of the handshake. If the handshake was much slower than
    // usual, they may have arrived only by its end.
    const halfMs = (this.#margin.quickestMs('handshake') ?? 0) / 2;
    const likelyMs = lateMs > marginBounds.maxMs ? tookMs : halfMs + marginBounds.floorMs + lateMs;
    this.#recordArrivals(origin, startedAtMs, startedAtMs + Math.min(tookMs, likelyMs));
  }

  /** Returns the latest possible arrival time of a sent request. */
  arrivedByMs(reservation: Reservation): number {
    const { class: kind, sentAtMs = Number.POSITIVE_INFINITY, roundTripMs, allowedDelayMs } = reservation;
    const byOthersMs = reservation.arrivedByMs ?? sentAtMs + longestRequestMs;
    if (roundTripMs === undefined) return byOthersMs;
    const lateMs = Math.max(reservation.lateMs, this.#margin.latenessNow(kind, roundTripMs));
    // If the response was much slower than usual, the network may have delayed the request for the whole round trip.
    const likelyMs =
      lateMs > marginBounds.maxMs ? roundTripMs : Math.max(allowedDelayMs, marginBounds.floorMs + lateMs);
    return Math.min(byOthersMs, sentAtMs + Math.min(Math.max(marginBounds.floorMs, roundTripMs), likelyMs));
  }

  /**
   * Returns the sent requests that may not have arrived yet, but whose arrival a test connection could prove now. The
   * proof is a completed handshake.
   */
  doubtful(nowMs: number): readonly Reservation[] {
    return this.#live.filter((reservation) => this.#doubtAtMs(reservation) <= nowMs);
  }

  /** Returns the next time at which `doubtful` will return another request, or Infinity if there is no such time. */
  nextDoubtMs(nowMs: number): number {
    const timesMs = this.#live.map((reservation) => this.#doubtAtMs(reservation));
    return Math.min(...timesMs.filter((atMs) => atMs > nowMs), Number.POSITIVE_INFINITY);
  }

  /**
   * Returns the earliest time at which one more request of this class may be sent. Returns Infinity while that time
   * depends on permitted requests that have not been sent yet.
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
   * Records that requests to `origin` arrived by `arrivedByMs`, because a later request, sent at `sentAtMs`, has
   * arrived. Leaves out requests that were sent less than `marginBounds.maxMs` before the later request, because they
   * may still be on the way.
   */
  #recordArrivals(origin: string | undefined, sentAtMs: number, arrivedByMs: number): void {
    for (const reservation of this.#live) {
      if (latestMs(reservation) > sentAtMs) continue;
      if (reservation.path === undefined || reservation.path.origin === origin) boundArrival(reservation, arrivedByMs);
    }
  }

  /**
   * Returns the earliest time at which a test connection can prove that the request has arrived. Returns Infinity if
   * the request has not been sent, or if its arrival has already been proven.
   */
  #doubtAtMs(reservation: Reservation): number {
    const { sentAtMs, roundTripMs, arrivedByMs } = reservation;
    if (sentAtMs === undefined || roundTripMs !== undefined || arrivedByMs !== undefined)
      return Number.POSITIVE_INFINITY;
    const usualMs = (this.#margin.quickestMs(reservation.class) ?? 0) + this.#margin.measuredMs;
    return Math.max(latestMs(reservation), usualMs < this.#pace.whole.periodMs ? sentAtMs + usualMs : 0);
  }

  /**
   * Returns the earliest time at which fewer than `starts` requests count against the rate, so that one more request
   * may be sent.
   */
  #freeAtMs(reservations: readonly Reservation[], { starts, periodMs }: RequestPace, nowMs: number): number {
    const times = reservations.map((one) => this.#clearAtMs(one, periodMs)).filter((timeMs) => timeMs > nowMs);
    const excess = times.length - starts;
    if (excess < 0) return nowMs;
    times.sort((left, right) => left - right);
    return times[excess] as number;
  }

  /** Returns the time at which a request stops counting against the request rate. */
  #clearAtMs(reservation: Reservation, periodMs: number): number {
    return this.arrivedByMs(reservation) + this.#margin.cautionMs + periodMs;
  }
}

/**
 * Returns the time by which a request arrives if neither the network nor the service stalls. Returns Infinity if the
 * request has not been sent yet.
 */
function latestMs({ sentAtMs = Number.POSITIVE_INFINITY }: Reservation): number {
  return sentAtMs + marginBounds.maxMs;
}

/**
 * Records that a request arrived by `arrivedByMs`. Has no effect if the request is already known to have arrived
 * earlier.
 */
function boundArrival(reservation: Reservation, arrivedByMs: number): void {
  reservation.arrivedByMs = Math.min(reservation.arrivedByMs ?? Number.POSITIVE_INFINITY, arrivedByMs);
}

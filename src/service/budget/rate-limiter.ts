/**
 * Limits the start times of requests, so that the service never receives more than this process's share of requests in any
 * second (B1), and fewer after an answer with 429 (B5). Keep-alives are not reduced after a 429, because a search job without
 * keep-alives is lost with its results.
 *
 * A request counts until one period after the latest time at which it can have arrived at the service. Each of these events
 * shows that a request has arrived:
 * - The answer to the request arrives, or its connection ends.
 * - The answer to another request to the same origin arrives, which was sent at least `marginBounds.mostMs` later.
 * - A handshake with the same origin is complete, which began at least `marginBounds.mostMs` later (`Path.probe`).
 *
 * Before such an event, a request may arrive at any time, for example when the service stalls and then reads everything at
 * once. The number of requests without such an event therefore never exceeds the limit of one period.
 *
 * Invariant: a reserved request that is not sent yet counts as sent now.
 */
import { marginBounds, type PathMargin } from './path-margin.ts';
import type { RatePace, RequestPace } from './rate-pace.ts';
import type { Path, RequestClass } from './request-slot.ts';

/**
 * Entry of the rate limiter for one request, which is permitted or already sent. Only `RateLimiter` uses the fields.
 */
export interface Reservation {
  readonly class: RequestClass;
  /**
   * Network path of the request; undefined if a former leader sent the request, because its address is then unknown.
   */
  readonly path: Path | undefined;
  sentAtMs: number | undefined;
  /** Time in ms from sending the request to the first bytes of its answer; undefined until they arrive. */
  roundTripMs: number | undefined;
  /**
   * Possible network delay of the request in ms: the time by which its answer was slower than the fastest known answer.
   */
  lateMs: number;
  /**
   * Latest time at which the service can have received the request, as shown by a later request or by the end of the
   * connection; undefined if neither has shown it.
   */
  arrivedByMs: number | undefined;
  /** Time in ms that was allowed for the network delay of this request when it was sent. */
  allowedDelayMs: number;
}

/** Maximum duration of a request in ms, including requests that a former leader has sent (B6). */
export const longestRequestMs = 60_000;

export class RateLimiter {
  readonly #pace: RatePace;
  readonly #margin: PathMargin;
  /** Requests that still count against the request rate. */
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

  /** Removes the entry of a request that was permitted but never started. */
  cancel(reservation: Reservation): void {
    const index = this.#live.indexOf(reservation);
    if (index >= 0) this.#live.splice(index, 1);
  }

  stamp(reservation: Reservation, nowMs: number): void {
    reservation.sentAtMs = nowMs;
    reservation.allowedDelayMs = this.#margin.measuredMs;
  }

  /**
   * Counts as many requests as the rate allows in one period, because a former leader may have sent them right before
   * this term of leadership (B6).
   */
  inherit(sinceMs: number): void {
    for (let count = 0; count < this.#pace.whole.starts; count++) {
      const reservation = this.reserve('listing', undefined);
      reservation.sentAtMs = sinceMs;
      reservation.allowedDelayMs = marginBounds.mostMs;
    }
  }

  /** Records that the first bytes of an answer arrived `roundTripMs` after the start of the request. */
  answered(reservation: Reservation, roundTripMs: number, sentAtMs: number): void {
    reservation.lateMs = this.#margin.learn(reservation.class, roundTripMs, sentAtMs);
    reservation.roundTripMs = roundTripMs;
    this.#witness(reservation.path?.origin, sentAtMs, this.arrivedByMs(reservation));
  }

  /** Records that the connection of a request has ended, so that the request can no longer reach the service. */
  broken(reservation: Reservation, nowMs: number): void {
    boundArrival(reservation, nowMs);
  }

  /**
   * Records a complete connection handshake with the service. A handshake that started later than a request shows
   * that the service has received this request.
   */
  connected(origin: string, startedAtMs: number, nowMs: number): void {
    const tookMs = nowMs - startedAtMs;
    const lateMs = this.#margin.lateness('handshake', tookMs, startedAtMs);
    // The service has usually received earlier requests when half of the handshake's duration has passed. If the service
    // stalled, it may have read requests and handshakes in any order, so the whole duration counts.
    const halfMs = (this.#margin.quickestMs('handshake') ?? 0) / 2;
    const likelyMs = lateMs > marginBounds.mostMs ? tookMs : halfMs + marginBounds.floorMs + lateMs;
    this.#witness(origin, startedAtMs, startedAtMs + Math.min(tookMs, likelyMs));
  }

  /** Latest time at which the service can have received a sent request, as far as this process knows. */
  arrivedByMs(reservation: Reservation): number {
    const { class: kind, sentAtMs = Number.POSITIVE_INFINITY, roundTripMs, allowedDelayMs } = reservation;
    const byOthersMs = reservation.arrivedByMs ?? sentAtMs + longestRequestMs;
    if (roundTripMs === undefined) return byOthersMs;
    const lateMs = Math.max(reservation.lateMs, this.#margin.latenessNow(kind, roundTripMs));
    // If the answer was very late, the comparison with the fastest answer is not reliable. The whole round trip then
    // counts as the delay of the request.
    const likelyMs =
      lateMs > marginBounds.mostMs ? roundTripMs : Math.max(allowedDelayMs, marginBounds.floorMs + lateMs);
    return Math.min(byOthersMs, sentAtMs + Math.min(Math.max(marginBounds.floorMs, roundTripMs), likelyMs));
  }

  /** Returns the sent requests for which a test connection could now show that the service has received them. */
  doubtful(nowMs: number): readonly Reservation[] {
    return this.#live.filter((reservation) => this.#doubtAtMs(reservation) <= nowMs);
  }

  /**
   * Next time at which a test connection could show that a sent request has reached the service; Infinity if there is none.
   */
  nextDoubtMs(nowMs: number): number {
    const timesMs = this.#live.map((reservation) => this.#doubtAtMs(reservation));
    return Math.min(...timesMs.filter((atMs) => atMs > nowMs), Number.POSITIVE_INFINITY);
  }

  /**
   * Earliest time at which one more request of this class may be sent; Infinity while requests that were permitted
   * earlier are not sent yet.
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
   * Concludes from the arrival of one request that all requests to the same origin that were sent at least
   * `marginBounds.mostMs` earlier have arrived, too.
   */
  #witness(origin: string | undefined, sentAtMs: number, arrivedByMs: number): void {
    for (const reservation of this.#live) {
      if (latestMs(reservation) > sentAtMs) continue;
      if (reservation.path === undefined || reservation.path.origin === origin) boundArrival(reservation, arrivedByMs);
    }
  }

  /**
   * Time from which a test connection can show that the request has arrived; Infinity if the time of arrival is
   * already known. A test connection is opened after the request was sent. If the connection succeeds, the request
   * has arrived, too.
   */
  #doubtAtMs(reservation: Reservation): number {
    const { sentAtMs, roundTripMs, arrivedByMs } = reservation;
    if (sentAtMs === undefined || roundTripMs !== undefined || arrivedByMs !== undefined)
      return Number.POSITIVE_INFINITY;
    const usualMs = (this.#margin.quickestMs(reservation.class) ?? 0) + this.#margin.measuredMs;
    return Math.max(latestMs(reservation), usualMs < this.#pace.whole.periodMs ? sentAtMs + usualMs : 0);
  }

  /** Earliest time at which fewer than `starts` requests count against the request rate. */
  #freeAtMs(reservations: readonly Reservation[], { starts, periodMs }: RequestPace, nowMs: number): number {
    const times = reservations.map((one) => this.#clearAtMs(one, periodMs)).filter((timeMs) => timeMs > nowMs);
    const excess = times.length - starts;
    if (excess < 0) return nowMs;
    times.sort((left, right) => left - right);
    return times[excess] as number;
  }

  /**
   * Time from which a request no longer counts against the request rate: one period after the latest time at which the
   * service can have received it.
   */
  #clearAtMs(reservation: Reservation, periodMs: number): number {
    return this.arrivedByMs(reservation) + this.#margin.cautionMs + periodMs;
  }
}

/**
 * Latest time at which the service receives a request, provided that neither network nor service stalls; Infinity
 * until the request is sent.
 */
function latestMs({ sentAtMs = Number.POSITIVE_INFINITY }: Reservation): number {
  return sentAtMs + marginBounds.mostMs;
}

/** Sets the latest time at which a request can have arrived, unless an earlier time is already known. */
function boundArrival(reservation: Reservation, arrivedByMs: number): void {
  reservation.arrivedByMs = Math.min(reservation.arrivedByMs ?? Number.POSITIVE_INFINITY, arrivedByMs);
}

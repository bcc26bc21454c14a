/**
 * Estimates the time that must be allowed for network delays (B1). A delayed request arrives closer to the requests that follow
 * it, so without this time the service could receive too many requests in one second.
 *
 * The delay of a request cannot be measured, but is shorter than its round trip. Each round trip is compared with the fastest
 * recent one of the same class of requests, because the service needs more time for some classes than for others. While a class
 * has few answers, the fastest answer of all classes is used instead.
 *
 * Invariant: the allowed time is between `floorMs` and `mostMs`. It rises after a few slow answers, and falls after hundreds of
 * fast ones.
 */
import { getOrAdd } from '../../base/get-or-add.ts';
import type { RequestClass } from './request-slot.ts';

export const marginBounds = {
  /**
   * Minimum time in ms allowed for network delays. It also covers clock drift and rounding to milliseconds, which round trips do
   * not show.
   */
  floorMs: 5,
  /** Time in ms that is allowed for network delays until the first round trip was measured. */
  initialMs: 20,
  /**
   * Maximum time in ms allowed for network delays. If delays are longer, `rate-limiter.ts` waits until each request
   * has certainly arrived.
   */
  mostMs: 250,
  /**
   * Time in ms by which the first answer with 429 raises the time allowed for network delays. Each further 429
   * doubles the raise.
   */
  cautionStepMs: 25,
  /**
   * Minimum number of answers of a class of requests before the fastest one counts as not delayed by the network. Among
   * fewer answers, even the fastest may have been delayed.
   */
  youngAnswers: 32,
} as const;

/**
 * Weight of a slow answer in the average network delay. It is four times the weight of a fast answer, so the average
 * rises quickly and falls slowly.
 */
const riseWeight = 1 / 8;
const fallWeight = 1 / 32;
/**
 * Factor by which each answer other than 429 reduces the time that earlier answers with 429 have added. 35 answers
 * halve the added time.
 */
const cautionDecay = 0.98;
/**
 * Length in ms of a measuring period. The fastest round trip of the current and the previous period counts. Older
 * round trips are forgotten, because network paths change.
 */
const baselineWindowMs = 60_000;

/** Kind of round trip: a class of requests, or connection handshakes. Only round trips of one kind are compared. */
type Kind = RequestClass | 'handshake';

interface Baseline {
  answers: number;
  sinceMs: number;
  quickestMs: number;
  quickestBeforeMs: number;
}

export class PathMargin {
  #spreadMs = marginBounds.initialMs - marginBounds.floorMs;
  #cautionMs = 0;
  readonly #baselines = new Map<Kind, Baseline>();

  /** Time in ms allowed for the network delay of a request. */
  get currentMs(): number {
    return Math.min(marginBounds.mostMs, this.measuredMs + this.#cautionMs);
  }

  /** Part of the time allowed for network delays, in ms, that follows from measured round trips. */
  get measuredMs(): number {
    return marginBounds.floorMs + this.#spreadMs;
  }

  /**
   * Part of the time allowed for network delays, in ms, that was added after answers with 429. It covers delays that
   * round trips do not show.
   */
  get cautionMs(): number {
    return this.#cautionMs;
  }

  /**
   * Learns from the round trip of one request. Returns the possible network delay of the request in ms, compared with the
   * fastest request of its class, or of all classes while its class has few answers.
   */
  learn(requestClass: RequestClass, roundTripMs: number, sentAtMs: number): number {
    const lateMs = this.lateness(requestClass, roundTripMs, sentAtMs);
    // An answer is compared with the fastest one of its own class. The classes differ in the time that the service needs for an
    // answer, which is not a network delay.
    const spreadMs = roundTripMs - (this.quickestMs(requestClass) ?? 0);
    const difference = Math.min(marginBounds.mostMs, spreadMs) - this.#spreadMs;
    this.#spreadMs += difference * (difference > 0 ? riseWeight : fallWeight);
    this.#spreadMs = Math.min(this.#spreadMs, marginBounds.mostMs - marginBounds.floorMs);
    return lateMs;
  }

  /** Stores a round trip. Returns by how many ms it was slower than the fastest recent round trip of the same kind. */
  lateness(kind: Kind, roundTripMs: number, sentAtMs: number): number {
    this.#renew(kind, roundTripMs, sentAtMs + roundTripMs);
    return this.latenessNow(kind, roundTripMs);
  }

  /**
   * Time in ms by which a round trip was slower than the fastest known round trip of its class. The result can grow
   * later, when a faster round trip is measured.
   */
  latenessNow(kind: Kind, roundTripMs: number): number {
    const baseline = this.#baselines.get(kind);
    if (!baseline) return roundTripMs;
    return (
      roundTripMs - (baseline.answers <= marginBounds.youngAnswers ? this.#quickestOfAllMs() : quickestMs(baseline))
    );
  }

  /** Fastest recent round trip of a class of requests, or of handshakes, in ms; undefined if none was measured. */
  quickestMs(kind: Kind): number | undefined {
    const baseline = this.#baselines.get(kind);
    return baseline && quickestMs(baseline);
  }

  /**
   * Records an answer with 429, which shows that the service has counted more requests in one second than this process
   * expected.
   */
  refused(): void {
    this.#cautionMs = Math.min(marginBounds.mostMs, Math.max(marginBounds.cautionStepMs, 2 * this.#cautionMs));
  }

  /** Records an answer other than 429, which reduces the time that earlier answers with 429 have added. */
  passed(): void {
    this.#cautionMs *= cautionDecay;
    if (this.#cautionMs < 0.5) this.#cautionMs = 0;
  }

  #renew(kind: Kind, roundTripMs: number, answeredAtMs: number): void {
    const baseline = getOrAdd(this.#baselines, kind, () => ({
      ...{ answers: 0, sinceMs: answeredAtMs, quickestMs: roundTripMs, quickestBeforeMs: Number.POSITIVE_INFINITY },
    }));
    if (answeredAtMs - baseline.sinceMs >= baselineWindowMs) {
      baseline.sinceMs = answeredAtMs;
      baseline.quickestBeforeMs = baseline.quickestMs;
      baseline.quickestMs = roundTripMs;
    }
    baseline.answers++;
    baseline.quickestMs = Math.min(baseline.quickestMs, roundTripMs);
  }

  /** Fastest recent round trip of all kinds of requests in ms; zero while there are few answers. */
  #quickestOfAllMs(): number {
    const baselines = [...this.#baselines.values()];
    if (baselines.reduce((sum, { answers }) => sum + answers, 0) <= marginBounds.youngAnswers) return 0;
    return Math.min(...baselines.map(quickestMs));
  }
}

function quickestMs({ quickestMs, quickestBeforeMs }: Baseline): number {
  return Math.min(quickestMs, quickestBeforeMs);
}

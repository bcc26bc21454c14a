/**
 * Estimates network delays (B1). A delayed request arrives closer to the next request, so the service could receive too
 * many requests in one second.
 *
 * The delay is the time by which a round trip was slower than the fastest recent round trip of its class. The estimate
 * rises after a few slow answers, and falls after hundreds of fast answers.
 */
import { getOrAdd } from '../../base/get-or-add.ts';
import type { RequestClass } from './request-slot.ts';

export const marginBounds = {
  /** Minimum time in ms allowed for network delays. It covers clock drift and rounding. */
  floorMs: 5,
  /** Time in ms allowed for network delays before the first measurement. */
  initialMs: 20,
  /**
   * Maximum time in ms allowed for network delays. If a delay may be longer, `rate-limiter.ts` waits until the request
   * has certainly arrived.
   */
  mostMs: 250,
  /** Time in ms that the first answer with 429 adds to the allowed network delay. Each further 429 doubles it. */
  cautionStepMs: 25,
  /**
   * Minimum number of measured answers of a class. With fewer answers, a delay of this class is measured against the
   * fastest answer of all classes instead of its own.
   */
  youngAnswers: 32,
} as const;

/**
 * Weight of a new answer in the average delay if the answer is slower than average. A faster answer has a quarter of
 * this weight.
 */
const riseWeight = 1 / 8;
const fallWeight = 1 / 32;
/**
 * Factor by which each answer other than 429 reduces the delay that answers with 429 have added. After 35 answers, half
 * of this delay is left.
 */
const cautionDecay = 0.98;
/** Length of a measuring period in ms. Older measurements are forgotten after two periods. */
const baselineWindowMs = 60_000;

/**
 * Kind of round trip: the class of a request, or a connection handshake. Only round trips of the same kind are
 * compared.
 */
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

  /**
   * Part of the allowed network delay, in ms, that follows from measured round trips. The other part follows from
   * answers with 429.
   */
  get measuredMs(): number {
    return marginBounds.floorMs + this.#spreadMs;
  }

  /** Time in ms that answers with 429 have added to the allowed network delay. */
  get cautionMs(): number {
    return this.#cautionMs;
  }

  /**
   * Updates the estimate with the round-trip time of one request. Returns the possible network delay of the request in
   * ms.
   */
  learn(requestClass: RequestClass, roundTripMs: number, sentAtMs: number): number {
    const lateMs = this.lateness(requestClass, roundTripMs, sentAtMs);
    // The round trip is compared only with others of its class, because the service needs more time for some classes.
    const spreadMs = roundTripMs - (this.quickestMs(requestClass) ?? 0);
    const difference = Math.min(marginBounds.mostMs, spreadMs) - this.#spreadMs;
    this.#spreadMs += difference * (difference > 0 ? riseWeight : fallWeight);
    this.#spreadMs = Math.min(this.#spreadMs, marginBounds.mostMs - marginBounds.floorMs);
    return lateMs;
  }

  /**
   * Stores the duration of a round trip, and returns by how many ms it exceeds that of the fastest recent round trip.
   */
  lateness(kind: Kind, roundTripMs: number, sentAtMs: number): number {
    this.#renew(kind, roundTripMs, sentAtMs + roundTripMs);
    return this.latenessNow(kind, roundTripMs);
  }

  /** Returns by how many ms a round trip was slower than the fastest round trip that is known now. */
  latenessNow(kind: Kind, roundTripMs: number): number {
    const baseline = this.#baselines.get(kind);
    if (!baseline) return roundTripMs;
    return (
      roundTripMs - (baseline.answers <= marginBounds.youngAnswers ? this.#quickestOfAllMs() : quickestMs(baseline))
    );
  }

  /** Returns the time of the fastest recent round trip in ms, or undefined if none was measured. */
  quickestMs(kind: Kind): number | undefined {
    const baseline = this.#baselines.get(kind);
    return baseline && quickestMs(baseline);
  }

  /** Records an answer with 429, which shows that requests arrived closer together than expected. */
  refused(): void {
    this.#cautionMs = Math.min(marginBounds.mostMs, Math.max(marginBounds.cautionStepMs, 2 * this.#cautionMs));
  }

  /** Records an answer other than 429. */
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

  /**
   * Returns the time of the fastest recent round trip of all kinds in ms, or 0 until enough round trips were measured.
   */
  #quickestOfAllMs(): number {
    const baselines = [...this.#baselines.values()];
    if (baselines.reduce((sum, { answers }) => sum + answers, 0) <= marginBounds.youngAnswers) return 0;
    return Math.min(...baselines.map(quickestMs));
  }
}

function quickestMs({ quickestMs, quickestBeforeMs }: Baseline): number {
  return Math.min(quickestMs, quickestBeforeMs);
}

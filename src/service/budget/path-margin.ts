/**
 * Estimates how long the network delays requests (B1). A delayed request arrives closer to the next request. Because of
 * such delays, the service could receive too many requests in one second.
 *
 * The delay of a request is the difference between its round-trip time and the fastest recent round-trip time of its
 * class. The estimate rises after a few slow responses, but falls only after hundreds of fast responses.
 */
import { getOrAdd } from '../../base/get-or-add.ts';
import type { RequestClass } from './request-slot.ts';

export const marginBounds = {
  /** Minimum allowed network delay in ms. It covers clock drift and rounding. */
  floorMs: 5,
  /** Allowed network delay in ms before the first measurement. */
  initialMs: 20,
  /**
   * Maximum allowed network delay in ms. If a delay may be longer, `rate-limiter.ts` waits until the request has
   * certainly arrived.
   */
  maxMs: 250,
  /**
   * Time in ms that the first response with 429 adds to the allowed network delay. Each further 429 doubles this time.
   */
  cautionStepMs: 25,
  /**
   * After this number of responses, the fastest response of a class is reliable. Until then, responses of the class are
   * compared with the fastest response of all classes.
   */
  youngResponses: 32,
} as const;

/**
 * Weights of a new delay in the average delay. A delay above the average has the higher weight, so the average rises
 * fast and falls slowly.
 */
const riseWeight = 1 / 8;
const fallWeight = 1 / 32;
/**
 * Factor for the delay that responses with 429 have added. Each other response multiplies that delay by this factor, so 35
 * responses halve it.
 */
const cautionDecay = 0.98;
/** Length of a measuring period in ms. Older measurements are forgotten after two periods. */
const baselinePeriodMs = 60_000;

/**
 * Kind of round trip: the class of a request, or a connection handshake. Only round trips of the same kind are
 * compared.
 */
type Kind = RequestClass | 'handshake';

interface Baseline {
  responses: number;
  sinceMs: number;
  quickestMs: number;
  quickestBeforeMs: number;
}

export class PathMargin {
  #spreadMs = marginBounds.initialMs - marginBounds.floorMs;
  #cautionMs = 0;
  readonly #baselines = new Map<Kind, Baseline>();

  /** Allowed network delay of a request in ms. */
  get currentMs(): number {
    return Math.min(marginBounds.maxMs, this.measuredMs + this.#cautionMs);
  }

  /** Allowed network delay in ms without the time that responses with 429 have added. */
  get measuredMs(): number {
    return marginBounds.floorMs + this.#spreadMs;
  }

  /** Time in ms that responses with 429 have added to the allowed network delay. */
  get cautionMs(): number {
    return this.#cautionMs;
  }

  /**
   * Updates the estimate with the round-trip time of one request. Returns the possible network delay of this request in
   * ms.
   */
  learn(requestClass: RequestClass, roundTripMs: number, sentAtMs: number): number {
    const lateMs = this.lateness(requestClass, roundTripMs, sentAtMs);
    // Compares only requests of the same class, because the service answers some classes more slowly than others.
    const spreadMs = roundTripMs - (this.quickestMs(requestClass) ?? 0);
    const difference = Math.min(marginBounds.maxMs, spreadMs) - this.#spreadMs;
    this.#spreadMs += difference * (difference > 0 ? riseWeight : fallWeight);
    this.#spreadMs = Math.min(this.#spreadMs, marginBounds.maxMs - marginBounds.floorMs);
    return lateMs;
  }

  /** Stores a round-trip time. Returns its difference in ms from the fastest recent round-trip time. */
  lateness(kind: Kind, roundTripMs: number, sentAtMs: number): number {
    this.#renew(kind, roundTripMs, sentAtMs + roundTripMs);
    return this.latenessNow(kind, roundTripMs);
  }

  /** Returns the difference in ms between a round-trip time and the fastest one that was measured so far. */
  latenessNow(kind: Kind, roundTripMs: number): number {
    const baseline = this.#baselines.get(kind);
    if (!baseline) return roundTripMs;
    return (
      roundTripMs - (baseline.responses <= marginBounds.youngResponses ? this.#quickestOfAllMs() : quickestMs(baseline))
    );
  }

  /** Returns the fastest recent round-trip time in ms, or undefined if none was measured. */
  quickestMs(kind: Kind): number | undefined {
    const baseline = this.#baselines.get(kind);
    return baseline && quickestMs(baseline);
  }

  /**
   * Records a response with 429. The service received the requests closer together than expected, so a longer network
   * delay must be allowed.
   */
  refused(): void {
    this.#cautionMs = Math.min(marginBounds.maxMs, Math.max(marginBounds.cautionStepMs, 2 * this.#cautionMs));
  }

  /** Records a response other than 429. */
  passed(): void {
    this.#cautionMs *= cautionDecay;
    if (this.#cautionMs < 0.5) this.#cautionMs = 0;
  }

  #renew(kind: Kind, roundTripMs: number, answeredAtMs: number): void {
    const baseline = getOrAdd(this.#baselines, kind, () => ({
      ...{ responses: 0, sinceMs: answeredAtMs, quickestMs: roundTripMs, quickestBeforeMs: Number.POSITIVE_INFINITY },
    }));
    if (answeredAtMs - baseline.sinceMs >= baselinePeriodMs) {
      baseline.sinceMs = answeredAtMs;
      baseline.quickestBeforeMs = baseline.quickestMs;
      baseline.quickestMs = roundTripMs;
    }
    baseline.responses++;
    baseline.quickestMs = Math.min(baseline.quickestMs, roundTripMs);
  }

  /** Returns the fastest recent round-trip time of all kinds in ms, or 0 until enough round trips were measured. */
  #quickestOfAllMs(): number {
    const baselines = [...this.#baselines.values()];
    if (baselines.reduce((sum, { responses }) => sum + responses, 0) <= marginBounds.youngResponses) return 0;
    return Math.min(...baselines.map(quickestMs));
  }
}

function quickestMs({ quickestMs, quickestBeforeMs }: Baseline): number {
  return Math.min(quickestMs, quickestBeforeMs);
}

/**
 * Estimates how long the network delays requests (B1). A delayed request arrives closer to the next request, so such
 * delays could make the service receive too many requests in one second.
 *
 * A request's delay is its round-trip time minus the shortest recent round-trip time of its class. The estimate rises
 * after a few slow responses, but falls only after hundreds of fast responses.
 */
import { getOrAdd } from '../../base/get-or-add.ts';
import type { RequestClass } from './request-slot.ts';

export const marginBounds = {
  /** Minimum time allowed for network delays, in ms. It covers clock drift and rounding. */
  floorMs: 5,
  /** Time allowed for network delays before the first measurement, in ms. */
  initialMs: 20,
  /**
   * Maximum time allowed for network delays, in ms. If a request may have been delayed longer than this,
   * `rate-limiter.ts` waits until the request is known to have arrived.
   */
  maxMs: 250,
  /**
   * Number of ms that the first 429 response adds to the time allowed for network delays. Each further 429 response
   * doubles the time that has been added so far.
   */
  cautionStepMs: 25,
  /**
   * Number of responses after which the fastest response of a class is reliable. Until then, responses of the class are
   * compared with the fastest response across all classes.
   */
  youngResponses: 32,
} as const;

/**
 * Weights of a new delay in the average delay. A delay above the average has the higher weight, so the average rises
 * quickly and falls slowly.
 */
const riseWeight = 1 / 8;
const fallWeight = 1 / 32;
/**
 * Factor by which each response other than a 429 multiplies the time that 429 responses have added. About 35 of these
 * responses halve the time.
 */
const cautionDecay = 0.98;
/** Length of a measuring period in ms. Measurements are discarded after two periods. */
const baselinePeriodMs = 60_000;

/**
 * Kind of a round trip: a class of requests, or a connection handshake. Only round trips of the same kind are compared.
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

  /** Time allowed for the network delay of a request, in ms. */
  get currentMs(): number {
    return Math.min(marginBounds.maxMs, this.measuredMs + this.#cautionMs);
  }

  /** Time allowed for network delays, in ms, not including the time that 429 responses have added. */
  get measuredMs(): number {
    return marginBounds.floorMs + this.#spreadMs;
  }

  /** Number of ms that 429 responses have added to the time allowed for network delays. */
  get cautionMs(): number {
    return this.#cautionMs;
  }

  /**
   * Updates the estimate with one request's round-trip time. Returns the possible network delay of that request in ms.
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

  /** Stores a round-trip time. Returns the number of ms by which it exceeds the shortest recent round-trip time. */
  lateness(kind: Kind, roundTripMs: number, sentAtMs: number): number {
    this.#renew(kind, roundTripMs, sentAtMs + roundTripMs);
    return this.latenessNow(kind, roundTripMs);
  }

  /** Returns the number of ms by which a round-trip time exceeds the shortest recent one, without storing it. */
  latenessNow(kind: Kind, roundTripMs: number): number {
    const baseline = this.#baselines.get(kind);
    if (!baseline) return roundTripMs;
    return (
      roundTripMs - (baseline.responses <= marginBounds.youngResponses ? this.#quickestOfAllMs() : quickestMs(baseline))
    );
  }

  /** Returns the shortest recent round-trip time in ms, or undefined if none has been measured. */
  quickestMs(kind: Kind): number | undefined {
    const baseline = this.#baselines.get(kind);
    return baseline && quickestMs(baseline);
  }

  /**
   * Records a 429 response. It means that the service received requests closer together than expected, so more time
   * must be allowed for network delays.
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

  /**
   * Returns the shortest recent round-trip time in ms across all kinds, or 0 until enough round trips have been
   * measured.
   */
  #quickestOfAllMs(): number {
    const baselines = [...this.#baselines.values()];
    if (baselines.reduce((sum, { responses }) => sum + responses, 0) <= marginBounds.youngResponses) return 0;
    return Math.min(...baselines.map(quickestMs));
  }
}

function quickestMs({ quickestMs, quickestBeforeMs }: Baseline): number {
  return Math.min(quickestMs, quickestBeforeMs);
}

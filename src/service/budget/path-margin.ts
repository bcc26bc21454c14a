/**
 * Estimates from round trips how late requests arrive at the service. The result is a margin: the time that is added to one second between
 * the first and the fifth request (B1).
 *
 * If an earlier request is delayed on its way, the service receives it closer to later ones. The delay cannot be measured, but it is less
 * than the round trip. Each round trip is compared with the fastest recent one of the same class of requests, so that slow work at the
 * service does not look like a slow path. In a class with few answers even the fastest one may be delayed; the fastest of all classes is
 * used instead.
 *
 * Invariant: `floorMs ≤ currentMs ≤ mostMs`. `currentMs` rises after a few slow answers and falls after hundreds of fast ones.
 * `rate-limiter.ts` applies it.
 */
import type { RequestClass } from './request-slot.ts';

export const marginBounds = {
  /** Minimum margin in ms. It covers delays that round trips do not show: clock drift and rounding to milliseconds. */
  floorMs: 5,
  /** Margin in ms before the first measurement. */
  initialMs: 20,
  /** Maximum margin in ms. For larger delays the limiter tracks the arrival of each request (`rate-limiter.ts`). */
  mostMs: 250,
  /** Margin in ms that the first answer with 429 adds. Each further one doubles the addition. */
  cautionStepMs: 25,
} as const;

/** Weight of one answer in the measured spread of delays. A slow answer counts four times as much as a fast one. */
const riseWeight = 1 / 8;
const fallWeight = 1 / 32;
/** Factor by which each answer other than 429 reduces the added margin. Half of it remains after 35 answers. */
const cautionDecay = 0.98;
/** Minimum number of answers from which the fastest one counts as not delayed, for a class or for all. */
const youngAnswers = 8;
/** Period in ms after which the fastest answer is forgotten, after one to two periods, because network paths change. */
const baselineWindowMs = 60_000;

/** Group in which round trips are compared: requests of one class, or handshakes. */
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

  /** Current estimate of the maximum delay of a request in ms. */
  get currentMs(): number {
    return Math.min(marginBounds.mostMs, this.measuredMs + this.#cautionMs);
  }

  /** Part of the margin in ms that measured round trips explain. */
  get measuredMs(): number {
    return marginBounds.floorMs + this.#spreadMs;
  }

  /** Part of the margin in ms that answers with 429 have added, for delays that cannot be measured. */
  get cautionMs(): number {
    return this.#cautionMs;
  }

  /**
   * Learns from a round trip. Returns the possible delay of the request in ms, compared with the fastest of its class, or of all
   * classes if its class has few answers.
   */
  learn(requestClass: RequestClass, roundTripMs: number, sentAtMs: number): number {
    const lateMs = this.lateness(requestClass, roundTripMs, sentAtMs);
    // A class with few answers is not used for the spread: its first answers may all be delayed.
    if ((this.#baselines.get(requestClass)?.answers ?? 0) <= youngAnswers) return lateMs;
    const difference = Math.min(marginBounds.mostMs, lateMs) - this.#spreadMs;
    this.#spreadMs += difference * (difference > 0 ? riseWeight : fallWeight);
    this.#spreadMs = Math.min(this.#spreadMs, marginBounds.mostMs - marginBounds.floorMs);
    return lateMs;
  }

  /** Returns the time in ms by which a round trip exceeds the fastest one of its kind, and stores the round trip. */
  lateness(kind: Kind, roundTripMs: number, sentAtMs: number): number {
    this.#renew(kind, roundTripMs, sentAtMs + roundTripMs);
    return this.latenessNow(kind, roundTripMs);
  }

  /**
   * Returns the time in ms by which an earlier round trip exceeds the fastest one known now. If the path became faster, earlier round trips
   * turn out to be slow.
   */
  latenessNow(kind: Kind, roundTripMs: number): number {
    const baseline = this.#baselines.get(kind);
    if (!baseline) return roundTripMs;
    return roundTripMs - (baseline.answers <= youngAnswers ? this.#quickestOfAllMs() : quickestMs(baseline));
  }

  /** Fastest recent round trip of a kind in ms; undefined before the first. */
  quickestMs(kind: Kind): number | undefined {
    const baseline = this.#baselines.get(kind);
    return baseline && quickestMs(baseline);
  }

  /** Records an answer with 429: the service has counted more requests than this process expected. */
  refused(): void {
    this.#cautionMs = Math.min(marginBounds.mostMs, Math.max(marginBounds.cautionStepMs, 2 * this.#cautionMs));
  }

  /** Records an answer other than 429. */
  passed(): void {
    this.#cautionMs *= cautionDecay;
    if (this.#cautionMs < 0.5) this.#cautionMs = 0;
  }

  /** Adds a round trip to the baseline of its kind. */
  #renew(kind: Kind, roundTripMs: number, answeredAtMs: number): void {
    const baseline = this.#baselines.get(kind) ?? {
      answers: 0,
      sinceMs: answeredAtMs,
      quickestMs: roundTripMs,
      quickestBeforeMs: Number.POSITIVE_INFINITY,
    };
    this.#baselines.set(kind, baseline);
    if (answeredAtMs - baseline.sinceMs >= baselineWindowMs) {
      baseline.sinceMs = answeredAtMs;
      baseline.quickestBeforeMs = baseline.quickestMs;
      baseline.quickestMs = roundTripMs;
    }
    baseline.answers++;
    baseline.quickestMs = Math.min(baseline.quickestMs, roundTripMs);
  }

  /** Fastest recent round trip of all kinds in ms; zero while there are few answers. */
  #quickestOfAllMs(): number {
    const baselines = [...this.#baselines.values()];
    if (baselines.reduce((sum, { answers }) => sum + answers, 0) <= youngAnswers) return 0;
    return Math.min(...baselines.map(quickestMs));
  }
}

function quickestMs({ quickestMs, quickestBeforeMs }: Baseline): number {
  return Math.min(quickestMs, quickestBeforeMs);
}

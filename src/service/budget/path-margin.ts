/**
 * Estimates from round trips how late requests can arrive at the service. The result is a margin:
 * each period of one second in which the service allows four requests is extended by this time
 * (B1).
 *
 * The margin is needed because a delayed request reaches the service closer to the requests that
 * follow it. The delay of a request cannot be measured, but it is less than the round trip. Each
 * round trip is compared with the fastest recent one of the same class of requests, so that slow
 * work at the service does not look like a slow path. While a class has few answers, even its
 * fastest one may be delayed, so the fastest answer of all classes is used instead.
 *
 * Invariant: `floorMs ≤ currentMs ≤ mostMs`. `currentMs` rises after a few slow answers and falls
 * after hundreds of fast ones. `rate-limiter.ts` applies the margin.
 */
import type { RequestClass } from './request-slot.ts';

export const marginBounds = {
  /**
   * Minimum margin in ms, for delays that round trips do not show: clock drift and rounding to
   * milliseconds.
   */
  floorMs: 5,
  /** Margin in ms before the first measurement. */
  initialMs: 20,
  /** Maximum margin in ms. For larger delays the limiter tracks the arrival of each request (`rate-limiter.ts`). */
  mostMs: 250,
  /**
   * Time in ms that the first answer with 429 adds to the margin. Each further 429 doubles the
   * added time.
   */
  cautionStepMs: 25,
  /**
   * Number of answers of a class of requests that are needed before the fastest of them counts as not delayed. With
   * fewer answers, a path with 5 to 400 ms of latency would let a fifth request arrive within a second.
   */
  youngAnswers: 32,
} as const;

/**
 * Weight of one slow answer in the measured spread of delays, four times the weight of a fast
 * answer.
 */
const riseWeight = 1 / 8;
const fallWeight = 1 / 32;
/**
 * Factor by which each answer other than 429 reduces the time that answers with 429 have added to
 * the margin. Half of this time remains after 35 answers.
 */
const cautionDecay = 0.98;
/**
 * Period in ms after which the fastest recent answer is replaced, because network paths change. An
 * answer is remembered for one to two periods.
 */
const baselineWindowMs = 60_000;

/** Group of round trips that are compared with each other: requests of one class, or handshakes. */
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

  /** Part of the margin (allowance for network delay) in ms that comes from measured round trips. */
  get measuredMs(): number {
    return marginBounds.floorMs + this.#spreadMs;
  }

  /**
   * Part of the margin in ms that was added because of answers with 429, for delays that cannot be
   * measured.
   */
  get cautionMs(): number {
    return this.#cautionMs;
  }

  /**
   * Updates the margin with the round trip of one request. Returns the possible delay of the
   * request in ms, compared with the fastest request of its class, or of all classes if its class
   * has few answers.
   */
  learn(requestClass: RequestClass, roundTripMs: number, sentAtMs: number): number {
    const lateMs = this.lateness(requestClass, roundTripMs, sentAtMs);
    // The measured spread of delays is updated from the first answer on. Each answer is compared with the fastest answer of its class,
    // because the service's processing time is not a delay of the path.
    const spreadMs = roundTripMs - (this.quickestMs(requestClass) ?? 0);
    const difference = Math.min(marginBounds.mostMs, spreadMs) - this.#spreadMs;
    this.#spreadMs += difference * (difference > 0 ? riseWeight : fallWeight);
    this.#spreadMs = Math.min(this.#spreadMs, marginBounds.mostMs - marginBounds.floorMs);
    return lateMs;
  }

  /**
   * Stores a round trip, and returns by how many ms it exceeds the fastest recent round trip of its kind (a class of requests,
   * or handshakes).
   */
  lateness(kind: Kind, roundTripMs: number, sentAtMs: number): number {
    this.#renew(kind, roundTripMs, sentAtMs + roundTripMs);
    return this.latenessNow(kind, roundTripMs);
  }

  /**
   * Time in ms by which an earlier round trip exceeds the fastest one known now. The time grows
   * when the path becomes faster.
   */
  latenessNow(kind: Kind, roundTripMs: number): number {
    const baseline = this.#baselines.get(kind);
    if (!baseline) return roundTripMs;
    return (
      roundTripMs - (baseline.answers <= marginBounds.youngAnswers ? this.#quickestOfAllMs() : quickestMs(baseline))
    );
  }

  /** Fastest recent round trip of a kind of requests in ms; undefined before the first answer. */
  quickestMs(kind: Kind): number | undefined {
    const baseline = this.#baselines.get(kind);
    return baseline && quickestMs(baseline);
  }

  /** Records an answer with 429, which shows that the service has counted more requests in one second than this process expected. */
  refused(): void {
    this.#cautionMs = Math.min(marginBounds.mostMs, Math.max(marginBounds.cautionStepMs, 2 * this.#cautionMs));
  }

  /**
   * Records an answer other than 429, which reduces the margin that answers with 429 have added.
   */
  passed(): void {
    this.#cautionMs *= cautionDecay;
    if (this.#cautionMs < 0.5) this.#cautionMs = 0;
  }

  /** Compares a round trip with the fastest recent round trip of its kind, and keeps the faster of the two. */
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

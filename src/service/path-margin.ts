/**
 * How late requests come on their way, as far as round trips tell: how much longer than a second the fifth start has to wait after the
 * first of four (B1).
 *
 * Seen from the server, two requests are closer together than their starts by as much as the earlier one was later on its
 * way. Nobody tells us how late a request came; the round trip bounds it. Lateness is measured against the quickest answer
 * of the same class of late, so that work which always takes long does not count as a slow path. In a class that is young the
 * quickest answer may have been late itself: it is compared with the quickest of any class, and the first of all with nothing.
 *
 * Invariant: `floorMs ≤ currentMs ≤ mostMs`; `currentMs` rises within a few late answers and falls over hundreds of quick ones.
 * Leaves to `rate-window.ts`: what to do with it.
 */
import type { RequestClass } from './request-slot.ts';

export const marginBounds = {
  /** Never less, for what no round trip shows: clocks that tick apart, milliseconds that are cut off. */
  floorMs: 5,
  /** Before anything has been measured. */
  initialMs: 20,
  /** Never more. Beyond this it is known of each request by itself when it has arrived (`rate-window.ts`). */
  mostMs: 250,
  /** What the first 429 adds; each further one doubles what is there. */
  cautionStepMs: 25,
} as const;

/** Weight of one answer in the measured spread: a late one counts four times as much as a quick one. */
const riseWeight = 1 / 8;
const fallWeight = 1 / 32;
/** What an answer other than 429 leaves of the caution that a 429 brought: half is gone after 35. */
const cautionDecay = 0.98;
/** So many answers of a class, or of all, have to come before the quickest of them is taken for one that was not late. */
const youngAnswers = 8;
/** The quickest answer is forgotten after one to two of these, since paths change. */
const baselineWindowMs = 60_000;

/** What round trips are compared within: requests of one class, or handshakes. */
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

  /** How late a request is expected to come at most, in ms. */
  get currentMs(): number {
    return Math.min(marginBounds.mostMs, this.measuredMs + this.#cautionMs);
  }

  /** The part that round trips account for. */
  get measuredMs(): number {
    return marginBounds.floorMs + this.#spreadMs;
  }

  /** The part that answers of 429 brought: the server sees what we cannot measure. */
  get cautionMs(): number {
    return this.#cautionMs;
  }

  /**
   * Learns from a round trip. Returns how late the request may have come: later than the quickest of its class by that much, or
   * than the quickest of all where its class is young.
   */
  learn(requestClass: RequestClass, roundTripMs: number, sentAtMs: number): number {
    const lateMs = this.lateness(requestClass, roundTripMs, sentAtMs);
    // What is young says nothing of the path in general: its first answers may all have stood in one line.
    if ((this.#baselines.get(requestClass)?.answers ?? 0) <= youngAnswers) return lateMs;
    const difference = Math.min(marginBounds.mostMs, lateMs) - this.#spreadMs;
    this.#spreadMs += difference * (difference > 0 ? riseWeight : fallWeight);
    this.#spreadMs = Math.min(this.#spreadMs, marginBounds.mostMs - marginBounds.floorMs);
    return lateMs;
  }

  /** How much longer than the quickest of its kind a round trip took, which is remembered for the next. */
  lateness(kind: Kind, roundTripMs: number, sentAtMs: number): number {
    this.#renew(kind, roundTripMs, sentAtMs + roundTripMs);
    return this.latenessNow(kind, roundTripMs);
  }

  /** The same by what is known now: a path that has become quicker shows how late earlier round trips were. */
  latenessNow(kind: Kind, roundTripMs: number): number {
    const baseline = this.#baselines.get(kind);
    if (!baseline) return roundTripMs;
    return roundTripMs - (baseline.answers <= youngAnswers ? this.#quickestOfAllMs() : quickestMs(baseline));
  }

  /** The quickest round trip of a kind of late; undefined before the first. */
  quickestMs(kind: Kind): number | undefined {
    const baseline = this.#baselines.get(kind);
    return baseline && quickestMs(baseline);
  }

  /** The server counted more than we did. */
  refused(): void {
    this.#cautionMs = Math.min(marginBounds.mostMs, Math.max(marginBounds.cautionStepMs, 2 * this.#cautionMs));
  }

  /** The server let one pass. */
  passed(): void {
    this.#cautionMs *= cautionDecay;
    if (this.#cautionMs < 0.5) this.#cautionMs = 0;
  }

  /** Adds a round trip to what is known of the kind. */
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

  /** Zero for as long as hardly any answer has come. */
  #quickestOfAllMs(): number {
    const baselines = [...this.#baselines.values()];
    if (baselines.reduce((sum, { answers }) => sum + answers, 0) <= youngAnswers) return 0;
    return Math.min(...baselines.map(quickestMs));
  }
}

function quickestMs({ quickestMs, quickestBeforeMs }: Baseline): number {
  return Math.min(quickestMs, quickestBeforeMs);
}

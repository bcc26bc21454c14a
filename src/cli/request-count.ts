/**
 * How many requests the log service is sent, for the live view. They are counted when they start, as the budget counts them (protocol
 * B1), and read off the metric that has an observation of each start anyway.
 */
import type { Metrics } from '../base/metrics.ts';

const startsMetric = 'logfleet_service_budget_wait_seconds';

/** The same metrics; `onStart` hears of each request to the service right before it is sent. */
export function countingRequests(metrics: Metrics, onStart: () => void): Metrics {
  return {
    counter: (...args) => metrics.counter(...args),
    gauge: (...args) => metrics.gauge(...args),
    histogram: (name, ...args) => {
      const histogram = metrics.histogram(name, ...args);
      if (name !== startsMetric) return histogram;
      return {
        observe: (labels, value) => {
          histogram.observe(labels, value);
          onStart();
        },
      };
    },
  };
}

const longestSeconds = 5;

/**
 * Requests a second, over the last whole seconds. Over parts of seconds a burst would look like more than the limit, which holds
 * for any whole second and so for any number of them.
 */
export class RequestPace {
  #firstMs: number | undefined;
  /** Of the last `longestSeconds`. */
  readonly #startsMs: number[] = [];

  add(nowMs: number): void {
    this.#firstMs ??= nowMs;
    this.#startsMs.push(nowMs);
    this.#forget(nowMs);
  }

  /** Undefined before the first request. */
  perSecond(nowMs: number): number | undefined {
    if (this.#firstMs === undefined) return undefined;
    this.#forget(nowMs);
    const seconds = Math.min(longestSeconds, Math.max(1, Math.ceil((nowMs - this.#firstMs) / 1_000)));
    return this.#startsMs.filter((startMs) => startMs > nowMs - seconds * 1_000).length / seconds;
  }

  #forget(nowMs: number): void {
    const kept = this.#startsMs.findIndex((startMs) => startMs > nowMs - longestSeconds * 1_000);
    this.#startsMs.splice(0, kept === -1 ? this.#startsMs.length : kept);
  }
}

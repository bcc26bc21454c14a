/**
 * Counts the requests to the log service for the live view. A request counts at its start, as in the request budget (B1). The metric of the
 * budget has one observation for each start.
 */
import type { Metrics } from '../../base/metrics.ts';

const startsMetric = 'logfleet_service_budget_wait_seconds';

/** Returns the same metrics. They call `onStart` directly before each request to the service. */
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
 * Requests per second over the last whole seconds. The limit of the service holds for each whole second, so a burst in a shorter time would
 * look like a violation.
 */
export class RequestPace {
  #firstMs: number | undefined;
  /** Times of the requests in the last `longestSeconds`. */
  readonly #startsMs: number[] = [];

  add(nowMs: number): void {
    this.#firstMs ??= nowMs;
    this.#startsMs.push(nowMs);
    this.#forget(nowMs);
  }

  /** Undefined until the first request. */
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

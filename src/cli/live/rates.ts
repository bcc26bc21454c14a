/** Rates for live views: requests per second to the log service, and upgraded collectors per minute. */
import type { AnyResource } from '../../api/kinds.ts';
import type { Metrics } from '../../base/metrics.ts';

const startsMetric = 'logfleet_service_budget_wait_seconds';

/**
 * Returns the given metrics with one addition: `onStart` is called directly before each request to the log service. The addition observes
 * the metric of the request budget, which has one observation for each start of a request (B1).
 */
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
 * Measures the requests per second to the log service over the last whole seconds. The service limits the requests in each whole second. A
 * rate over a shorter time could look like a violation of this limit.
 */
export class RequestPace {
  #firstMs: number | undefined;
  /** Times at which the requests of the last `longestSeconds` started, in ms. */
  #startsMs: readonly number[] = [];

  add(nowMs: number): void {
    this.#firstMs ??= nowMs;
    this.#startsMs = [...this.#startsMs, nowMs].filter((startMs) => startMs > nowMs - longestSeconds * 1_000);
  }

  /** Returns the requests per second. Undefined before the first request. */
  perSecond(nowMs: number): number | undefined {
    if (this.#firstMs === undefined) return undefined;
    const seconds = Math.min(longestSeconds, Math.max(1, Math.ceil((nowMs - this.#firstMs) / 1_000)));
    return this.#startsMs.filter((startMs) => startMs > nowMs - seconds * 1_000).length / seconds;
  }
}

const periodMs = 60_000;

/** Measures how many collectors of a policy reach their target per minute, over the last minute. */
export class UpdatePace {
  /**
   * Samples of the number of upgraded collectors, oldest first. The first sample may be older than a minute, as the start of the measured
   * time.
   */
  readonly #samples: { readonly atMs: number; readonly total: number }[] = [];

  /** Adds a sample: the number of collectors of this policy that run the target. Does nothing for a resource without this number. */
  add(atMs: number, resource: AnyResource): void {
    const total = resource.kind === 'CollectorVersionPolicy' ? resource.status?.collectors?.updated : undefined;
    if (total !== undefined && this.#samples.at(-1)?.total !== total) this.#samples.push({ atMs, total });
  }

  /** Returns the upgraded collectors per minute, at least 0. Undefined until the samples cover one second. */
  perMinute(nowMs: number): number | undefined {
    while (this.#samples[1] && this.#samples[1].atMs <= nowMs - periodMs) this.#samples.shift();
    const [first] = this.#samples;
    const last = this.#samples.at(-1);
    if (!first || !last || nowMs - first.atMs < 1_000) return undefined;
    const perMs = (last.total - first.total) / Math.min(periodMs, nowMs - first.atMs);
    return Math.max(0, Math.round(perMs * 60_000));
  }
}

/** Rates for live views: requests to the service per second, and upgraded collectors per minute. */
import type { AnyResource } from '../../api/kinds.ts';
import type { Metrics } from '../../base/metrics.ts';

const startsMetric = 'logfleet_service_budget_wait_seconds';

/**
 * Returns the given metrics with one addition: `onStart` is called directly before each request to the log service. A
 * request counts when it starts, as in the request budget (B1), whose metric has one observation for each start.
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
 * Measures requests per second to the log service over the last whole seconds. The limit of the service holds for each
 * whole second, so a burst in a shorter time would look like a violation.
 */
export class RequestPace {
  #firstMs: number | undefined;
  /** Start times of the requests in the last `longestSeconds`, in ms. */
  #startsMs: readonly number[] = [];

  add(nowMs: number): void {
    this.#firstMs ??= nowMs;
    this.#startsMs = [...this.#startsMs, nowMs].filter((startMs) => startMs > nowMs - longestSeconds * 1_000);
  }

  /** Requests per second. Undefined until the first request. */
  perSecond(nowMs: number): number | undefined {
    if (this.#firstMs === undefined) return undefined;
    const seconds = Math.min(longestSeconds, Math.max(1, Math.ceil((nowMs - this.#firstMs) / 1_000)));
    return this.#startsMs.filter((startMs) => startMs > nowMs - seconds * 1_000).length / seconds;
  }
}

const periodMs = 60_000;

/** Collectors of a policy that reach their target per minute, over the last minute. */
export class UpdatePace {
  /**
   * Samples of the number of updated collectors, oldest first. The first sample is the last one before the measured
   * minute, if there is one.
   */
  readonly #samples: { readonly atMs: number; readonly total: number }[] = [];

  /**
   * Adds a sample: the number of collectors at the target of this policy. Does nothing for a resource without such a
   * number.
   */
  add(atMs: number, resource: AnyResource): void {
    const total = resource.kind === 'CollectorVersionPolicy' ? resource.status?.collectors?.updated : undefined;
    if (total !== undefined && this.#samples.at(-1)?.total !== total) this.#samples.push({ atMs, total });
  }

  /** Updated collectors per minute, at least 0. Undefined until the samples cover one second. */
  perMinute(nowMs: number): number | undefined {
    while (this.#samples[1] && this.#samples[1].atMs <= nowMs - periodMs) this.#samples.shift();
    const [first] = this.#samples;
    const last = this.#samples.at(-1);
    if (!first || !last || nowMs - first.atMs < 1_000) return undefined;
    const perMs = (last.total - first.total) / Math.min(periodMs, nowMs - first.atMs);
    return Math.max(0, Math.round(perMs * 60_000));
  }
}

/** Rates for live views: requests to the service per second, and upgraded collectors per minute. */
import type { AnyResource } from '../../api/kinds.ts';
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

const windowMs = 60_000;

/** Number of updated collectors. Undefined if the resource has no such number. */
export function updatedOf(resource: AnyResource): number | undefined {
  return resource.kind === 'CollectorVersionPolicy' ? resource.status?.collectors?.updated : undefined;
}

export class UpdatePace {
  /** Oldest sample first. The first sample is the last one before the period, if there is one. */
  readonly #samples: { readonly atMs: number; readonly total: number }[] = [];

  /** @param total number of collectors at the target */
  add(atMs: number, total: number): void {
    if (this.#samples.at(-1)?.total !== total) this.#samples.push({ atMs, total });
    this.#forget(atMs);
  }

  /** Collectors per minute, at least 0. Undefined until one second of samples is known. */
  perMinute(nowMs: number): number | undefined {
    this.#forget(nowMs);
    const [first] = this.#samples;
    const last = this.#samples.at(-1);
    if (!first || !last || nowMs - first.atMs < 1_000) return undefined;
    const perMs = (last.total - first.total) / Math.min(windowMs, nowMs - first.atMs);
    return Math.max(0, Math.round(perMs * 60_000));
  }

  #forget(nowMs: number): void {
    while (this.#samples[1] && this.#samples[1].atMs <= nowMs - windowMs) this.#samples.shift();
  }
}

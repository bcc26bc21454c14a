/** Measures the rates that are shown in live views: requests per second, and upgraded collectors per minute. */
import type { AnyResource } from '../../api/kinds.ts';
import type { Metrics } from '../../base/metrics.ts';

const startsMetric = 'logfleet_service_budget_wait_seconds';

/** Wraps metrics so that `onStart` is called right before each request to the log service (B1). */
export function countingRequests(metrics: Metrics, onStart: () => void): Metrics {
  return {
    counter: (...args) => metrics.counter(...args),
    gauge: (...args) => metrics.gauge(...args),
    observedGauge: (...args) => metrics.observedGauge(...args),
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

/** Measures requests per second over whole seconds. A shorter period could show a rate above the service's limit. */
export class RequestRateMeter {
  #firstMs: number | undefined;
  /** Start times, in ms, of all requests in the last `longestSeconds` seconds. */
  #startsMs: readonly number[] = [];

  add(nowMs: number): void {
    this.#firstMs ??= nowMs;
    this.#startsMs = [...this.#startsMs, nowMs].filter((startMs) => startMs > nowMs - longestSeconds * 1_000);
  }

  /** Returns the number of requests per second, or undefined until the first request is sent. */
  perSecond(nowMs: number): number | undefined {
    if (this.#firstMs === undefined) return undefined;
    const seconds = Math.min(longestSeconds, Math.max(1, Math.ceil((nowMs - this.#firstMs) / 1_000)));
    return this.#startsMs.filter((startMs) => startMs > nowMs - seconds * 1_000).length / seconds;
  }
}

const periodMs = 60_000;

/** Measures how many of a policy's collectors reached their target in the last minute. */
export class UpdatePace {
  /**
   * Number of upgraded collectors after each change in the last minute, with the time of the change. The list begins
   * with the latest change before that minute, if there is one.
   */
  readonly #samples: { readonly atMs: number; readonly total: number }[] = [];

  /** Records the current number of upgraded collectors. Does nothing if the status does not contain this number yet. */
  add(atMs: number, resource: AnyResource): void {
    const total = resource.kind === 'CollectorVersionPolicy' ? resource.status?.collectors?.updated : undefined;
    if (total !== undefined && this.#samples.at(-1)?.total !== total) this.#samples.push({ atMs, total });
  }

  /**
   * Returns the number of upgraded collectors per minute. Returns undefined in the first second, because such a short
   * period gives no useful rate.
   */
  perMinute(nowMs: number): number | undefined {
    while (this.#samples[1] && this.#samples[1].atMs <= nowMs - periodMs) this.#samples.shift();
    const [first] = this.#samples;
    const last = this.#samples.at(-1);
    if (!first || !last || nowMs - first.atMs < 1_000) return undefined;
    const perMs = (last.total - first.total) / Math.min(periodMs, nowMs - first.atMs);
    return Math.max(0, Math.round(perMs * 60_000));
  }
}

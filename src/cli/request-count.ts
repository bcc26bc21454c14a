/** How many requests the log service has been sent, read off the metric that counts them anyway, for the live view. */
import type { Metrics } from '../base/metrics.ts';

const requestsMetric = 'logfleet_service_requests_total';

/** The same metrics; `onTotal` hears of each request to the service with the number of all so far. */
export function countingRequests(metrics: Metrics, onTotal: (total: number) => void): Metrics {
  let total = 0;
  return {
    gauge: (...args) => metrics.gauge(...args),
    histogram: (...args) => metrics.histogram(...args),
    counter: (name, help, labelNames) => {
      const counter = metrics.counter(name, help, labelNames);
      if (name !== requestsMetric) return counter;
      return {
        add: (labels, amount = 1) => {
          total += amount;
          counter.add(labels, amount);
          onTotal(total);
        },
      };
    },
  };
}

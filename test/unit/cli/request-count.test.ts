import { expect, it } from 'vitest';
import { PrometheusMetrics } from '../../../src/base/prometheus-metrics.ts';
import { countingRequests } from '../../../src/cli/request-count.ts';

it('tells the number of requests to the service, over all operations, and counts everything as before', async () => {
  const metrics = new PrometheusMetrics();
  const totals: number[] = [];
  const counting = countingRequests(metrics, (total) => totals.push(total));
  const requests = counting.counter('logfleet_service_requests_total', 'Requests.', ['operation']);
  requests.add({ operation: 'listBuilds' });
  requests.add({ operation: 'createTask' }, 2);
  counting.counter('logfleet_other_total', 'Others.', []).add({});
  expect(totals).toEqual([1, 3]);
  expect(await metrics.render()).toContain('logfleet_service_requests_total{operation="createTask"} 2');
  expect(await metrics.render()).toContain('logfleet_other_total 1');
});

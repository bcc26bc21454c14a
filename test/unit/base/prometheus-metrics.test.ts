import { describe, expect, test } from 'vitest';
import { PrometheusMetrics } from '../../../src/base/prometheus-metrics.ts';

describe('Prometheus metrics', () => {
  test('counters, gauges and histograms appear in the output', async () => {
    const metrics = new PrometheusMetrics();
    const counter = metrics.counter('requests_total', 'Requests.', ['outcome']);
    counter.add({ outcome: 'ok' });
    counter.add({ outcome: 'ok' }, 2);
    metrics.gauge('depth', 'Depth.', ['queue']).set({ queue: 'a' }, 7);
    metrics.histogram('wait_seconds', 'Wait.', ['queue'], [1, 2]).observe({ queue: 'a' }, 1.5);
    const lines = (await metrics.render()).split('\n');
    expect(lines).toContain('requests_total{outcome="ok"} 3');
    expect(lines).toContain('depth{queue="a"} 7');
    expect(lines).toContain('wait_seconds_bucket{le="1",queue="a"} 0');
    expect(lines).toContain('wait_seconds_bucket{le="2",queue="a"} 1');
    expect(metrics.contentType).toContain('text/plain');
  });

  test('a repeated registration returns the same metric', async () => {
    const metrics = new PrometheusMetrics();
    for (const controller of ['a', 'b']) metrics.counter('runs_total', 'Runs.', ['controller']).add({ controller });
    expect((await metrics.render()).match(/runs_total\{/g)?.length).toBe(2);
    expect(() => metrics.gauge('runs_total', 'Runs.', [])).toThrow(/two different metric types/);
  });

  test('an observed gauge is read at each scrape, and its readers add to the same series', async () => {
    const metrics = new PrometheusMetrics();
    let waiting: readonly string[] = ['a', 'b'];
    const read = () => waiting.map((queue) => [{ queue }, 2] as const);
    metrics.observedGauge('waiting', 'Waiting.', ['queue'], read);
    metrics.observedGauge('waiting', 'Waiting.', ['queue'], () => [[{ queue: 'a' }, 1]]);
    const series = async () => (await metrics.render()).split('\n').filter((line) => line.startsWith('waiting{'));
    expect(await series()).toEqual(['waiting{queue="a"} 3', 'waiting{queue="b"} 2']);
    waiting = [];
    expect(await series()).toEqual(['waiting{queue="a"} 1']);
  });

  test('two operators in one process have separate registries', async () => {
    new PrometheusMetrics().counter('mine_total', 'Mine.', []).add({});
    expect(await new PrometheusMetrics().render()).not.toContain('mine_total');
  });

  test('metrics of the process are optional', async () => {
    const metrics = new PrometheusMetrics();
    metrics.collectProcessMetrics();
    expect(await metrics.render()).toContain('process_resident_memory_bytes');
  });
});

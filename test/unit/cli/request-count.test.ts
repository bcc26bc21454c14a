import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { noMetrics } from '../../../src/base/metrics.ts';
import { PrometheusMetrics } from '../../../src/base/prometheus-metrics.ts';
import { countingRequests, RequestRateMeter } from '../../../src/cli/live/rates.ts';
import { RequestBudget } from '../../../src/service/budget/request-budget.ts';
import { everlastingRight } from '../../support/send-rights.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';

describe('countingRequests', () => {
  it('reports each request at its start, and keeps all metrics', async () => {
    const metrics = new PrometheusMetrics();
    let started = 0;
    const counting = countingRequests(metrics, () => started++);
    const clock = new VirtualClock();
    const key = new RequestBudget({ right: everlastingRight, clock, metrics: counting }).key('id');
    const start = async () => {
      const slot = await key.acquire({ class: 'listing' });
      slot.started();
      slot.heard(clock.monotonic());
    };
    for (let request = 0; request < 6; request++) void start();
    await clock.advance(1);
    expect(started).toBe(4);
    await clock.advance(5_000);
    expect(started).toBe(6);
    counting.counter('logfleet_other_total', 'Others.', []).add({});
    expect(await metrics.render()).toContain('logfleet_service_budget_wait_seconds_count{class="listing"} 6');
    expect(await metrics.render()).toContain('logfleet_other_total 1');
  });

  it('keeps other metrics', () => {
    let started = 0;
    countingRequests(noMetrics, () => started++)
      .histogram('logfleet_other_seconds', 'Others.', [], [1])
      .observe({}, 1);
    expect(started).toBe(0);
  });
});

describe('RequestPace', () => {
  it('is undefined before the first request, then counts whole seconds', () => {
    const pace = new RequestRateMeter();
    expect(pace.perSecond(0)).toBeUndefined();
    for (const atMs of [0, 1, 2, 3, 1_010, 1_011]) pace.add(atMs);
    expect(pace.perSecond(1_011)).toBe(3);
    expect(pace.perSecond(2_500)).toBe(2);
    expect(pace.perSecond(4_999)).toBe(6 / 5);
    expect(pace.perSecond(60_000)).toBe(0);
  });

  it('B1: never shows more than four if no second has more', () => {
    const gaps = fc.array(fc.double({ min: 1_000.001, max: 1_500, noNaN: true }), { minLength: 1, maxLength: 30 });
    fc.assert(
      fc.property(gaps, fc.double({ min: 0, max: 9_000, noNaN: true }), (gapsMs, checkIntervalMs) => {
        const pace = new RequestRateMeter();
        let atMs = 0;
        for (const gapMs of gapsMs) {
          for (let request = 0; request < 4; request++) pace.add(atMs);
          expect(pace.perSecond(atMs)).toBeLessThanOrEqual(4);
          atMs += gapMs;
        }
        expect(pace.perSecond(atMs + checkIntervalMs)).toBeLessThanOrEqual(4);
      }),
    );
  });
});

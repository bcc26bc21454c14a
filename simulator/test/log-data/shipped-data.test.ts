/** Tests messages sent by collectors, and their rates over time. */
import { describe, expect, test } from 'vitest';
import { dayMs, minuteMs } from '../../../src/base/time-units.ts';
import { shippedData } from '../../log-data/shipped/shipped-data.ts';
import { Stream } from '../../log-data/shipped/streams.ts';
import { describeLogData } from './conformance.ts';
import { everything } from './plain-search.ts';

const startMs = Date.UTC(2026, 0, 1);

function streamOf(index: number, perMinute: number, dailyRhythm = 0): Stream {
  const shipper = {
    collectorId: String(100_000_001 + index),
    collector: `web-${index}`,
    host: `web-${index}.example.internal`,
    category: index % 2 === 0 ? 'prod/web' : 'dev/web',
  };
  const stream = new Stream(index, shipper, 7);
  stream.record({ perMinute, dailyRhythm }, startMs);
  return stream;
}

const changing = streamOf(3, 40);
changing.record({ perMinute: 0, dailyRhythm: 0 }, startMs + 5 * minuteMs + 123);
changing.record({ perMinute: 90, dailyRhythm: 0.5 }, startMs + 11 * minuteMs);
describeLogData('messages that collectors ship', {
  data: shippedData({
    streams: [streamOf(0, 30), streamOf(1, 0.5), streamOf(2, 12), changing],
    startMs,
    receivedBeforeMs: startMs + 20 * minuteMs,
    seed: 1,
  }),
  fromMs: startMs,
  toMs: startMs + 21 * minuteMs,
});

describe('the rate of a collector', () => {
  test('is correct on average, even when less than one message falls into a slot', () => {
    expect(streamOf(0, 100).count(startMs, startMs + 30 * minuteMs)).toBeCloseTo(3_000, -1);
    const slow = streamOf(1, 0.01).count(startMs, startMs + 30 * dayMs);
    expect(slow / (30 * 24 * 60 * 0.01)).toBeCloseTo(1, 0.5);
  });

  test('produces as many times as messages counted, in any part of the time range', () => {
    const stream = streamOf(5, 37, 0.3);
    const edges = [0, 1, 59_999, 60_000, 900_000, 1_234_567, 5_400_000].map((offsetMs) => startMs + offsetMs);
    let total = 0;
    for (const [place, fromMs] of edges.slice(0, -1).entries()) {
      const toMs = edges[place + 1] as number;
      const times = [...stream.times(fromMs, toMs)];
      expect(times).toHaveLength(stream.count(fromMs, toMs));
      expect(times.every((timeMs) => timeMs >= fromMs && timeMs < toMs)).toBe(true);
      expect(times).toEqual(times.toSorted((left, right) => left - right));
      total += times.length;
    }
    expect(total).toBe(stream.count(edges[0] as number, edges.at(-1) as number));
  });

  test('rises until 14:00 UTC and falls until 02:00 UTC', () => {
    const stream = streamOf(5, 100, 0.6);
    const hour = (at: number) => stream.count(startMs + at * 60 * minuteMs, startMs + (at + 1) * 60 * minuteMs);
    expect(hour(13) / 6_000).toBeCloseTo(1.6, 1);
    expect(hour(1) / 6_000).toBeCloseTo(0.4, 1);
    expect(stream.count(startMs, startMs + dayMs) / (24 * 6_000)).toBeCloseTo(1, 2);
  });
});

test('counts the messages of 100,000 collectors without creating them', () => {
  const streams = Array.from({ length: 100_000 }, (_, index) => streamOf(index, 100));
  const data = shippedData({ streams, startMs, receivedBeforeMs: startMs + dayMs, seed: 1 });
  const search = data.search({ fromMs: startMs, toMs: startMs + 60 * minuteMs, byReceiptTime: false }, everything);
  const counts = new Map<string, number>();
  search.advance(startMs, Number.POSITIVE_INFINITY, {
    reads: new Set(['_collectorid']),
    each: (row, times) => void counts.set(String(row.field('_collectorid')), times),
  });
  expect(counts.size).toBe(100_000);
  expect(Math.abs(search.found / (100_000 * 6_000) - 1)).toBeLessThan(0.01);
});

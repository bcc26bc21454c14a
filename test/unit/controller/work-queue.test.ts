import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { noMetrics } from '../../../src/base/metrics.ts';
import { seededRandom } from '../../../src/base/random.ts';
import { WorkQueue } from '../../../src/controller/work-queue.ts';
import { CountingMetrics } from '../../support/counting-metrics.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';

function setUp() {
  const clock = new VirtualClock();
  const metrics = new CountingMetrics();
  let announced = 0;
  const queue = new WorkQueue({
    name: 'test',
    clock,
    random: { next: () => 0 },
    metrics,
    onReady: () => {
      announced++;
    },
  });
  return { clock, metrics, queue, announced: () => announced };
}

describe('a work queue', () => {
  test('returns keys in the order in which they were added', () => {
    const { queue } = setUp();
    for (const key of ['b', 'a', 'c']) queue.add(key);
    expect([queue.take(), queue.take(), queue.take(), queue.take()]).toEqual(['b', 'a', 'c', undefined]);
  });

  test('alternates between keys with work in progress and all others', () => {
    const { queue } = setUp();
    for (const key of ['a', 'b', 'c']) queue.add(key);
    for (const key of ['x', 'y', 'z', 'w', 'v']) queue.add(key, true);
    const taken = Array.from({ length: 9 }, () => queue.take());
    expect(taken).toEqual(['x', 'a', 'y', 'b', 'z', 'c', 'w', 'v', undefined]);
  });

  test('a key that is added again without work in progress waits with all others', () => {
    const { queue } = setUp();
    queue.add('a', true);
    queue.done(queue.take() ?? '');
    for (const key of ['b', 'c', 'a']) queue.add(key);
    expect([queue.take(), queue.take(), queue.take()]).toEqual(['b', 'c', 'a']);
  });

  test('coalesces a key that was added several times', () => {
    const { queue } = setUp();
    queue.add('a');
    queue.add('a');
    expect([queue.take(), queue.take()]).toEqual(['a', undefined]);
  });

  test('holds a key back while it is processed and returns it again afterwards', () => {
    const { queue, announced } = setUp();
    queue.add('a');
    queue.take();
    queue.add('a');
    queue.add('a');
    expect(queue.take()).toBeUndefined();
    expect(announced()).toBe(1);
    queue.done('a');
    expect(announced()).toBe(2);
    expect([queue.take(), queue.take()]).toEqual(['a', undefined]);
  });

  test('removes a processed key that was not added again', () => {
    const { queue } = setUp();
    queue.add('a');
    queue.take();
    queue.done('a');
    expect(queue.take()).toBeUndefined();
    expect(queue.idle()).toBe(true);
    expect(queue.size()).toBe(0);
  });

  test('adds a delayed key at its time, not before', async () => {
    const { queue, clock } = setUp();
    queue.addAfter('a', 1_000);
    await clock.advance(999);
    expect(queue.take()).toBeUndefined();
    await clock.advance(1);
    expect(queue.take()).toBe('a');
  });

  test('a delay ends within a minute after the wall clock was set forward', async () => {
    const { queue, clock } = setUp();
    queue.addAfter('a', 3_600_000);
    clock.skewMs = 3_600_000;
    await clock.advance(60_000);
    expect(queue.take()).toBe('a');
  });

  test('a delay stays the same if the wall clock is set back', async () => {
    const { queue, clock } = setUp();
    queue.addAfter('a', 3_600_000);
    clock.skewMs = -3_600_000;
    await clock.advance(3_599_999);
    expect(queue.take()).toBeUndefined();
    await clock.advance(1);
    expect(queue.take()).toBe('a');
  });

  test('a delay of zero adds the key immediately', () => {
    const { queue } = setUp();
    queue.addAfter('a', 0);
    expect(queue.take()).toBe('a');
  });

  test('the shortest of several delays counts, in any order', async () => {
    const { queue, clock } = setUp();
    queue.addAfter('late first', 1_000);
    queue.addAfter('late first', 100);
    queue.addAfter('early first', 100);
    queue.addAfter('early first', 1_000);
    await clock.advance(100);
    expect([queue.take(), queue.take()]).toEqual(['late first', 'early first']);
    queue.done('late first');
    queue.done('early first');
    await clock.advance(10_000);
    expect(queue.take()).toBeUndefined();
  });

  test('taking a key drops its delay, and a delay set while it is processed stays', async () => {
    const { queue, clock } = setUp();
    queue.addAfter('a', 1_000);
    queue.add('a');
    queue.take();
    queue.addAfter('a', 5_000);
    queue.done('a');
    await clock.advance(1_000);
    expect(queue.take()).toBeUndefined();
    await clock.advance(4_000);
    expect(queue.take()).toBe('a');
  });

  test('backs off exponentially up to its limit, until a reset', () => {
    const { queue } = setUp();
    const delays = () => Array.from({ length: 12 }, () => queue.addBackoff('a') / 1_000);
    expect(delays()).toEqual([0.5, 1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]);
    queue.forget('a');
    expect(delays().slice(0, 2)).toEqual([0.5, 1]);
    expect(queue.addBackoff('b')).toBe(500);
  });

  test('backs off longer than requested if failures are repeated', () => {
    const { queue } = setUp();
    expect([2_000, 2_000, 2_000, 2_000].map((atLeastMs) => queue.addBackoff('a', atLeastMs))).toEqual([
      2_000, 2_000, 2_000, 4_000,
    ]);
  });

  test('jitter shortens a back-off by up to half', () => {
    const random = seededRandom(7);
    const queue = new WorkQueue({
      name: 'test',
      clock: new VirtualClock(),
      random,
      metrics: noMetrics,
      onReady: () => {},
    });
    const delays = Array.from({ length: 200 }, (_, index) => queue.addBackoff(`${index}`));
    expect(Math.min(...delays)).toBeGreaterThanOrEqual(250);
    expect(Math.max(...delays)).toBeLessThanOrEqual(500);
    expect(new Set(delays).size).toBeGreaterThan(100);
  });

  test('many failures stay at the maximum delay', () => {
    const { queue } = setUp();
    for (let failure = 0; failure < 5_000; failure++) queue.addBackoff('a');
    expect(queue.addBackoff('a')).toBe(300_000);
  });

  test('counts additions, depth and waits of keys', async () => {
    const { queue, clock, metrics } = setUp();
    queue.add('a');
    queue.add('a');
    queue.add('b');
    await clock.advance(2_000);
    expect(metrics.observed().get('logfleet_queue_depth{test}')).toBe(2);
    queue.take();
    expect(metrics.observed().get('logfleet_queue_depth{test}')).toBe(1);
    expect(metrics.values.get('logfleet_queue_adds_total{test}')).toBe(2);
    expect(metrics.observations.get('logfleet_queue_latency_seconds{test}')).toEqual([2]);
  });

  test('a closed queue returns nothing and keeps no timer', () => {
    const { queue, clock } = setUp();
    queue.add('a');
    queue.take();
    queue.add('a');
    queue.add('b');
    queue.addAfter('c', 1_000);
    queue.close();
    queue.done('a');
    queue.add('d');
    queue.addAfter('e', 1);
    expect(queue.take()).toBeUndefined();
    expect(clock.next()).toBeUndefined();
    expect(queue.size()).toBe(0);
  });

  test('any operations: keys are exclusive, none is lost, and the queue ends empty', () => {
    const key = fc.constantFrom('a', 'b', 'c');
    const step = fc.oneof(
      fc.record({ do: fc.constant('add' as const), key }),
      fc.record({ do: fc.constant('take' as const), key }),
      fc.record({ do: fc.constant('done' as const), key }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const { queue } = setUp();
        const processing = new Set<string>();
        const wanted = new Set<string>();
        const take = () => {
          const taken = queue.take();
          if (taken === undefined) return false;
          expect(processing.has(taken)).toBe(false);
          expect(wanted.delete(taken)).toBe(true);
          processing.add(taken);
          return true;
        };
        for (const next of steps) {
          if (next.do === 'add') {
            queue.add(next.key);
            wanted.add(next.key);
          } else if (next.do === 'take') take();
          else if (processing.delete(next.key)) queue.done(next.key);
        }
        for (const rest of processing) queue.done(rest);
        processing.clear();
        while (take());
        expect(wanted).toEqual(new Set());
        for (const rest of processing) queue.done(rest);
        expect(queue.size()).toBe(0);
      }),
    );
  });
});

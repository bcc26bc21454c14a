import { describe, expect, test } from 'vitest';
import {
  type HeldShare,
  limitsWithout,
  operatorMinimum,
  type RequestLimits,
  type ShareSize,
  shareSize,
  startedShares,
  WorkerShares,
} from '../../../src/account/worker-shares.ts';
import { seededRandom } from '../../../src/base/random.ts';
import { RequestBudget } from '../../../src/service/budget/request-budget.ts';
import { everlastingRight } from '../../support/send-rights.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';
import { Wire } from '../service/budget/wire.ts';
import { shareHistory } from './share-history.ts';

const whole: RequestLimits = { requestsPerSecond: 4, maxConcurrentRequests: 10 };

describe('the size of a share', () => {
  test.each([
    [4, 10, 3, 1, 2],
    [4, 6, 2, 1, 2],
    [4, 5, 1, 3, 3],
    [2.5, 8, 1, 1, 6],
  ])(
    'of %d requests per second and %d concurrent requests is for %d workers',
    (rate, concurrent, workers, eachRate, eachConcurrent) => {
      const size = shareSize({ requestsPerSecond: rate, maxConcurrentRequests: concurrent });
      expect(size).toEqual({
        workers,
        share: { requestsPerSecond: eachRate, maxConcurrentRequests: eachConcurrent },
      });
    },
  );

  test.each([
    [1.9, 10],
    [0.5, 10],
    [4, 3],
  ])(
    'is too small for any worker with %d requests per second and %d concurrent requests',
    (requestsPerSecond, maxConcurrentRequests) => {
      expect(shareSize({ requestsPerSecond, maxConcurrentRequests })).toBeUndefined();
    },
  );
});

test.each([
  [4, 10],
  [4, 6],
  [3, 10],
  [2.5, 10],
])(
  'B8: workers and operator together send at most %d requests in any second, with %d concurrent requests',
  async (requestsPerSecond, maxConcurrentRequests) => {
    const limits = { requestsPerSecond, maxConcurrentRequests };
    const { workers, share } = shareSize(limits) as ShareSize;
    const operator = limitsWithout(limits, [{ user: 'u', workers, share }]);
    const clock = new VirtualClock();
    const wire = new Wire(clock);
    for (const { requestsPerSecond: rate } of [operator, ...Array<RequestLimits>(workers).fill(share)]) {
      const budget = new RequestBudget({ clock, right: everlastingRight });
      budget.setRequestsPerSecond(rate);
      for (let count = 0; count < 20; count++) void wire.call('id', budget.key('id'), 'listing');
    }
    await clock.advance(60_000);
    expect(wire.seen).toHaveLength(20 * (workers + 1));
    expect(wire.maxArrivals()).toBe(Math.floor(requestsPerSecond));
  },
);

describe('B8: shares in use', () => {
  const wanted: HeldShare = { user: 'u', workers: 1, share: { requestsPerSecond: 1, maxConcurrentRequests: 2 } };
  const reserve = (shares: WorkerShares, ...jobs: readonly string[]) =>
    jobs.map((job) => shares.reserve(job, job, wanted, whole)?.workers);

  test('are at most three, and leave the operator its minimum', () => {
    const shares = new WorkerShares();
    expect(reserve(shares, 'a', 'b', 'c', 'd')).toEqual([1, 1, 1, undefined]);
    expect(limitsWithout(whole, shares.of('u'))).toEqual({ ...operatorMinimum, maxConcurrentRequests: 4 });
    expect(limitsWithout(whole, shares.of('other'))).toEqual(whole);
  });

  test('are limited to the free shares, and the reservation of a Job stays the same', () => {
    const shares = new WorkerShares();
    const reserveMany = (job: string, workers: number) => shares.reserve(job, job, { ...wanted, workers }, whole);
    expect(['a', 'b', 'c'].map((job) => reserveMany(job, 2)?.workers)).toEqual([2, 1, undefined]);
    shares.cancel('a');
    expect(reserveMany('b', 2)).toEqual({ ...wanted, workers: 1 });
  });

  test('of a deleted Job are not reserved again while its pods may run', () => {
    const shares = new WorkerShares();
    reserve(shares, 'a');
    shares.observe([{ job: 'a', exportUid: 'a', held: wanted, hasEnded: false }], 0);
    shares.observe([], 1_000);
    expect(reserve(shares, 'a')).toEqual([undefined]);
    shares.observe([], 61_000);
    expect(reserve(shares, 'a')).toEqual([1]);
  });

  test('are free immediately when the pods of a Job have ended, and a minute after a Job is gone', () => {
    const shares = new WorkerShares();
    reserve(shares, 'a', 'b');
    shares.observe(
      ['a', 'b'].map((job) => ({ job, exportUid: job, held: wanted, hasEnded: false })),
      0,
    );
    expect(shares.observe([{ job: 'a', exportUid: 'a', held: wanted, hasEnded: true }], 1_000)).toEqual({
      isFreed: true,
      nextMs: 60_000,
    });
    expect(shares.get('a')).toBeUndefined();
    expect(shares.get('b')).toMatchObject(wanted);
    expect(shares.observe([{ job: 'a', exportUid: 'a', held: wanted, hasEnded: true }], 60_999)).toEqual({
      isFreed: false,
      nextMs: 1,
    });
    expect(shares.of('u')).toHaveLength(1);
    shares.observe([], 61_000);
    expect(shares.of('u')).toEqual([]);
  });

  test('lower the request rate only once their Jobs may exist', () => {
    const shares = new WorkerShares();
    reserve(shares, 'a', 'b', 'c');
    expect(startedShares(shares.byUser().get('u'))).toHaveLength(0);
    shares.start('a');
    shares.observe([{ job: 'b', exportUid: 'b', held: wanted, hasEnded: false }], 0);
    expect(startedShares(shares.byUser().get('u'))).toHaveLength(2);
    expect(shares.of('u')).toHaveLength(3);
  });

  test('are returned if the Job was not created, and kept once it was observed', () => {
    const shares = new WorkerShares();
    reserve(shares, 'a', 'b');
    shares.observe([{ job: 'b', exportUid: 'b', held: wanted, hasEnded: false }], 0);
    shares.cancel('a');
    shares.cancel('b');
    expect(shares.get('a')).toBeUndefined();
    expect(shares.get('b')).toMatchObject(wanted);
  });

  test('stay reserved until the Job is created, however long that takes', () => {
    const shares = new WorkerShares();
    reserve(shares, 'a');
    for (const nowMs of [0, 120_000, 240_000]) shares.observe([], nowMs);
    expect(shares.get('a')).toMatchObject(wanted);
  });

  test('a Secret with smaller limits leaves the operator a positive rate', () => {
    const shares = new WorkerShares();
    reserve(shares, 'a', 'b', 'c');
    const small = { requestsPerSecond: 0.5, maxConcurrentRequests: 1 };
    expect(limitsWithout(small, shares.of('u'))).toEqual(small);
    expect(reserve(shares, 'e')).toEqual([undefined]);
  });

  test('never exceed the limits of the user in 300 random histories', () => {
    let max = 0;
    for (let seed = 1; seed <= 300; seed++) max = Math.max(max, shareHistory(seededRandom(seed)).maxWorkers);
    expect(max).toBe(3);
  });
});

/** Tests the request limits (section 8 of docs/service.md). */
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { LimitScenario, Scenario } from '../scenario/scenario.ts';
import { SimulatedService, threeCollectors } from './simulated-service.ts';

const users = { ann: { keys: { a1: 'k', a2: 'k' } }, bob: { keys: { b1: 'k' } } };
const limited = (limits: LimitScenario = {}): Scenario => ({ ...threeCollectors, users, limits });

describe('the limit of 4 requests in any second', () => {
  const statuses = (service: SimulatedService, timesMs: readonly number[], credentials = 'a1:k') =>
    timesMs.map((elapsedMs) => {
      service.elapsedMs = elapsedMs;
      return service.call('GET', 'targets', { credentials }).status;
    });

  const cases: readonly [string, readonly number[], readonly number[]][] = [
    ['admits four requests at once', [0, 0, 0, 0], [200, 200, 200, 200]],
    ['refuses the fifth request in a second', [0, 0, 0, 0, 999], [200, 200, 200, 200, 429]],
    ['admits a fifth request one second after the first', [0, 0, 0, 0, 1_000], [200, 200, 200, 200, 200]],
    [
      'applies to every second, not only to whole ones',
      [0, 400, 600, 900, 999, 1_000, 1_001],
      [200, 200, 200, 200, 429, 200, 429],
    ],
    ['does not count refused requests', [0, 0, 0, 0, 500, 500, 1_000], [200, 200, 200, 200, 429, 429, 200]],
  ];
  test.each(cases)('%s', (_, times, expected) => {
    expect(statuses(new SimulatedService(limited()), times)).toEqual(expected);
  });

  test('counts refused requests if the scenario says so', () => {
    const service = new SimulatedService(limited({ countRefused: true }));
    expect(statuses(service, [0, 0, 0, 0, 500, 1_000, 1_001, 1_002, 1_003])).toEqual([
      200, 200, 200, 200, 429, 200, 200, 200, 429,
    ]);
  });

  test('is still exact after a thousand requests', () => {
    const service = new SimulatedService(limited());
    const seconds = Array.from({ length: 1_100 }, (_, second) => second * 1_000);
    statuses(service, seconds);
    expect(statuses(service, Array(5).fill(1_100_000))).toEqual([200, 200, 200, 200, 429]);
  });

  test("is shared by a user's keys, and is separate for each user", () => {
    const service = new SimulatedService(limited());
    expect(statuses(service, [0, 0], 'a1:k')).toEqual([200, 200]);
    expect(statuses(service, [0, 0, 0], 'a2:k')).toEqual([200, 200, 429]);
    expect(statuses(service, [0], 'b1:k')).toEqual([200]);
  });

  test('counts requests with errors', () => {
    const service = new SimulatedService(limited());
    const paths = ['/nowhere', '1', 'collectors?limit=x', '/nowhere', 'targets'];
    const replies = paths.map((path) => service.call('GET', path, { credentials: 'a1:k' }).status);
    expect(replies).toEqual([404, 404, 400, 404, 429]);
  });

  test('does not count requests without valid credentials', () => {
    const service = new SimulatedService(limited());
    for (let count = 0; count < 9; count++) {
      expect(service.call('GET', 'targets', { credentials: 'x:y' }).status).toBe(401);
    }
    expect(service.state().counters).toMatchObject({ requests: 9, rejected429: 0, maxPerSecond: 0 });
  });

  test('returns Retry-After if the scenario says so', () => {
    const refused = (limits: LimitScenario) => {
      const service = new SimulatedService(limited({ requestsPerSecond: 1, ...limits }));
      service.call('GET', 'targets', { credentials: 'a1:k' });
      return service.call('GET', 'targets', { credentials: 'a1:k' });
    };
    expect(refused({}).headers).not.toHaveProperty('retry-after');
    expect(refused({ retryAfter: 7 })).toMatchObject({
      status: 429,
      code: 'rate.limit.exceeded',
      headers: { 'retry-after': '7' },
    });
  });

  test('is never exceeded, and admits every request below it, for any arrival times', () => {
    const gaps = fc.array(fc.integer({ min: 0, max: 700 }), { minLength: 1, maxLength: 60 });
    fc.assert(
      fc.property(gaps, fc.integer({ min: 1, max: 6 }), (gapsMs, requestsPerSecond) => {
        const service = new SimulatedService(limited({ requestsPerSecond }));
        const admitted: number[] = [];
        let nowMs = 0;
        for (const gapMs of gapsMs) {
          nowMs += gapMs;
          const inWindow = admitted.filter((atMs) => atMs > nowMs - 1_000).length;
          const [status] = statuses(service, [nowMs]);
          expect(status).toBe(inWindow < requestsPerSecond ? 200 : 429);
          if (status === 200) admitted.push(nowMs);
        }
      }),
      { numRuns: 60 },
    );
  });
});

describe('the limit of 10 concurrent requests per access key', () => {
  const lifted = { requestsPerSecond: 0 };
  test('refuses the eleventh request until one of the ten ends', () => {
    const service = new SimulatedService(limited(lifted));
    const held = Array.from({ length: 10 }, () => service.hold('GET', 'targets', { credentials: 'a1:k' }));
    expect(held.map(({ status }) => status)).toEqual(Array(10).fill(200));
    expect(service.call('GET', 'targets', { credentials: 'a1:k' }).json.code).toBe('rate.limit.exceeded');
    expect(service.call('GET', 'targets', { credentials: 'a2:k' }).status).toBe(200);
    service.release(held[0]!);
    expect(service.call('GET', 'targets', { credentials: 'a1:k' }).status).toBe(200);
    expect(service.state().counters).toMatchObject({ maxInFlight: 11, rejected429: 1 });
  });

  test('can be changed by the scenario', () => {
    const service = new SimulatedService(limited({ ...lifted, concurrentRequests: 2 }));
    const hold = () => service.hold('GET', 'targets', { credentials: 'a1:k' });
    const [first] = [hold(), hold()];
    expect(service.call('GET', 'targets', { credentials: 'a1:k' }).status).toBe(429);
    service.release(first);
    expect([hold(), hold()].map(({ status }) => status)).toEqual([200, 429]);
  });
});

test('counters and journal include all arrivals, refused or not', () => {
  const service = new SimulatedService(limited());
  for (const elapsedMs of [0, 0, 0, 0, 10, 20]) {
    service.elapsedMs = elapsedMs;
    service.call('GET', 'targets', { credentials: 'a1:k' });
  }
  expect(service.state().counters).toEqual({
    requests: 6,
    rejected429: 2,
    maxInFlight: 1,
    maxPerSecond: 6,
    tasksAccepted: 0,
    createTaskRequests: 0,
    jobsCreated: 0,
    jobsActive: 0,
    jobsLostToSilence: 0,
  });
  expect(service.journal.map(({ status, code, perSecond }) => [status, code, perSecond])).toEqual([
    [200, null, 1],
    [200, null, 2],
    [200, null, 3],
    [200, null, 4],
    [429, 'rate.limit.exceeded', 5],
    [429, 'rate.limit.exceeded', 6],
  ]);
});

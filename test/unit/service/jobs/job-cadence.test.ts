/** Tests how often a search job's status is requested (B4). */
import { describe, expect, test } from 'vitest';
import {
  delayAfterFailure,
  firstPollMs,
  keepAliveMs,
  nextPollMs,
  pollTimeoutMs,
  secondTryMs,
} from '../../../../src/service/jobs/job-cadence.ts';

/**
 * Returns the times in ms at which status requests are sent. The last request is the first one after the end of the
 * search.
 */
function looksAt(durationMs: number, donePartAt: (elapsedMs: number) => number | undefined): number[] {
  const times = [firstPollMs()];
  for (let last = times[0] as number; last < durationMs; last = times.at(-1) as number) {
    const progress = { elapsedMs: last, searchingMs: last, doneShare: donePartAt(last), statuses: times.length };
    times.push(last + nextPollMs(progress));
  }
  return times;
}

/**
 * Returns the fraction (0 to 1) of the search that is done, according to a histogram with `buckets` buckets. Only
 * complete buckets count.
 */
const inBuckets = (durationMs: number, buckets: number) => (elapsedMs: number) =>
  Math.floor((elapsedMs / durationMs) * buckets) / buckets || undefined;

describe('a search whose histogram shows its progress', () => {
  test.each([500, 1_000, 2_000, 2_100, 2_500])('of %d ms takes one status request', (durationMs) => {
    expect(looksAt(durationMs, inBuckets(durationMs, 60))).toHaveLength(1);
  });

  test.each([3_000, 4_000, 6_000, 8_000, 10_000])(
    'of %d ms takes two status requests, and its end is noticed soon',
    (durationMs) => {
      for (const buckets of [24, 60, 1_000]) {
        const statuses = looksAt(durationMs, inBuckets(durationMs, buckets));
        expect(statuses).toHaveLength(2);
        expect((statuses[1] as number) - durationMs).toBeLessThan(0.4 * durationMs);
      }
    },
  );

  test('of ten minutes takes only its keep-alives', () => {
    const durationMs = 600_000;
    const statuses = looksAt(durationMs, inBuckets(durationMs, 60));
    expect(statuses.length).toBeLessThanOrEqual(Math.ceil(durationMs / keepAliveMs) + 2);
    expect((statuses.at(-1) as number) - durationMs).toBeLessThanOrEqual(keepAliveMs);
  });
});

test.each([1_000, 3_000, 10_000, 60_000])(
  'no status request of a search of %d ms without results is later than 12 s',
  (durationMs) => {
    const statuses = looksAt(durationMs, () => undefined);
    const gaps = statuses.map((time, index) => time - (statuses[index - 1] ?? 0));
    expect(Math.max(...gaps)).toBeLessThanOrEqual(keepAliveMs);
    expect(statuses.length).toBeLessThanOrEqual(3 + durationMs / keepAliveMs);
  },
);

describe('a search of ten seconds or less, for any content of its statuses', () => {
  const durations = [500, 2_000, 2_500, 3_000, 4_000, 6_000, 8_000, 9_500, 10_000];

  test.each(durations)('of %d ms takes two status requests if they show no progress or too little', (durationMs) => {
    for (const shown of [undefined, 0, 1e-6, 0.001, 0.02]) {
      expect(looksAt(durationMs, () => shown).length).toBeLessThanOrEqual(2);
      expect(looksAt(durationMs, () => shown).at(-1)).toBeLessThanOrEqual(10_500);
    }
  });

  test.each(durations)('of %d ms takes at most three status requests if they show too much progress', (durationMs) => {
    for (const ahead of [1.3, 2, 5, 1_000]) {
      const statuses = looksAt(durationMs, (elapsedMs) => Math.min(1, (ahead * elapsedMs) / durationMs));
      expect(statuses.length).toBeLessThanOrEqual(3);
      expect(statuses.at(-1)).toBeLessThanOrEqual(10_500);
    }
  });
});

test.each([
  [undefined, 2_500],
  [300, 2_000],
  [7_400, 7_400],
  [60_000, keepAliveMs],
])(
  'the first status request is sent at the expected end of the search, after %s ms, before a keep-alive is due',
  (expectedMs, lookMs) => {
    expect(firstPollMs(expectedMs)).toBe(lookMs);
  },
);

test('progress counts from the start of the search, not from the creation of the job', () => {
  const delayMs = nextPollMs({ elapsedMs: 20_000, searchingMs: 4_000, doneShare: 0.5, statuses: 4 });
  expect(delayMs).toBeGreaterThan(4_000);
  expect(delayMs).toBeLessThan(5_500);
});

test.each([0, 1e-9, 0.999, 1])(
  'a progress of %d leads to a status request between half a second and 12 s later',
  (doneShare) => {
    const delayMs = nextPollMs({ elapsedMs: 3_000, searchingMs: 3_000, doneShare, statuses: 1 });
    expect(delayMs).toBeGreaterThanOrEqual(500);
    expect(delayMs).toBeLessThanOrEqual(keepAliveMs);
  },
);

test('a failed keep-alive is repeated immediately, then once more, then less often (B4)', () => {
  expect([1, 2, 3, 4, 5, 50].map(delayAfterFailure)).toEqual([0, 0, 1_000, 2_000, 4_000, 4_000]);
});

test('a request without a response leaves time for two more requests within 20 s (B4)', () => {
  expect(secondTryMs).toBeGreaterThanOrEqual(keepAliveMs + pollTimeoutMs(1));
  expect(secondTryMs + pollTimeoutMs(2)).toBeLessThanOrEqual(18_000);
  expect([0, 1, 2, 3, 4, 50].map(pollTimeoutMs)).toEqual([2_000, 2_000, 2_000, 4_000, 8_000, 8_000]);
});

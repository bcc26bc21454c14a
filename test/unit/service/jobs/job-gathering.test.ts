/** Tests how the client combines the statuses of a search job (section 2.3 of docs/service.md, E5). */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { JobGathering, JobHistogram } from '../../../../src/service/jobs/job-gathering.ts';
import type { HistogramBucket, JobStatus } from '../../../../src/service/jobs/search-service.ts';
import { running } from '../../../support/fake-job.ts';

const bucket = (startMs: number, count: number, lengthMs = 100): HistogramBucket => ({ startMs, lengthMs, count });

describe('the histogram', () => {
  test('adds counts that are returned once', () => {
    const histogram = new JobHistogram();
    histogram.add([bucket(900, 5), bucket(800, 2)]);
    histogram.add([bucket(700, 1)]);
    expect(histogram.read(8)).toEqual({
      buckets: [bucket(700, 1), bucket(800, 2), bucket(900, 5)],
      total: 8,
      addsUp: true,
    });
  });

  /** Random counts in a histogram. They become final from the newest bucket to the oldest. */
  const course = fc.record({
    counts: fc.array(fc.integer({ min: 0, max: 50 }), { minLength: 1, maxLength: 12 }),
    /** For each status request, the percentage of messages that the search job has found. */
    polls: fc.array(fc.integer({ min: 0, max: 100 }), { maxLength: 8 }),
  });

  function after(counts: readonly number[], found: number): number[] {
    let left = found;
    return counts.map((count) => {
      const part = Math.min(count, left);
      left -= part;
      return part;
    });
  }

  test.each(['more of each bucket', 'all of each bucket'] as const)(
    'is correct at every status of a service that returns %s',
    (kind) => {
      fc.assert(
        fc.property(course, ({ counts, polls }) => {
          const all = counts.reduce((sum, count) => sum + count, 0);
          const histogram = new JobHistogram();
          let before = counts.map(() => 0);
          for (const percent of [...polls].sort((left, right) => left - right).concat(100)) {
            const found = Math.floor((all * percent) / 100);
            const now = after(counts, found);
            const reported = now.map((count, index) =>
              kind === 'all of each bucket' ? count : count - (before[index] ?? 0),
            );
            histogram.add(reported.flatMap((count, index) => (count > 0 ? [bucket(-100 * index, count)] : [])));
            before = now;
            const { buckets, total, addsUp } = histogram.read(found);
            expect([total, addsUp]).toEqual([found, true]);
            const expected = now.flatMap((count, index) => (count > 0 ? [bucket(-100 * index, count)] : []));
            expect(buckets).toEqual(expected.reverse());
          }
        }),
      );
    },
  );

  test('does not add up after a lost status, and recovers if each status contains all buckets', () => {
    const parts = new JobHistogram();
    parts.add([bucket(900, 5)]);
    // The response with `bucket(800, 3)` was lost.
    parts.add([bucket(700, 2)]);
    expect(parts.read(10)).toMatchObject({ total: 7, addsUp: false });
    const whole = new JobHistogram();
    whole.add([bucket(900, 5)]);
    whole.add([bucket(900, 5), bucket(800, 3), bucket(700, 2)]);
    expect(whole.read(10)).toMatchObject({ total: 10, addsUp: true });
  });

  test('treats buckets of another width as different buckets', () => {
    const histogram = new JobHistogram();
    histogram.add([bucket(900, 5, 100), bucket(900, 5, 50)]);
    expect(histogram.read(10).buckets).toHaveLength(2);
  });

  test('has a maximum number of buckets, and does not add up beyond it', () => {
    const histogram = new JobHistogram();
    histogram.add(Array.from({ length: 20_001 }, (_, index) => bucket(index * 100, 1)));
    expect(histogram.read(20_001)).toMatchObject({ total: 20_000, addsUp: false });
  });

  test('shows the progress of the job', () => {
    const histogram = new JobHistogram();
    expect(histogram.reachedMs).toBeUndefined();
    histogram.add([bucket(900, 5), bucket(300, 1), bucket(800, 1)]);
    expect(histogram.reachedMs).toBe(300);
  });
});

describe('data that statuses return once', () => {
  test('is kept, each different text once', () => {
    const gathering = new JobGathering();
    gathering.take({ value: { ...running, pendingErrors: ['a'], pendingWarnings: ['w'], warning: 'v' }, sentAtMs: 0 });
    gathering.take({ value: { ...running, pendingErrors: ['b', 'a'], warning: 'v' }, sentAtMs: 0 });
    gathering.take({ value: running, sentAtMs: 0 });
    expect(gathering.progress()).toMatchObject({
      errors: ['a', 'b'],
      warnings: ['w', 'v'],
      statuses: 3,
    });
  });

  test('is limited, and the message limit is noticed nevertheless (E4)', () => {
    const gathering = new JobGathering();
    const many = Array.from({ length: 500 }, (_, index) => `${index} ${'x'.repeat(5_000)}`);
    gathering.take({
      value: { ...running, pendingErrors: many, pendingWarnings: [...many, 'Max results reached.'] },
      sentAtMs: 0,
    });
    const { errors, warnings, isLimitReached } = gathering.progress();
    expect([errors.length, errors[0]?.length]).toEqual([100, 1_000]);
    expect(warnings).toHaveLength(100);
    expect(isLimitReached).toBe(true);
  });

  test.each([
    ['Max results reached', true],
    ['WARNING: maximum results reached for this query', true],
    ['Results reach back to 1970', false],
  ])('%s is the message limit: %s (10.2)', (warning, isLimitReached) => {
    const gathering = new JobGathering();
    gathering.take({ value: { ...running, warning }, sentAtMs: 0 });
    expect(gathering.progress().isLimitReached).toBe(isLimitReached);
  });
});

describe('the progress of a search', () => {
  const range = { fromMs: 0, toMs: 1_000 };
  const doneShare = (...statuses: Partial<JobStatus>[]) => {
    const gathering = new JobGathering();
    for (const status of statuses) gathering.take({ value: { ...running, ...status }, sentAtMs: 0 });
    return gathering.doneShare(range);
  };

  test('is the share that its buckets cover, from the end of the range (2.3)', () => {
    expect(doneShare()).toBeUndefined();
    expect(doneShare({ messageCount: 3 })).toBeUndefined();
    expect(doneShare({ buckets: [bucket(700, 5)], messageCount: 6 })).toBeCloseTo(0.3);
    expect(doneShare({ buckets: [bucket(0, 5), bucket(-100, 5)], messageCount: 10 })).toBe(1);
  });

  test('is reduced to the share of found messages if the histogram runs ahead of the results', () => {
    const buckets = [bucket(700, 5), bucket(600, 15)];
    expect(doneShare({ buckets, messageCount: 10 })).toBeCloseTo(0.2);
    expect(doneShare({ buckets, messageCount: 0 })).toBe(0);
    const state = 'doneGatheringHistogram';
    expect(doneShare({ state, buckets: [bucket(0, 20)], messageCount: 10 })).toBeCloseTo(0.5);
  });

  test('is unknown if the histogram is complete before the search (3.1)', () => {
    const state = 'doneGatheringHistogram';
    expect(doneShare({ state, buckets: [bucket(500, 20)], messageCount: 20 })).toBeUndefined();
    expect(doneShare({ state, buckets: [bucket(500, 0)] })).toBeUndefined();
  });

  test('counts from the last status before the start of the search', () => {
    const gathering = new JobGathering();
    expect(gathering.idleAtMs).toBeUndefined();
    for (const [sentAtMs, state] of [
      [1_000, 'notStarted'],
      [2_000, 'gatheringSubqueries'],
      [3_000, 'gatheringResults'],
      [4_000, { unknown: 'RESTING' }],
    ] as const)
      gathering.take({ value: { ...running, state }, sentAtMs });
    expect(gathering.idleAtMs).toBe(2_000);
  });
});

test('figures come from the last status, and stay if a status omits them', () => {
  const gathering = new JobGathering();
  gathering.take({ value: { ...running, messageCount: 10, recordCount: 2, scannedBytes: 99 }, sentAtMs: 0 });
  gathering.take({ value: { ...running, state: { unknown: 'RESTING' }, messageCount: 12 }, sentAtMs: 0 });
  expect(gathering.progress()).toMatchObject({
    state: { unknown: 'RESTING' },
    messageCount: 12,
    recordCount: 2,
    scannedBytes: 99,
    hasLostStatus: false,
  });
});

test('a job stays tainted after a lost status (E5)', () => {
  const gathering = new JobGathering();
  gathering.lost();
  gathering.take({ value: { ...running, state: 'doneGatheringResults' }, sentAtMs: 0 });
  expect(gathering.progress().hasLostStatus).toBe(true);
});

test('a late status only adds data that is returned once (E5)', () => {
  const gathering = new JobGathering(1_000);
  expect(gathering.progress().dateMs).toBe(1_000);
  const late = { ...running, messageCount: 5, buckets: [bucket(800, 5)], pendingErrors: ['early'] };
  const news = { ...running, messageCount: 9, buckets: [bucket(900, 4)], state: 'forcePaused' } as const;
  expect(gathering.take({ value: news, sentAtMs: 20, dateMs: 3_000 })).toBe(true);
  expect(gathering.progress().dateMs).toBe(3_000);
  expect(gathering.take({ value: late, sentAtMs: 10, dateMs: 2_000 })).toBe(false);
  expect(gathering.progress()).toMatchObject({
    state: 'forcePaused',
    isLimitReached: true,
    messageCount: 9,
  });
  expect(gathering.progress().errors).toEqual(['early']);
  expect(gathering.histogram()).toMatchObject({ total: 9, addsUp: true });
});

test('the service time is that of the last response (E11)', () => {
  const gathering = new JobGathering(1_000);
  gathering.take({ value: running, sentAtMs: 20, dateMs: 3_000 });
  gathering.take({ value: running, sentAtMs: 10, dateMs: 2_000 });
  expect(gathering.progress().dateMs).toBeUndefined();
  gathering.take({ value: running, sentAtMs: 30, dateMs: 4_000 });
  expect(gathering.progress().dateMs).toBe(4_000);
  gathering.take({ value: running, sentAtMs: 40 });
  expect(gathering.progress().dateMs).toBeUndefined();
});

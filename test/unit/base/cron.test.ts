import { describe, expect, test } from 'vitest';
import { CronSchedule } from '../../../src/base/cron.ts';

/** Returns the first `count` scheduled local times from `from` on. */
function times(text: string, from: string, count: number): string[] {
  const found: string[] = [];
  for (const localMs of new CronSchedule(text).from(Date.parse(`${from}Z`))) {
    if (found.length === count) break;
    found.push(new Date(localMs).toISOString().slice(0, 16));
  }
  return found;
}

describe('the local times of a schedule', () => {
  test.each([
    ['0 22 * * 1-5', '2026-11-20T22:00', ['2026-11-20T22:00', '2026-11-23T22:00', '2026-11-24T22:00']],
    ['*/20 1,2 * * *', '2026-11-20T01:30', ['2026-11-20T01:40', '2026-11-20T02:00', '2026-11-20T02:20']],
    ['0 3 * * SUN', '2026-11-20T00:00', ['2026-11-22T03:00', '2026-11-29T03:00']],
    ['0 3 * * 7', '2026-11-20T00:00', ['2026-11-22T03:00', '2026-11-29T03:00']],
    // A schedule with both a day of the month and a weekday matches a day if either of the two matches.
    ['0 0 1 * MON', '2026-11-24T00:00', ['2026-11-30T00:00', '2026-12-01T00:00', '2026-12-07T00:00']],
    ['0 0 * * 2#1', '2026-11-20T00:00', ['2026-12-01T00:00', '2027-01-05T00:00']],
    ['0 0 L * *', '2027-02-01T00:00', ['2027-02-28T00:00', '2027-03-31T00:00']],
    ['0 0 29 2 *', '2097-01-01T00:00', ['2104-02-29T00:00', '2108-02-29T00:00']],
    ['  30   2 * *   * ', '2026-03-29T00:00', ['2026-03-29T02:30', '2026-03-30T02:30']],
    ['0 0 30 2 *', '2026-01-01T00:00', []],
  ])('%s from %s on', (text, from, expected) => {
    expect(times(text, from, expected.length || 1)).toEqual(expected);
  });

  test('are the same at every evaluation', () => {
    const schedule = new CronSchedule('0 4 * * *');
    const fromMs = Date.parse('2026-01-01T00:00Z');
    const firsts = Array.from({ length: 1_200 }, (_, day) => schedule.from(fromMs + day * 86_400_000).next().value);
    expect(firsts).toEqual(Array.from({ length: 1_200 }, (_, day) => fromMs + (day * 24 + 4) * 3_600_000));
    expect(schedule.from(fromMs).next().value).toBe(fromMs + 4 * 3_600_000);
  });
});

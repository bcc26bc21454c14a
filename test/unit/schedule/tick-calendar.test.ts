import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { hourMs } from '../../../src/base/time-units.ts';
import { type TimeZone, timeZone } from '../../../src/base/time-zone.ts';
import { TickCalendar } from '../../../src/schedule/tick-calendar.ts';
import { randomRuns } from '../../support/random-runs.ts';

const at = Date.parse;

function calendarOf(schedule: string, zone: string): TickCalendar {
  return new TickCalendar(schedule, timeZone(zone) as TimeZone);
}

function iso(atMs: number | undefined): string | undefined {
  return atMs === undefined ? undefined : new Date(atMs).toISOString();
}

describe('TickCalendar', () => {
  it.each([
    ['0 * * * *', 'UTC', '2026-11-22T12:34:56Z', '2026-11-22T12:00:00.000Z', '2026-11-22T13:00:00.000Z'],
    ['0 * * * *', 'UTC', '2026-11-22T12:00:00Z', '2026-11-22T12:00:00.000Z', '2026-11-22T13:00:00.000Z'],
    ['30 0 * * *', 'Europe/Berlin', '2026-11-22T12:00:00Z', '2026-11-21T23:30:00.000Z', '2026-11-22T23:30:00.000Z'],
    ['0 0 29 2 *', 'UTC', '2026-11-22T12:00:00Z', '2024-02-29T00:00:00.000Z', '2028-02-29T00:00:00.000Z'],
    ['0 0 1 1 *', 'Asia/Kathmandu', '2026-11-22T12:00:00Z', '2025-12-31T18:15:00.000Z', '2026-12-31T18:15:00.000Z'],
  ])('finds the ticks of %s in %s around %s', (schedule, zone, now, last, next) => {
    const calendar = calendarOf(schedule, zone);
    expect(iso(calendar.lastUntil(at(now)))).toBe(last);
    expect(iso(calendar.firstAfter(at(now)))).toBe(next);
  });

  it('makes one run of two hours when a clock change repeats an hour, and none of length zero when it skips one', () => {
    const lengthsOn = (from: string, to: string) =>
      [...calendarOf('0 * * * *', 'Europe/Berlin').divide({ fromMs: at(from), toMs: at(to) })].map(
        ({ fromMs, toMs }) => (toMs - fromMs) / hourMs,
      );
    const autumn = lengthsOn('2026-10-24T22:00:00Z', '2026-10-25T23:00:00Z');
    const spring = lengthsOn('2026-03-28T23:00:00Z', '2026-03-29T22:00:00Z');
    expect(autumn).toEqual([1, 1, 2, ...Array<number>(21).fill(1)]);
    expect(spring).toEqual(Array<number>(23).fill(1));
  });

  it('orders ticks by instant when a clock change moves a skipped time past a later one', () => {
    const calendar = calendarOf('0,30 * * * *', 'Europe/Berlin');
    const parts = [...calendar.divide({ fromMs: at('2026-03-29T00:30:00Z'), toMs: at('2026-03-29T02:00:00Z') })];
    expect(parts.map(({ toMs }) => iso(toMs))).toEqual([
      '2026-03-29T01:00:00.000Z',
      '2026-03-29T01:30:00.000Z',
      '2026-03-29T02:00:00.000Z',
    ]);
  });

  const schedules = fc.constantFrom('0 * * * *', '*/20 * * * *', '15 2 * * *', '0 3 * * 1', '5 1 1 * *', '0 0 29 2 *');
  const zones = fc.constantFrom('UTC', 'Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'Pacific/Apia');
  const starts = fc.integer({ min: at('2011-12-01T00:00:00Z') / 1_000, max: at('2027-01-01T00:00:00Z') / 1_000 });

  it('divides any span without gaps or overlaps, in both directions', () => {
    fc.assert(
      fc.property(
        schedules,
        zones,
        starts,
        fc.integer({ min: 1, max: 40 * 24 * 3_600 }),
        (schedule, zone, start, length) => {
          const calendar = calendarOf(schedule, zone);
          const span = { fromMs: start * 1_000, toMs: (start + length) * 1_000 };
          const parts = [...calendar.divide(span)];
          expect(parts[0]?.fromMs).toBe(span.fromMs);
          expect(parts.at(-1)?.toMs).toBe(span.toMs);
          for (const [index, { fromMs, toMs }] of parts.entries()) {
            expect(toMs).toBeGreaterThan(fromMs);
            if (index > 0) expect(fromMs).toBe(parts[index - 1]?.toMs);
            if (toMs !== span.toMs) expect(calendar.lastUntil(toMs)).toBe(toMs);
            const next = calendar.firstAfter(fromMs);
            expect(next === undefined || next >= toMs).toBe(true);
          }
          expect([...calendar.divideBackwards(span)]).toEqual(parts.reverse());
        },
      ),
      { numRuns: randomRuns(30) },
    );
  });
});

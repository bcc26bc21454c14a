/** Tests partition folders, including on days with clock changes. */
import { expect, test } from 'vitest';
import { hourMs, minuteMs } from '../../../src/base/time-units.ts';
import { type Partitioning, Partitions } from '../../../src/destination/partitions.ts';

const parts = ['year', 'month', 'day', 'hour', 'minute'] as const;

function expected(timeZone: string, by: Partitioning, timeMs: number): string {
  const numeric = Object.fromEntries(parts.map((part) => [part, '2-digit']));
  const format = new Intl.DateTimeFormat('en-US', { timeZone, hourCycle: 'h23', ...numeric, year: 'numeric' });
  const found = new Map(format.formatToParts(timeMs).map(({ type, value }) => [type, value]));
  const day = `dt=${found.get('year')}-${found.get('month')}-${found.get('day')}`;
  return by === 'Day' ? day : `${day}/hour=${found.get('hour')}`;
}

test.each([
  ['UTC', '2026-11-01T00:00:00Z'],
  ['Europe/Berlin', '2026-03-28T12:00:00Z'],
  ['Europe/Berlin', '2026-10-24T12:00:00Z'],
  ['Australia/Lord_Howe', '2026-04-04T00:00:00Z'],
  ['Asia/Kathmandu', '2026-11-01T00:00:00Z'],
  ['America/St_Johns', '1999-10-30T12:00:00Z'],
])('in %s the folders from %s on are those of local days and hours', (timeZone, start) => {
  for (const by of ['Day', 'Hour'] as const) {
    const [ascending, descending] = [new Partitions(by, timeZone), new Partitions(by, timeZone)];
    const fromMs = Date.parse(start);
    for (let timeMs = fromMs + 48 * hourMs; timeMs >= fromMs; timeMs -= 7 * minuteMs + 1) {
      expect(descending.folderOf(timeMs)).toBe(expected(timeZone, by, timeMs));
    }
    for (let timeMs = fromMs; timeMs < fromMs + 48 * hourMs; timeMs += 7 * minuteMs + 1) {
      expect(ascending.folderOf(timeMs)).toBe(expected(timeZone, by, timeMs));
    }
  }
});

test('an hour that a clock change repeats is one partition, and a skipped hour has none', () => {
  const hoursOf = (start: string, hours: number) => {
    const partitions = new Partitions('Hour', 'Europe/Berlin');
    const times = Array.from({ length: 2 * hours }, (_, half) => Date.parse(start) + (half * hourMs) / 2);
    return new Set(times.map((timeMs) => partitions.folderOf(timeMs)));
  };
  const autumn = hoursOf('2026-10-25T00:00:00+02:00', 25);
  expect(autumn.size).toBe(24);
  const spring = hoursOf('2026-03-29T00:00:00+01:00', 23);
  expect([spring.size, spring.has('dt=2026-03-29/hour=02')]).toEqual([23, false]);
});

/** Tests local times in time zones, including repeated and skipped times. */
import { describe, expect, test } from 'vitest';
import { readTime, resolveTime } from '../../search/search-time.ts';
import { timeZoneOf } from '../../search/time-zone.ts';

function utcOf(zone: string, local: string): string {
  const time = readTime(local);
  if (time.kind !== 'local') throw new Error(`${local} is ${time.kind}`);
  return new Date(resolveTime(time, timeZoneOf(zone))).toISOString().replace('.000Z', '');
}

describe('a local time is converted', () => {
  const cases: readonly [string, string, string, string][] = [
    ['in UTC', 'UTC', '2026-06-15T12:00:00', '2026-06-15T12:00:00'],
    ['in winter', 'Europe/Berlin', '2026-01-15T12:00:00', '2026-01-15T11:00:00'],
    ['in summer', 'Europe/Berlin', '2026-06-15T12:00:00', '2026-06-15T10:00:00'],
    ['with an offset of half an hour', 'Asia/Kolkata', '2026-06-15T12:00:00', '2026-06-15T06:30:00'],
    ['with an offset instead of a zone', '+05:30', '2026-06-15T12:00:00', '2026-06-15T06:30:00'],
    ['with the name of the zone in any case', 'europe/BERLIN', '2026-06-15T12:00:00', '2026-06-15T10:00:00'],
    ['just before an hour is skipped', 'Europe/Berlin', '2026-03-29T01:59:59', '2026-03-29T00:59:59'],
    ['in a skipped hour by moving it by the gap', 'Europe/Berlin', '2026-03-29T02:30:00', '2026-03-29T01:30:00'],
    ['just after a skipped hour', 'Europe/Berlin', '2026-03-29T03:00:00', '2026-03-29T01:00:00'],
    ['just before a repeated hour', 'Europe/Berlin', '2026-10-25T01:59:59', '2026-10-24T23:59:59'],
    ['in a repeated hour to its first occurrence', 'Europe/Berlin', '2026-10-25T02:30:00', '2026-10-25T00:30:00'],
    ['just after a repeated hour', 'Europe/Berlin', '2026-10-25T03:00:00', '2026-10-25T02:00:00'],
    ['in a repeated hour in America', 'America/New_York', '2026-11-01T01:30:00', '2026-11-01T05:30:00'],
    ['in a skipped hour in America', 'America/New_York', '2026-03-08T02:30:00', '2026-03-08T07:30:00'],
    ['in a repeated half hour', 'Australia/Lord_Howe', '2026-04-05T01:45:00', '2026-04-04T14:45:00'],
    ['in a skipped half hour', 'Australia/Lord_Howe', '2026-10-04T02:15:00', '2026-10-03T15:45:00'],
    ['on a day that an island skipped', 'Pacific/Apia', '2011-12-30T12:00:00', '2011-12-30T22:00:00'],
    ['in the easternmost zone', 'Pacific/Kiritimati', '2026-06-15T12:00:00', '2026-06-14T22:00:00'],
    ['in the westernmost zone', 'Pacific/Pago_Pago', '2026-06-15T12:00:00', '2026-06-15T23:00:00'],
    ['before the epoch', 'Europe/Berlin', '1950-07-01T12:00:00', '1950-07-01T11:00:00'],
    ['on a leap day', 'UTC', '2028-02-29T23:59:59', '2028-02-29T23:59:59'],
  ];
  test.each(cases)('%s', (_, zone, local, utc) => {
    expect(utcOf(zone, local)).toBe(utc);
  });
});

describe('codes denote places, including their summer time', () => {
  const cases: readonly [string, string, string][] = [
    ['PST', '2026-01-15T04:00:00', '2026-01-15T12:00:00'],
    ['PST', '2026-06-15T05:00:00', '2026-06-15T12:00:00'],
    ['pdt', '2026-06-15T05:00:00', '2026-06-15T12:00:00'],
    ['EST', '2026-06-15T08:00:00', '2026-06-15T12:00:00'],
    ['CST', '2026-01-15T06:00:00', '2026-01-15T12:00:00'],
    ['IST', '2026-01-15T17:30:00', '2026-01-15T12:00:00'],
    ['BST', '2026-06-15T13:00:00', '2026-06-15T12:00:00'],
    ['CET', '2026-06-15T14:00:00', '2026-06-15T12:00:00'],
    ['JST', '2026-06-15T21:00:00', '2026-06-15T12:00:00'],
    ['AKST', '2026-01-15T03:00:00', '2026-01-15T12:00:00'],
    ['AKDT', '2026-06-15T04:00:00', '2026-06-15T12:00:00'],
    ['HST', '2026-06-15T02:00:00', '2026-06-15T12:00:00'],
    ['AST', '2026-01-15T08:00:00', '2026-01-15T12:00:00'],
    ['NDT', '2026-06-15T09:30:00', '2026-06-15T12:00:00'],
    ['WET', '2026-01-15T12:00:00', '2026-01-15T12:00:00'],
    ['WEST', '2026-06-15T13:00:00', '2026-06-15T12:00:00'],
    ['SAST', '2026-06-15T14:00:00', '2026-06-15T12:00:00'],
    ['PKT', '2026-06-15T17:00:00', '2026-06-15T12:00:00'],
    ['HKT', '2026-06-15T20:00:00', '2026-06-15T12:00:00'],
    ['AWST', '2026-06-15T20:00:00', '2026-06-15T12:00:00'],
    ['ACST', '2026-06-15T21:30:00', '2026-06-15T12:00:00'],
    ['ACDT', '2026-01-15T22:30:00', '2026-01-15T12:00:00'],
    ['AEDT', '2026-01-15T23:00:00', '2026-01-15T12:00:00'],
    ['NZST', '2026-06-16T00:00:00', '2026-06-15T12:00:00'],
    ['NZDT', '2026-01-16T01:00:00', '2026-01-15T12:00:00'],
    ['UTC+2', '2026-06-15T14:00:00', '2026-06-15T12:00:00'],
    ['GMT+2', '2026-06-15T14:00:00', '2026-06-15T12:00:00'],
    ['utc-03:30', '2026-06-15T08:30:00', '2026-06-15T12:00:00'],
    ['UTC+02:00', '2026-06-15T14:00:00', '2026-06-15T12:00:00'],
    ['GMT+0530', '2026-06-15T17:30:00', '2026-06-15T12:00:00'],
    ['GMT', '2026-06-15T12:00:00', '2026-06-15T12:00:00'],
    ['Z', '2026-06-15T12:00:00', '2026-06-15T12:00:00'],
  ];
  test.each(cases)('%s at %s', (zone, local, utc) => {
    expect(utcOf(zone, local)).toBe(utc);
  });
});

test.each(['Mars/Base', 'XYZ', 'Europe', '+25:00', 'UTC+25', 'UTC+2:0', 'UTC ', ''])('%j is not a zone', (name) => {
  expect(timeZoneOf(name)).toBeUndefined();
});

test('every zone of this runtime can be used', () => {
  for (const zone of Intl.supportedValuesOf('timeZone')) {
    const utc = Date.parse(`${utcOf(zone, '2026-06-15T12:00:00')}Z`);
    expect(Math.abs(utc - Date.UTC(2026, 5, 15, 12))).toBeLessThanOrEqual(14 * 3_600_000);
  }
});

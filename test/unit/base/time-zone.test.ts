import { describe, expect, test } from 'vitest';
import { timeZone } from '../../../src/base/time-zone.ts';

function instant(zone: string, local: string): string {
  return new Date(timeZone(zone)?.instantOf(Date.parse(`${local}Z`)) ?? Number.NaN).toISOString();
}

describe('a local time', () => {
  test.each([
    ['UTC', '2026-03-29T02:30', '2026-03-29T02:30:00.000Z'],
    ['Asia/Kolkata', '2026-03-29T02:30', '2026-03-28T21:00:00.000Z'],
    ['Europe/Berlin', '2026-01-15T12:00', '2026-01-15T11:00:00.000Z'],
    ['Europe/Berlin', '2026-07-15T12:00', '2026-07-15T10:00:00.000Z'],
    // Local times one minute before and one minute after a clock change.
    ['Europe/Berlin', '2026-03-29T01:59', '2026-03-29T00:59:00.000Z'],
    ['Europe/Berlin', '2026-03-29T03:00', '2026-03-29T01:00:00.000Z'],
    ['Europe/Berlin', '2026-10-25T01:59', '2026-10-24T23:59:00.000Z'],
    ['Europe/Berlin', '2026-10-25T03:00', '2026-10-25T02:00:00.000Z'],
    ['america/new_york', '2026-11-01T12:00', '2026-11-01T17:00:00.000Z'],
  ])('%s %s is the instant %s', (zone, local, expected) => {
    expect(instant(zone, local)).toBe(expected);
  });

  test.each([
    ['Europe/Berlin', '2026-03-29T02:00', '2026-03-29T01:00:00.000Z'],
    ['Europe/Berlin', '2026-03-29T02:30', '2026-03-29T01:30:00.000Z'],
    ['Europe/Berlin', '2026-03-29T02:59', '2026-03-29T01:59:00.000Z'],
    ['America/New_York', '2026-03-08T02:30', '2026-03-08T07:30:00.000Z'],
    ['Australia/Lord_Howe', '2026-10-04T02:15', '2026-10-03T15:45:00.000Z'],
    // Local times that do not exist. The clocks skipped the last hour of a day in Nuuk, and a whole day in Apia.
    ['America/Nuuk', '2026-03-28T23:30', '2026-03-29T01:30:00.000Z'],
    ['Pacific/Apia', '2011-12-30T12:00', '2011-12-30T22:00:00.000Z'],
  ])('that %s skips is moved forward: %s is %s', (zone, local, expected) => {
    expect(instant(zone, local)).toBe(expected);
  });

  test.each([
    ['Europe/Berlin', '2026-10-25T02:00', '2026-10-25T00:00:00.000Z'],
    ['Europe/Berlin', '2026-10-25T02:59', '2026-10-25T00:59:00.000Z'],
    ['America/New_York', '2026-11-01T01:30', '2026-11-01T05:30:00.000Z'],
    ['Australia/Lord_Howe', '2026-04-05T01:45', '2026-04-04T14:45:00.000Z'],
  ])('that occurs twice in %s is the first: %s is %s', (zone, local, expected) => {
    expect(instant(zone, local)).toBe(expected);
  });

  test('that is skipped is shown as a later local time', () => {
    const read = (local: string) => timeZone('Europe/Berlin')?.readingOf(Date.parse(`${local}Z`));
    expect(read('2026-03-29T02:30')).toBe(Date.parse('2026-03-29T03:30Z'));
    expect(read('2026-03-29T03:30')).toBe(Date.parse('2026-03-29T03:30Z'));
    expect(read('2026-10-25T02:30')).toBe(Date.parse('2026-10-25T02:30Z'));
  });
});

describe('a zone', () => {
  test.each(['', 'Mars/Olympus', 'W. Europe Standard Time'])('%j is not known', (name) => {
    expect(timeZone(name)).toBeUndefined();
  });

  test('is still known after any number of other zones', () => {
    for (let number = 0; number < 2_500; number++) expect(timeZone(`Made/Up${number}`)).toBeUndefined();
    expect(instant('Europe/Berlin', '2026-01-15T12:00')).toBe('2026-01-15T11:00:00.000Z');
  });
});

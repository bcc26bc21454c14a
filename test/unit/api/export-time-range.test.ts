import { describe, expect, test } from 'vitest';
import { clockChangesIn, readTimeRange } from '../../../src/api/export-time-range.ts';
import { renderExplanation } from '../../../src/api/finding.ts';

const end = '2030-01-01T00:00:00Z';

function from(text: string, timeZone?: string): string {
  const range = readTimeRange({ from: text, to: end, timeZone });
  return 'problem' in range ? `${range.member}: ${renderExplanation(range)}` : new Date(range.fromMs).toISOString();
}

describe('a time', () => {
  test.each([
    ['in milliseconds', '1793491200000', undefined, '2026-11-01T00:00:00.000Z'],
    [
      'in milliseconds, with a time zone that only the query uses',
      '1793491200000',
      'Asia/Tokyo',
      '2026-11-01T00:00:00.000Z',
    ],
    ['at the beginning of the epoch', '0', undefined, '1970-01-01T00:00:00.000Z'],
    ['just before the end', '1893455999999', undefined, '2029-12-31T23:59:59.999Z'],
    ['of UTC', '2026-11-01T00:00:00Z', undefined, '2026-11-01T00:00:00.000Z'],
    ['in small letters', '2026-11-01t00:00:00z', undefined, '2026-11-01T00:00:00.000Z'],
    ['with an offset', '2026-11-01T00:00:00+05:30', undefined, '2026-10-31T18:30:00.000Z'],
    ['with an offset to the west', '2026-11-01T00:00:00-03:30', undefined, '2026-11-01T03:30:00.000Z'],
    [
      'with an offset that takes precedence over the time zone',
      '2026-11-01T00:00:00+00:00',
      'Asia/Tokyo',
      '2026-11-01T00:00:00.000Z',
    ],
    ['with tenths of a second', '2026-11-01T00:00:00.5Z', undefined, '2026-11-01T00:00:00.500Z'],
    ['of a zone', '2026-11-01T00:00:00', 'Europe/Berlin', '2026-10-31T23:00:00.000Z'],
    ['of a zone, with milliseconds', '2026-11-01T00:00:00.007', 'Europe/Berlin', '2026-10-31T23:00:00.007Z'],
    ['that occurs twice is the first (E12)', '2026-10-25T02:30:00', 'Europe/Berlin', '2026-10-25T00:30:00.000Z'],
    [
      'that does not exist is moved by the length of the gap (E12)',
      '2026-03-29T02:30:00',
      'Europe/Berlin',
      '2026-03-29T01:30:00.000Z',
    ],
    ['on a leap day', '2028-02-29T00:00:00Z', undefined, '2028-02-29T00:00:00.000Z'],
  ])('%s', (_, text, zone, expected) => {
    expect(from(text, zone)).toBe(expected);
  });

  test.each([
    ['seconds', '1793491200', undefined, 'from: "1793491200" looks like seconds; use milliseconds, 1793491200000'],
    ['a date', '2026-11-01', 'UTC', 'from: "2026-11-01" has no time of day; use 2026-11-01T00:00:00'],
    [
      'a local time without a time zone',
      '2026-11-01T00:00:00',
      undefined,
      'timeZone: "2026-11-01T00:00:00" is a local time',
    ],
    ['an unknown time zone', '2026-11-01T00:00:00', 'CEST Berlin', 'timeZone: "CEST Berlin" is not a known time zone'],
    ['microseconds', '2026-11-01T00:00:00.123456Z', undefined, 'use 2026-11-01T00:00:00.123Z'],
    ['a day that the month does not have', '2026-02-30T00:00:00Z', undefined, 'does not exist'],
    ['the hour 24', '2026-11-01T24:00:00Z', undefined, 'does not exist'],
    ['a leap second', '2026-12-31T23:59:60Z', undefined, 'does not exist'],
    ['an impossible offset', '2026-11-01T00:00:00+24:00', undefined, 'use an offset such as +01:00'],
    ['words', 'yesterday', 'UTC', 'from: "yesterday" is not a time; use a local time such as 2026-11-01T00:00:00'],
    ['a blank between date and time', '2026-11-01 00:00:00', 'UTC', 'is not a time; use'],
    ['nothing', '', 'UTC', 'is not a time; use'],
    ['a time before the epoch', '1969-12-31T23:59:59.999Z', undefined, 'is not between the years 1970 and 9999'],
    [
      'a time before the epoch because of its offset',
      '1970-01-01T00:00:00+00:01',
      undefined,
      'is not between the years 1970 and 9999',
    ],
    ['a time after the year 9999', '253402300800000', undefined, 'is not between the years 1970 and 9999'],
    ['more milliseconds than a double holds', '17934912000000000', undefined, 'is not a time; use'],
  ])('rejects %s', (_, text, zone, expected) => {
    expect(from(text, zone)).toContain(expected);
  });
});

describe('a range', () => {
  test('is half-open, in whole milliseconds', () => {
    const text = { from: '2026-10-25T00:00:00', to: '2026-10-26T00:00:00', timeZone: 'Europe/Berlin' };
    const range = readTimeRange(text);
    expect(range).toEqual({ fromMs: Date.UTC(2026, 9, 24, 22), toMs: Date.UTC(2026, 9, 25, 23) });
  });

  test.each([
    ['empty', '2026-11-01T00:00:00Z', '2026-11-01T00:00:00Z'],
    ['reversed', '2026-11-02T00:00:00Z', '2026-11-01T00:00:00Z'],
    ['empty because of its offsets', '2026-11-01T00:00:00+01:00', '2026-10-31T23:00:00Z'],
  ])('that is %s is rejected', (_, first, last) => {
    expect(readTimeRange({ from: first, to: last })).toEqual({
      member: 'to',
      problem: expect.stringContaining('is not after the start'),
      remedy: 'use a later time',
    });
  });

  test('reports an invalid end', () => {
    expect(readTimeRange({ from: '0', to: 'now' })).toMatchObject({ member: 'to' });
  });
});

describe('a change of the clocks (E12)', () => {
  function notes(from: string, timeZone: string | undefined): readonly string[] {
    return clockChangesIn({ from, to: end, timeZone }).map(
      ({ member, ...explanation }) => `${member}: ${renderExplanation(explanation)}`,
    );
  }

  test.each([
    [
      'a local time that occurs twice',
      '2026-10-25T02:30:00',
      'Europe/Berlin',
      'from: the local time 2026-10-25T02:30:00 occurs twice, because clocks are set back; logfleet reads it as the first occurrence, 2026-10-25T00:30:00.000Z; use the time with its offset from UTC, for example 2026-10-25T02:30:00+02:00 for the first occurrence',
    ],
    [
      'a time west of Greenwich, with milliseconds',
      '2026-11-01T01:59:59.999',
      'America/St_Johns',
      'from: the local time 2026-11-01T01:59:59.999 occurs twice, because clocks are set back; logfleet reads it as the first occurrence, 2026-11-01T04:29:59.999Z; use the time with its offset from UTC, for example 2026-11-01T01:59:59.999-02:30 for the first occurrence',
    ],
    [
      'a local time that a clock change skips',
      '2026-03-29T02:30:00',
      'Europe/Berlin',
      'from: the local time 2026-03-29T02:30:00 does not exist, because clocks are set forward; logfleet reads it as 2026-03-29T01:30:00.000Z; use a local time that exists',
    ],
  ])('is reported for %s', (_, text, zone, note) => {
    expect(notes(text, zone)).toEqual([note]);
  });

  test.each([
    ['the moment after the hour that occurs twice', '2026-10-25T03:00:00', 'Europe/Berlin'],
    ['the moment before the hour that occurs twice', '2026-10-25T01:59:59.999', 'Europe/Berlin'],
    ['a day before', '2026-10-24T02:30:00', 'Europe/Berlin'],
    ['the moment after the skipped hour', '2026-03-29T03:00:00', 'Europe/Berlin'],
    ['a zone whose clocks never change', '2026-10-25T02:30:00', 'UTC'],
    ['a time with an offset', '2026-10-25T02:30:00+01:00', 'Europe/Berlin'],
    ['milliseconds', '1793491200000', 'Europe/Berlin'],
    ['no zone', '2026-10-25T02:30:00+01:00', undefined],
  ])('is not reported for %s', (_, text, zone) => {
    expect(notes(text, zone)).toEqual([]);
  });

  test('explains a range that ends before it begins only because of the change', () => {
    const rangeUntil = (to: string) => readTimeRange({ from: '2026-10-25T02:30:00', to, timeZone: 'Europe/Berlin' });
    expect(rangeUntil('2026-10-25T02:15:00')).toMatchObject({ problem: expect.stringContaining('occurs twice') });
    expect(rangeUntil('2026-10-20T00:00:00')).toEqual({
      member: 'to',
      problem: 'the end, 2026-10-19T22:00:00.000Z, is not after the start, 2026-10-25T00:30:00.000Z',
      remedy: 'use a later time',
    });
  });

  test('is reported for the end as well', () => {
    const text = { from: '2026-10-25T00:00:00', to: '2026-10-25T02:00:00', timeZone: 'Europe/Berlin' };
    expect(clockChangesIn(text)).toMatchObject([{ member: 'to', problem: expect.stringContaining('occurs twice') }]);
  });
});

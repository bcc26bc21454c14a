import { describe, expect, test } from 'vitest';
import { renderExplanation } from '../../../src/api/finding.ts';
import { scheduleProblem, timeZoneNames, timeZoneProblem } from '../../../src/api/schedule-check.ts';

describe('a schedule', () => {
  test.each(['0 22 * * 1-5', '*/15 8-17 1,15 JAN-MAR MON', '0 0 29 2 *', '0 0 L * *', '0 0 * * 2#1', ' 0  0 * * * '])(
    '%j is valid',
    (schedule) => {
      expect(scheduleProblem(schedule)).toBeUndefined();
    },
  );

  test.each([
    ['0 22 * *', '"0 22 * *" has 4 fields; write five'],
    ['@daily', '"@daily" has 1 field; write five'],
    ['0 0 22 * * 1-5', 'has 6 fields; write five'],
    ['60 * * * *', 'the minute "60" cannot be read; write 0 to 59, as in'],
    ['0 24 * * *', 'the hour "24" cannot be read; write 0 to 23, as in'],
    ['0 22-2 * * *', 'the hour "22-2" cannot be read; write 22-23,0-2'],
    ['0 23-0 * * *', 'the hour "23-0" cannot be read; write 23,0'],
    ['5/15 * * * *', 'the minute "5/15" cannot be read; write 5-59/15'],
    ['*/90 * * * *', 'the minute "*/90" cannot be read; write 0 to 59, as in'],
    ['0 0 0 * *', 'the day of month "0" cannot be read; write 1 to 31, as in'],
    ['0 0 1 13 *', 'the month "13" cannot be read; write 1 to 12, as in'],
    ['0 0 1 Octobre *', 'the month "Octobre" cannot be read; write OCT'],
    ['0 0 * * Monday', 'the day of week "Monday" cannot be read; write MON'],
    ['0 0 * * 8', 'the day of week "8" cannot be read; write 0 (Sunday) to 6, as in'],
    ['0 0 * * 5-1', 'the day of week "5-1" cannot be read; write 5-6,0-1'],
    ['0 0 30 2 *', '"0 0 30 2 *" never occurs'],
    ['0 0 31 4,6,9,11 *', 'never occurs'],
  ])('%j: %s', (schedule, message) => {
    const problem = scheduleProblem(schedule);
    expect(problem && renderExplanation(problem)).toContain(message);
  });

  test('that a message proposes is valid', () => {
    for (const schedule of ['0 22-23,0-2 * * *', '5-59/15 * * * *', '0 0 * * 5-6,0-1', '0 0 1 OCT *']) {
      expect(scheduleProblem(schedule)).toBeUndefined();
    }
  });
});

describe('a time zone', () => {
  const ordinary = ['UTC', 'Europe/Berlin', 'Asia/Kolkata', 'America/Argentina/Buenos_Aires', 'Europe/Kyiv'];
  const old = ['GMT', 'Etc/GMT+5', 'EST', 'PST8PDT', 'NZ', 'US/Pacific', 'Asia/Calcutta'];

  test.each([...ordinary, ...old])('%s is known', (zone) => {
    expect(timeZoneProblem(zone)).toBeUndefined();
  });

  test('is in the list if Node lists it', () => {
    expect(Intl.supportedValuesOf('timeZone').filter((zone) => !timeZoneNames.has(zone))).toEqual([]);
  });

  test('of the list can be used by Node, except Factory', () => {
    expect([...timeZoneNames].filter((zone) => timeZoneProblem(zone))).toEqual(['Factory']);
  });

  test.each([
    ['Europe/Berln', 'write Europe/Berlin'],
    ['Berlin', 'write Europe/Berlin'],
    ['new york', 'write America/New_York'],
    ['Asia/Kolkatta', 'write Asia/Kolkata'],
    ['UTCC', 'write UTC'],
    ['Etc/Utc', 'write Etc/UTC'],
    ['Gmt', 'write GMT'],
    ['Us/pacific', 'write US/Pacific'],
    ['Pst8pdt', 'write PST8PDT'],
    ['PST', 'write an IANA time zone, as in Europe/Berlin'],
    ['SystemV/EST5', 'write an IANA time zone, as in Europe/Berlin'],
    ['factory', 'write an IANA time zone, as in Europe/Berlin'],
    ['W. Europe Standard Time', 'write an IANA time zone, as in Europe/Berlin'],
    ['', 'write an IANA time zone, as in Europe/Berlin'],
  ])('%j is not: %s', (zone, advice) => {
    expect(timeZoneProblem(zone)).toEqual({
      problem: `${JSON.stringify(zone)} is not a known time zone`,
      remedy: advice,
    });
  });
});

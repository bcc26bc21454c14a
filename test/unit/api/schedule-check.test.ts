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
    ['0 22 * *', '"0 22 * *" has 4 fields; use five'],
    ['@daily', '"@daily" has 1 field; use five'],
    ['0 0 22 * * 1-5', 'has 6 fields; use five'],
    ['60 * * * *', 'the minute "60" cannot be read; use 0 to 59, for example'],
    ['0 24 * * *', 'the hour "24" cannot be read; use 0 to 23, for example'],
    ['0 22-2 * * *', 'the hour "22-2" cannot be read; use 22-23,0-2'],
    ['0 23-0 * * *', 'the hour "23-0" cannot be read; use 23,0'],
    ['5/15 * * * *', 'the minute "5/15" cannot be read; use 5-59/15'],
    ['*/90 * * * *', 'the minute "*/90" cannot be read; use 0 to 59, for example'],
    ['0 0 0 * *', 'the day of month "0" cannot be read; use 1 to 31, for example'],
    ['0 0 1 13 *', 'the month "13" cannot be read; use 1 to 12, for example'],
    ['0 0 1 Octobre *', 'the month "Octobre" cannot be read; use OCT'],
    ['0 0 * * Monday', 'the day of week "Monday" cannot be read; use MON'],
    ['0 0 * * 8', 'the day of week "8" cannot be read; use 0 (Sunday) to 6, for example'],
    ['0 0 * * 5-1', 'the day of week "5-1" cannot be read; use 5-6,0-1'],
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
    ['Europe/Berln', 'use Europe/Berlin'],
    ['Berlin', 'use Europe/Berlin'],
    ['new york', 'use America/New_York'],
    ['Asia/Kolkatta', 'use Asia/Kolkata'],
    ['UTCC', 'use UTC'],
    ['Etc/Utc', 'use Etc/UTC'],
    ['Gmt', 'use GMT'],
    ['Us/pacific', 'use US/Pacific'],
    ['Pst8pdt', 'use PST8PDT'],
    ['PST', 'use an IANA time zone, for example Europe/Berlin'],
    ['SystemV/EST5', 'use an IANA time zone, for example Europe/Berlin'],
    ['factory', 'use an IANA time zone, for example Europe/Berlin'],
    ['W. Europe Standard Time', 'use an IANA time zone, for example Europe/Berlin'],
    ['', 'use an IANA time zone, for example Europe/Berlin'],
  ])('%j is not: %s', (zone, advice) => {
    expect(timeZoneProblem(zone)).toEqual({
      problem: `${JSON.stringify(zone)} is not a known time zone`,
      remedy: advice,
    });
  });
});

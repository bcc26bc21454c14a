/** Tests when maintenance windows allow upgrades, including around clock changes. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Maintenance, MaintenanceWindow } from '../../../src/api/generated/collector-version-policy.ts';
import type { TimeRange } from '../../../src/base/time-range.ts';
import { minuteMs } from '../../../src/base/time-units.ts';
import { MaintenanceCalendar, type WindowVerdict } from '../../../src/policy/schedule/maintenance-calendar.ts';
import { randomRuns } from '../../support/random-runs.ts';
import { maintenanceOf, startableMinutes } from './calendar-oracle.ts';

const night: MaintenanceWindow = { schedule: '0 22 * * *', duration: '6h', timeZone: 'Europe/Berlin' };
const yearEnd = { name: 'year end', startTime: '2026-12-20T00:00:00Z', endTime: '2027-01-03T00:00:00Z' };

function at(time: string): number {
  return Date.parse(time);
}

function calendar(maintenance: Partial<Maintenance>): MaintenanceCalendar {
  return new MaintenanceCalendar({ cutoff: '30m', ...maintenance });
}

function windows(...all: readonly MaintenanceWindow[]): MaintenanceCalendar {
  return calendar({ windows: all, cutoff: '0s' });
}

function shown(verdict: WindowVerdict): string {
  if (verdict.kind === 'zoneUnreadable') return verdict.kind;
  const ms = verdict.kind === 'open' ? verdict.untilMs : verdict.opensAtMs;
  const until = ms === undefined ? 'ever' : Number.isFinite(ms) ? new Date(ms).toISOString().slice(0, 16) : 'Infinity';
  return `${verdict.kind} until ${until}`;
}

function span(found: TimeRange | undefined): readonly string[] | undefined {
  return found && [found.fromMs, found.toMs].map((ms) => new Date(ms).toISOString().slice(0, 16));
}

describe('a window', () => {
  test.each([
    ['before it opens', '2026-11-20T20:59:59Z', 'closed until 2026-11-20T21:00'],
    ['as it opens', '2026-11-20T21:00:00Z', 'open until 2026-11-21T03:00'],
    ['as it closes', '2026-11-21T03:00:00Z', 'closed until 2026-11-21T21:00'],
  ])('%s', (_, now, expected) => {
    expect(shown(windows(night).verdict(at(now), undefined))).toBe(expected);
  });

  test('names the end of the wait', () => {
    expect(windows(night).verdict(at('2026-11-20T12:00Z'), undefined)).toEqual({
      kind: 'closed',
      opensAtMs: at('2026-11-20T21:00Z'),
      because: { kind: 'window' },
    });
  });

  test('without a time zone is in UTC', () => {
    const utc = windows({ schedule: '0 22 * * *', duration: '6h' });
    expect(shown(utc.verdict(at('2026-07-01T12:00Z'), undefined))).toBe('closed until 2026-07-01T22:00');
  });

  test('of a week is still open on its last day', () => {
    const week = windows({ schedule: '0 0 * * 1', duration: '167h' });
    expect(shown(week.verdict(at('2026-11-22T22:59Z'), undefined))).toBe('open until 2026-11-22T23:00');
    expect(span(week.nextWindow(at('2026-11-22T22:59Z'), []))).toEqual(['2026-11-16T00:00', '2026-11-22T23:00']);
  });

  test('opens in the order of local times when the clocks skip two hours', () => {
    const troll = windows({ schedule: '0,30 2,3 * * 0', duration: '1m', timeZone: 'Antarctica/Troll' });
    const opens: string[] = [];
    for (let nowMs = at('2026-03-29T00:00Z'); opens.length < 4; ) {
      const next = troll.nextWindow(nowMs, []);
      opens.push(span(next)?.[0] as string);
      nowMs = next?.toMs as number;
    }
    // The clocks go forward by two hours, so the local times 2:00 and 2:30 are skipped. The windows at these times open
    // two hours later.
    expect(opens.map((time) => time.slice(11))).toEqual(['01:00', '01:30', '02:00', '02:30']);
  });

  test('may open once in several years', () => {
    const leap = windows({ schedule: '0 0 29 2 *', duration: '1h' });
    expect(shown(leap.verdict(at('2096-03-01T00:00Z'), undefined))).toBe('closed until 2104-02-29T00:00');
  });
});

describe('a change of the clocks', () => {
  const half = (timeZone: string, schedule = '30 2 * * *') => ({ schedule, duration: '1h', timeZone });
  test.each([
    // If the clocks skip a window's opening time, the window opens later by the amount skipped.
    ['Europe/Berlin', '30 2 * * *', '2026-03-29T00:00Z', ['2026-03-29T01:30', '2026-03-29T02:30']],
    ['America/New_York', '30 2 * * *', '2026-03-08T05:00Z', ['2026-03-08T07:30', '2026-03-08T08:30']],
    ['Australia/Lord_Howe', '15 2 * * *', '2026-10-03T12:00Z', ['2026-10-03T15:45', '2026-10-03T16:45']],
    ['America/Nuuk', '30 23 * * *', '2026-03-29T00:00Z', ['2026-03-29T01:30', '2026-03-29T02:30']],
    // A window whose opening time occurs twice opens only the first time.
    ['Europe/Berlin', '30 2 * * *', '2026-10-25T00:00Z', ['2026-10-25T00:30', '2026-10-25T01:30']],
    ['Europe/Berlin', '30 2 * * *', '2026-10-25T01:30Z', ['2026-10-26T01:30', '2026-10-26T02:30']],
    ['America/New_York', '30 1 * * *', '2026-11-01T05:00Z', ['2026-11-01T05:30', '2026-11-01T06:30']],
    ['America/New_York', '30 1 * * *', '2026-11-01T06:30Z', ['2026-11-02T06:30', '2026-11-02T07:30']],
    ['Australia/Lord_Howe', '45 1 * * *', '2026-04-04T14:00Z', ['2026-04-04T14:45', '2026-04-04T15:45']],
    // If the clocks do not change, the window opens at its usual local time.
    ['Europe/Berlin', '30 2 * * *', '2026-03-28T00:00Z', ['2026-03-28T01:30', '2026-03-28T02:30']],
    ['Asia/Kolkata', '30 2 * * *', '2026-03-28T20:00Z', ['2026-03-28T21:00', '2026-03-28T22:00']],
    ['UTC', '30 2 * * *', '2026-03-29T00:00Z', ['2026-03-29T02:30', '2026-03-29T03:30']],
  ])('in %s, %s after %s', (zone, schedule, now, expected) => {
    expect(span(windows(half(zone, schedule)).nextWindow(at(now), []))).toEqual(expected);
  });

  test('does not change the length of a window', () => {
    const spring = windows(night).nextWindow(at('2026-03-28T12:00Z'), []);
    const autumn = windows(night).nextWindow(at('2026-10-24T12:00Z'), []);
    expect(span(spring)).toEqual(['2026-03-28T21:00', '2026-03-29T03:00']);
    expect(span(autumn)).toEqual(['2026-10-24T20:00', '2026-10-25T02:00']);
  });

  test('keeps the windows of a list in the order of their instants', () => {
    const list = windows({ schedule: '30 2,3 * * *', duration: '20m', timeZone: 'Europe/Berlin' });
    // The clocks skip 2:30, so the window at 2:30 opens at 3:30 and merges with the window at 3:30.
    expect(span(list.nextWindow(at('2026-03-29T00:00Z'), []))).toEqual(['2026-03-29T01:30', '2026-03-29T01:50']);
    const crossed = windows({ schedule: '15,45 2,3 * * *', duration: '5m', timeZone: 'Europe/Berlin' });
    expect(span(crossed.nextWindow(at('2026-03-29T01:20Z'), []))).toEqual(['2026-03-29T01:45', '2026-03-29T01:50']);
  });

  test('leaves one hour closed between windows that otherwise follow each other immediately', () => {
    const day = windows({ schedule: '0 22 * * *', duration: '24h', timeZone: 'Europe/Berlin' });
    expect(span(day.nextWindow(at('2026-10-01T12:00Z'), []))).toEqual(['2025-10-26T21:00', '2026-10-25T20:00']);
    expect(shown(day.verdict(at('2026-10-25T20:30Z'), undefined))).toBe('closed until 2026-10-25T21:00');
  });
});

describe('several windows', () => {
  const evening = { schedule: '0 20 * * *', duration: '2h' };
  const later = { schedule: '0 22 * * *', duration: '2h' };
  test.each([
    ['that follow each other immediately', [evening, later], '2026-11-21T00:00'],
    ['that overlap', [evening, { schedule: '0 21 * * *', duration: '2h' }], '2026-11-20T23:00'],
    ['of which one contains the other', [{ schedule: '0 21 * * *', duration: '10m' }, evening], '2026-11-20T22:00'],
    ['apart', [evening, { schedule: '1 22 * * *', duration: '2h' }], '2026-11-20T22:00'],
  ])('%s are open until %s', (_, all, endsAt) => {
    expect(span(windows(...all).nextWindow(at('2026-11-20T21:30Z'), []))).toEqual(['2026-11-20T20:00', endsAt]);
  });

  test('have one cutoff, before their common end', () => {
    const both = calendar({ windows: [evening, later], cutoff: '1h30m' });
    expect(shown(both.verdict(at('2026-11-20T20:15Z'), undefined))).toBe('open until 2026-11-20T22:30');
    expect(shown(both.verdict(at('2026-11-20T22:30Z'), undefined))).toBe('closed until 2026-11-21T20:00');
  });

  test('that are never all closed are open without an end', () => {
    const always = windows({ schedule: '0 0 * * *', duration: '24h' });
    expect(always.verdict(at('2026-11-20T12:00Z'), undefined)).toEqual({
      kind: 'open',
      untilMs: Number.POSITIVE_INFINITY,
    });
    expect(always.nextWindow(at('2026-11-20T12:00Z'), [])).toBeUndefined();
  });

  test('that follow each other for months open again after an exclusion', () => {
    const often = calendar({
      windows: [{ schedule: '*/3 * * * *', duration: '5m', timeZone: 'America/New_York' }],
      exclusions: [{ name: 'frozen', startTime: '2026-10-31T23:58:53Z', endTime: '2026-11-01T00:08:00Z' }],
    });
    // The clocks go back, so at 6:02 UTC the local hour occurs for the second time.
    expect(span(often.nextWindow(at('2026-11-01T00:00Z'), []))).toEqual(['2026-11-01T00:08', '2026-11-01T06:02']);
  });

  test('of every minute are computed as fast as those of every day', () => {
    const each = windows(...Array.from({ length: 10 }, () => ({ schedule: '* * * * *', duration: '1m' })));
    expect(shown(each.verdict(at('2026-11-20T12:00Z'), undefined))).toBe('open until Infinity');
  });
});

describe('the cutoff', () => {
  const cut = calendar({ windows: [night] });
  test.each([
    ['2026-11-21T02:29:59Z', 'open until 2026-11-21T02:30'],
    ['2026-11-21T02:30:00Z', 'closed until 2026-11-21T21:00'],
  ])('at %s: %s', (now, expected) => {
    expect(shown(cut.verdict(at(now), undefined))).toBe(expected);
  });

  test('does not change whether a window counts as open', () => {
    expect(span(cut.nextWindow(at('2026-11-21T02:45Z'), []))).toEqual(['2026-11-20T21:00', '2026-11-21T03:00']);
    expect(span(cut.nextWindow(at('2026-11-21T03:00Z'), []))).toEqual(['2026-11-21T21:00', '2026-11-22T03:00']);
  });

  test('removes windows that are not longer than the cutoff', () => {
    const short = { schedule: '0 20 * * *', duration: '30m' };
    expect(shown(calendar({ windows: [short, night] }).verdict(at('2026-11-20T12:00Z'), undefined))).toBe(
      'closed until 2026-11-20T21:00',
    );
    expect(calendar({ windows: [short] }).verdict(at('2026-11-20T12:00Z'), undefined)).toEqual({
      kind: 'closed',
      opensAtMs: undefined,
      because: { kind: 'noWindow', cutoffMs: 30 * 60_000 },
    });
  });
});

describe('an exclusion', () => {
  const excluded = { kind: 'closed', because: { kind: 'exclusion', name: 'year end' } };
  const both = calendar({ windows: [night], exclusions: [yearEnd] });
  const alone = calendar({ exclusions: [yearEnd] });

  test('alone closes a calendar without windows from its start to before its end, with a cutoff before it', () => {
    expect(shown(alone.verdict(at('2026-12-19T23:29:59Z'), undefined))).toBe('open until 2026-12-19T23:30');
    const closed = { ...excluded, opensAtMs: at(yearEnd.endTime) };
    expect(alone.verdict(at('2026-12-19T23:30Z'), undefined)).toEqual(closed);
    expect(alone.verdict(at(yearEnd.endTime) - 1, undefined)).toEqual(closed);
    expect(shown(alone.verdict(at(yearEnd.endTime), undefined))).toBe('open until Infinity');
    expect(alone.nextWindow(at('2026-12-19T23:30Z'), [])).toBeUndefined();
  });

  test('interrupts a window, which continues after it', () => {
    expect(shown(both.verdict(at('2026-12-19T22:00Z'), undefined))).toBe('open until 2026-12-19T23:30');
    expect(span(both.nextWindow(at('2026-12-19T22:00Z'), []))).toEqual(['2026-12-19T21:00', '2026-12-20T00:00']);
    expect(shown(both.verdict(at('2027-01-03T00:00Z'), undefined))).toBe('open until 2027-01-03T02:30');
    expect(span(both.nextWindow(at('2026-12-25T22:00Z'), []))).toEqual(['2027-01-03T00:00', '2027-01-03T03:00']);
    expect(span(both.nextWindow(at('2027-01-03T01:00Z'), []))).toEqual(['2027-01-03T00:00', '2027-01-03T03:00']);
  });

  test('is named while it applies, whatever opens afterwards', () => {
    const weekly = calendar({ windows: [{ schedule: '0 12 * * 3', duration: '2h' }], exclusions: [yearEnd] });
    const opensAtMs = at('2027-01-06T12:00Z');
    expect(weekly.verdict(at('2026-12-19T12:00Z'), undefined)).toEqual({
      kind: 'closed',
      opensAtMs,
      because: { kind: 'window' },
    });
    expect(weekly.verdict(at('2026-12-20T00:00Z'), undefined)).toEqual({ ...excluded, opensAtMs });
  });

  test('that overlaps or touches others forms one period with them, named after the last one', () => {
    const exclusions = [
      { name: 'last', startTime: '2027-01-03T00:00:00Z', endTime: '2027-01-04T00:00:00+02:00' },
      { name: 'within', startTime: '2026-12-24T00:00:00Z', endTime: '2026-12-25T00:00:00Z' },
      yearEnd,
    ];
    expect(calendar({ exclusions }).verdict(at('2026-12-26T00:00Z'), undefined)).toEqual({
      kind: 'closed',
      opensAtMs: at('2027-01-03T22:00Z'),
      because: { kind: 'exclusion', name: 'last' },
    });
  });

  test('may last for a century', () => {
    const century = { name: 'century', startTime: '2026-01-01T00:00:00Z', endTime: '2126-01-01T00:00:00Z' };
    const every = calendar({
      windows: [{ schedule: '*/10 * * * *', duration: '5m' }],
      exclusions: [century],
      cutoff: '1m',
    });
    expect(shown(every.verdict(at('2026-06-01T00:00Z'), undefined))).toBe('closed until 2126-01-01T00:00');
  });
});

describe('windows in the time zones of collectors', () => {
  const own = windows({ schedule: '0 22 * * *', duration: '2h', timeZoneSource: 'Collector' });
  const now = at('2026-11-20T21:30Z');

  test('open at the local time of each collector', () => {
    expect(own.byCollector).toBe(true);
    expect(shown(own.verdict(now, 'Europe/Berlin'))).toBe('open until 2026-11-20T23:00');
    expect(shown(own.verdict(now, 'Asia/Kolkata'))).toBe('closed until 2026-11-21T16:30');
    expect(shown(own.verdict(now, 'UTC'))).toBe('closed until 2026-11-20T22:00');
  });

  test.each([undefined, '', 'Mars/Olympus'])('are closed for a collector with the zone %j', (zone) => {
    expect(own.verdict(now, zone)).toEqual({ kind: 'zoneUnreadable' });
  });

  test('open next where the first one begins among the zones of the collectors', () => {
    expect(span(own.nextWindow(now, ['UTC', 'Asia/Kolkata', 'Mars/Olympus']))).toEqual([
      '2026-11-20T22:00',
      '2026-11-21T00:00',
    ]);
    expect(own.nextWindow(now, ['Mars/Olympus'])).toBeUndefined();
  });

  test('can be combined with windows that are open for all collectors', () => {
    const fixed = { schedule: '0 21 * * *', duration: '1h', timeZone: 'UTC' };
    const mixed = windows({ schedule: '0 22 * * *', duration: '2h', timeZoneSource: 'Collector' }, fixed);
    expect(shown(mixed.verdict(now, 'UTC'))).toBe('open until 2026-11-21T00:00');
    expect(shown(mixed.verdict(now, 'Asia/Kolkata'))).toBe('open until 2026-11-20T22:00');
  });

  test('are the only windows for which the zone of a collector counts', () => {
    expect(windows(night).byCollector).toBe(false);
    expect(shown(windows(night).verdict(now, 'Mars/Olympus'))).toBe('open until 2026-11-21T03:00');
  });
});

test.each([undefined, {}, { windows: [], exclusions: [] }])('with %j upgrades may start at any time', (maintenance) => {
  const free = new MaintenanceCalendar(maintenance && { cutoff: '30m', ...maintenance });
  expect(free.verdict(at('2026-11-20T12:00Z'), undefined)).toEqual({ kind: 'open', untilMs: Number.POSITIVE_INFINITY });
  expect(free.nextWindow(at('2026-11-20T12:00Z'), ['UTC'])).toBeUndefined();
  expect([free.problem, free.byCollector]).toEqual([undefined, false]);
});

describe('an unreadable calendar', () => {
  const text = (member: object) => ({ ...night, ...member });
  const exclusion = { name: 'year end', startTime: 'Christmas', endTime: '2027-01-03T00:00:00Z' };
  test.each([
    [{ windows: [text({ schedule: '0 0 30 2 *' })] }, 'schedule: "0 0 30 2 *" never occurs'],
    [{ windows: [night, text({ schedule: '0 24 * * *' })] }, 'schedule: the hour "24" cannot be read; use'],
    [{ windows: [text({ timeZone: 'Europe/Berln' })] }, 'timeZone: "Europe/Berln" is not a known time zone; use'],
    [
      { exclusions: [exclusion] },
      'exclusion "year end": "Christmas" is not a valid time; use one such as 2026-12-20T00:00:00Z',
    ],
  ])('opens no window: %j', (maintenance, problem) => {
    const broken = calendar(maintenance);
    expect(broken.problem).toContain(problem);
    expect(broken.verdict(0, 'UTC')).toEqual({
      kind: 'closed',
      opensAtMs: undefined,
      because: { kind: 'calendarProblem', problem: broken.problem },
    });
    expect(broken.nextWindow(0, ['UTC'])).toBeUndefined();
  });
});

test('a clock that is set back counts', () => {
  const one = windows(night);
  expect(shown(one.verdict(at('2026-11-20T22:00Z'), undefined))).toBe('open until 2026-11-21T03:00');
  expect(shown(one.verdict(at('2026-11-20T20:00Z'), undefined))).toBe('closed until 2026-11-20T21:00');
});

test('a verdict is the same object until it changes', () => {
  const one = windows(night);
  const before = one.verdict(at('2026-11-20T21:00Z'), undefined);
  expect(one.verdict(at('2026-11-21T02:59Z'), undefined)).toBe(before);
  expect(one.verdict(at('2026-11-21T03:00Z'), undefined)).not.toBe(before);
});

describe('compared with a model that evaluates every minute', () => {
  /** Time zones, each with the time of a clock change. */
  const changes = [
    ['Europe/Berlin', '2026-03-29T01:00Z'],
    ['Europe/Berlin', '2026-10-25T01:00Z'],
    ['America/New_York', '2026-03-08T07:00Z'],
    ['America/New_York', '2026-11-01T06:00Z'],
    ['Australia/Lord_Howe', '2026-04-04T15:00Z'],
    ['Australia/Lord_Howe', '2026-10-03T15:30Z'],
    ['America/Nuuk', '2026-03-29T01:00Z'],
    ['America/Nuuk', '2026-10-25T01:00Z'],
    ['Antarctica/Troll', '2026-03-29T01:00Z'],
    ['Asia/Kolkata', '2026-03-29T01:00Z'],
    ['UTC', '2026-10-25T01:00Z'],
  ] as const;
  const count = 3 * 24 * 60;
  const some = (max: number, maxLength: number) =>
    fc.uniqueArray(fc.nat(max), { minLength: 1, maxLength }).map((numbers) => numbers.toSorted((a, b) => a - b));
  const hours = fc.oneof(some(3, 3), some(23, 4), fc.constant([...Array(24).keys()]));
  const window = fc.record({
    minutes: fc.oneof(some(59, 3), fc.constant([0, 30])),
    hours,
    weekdays: fc.option(some(6, 5), { nil: undefined }),
    durationMinutes: fc.oneof(fc.integer({ min: 1, max: 90 }), fc.integer({ min: 1, max: 168 * 60 })),
  });
  const exclusion = fc.record({
    start: fc.integer({ min: -600, max: count }),
    length: fc.integer({ min: 1, max: 2_000 }),
  });
  const given = fc.record({
    change: fc.constantFrom(...changes),
    otherZone: fc.constantFrom(...changes.map(([zone]) => zone)),
    windows: fc.array(window, { maxLength: 3 }),
    exclusions: fc.array(exclusion, { maxLength: 3 }),
    cutoff: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 120 })),
  });

  const cases = { numRuns: randomRuns(20), seed: 20_261_121 };

  test('the calendar always gives the same verdicts', () => {
    fc.assert(
      fc.property(given, ({ change: [zone, instant], otherZone, windows: plain, exclusions, cutoff }) => {
        const startMs = at(instant) - (count / 2) * minuteMs;
        const zoned = plain.map((one, index) => ({ ...one, zone: index === 1 ? otherZone : zone }));
        const excluded = exclusions.map(({ start, length }) => {
          const fromMs = startMs + start * minuteMs;
          return { startMs: fromMs, endMs: fromMs + length * minuteMs };
        });
        const expected = startableMinutes(zoned, excluded, cutoff, { startMs, count });
        const one = new MaintenanceCalendar(maintenanceOf(zoned, excluded, cutoff));
        expect(one.problem).toBeUndefined();
        const found = expected.map((_, minute) => one.verdict(startMs + minute * minuteMs, undefined));
        expect(found.map(({ kind }) => kind === 'open')).toEqual(expected);
        // The calendar and the independent model must agree on every time at which a window opens or closes.
        for (const [minute, verdict] of found.entries()) {
          const changed = expected.indexOf(!expected[minute], minute);
          if (changed === -1 || verdict.kind === 'zoneUnreadable') continue;
          const changesMs = verdict.kind === 'open' ? verdict.untilMs : verdict.opensAtMs;
          if (changesMs !== startMs + changed * minuteMs) expect([minute, changesMs]).toEqual([minute, changed]);
        }
      }),
      cases,
    );
  });

  test('the calendar names the same next windows, if there are no exclusions', () => {
    fc.assert(
      fc.property(given, fc.nat(count - 1), ({ change: [zone, instant], windows: plain }, minute) => {
        fc.pre(plain.length > 0);
        const startMs = at(instant) - (count / 2) * minuteMs;
        const zoned = plain.map((one) => ({ ...one, zone }));
        const open = startableMinutes(zoned, [], 0, { startMs, count });
        const next = new MaintenanceCalendar(maintenanceOf(zoned, [], 0)).nextWindow(startMs + minute * minuteMs, []);
        const first = open.indexOf(true, minute);
        if (first === -1) return;
        const begins = first === minute ? open.lastIndexOf(false, minute) + 1 : first;
        const ends = open.indexOf(false, first);
        if (begins > 0) expect((next?.fromMs ?? Number.NaN) - startMs).toBe(begins * minuteMs);
        if (ends !== -1) expect((next?.toMs ?? Number.NaN) - startMs).toBe(ends * minuteMs);
      }),
      cases,
    );
  });
});

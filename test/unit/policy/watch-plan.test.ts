/**
 * Tests how the operator follows running upgrades: by reading pages of the collector list, single tasks, or the whole
 * list (U9).
 */
import { describe, expect, test } from 'vitest';
import { minuteMs } from '../../../src/base/time-units.ts';
import type { Row } from '../../../src/fleet/fleet-rows.ts';
import { planWatch, type TaskReads, type WatchInput, type WatchPlan } from '../../../src/policy/attempts/watch-plan.ts';
import type { Entry } from '../../../src/policy/ledger/ledger.ts';
import { collector, oldVersion, openEntry, settings } from './builders.ts';

const { graceMs, openLimitMs, firstReadMs } = settings;
const typicalMs = 3 * minuteMs;

const open = (id: string, more: Parameters<typeof openEntry>[0] = {}): Entry => ({
  ...openEntry(more),
  collectorId: id,
});
const accepted = (sinceMs: number, ...ids: readonly string[]) => ids.map((id) => open(id, { sinceMs }));
const row = (id: string, seenAtMs: number): Row => ({
  collector: collector(id, { collectorVersion: oldVersion }),
  seenAtMs,
  position: 0,
  formerVersion: undefined,
});
const reads = (of: Readonly<Record<string, Partial<TaskReads>>>): ReadonlyMap<string, TaskReads> =>
  new Map(Object.entries(of).map(([id, one]) => [id, { count: 1, lastMs: 0, previousMs: undefined, ...one }]));

/**
 * Returns the list pages and task statuses that the operator should read. Each page has ten collectors, so collectors
 * 10 to 19 are on page 1.
 */
function plan(
  entries: readonly Entry[],
  nowMs: number,
  more: Partial<WatchInput> & Partial<WatchInput['listing']> = {},
): WatchPlan {
  return planWatch({
    open: entries,
    needed: [],
    listing: {
      row: (id) => row(id, 0),
      pageOf: (id) => Math.floor(Number(id) / 10),
      pageReadMs: () => undefined,
      observes: () => true,
      ...more,
    },
    reads: new Map(),
    typicalMs,
    pressed: false,
    nowMs,
    settings,
    ...more,
  });
}

const nothing = { pages: new Map(), tasks: [], needsTasks: false, sweepAfterMs: undefined };

test('without open attempts, nothing is read, and no time is due', () => {
  expect(plan([], 100)).toEqual({ ...nothing, nextMs: Infinity });
});

test('an attempt that is only written ahead is not read, because its POST gives the outcome', () => {
  expect(plan([open('1', { state: 'intended' })], 100 * minuteMs)).toEqual({ ...nothing, nextMs: Infinity });
});

describe('while the duration of upgrades is unknown', () => {
  const unknown = { typicalMs: undefined };

  test('the three oldest tasks are read often, and the others wait for the result', () => {
    const entries = [...accepted(300, '4', '5'), ...accepted(100, '1'), ...accepted(200, '2', '3')];
    expect(plan(entries, 200 + firstReadMs, unknown)).toMatchObject({ tasks: ['1', '2', '3'] });
  });

  test('reads begin some time after the acceptance', () => {
    const waiting = plan(accepted(100, '1'), 99 + firstReadMs, unknown);
    expect(waiting).toEqual({ ...nothing, needsTasks: true, nextMs: 100 + firstReadMs });
    expect(plan(accepted(100, '1'), 100 + firstReadMs, unknown).tasks).toEqual(['1']);
  });

  test('and each task is read again after the same time', () => {
    const read = { ...unknown, reads: reads({ 1: { lastMs: 50_000 } }) };
    expect(plan(accepted(100, '1'), 49_999 + firstReadMs, read)).toEqual({
      ...nothing,
      needsTasks: true,
      nextMs: 50_000 + firstReadMs,
    });
    expect(plan(accepted(100, '1'), 50_000 + firstReadMs, read).tasks).toEqual(['1']);
  });

  test('tasks that take too long are replaced by others', () => {
    const hanging = reads({ 1: { count: 20 }, 2: { count: 20 }, 3: { count: 20 } });
    const entries = accepted(100, '1', '2', '3', '4', '5', '6', '7');
    expect(plan(entries, 10 * minuteMs, { ...unknown, reads: hanging }).tasks).toEqual(['4', '5', '6']);
  });
});

describe('when the duration of upgrades is known', () => {
  test('nothing is read before the usual duration', () => {
    expect(plan(accepted(100, '1', '2'), 99 + typicalMs)).toEqual({ ...nothing, nextMs: 100 + typicalMs });
  });

  test('a page with at least two due collectors is read', () => {
    const { pages, tasks } = plan(accepted(100, '10', '11', '12'), 100 + typicalMs);
    expect(pages).toEqual(new Map([[1, 100 + typicalMs]]));
    expect(tasks).toEqual([]);
  });

  test('a single due collector is read by its task, which takes fewer requests', () => {
    const { pages, tasks } = plan([...accepted(100, '10', '20', '21')], 100 + typicalMs);
    expect(pages).toEqual(new Map([[2, 100 + typicalMs]]));
    expect(tasks).toEqual(['10']);
  });

  test('but not if its page is read anyway', () => {
    const entries = [open('11', { state: 'unknown', sinceMs: 0 }), ...accepted(100, '10')];
    const { pages, tasks } = plan(entries, 100 + typicalMs);
    expect(pages).toEqual(new Map([[1, 100 + typicalMs]]));
    expect(tasks).toEqual([]);
  });

  test('the page must be sent after the last of its collectors became due', () => {
    const entries = [...accepted(100, '10'), ...accepted(900, '11')];
    expect(plan(entries, 5_000 + typicalMs).pages).toEqual(new Map([[1, 900 + typicalMs]]));
  });

  test('a page waits for collectors that are due soon', () => {
    const entries = [...accepted(100, '10', '11'), ...accepted(20_000, '12')];
    expect(plan(entries, 10_000 + typicalMs)).toEqual({ ...nothing, nextMs: 20_000 + typicalMs });
    expect(plan(entries, 20_000 + typicalMs).pages).toEqual(new Map([[1, 20_000 + typicalMs]]));
  });

  test('but at most for a third of the usual duration', () => {
    const waitMs = Math.min(settings.pageWaitMs, typicalMs / 3);
    const entries = [...accepted(100, '10', '11'), ...accepted(1_000 + waitMs, '12')];
    const { pages } = plan(entries, 100 + typicalMs + waitMs);
    expect(pages).toEqual(new Map([[1, 100 + typicalMs]]));
  });

  test('and much shorter while collectors wait for capacity', () => {
    const entries = [...accepted(100, '10', '11'), ...accepted(20_000, '12')];
    const { pages } = plan(entries, 10_000 + typicalMs, { pressed: true });
    expect(pages).toEqual(new Map([[1, 100 + typicalMs]]));
  });

  test('U7: after a takeover, reads begin G later', () => {
    const taken = [open('10', { sinceMs: 0, needsGrace: true }), open('11', { sinceMs: 0, needsGrace: true })];
    const short = { typicalMs: 1_000 };
    expect(plan(taken, graceMs - 1, short)).toEqual({ ...nothing, nextMs: graceMs });
    expect(plan(taken, graceMs, short).pages).toEqual(new Map([[1, graceMs]]));
  });

  test('U7: a collector that no listing shows is read by its task', () => {
    const { pages, tasks } = plan(accepted(100, '10', '11'), 100 + typicalMs, { observes: () => false });
    expect(pages.size).toBe(0);
    expect(tasks).toEqual(['10', '11']);
  });

  test('and so is a collector without a known page', () => {
    const { pages, tasks } = plan(accepted(100, '10', '11'), 100 + typicalMs, { pageOf: () => undefined });
    expect(pages.size).toBe(0);
    expect(tasks).toEqual(['10', '11']);
  });
});

describe('an upgrade that takes longer than usual', () => {
  const entries = accepted(0, '10', '11');
  const seen = (seenAtMs: number) => ({ row: (id: string) => row(id, seenAtMs) });

  test('is read by its task, some time after a page showed the former version', () => {
    const later = typicalMs + typicalMs / 4;
    expect(plan(entries, later - 1, seen(typicalMs))).toEqual({ ...nothing, needsTasks: true, nextMs: later });
    expect(plan(entries, later, seen(typicalMs)).tasks).toEqual(['10', '11']);
  });

  test('is also read by its task if the page lacks the collector', () => {
    const later = typicalMs + typicalMs / 4;
    expect(plan(entries, later, { pageReadMs: () => typicalMs }).tasks).toEqual(['10', '11']);
  });

  test('is read less and less often, but at least every five minutes', () => {
    const readAtMs = 6 * minuteMs;
    const next = (count: number) =>
      plan(accepted(0, '10'), readAtMs, { reads: reads({ 10: { count, lastMs: readAtMs } }) }).nextMs;
    expect(next(1)).toBe(readAtMs + typicalMs / 2);
    expect(next(2)).toBe(readAtMs + typicalMs);
    expect(next(3)).toBe(readAtMs + 5 * minuteMs);
    expect(next(50)).toBe(readAtMs + 5 * minuteMs);
  });

  test('is read at the earliest ten seconds after the last read', () => {
    const short = { typicalMs: 4_000, reads: reads({ 10: { count: 0, lastMs: 4_000 } }) };
    expect(plan(accepted(0, '10'), 4_000, short).nextMs).toBe(14_000);
  });
});

describe('U3: an unknown outcome', () => {
  const unknown = [open('10', { state: 'unknown', sinceMs: 1_000 })];

  test('needs a listing sent G later', () => {
    expect(plan(unknown, 999 + graceMs)).toEqual({ ...nothing, nextMs: 1_000 + graceMs });
    expect(plan(unknown, 1_000 + graceMs)).toMatchObject({
      pages: new Map([[1, 1_000 + graceMs]]),
      sweepAfterMs: undefined,
    });
  });

  test('and no other read after that', () => {
    const seen = { row: (id: string) => row(id, 1_000 + graceMs) };
    expect(plan(unknown, 2_000 + graceMs, seen)).toEqual({ ...nothing, nextMs: 1_000 + openLimitMs });
  });

  test('needs another listing after a probe without a response', () => {
    const probed = [open('10', { state: 'unknown', sinceMs: 1_000, probedAtMs: 70_000 })];
    const seen = { row: (id: string) => row(id, 1_000 + graceMs) };
    expect(plan(probed, 80_000, seen).nextMs).toBe(70_000 + graceMs);
    expect(plan(probed, 70_000 + graceMs, seen).pages).toEqual(new Map([[1, 70_000 + graceMs]]));
  });

  test.each([
    ['has no known page', { pageOf: () => undefined }],
    ['is missing on its page', { pageReadMs: () => 1_000 + graceMs }],
  ])('of a collector that %s needs a sweep', (_, more) => {
    expect(plan(unknown, 1_000 + graceMs, more)).toMatchObject({ pages: new Map(), sweepAfterMs: 1_000 + graceMs });
  });

  test('of several collectors needs one sweep, after the last of them', () => {
    const several = [
      ...unknown,
      open('11', { state: 'unknown', sinceMs: 5_000 }),
      open('12', { state: 'unknown', sinceMs: 2_000 }),
    ];
    expect(plan(several, 2 * minuteMs, { pageOf: () => undefined }).sweepAfterMs).toBe(5_000 + graceMs);
  });
});

describe('U10: an adopted upgrade', () => {
  const adopted = [open('10', { state: 'adopted', ours: false, sinceMs: 1_000 })];

  test('is read after the usual duration', () => {
    expect(plan(adopted, 999 + typicalMs)).toEqual({ ...nothing, nextMs: 1_000 + typicalMs });
    expect(plan(adopted, 1_000 + typicalMs).pages).toEqual(new Map([[1, 1_000 + typicalMs]]));
  });

  test('is read again after half the usual duration, at most every G', () => {
    const seenAtMs = 10 * minuteMs;
    const seen = { row: (id: string) => row(id, seenAtMs) };
    expect(plan(adopted, seenAtMs, seen).nextMs).toBe(seenAtMs + typicalMs / 2);
    expect(plan(adopted, seenAtMs, { ...seen, typicalMs: 10_000 }).nextMs).toBe(seenAtMs + graceMs);
  });

  test('is assumed to take three minutes while no duration is known', () => {
    expect(plan(adopted, 2_000, { typicalMs: undefined }).nextMs).toBe(1_000 + 3 * minuteMs);
  });
});

describe('U5: 35 minutes after the start of an attempt', () => {
  const limitMs = 1_000 + openLimitMs;

  test.each(['accepted', 'unknown', 'adopted'] as const)(
    'an attempt that is %s is judged by a new listing',
    (state) => {
      const { pages, tasks } = plan([open('10', { state, sinceMs: 1_000 })], limitMs);
      expect(pages).toEqual(new Map([[1, limitMs]]));
      expect(tasks).toEqual([]);
    },
  );

  test('also if no other read is due earlier', () => {
    const blind = { typicalMs: 40 * minuteMs };
    expect(plan(accepted(1_000, '10'), 2_000, blind).nextMs).toBe(limitMs);
  });

  test('by a sweep if no page shows it', () => {
    expect(plan(accepted(1_000, '10'), limitMs, { pageOf: () => undefined }).sweepAfterMs).toBe(limitMs);
  });

  test('and by no other read after that', () => {
    expect(plan(accepted(1_000, '10'), limitMs + 5, { row: (id) => row(id, limitMs) })).toEqual({
      ...nothing,
      nextMs: Infinity,
    });
  });
});

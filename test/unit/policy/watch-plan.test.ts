/**
 * Tests of the reads that the operator plans to follow upgrades, and of their times. It reads pages of the collector list for
 * many attempts in flight, single tasks for few attempts, and the whole list when neither is enough (U9).
 */
import { describe, expect, test } from 'vitest';
import type { Row } from '../../../src/fleet/fleet-rows.ts';
import { planWatch, type TaskReads, type WatchInput, type WatchPlan } from '../../../src/policy/attempts/watch-plan.ts';
import type { Entry } from '../../../src/policy/ledger/ledger.ts';
import { collector, minuteMs, oldVersion, openEntry, settings } from './builders.ts';

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

/** Plans the reads for these ledger entries. A page of the list has ten collectors, so collectors 10 to 19 are on page 1. */
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

const nothing = { pages: new Map(), tasks: [], sweepAfterMs: undefined };

test('without open attempts there is nothing to read, and nothing to wait for', () => {
  expect(plan([], 100)).toEqual({ ...nothing, nextMs: Infinity });
});

test('what is only written ahead is for its POST to tell', () => {
  expect(plan([open('1', { state: 'intended' })], 100 * minuteMs)).toEqual({ ...nothing, nextMs: Infinity });
});

describe('before anything is known of how long upgrades take', () => {
  const unknown = { typicalMs: undefined };

  test('the three oldest are read closely, the rest waits for what they teach', () => {
    const entries = [...accepted(300, '4', '5'), ...accepted(100, '1'), ...accepted(200, '2', '3')];
    expect(plan(entries, 200 + firstReadMs, unknown)).toMatchObject({ tasks: ['1', '2', '3'] });
  });

  test('from the first read after the acceptance on', () => {
    const waiting = plan(accepted(100, '1'), 99 + firstReadMs, unknown);
    expect(waiting).toEqual({ ...nothing, nextMs: 100 + firstReadMs });
    expect(plan(accepted(100, '1'), 100 + firstReadMs, unknown).tasks).toEqual(['1']);
  });

  test('and each again as long after its last read', () => {
    const read = { ...unknown, reads: reads({ 1: { lastMs: 50_000 } }) };
    expect(plan(accepted(100, '1'), 49_999 + firstReadMs, read)).toEqual({ ...nothing, nextMs: 50_000 + firstReadMs });
    expect(plan(accepted(100, '1'), 50_000 + firstReadMs, read).tasks).toEqual(['1']);
  });

  test('those that hang give way to others, so that these are not held up by them', () => {
    const hanging = reads({ 1: { count: 20 }, 2: { count: 20 }, 3: { count: 20 } });
    const entries = accepted(100, '1', '2', '3', '4', '5', '6', '7');
    expect(plan(entries, 10 * minuteMs, { ...unknown, reads: hanging }).tasks).toEqual(['4', '5', '6']);
  });
});

describe('once it is known', () => {
  test('no collector is looked at before upgrades have ended', () => {
    expect(plan(accepted(100, '1', '2'), 99 + typicalMs)).toEqual({ ...nothing, nextMs: 100 + typicalMs });
  });

  test('a page that shows two or more that are due is read', () => {
    const { pages, tasks } = plan(accepted(100, '10', '11', '12'), 100 + typicalMs);
    expect(pages).toEqual(new Map([[1, 100 + typicalMs]]));
    expect(tasks).toEqual([]);
  });

  test('a single one is cheaper to ask for by its task', () => {
    const { pages, tasks } = plan([...accepted(100, '10', '20', '21')], 100 + typicalMs);
    expect(pages).toEqual(new Map([[2, 100 + typicalMs]]));
    expect(tasks).toEqual(['10']);
  });

  test('but not where its page is read anyway', () => {
    const entries = [open('11', { state: 'unknown', sinceMs: 0 }), ...accepted(100, '10')];
    const { pages, tasks } = plan(entries, 100 + typicalMs);
    expect(pages).toEqual(new Map([[1, 100 + typicalMs]]));
    expect(tasks).toEqual([]);
  });

  test('the page must be sent after the last of them was due', () => {
    const entries = [...accepted(100, '10'), ...accepted(900, '11')];
    expect(plan(entries, 5_000 + typicalMs).pages).toEqual(new Map([[1, 900 + typicalMs]]));
  });

  test('a page waits for those that will be due soon', () => {
    const entries = [...accepted(100, '10', '11'), ...accepted(20_000, '12')];
    expect(plan(entries, 10_000 + typicalMs)).toEqual({ ...nothing, nextMs: 20_000 + typicalMs });
    expect(plan(entries, 20_000 + typicalMs).pages).toEqual(new Map([[1, 20_000 + typicalMs]]));
  });

  test('but no longer than a third of an upgrade', () => {
    const waitMs = Math.min(settings.pageWaitMs, typicalMs / 3);
    const entries = [...accepted(100, '10', '11'), ...accepted(1_000 + waitMs, '12')];
    const { pages } = plan(entries, 100 + typicalMs + waitMs);
    expect(pages).toEqual(new Map([[1, 100 + typicalMs]]));
  });

  test('and much shorter where places are wanted', () => {
    const entries = [...accepted(100, '10', '11'), ...accepted(20_000, '12')];
    const { pages } = plan(entries, 10_000 + typicalMs, { pressed: true });
    expect(pages).toEqual(new Map([[1, 100 + typicalMs]]));
  });

  test('U7: after a takeover, no sooner than G', () => {
    const taken = [open('10', { sinceMs: 0, needsGrace: true }), open('11', { sinceMs: 0, needsGrace: true })];
    const short = { typicalMs: 1_000 };
    expect(plan(taken, graceMs - 1, short)).toEqual({ ...nothing, nextMs: graceMs });
    expect(plan(taken, graceMs, short).pages).toEqual(new Map([[1, graceMs]]));
  });

  test('U7: a collector that cannot be seen in a listing is asked for by its task', () => {
    const { pages, tasks } = plan(accepted(100, '10', '11'), 100 + typicalMs, { observes: () => false });
    expect(pages.size).toBe(0);
    expect(tasks).toEqual(['10', '11']);
  });

  test('so is who has no page', () => {
    const { pages, tasks } = plan(accepted(100, '10', '11'), 100 + typicalMs, { pageOf: () => undefined });
    expect(pages.size).toBe(0);
    expect(tasks).toEqual(['10', '11']);
  });
});

describe('a collector that should have ended and has not', () => {
  const entries = accepted(0, '10', '11');
  const seen = (seenAtMs: number) => ({ row: (id: string) => row(id, seenAtMs) });

  test('is asked for by its own task, some time after the page showed it', () => {
    const later = typicalMs + typicalMs / 4;
    expect(plan(entries, later - 1, seen(typicalMs))).toEqual({ ...nothing, nextMs: later });
    expect(plan(entries, later, seen(typicalMs)).tasks).toEqual(['10', '11']);
  });

  test('also where the page says so by not showing it', () => {
    const later = typicalMs + typicalMs / 4;
    expect(plan(entries, later, { pageReadMs: () => typicalMs }).tasks).toEqual(['10', '11']);
  });

  test('ever more rarely, and at least every five minutes', () => {
    const readAtMs = 6 * minuteMs;
    const next = (count: number) =>
      plan(accepted(0, '10'), readAtMs, { reads: reads({ 10: { count, lastMs: readAtMs } }) }).nextMs;
    expect(next(1)).toBe(readAtMs + typicalMs / 2);
    expect(next(2)).toBe(readAtMs + typicalMs);
    expect(next(3)).toBe(readAtMs + 5 * minuteMs);
    expect(next(50)).toBe(readAtMs + 5 * minuteMs);
  });

  test('and no sooner than ten seconds after the last look', () => {
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

  test('and no other once it was seen', () => {
    const seen = { row: (id: string) => row(id, 1_000 + graceMs) };
    expect(plan(unknown, 2_000 + graceMs, seen)).toEqual({ ...nothing, nextMs: 1_000 + openLimitMs });
  });

  test('after a probe that told nothing, needs another one', () => {
    const probed = [open('10', { state: 'unknown', sinceMs: 1_000, probedAtMs: 70_000 })];
    const seen = { row: (id: string) => row(id, 1_000 + graceMs) };
    expect(plan(probed, 80_000, seen).nextMs).toBe(70_000 + graceMs);
    expect(plan(probed, 70_000 + graceMs, seen).pages).toEqual(new Map([[1, 70_000 + graceMs]]));
  });

  test.each([
    ['has no page', { pageOf: () => undefined }],
    ['is not on the page where it should be', { pageReadMs: () => 1_000 + graceMs }],
  ])('of who %s needs a sweep', (_, more) => {
    expect(plan(unknown, 1_000 + graceMs, more)).toMatchObject({ pages: new Map(), sweepAfterMs: 1_000 + graceMs });
  });

  test('of several, the sweep comes after the last of them', () => {
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

  test('is looked at when it should have ended', () => {
    expect(plan(adopted, 999 + typicalMs)).toEqual({ ...nothing, nextMs: 1_000 + typicalMs });
    expect(plan(adopted, 1_000 + typicalMs).pages).toEqual(new Map([[1, 1_000 + typicalMs]]));
  });

  test('and again every half an upgrade, but no more often than G', () => {
    const seenAtMs = 10 * minuteMs;
    const seen = { row: (id: string) => row(id, seenAtMs) };
    expect(plan(adopted, seenAtMs, seen).nextMs).toBe(seenAtMs + typicalMs / 2);
    expect(plan(adopted, seenAtMs, { ...seen, typicalMs: 10_000 }).nextMs).toBe(seenAtMs + graceMs);
  });

  test('while nothing is known, upgrades are taken to last three minutes', () => {
    expect(plan(adopted, 2_000, { typicalMs: undefined }).nextMs).toBe(1_000 + 3 * minuteMs);
  });
});

describe('U5: 35 minutes after its beginning', () => {
  const limitMs = 1_000 + openLimitMs;

  test.each(['accepted', 'unknown', 'adopted'] as const)('%s is judged by a fresh listing', (state) => {
    const { pages, tasks } = plan([open('10', { state, sinceMs: 1_000 })], limitMs);
    expect(pages).toEqual(new Map([[1, limitMs]]));
    expect(tasks).toEqual([]);
  });

  test('also where none of what it waits for comes earlier', () => {
    const blind = { typicalMs: 40 * minuteMs };
    expect(plan(accepted(1_000, '10'), 2_000, blind).nextMs).toBe(limitMs);
  });

  test('by a sweep where no page shows it', () => {
    expect(plan(accepted(1_000, '10'), limitMs, { pageOf: () => undefined }).sweepAfterMs).toBe(limitMs);
  });

  test('and by no other once it was seen', () => {
    expect(plan(accepted(1_000, '10'), limitMs + 5, { row: (id) => row(id, limitMs) })).toEqual({
      ...nothing,
      nextMs: Infinity,
    });
  });
});

/**
 * Tests which lists and statuses `decide` requests for a policy, and when it must next be called (U9). `decide` chooses
 * the next actions for a policy.
 */
import { describe, expect, test } from 'vitest';
import { minuteMs } from '../../../src/base/time-units.ts';
import { endedEntry, entryOf, openEntry, settings, target, task } from './builders.ts';
import { decided, fleetOf, PolicyBench, policyUid, updatedFleet } from './policy-bench.ts';

const { graceMs } = settings;

describe('U9: a sweep of the fleet', () => {
  test('because of its age is started by the listing; the decision states only which share of the budget sweeps may use', () => {
    const idle = decided(new PolicyBench({ collectors: updatedFleet(1) }), { nowMs: 60 * minuteMs });
    expect(idle).toMatchObject({ watch: { sweepAfterMs: undefined, sweepShare: 10 }, requeueAfterMs: Infinity });
  });

  test('is five times less frequent while upgrades need the budget', () => {
    const bench = new PolicyBench({ collectors: fleetOf(100) });
    expect(decided(bench).watch.sweepShare).toBe(50);
    const paused = { policy: { spec: { paused: true } } };
    expect(decided(bench, paused).watch.sweepShare).toBe(10);
  });

  test('is requested earlier for a collector whose page is unknown', () => {
    const bench = new PolicyBench({ entries: [openEntry({ state: 'unknown', sinceMs: 0 })] });
    expect(decided(bench, { nowMs: graceMs }).watch.sweepAfterMs).toBe(graceMs);
  });

  test('starts at the earliest after ten times the duration of the last sweep', () => {
    const bench = new PolicyBench({ entries: [openEntry({ state: 'unknown', sinceMs: 0 })] });
    bench.listing.lastSweepMs = 10_000;
    const decision = decided(bench, { nowMs: graceMs });
    expect(decision.watch.sweepAfterMs).toBeUndefined();
    expect(decision.requeueAfterMs).toBe(100_000 - graceMs);
    expect(decided(bench, { nowMs: 100_000 }).watch.sweepAfterMs).toBe(graceMs);
  });

  test('U6: a collector that waits for a listing before its retry is read on its page, otherwise by a sweep', () => {
    const nowMs = 6 * minuteMs;
    const bench = () => new PolicyBench({ collectors: fleetOf(1), entries: [endedEntry('failed', { sinceMs: 0 })] });
    const swept = (one: PolicyBench) => {
      one.listing.sweptMs = nowMs - minuteMs;
      return one;
    };
    const onPage = decided(swept(bench()), { nowMs });
    expect(onPage.watch).toMatchObject({ pages: new Map([[0, graceMs]]), sweepAfterMs: undefined });
    const hidden = swept(bench());
    hidden.listing.pagesReadMs.set(0, graceMs);
    expect(decided(hidden, { nowMs }).watch).toMatchObject({ pages: new Map(), sweepAfterMs: graceMs });
  });

  test('U8: a collector that was upgraded to a former target is read as soon as lists can show it, before the next resync', () => {
    const endedMs = minuteMs;
    const bench = new PolicyBench({ collectors: fleetOf(2) });
    const { ownership, listing } = bench;
    listing.lastSweepMs = minuteMs;
    ownership.began('1', { policy: policyUid, toVersion: target, taskId: '7', sinceMs: 0 });
    ownership.ended('1', policyUid, endedMs);
    bench.sync();
    const sentAfterMs = endedMs + graceMs;
    const dueMs = sentAfterMs + settings.pageWaitMs;
    const paused = { policy: { spec: { paused: true } } };
    const before = decided(bench, { nowMs: dueMs - 1, ...paused });
    expect(before).toMatchObject({ watch: { pages: new Map() }, requeueAfterMs: 1 });
    expect(decided(bench, { nowMs: dueMs, ...paused }).watch.pages).toEqual(new Map([[0, sentAfterMs]]));
    listing.show(sentAfterMs, fleetOf(2));
    bench.sync();
    expect(decided(bench, { nowMs: dueMs, ...paused }).watch.pages).toEqual(new Map());
    expect(bench.memberIndex.counts).toMatchObject({ pending: 2, inProgress: 0 });
  });

  test('serves all collectors that need it, after the last of them is due', () => {
    const nowMs = 20 * minuteMs;
    const bench = new PolicyBench({
      collectors: fleetOf(2),
      entries: [
        openEntry({ state: 'unknown', sinceMs: 15 * minuteMs }),
        entryOf('2', endedEntry('failed', { sinceMs: 0 })),
      ],
    });
    bench.listing.rows.endSweep(new Set());
    bench.listing.sweptMs = nowMs - minuteMs;
    expect(decided(bench, { nowMs }).watch.sweepAfterMs).toBe(15 * minuteMs + graceMs);
  });
});

describe('the estimated duration of upgrades is learned', () => {
  const succeeded = new Map([['1', task({ status: 'succeeded' })]]);
  const one = (more: Parameters<typeof openEntry>[0] = {}) =>
    new PolicyBench({ collectors: fleetOf(1), entries: [openEntry({ sinceMs: 1_000, ...more })] });
  const read = { count: 2, lastMs: 61_000, previousMs: 46_000 };

  test('from a task that one read shows as running, and the next read as ended', () => {
    const { durations: looks } = decided(one(), { tasks: succeeded, reads: new Map([['1', read]]), nowMs: 62_000 });
    expect(looks).toEqual([{ endedByMs: 60_000, unendedAtMs: 45_000 }]);
  });

  test('from a listing that shows the end, after a read that did not', () => {
    const bench = one();
    bench.listing.show(91_000, updatedFleet(1));
    bench.sync();
    const { durations: looks } = decided(bench, { reads: new Map([['1', read]]), nowMs: 92_000 });
    expect(looks).toEqual([{ endedByMs: 90_000, unendedAtMs: 60_000 }]);
  });

  test.each<[string, PolicyBench, Partial<Parameters<typeof task>[0]>]>([
    ['a failure', one(), { status: 'failed' }],
    ['an upgrade in progress', one(), { status: 'progressing' }],
    ['an upgrade whose start is unknown', one({ needsGrace: true }), { status: 'succeeded' }],
  ])('not from %s', (_, bench, more) => {
    const tasks = new Map([['1', task(more)]]);
    expect(decided(bench, { tasks, reads: new Map([['1', read]]), nowMs: 62_000 }).durations).toEqual([]);
  });
});

test('the next decision is due when the first wait is over', () => {
  const bench = new PolicyBench({
    collectors: fleetOf(2),
    entries: [openEntry({ sinceMs: 0 }), entryOf('2', endedEntry('failed', { sinceMs: 0 }))],
  });
  expect(decided(bench, { nowMs: 1_000, typicalMs: 2 * minuteMs }).requeueAfterMs).toBe(2 * minuteMs - 1_000);
  expect(decided(bench, { nowMs: 1_000, typicalMs: 20 * minuteMs }).requeueAfterMs).toBe(5 * minuteMs - 1_000);
});

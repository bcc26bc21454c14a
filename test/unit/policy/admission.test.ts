/** Tests which collectors the operator upgrades next, and why others have to wait (U2, U3, U6, U8). */
import { describe, expect, test, vi } from 'vitest';
import { minuteMs } from '../../../src/base/time-units.ts';
import { backOffMs } from '../../../src/policy/admission/start-rules.ts';
import type { Entry } from '../../../src/policy/ledger/ledger.ts';
import {
  collector,
  endedEntry,
  entryOf,
  epochMs,
  newerVersion,
  oldVersion,
  openEntry,
  settings,
  spec,
  target,
} from './builders.ts';
import { admitted, fleetOf, PolicyBench, posts } from './policy-bench.ts';

const { graceMs, driftConfirmMs } = settings;
const backOff = 5 * minuteMs;

const ended = (id: string, ...parts: Parameters<typeof endedEntry>) => entryOf(id, endedEntry(...parts));

describe('U2: a first attempt', () => {
  test('is written ahead as intended, with a number and the former version', () => {
    const bench = new PolicyBench({ collectors: fleetOf(1) });
    const { post, attempts, pending } = admitted(bench, 500, { attempts: 41 });
    expect(post).toEqual([
      {
        collectorId: '1',
        before: oldVersion,
        used: 1,
        drifts: 0,
        isRollback: false,
        ending: undefined,
        open: {
          number: 42,
          toVersion: target,
          state: 'intended',
          taskId: undefined,
          ours: true,
          probe: false,
          startedAtMs: epochMs + 500,
          sinceMs: 500,
          needsGrace: false,
        },
      },
    ]);
    expect(attempts).toBe(42);
    expect(pending.entry('1')).toEqual(post[0]);
  });

  test('U7: of a collector that was seen at the target before needs listings sent G later', () => {
    const bench = new PolicyBench({ collectors: fleetOf(1, () => ({ collectorVersion: target })) });
    bench.listing.show(10, fleetOf(1));
    bench.rebuild();
    const [entry] = admitted(bench, 500).post;
    expect(entry?.open?.needsGrace).toBe(true);
  });

  test('U14: of a collector without a known version has no former version', () => {
    const bench = new PolicyBench({
      spec: { allowDowngrade: true },
      collectors: fleetOf(1),
      entries: [{ ...endedEntry('offline', {}, { before: undefined, used: 0 }) }],
    });
    bench.listing.show(
      10,
      fleetOf(1, () => ({ lastSeenAliveMs: 1 })),
    );
    bench.sync();
    expect(admitted(bench, 500).post[0]?.before).toBeUndefined();
  });

  test('waits while a POST for its collector has not received a response', () => {
    const bench = new PolicyBench({ collectors: fleetOf(3) });
    expect(posts(admitted(bench, 0, { inFlight: new Set(['1']) }))).toEqual(['2', '3']);
  });
});

describe('the order of attempts', () => {
  /**
   * Creates four collectors: the outcome of the first one's upgrade is unknown, the second one's upgrade failed, the
   * third one left the target version, and the fourth one was never upgraded.
   */
  function four(): PolicyBench {
    const nowMs = 20 * minuteMs;
    const bench = new PolicyBench({
      collectors: fleetOf(4, (index) => ({ collectorVersion: index === 2 ? target : oldVersion })),
      entries: [entryOf('4', openEntry({ state: 'unknown', sinceMs: 0 })), ended('2', 'failed', { sinceMs: 0 })],
    });
    bench.listing.show(nowMs - driftConfirmMs, fleetOf(4));
    bench.sync();
    bench.listing.show(nowMs, fleetOf(4));
    bench.sync();
    return bench;
  }

  test('is probes, retries, corrections of drift, first attempts', () => {
    const admission = admitted(four(), 20 * minuteMs);
    expect(posts(admission)).toEqual(['4', '2', '3', '1']);
    expect(admission.post.map(({ used, drifts, open }) => [used, drifts, open?.probe])).toEqual([
      [1, 0, true],
      [2, 0, false],
      [1, 1, false],
      [1, 0, false],
    ]);
  });

  test.each([0, 1, 2, 3])('stays the same with capacity for only %d', (batchCapacity) => {
    expect(posts(admitted(four(), 20 * minuteMs, { batchCapacity }))).toEqual(
      ['4', '2', '3', '1'].slice(0, batchCapacity),
    );
  });
});

describe('U3: a probe', () => {
  const unknown = (sinceMs: number) => ({
    collectors: fleetOf(1),
    entries: [entryOf('1', openEntry({ state: 'unknown', sinceMs, number: 7 }))],
  });

  test('repeats the attempt with the same number and age, and does not count as another attempt', () => {
    const bench = new PolicyBench({ ...unknown(100), seenAtMs: 100 + graceMs });
    const { post, attempts } = admitted(bench, 200 + graceMs, { attempts: 7 });
    expect(post[0]).toMatchObject({ used: 1, open: { state: 'intended', probe: true, number: 7, sinceMs: 100 } });
    expect(attempts).toBe(7);
  });

  test('waits for a listing sent G later', () => {
    const bench = new PolicyBench({ ...unknown(100), seenAtMs: 99 + graceMs });
    expect(admitted(bench, 200 + graceMs).post).toEqual([]);
  });

  test('needs no capacity, because its attempt already counts', () => {
    const bench = new PolicyBench({
      ...unknown(0),
      seenAtMs: graceMs,
      spec: { strategy: { maxInProgress: 1, order: 'Name' } },
    });
    expect(posts(admitted(bench, graceMs))).toEqual(['1']);
  });

  test('is not posted for a former target', () => {
    const bench = new PolicyBench({
      collectors: fleetOf(1),
      seenAtMs: graceMs,
      entries: [entryOf('1', openEntry({ state: 'unknown', toVersion: newerVersion }))],
    });
    expect(admitted(bench, graceMs).post).toEqual([]);
  });

  test('R8: is not posted while the window of its collector is closed', () => {
    const windows = [{ schedule: '0 12 * * *', duration: '2h', timeZoneSource: 'Collector' as const }];
    const collectors = fleetOf(1, () => ({ timeZone: 'Etc/UTC' }));
    const maintenance = { windows, cutoff: '0s', exclusions: [] };
    const bench = new PolicyBench({ ...unknown(0), spec: { maintenance }, collectors, seenAtMs: graceMs });
    expect(admitted(bench, graceMs).post).toEqual([]);
  });

  test('is not posted while the POST of its attempt is in flight', () => {
    const bench = new PolicyBench({ ...unknown(0), seenAtMs: graceMs });
    expect(admitted(bench, graceMs, { inFlight: new Set(['1']) }).post).toEqual([]);
  });
});

describe('U6: a retry', () => {
  const failed = (more: Partial<Entry> = {}) =>
    new PolicyBench({ collectors: fleetOf(1), entries: [ended('1', 'timedOut', { sinceMs: 1_000 }, more)] });

  test('waits for its back-off, and reports its end', () => {
    const bench = failed();
    bench.listing.show(1_000 + graceMs, fleetOf(1));
    const admission = admitted(bench, 1_000 + backOff - 1);
    expect(admission.post).toEqual([]);
    expect(admission.nextMs).toBe(1_000 + backOff);
    expect(posts(admitted(bench, 1_000 + backOff))).toEqual(['1']);
  });

  test('waits for a listing sent G after the failure, and requests it', () => {
    const bench = failed();
    bench.listing.show(1_000 + graceMs - 1, fleetOf(1));
    const admission = admitted(bench, 1_000 + backOff);
    expect(admission.post).toEqual([]);
    expect([...admission.listingsNeeded]).toEqual([['1', 1_000 + graceMs]]);
  });

  test('with a back-off shorter than G waits for G', () => {
    const backoff = { duration: '1s', factor: 1, cap: '1s' };
    const bench = new PolicyBench({
      spec: { retryPolicy: { limit: 2, backoff } },
      collectors: fleetOf(1),
      seenAtMs: 1_500,
      entries: [ended('1', 'failed', { sinceMs: 1_000 })],
    });
    const admission = admitted(bench, 2_000);
    expect(admission).toMatchObject({ post: [], nextMs: 1_000 + graceMs });
    expect(admission.listingsNeeded.size).toBe(0);
  });

  test('is not needed when the listing shows the target', () => {
    const bench = failed();
    bench.listing.show(
      1_000 + graceMs,
      fleetOf(1, () => ({ collectorVersion: target })),
    );
    bench.sync();
    expect(admitted(bench, 1_000 + backOff)).toMatchObject({ post: [], nextMs: Infinity });
  });

  test('counts as another attempt, and keeps the former version', () => {
    const bench = failed({ before: '18.1-1' });
    bench.listing.show(1_000 + graceMs, fleetOf(1));
    const [entry] = admitted(bench, 1_000 + backOff, { attempts: 3 }).post;
    expect(entry).toMatchObject({ used: 2, before: '18.1-1', open: { number: 4, probe: false } });
  });

  test('is not started once the attempts are exhausted', () => {
    const bench = failed({ used: 3 });
    bench.listing.show(1_000 + graceMs, fleetOf(1));
    expect(admitted(bench, 24 * 60 * minuteMs).post).toEqual([]);
  });
});

describe('U8: a drift', () => {
  function drifted(firstMs: number, thenMs: number): PolicyBench {
    const bench = new PolicyBench({ collectors: fleetOf(1, () => ({ collectorVersion: target })) });
    for (const seenAtMs of [firstMs, thenMs]) {
      bench.listing.show(seenAtMs, fleetOf(1));
      bench.sync();
    }
    return bench;
  }

  test('is corrected after two listings ten minutes apart', () => {
    const [entry] = admitted(drifted(100, 100 + driftConfirmMs), 101 + driftConfirmMs).post;
    expect(entry).toMatchObject({ used: 1, drifts: 1, open: { state: 'intended', needsGrace: true } });
  });

  test('waits until the second listing is due', () => {
    const admission = admitted(drifted(100, 99 + driftConfirmMs), 99 + driftConfirmMs);
    expect(admission).toMatchObject({ post: [], nextMs: 100 + driftConfirmMs });
    expect(admission.listingsNeeded.size).toBe(0);
  });

  test('requests the second listing when it is due', () => {
    const admission = admitted(drifted(100, 200), 100 + driftConfirmMs);
    expect(admission.post).toEqual([]);
    expect([...admission.listingsNeeded]).toEqual([['1', 100 + driftConfirmMs]]);
  });

  test('of an upgraded collector starts a new count of attempts', () => {
    const bench = new PolicyBench({
      collectors: fleetOf(1),
      entries: [ended('1', 'updated', { sinceMs: 0 }, { used: 3 })],
    });
    for (const seenAtMs of [graceMs, graceMs + driftConfirmMs]) {
      bench.listing.show(seenAtMs, fleetOf(1));
      bench.sync();
    }
    expect(admitted(bench, graceMs + driftConfirmMs).post[0]).toMatchObject({
      ...{ used: 1, drifts: 1, before: oldVersion },
      open: { needsGrace: true },
    });
  });

  test('of a collector whose failure a retry has cleared can count as a failure again', () => {
    const bench = new PolicyBench({
      collectors: fleetOf(1),
      entries: [ended('1', 'updated', { sinceMs: 0 }, { failureCleared: true })],
    });
    for (const seenAtMs of [graceMs, graceMs + driftConfirmMs]) {
      bench.listing.show(seenAtMs, fleetOf(1));
      bench.sync();
    }
    const [entry] = admitted(bench, graceMs + driftConfirmMs).post;
    expect(entry).toMatchObject({ drifts: 1 });
    expect(entry).not.toHaveProperty('failureCleared');
  });

  test('that occurs a second time is not corrected', () => {
    const bench = new PolicyBench({
      collectors: fleetOf(1),
      entries: [ended('1', 'updated', { sinceMs: 0 }, { drifts: 1 })],
    });
    for (const seenAtMs of [graceMs, graceMs + driftConfirmMs]) {
      bench.listing.show(seenAtMs, fleetOf(1));
      bench.sync();
    }
    expect(admitted(bench, graceMs + driftConfirmMs).post).toEqual([]);
  });
});

test.each([
  [0, 5],
  [1, 5],
  [2, 10],
  [3, 20],
  [4, 40],
  [5, 60],
  [11, 60],
])('the back-off after %d attempts is %d minutes', (used, minutes) => {
  expect(backOffMs(spec(), used)).toBe(minutes * minuteMs);
});

test('collectors that wait for the window of their time zone are counted together, and rendered once per zone', () => {
  const windows = [{ schedule: '0 12 * * *', duration: '2h', timeZoneSource: 'Collector' as const }];
  const zones = ['Europe/Berlin', 'Europe/London'];
  const bench = new PolicyBench({
    spec: { maintenance: { windows, cutoff: '30m', exclusions: [] } },
    collectors: fleetOf(10, (index) => ({ timeZone: zones[index % zones.length] ?? '' })),
  });
  const render = vi.spyOn(JSON, 'stringify');
  const { post, waits, nextMs } = admitted(bench, 0);
  const renderings = render.mock.calls.filter(([value]) => value?.kind === 'window');
  render.mockRestore();
  expect(post).toEqual([]);
  // The window opens in Berlin first: at 11:00 UTC.
  expect(waits).toEqual([{ cause: { kind: 'window' }, reason: 'WaitingForWindow', collectors: 10, untilMs: nextMs }]);
  expect(new Date(epochMs + nextMs).getUTCHours()).toBe(11);
  expect(renderings).toHaveLength(zones.length);
});

test('foreign, newer, offline and skipped collectors are not upgraded', () => {
  const bench = new PolicyBench({
    collectors: [
      collector('1', { collectorVersion: newerVersion }),
      collector('2', { alive: false }),
      collector('3', { collectorType: 'Hosted' }),
      collector('4', { collectorVersion: 'nightly' }),
      collector('5', { collectorVersion: target }),
    ],
  });
  expect(admitted(bench, 0)).toMatchObject({ post: [], nextMs: Infinity, pressed: false });
});

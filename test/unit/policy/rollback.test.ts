/** Tests rollbacks: which collectors get which version, and why a rollback has to wait. */
import { describe, expect, test } from 'vitest';
import { minuteMs } from '../../../src/base/time-units.ts';
import type { Ending, EndingKind, Entry, LedgerHeader } from '../../../src/policy/ledger/ledger.ts';
import { isRollbackOver, planRollback } from '../../../src/policy/rollout/rollback.ts';
import { waitText } from '../../../src/policy/status/wait-text.ts';
import type { Collector } from '../../../src/service/collectors/upgrade-service.ts';
import {
  claimant,
  endedEntry,
  entry,
  newerVersion,
  oldVersion,
  openEntry,
  settings,
  stageRecord,
  target,
} from './builders.ts';
import { type ChangedInput, decided, fleetOf, PolicyBench } from './policy-bench.ts';

const { graceMs } = settings;
const nowMs = 90 * minuteMs;
const stop: Partial<LedgerHeader> = { stop: { kind: 'rollback', message: '2 failures in the rollout', atMs: 1 } };

function rolledBack(known: Entry, row: Partial<Collector> | null = {}, seenAtMs = nowMs) {
  const collectors = row === null ? [] : fleetOf(1, () => ({ collectorVersion: target, ...row }));
  return new PolicyBench({ header: stop, entries: [known], collectors, seenAtMs });
}

const plan = (bench: PolicyBench) => planRollback(bench.memberIndex, bench.pending(), target, graceMs, () => false);

type RollbackPlace = 'candidates' | 'there' | 'inFlight' | 'rolledBack' | 'left' | 'offline' | 'nowhere';

function placeOf(bench: PolicyBench): RollbackPlace {
  const { candidates, there, inFlight, rolledBack, left, offline } = plan(bench);
  if (candidates.length > 0) return 'candidates';
  if (there.length > 0) return 'there';
  if (inFlight > 0) return 'inFlight';
  if (rolledBack > 0) return 'rolledBack';
  if (left.length > 0) return 'left';
  return offline > 0 ? 'offline' : 'nowhere';
}

const updated = (more: Partial<Ending> = {}, rest: Partial<Entry> = {}) => endedEntry('updated', more, rest);
const backAfter = (kind: EndingKind, rest: Partial<Entry> = {}) =>
  endedEntry(kind, { toVersion: oldVersion }, { isRollback: true, ...rest });

describe('the state of each collector in a rollback', () => {
  test.each<[string, Entry, Partial<Collector> | undefined, RollbackPlace]>([
    ['is at the target', updated(), {}, 'candidates'],
    ['U7: was upgraded with an unknown result', endedEntry('unobservable'), {}, 'candidates'],
    ['died at the target, and is alive again', endedEntry('died'), {}, 'candidates'],
    ['left the target for another version', endedEntry('left'), { collectorVersion: newerVersion }, 'candidates'],
    ['left the target for the former version', endedEntry('left'), { collectorVersion: oldVersion }, 'there'],
    ['returned to the former version without logfleet', updated(), { collectorVersion: oldVersion }, 'there'],
    ['is offline', updated(), { alive: false }, 'offline'],
    ['died there', endedEntry('died'), { alive: false }, 'offline'],
    ['is being rolled back', openEntry({ toVersion: oldVersion }, { isRollback: true }), {}, 'inFlight'],
    ['is still being upgraded to the target', openEntry(), { collectorVersion: oldVersion }, 'inFlight'],
    ['was rolled back', backAfter('updated'), { collectorVersion: oldVersion }, 'rolledBack'],
    ['was rolled back, while lists are outdated', backAfter('updated'), {}, 'rolledBack'],
    [
      'was rolled back, and then upgraded by another tool',
      backAfter('updated'),
      { collectorVersion: newerVersion },
      'rolledBack',
    ],
    ['failed in its rollback, with attempts left', backAfter('failed', { used: 2 }), {}, 'candidates'],
    ['timed out in its rollback, with attempts left', backAfter('timedOut', { used: 1 }), {}, 'candidates'],
    [
      'timed out in its rollback, and reached the former version',
      backAfter('timedOut'),
      { collectorVersion: oldVersion },
      'there',
    ],
    ['failed in its rollback, with exhausted retries', backAfter('failed', { used: 3 }), {}, 'left'],
    [
      'was refused in its rollback, because the former build is withdrawn',
      backAfter('refused', { used: 0 }),
      {},
      'left',
    ],
    ['was refused as offline, and is silent', backAfter('offline', { used: 0 }), {}, 'offline'],
    [
      'was refused as offline, and is alive again',
      backAfter('offline', { used: 0 }),
      { lastSeenAliveMs: 1 },
      'candidates',
    ],
    ['U14: has no recorded former version', updated({}, { before: undefined }), {}, 'left'],
    ['ran the target before the rollout', updated({}, { before: target }), {}, 'left'],
    ['U10: was upgraded by another tool', updated({}, { used: 0 }), {}, 'nowhere'],
    ['failed, and never reached the target', endedEntry('failed'), { collectorVersion: oldVersion }, 'nowhere'],
    ['was refused', endedEntry('refused', {}, { used: 0 }), { collectorVersion: oldVersion }, 'nowhere'],
    ['was upgraded to another target before', updated({ toVersion: newerVersion }), {}, 'nowhere'],
    ['had only an adopted upgrade', entry({ used: 0 }), {}, 'nowhere'],
  ])('a collector that %s', (_, known, row, place) => {
    expect(placeOf(rolledBack(known, row))).toBe(place);
  });

  test('collectors that run their former version again without a rollback count as rolled back', () => {
    expect(plan(rolledBack(updated(), { collectorVersion: oldVersion })).rolledBack).toBe(1);
  });

  test('U13: a collector that belongs to another policy now is not rolled back', () => {
    const bench = rolledBack(updated());
    bench.ownership.unclaim('policy-a', '1');
    expect(placeOf(bench)).toBe('nowhere');
  });

  test('U13: a collector that another policy waits for is not rolled back again after the attempt in flight', () => {
    const withdrawn = openEntry(
      { toVersion: oldVersion, number: 1, state: 'intended' },
      { isRollback: true, ending: updated().ending },
    );
    const bench = rolledBack(withdrawn);
    bench.ownership.register(claimant('policy-b', { priority: 1 }));
    bench.ownership.claim('policy-b', '1');
    const posted = new Map([['1', { kind: 'notSent' }]] as const);
    expect(decided(bench, { nowMs, posted }).post).toEqual([]);
  });

  test('a collector that the service no longer lists is not rolled back', () => {
    expect(placeOf(rolledBack(updated(), null))).toBe('nowhere');
  });

  test('U7: a collector at the only build, which no list shows, is rolled back to its recorded version', () => {
    const bench = rolledBack(updated(), null);
    bench.listing.isObservable = false;
    bench.rebuild();
    expect(placeOf(bench)).toBe('candidates');
    expect(decided(bench, { nowMs }).post).toMatchObject([{ isRollback: true, open: { toVersion: oldVersion } }]);
  });

  test.each<[string, Entry, string]>([
    [
      'U11: was refused as offline',
      backAfter('offline', { used: 0 }),
      "the collector was offline, and is missing from the service's list of collectors, so its return cannot be detected",
    ],
    [
      'U6: failed, with attempts left',
      endedEntry('failed', { toVersion: oldVersion }, { isRollback: true }),
      "disk full; the rollback cannot be retried, because the collector is missing from the service's list of collectors",
    ],
  ])(
    'a collector at the only build, which no list shows, and that %s, keeps its version and is reported',
    (_, known, why) => {
      const bench = rolledBack(known, null);
      bench.listing.isObservable = false;
      bench.rebuild();
      expect(placeOf(bench)).toBe('left');
      const { post, health, finished, figures } = decided(bench, { nowMs });
      expect(post).toEqual([]);
      expect(health.reason).toBe('RolledBack');
      expect(finished).toBe(true);
      expect(figures.failureReasons).toMatchObject([{ reason: `not rolled back: ${why}` }]);
      bench.listing.isObservable = true;
      bench.listing.show(
        nowMs,
        fleetOf(1, () => ({ collectorVersion: target, lastSeenAliveMs: 1 })),
      );
      bench.sync();
      expect(placeOf(bench)).toBe('candidates');
    },
  );

  test('U5: a collector at the only build whose rollback has an unknown outcome is not forgotten', () => {
    const { openLimitMs } = settings;
    const unheard = openEntry(
      { toVersion: oldVersion, state: 'unknown' },
      { isRollback: true, ending: updated().ending },
    );
    const bench = rolledBack(unheard, null);
    bench.listing.observes = (version: string) => version !== target;
    bench.listing.sweptMs = openLimitMs;
    bench.rebuild();
    const { changes, health } = decided(bench, { nowMs: openLimitMs + 1 });
    expect(changes).toMatchObject([{ entry: { isRollback: true, ending: { kind: 'timedOut' } } }]);
    expect(health.message).toContain('1 collector could not be rolled back (see status.failureReasons)');
  });

  test.each<[Entry, Partial<Collector>, boolean]>([
    [updated(), {}, false],
    [openEntry(), {}, false],
    [backAfter('updated'), {}, true],
    [updated(), { alive: false }, true],
    [backAfter('failed', { used: 3 }), {}, true],
  ])('case %#: over: %s', (known, row, isOver) => {
    expect(isRollbackOver(plan(rolledBack(known, row)))).toBe(isOver);
  });
});

describe('attempts of a rollback', () => {
  const posts = (bench: PolicyBench, seen: ChangedInput = {}) =>
    decided(bench, { nowMs, ...seen }).post.map(({ collectorId, open, used, isRollback }) => [
      collectorId,
      open?.toVersion,
      used,
      isRollback,
    ]);

  test('U14: go to the former version of the collector, and are counted from 1', () => {
    expect(posts(rolledBack(updated({}, { used: 3 })))).toEqual([['1', oldVersion, 1, true]]);
    expect(posts(rolledBack(backAfter('failed', { used: 1 })))).toEqual([['1', oldVersion, 2, true]]);
  });

  test('U7: are not ended by a listing sent earlier than G after their start', () => {
    const [entry] = decided(rolledBack(updated()), { nowMs }).post;
    expect(entry?.open?.needsGrace).toBe(true);
  });

  test('need no allowDowngrade, and no offer of the target', () => {
    expect(posts(rolledBack(updated()), { notOffered: 'It offers 1.' })).toHaveLength(1);
    expect(rolledBack(updated()).spec.allowDowngrade).toBe(false);
  });

  test('U8: wait for a listing if the collector seems to run the former version, because the list may be outdated', () => {
    const bench = rolledBack(updated({ sinceMs: nowMs - 1_000 }), { collectorVersion: oldVersion }, nowMs - 500);
    const { post, requeueAfterMs, health } = decided(bench, { nowMs });
    expect(post).toEqual([]);
    expect(requeueAfterMs).toBe(graceMs - 1_000);
    expect(health.message).toContain(waitText({ kind: 'newerListing' }));
    expect(posts(rolledBack(updated({ sinceMs: nowMs - 1_000 }), {}, nowMs - 2_000))).toHaveLength(1);
  });

  test('never go to the target, not even as probes', () => {
    const unknown = openEntry({ state: 'unknown', sinceMs: nowMs - 10 * minuteMs });
    expect(posts(rolledBack(unknown, { collectorVersion: oldVersion }))).toEqual([]);
    expect(posts(rolledBack(endedEntry('failed'), { collectorVersion: oldVersion }))).toEqual([]);
  });

  test('replace upgrades that are not requested yet, which no longer count as in progress', () => {
    const bench = rolledBack(openEntry({ state: 'intended', sinceMs: nowMs }), { collectorVersion: oldVersion });
    const { figures } = decided(bench, { nowMs, unsent: 1, inFlight: new Set(['1']) });
    expect(figures.collectors).toMatchObject({ inProgress: 0, pending: 1 });
  });

  test('U3: are probed if their outcome is unknown', () => {
    const unknown = openEntry({ state: 'unknown', toVersion: oldVersion }, { isRollback: true });
    const bench = rolledBack(unknown);
    const { post } = decided(bench, { nowMs: graceMs });
    expect(post).toMatchObject([{ open: { probe: true, toVersion: oldVersion } }]);
  });

  test.each<[string, ChangedInput]>([
    ['paused', { policy: { spec: { paused: true } } }],
    ['everything is paused', { pausedForAll: 'the ConfigMap' }],
    [
      'no window is open',
      {
        policy: {
          spec: {
            maintenance: {
              windows: [{ schedule: '0 12 * * *', duration: '2h', timeZone: 'UTC' }],
              cutoff: '30m',
              exclusions: [],
            },
          },
        },
      },
    ],
    ['only observing', { policy: { spec: { mode: 'Observe' } } }],
  ])('do not start while %s', (_, seen) => {
    expect(posts(rolledBack(updated()), seen)).toEqual([]);
  });

  test('R8: do not start for a collector without a readable time zone if windows use the zones of collectors, which is reported', () => {
    const windows = [{ schedule: '0 1 * * *', duration: '4h', timeZoneSource: 'Collector' }] as const;
    const maintenance = { windows: [...windows], cutoff: '30m', exclusions: [] };
    const { health, figures } = decided(rolledBack(updated(), { timeZone: 'Mars/Phobos' }), {
      nowMs,
      policy: { spec: { maintenance } },
    });
    expect(health.reason).toBe('RolledBack');
    expect(figures.failureReasons).toMatchObject([
      { reason: 'not rolled back: the collector reports no valid time zone, but its maintenance windows need one' },
    ]);
    const unlisted = rolledBack(updated(), null);
    unlisted.listing.isObservable = false;
    unlisted.rebuild();
    expect(decided(unlisted, { nowMs, policy: { spec: { maintenance } } }).figures.failureReasons).toMatchObject([
      {
        reason:
          "not rolled back: the service's list of collectors does not show the collector's time zone, which its maintenance windows need",
      },
    ]);
    // The operator withdrew the rollback attempt because it had never sent the request.
    const withdrawn = rolledBack(updated({}, { isRollback: true, used: 0 }), { timeZone: 'Mars/Phobos' });
    const again = decided(withdrawn, { nowMs, policy: { spec: { maintenance } } });
    expect(again.figures.failureReasons).toMatchObject([
      { reason: 'not rolled back: the collector reports no valid time zone, but its maintenance windows need one' },
    ]);
  });

  test('are limited by maxInProgress of the policy', () => {
    const strategy = { maxInProgress: 2, order: 'Name' } as const;
    const entries = ['1', '2', '3', '4'].map((collectorId) => ({ ...updated(), collectorId }));
    const collectors = fleetOf(4, () => ({ collectorVersion: target }));
    const bench = new PolicyBench({ spec: { strategy }, header: stop, entries, collectors, seenAtMs: nowMs });
    expect(posts(bench).map(([id]) => id)).toEqual(['1', '2']);
  });

  test('R7: ignore stages, their limits and their approvals, even after a failed attempt', () => {
    const canary = {
      name: 'canary',
      size: '100%',
      maxInProgress: 1,
      approval: 'Required',
      soakDuration: '0s',
    } as const;
    const stages = [canary, { name: 'rest', soakDuration: '0s' }];
    const strategy = { maxInProgress: '100%', order: 'Name', stages } as const;
    const back = { isRollback: true } as const;
    const entries = [
      openEntry({ toVersion: oldVersion }, back),
      { ...backAfter('failed', back), collectorId: '2' },
      { ...updated({}, {}), collectorId: '3' },
    ];
    const collectors = fleetOf(3, () => ({ collectorVersion: target }));
    for (const more of [{}, { endedAtMs: 2 }]) {
      const header = { ...stop, stages: [stageRecord('canary', { maxInProgress: 1, ...more })] };
      const parts = { spec: { strategy }, header, entries, members: { canary: ['1', '2', '3'] } };
      const bench = new PolicyBench({ ...parts, collectors, seenAtMs: nowMs });
      expect(posts(bench).map(([id]) => id)).toEqual(['2', '3']);
    }
  });

  test('do not count as failures, because the rollout is already stopped', () => {
    const failing = openEntry({ toVersion: oldVersion }, { isRollback: true });
    const reading = {
      id: '77',
      collectorId: '1',
      toVersion: oldVersion,
      status: 'failed',
      statusCode: 3,
      requestedMs: undefined,
      message: 'no',
    } as const;
    const { changes, header } = decided(rolledBack(failing), { nowMs, tasks: new Map([['1', reading]]) });
    expect(changes[0]?.entry).toMatchObject({ ending: { kind: 'failed' } });
    expect(header.tally).toMatchObject({ finished: 0, failed: 0 });
  });
});

describe('the message of a rollback', () => {
  const health = (...entries: readonly Entry[]) => {
    const numbered = entries.map((one, index) => ({ ...one, collectorId: String(index + 1) }));
    const collectors = fleetOf(entries.length, () => ({ collectorVersion: target }));
    return decided(new PolicyBench({ header: stop, entries: numbered, collectors, seenAtMs: nowMs }), { nowMs }).health;
  };

  test('while it continues', () => {
    expect(health(backAfter('updated'), updated(), updated({}, { before: undefined }))).toMatchObject({
      reason: 'RollingBack',
      reconciling: true,
      stalled: false,
      message:
        '2 failures in the rollout. 1 collector was rolled back, 0 in progress, 1 remaining; 1 collector could not be rolled back (see status.failureReasons).',
    });
  });

  test('in mode Observe, no rollback starts, and a run of a directory ends after the attempts in flight', () => {
    const observe = { nowMs, policy: { spec: { mode: 'Observe' } } } as const;
    const under = (known: Entry) => {
      const entries = [known, { ...updated(), collectorId: '2' }];
      const collectors = fleetOf(2, () => ({ collectorVersion: target }));
      return decided(new PolicyBench({ header: stop, entries, collectors, seenAtMs: nowMs }), observe);
    };
    expect(under(openEntry({ toVersion: oldVersion, sinceMs: nowMs - 1 }, { isRollback: true })).finished).toBe(false);
    const { health, finished } = under(backAfter('updated'));
    expect(finished).toBe(true);
    expect(health).toMatchObject({
      ready: 'False',
      reason: 'Observing',
      reconciling: false,
      stalled: false,
      message:
        '2 failures in the rollout. 1 collector was rolled back, 0 in progress. logfleet would roll back 1 more collector, but spec.mode is Observe, so no upgrade starts.',
    });
    expect(decided(rolledBack(backAfter('updated')), observe).health.reason).toBe('RolledBack');
  });

  test('U14: names collectors that could not be rolled back, with the reason of the service', () => {
    const failed = endedEntry('failed', { toVersion: oldVersion, message: 'disk full' }, { isRollback: true, used: 3 });
    const entries = [failed, updated({}, { before: undefined })].map((one, at) => ({
      ...one,
      collectorId: `${at + 1}`,
    }));
    const collectors = fleetOf(2, () => ({ collectorVersion: target }));
    const bench = new PolicyBench({ header: stop, entries, collectors, seenAtMs: nowMs });
    expect(decided(bench, { nowMs }).figures.failureReasons).toEqual([
      { reason: 'not rolled back: disk full', count: 1, examples: ['web-1'] },
      { reason: 'not rolled back: no former version on record', count: 1, examples: ['web-2'] },
    ]);
  });

  test('U11: names collectors whose rollback requests were rejected without a reason', () => {
    const entries = [updated(), backAfter('updated')].map((one, at) => ({ ...one, collectorId: `${at + 1}` }));
    const collectors = fleetOf(2, () => ({ collectorVersion: target }));
    const bench = new PolicyBench({ header: stop, entries, collectors, seenAtMs: nowMs });
    expect(decided(bench, { nowMs, rejected: new Set(['1', '2']) }).figures.failureReasons).toMatchObject([
      { count: 1, examples: ['web-1'] },
    ]);
  });

  test('when it is over', () => {
    expect(health(backAfter('updated'), backAfter('updated'), updated({}, { before: undefined }))).toMatchObject({
      reason: 'RolledBack',
      stalled: true,
      message:
        '2 failures in the rollout. 2 collectors were rolled back to former versions; 1 collector could not be rolled back (see status.failureReasons). Set another target, or run `logfleet retry`.',
    });
  });
});

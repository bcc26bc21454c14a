/**
 * Tests the index of a policy's collectors. After any sequence of changes, it must equal an index built from scratch.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Entry, EntryChange } from '../../../src/policy/ledger/ledger.ts';
import { sameSelection } from '../../../src/policy/members/member-index-cache.ts';
import type { MemberState } from '../../../src/policy/members/member-state.ts';
import type { PolicyMemberIndex } from '../../../src/policy/members/policy-member-index.ts';
import { nameSelection } from '../../../src/policy/members/selector.ts';
import type { Collector } from '../../../src/service/collectors/upgrade-service.ts';
import {
  claimant,
  collector,
  counts,
  endedEntry,
  entry,
  newerVersion,
  oldVersion,
  openEntry,
  settings,
  spec,
  stageRecord,
  target,
} from './builders.ts';
import { fleetOf, PolicyBench, policyUid } from './policy-bench.ts';

const { graceMs } = settings;

function apply(bench: PolicyBench, ...changes: readonly EntryChange[]): void {
  bench.ledger.apply(changes);
  for (const { collectorId } of changes) bench.place(collectorId);
}

const memberStates = (memberIndex: PolicyMemberIndex) =>
  new Map([...memberIndex.ids()].map((id) => [id, memberIndex.member(id)?.memberState]));

describe('the collectors of a policy', () => {
  test('are the collectors that the selector matches and no exclusion matches', () => {
    const bench = new PolicyBench({
      spec: { selector: { matchNames: ['web-*'] }, exclude: [{ matchNames: ['web-2'] }] },
      collectors: [collector('1'), collector('2'), collector('3', { name: 'db-3' })],
    });
    expect([...bench.memberIndex.ids()]).toEqual(['1']);
    expect(bench.memberIndex.matched).toBe(1);
    expect(bench.ownership.owner('1')?.uid).toBe(policyUid);
    expect(bench.ownership.owner('2')).toBeUndefined();
  });

  test('change with the fields of the collectors', () => {
    const bench = new PolicyBench({ spec: { selector: { matchFields: { osName: 'Linux' } } }, collectors: fleetOf(1) });
    expect(bench.memberIndex.matched).toBe(0);
    bench.listing.show(
      10,
      fleetOf(1, () => ({ osName: 'Linux' })),
    );
    bench.sync();
    expect(bench.memberIndex.counts).toEqual(counts({ pending: 1 }));
    bench.listing.show(
      20,
      fleetOf(1, () => ({ osName: 'Windows' })),
    );
    bench.sync();
    expect(bench.memberIndex.counts).toEqual(counts());
    expect(bench.ownership.owner('1')).toBeUndefined();
  });

  test('U12: stay in the policy after an attempt of this rollout, whatever their fields become', () => {
    const selector = { matchExpressions: [{ key: 'collectorVersion', operator: 'Lt', values: [target] }] } as const;
    const bench = new PolicyBench({ spec: { selector }, collectors: fleetOf(2) });
    apply(bench, { collectorId: '1', entry: openEntry() });
    bench.listing.show(
      graceMs,
      fleetOf(2, () => ({ collectorVersion: target })),
    );
    bench.sync();
    expect(memberStates(bench.memberIndex)).toEqual(new Map([['1', 'inProgress']]));
    apply(bench, { collectorId: '1', entry: endedEntry('updated') });
    expect(bench.memberIndex.counts).toEqual(counts({ updated: 1 }));
  });

  describe('U12: a collector that a stage has chosen', () => {
    const selector = { matchFields: { osName: 'Linux' } };
    const osName = (name: string) => fleetOf(1, () => ({ osName: name }));
    const started = (selection = nameSelection({ selector })) => {
      const stages = [stageRecord('canary', { selection })];
      const bench = new PolicyBench({ spec: { selector }, header: { stages }, members: { canary: ['1'] } });
      bench.listing.show(10, osName('Linux'));
      bench.sync();
      bench.listing.show(20, osName('Windows'));
      bench.sync();
      return bench;
    };

    test('stays when its own fields no longer match, also after a restart', () => {
      const bench = started();
      expect(bench.memberIndex.stageCounts(0)).toEqual(counts({ pending: 1 }));
      expect(bench.ownership.owner('1')?.uid).toBe(policyUid);
      expect(bench.freshMembers().index.member('1')?.selected).toBe(true);
    });

    test('leaves if the selector was edited after the stage started', () => {
      expect(started('another').memberIndex.matched).toBe(0);
    });

    test('leaves when a retry removes the stage', () => {
      const bench = started();
      bench.ledger.setHeader({ ...bench.ledger.header, stages: [] });
      bench.sync();
      expect(bench.memberIndex.matched).toBe(0);
      expect(bench.ownership.owner('1')).toBeUndefined();
    });
  });

  describe('U12: a collector that a changed selection excludes after its attempt', () => {
    const others = { matchNames: ['db-*'] };
    const stays = (entry: Entry, selector: object, more: Partial<Collector> = {}) => {
      const bench = new PolicyBench({
        spec: { selector },
        header: { selection: 'another' },
        collectors: fleetOf(1, () => more),
        entries: [entry],
      });
      return [bench.memberIndex.matched === 1, bench.memberIndex.member('1')?.selected ?? false];
    };
    const older = { matchExpressions: [{ key: 'collectorVersion', operator: 'Lt', values: [target] }] };

    test.each<[string, Entry, object, Partial<Collector>, readonly [boolean, boolean]]>([
      ['goes', endedEntry('failed'), others, {}, [false, false]],
      ['stays while its attempt is open', openEntry(), others, {}, [true, false]],
      [
        'stays if only its new version excludes it',
        endedEntry('updated'),
        older,
        { collectorVersion: target },
        [true, true],
      ],
    ])('%s', (_, entry, selector, more, expected) => {
      expect(stays(entry, selector, more)).toEqual(expected);
    });

    test('stays if an older ledger does not show for which selection the attempt was made', () => {
      const bench = new PolicyBench({
        spec: { selector: others },
        collectors: fleetOf(1),
        entries: [endedEntry('failed')],
      });
      expect(bench.memberIndex.member('1')?.selected).toBe(true);
    });
  });

  test('U7: remain without a row while an attempt is open, or while no listing can show collectors at the target', () => {
    const bench = new PolicyBench({ entries: [openEntry()] });
    expect(memberStates(bench.memberIndex)).toEqual(new Map([['1', 'inProgress']]));
    bench.listing.isObservable = false;
    apply(bench, { collectorId: '1', entry: endedEntry('updated') });
    expect(memberStates(bench.memberIndex)).toEqual(new Map([['1', 'updated']]));
    bench.listing.isObservable = true;
    bench.place('1');
    expect(bench.memberIndex.matched).toBe(0);
  });

  test('are removed with their row, after two sweeps without it', () => {
    const bench = new PolicyBench({ collectors: fleetOf(2) });
    bench.listing.rows.endSweep(new Set(['1']));
    bench.sync();
    expect(bench.memberIndex.matched).toBe(2);
    bench.listing.rows.endSweep(new Set(['1']));
    bench.sync();
    expect(bench.memberIndex.matched).toBe(1);
  });
});

describe('states follow newer data of the same row', () => {
  test.each([
    ['offline', 0],
    ['failed', 1],
  ])('U11: a newer heartbeat ends the state %s of a collector refused as offline', (memberState, used) => {
    const refused = endedEntry('offline', { lastSeenAliveMs: 100 }, { used });
    const bench = new PolicyBench({ collectors: fleetOf(1, () => ({ lastSeenAliveMs: 100 })), entries: [refused] });
    expect(bench.memberIndex.counts).toEqual(counts({ [memberState]: 1 }));
    bench.listing.show(
      10,
      fleetOf(1, () => ({ lastSeenAliveMs: 101 })),
    );
    bench.sync();
    expect(bench.memberIndex.counts).toEqual(counts({ pending: 1 }));
  });

  test('U6: a row that already showed the target when the attempt failed makes the collector updated', () => {
    const bench = new PolicyBench({
      collectors: fleetOf(1, () => ({ collectorVersion: target })),
      entries: [endedEntry('timedOut', { sinceMs: 100 }, { used: 9 })],
    });
    expect(bench.memberIndex.counts).toEqual(counts({ failed: 1 }));
    bench.listing.show(
      100,
      fleetOf(1, () => ({ collectorVersion: target })),
    );
    bench.sync();
    expect(bench.memberIndex.counts).toEqual(counts({ updated: 1 }));
  });

  test('U8: a row that stays at the former version after a successful attempt is a drift', () => {
    const bench = new PolicyBench({ collectors: fleetOf(1), entries: [endedEntry('updated', { sinceMs: 100 })] });
    expect(bench.memberIndex.counts).toEqual(counts({ updated: 1 }));
    bench.listing.show(100 + graceMs, fleetOf(1));
    bench.sync();
    expect(bench.memberIndex.counts).toEqual(counts({ drifting: 1 }));
    expect(bench.memberIndex.driftingSinceMs('1')).toBe(100 + graceMs);
  });
});

describe('U8: drift', () => {
  const at = (version: string) => fleetOf(1, () => ({ collectorVersion: version }));

  test('is a collector that left the target, since the first listing that showed it', () => {
    const bench = new PolicyBench({ collectors: at(target) });
    bench.listing.show(100, at(oldVersion));
    bench.sync();
    bench.listing.show(200, at('19.150-1'));
    bench.sync();
    expect(bench.memberIndex.counts).toEqual(counts({ drifting: 1 }));
    expect(bench.memberIndex.driftingSinceMs('1')).toBe(100);
  });

  test('ends when a listing shows the target again', () => {
    const bench = new PolicyBench({ collectors: at(target) });
    for (const [seenAtMs, version] of [
      [100, oldVersion],
      [200, target],
      [300, oldVersion],
    ] as const) {
      bench.listing.show(seenAtMs, at(version));
      bench.sync();
    }
    expect(bench.memberIndex.driftingSinceMs('1')).toBe(300);
  });

  test('ends when an attempt is open', () => {
    const bench = new PolicyBench({ collectors: at(target) });
    bench.listing.show(100, at(oldVersion));
    bench.sync();
    apply(bench, { collectorId: '1', entry: openEntry() });
    expect(bench.memberIndex.driftingSinceMs('1')).toBeUndefined();
  });

  test('does not apply to a collector that never was at the target', () => {
    const bench = new PolicyBench({ collectors: at(oldVersion) });
    bench.listing.show(100, at('19.150-1'));
    bench.sync();
    expect(bench.memberIndex.counts).toEqual(counts({ pending: 1 }));
  });

  test('U6: applies to a collector that failed, reached the target later and left it, which is not retried immediately', () => {
    const bench = new PolicyBench({ collectors: at(oldVersion), entries: [endedEntry('timedOut')] });
    bench.listing.show(100, at(target));
    bench.sync();
    expect(bench.memberIndex.counts).toEqual(counts({ updated: 1 }));
    bench.listing.show(200, at(oldVersion));
    bench.sync();
    expect(bench.memberIndex.counts).toEqual(counts({ drifting: 1 }));
  });
});

test('U13: new collectors are claimed without examining the others', () => {
  const bench = new PolicyBench({ collectors: fleetOf(1) });
  bench.listing.show(10, fleetOf(2));
  bench.claimNew();
  expect(bench.ownership.owner('2')?.uid).toBe(policyUid);
  expect(bench.memberIndex.counts).toEqual(counts({ pending: 2 }));
});

describe('the order of pending collectors', () => {
  const versions = ['19.20-1', '19.9-1', '19.20-1', '19.9-1', '19.100-1'];
  const names = ['e', 'd', 'c', 'b', 'a'];
  const fleet = fleetOf(5, (index) => ({ collectorVersion: versions[index], name: names[index] as string }));

  test.each([
    ['OldestVersionFirst', ['2', '4', '1', '3', '5']],
    ['NewestVersionFirst', ['5', '1', '3', '2', '4']],
    ['Name', ['5', '4', '3', '2', '1']],
  ] as const)('U9: %s, and within a version the order of the list', (order, ids) => {
    const bench = new PolicyBench({ spec: { strategy: { maxInProgress: 5, order } }, collectors: fleet });
    expect([...bench.memberIndex.pending()]).toEqual(ids);
  });

  test('U9: follows the list when positions change', () => {
    const bench = new PolicyBench({ collectors: fleetOf(3) });
    expect([...bench.memberIndex.pending()]).toEqual(['1', '2', '3']);
    bench.listing.show(10, [...fleetOf(3)].reverse());
    bench.sync();
    expect([...bench.memberIndex.pending()]).toEqual(['3', '2', '1']);
  });

  test('puts collectors without a position last', () => {
    const bench = new PolicyBench({ collectors: fleetOf(3) });
    bench.listing.rows.endSweep(new Set(['2', '3']));
    expect([...bench.freshMembers().index.pending()]).toEqual(['2', '3', '1']);
  });

  test('omits started collectors, and puts withdrawn ones first', () => {
    const bench = new PolicyBench({ collectors: fleetOf(4) });
    expect([...bench.memberIndex.pending()]).toHaveLength(4);
    apply(
      bench,
      { collectorId: '1', entry: openEntry() },
      { collectorId: '3', entry: { ...openEntry(), collectorId: '3' } },
    );
    expect([...bench.memberIndex.pending()]).toEqual(['2', '4']);
    apply(bench, { collectorId: '3', entry: undefined });
    expect([...bench.memberIndex.pending()]).toEqual(['3', '2', '4']);
  });
});

test.each([
  ['the selector', { selector: { matchNames: ['a'] } }, false],
  ['what is excluded', { exclude: [{ matchNames: ['a'] }] }, false],
  ['allowDowngrade', { allowDowngrade: true }, false],
  ['the order', { strategy: { maxInProgress: 1000, order: 'Name' } }, false],
  ['the limit of retries', { retryPolicy: { ...spec().retryPolicy, limit: 0 } }, false],
  ['maxInProgress', { strategy: { maxInProgress: 3, order: 'OldestVersionFirst' } }, true],
  ['a pause', { paused: true }, true],
  ['the target', { target: { version: newerVersion } }, true],
] as const)('%s requires another memberIndex: %s', (_, change, same) => {
  expect(sameSelection(spec(), spec(change))).toBe(same);
});

describe('after any sequence of events', () => {
  const ids = ['1', '2', '3', '4', '5', '6'];
  const id = fc.constantFrom(...ids);
  const version = fc.constantFrom(oldVersion, target, newerVersion, '', 'nightly');
  const row = fc.record({
    id,
    collectorVersion: version,
    alive: fc.boolean(),
    name: fc.constantFrom('web-a', 'web-b', 'db'),
    lastSeenAliveMs: fc.nat(3),
  });
  const sinceMs = fc.constantFrom(0, graceMs, 3 * graceMs);
  const kind = fc.constantFrom('updated', 'failed', 'timedOut', 'refused', 'offline', 'invalid', 'unobservable');
  const ended = fc
    .record({ id, kind, sinceMs, used: fc.nat(4), drifts: fc.nat(1), lastSeenAliveMs: fc.nat(3) })
    .map((of) => {
      const { kind, sinceMs, lastSeenAliveMs, used, drifts } = of;
      return { ...endedEntry(kind, { sinceMs, lastSeenAliveMs }, { used, drifts }), collectorId: of.id };
    });
  const change = fc.oneof(
    ended.map((one) => ({ collectorId: one.collectorId, entry: one })),
    id.map((collectorId) => ({ collectorId, entry: { ...openEntry(), collectorId } })),
    id.map((collectorId) => ({ collectorId, entry: { ...entry({ used: 0, drifts: 1 }), collectorId } })),
    id.map((collectorId) => ({ collectorId, entry: undefined })),
  );
  const other = fc.record({ what: fc.constantFrom('claim', 'unclaim', 'began', 'ended', 'retire', 'rank'), id });
  const step = fc.oneof(
    fc.record({ chosen: fc.uniqueArray(id) }),
    fc.record({ page: fc.uniqueArray(row, { selector: (one) => one.id }), laterMs: fc.constantFrom(1, graceMs) }),
    fc.record({ sweep: fc.uniqueArray(id) }),
    fc.record({ change }),
    fc.record({ other }),
  );

  function actAsOther({ ownership }: PolicyBench, { what, id }: { readonly what: string; readonly id: string }): void {
    const uid = 'policy-b';
    if (what === 'claim') ownership.claim(uid, id);
    if (what === 'unclaim') ownership.unclaim(uid, id);
    if (what === 'began' && ownership.owner(id)?.uid === uid) {
      ownership.began(id, { policy: uid, toVersion: target, taskId: undefined, sinceMs: 0 });
    }
    if (what === 'ended') ownership.ended(id, uid);
    if (what === 'retire') ownership.retire(uid);
    if (what === 'rank') ownership.register(claimant(uid, { priority: 1 }));
  }

  test('counts, versions, lists and order equal those of a new index', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 25 }), (steps) => {
        const selector = { matchNames: ['web-*'] };
        const bench = new PolicyBench({ spec: { selector } });
        const { memberIndex, listing, ledger } = bench;
        let nowMs = 0;
        for (const one of steps) {
          if ('page' in one) {
            nowMs += one.laterMs;
            listing.show(
              nowMs,
              one.page.map(({ id, ...more }) => collector(id, more)),
            );
          }
          if ('chosen' in one) {
            const isStarted = ledger.header.stages?.length === 1;
            const stages = isStarted ? [] : [stageRecord('canary', { selection: nameSelection({ selector }) })];
            const members = one.chosen.filter((chosen) => memberIndex.member(chosen));
            ledger.setHeader({ ...ledger.header, stages }, isStarted ? [] : members);
          }
          if ('sweep' in one) listing.rows.endSweep(new Set(one.sweep));
          if ('change' in one) apply(bench, one.change);
          if ('other' in one) actAsOther(bench, one.other);
          bench.sync();

          const found: { [S in MemberState]: number } = { ...counts() };
          const versions = new Map<string, number>();
          for (const member of memberIndex.ids()) {
            const memberState = memberIndex.stateOf(member, ledger.entry(member));
            expect([member, memberIndex.member(member)?.memberState]).toEqual([member, memberState]);
            if (memberState !== undefined) found[memberState]++;
            const shown = memberIndex.row(member)?.collector.collectorVersion;
            if (shown) versions.set(shown, (versions.get(shown) ?? 0) + 1);
          }
          expect(memberIndex.counts).toEqual(found);
          expect(memberIndex.countVersions()).toEqual(versions);
          for (const memberState of ['inProgress', 'retrying', 'failed', 'offline', 'skipped', 'foreign'] as const) {
            expect(memberIndex.members(memberState).size).toBe(found[memberState]);
          }
          const pending = [...memberIndex.ids()].filter(
            (member) => memberIndex.member(member)?.memberState === 'pending',
          );
          expect([...memberIndex.pending()].sort()).toEqual(pending.sort());

          // Collectors that run a version other than the target are not compared, because a new index does not know
          // since when they have been running it.
          const fresh = bench.freshMembers().index;
          const finished = ([member]: readonly [string, unknown]) => memberIndex.driftingSinceMs(member) === undefined;
          expect(new Map([...memberStates(fresh)].filter(finished))).toEqual(
            new Map([...memberStates(memberIndex)].filter(finished)),
          );
          expect([...fresh.ids()].sort()).toEqual([...memberIndex.ids()].sort());
        }
      }),
      { numRuns: 400 },
    );
  });
});

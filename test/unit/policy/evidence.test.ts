/**
 * Tests how later events change the outcome of an upgrade attempt: the collector's version changes, or a user retries.
 */
import { describe, expect, test } from 'vitest';
import { annotations } from '../../../src/api/annotations.ts';
import type { Entry, LedgerHeader } from '../../../src/policy/ledger/ledger.ts';
import { endedEntry, oldVersion, openEntry, settings, stageRecord, target, task } from './builders.ts';
import { type ChangedInput, decided, fleetOf, PolicyBench } from './policy-bench.ts';

const rolloutId = `1-${target}`;
const tally = { number: 0, finished: 3, failed: 2 };
const stages = [stageRecord('canary', { startedAtMs: 0, tally: { finished: 3, failed: 2 } })];
const runningHeader: Partial<LedgerHeader> = { stages, tally };
const over: Partial<LedgerHeader> = { stages: stages.map((stage) => ({ ...stage, endedAtMs: 1 })), tally };
const inStages = {
  strategy: {
    maxInProgress: 1_000,
    order: 'Name',
    stages: [
      { name: 'canary', size: 1, soakDuration: '0s' },
      { name: 'rest', soakDuration: '0s' },
    ],
  },
} as const;
/** Fields of a ledger entry whose attempt the rollout and its stage have already counted. */
const counted = { counted: { tally: 0, stage: 0 } } as const;
const retry = { policy: { metadata: { annotations: { [annotations.retry]: rolloutId } } } };

interface ShownCollector {
  readonly version?: string;
  readonly alive?: boolean;
  readonly header?: Partial<LedgerHeader>;
}

function evaluated(
  known: Entry,
  { version = target, alive = true, header = runningHeader }: ShownCollector,
  seen: ChangedInput = {},
) {
  // Collector 2 has not been upgraded, so the rollout cannot complete.
  const collectors = fleetOf(2, (index) => (index === 0 ? { collectorVersion: version, alive } : {}));
  const parts = { spec: inStages, header, entries: [known], members: { canary: ['1'] } };
  const bench = new PolicyBench({ ...parts, collectors, seenAtMs: settings.graceMs });
  const { changes, header: next } = decided(bench, { nowMs: settings.graceMs + 1_000, batchCapacity: 0, ...seen });
  const change = changes.find(({ collectorId }) => collectorId === '1');
  const { finished, failed } = next.tally;
  return { entry: change ? change.entry : known, header: next, tally: [finished, failed] };
}

describe('an upgraded collector', () => {
  const updated = endedEntry('updated', {}, counted);

  test('that dies before its stage has ended is a failure instead of a success', () => {
    const { entry, tally, header } = evaluated(updated, { alive: false });
    expect(entry?.ending).toMatchObject({ kind: 'died', message: 'went offline before its stage finished soaking' });
    expect(tally).toEqual([3, 3]);
    expect(header.stages?.[0]?.tally).toEqual({ finished: 3, failed: 3 });
  });

  test('whose success belongs to an earlier count of failures counts as one more attempt', () => {
    const { entry, tally } = evaluated({ ...updated, counted: { tally: 7, stage: 0 } }, { alive: false });
    expect(tally).toEqual([4, 3]);
    expect(entry?.counted).toEqual({ tally: 0, stage: 0 });
  });

  test('U14: whose retry was refused as offline counts as upgraded, so that it can be rolled back', () => {
    const { entry } = evaluated(endedEntry('offline', {}, counted), {});
    expect(entry).toMatchObject({ used: 1, ending: { kind: 'updated', toVersion: target } });
  });

  test('U8: that leaves the target before its stage has ended is a failure', () => {
    const { entry, tally } = evaluated(updated, { version: oldVersion });
    expect(entry?.ending?.kind).toBe('left');
    expect(tally).toEqual([3, 3]);
  });

  test.each<[string, Entry, ShownCollector]>([
    ['that dies after its stage has ended', updated, { alive: false, header: over }],
    ['that dies in a rollout without stages', updated, { alive: false, header: { tally } }],
    ['U10: that another tool upgraded', endedEntry('updated', {}, { ...counted, used: 0 }), { alive: false }],
    ['that is being upgraded again', openEntry({}, counted), { version: oldVersion, alive: false }],
    ['that died before a listing showed it at the target', updated, { version: oldVersion, alive: false }],
    ['whose failure a retry has cleared', { ...updated, failureCleared: true }, { alive: false }],
  ])('%s: no failure', (_, known, shown) => {
    expect(evaluated(known, shown).tally).toEqual([3, 2]);
  });

  test.each([
    ['that is alive again', endedEntry('died', {}, counted)],
    ['that returned to the target without logfleet', endedEntry('left', {}, counted)],
    ['U6: that reached the target after it had timed out', endedEntry('timedOut', {}, counted)],
    ['U6: that reached the target after it had failed', endedEntry('failed', {}, counted)],
  ])('%s is updated, and its failure is no longer counted', (_, known) => {
    const { entry, tally } = evaluated(known, {});
    expect(entry?.ending).toMatchObject({ kind: 'updated', toVersion: target });
    expect(tally).toEqual([3, 1]);
  });

  test('that went offline before its stage started soaking, and is alive again, is not counted any more', () => {
    const { entry, tally } = evaluated(endedEntry('died', {}, { ...counted, used: 0 }), {});
    expect(entry).toBeUndefined();
    expect(tally).toEqual([2, 1]);
  });

  test('U6: a failure in an earlier count of failures does not change the current count', () => {
    expect(evaluated(endedEntry('failed', {}, { counted: { tally: 7, stage: 0 } }), {}).tally).toEqual([3, 2]);
  });

  test('U6: that reaches the target after a retry makes its stage soak, and is included in a rollback', () => {
    const cleared = endedEntry('timedOut', {}, { counted: { tally: 7, stage: 0 }, used: 0 });
    const { entry, header } = evaluated(cleared, {});
    expect(header.stages?.[0]?.upgraded).toBe(true);
    expect(entry).toMatchObject({ used: 1, ending: { kind: 'updated' } });
  });

  test('U6: removes its failure from the failure count of the stage that counted it, even during the last stage', () => {
    const last = stageRecord('rest', { startedAtMs: 2, maxFailures: 9, tally: { finished: 1, failed: 1 } });
    const header = { stages: [...(over.stages ?? []), last], tally };
    const tallies = evaluated(endedEntry('timedOut', {}, counted), { header }).header.stages?.map(
      (stage) => stage.tally,
    );
    expect(tallies).toEqual([
      { finished: 3, failed: 1 },
      { finished: 1, failed: 1 },
    ]);
  });

  test('that joined late and stopped running before the end of the last stage is a failure of the last stage', () => {
    const last = stageRecord('rest', { startedAtMs: 2, maxFailures: 9, tally: { finished: 1, failed: 0 } });
    const header = { stages: [...(over.stages ?? []), last], tally };
    const late = endedEntry('updated', {}, { counted: { tally: 0, stage: 1 } });
    const after = evaluated(late, { alive: false, header });
    expect(after.entry?.ending?.kind).toBe('died');
    expect(after.header.stages?.[1]?.tally).toEqual({ finished: 1, failed: 1 });
    expect(evaluated(endedEntry('updated', {}, counted), { alive: false, header }).entry?.ending?.kind).toBe('updated');
  });
});

test('R5: a late failure in an ended stage counts in no later stage while another stage has not started', () => {
  const stages = ['canary', 'second', 'third'].map((name) => ({ name, size: 1, soakDuration: '0s' }));
  const spec = { strategy: { ...inStages.strategy, stages } };
  const second = stageRecord('second', { startedAtMs: 2, maxFailures: 0, tally: { finished: 1, failed: 0 } });
  const header = { stages: [...(over.stages ?? []), second], tally };
  const members = { canary: ['1'], second: ['2'] };
  const bench = new PolicyBench({ spec, header, members, collectors: fleetOf(3), entries: [openEntry()] });
  const { header: next } = decided(bench, { tasks: new Map([['1', task({ status: 'failed' })]]) });
  expect(next.tally).toMatchObject({ finished: 4, failed: 3 });
  expect(next.stages?.[1]?.tally).toEqual({ finished: 1, failed: 0 });
});

test('R5: a failed upgrade of a collector that no stage contains does not count in the last stage', () => {
  const stages = ['canary', 'rest'].map((name) => ({ name, size: 1, soakDuration: '0s' }));
  const spec = { strategy: { ...inStages.strategy, stages } };
  const last = stageRecord('rest', { startedAtMs: 2, maxFailures: 9, tally: { finished: 1, failed: 0 } });
  const header = { stages: [...(over.stages ?? []), last], tally };
  const members = { canary: ['2'], rest: ['3'] };
  const collectors = fleetOf(3);
  const bench = new PolicyBench({ spec, header, members, collectors, entries: [openEntry()], seenAtMs: 1_000 });
  const { header: next } = decided(bench, { tasks: new Map([['1', task({ status: 'failed' })]]) });
  expect(next.tally).toMatchObject({ finished: 4, failed: 3 });
  expect(next.stages?.[1]?.tally).toEqual({ finished: 1, failed: 0 });
});

describe('R6: a collector that ran the target before an unproven rollout, and is offline now,', () => {
  const stage = stageRecord('canary', { startedAtMs: 2_000, soakMs: 60_000, tally: { finished: 3, failed: 2 } });
  test.each([
    ['counts as failed if it went offline after the start of its stage', 2_000, true, [4, 3]],
    ['does not count as failed if it was already offline at that start', 1_999, true, [3, 2]],
    ['does not count as failed if no earlier rollout left the target unproven', 2_000, false, [3, 2]],
  ])('%s', (_, lastSeenAliveMs, unproven, expected) => {
    const header = { stages: [stage], tally, ...(unproven && { unproven: true as const }) };
    const shown = { collectorVersion: target, alive: false, lastSeenAliveMs };
    const collectors = fleetOf(2, (index) => (index === 0 ? shown : {}));
    const parts = { spec: inStages, header, members: { canary: ['1'] }, collectors, seenAtMs: settings.graceMs };
    const { finished, failed } = decided(new PolicyBench(parts), { nowMs: settings.graceMs + 1_000 }).header.tally;
    expect([finished, failed]).toEqual(expected);
  });
});

test('U11: after a build is withdrawn, its refusals are forgotten, but not the number of attempts', () => {
  const refused = (used: number) => endedEntry('refused', {}, { used });
  const entryOf = (known: Entry) => evaluated(known, { version: oldVersion }, { notOffered: 'It is withdrawn.' }).entry;
  expect(entryOf(refused(2))).toMatchObject({ used: 2, ending: undefined });
  expect(entryOf(refused(0))).toBeUndefined();
});

describe('an attempt that ends', () => {
  const ends = (status: 'succeeded' | 'failed', more: Partial<Entry> = {}) => {
    const tasks = new Map([['1', task({ status })]]);
    return evaluated(openEntry({}, more), { version: oldVersion }, { tasks });
  };

  test.each([
    ['succeeded', [4, 2], true],
    ['failed', [4, 3], undefined],
  ] as const)('%s counts once, in its stage and in the rollout', (status, expected, upgraded) => {
    const { entry, tally, header } = ends(status);
    expect(tally).toEqual(expected);
    expect(header.stages?.[0]).toMatchObject({ tally: { finished: expected[0], failed: expected[1] } });
    expect(header.stages?.[0]?.upgraded).toBe(upgraded);
    expect(entry?.counted).toEqual({ tally: 0, stage: 0 });
  });

  test('R7: with a rollback is counted nowhere', () => {
    const back = openEntry({ toVersion: oldVersion }, { isRollback: true });
    const tasks = new Map([['1', task({ toVersion: oldVersion, status: 'failed' })]]);
    expect(evaluated(back, {}, { tasks }).tally).toEqual([3, 2]);
  });

  test('U10: and was started by another tool is counted nowhere', () => {
    const adopted = openEntry({ state: 'adopted', ours: false });
    expect(evaluated(adopted, { version: target }).tally).toEqual([3, 2]);
  });
});

describe("a user's retry", () => {
  test('ends the stop', () => {
    const stop = { kind: 'failures', message: 'Too many.', atMs: 1 } as const;
    const { header } = evaluated(endedEntry('updated', {}, counted), { header: { ...runningHeader, stop } }, retry);
    expect(header.stop).toBeUndefined();
    expect(header.handled).toEqual({ retry: rolloutId, liftedAtMs: 1 });
    expect(header.tally).toEqual({ number: 1, finished: 0, failed: 0 });
    expect(header.stages?.[0]?.tally).toEqual({ finished: 0, failed: 0 });
  });

  test.each<[string, Entry, ShownCollector, ChangedInput]>([
    [
      'an upgrade failed',
      openEntry(),
      { version: oldVersion },
      { tasks: new Map([['1', task({ status: 'failed' })]]) },
    ],
    ['a member died', endedEntry('updated', {}, counted), { alive: false }, {}],
  ])('also clears a failure that is found in the same decision: %s', (_, known, shown, seen) => {
    const { header } = evaluated(known, shown, { ...retry, ...seen });
    expect(header.tally).toEqual({ number: 1, finished: 0, failed: 0 });
    expect(header.stages?.[0]?.tally).toEqual({ finished: 0, failed: 0 });
  });

  test.each(['failed', 'timedOut'] as const)('gives a collector that %s all attempts again', (kind) => {
    const known = endedEntry(kind, {}, { ...counted, used: 3 });
    expect(evaluated(known, { version: oldVersion }, retry).entry).toMatchObject({ used: 0, ending: { kind } });
  });

  test('gives a collector whose upgrade was refused as offline all attempts again', () => {
    const known = endedEntry('offline', {}, { ...counted, used: 3 });
    expect(evaluated(known, { version: oldVersion }, retry).entry).toMatchObject({ used: 0 });
  });

  test.each<[string, Entry]>([
    ['that failed once before it reached the target', endedEntry('updated', {}, { ...counted, used: 1 })],
    ['that reached the target and died', endedEntry('died', {}, { ...counted, used: 2 })],
  ])('U14: keeps the collector (%s) as upgraded by this rollout, so that it can be rolled back', (_, known) => {
    expect(evaluated(known, { alive: known.ending?.kind !== 'died' }, retry).entry).toMatchObject({
      used: 1,
      before: oldVersion,
      ending: { kind: 'updated' },
    });
  });

  test('U14: counts a running retry as the first attempt, so that its collector can be rolled back', () => {
    const retried = openEntry({}, { ...counted, used: 2, ending: endedEntry('failed').ending });
    expect(evaluated(retried, { version: oldVersion }, retry).entry).toMatchObject({ used: 1, before: oldVersion });
  });

  test('leaves out a collector that left the target and went offline', () => {
    const { entry } = evaluated(endedEntry('left', {}, counted), { version: oldVersion, alive: false }, retry);
    expect(entry).toMatchObject({ used: 0, ending: { kind: 'left' } });
  });

  test('does not report the same death again', () => {
    const died = endedEntry('died', {}, counted);
    const { entry } = evaluated(died, { alive: false }, retry);
    const again = evaluated(entry as Entry, { alive: false });
    expect(again.entry?.ending?.kind).toBe('updated');
    expect(again.tally).toEqual([3, 2]);
  });

  test('U10: does not count an upgrade by another tool as one of this rollout', () => {
    const known = endedEntry('updated', {}, { used: 0 });
    expect(evaluated(known, {}, retry).entry).toMatchObject({ used: 0 });
  });

  test('U11: a collector that another account owns is reported if a later list still shows it, because it may just have been uninstalled', () => {
    const shown = (seenAtMs: number) => {
      const entries = [endedEntry('invalid', {}, { used: 0 })];
      const bench = new PolicyBench({ entries, collectors: fleetOf(1), seenAtMs });
      return decided(bench, { nowMs: 2 * settings.graceMs }).health.reason;
    };
    expect(shown(settings.graceMs - 1)).toBe('AllUpdated');
    expect(shown(settings.graceMs)).toBe('CollectorsRefused');
  });

  test.each(['refused', 'invalid'] as const)('lets a %s upgrade be requested again as a first attempt', (kind) => {
    const known = endedEntry(kind, {}, { used: 0 });
    expect(evaluated(known, { version: oldVersion }, retry).entry).toBeUndefined();
    expect(evaluated({ ...known, used: 2 }, { version: oldVersion }, retry).entry).toBeUndefined();
    expect(evaluated(known, { version: oldVersion }).entry).toBe(known);
  });

  test('U8: allows one more correction of a contested collector', () => {
    const contested = endedEntry('updated', {}, { ...counted, drifts: 1 });
    const { entry } = evaluated(contested, { version: oldVersion, header: over }, retry);
    expect(entry).toMatchObject({ drifts: 0, used: 1, ending: { kind: 'updated' } });
    expect(evaluated(contested, { version: oldVersion, header: over }).entry).toBe(contested);
  });

  test('starts again with a collector that was rolled back', () => {
    const back = endedEntry('updated', { toVersion: oldVersion }, { isRollback: true });
    expect(evaluated(back, { version: oldVersion }, retry).entry).toBeUndefined();
  });

  test.each(['failed', 'timedOut', 'refused', 'offline'] as const)(
    'U14: a collector that could not be rolled back (%s) still runs the version of this rollout, and can be rolled back later',
    (kind) => {
      const stuck = endedEntry(kind, { toVersion: oldVersion }, { isRollback: true, used: 3 });
      expect(evaluated(stuck, {}, retry).entry).toMatchObject({
        isRollback: false,
        used: 1,
        before: oldVersion,
        ending: { kind: 'updated', toVersion: target },
      });
    },
  );

  test('lets a rollback in flight end, and then treats its collector as any other', () => {
    const back = openEntry({ toVersion: oldVersion }, { isRollback: true });
    expect(evaluated(back, {}, retry).entry).toMatchObject({ isRollback: false, open: { toVersion: oldVersion } });
  });
});

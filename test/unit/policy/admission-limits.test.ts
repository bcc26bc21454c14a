/** Tests the maximum number of concurrent upgrades (U1, U2), including after a policy has been deleted (U13). */
import { describe, expect, test } from 'vitest';
import { shareOf } from '../../../src/policy/members/stages.ts';
import { entryOf, epochMs, newerVersion, oldVersion, openEntry, settings, stageRecord, target } from './builders.ts';
import { admitted, fleetOf, PolicyBench, policyUid, posts, quietState } from './policy-bench.ts';

const { graceMs, maxOpen } = settings;

describe('the number of upgrades in flight', () => {
  test.each([
    [7, 10, 7],
    ['5%', 200, 10],
    ['5%', 201, 11],
    ['5%', 1, 1],
    ['1%', 0, 1],
    ['100%', 33, 33],
  ])('maxInProgress %s of %d collectors is %d', (maxInProgress, matched, max) => {
    expect(shareOf(maxInProgress, matched)).toBe(max);
  });

  test.each([
    [3, 0, 3],
    [3, 2, 1],
    [3, 3, 0],
    [3, 5, 0],
    ['50%', 2, 3],
  ])('with maxInProgress %s and %d in flight, %d more start', (maxInProgress, inFlight, more) => {
    const entries = Array.from({ length: inFlight }, (_, index) => entryOf(String(index + 1), openEntry()));
    const bench = new PolicyBench({
      spec: { strategy: { maxInProgress, order: 'OldestVersionFirst' } },
      collectors: fleetOf(10),
      entries,
    });
    const admission = admitted(bench, 0);
    expect(admission.post).toHaveLength(more);
    expect(admission.pressed).toBe(true);
  });

  test('U10: includes upgrades that another tool started', () => {
    const bench = new PolicyBench({
      spec: { strategy: { maxInProgress: 1, order: 'Name' } },
      collectors: fleetOf(2),
      entries: [entryOf('1', openEntry({ state: 'adopted', ours: false }))],
    });
    expect(admitted(bench, 0).post).toEqual([]);
  });

  test('U1: is at most 1,000 in a policy', () => {
    const entries = Array.from({ length: maxOpen - 3 }, (_, index) => entryOf(String(index + 1), openEntry()));
    const bench = new PolicyBench({
      spec: { strategy: { maxInProgress: '100%', order: 'Name' } },
      collectors: fleetOf(2_000),
      entries,
    });
    expect(admitted(bench, 0).post).toHaveLength(3);
  });

  test('U2: is limited by the capacity of a batch', () => {
    const bench = new PolicyBench({ collectors: fleetOf(100) });
    const admission = admitted(bench, 0, { batchCapacity: 20 });
    expect(admission.post).toHaveLength(20);
    expect(admission.pressed).toBe(false);
  });

  test('U11: collectors whose requests were rejected without a reason come last', () => {
    const bench = new PolicyBench({ collectors: fleetOf(4) });
    const rejected = new Set(['1', '2']);
    const posted = (batchCapacity: number) =>
      admitted(bench, 0, { rejected, batchCapacity }).post.map(({ collectorId }) => collectorId);
    expect(posted(1)).toEqual(['3']);
    expect(posted(20)).toEqual(['3', '4', '1', '2']);
  });

  test('collectors wait for capacity only when none is left', () => {
    const strategy = { maxInProgress: 2, order: 'Name' } as const;
    const bench = new PolicyBench({ spec: { strategy }, collectors: fleetOf(2) });
    expect(admitted(bench, 0)).toMatchObject({ pressed: false });
    expect(admitted(new PolicyBench({ spec: { strategy }, collectors: fleetOf(3) }), 0)).toMatchObject({
      pressed: true,
    });
    const idle = new PolicyBench({ spec: bench.spec, collectors: [], entries: [] });
    expect(admitted(idle, 0)).toMatchObject({ pressed: false, post: [], nextMs: Infinity });
  });
});

describe('U13: an attempt that a deleted policy left in flight', () => {
  function orphaned(taskId: string | undefined, toVersion = target): PolicyBench {
    const bench = new PolicyBench({ collectors: fleetOf(2) });
    bench.ownership.began('1', { policy: 'gone', toVersion, taskId, sinceMs: 50 });
    bench.rebuild();
    return bench;
  }

  test('is taken over with its task instead of being posted again', () => {
    const admission = admitted(orphaned('88'), 500, { attempts: 10 });
    expect(posts(admission)).toEqual(['2']);
    expect(admission.attempts).toBe(12);
    expect(admission.pending.entry('1')).toEqual({
      collectorId: '1',
      before: oldVersion,
      used: 1,
      drifts: 0,
      isRollback: false,
      ending: undefined,
      open: {
        number: 11,
        toVersion: target,
        state: 'accepted',
        taskId: '88',
        ours: true,
        probe: false,
        startedAtMs: epochMs + 500,
        sinceMs: 50,
        needsGrace: true,
      },
    });
  });

  test('U3: without a task id has an unknown outcome from the takeover on, and may be probed G later', () => {
    const bench = orphaned(undefined);
    bench.listing.show(50 + graceMs, fleetOf(2));
    const takeover = admitted(bench, 51 + graceMs);
    expect(posts(takeover)).toEqual(['2']);
    expect(takeover.pending.entry('1')?.open).toMatchObject({ state: 'unknown', sinceMs: 51 + graceMs });
    bench.ledger.apply(takeover.pending.changes());
    bench.place('1');
    bench.listing.show(51 + 2 * graceMs, fleetOf(2));
    const [probe] = admitted(bench, 51 + 2 * graceMs).post;
    expect(probe).toMatchObject({ collectorId: '1', used: 1, open: { probe: true } });
  });

  describe('R2: in a stage that has not started', () => {
    const canary = { name: 'canary', soakDuration: '0s', selector: { matchNames: ['none'] } };
    const stages = [canary, { name: 'rest', soakDuration: '0s' }];
    const cause = { kind: 'stageEnd', stage: 'canary', offline: 0 } as const;
    const gate = { cause, reason: undefined, byPerson: false };
    const later = (taskId: string | undefined) => {
      const bench = new PolicyBench({
        spec: { strategy: { maxInProgress: 5, order: 'Name', stages } },
        collectors: fleetOf(2),
      });
      bench.ownership.began('1', { policy: 'gone', toVersion: target, taskId, sinceMs: 50 });
      bench.rebuild();
      return bench;
    };
    const state = { ...quietState, gate, isLastStarted: false };

    test('without a task id is not probed before its stage starts, because a probe could start the upgrade', () => {
      const bench = later(undefined);
      expect(admitted(bench, 500, { state }).pending.changes()).toEqual([]);
      expect(bench.memberIndex.counts).toMatchObject({ inProgress: 1, pending: 1 });
      const started = { ...bench.ledger.header, stages: [stageRecord('rest')] };
      bench.ledger.setHeader(started);
      bench.sync();
      const { pending } = admitted(bench, 500, { state: { ...quietState, header: started } });
      expect(pending.entry('1')?.open).toMatchObject({ state: 'unknown' });
    });

    test('of a former rollout to the same target is not probed before its stage starts (U3)', () => {
      const entries = [{ ...openEntry({ state: 'unknown' }), collectorId: '1' }];
      const spec = { strategy: { maxInProgress: 5, order: 'Name' as const, stages } };
      const bench = new PolicyBench({ spec, collectors: fleetOf(2), entries, seenAtMs: graceMs });
      expect(admitted(bench, graceMs, { state }).post).toEqual([]);
      bench.ledger.setHeader({ ...bench.ledger.header, stages: [stageRecord('rest')] });
      bench.sync();
      const started = { ...quietState, header: bench.ledger.header };
      expect(posts(admitted(bench, graceMs, { state: started }))).toContain('1');
    });

    test('is taken over with its task: the task is read, and nothing is posted', () => {
      const { pending, post } = admitted(later('88'), 500, { state });
      expect(pending.entry('1')?.open).toMatchObject({ state: 'accepted', taskId: '88' });
      expect(post).toEqual([]);
    });
  });

  test('to another version is awaited', () => {
    const admission = admitted(orphaned('88', newerVersion), 500);
    expect(posts(admission)).toEqual(['2']);
    expect(admission.pending.entry('1')?.open).toMatchObject({ toVersion: newerVersion, taskId: '88' });
  });

  test('counts against maxInProgress', () => {
    const bench = orphaned('88');
    expect(admitted(bench, 500, { policy: { spec: { strategy: { maxInProgress: 1, order: 'Name' } } } }).post).toEqual(
      [],
    );
  });

  test('of an existing policy belongs to that policy', () => {
    const bench = new PolicyBench({ collectors: fleetOf(1), entries: [entryOf('1', openEntry())] });
    expect(bench.ownership.flight('1')?.policy).toBe(policyUid);
    const { pending } = admitted(bench, 500);
    expect(pending.changes()).toEqual([]);
  });
});

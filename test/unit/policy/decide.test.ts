/** Tests `decide`, which chooses the next actions for a policy. */
import { describe, expect, test } from 'vitest';
import { annotations } from '../../../src/api/annotations.ts';
import { LogfleetError } from '../../../src/base/errors.ts';
import { minuteMs } from '../../../src/base/time-units.ts';
import { pausedByOf } from '../../../src/controller/pauses.ts';
import { describeCounts } from '../../../src/policy/status/describe-figures.ts';
import { waitText } from '../../../src/policy/status/wait-text.ts';
import type { UpgradeTask } from '../../../src/service/collectors/upgrade-service.ts';
import {
  claimant,
  endedEntry,
  entryOf,
  epochMs,
  newerVersion,
  oldVersion,
  openEntry,
  policy,
  settings,
  stageRecord,
  target,
  task,
} from './builders.ts';
import { type ChangedInput, decided, fleetOf, PolicyBench, posts, updatedFleet } from './policy-bench.ts';

const { graceMs, openLimitMs, driftConfirmMs } = settings;

const problem = (kind: 'stall' | 'backoff') =>
  new LogfleetError({ code: 'x.y', reason: 'Forbidden', message: 'No.', handling: { kind } });
const claims = { kind: 'claims', policy: { namespace: 'a', name: 'b' } } as const;
const soakingStage = stageRecord('all', { soakMs: 60 * minuteMs, upgraded: true, updatedAtMs: epochMs });

test('when a rollout begins, attempts are written ahead, then posted', () => {
  const bench = new PolicyBench({ collectors: fleetOf(3) });
  const decision = decided(bench);
  expect(posts(decision)).toEqual(['1', '2', '3']);
  expect(decision.changes).toEqual(decision.post.map((entry) => ({ collectorId: entry.collectorId, entry })));
  expect(decision.header).toEqual({ ...bench.ledger.header, attempts: 3, selection: bench.memberIndex.selection });
  expect(decision.health.reason).toBe('RollingOut');
  expect(decision.figures.collectors).toMatchObject({ matched: 3, inProgress: 3, pending: 0 });
});

test('a decision does not change its input', () => {
  const bench = new PolicyBench({ collectors: fleetOf(3) });
  decided(bench);
  expect(bench.ledger.size).toBe(0);
  expect(bench.memberIndex.counts.pending).toBe(3);
  expect(posts(decided(bench))).toEqual(['1', '2', '3']);
});

describe('no upgrade starts, and upgrades in flight continue to their end', () => {
  const paused = { 'logfleet.dev/paused': 'true' };

  test.each<[string, ChangedInput, string]>([
    ['paused by the spec', { policy: { spec: { paused: true } } }, 'Paused'],
    ['paused by the annotation', { policy: { metadata: { annotations: paused } } }, 'Paused'],
    ['only observing', { policy: { spec: { mode: 'Observe' } } }, 'Observing'],
    ['a target that is not offered', { notOffered: 'It offers 1.' }, 'VersionNotOffered'],
    [
      'U11: a problem that a user must correct',
      { problem: problem('stall'), heldBy: { kind: 'requestBackOff' } },
      'Forbidden',
    ],
    ['a problem that may pass', { problem: problem('backoff'), heldBy: { kind: 'requestBackOff' } }, 'Forbidden'],
    ['U13: waiting until other policies have claimed', { heldBy: claims }, 'RollingOut'],
    ['U1: a full ledger', { ledgerFull: true }, 'LedgerFull'],
    ['deleted', { policy: { metadata: { deletionTimestamp: '2026-11-01T00:00:00Z' } } }, 'RollingOut'],
    ['U2: no capacity in the batch', { batchCapacity: 0 }, 'RollingOut'],
  ])('%s', (_, seen, reason) => {
    const failed = entryOf('3', endedEntry('failed'));
    const bench = new PolicyBench({ collectors: fleetOf(3), entries: [openEntry(), failed], seenAtMs: 90 * minuteMs });
    const tasks = new Map([['1', task({ status: 'succeeded' })]]);
    const decision = decided(bench, { ...seen, tasks, nowMs: 91 * minuteMs });
    expect(decision.post).toEqual([]);
    expect(decision.changes.map(({ collectorId, entry }) => [collectorId, entry?.ending?.kind])).toEqual([
      ['1', 'updated'],
    ]);
    expect(decision.health.reason).toBe(reason);
  });

  test('no probe is posted', () => {
    const bench = new PolicyBench({
      collectors: fleetOf(1),
      entries: [openEntry({ state: 'unknown' })],
      seenAtMs: graceMs,
    });
    expect(posts(decided(bench, { nowMs: graceMs }))).toEqual(['1']);
    expect(decided(bench, { nowMs: graceMs, policy: { spec: { paused: true } } }).post).toEqual([]);
  });

  test('U5: an attempt without an end is still judged', () => {
    const bench = new PolicyBench({
      collectors: fleetOf(1),
      entries: [openEntry({ sinceMs: 0 })],
      seenAtMs: openLimitMs,
    });
    const [change] = decided(bench, { nowMs: openLimitMs, policy: { spec: { paused: true } } }).changes;
    expect(change?.entry?.ending?.kind).toBe('timedOut');
  });

  test.each([
    [{ paused: 'true' }, undefined],
    [{ 'logfleet.dev/paused': 'yes' }, undefined],
    [paused, 'the annotation logfleet.dev/paused'],
  ])('annotations %j: paused by %s', (annotations, by) => {
    expect(pausedByOf(policy({ metadata: { annotations: annotations as Record<string, string> } }))).toBe(by);
  });
});

describe('a new target during a rollout', () => {
  /** Returns a policy whose target changed while collector 1 was being upgraded to another version. */
  const inMidRollout = () =>
    new PolicyBench({ collectors: fleetOf(2), entries: [openEntry({ toVersion: newerVersion })] });

  test('lets tasks in flight end first: their collectors wait, and the others start', () => {
    const decision = decided(inMidRollout());
    expect(posts(decision)).toEqual(['2']);
    expect(decision.figures.collectors).toMatchObject({ inProgress: 2 });
  });

  test.each([
    ['went well', { status: 'succeeded' } as const],
    ['failed', { status: 'failed' } as const],
  ])('ignores the results of former attempts (%s): each collector starts like any other', (_, more) => {
    const bench = inMidRollout();
    const tasks = new Map([['1', task({ toVersion: newerVersion, ...more })]]);
    const decision = decided(bench, { tasks });
    expect(decision.changes.find(({ collectorId }) => collectorId === '1')).toEqual({
      collectorId: '1',
      entry: undefined,
    });
    bench.write(decision);
    bench.listing.show(2 * graceMs, fleetOf(2));
    bench.sync();
    expect(posts(decided(bench, { nowMs: 2 * graceMs }))).toEqual(['1']);
  });

  test.each<[string, () => PolicyBench, Partial<UpgradeTask>]>([
    ['a former attempt is removed', inMidRollout, { toVersion: newerVersion, status: 'succeeded' }],
    [
      'another policy takes precedence for a collector whose upgrade ends',
      () => {
        const bench = new PolicyBench({ collectors: fleetOf(2), entries: [openEntry()] });
        bench.ownership.register(claimant('policy-b', { priority: 1 }));
        bench.ownership.claim('policy-b', '1');
        bench.sync();
        return bench;
      },
      { status: 'succeeded' },
    ],
    [
      'the service no longer lists a collector whose upgrade ends',
      () => new PolicyBench({ entries: [openEntry()] }),
      { status: 'failed' },
    ],
  ])('H3: the status shows the counts that hold after the decision is stored: %s', (_, begin, more) => {
    const bench = begin();
    const decision = decided(bench, { tasks: new Map([['1', task(more)]]) });
    bench.write(decision);
    expect(decision.figures.collectors).toEqual(describeCounts(bench.memberIndex.counts, bench.memberIndex.matched));
  });

  test('removes a former attempt that is withdrawn, too', () => {
    const bench = new PolicyBench({
      collectors: fleetOf(1),
      entries: [openEntry({ toVersion: newerVersion, state: 'intended' })],
    });
    const decision = decided(bench, { posted: new Map([['1', { kind: 'notSent' } as const]]), batchCapacity: 0 });
    expect(decision.changes).toEqual([{ collectorId: '1', entry: undefined }]);
  });

  test('U5: waits at most 35 minutes for an attempt without an end', () => {
    const bench = inMidRollout();
    bench.listing.show(openLimitMs, fleetOf(2));
    const decision = decided(bench, { nowMs: openLimitMs });
    expect(decision.changes).toContainEqual({ collectorId: '1', entry: undefined });
  });
});

test('U12: a selector on the version loses no collector when its upgrade succeeds', () => {
  const selector = { matchExpressions: [{ key: 'collectorVersion', operator: 'Lt', values: [target] }] } as const;
  const bench = new PolicyBench({ spec: { selector }, collectors: fleetOf(1), entries: [openEntry()] });
  bench.listing.show(500, updatedFleet(1));
  bench.sync();
  const decision = decided(bench);
  expect(decision.changes[0]?.entry?.ending?.kind).toBe('updated');
  bench.ledger.apply(decision.changes);
  bench.place('1');
  const later = decided(bench);
  expect(later.figures).toMatchObject({ summary: { updated: '1/1' }, collectors: { matched: 1, updated: 1 } });
  expect(later.health.ready).toBe('True');
});

describe('U12: a changed selection', () => {
  const excluding = (entry: ReturnType<typeof openEntry>) =>
    new PolicyBench({
      spec: { exclude: [{ matchNames: ['web-1'] }] },
      header: { selection: 'another' },
      collectors: updatedFleet(2).map((one) => (one.id === '1' ? { ...one, collectorVersion: oldVersion } : one)),
      entries: [entry],
    });

  test('removes an excluded collector once, and the rollout completes without it', () => {
    const bench = excluding(endedEntry('failed', {}, { used: 9 }));
    const decision = decided(bench);
    expect(decision.changes).toEqual([{ collectorId: '1', entry: undefined }]);
    expect(decision.header.selection).toBe(bench.memberIndex.selection);
    expect(decision.health).toMatchObject({ ready: 'True', message: `1 of 1 collectors run ${target}.` });
  });

  test('keeps the attempts of collectors that the service does not list at the moment', () => {
    const bench = excluding(endedEntry('failed', {}, { collectorId: '9', used: 9 }));
    expect(decided(bench).changes).toEqual([]);
  });

  test('waits for an attempt in flight, then removes its collector', () => {
    const bench = excluding(openEntry());
    expect(decided(bench).figures.collectors).toMatchObject({ matched: 2, inProgress: 1 });
    // The ledger header stores the new selection only after the excluded collector has been removed. Otherwise, a new
    // leader would not remove that collector.
    expect(decided(bench).header.selection).toBe('another');
    const tasks = new Map([['1', task({ status: 'failed' })]]);
    const decision = decided(bench, { tasks });
    expect(decision.changes).toEqual([{ collectorId: '1', entry: undefined }]);
    expect(decision.header.selection).toBe(bench.memberIndex.selection);
    expect(decision.health.ready).toBe('True');
    expect(decision.figures.collectors).toMatchObject({ matched: 1, updated: 1 });
  });

  test('sends no probe for an excluded collector, because its attempt may never have been sent', () => {
    const bench = excluding(openEntry({ state: 'unknown' }));
    bench.listing.show(graceMs, fleetOf(1));
    expect(decided(bench, { nowMs: graceMs }).post).toEqual([]);
  });
});

describe('the end of a rollout', () => {
  const done = () => new PolicyBench({ collectors: updatedFleet(2), header: { attempts: 5 } });

  test('is recorded once, with its result', () => {
    const bench = done();
    const { header, essentials } = decided(bench, { nowMs: 4_000 });
    expect(header.completedAtMs).toBe(epochMs + 4_000);
    expect(essentials.history).toEqual([
      {
        id: `1-${target}`,
        targetVersion: target,
        startTime: '2026-11-01T00:00:00Z',
        completionTime: '2026-11-01T00:00:04Z',
        outcome: 'Completed',
        updated: 2,
        failed: 0,
      },
    ]);
    bench.ledger.setHeader(header);
    expect(decided(bench, { nowMs: 9_000 }).header).toBe(header);
  });

  test('removes the rollout and its waits from the status', () => {
    expect(decided(done()).essentials).not.toHaveProperty('rollout');
  });

  test('does not occur while collectors are failed, except offline ones', () => {
    const failed = new PolicyBench({ collectors: fleetOf(1), entries: [endedEntry('failed', {}, { used: 9 })] });
    expect(decided(failed).header.completedAtMs).toBeUndefined();
    expect(decided(failed).essentials.rollout?.id).toBe(`1-${target}`);
    const [there] = updatedFleet(1);
    const [, away] = fleetOf(2, () => ({ alive: false }));
    const offline = new PolicyBench({ collectors: [there, away].filter((one) => one !== undefined) });
    expect(decided(offline).header.completedAtMs).toBeDefined();
  });

  test('does not occur if no collector is at the target and no earlier rollout shows otherwise (R2)', () => {
    const bench = new PolicyBench({ collectors: fleetOf(1, () => ({ alive: false })) });
    const { health, header, essentials } = decided(bench);
    expect(health.ready).toBe('True');
    expect(header.completedAtMs).toBeUndefined();
    expect(essentials).not.toHaveProperty('rollout');
    expect(essentials.history).toEqual([]);
  });

  test('does not occur during a pause', () => {
    expect(decided(done(), { policy: { spec: { paused: true } } }).header.completedAtMs).toBeUndefined();
  });

  test('is undone in the status when a late joiner is upgraded', () => {
    const bench = done();
    bench.ledger.setHeader(decided(bench).header);
    bench.listing.show(2_000, [...updatedFleet(2), ...fleetOf(3).slice(2)]);
    bench.sync();
    const decision = decided(bench, { nowMs: 2_000 });
    expect(posts(decision)).toEqual(['3']);
    expect(decision.essentials.rollout?.id).toBe(`1-${target}`);
    expect(decision.header.history).toHaveLength(1);
  });
});

describe('whether a run on a directory may end', () => {
  const pending = () => new PolicyBench({ collectors: fleetOf(1) });
  const inFlight = () => new PolicyBench({ collectors: fleetOf(1), entries: [openEntry()] });

  test.each<[string, PolicyBench, ChangedInput, boolean]>([
    ['all updated', new PolicyBench({ collectors: updatedFleet(1) }), {}, true],
    ['rolling', pending(), {}, false],
    ['in flight', inFlight(), {}, false],
    ['paused with nothing in flight', pending(), { policy: { spec: { paused: true } } }, true],
    ['paused with one in flight', inFlight(), { policy: { spec: { paused: true } } }, false],
    ['observing', pending(), { policy: { spec: { mode: 'Observe' } } }, true],
    ['not offered', pending(), { notOffered: 'x' }, true],
    ['not offered, with one in flight', inFlight(), { notOffered: 'x' }, false],
    ['a problem that a user must correct, whatever is in flight', inFlight(), { problem: problem('stall') }, true],
    ['a problem that may pass', pending(), { problem: problem('backoff') }, false],
    [
      'a collector with exhausted retries',
      new PolicyBench({ collectors: fleetOf(1), entries: [endedEntry('failed', {}, { used: 9 })] }),
      {},
      true,
    ],
    ['in its back-off', new PolicyBench({ collectors: fleetOf(1), entries: [endedEntry('failed')] }), {}, false],
    ['no collector matched', new PolicyBench(), {}, true],
  ])('%s: %s', (_, bench, seen, finished) => {
    expect(decided(bench, { batchCapacity: 0, ...seen }).finished).toBe(finished);
  });
});

describe('the wait in the status', () => {
  const waiting = (bench: PolicyBench, seen: ChangedInput = {}) => decided(bench, seen).essentials.rollout?.waitingFor;

  test('names maxInProgress', () => {
    const strategy = { maxInProgress: 1, order: 'Name' } as const;
    const bench = new PolicyBench({ spec: { strategy }, collectors: fleetOf(2), entries: [openEntry()] });
    expect(waiting(bench)).toBe(waitText({ kind: 'policyLimit', max: 1 }));
  });

  test('names a back-off with its end', () => {
    const bench = new PolicyBench({ collectors: fleetOf(1), entries: [endedEntry('failed')] });
    expect(waiting(bench)).toBe(`${waitText({ kind: 'backOff' })} (1 collector) until 2026-11-01T00:05:00Z`);
  });

  test('names the second listing of a drift with its time', () => {
    const bench = new PolicyBench({ collectors: updatedFleet(1) });
    bench.listing.show(500, fleetOf(1));
    bench.sync();
    expect(waiting(bench)).toBe(`${waitText({ kind: 'secondListing' })} (1 collector) until 2026-11-01T00:10:00Z`);
  });

  test('names other reasons', () => {
    expect(waiting(new PolicyBench({ collectors: fleetOf(1) }), { heldBy: claims })).toBe(waitText(claims));
  });

  test('is absent while upgrades start', () => {
    expect(waiting(new PolicyBench({ collectors: fleetOf(1) }))).toBeUndefined();
  });
});

describe('other fields of the status', () => {
  const of = (seen: ChangedInput) => decided(new PolicyBench({ collectors: fleetOf(1) }), seen).essentials;

  test('are the generation and the target', () => {
    expect(of({ policy: { metadata: { generation: 9 } } })).toMatchObject({
      observedGeneration: 9,
      targetVersion: target,
    });
  });

  test('are the last request to reconcile, with its first 256 characters', () => {
    const at = (value: string) => of({ policy: { metadata: { annotations: { 'logfleet.dev/requestedAt': value } } } });
    expect(at('now').lastHandledReconcileAt).toBe('now');
    expect(at('x'.repeat(300)).lastHandledReconcileAt).toBe('x'.repeat(256));
    expect(of({})).not.toHaveProperty('lastHandledReconcileAt');
  });

  test('are an overlap', () => {
    const { conditions } = of({ overlap: { winner: 'a/b', collectors: 2 } });
    expect(conditions?.map(({ type }) => type)).toEqual(['Ready', 'Reconciling', 'Overlapping']);
  });

  test('keep the time of a transition until the next one', () => {
    const first = of({ nowMs: 0 });
    const status = first.conditions === undefined ? {} : { conditions: first.conditions };
    const later = of({ nowMs: 50_000, policy: { status } });
    expect(later.conditions?.[0]?.lastTransitionTime).toBe('2026-11-01T00:00:00Z');
  });
});

test('U8: a drift is corrected once', () => {
  const bench = new PolicyBench({ collectors: updatedFleet(1) });
  for (const seenAtMs of [100, 100 + driftConfirmMs]) {
    bench.listing.show(
      seenAtMs,
      fleetOf(1, () => ({ collectorVersion: oldVersion })),
    );
    bench.sync();
  }
  expect(posts(decided(bench, { nowMs: 200 + driftConfirmMs }))).toEqual(['1']);
});

test('the start of a stage is written before its collectors are upgraded', () => {
  const stages = [
    { name: 'canary', size: 1, soakDuration: '1h', maxFailures: 0, maxInProgress: '50%' },
    { name: 'rest', soakDuration: '0s' },
  ];
  const strategy = { maxInProgress: 1_000, order: 'Name' as const, stages };
  const bench = new PolicyBench({ spec: { strategy }, collectors: fleetOf(3) });
  const first = decided(bench);
  expect(first).toMatchObject({ post: [], requeueAfterMs: 0, finished: false, needsLedger: true });
  expect(first.started).toHaveLength(1);
  expect(first.header).toMatchObject({ selected: 3 });
  expect(first.header.stages).toEqual([
    {
      name: 'canary',
      startedAtMs: epochMs + 1_000,
      soakMs: 60 * minuteMs,
      maxFailures: 0,
      maxInProgress: '50%',
      members: 1,
      selection: bench.memberIndex.selection,
      tally: { finished: 0, failed: 0 },
    },
  ]);
  bench.write(first);
  expect(posts(decided(bench))).toEqual(first.started);
});

test.each<[string, ChangedInput]>([
  ['a policy of the service that has not claimed yet', { heldBy: claims }],
  ['spec.mode Observe', { policy: { spec: { mode: 'Observe' } } }],
])('R3: a rollout is not complete before the soak of its last stage, even if no upgrade may start: %s', (_, seen) => {
  const strategy = { maxInProgress: 1_000, order: 'Name', stages: [{ name: 'all', soakDuration: '1h' }] } as const;
  const decisionAfter = (soakedMs: number) => {
    const bench = new PolicyBench({
      spec: { strategy: { ...strategy, stages: [...strategy.stages] } },
      header: { stages: [soakingStage] },
      collectors: updatedFleet(1),
      entries: [endedEntry('updated')],
      seenAtMs: soakedMs,
    });
    bench.listing.sweptMs = soakedMs;
    return decided(bench, { ...seen, nowMs: soakedMs });
  };
  const soaking = decisionAfter(30 * minuteMs);
  expect(soaking.health).toMatchObject({ ready: 'False', reason: 'Soaking' });
  expect(soaking.header.completedAtMs).toBeUndefined();
  expect(soaking.gate?.cause).toMatchObject({ kind: 'soak', stage: 'all' });
  expect(soaking.essentials.rollout?.waitingFor).toBeDefined();
  const soaked = decisionAfter(61 * minuteMs);
  expect(soaked.health.reason).toBe('AllUpdated');
  expect(soaked.header).toMatchObject({
    completedAtMs: expect.any(Number),
    stages: [{ endedAtMs: expect.any(Number) }],
  });
});

test('R3: a retry that leaves nothing to upgrade does not complete the rollout before its soak', () => {
  const strategy = { maxInProgress: 1_000, order: 'Name', stages: [{ name: 'all', soakDuration: '1h' }] } as const;
  const bench = new PolicyBench({
    spec: { strategy: { ...strategy, stages: [...strategy.stages] } },
    header: {
      stages: [soakingStage],
      stop: { kind: 'failures', message: 'x', stage: 'all', atMs: epochMs },
    },
    collectors: updatedFleet(2).map((one) => (one.id === '1' ? { ...one, alive: false } : one)),
    entries: [endedEntry('died'), { ...endedEntry('updated'), collectorId: '2' }],
    seenAtMs: minuteMs,
  });
  const decision = decided(bench, {
    nowMs: minuteMs,
    policy: { metadata: { annotations: { [annotations.retry]: bench.ledger.header.rolloutId } } },
  });
  expect(decision.header.stop).toBeUndefined();
  expect(decision.header.completedAtMs).toBeUndefined();
  expect(decision.health).toMatchObject({ ready: 'False', reconciling: true });
});

/** Tests how a rollout proceeds through its stages. */
import { describe, expect, test } from 'vitest';
import { annotations } from '../../../src/api/annotations.ts';
import type { CollectorVersionPolicySpec, Stage } from '../../../src/api/generated/collector-version-policy.ts';
import { hourMs } from '../../../src/base/time-units.ts';
import type { Decision } from '../../../src/policy/decide.ts';
import type { Entry, LedgerHeader, StageRecord } from '../../../src/policy/ledger/ledger.ts';
import type { WaitCause } from '../../../src/policy/rollout/wait-cause.ts';
import type { Collector } from '../../../src/service/collectors/upgrade-service.ts';
import { claimant, collector, endedEntry, epochMs, openEntry, stageOf, stageRecord, target } from './builders.ts';
import { type ChangedInput, decided, PolicyBench } from './policy-bench.ts';

const canary = stageOf('canary', { selector: { matchNames: ['web-1', 'web-2'] }, soakDuration: '1h' });
const rest = stageOf('rest');

type ShownState = 'old' | 'there' | 'upgraded' | 'dead' | 'away' | 'failed' | 'failedEarly' | 'inFlight' | 'gone';

const entries: { readonly [S in ShownState]?: Entry } = {
  upgraded: endedEntry('updated', {}, { counted: { tally: 0, stage: 0 } }),
  dead: endedEntry('died', {}, { counted: { tally: 0, stage: 0 } }),
  failed: endedEntry('failed', {}, { used: 9, counted: { tally: 0, stage: 0 } }),
  failedEarly: endedEntry('failed', {}, { counted: { tally: 0, stage: undefined } }),
  inFlight: openEntry({ sinceMs: hourMs }),
};

interface StateSetting {
  /** Collectors with ids 1 to n. Collectors 1 and 2 belong to the stage `canary`. */
  readonly fleet: readonly ShownState[];
  readonly stages?: readonly Stage[];
  /** Fields that the ledger stores for the stage `canary`, or undefined if the stage has not started. */
  readonly started?: Partial<StageRecord>;
  readonly header?: Partial<LedgerHeader>;
  readonly spec?: Partial<CollectorVersionPolicySpec>;
  readonly seen?: ChangedInput;
  /** Time in ms at which the latest complete collector list was requested. Default: `nowMs`. */
  readonly sweptMs?: number;
}

const nowMs = 2 * hourMs;

function benchOf({ fleet, stages = [canary, rest], started, header = {}, spec = {}, sweptMs = nowMs }: StateSetting) {
  const shown = fleet.map((state, index) => [String(index + 1), state] as const);
  const row = (id: string, state: ShownState): Collector => {
    const isThere = state === 'there' || state === 'upgraded' || state === 'dead';
    return collector(id, {
      ...(isThere && { collectorVersion: target }),
      alive: state !== 'dead' && state !== 'away',
    });
  };
  const known = shown.flatMap(([collectorId, state]) => {
    const entry = entries[state];
    return entry ? [{ ...entry, collectorId }] : [];
  });
  const record = stageRecord('canary', {
    soakMs: hourMs,
    ...(fleet.includes('upgraded') && { upgraded: true }),
    ...started,
  });
  const bench = new PolicyBench({
    spec: { strategy: { maxInProgress: 1_000, order: 'Name', stages: [...stages] }, ...spec },
    header: { ...(started && { stages: [record] }), ...header },
    members: { canary: ['1', '2'] },
    entries: known,
    collectors: shown.filter(([, state]) => state !== 'gone').map(([id, state]) => row(id, state)),
    seenAtMs: nowMs,
  });
  bench.listing.sweptMs = sweptMs;
  return bench;
}

const decision = (setting: StateSetting) => decided(benchOf(setting), { nowMs, ...setting.seen });
const namesOf = ({ header }: Decision) => header.stages?.map(({ name }) => name) ?? [];
const approved = (name: string) => ({ policy: { metadata: { annotations: { [annotations.approve]: name } } } });
const rolloutId = `1-${target}`;

describe('a stage starts', () => {
  const two: StateSetting = { fleet: ['old', 'old', 'old'] };

  test('with collectors that it chooses in the first decision in which an upgrade may start', () => {
    expect(decision(two)).toMatchObject({ started: ['1', '2'], post: [] });
    expect(namesOf(decision(two))).toEqual(['canary']);
  });

  test.each<[string, ChangedInput]>([
    ['the policy is paused', { policy: { spec: { paused: true } } }],
    ['mode is Observe', { policy: { spec: { mode: 'Observe' } } }],
    ['other policies have not claimed yet', { heldBy: { kind: 'listRead' } }],
    ['the build is not offered', { notOffered: 'It offers none.' }],
  ])('not while %s', (_, seen) => {
    expect(namesOf(decision({ ...two, seen }))).toEqual([]);
  });

  test('and counts the upgrades of its collectors that ended before its start', () => {
    const header = { tally: { number: 0, finished: 2, failed: 2 } };
    const setting: StateSetting = { fleet: ['failedEarly', 'old', 'failedEarly'], header };
    const { changes, header: after } = decision(setting);
    expect(after).toMatchObject({ tally: header.tally, stages: [{ tally: { finished: 1, failed: 1 } }] });
    expect(changes).toMatchObject([{ collectorId: '1', entry: { counted: { tally: 0, stage: 0 } } }]);
    const retried = decision({ ...setting, header: { tally: { number: 1, finished: 0, failed: 0 } } });
    expect(retried.header.stages).toMatchObject([{ tally: { finished: 0, failed: 0 } }]);
  });

  test('not while the windows of all its collectors are closed, and names the window that opens first', () => {
    const windows = [{ schedule: '0 12 * * *', duration: '2h', timeZoneSource: 'Collector' as const }];
    const spec = {
      strategy: { maxInProgress: 1_000, order: 'Name' as const, stages: [canary, rest] },
      maintenance: { cutoff: '30m', windows, exclusions: [] },
    };
    const zones = ['America/New_York', 'Asia/Tokyo'];
    const collectors = zones.map((timeZone, index) => collector(String(index + 1), { timeZone }));
    const { gate } = decided(new PolicyBench({ spec, collectors }), { nowMs });
    expect(gate).toMatchObject({ reason: 'WaitingForWindow', untilMs: epochMs + 3 * hourMs });
  });

  test('not before a window opens for one of its collectors that need an upgrade', () => {
    const windows = [{ schedule: '0 12 * * *', duration: '2h', timeZoneSource: 'Collector' as const }];
    const spec = {
      strategy: { maxInProgress: 1_000, order: 'Name' as const, stages: [canary, rest] },
      maintenance: { cutoff: '30m', windows, exclusions: [] },
    };
    // At this time, the window is open in Brisbane.
    const collectors = [
      collector('1', { timeZone: 'Asia/Tokyo' }),
      collector('2', { timeZone: 'Australia/Brisbane', collectorVersion: target }),
    ];
    expect(decided(new PolicyBench({ spec, collectors }), { nowMs }).gate?.reason).toBe('WaitingForWindow');
  });

  test('not in mode Observe, in which no approval is requested', () => {
    const stages = [{ ...canary, approval: 'Required' as const }, rest];
    expect(decision({ ...two, stages, spec: { mode: 'Observe' } }).gate).toBeUndefined();
  });

  test('not in the decision that applies a retry', () => {
    const retry = { policy: { metadata: { annotations: { [annotations.retry]: rolloutId } } } };
    expect(decision({ ...two, seen: retry })).toMatchObject({ started: [], requeueAfterMs: 0, finished: false });
  });

  test('after its approval, even when its collectors are at the target already', () => {
    const stages = [{ ...canary, approval: 'Required' as const }, rest];
    for (const fleet of [two.fleet, ['there', 'there', 'old']] as const) {
      const waits = decision({ fleet, stages });
      expect(waits.gate).toMatchObject({ cause: { kind: 'approval', stage: 'canary' }, byPerson: true });
      expect(waits.figures.stages[0]).toMatchObject({ state: 'AwaitingApproval', members: 2 });
      expect(namesOf(decision({ fleet, stages, header: { approved: ['canary'] } }))).toEqual(['canary']);
    }
  });

  test('after its approval, even if it is a last stage without a list, and no collectors are left', () => {
    const stages = [canary, { ...rest, approval: 'Required' as const }];
    const { gate } = decision({ fleet: ['there', 'there'], started: {}, stages });
    expect(gate?.cause).toEqual({ kind: 'approval', stage: 'rest' });
  });

  test('only with collectors: otherwise it waits for a user', () => {
    const empty = stageOf('empty', { selector: { matchNames: ['none'] } });
    const setting: StateSetting = { fleet: ['old'], stages: [empty, rest] };
    const { gate, health, finished } = decision(setting);
    expect(gate?.cause).toEqual({ kind: 'emptyStage', stage: 'empty' });
    expect(health.reason).toBe('AwaitingApproval');
    expect(finished).toBe(true);
    const skipped = decision({ ...setting, seen: approved(`${rolloutId}/empty`) });
    expect(namesOf(skipped)).toEqual(['empty', 'rest']);
    expect(skipped.header.stages?.[0]).toMatchObject({ members: 0, endedAtMs: epochMs + nowMs });
  });

  test('and ends immediately if it is a last stage without a list, and earlier stages have all collectors', () => {
    const done = decision({ fleet: ['there', 'there'], started: {} });
    expect(namesOf(done)).toEqual(['canary', 'rest']);
    expect(done.header.completedAtMs).toBe(epochMs + nowMs);
  });

  test('with frozen limits: an edit changes only stages that have not started', () => {
    const started = { maxFailures: 0, maxInProgress: 1 };
    const stages = [{ ...canary, maxFailures: 5, maxInProgress: 9, soakDuration: '0s' }, rest];
    const { header } = decision({ fleet: ['upgraded', 'old', 'old'], started, stages });
    expect(header.stages?.[0]).toMatchObject({ maxFailures: 0, maxInProgress: 1, soakMs: hourMs });
  });

  test('and continues to its end when it is deleted from the spec', () => {
    const { gate } = decision({ fleet: ['upgraded', 'inFlight', 'old'], started: {}, stages: [rest] });
    expect(gate?.cause).toEqual({ kind: 'stageEnd', stage: 'canary', offline: 0 });
    const over = decision({
      fleet: ['upgraded', 'upgraded', 'old'],
      started: { updatedAtMs: epochMs },
      stages: [rest],
    });
    expect(namesOf(over)).toEqual(['canary', 'rest']);
  });
});

describe('an active stage', () => {
  const soak = { kind: 'soak', stage: 'canary', soakMs: hourMs } as const;
  const stageEnd = { kind: 'stageEnd', stage: 'canary', offline: 0 } as const;

  test.each<[string, StateSetting, WaitCause | undefined]>([
    ['waits for its members', { fleet: ['upgraded', 'old', 'old'], started: {} }, stageEnd],
    ['waits for upgrades in flight', { fleet: ['upgraded', 'inFlight', 'old'], started: {} }, stageEnd],
    [
      'waits for offline members with offlinePolicy Wait',
      { fleet: ['upgraded', 'away', 'old'], started: {}, spec: { offlinePolicy: 'Wait' } },
      { ...stageEnd, offline: 1 },
    ],
    ['does not wait for offline members otherwise', { fleet: ['upgraded', 'away', 'old'], started: {} }, soak],
    [
      'does not wait for collectors that are no longer listed',
      { fleet: ['upgraded', 'gone', 'old'], started: {} },
      soak,
    ],
    [
      'soaks from the time at which its last member reached the target',
      { fleet: ['upgraded', 'upgraded', 'old'], started: { updatedAtMs: epochMs + hourMs + 1 } },
      soak,
    ],
    [
      'continues its soak when a member returns',
      { fleet: ['upgraded', 'old', 'old'], started: { updatedAtMs: epochMs + hourMs + 1 } },
      soak,
    ],
    [
      'ends with a listing that was sent after the soak',
      { fleet: ['upgraded', 'upgraded', 'old'], started: { updatedAtMs: epochMs }, sweptMs: hourMs - 1 },
      { kind: 'soakListing', stage: 'canary' },
    ],
    [
      'has ended after that listing',
      { fleet: ['upgraded', 'upgraded', 'old'], started: { updatedAtMs: epochMs }, sweptMs: hourMs },
      undefined,
    ],
    [
      'does not soak if the rollout upgraded none of its members',
      { fleet: ['there', 'there', 'old'], started: {} },
      undefined,
    ],
    [
      'soaks in an unproven rollout even then',
      { fleet: ['there', 'there', 'old'], started: {}, header: { unproven: true } },
      soak,
    ],
    [
      'is held by a failed member without a tolerance',
      { fleet: ['upgraded', 'failed', 'old'], started: {} },
      { kind: 'failures', stage: 'canary', failed: 1, analysis: undefined },
    ],
    [
      'is held by a dead member without a tolerance',
      { fleet: ['upgraded', 'dead', 'old'], started: { updatedAtMs: epochMs } },
      { kind: 'failures', stage: 'canary', failed: 1, analysis: undefined },
    ],
    [
      'continues without failed members within its tolerance',
      { fleet: ['upgraded', 'failed', 'old'], started: { maxFailures: 1, updatedAtMs: epochMs } },
      undefined,
    ],
  ])('%s', (_, setting, cause) => {
    expect(decision(setting).gate?.cause).toEqual(cause);
  });

  test('does not end while the selector matches no collectors', () => {
    const { header } = decision({ fleet: [], started: {} });
    expect([header.stop, header.stages?.[0]?.endedAtMs]).toEqual([undefined, undefined]);
  });

  test('keeps the start of its soak in all cases', () => {
    const started = { updatedAtMs: epochMs + hourMs + 1 };
    const { header } = decision({ fleet: ['upgraded', 'inFlight', 'old'], started });
    expect(header.stages?.[0]?.updatedAtMs).toBe(started.updatedAtMs);
  });

  test('leaves a collector that returns during its soak to the last stage', () => {
    const soaking = { fleet: ['upgraded', 'old', 'old'], started: { updatedAtMs: epochMs + hourMs + 1 } } as const;
    expect(decision(soaking).post).toEqual([]);
    const ended = stageRecord('canary', { updatedAtMs: epochMs, endedAtMs: epochMs });
    const header = { stages: [ended, stageRecord('rest')] };
    const { post } = decision({ fleet: ['upgraded', 'old', 'old'], header });
    expect(post.map(({ collectorId }) => collectorId)).toEqual(['2', '3']);
  });
});

describe('an inconclusive stage', () => {
  const failures = { maxFailures: 5 };

  test.each<[string, readonly ShownState[], string]>([
    ['whose collectors failed', ['failed', 'failed', 'there'], 'the service still lists 2 of them'],
    ['whose collectors are no longer listed', ['gone', 'gone', 'there'], 'the service no longer lists any of them'],
    ['whose collectors are offline', ['away', 'away', 'there'], 'the service still lists 2 of them'],
  ])('%s stops the rollout', (_, fleet, listed) => {
    const { header, health } = decision({ fleet, started: failures });
    const message = `None of the collectors in stage canary runs the target version, and ${listed}`;
    expect(header.stop).toEqual({ kind: 'inconclusive', message, stage: 'canary', atMs: epochMs + nowMs });
    expect(health).toMatchObject({ ready: 'False', stalled: true, reason: 'StageInconclusive' });
    expect(health.message).toContain('logfleet approve --stage canary');
  });

  test('stops the rollout also when its collectors are no longer listed at the end of the soak', () => {
    const started = { upgraded: true, updatedAtMs: epochMs } as const;
    expect(decision({ fleet: ['gone', 'gone', 'there'], started }).header.stop?.kind).toBe('inconclusive');
  });

  test('stops the rollout when another policy takes its collectors during the soak, and stays stopped after their return', () => {
    const bench = benchOf({
      fleet: ['upgraded', 'upgraded', 'there'],
      started: { updatedAtMs: epochMs + hourMs + 1 },
    });
    bench.ownership.register(claimant('b', { priority: 9 }));
    for (const id of ['1', '2']) bench.ownership.claim('b', id);
    bench.sync();
    const taken = decided(bench, { nowMs });
    expect(taken.header.stop?.kind).toBe('inconclusive');
    bench.write(taken);
    bench.ownership.retire('b');
    bench.sync();
    const returned = decided(bench, { nowMs });
    expect(bench.memberIndex.stageCounts(0).updated).toBe(2);
    expect(returned.health.reason).toBe('StageInconclusive');
  });

  const stopped: StateSetting = {
    fleet: ['failed', 'failed', 'old', 'there'],
    started: failures,
    header: { stop: { kind: 'inconclusive', message: 'x', stage: 'canary', atMs: epochMs } },
  };

  test('starts again with other collectors after a retry', () => {
    const bench = benchOf({ ...stopped, stages: [stageOf('canary', { size: 3 }), rest] });
    const retried = decided(bench, {
      nowMs,
      policy: { metadata: { annotations: { [annotations.retry]: rolloutId } } },
    });
    expect(retried.header).toMatchObject({ stages: [], tally: { number: 1 } });
    expect(retried.header.stop).toBeUndefined();
    bench.write(retried);
    const again = decided(bench, { nowMs });
    expect(again.header.stages?.[0]).toMatchObject({ members: 3 });
    expect(new Set(again.started)).toEqual(new Set(['1', '2', '3']));
  });

  test('does not wait for approval like an empty stage in the decision that applies the retry', () => {
    const seen = { policy: { metadata: { annotations: { [annotations.retry]: rolloutId } } } };
    const { gate, health } = decision({ ...stopped, fleet: ['failed', 'failed', 'old'], seen });
    expect(gate).toBeUndefined();
    expect(health.reason).toBe('RollingOut');
  });

  test('ends without collectors at the target after an approval', () => {
    const { header } = decision({ ...stopped, seen: approved(`${rolloutId}/canary`) });
    expect(header.stop).toBeUndefined();
    expect(header.stages?.map(({ name }) => name)).toEqual(['canary', 'rest']);
    expect(header.stages?.[0]?.endedAtMs).toBe(epochMs + nowMs);
  });

  test('is not ended by the approval with which it started', () => {
    const header = { approved: ['canary'] };
    const seen = approved(`${rolloutId}/canary`);
    const first = decision({ fleet: ['failed', 'failed', 'old'], started: failures, header, seen });
    expect(first.header).toMatchObject({ stop: { kind: 'inconclusive' }, approved: [] });
    expect(first.header.handled?.approve).toBe(`${rolloutId}/canary`);
  });
});

describe('failures', () => {
  const spec = (action: 'Pause' | 'Rollback' | 'Continue') => ({
    failurePolicy: { maxFailures: 0, minSamples: 1, action },
  });
  const one = { tally: { number: 0, finished: 2, failed: 1 } };
  const setting: StateSetting = { fleet: ['upgraded', 'failed', 'old'], started: {}, header: one };

  test.each([
    ['Pause', 'failures'],
    ['Rollback', 'rollback'],
    ['Continue', undefined],
  ] as const)('beyond the tolerance, with action %s: stop %s', (action, kind) => {
    expect(decision({ ...setting, spec: spec(action) }).header.stop?.kind).toBe(kind);
  });

  test('do not replace an earlier stop', () => {
    const stop = { kind: 'abort', message: 'Aborted.', atMs: 1 } as const;
    const { header } = decision({ ...setting, header: { ...one, stop }, spec: spec('Rollback') });
    expect(header.stop).toEqual(stop);
  });

  test('of a completed rollout stop it, without a rollback', () => {
    const header = { ...one, completedAtMs: epochMs };
    expect(decision({ ...setting, header, spec: spec('Rollback') }).header.stop?.kind).toBe('failures');
  });

  test('with action Continue are reported and keep the rollout from its completion', () => {
    const ended = { updatedAtMs: epochMs, endedAtMs: epochMs };
    const fleet = ['upgraded', 'failed'] as const;
    const { header, health } = decision({
      ...setting,
      fleet,
      started: ended,
      stages: [canary],
      spec: spec('Continue'),
    });
    expect(header.completedAtMs).toBeUndefined();
    expect(health).toMatchObject({ reason: 'CollectorsFailed', stalled: true });
  });
});

test('a rollout whose remaining stages are deleted continues without stages, and completes with the last collector', () => {
  const ended = { updatedAtMs: epochMs, endedAtMs: epochMs };
  const goesOn = decision({ fleet: ['there', 'there', 'old'], started: ended, stages: [] });
  expect(goesOn.header.completedAtMs).toBeUndefined();
  expect(goesOn.post.map(({ collectorId }) => collectorId)).toEqual(['3']);
  const done = decision({ fleet: ['there', 'there', 'there'], started: ended, stages: [] });
  expect(done.header.completedAtMs).toBe(epochMs + nowMs);
});

describe('a rollout is not complete', () => {
  const ended = { updatedAtMs: epochMs, endedAtMs: epochMs };
  const other = stageOf('other', { selector: { matchNames: ['none'] } });
  const seen: ChangedInput = { policy: { spec: { paused: true } } };

  test.each<[string, StateSetting]>([
    [
      'while upgrades are in flight',
      { fleet: ['upgraded', 'inFlight', 'there'], started: ended, stages: [canary, other] },
    ],
    ['before a stage for collectors that are offline now', { fleet: ['away', 'away', 'there'] }],
    [
      'in an unproven rollout, before collectors at the target have soaked',
      { fleet: ['there', 'there'], header: { unproven: true } },
    ],
  ])('%s', (_, setting) => {
    expect(decision({ ...setting, seen }).header.completedAtMs).toBeUndefined();
  });

  test('but otherwise it is', () => {
    expect(decision({ fleet: ['there', 'there'], seen }).header.completedAtMs).toBe(epochMs + nowMs);
  });
});

describe('late joiners', () => {
  test('of an ended stage are limited by maxInProgress of the policy, not of the stage', () => {
    const record = stageRecord('rest', { maxInProgress: 1, updatedAtMs: epochMs, endedAtMs: epochMs });
    const header = { stages: [record], completedAtMs: epochMs };
    const { post } = decision({ fleet: ['there', 'old', 'old', 'old'], stages: [rest], header });
    expect(post.map(({ collectorId }) => collectorId)).toEqual(['2', '3', '4']);
  });

  test('of a last stage without list are upgraded during its soak, which continues', () => {
    const record = stageRecord('rest', { soakMs: hourMs, upgraded: true, updatedAtMs: epochMs + hourMs + 1 });
    const { post, header } = decision({ fleet: ['upgraded', 'old'], stages: [rest], header: { stages: [record] } });
    expect(post.map(({ collectorId }) => collectorId)).toEqual(['2']);
    expect(header.stages?.[0]).toEqual(record);
  });

  test('of a last stage do not delay its end', () => {
    const record = stageRecord('rest', { soakMs: hourMs, upgraded: true, updatedAtMs: epochMs });
    const { header } = decision({ fleet: ['upgraded', 'inFlight'], stages: [rest], header: { stages: [record] } });
    expect(header.completedAtMs).toBe(epochMs + nowMs);
  });

  test('are skipped if the last stage has a list', () => {
    const ended = { updatedAtMs: epochMs, endedAtMs: epochMs };
    const { post, figures } = decision({ fleet: ['there', 'there', 'old'], started: ended, stages: [canary] });
    expect(post).toEqual([]);
    expect(figures.skippedReasons).toMatchObject([{ reason: 'NoStage', count: 1 }]);
  });
});

/** Stages one after the other: conditions, waits, and times of each step. */
import { describe, expect, test } from 'vitest';
import type { CollectorVersionPolicySpec, Stage } from '../../../src/api/generated/collector-version-policy.ts';
import { emptyTally, type LedgerHeader, type Tally } from '../../../src/policy/ledger.ts';
import { heldUpBy, progressStages, type StageCount } from '../../../src/policy/stage-progress.ts';
import type { Counts } from '../../../src/policy/standing-counts.ts';
import { counts, epochMs, header, minuteMs, spec } from './builders.ts';

const hourMs = 60 * minuteMs;
const nowMs = epochMs + 100 * hourMs;

const stage = (name: string, more: Partial<Stage> = {}): Stage => ({ name, soakDuration: '0s', ...more });
const canary = stage('canary', { size: 1, soakDuration: '1h', maxFailures: 0 });
const rest = stage('rest');

interface Setting {
  readonly stages?: readonly Stage[];
  readonly header?: Partial<LedgerHeader>;
  readonly of?: readonly (Partial<Counts> & { readonly tally?: Partial<Tally>; readonly vacated?: number })[];
  readonly spec?: Partial<CollectorVersionPolicySpec>;
  readonly sweptMs?: number;
  readonly isReselected?: boolean;
  readonly isRetried?: boolean;
}

function progress({
  stages = [canary, rest],
  header: known = {},
  of = [],
  spec: more = {},
  sweptMs,
  isReselected = false,
  isRetried = false,
}: Setting) {
  const countOf = (index: number): StageCount => {
    const { tally, vacated = 0, ...standing } = of[index] ?? {};
    return { counts: counts(standing), tally: { ...emptyTally, ...tally }, vacated };
  };
  return progressStages({
    spec: spec({ strategy: { maxInProgress: 1_000, order: 'Name', stages: [...stages] }, ...more }),
    header: header(known),
    countOf,
    latecomersOf: () => 0,
    sweptSinceMs: sweptMs,
    wallMs: nowMs,
    isReselected,
    isRetried,
  });
}

const begun = { name: 'canary', startedAtMs: epochMs };
const soaking = (sinceMs: number) => ({ ...begun, updatedAtMs: nowMs - sinceMs });
const done = { updated: 1, tally: { finished: 1 } };
const left = { pending: 1 };

test('without stages all may start, and nothing is noted', () => {
  const { records, reached, current, gate } = progress({ stages: [] });
  expect({ records, reached, current, gate }).toEqual({
    records: [],
    reached: Number.POSITIVE_INFINITY,
    current: undefined,
    gate: undefined,
  });
});

describe('a stage', () => {
  test('R1: neither ends nor soaks before places that were left are taken', () => {
    const gate = { waitsFor: 'the end of stage canary', byPerson: false, untilMs: nowMs };
    const known = { stages: [begun] };
    expect(progress({ header: known, of: [{ skipped: 1, vacated: 1 }, left] })).toMatchObject({
      records: [begun],
      reached: 0,
      gate: { ...gate, reason: 'RollingOut' },
    });
    const soaks = { stages: [soaking(2 * hourMs)] };
    expect(progress({ header: soaks, of: [{ ...done, vacated: 1 }, left], sweptMs: nowMs })).toMatchObject({
      records: soaks.stages,
      gate: { ...gate, reason: 'Soaking' },
    });
  });

  test('says whom it waits for that nothing else brings back', () => {
    const wait = { offlinePolicy: 'Wait' } as const;
    const waitsFor = (first: Partial<Counts>) => progress({ of: [first, left], spec: wait }).gate?.waitsFor;
    expect(waitsFor({ updated: 3, offline: 1 })).toBe('the end of stage canary, of which 1 collector has to come back');
    expect(waitsFor({ pending: 3, offline: 2 })).toBe(
      'the end of stage canary, of which 2 collectors have to come back',
    );
    expect(progress({ of: [{ pending: 1, offline: 1 }, left] }).gate?.waitsFor).toBe('the end of stage canary');
  });

  test('begins with its first collector, and those after it wait for its end', () => {
    expect(progress({ of: [left, left] })).toMatchObject({
      records: [{ name: 'canary', startedAtMs: nowMs }],
      reached: 0,
      current: 0,
      gate: { waitsFor: 'the end of stage canary', byPerson: false },
    });
  });

  test.each(['pending', 'inProgress', 'retrying', 'drifting'] as const)('is held up by one that is %s', (standing) => {
    const of = [{ ...done, [standing]: 1 }, left];
    expect(progress({ of, header: { stages: [begun] } })).toMatchObject({ reached: 0, current: 0 });
    expect(heldUpBy(counts({ [standing]: 1 }), { offlinePolicy: 'Skip' })).toBe(1);
  });

  test.each(['failed', 'offline', 'newer', 'skipped', 'foreign'] as const)(
    'is not held up by one that is %s',
    (standing) => {
      expect(heldUpBy(counts({ [standing]: 1 }), { offlinePolicy: 'Skip' })).toBe(0);
    },
  );

  test('is held up by who is offline where the policy waits for them', () => {
    expect(heldUpBy(counts({ offline: 2 }), { offlinePolicy: 'Wait' })).toBe(2);
  });

  test('soaks from when the last of it is at the target', () => {
    expect(progress({ of: [done, left], header: { stages: [begun] } })).toMatchObject({
      records: [soaking(0)],
      gate: { waitsFor: 'the end of the soak of stage canary', reason: 'Soaking', untilMs: nowMs + hourMs },
      sweepFromMs: undefined,
    });
  });

  test('soaks anew once somebody of it is away from the target again', () => {
    const away = progress({ of: [{ ...done, drifting: 1 }, left], header: { stages: [soaking(hourMs)] } });
    expect(away.records).toEqual([begun]);
  });

  test.each([
    [hourMs - 1, nowMs, 'the end of the soak of stage canary', undefined],
    [hourMs, undefined, 'a listing of stage canary after its soak', nowMs],
    [hourMs, nowMs - 1, 'a listing of stage canary after its soak', nowMs],
    [2 * hourMs, nowMs - hourMs - 1, 'a listing of stage canary after its soak', nowMs - hourMs],
  ])('after %d ms of its soak and a sweep at %s waits for %s', (soakedMs, sweptMs, waitsFor, sweepFromMs) => {
    const of = [done, left];
    const found = progress({ of, header: { stages: [soaking(soakedMs)] }, ...(sweptMs !== undefined && { sweptMs }) });
    expect(found.gate?.waitsFor).toBe(waitsFor);
    expect(found.sweepFromMs).toBe(sweepFromMs);
    expect(found.reached).toBe(0);
  });

  test('R1: does not grow with the fleet after a retry in its soak, either', () => {
    const [settled] = progress({ of: [done, left], header: { stages: [begun] } }).records;
    expect(settled).toMatchObject({ members: 1, shape: expect.any(Number) });
    const known = { ...settled, name: 'canary', startedAtMs: epochMs, updatedAtMs: nowMs - 1 };
    const { records } = progress({ of: [done, left], header: { stages: [known] }, isRetried: true });
    // Its places are free for one decision.
    expect(records).toEqual([soaking(1)]);
    expect(progress({ of: [done, left], header: { stages: records } }).records).toEqual([known]);
  });

  test('ends after its soak and a look since then, and the next one begins', () => {
    const found = progress({ of: [done, left], header: { stages: [soaking(hourMs)] }, sweptMs: nowMs });
    expect(found).toMatchObject({
      records: [
        { ...soaking(hourMs), endedAtMs: nowMs },
        { name: 'rest', startedAtMs: nowMs },
      ],
      reached: 1,
      current: 1,
    });
  });

  test('in which nothing was tried needs no soak: its collectors were at the target before', () => {
    expect(progress({ of: [{ updated: 1 }, left] })).toMatchObject({ reached: 1, current: 1 });
  });

  test('of an unproven rollout soaks although its collectors were at the target before', () => {
    const header = { stages: [begun], unproven: true } as const;
    expect(progress({ of: [{ updated: 1 }, left], header }).gate?.reason).toBe('Soaking');
  });

  test('says that a soak is too short to see a death', () => {
    const short = { ...canary, soakDuration: '34m' };
    expect(progress({ stages: [short, rest], of: [done, left] }).gate?.waitsFor).toBe(
      'the end of the soak of stage canary (a death is visible only after 35m)',
    );
  });

  test('that has ended has ended: a collector that comes late to it holds nobody up', () => {
    const ended = { ...soaking(hourMs), endedAtMs: nowMs - 1 };
    expect(progress({ of: [{ ...done, pending: 5 }, left], header: { stages: [ended] } })).toMatchObject({
      current: 1,
      reached: 1,
    });
  });

  test('that has ended begins again for who is selected anew by a person, without another approval where it has one', () => {
    const ended = { ...soaking(hourMs), endedAtMs: nowMs - 1 };
    const stages = [{ ...canary, approval: 'Required' } as const, rest];
    const setting = { stages, header: { stages: [ended], approved: ['canary'] }, isReselected: true };
    expect(progress({ ...setting, of: [{ ...done, pending: 5 }, left] })).toMatchObject({
      records: [begun],
      current: 0,
      reached: 0,
    });
    expect(progress({ ...setting, of: [done, left] })).toMatchObject({ current: 1, reached: 1 });
  });

  test('of several that have nothing to wait for, all end at once', () => {
    const found = progress({ stages: [stage('a'), stage('b'), stage('c')], of: [done, done, done] });
    expect(found).toMatchObject({ current: undefined, reached: Number.POSITIVE_INFINITY, gate: undefined });
    expect(found.records.map(({ name, endedAtMs }) => [name, endedAtMs])).toEqual([
      ['a', nowMs],
      ['b', nowMs],
      ['c', nowMs],
    ]);
  });
});

describe('a stage in which nobody can be upgraded', () => {
  const nobody: readonly (readonly [string, Partial<Counts>])[] = [
    ['empty', {}],
    ['of hosted ones', { skipped: 3 }],
    ['of another policy', { foreign: 3 }],
    ['offline', { offline: 3 }],
    ['newer', { newer: 3 }],
  ];

  test.each(nobody)('%s: is passed over for the one after it', (_, standing) => {
    const found = progress({ of: [standing, left] });
    expect(found).toMatchObject({ current: 1, reached: 1 });
    expect(found.records.map(({ name }) => name)).toEqual(['canary', 'rest']);
  });

  test.each(nobody)(
    '%s: has not ended where there is nothing after it: who comes shall go through it',
    (_, standing) => {
      expect(progress({ of: [standing, standing] })).toMatchObject({
        records: [],
        current: undefined,
        gate: undefined,
      });
      expect(progress({ of: [{ ...standing, pending: 9 }, { pending: 99 }] })).toMatchObject({
        current: 0,
        reached: 0,
      });
    },
  );

  test('ends where somebody was upgraded in it', () => {
    expect(progress({ of: [{ failed: 1, tally: { finished: 3, failed: 3 } }] }).records).toMatchObject([
      { name: 'canary', updatedAtMs: nowMs },
    ]);
  });
});

describe('an approval', () => {
  const asked = { ...rest, approval: 'Required' } as const;
  const stages = [{ ...canary, soakDuration: '0s' }, asked];

  test('is waited for once the stage before has ended', () => {
    expect(progress({ stages, of: [left, left] }).gate).toMatchObject({ waitsFor: 'the end of stage canary' });
    expect(progress({ stages, of: [done, left] })).toMatchObject({
      current: 1,
      reached: 0,
      gate: { waitsFor: 'the approval of stage rest', reason: 'AwaitingApproval', byPerson: true },
    });
  });

  test('once given, lets it begin', () => {
    expect(progress({ stages, of: [done, left], header: { approved: ['rest'] } })).toMatchObject({
      current: 1,
      reached: 1,
    });
  });

  test('may be given for the first stage', () => {
    const first = [{ ...canary, approval: 'Required' } as const, rest];
    expect(progress({ stages: first, of: [left, left] })).toMatchObject({ current: 0, reached: -1 });
  });

  test('that is asked for in the midst of a stage holds who is left of it', () => {
    const header = {
      stages: [
        { ...begun, endedAtMs: 1 },
        { name: 'rest', startedAtMs: 1 },
      ],
    };
    expect(progress({ stages, of: [done, left], header })).toMatchObject({
      records: header.stages,
      current: 1,
      reached: 0,
      gate: { reason: 'AwaitingApproval' },
    });
    expect(progress({ stages, of: [done, left], header: { ...header, approved: ['rest'] } }).reached).toBe(1);
  });

  test('is not asked for a stage that has nothing to do', () => {
    expect(progress({ stages, of: [done, { updated: 4 }] })).toMatchObject({ current: undefined });
  });
});

describe('a death within a soak', () => {
  const died = { updated: 2, failed: 1, tally: { finished: 3, failed: 1, broken: 1, died: 1 } };
  const of = [died, left];
  const header = { stages: [soaking(2 * hourMs)] };
  const { maxFailures: _, ...unlimited } = canary;

  test('holds the stage until a person looks, where nobody has said how many are too many', () => {
    expect(progress({ stages: [unlimited, rest], of, header, sweptMs: nowMs }).gate).toEqual({
      waitsFor:
        'a person to examine 1 collector of stage canary that died within its soak, because no maxFailures is set',
      reason: 'CollectorsFailed',
      untilMs: undefined,
      byPerson: true,
    });
  });

  test('or a failure, holds it also where there is no soak', () => {
    const failed = { updated: 2, failed: 1, tally: { finished: 3, failed: 1, broken: 1 } };
    const stages = [{ ...unlimited, soakDuration: '0s' }, rest];
    expect(progress({ stages, of: [failed, left], header, sweptMs: nowMs })).toMatchObject({
      current: 0,
      gate: { waitsFor: expect.stringContaining('1 collector of stage canary that failed'), byPerson: true },
    });
  });

  test('leaves no listed collector, and holds the stage because it has no result', () => {
    const gone = { tally: { finished: 3 } };
    expect(progress({ of: [gone, left], header, sweptMs: nowMs })).toMatchObject({
      current: 0,
      gate: { waitsFor: expect.stringContaining('none of its collectors is listed any more'), byPerson: true },
    });
  });

  test.each([
    ['the stage tolerates some', { stages: [{ ...unlimited, maxFailures: 1 }, rest] }],
    [
      'the rollout tolerates some',
      { stages: [unlimited, rest], spec: { failurePolicy: { maxFailures: 1, minSamples: 1, action: 'Pause' } } },
    ],
  ] as const)('is for the failure policy where %s', (_, more) => {
    expect(progress({ of, header, sweptMs: nowMs, ...(more as Setting) })).toMatchObject({ current: 1 });
  });
});

describe('stages that are changed in mid-rollout', () => {
  const ended = { ...soaking(hourMs), endedAtMs: nowMs - 1 };
  const header = { stages: [ended, { name: 'rest', startedAtMs: epochMs }] };

  test.each<[string, readonly Stage[], number, number]>([
    ['none: the second is under way', [canary, rest], 1, 1],
    ['another before all: it comes first', [stage('new'), canary, rest], 0, 0],
    ['another between: it comes next', [canary, stage('new'), rest], 1, 1],
    ['the first removed: the second is under way', [rest], 0, 0],
    ['the first and the second in turns: the second is under way', [stage('rest', { size: 5 }), stage('canary')], 0, 0],
    ['the second renamed: it begins', [canary, stage('others')], 1, 1],
  ])('%s', (_, stages, current, reached) => {
    expect(progress({ stages, of: stages.map(() => ({ ...done, ...left })), header })).toMatchObject({
      current,
      reached,
    });
  });
});

/** Tests the rules that forbid the start of an upgrade, and their reasons. */
import { describe, expect, test } from 'vitest';
import {
  type AdmissionState,
  type Candidate,
  type KnownOfAll,
  refusalOf,
  refusalOfAll,
} from '../../../src/policy/admission/start-rules.ts';
import type { RolloutStop, StageRecord } from '../../../src/policy/ledger/ledger.ts';
import type { Observation } from '../../../src/policy/rollout/decide-input.ts';
import type { WaitCause } from '../../../src/policy/rollout/wait-cause.ts';
import { MaintenanceCalendar } from '../../../src/policy/schedule/maintenance-calendar.ts';
import { endedEntry, ending, moment, openEntry, type PolicyParts, policy, settings, stageRecord } from './builders.ts';
import {
  type BenchParts,
  type ChangedInput,
  fleetOf,
  inputOf,
  PolicyBench,
  quietState,
  windowsOf,
} from './policy-bench.ts';

const closed = new MaintenanceCalendar({
  cutoff: '30m',
  windows: [{ schedule: '0 12 * * *', duration: '2h', timeZone: 'UTC' }],
  exclusions: [],
});

/** Rules that can forbid an upgrade, in the order in which the operator checks them. */
const causesForAll: readonly (readonly [WaitCause, PolicyParts, Partial<Observation>])[] = [
  [{ kind: 'paused', by: 'spec.paused' }, { spec: { paused: true } }, {}],
  [{ kind: 'deletion' }, { metadata: { deletionTimestamp: '2026-11-01T00:00:00Z' } }, {}],
  [{ kind: 'observeMode' }, { spec: { mode: 'Observe' } }, {}],
  [{ kind: 'notOffered' }, {}, { notOffered: 'It offers none.' }],
  [{ kind: 'listRead' }, {}, { heldBy: { kind: 'listRead' } }],
  [{ kind: 'ledgerFull' }, {}, { ledgerFull: true }],
];

const quiet = { notOffered: undefined, problem: undefined, heldBy: undefined, ledgerFull: false } as Observation;

const known = (observation = quiet, stop?: RolloutStop, parts?: PolicyParts): KnownOfAll => ({
  policy: policy(parts),
  observation,
  stop,
  windows: new MaintenanceCalendar(undefined).at(0, []),
  now: moment(0),
});

describe('for all collectors', () => {
  test('any collector may start if no rule forbids it', () => {
    expect(refusalOfAll(known())).toBeUndefined();
  });

  test.each(causesForAll)('none: %j', (cause, parts, seen) => {
    expect(refusalOfAll(known({ ...quiet, ...seen }, undefined, parts))).toEqual({ cause });
  });

  test.each(causesForAll.map(([cause], index) => [cause, index] as const))(
    'if all later rules also apply, %j is reported',
    (cause, index) => {
      const rest = causesForAll.slice(index);
      const parts = {
        spec: Object.assign({}, ...rest.map(([, { spec }]) => spec)),
        metadata: Object.assign({}, ...rest.map(([, { metadata }]) => metadata)),
      };
      const seen = Object.assign({}, quiet, ...rest.map(([, , observation]) => observation));
      expect(refusalOfAll(known(seen, undefined, parts))?.cause).toEqual(cause);
    },
  );
});

describe('rules about the rollout and the calendar', () => {
  const noon = 12 * 60 * 60_000;
  const stopped = (kind: RolloutStop['kind']): RolloutStop => ({ kind, message: 'x', atMs: 1 });

  test.each(['failures', 'abort'] as const)('a stop (%s) waits for a user', (kind) => {
    expect(refusalOfAll(known(quiet, stopped(kind)))).toEqual({ cause: { kind: 'stopped' } });
  });

  test('a rollback continues although the target is not offered any more', () => {
    expect(refusalOfAll(known({ ...quiet, notOffered: 'x' }, stopped('rollback')))).toBeUndefined();
  });

  test('a stop is reported before a target that is not offered, and after a pause', () => {
    const seen = { ...quiet, notOffered: 'x' };
    expect(refusalOfAll(known(seen, stopped('abort')))?.cause).toEqual({ kind: 'stopped' });
    const paused = { spec: { paused: true } };
    expect(refusalOfAll(known(seen, stopped('abort'), paused))?.cause).toEqual({ kind: 'paused', by: 'spec.paused' });
  });

  test('the kill switch is reported first', () => {
    const seen = { ...quiet, pausedForAll: 'the ConfigMap', notOffered: 'It offers none.' } as Observation;
    const cause = { kind: 'pausedForAll', by: 'the ConfigMap' };
    expect(refusalOfAll(known(seen, undefined, { spec: { paused: true } }))?.cause).toEqual(cause);
  });

  test('a closed window is reported last, with the time at which it opens', () => {
    expect(refusalOfAll({ ...known(), windows: closed.at(moment(0).wallMs, []) })).toMatchObject({
      cause: { kind: 'window' },
      reason: 'WaitingForWindow',
      untilMs: noon,
    });
    expect(
      refusalOfAll({ ...known({ ...quiet, ledgerFull: true }), windows: closed.at(moment(0).wallMs, []) })?.cause,
    ).toEqual({ kind: 'ledgerFull' });
  });

  test.each([
    [noon - 1, false],
    [noon, true],
    [noon + 90 * 60_000 - 1, true],
    [noon + 90 * 60_000, false],
  ])('a window allows starts again at %d ms of the day: %s', (atMs, mayStart) => {
    const now = moment(atMs);
    const refusal = refusalOfAll({ ...known(), windows: closed.at(now.wallMs, []), now });
    expect(refusal === undefined).toBe(mayStart);
  });
});

describe('for one collector', () => {
  const { graceMs, driftConfirmMs } = settings;
  const failed: Candidate = { id: '1', because: 'failed', ending: ending('failed', { sinceMs: 0 }), used: 1 };
  const backOffMs = 5 * 60_000;

  interface Among extends Partial<Omit<AdmissionState, 'policy' | 'observation'>> {
    readonly seen?: ChangedInput;
  }

  function line(nowMs: number, seenAtMs: number, { seen, ...more }: Among = {}): AdmissionState {
    const bench = new PolicyBench({ collectors: fleetOf(2), seenAtMs });
    return {
      ...inputOf(bench, { nowMs, ...seen }),
      pending: bench.pending(),
      batched: 0,
      state: quietState,
      ...more,
    };
  }

  const one = { strategy: { maxInProgress: 1, order: 'Name' } } as const;
  const oneOpen = () => new PolicyBench({ collectors: fleetOf(2), entries: [openEntry()] }).pending();

  test.each<[string, Candidate, AdmissionState, object | undefined]>([
    ['nothing if no rule applies', { id: '1', because: 'pending' }, line(0, 0), undefined],
    [
      'a POST on its way, for a short time',
      { id: '1', because: 'pending' },
      line(0, 0, { seen: { inFlight: new Set(['1']) } }),
      { cause: undefined },
    ],
    ['the end of the back-off', failed, line(backOffMs - 1, 0), { cause: { kind: 'backOff' }, untilMs: backOffMs }],
    [
      'U6: then a listing, sent after a time',
      failed,
      line(backOffMs, graceMs - 1),
      { cause: { kind: 'versionAfterFailure' }, unseenSinceMs: graceMs },
    ],
    ['nothing after that listing', failed, line(backOffMs, graceMs), undefined],
    [
      'U8: the time of the second listing',
      { id: '1', because: 'drifted', sinceMs: 10 },
      line(20, 10),
      { cause: { kind: 'secondListing' }, untilMs: 10 + driftConfirmMs },
    ],
    [
      'capacity in maxInProgress, like all later collectors',
      { id: '2', because: 'pending' },
      line(0, 0, { seen: { policy: { spec: one } }, pending: oneOpen() }),
      { cause: { kind: 'policyLimit', max: 1 }, forAll: true },
    ],
    [
      'U1: capacity in the ledger, like all later collectors',
      { id: '2', because: 'pending' },
      line(0, 0, { settings: { ...settings, maxOpen: 1 }, pending: oneOpen() }),
      { cause: { kind: 'openLimit', max: 1 }, forAll: true },
    ],
    [
      'U2: capacity in the batch for a short time, like all later collectors',
      { id: '1', because: 'pending' },
      line(0, 0, { seen: { batchCapacity: 3 }, batched: 3 }),
      { cause: undefined, forAll: true },
    ],
  ])('it waits for %s', (_, candidate, among, refusal) => {
    expect(refusalOf(candidate, among)).toEqual(refusal);
  });

  describe('in stages', () => {
    const stages = [
      { name: 'canary', size: 1, soakDuration: '0s' },
      { name: 'rest', soakDuration: '0s' },
    ];
    const strategy = { maxInProgress: 1_000, order: 'Name', stages } as const;
    const cause = { kind: 'stageEnd', stage: 'canary', offline: 0 } as const;
    const gate = {
      cause,
      reason: 'Soaking',
      untilMs: moment(50).wallMs,
      byPerson: false,
    };
    const refusal = { cause, reason: 'Soaking', untilMs: 50 };

    /** Collector 1 belongs to the stage `canary`. Collector 2 does not belong to any stage that has started. */
    const staged = (records: readonly StageRecord[], more: Among = {}, others: BenchParts = {}) => {
      const parts = { spec: { strategy }, header: { stages: records }, members: { canary: ['1'] }, ...others };
      const bench = new PolicyBench({ ...parts, collectors: fleetOf(2) });
      const isLastStarted = records.length === 2;
      const current = records.findIndex(({ endedAtMs }) => endedAtMs === undefined);
      const state = { ...quietState, header: bench.ledger.header, gate, current, isLastStarted };
      return line(0, 0, {
        memberIndex: bench.memberIndex,
        seen: { policy: { spec: bench.spec } },
        pending: bench.pending(),
        state,
        ...more,
      });
    };
    const [first, second] = [
      { id: '1', because: 'pending' },
      { id: '2', because: 'pending' },
    ] as const satisfies readonly Candidate[];
    const canary = stageRecord('canary');
    const soaking = { ...canary, updatedAtMs: 1 };
    const ended = { ...soaking, endedAtMs: 2 };

    test('a collector of a later stage waits for the reason of the stage, until its end', () => {
      expect(refusalOf(second, staged([canary]))).toEqual(refusal);
      expect(refusalOf(first, staged([canary]))).toBeUndefined();
    });

    test.each([
      ['soaks', soaking],
      ['has ended', ended],
    ])('a member that its stage has not upgraded when it %s waits for the last stage', (_, record) => {
      expect(refusalOf(first, staged([record]))).toEqual(refusal);
      expect(refusalOf(first, staged([ended, stageRecord('rest')]))).toBeUndefined();
      expect(refusalOf(second, staged([ended, stageRecord('rest')]))).toBeUndefined();
    });

    test('a retry or a correction of drift waits for no stage, even during the soak of its own stage', () => {
      const retry: Candidate = { ...failed, used: 0 };
      const after = { now: moment(graceMs) };
      expect(refusalOf(retry, staged([ended], after))?.cause).toEqual({ kind: 'versionAfterFailure' });
      const drift: Candidate = { id: '1', because: 'drifted', sinceMs: 0 };
      expect(refusalOf(drift, staged([ended], after))?.cause).toEqual({ kind: 'secondListing' });
      expect(refusalOf(retry, staged([soaking], after))?.cause).toEqual({ kind: 'versionAfterFailure' });
    });

    test('after a retry that starts the stages again, a failed collector waits until its stage starts', () => {
      const { state } = staged([canary]);
      const taken = { ...state, header: { ...state.header, stages: [] }, gate: undefined };
      const retry: Candidate = { ...failed, used: 0 };
      expect(refusalOf(retry, staged([canary], { state: taken, now: moment(graceMs) }))).toEqual({
        cause: undefined,
      });
    });

    test('a rollback waits neither for a stage nor for the limit of a stage', () => {
      const rollback = { candidates: [], there: [], inFlight: 0, rolledBack: 0, left: [], offline: 0 };
      const limited = staged([{ ...canary, maxInProgress: 0 }]);
      expect(refusalOf(first, limited)?.cause).toEqual({ kind: 'stageLimit', stage: 'canary', max: 0 });
      const among = { ...limited, state: { ...limited.state, rollback } };
      expect(refusalOf({ id: '1', because: 'rollback' }, among)).toBeUndefined();
    });

    test('the limit of an active stage also holds back later collectors of the stage', () => {
      const records = [ended, stageRecord('rest', { maxInProgress: 0 })];
      const limit = { kind: 'stageLimit', stage: 'rest', max: 0 };
      expect(refusalOf(second, staged(records))).toEqual({ cause: limit, forAll: true });
      expect(refusalOf(first, staged(records))).toBeUndefined();
    });

    test('the limit of a stage that has ended no longer holds back the collectors of the stage', () => {
      expect(refusalOf(first, staged([{ ...ended, maxInProgress: 0 }, stageRecord('rest')]))).toBeUndefined();
    });

    test('a limit in percent is a percentage of the collectors that the stage selected at its start', () => {
      const input = staged([canary], {}, { members: { canary: ['1', '2'] }, entries: [openEntry()] });
      const limited = (members: number) => {
        const stages = [{ ...canary, members, maxInProgress: '50%' }];
        return { ...input, state: { ...input.state, header: { ...input.state.header, stages } } };
      };
      expect(refusalOf(second, limited(4))).toBeUndefined();
      expect(refusalOf(second, limited(2))?.cause).toEqual({ kind: 'stageLimit', stage: 'canary', max: 1 });
    });
  });

  test('windows in the time zone of each collector', () => {
    const windows = [{ schedule: '0 12 * * *', duration: '2h', timeZoneSource: 'Collector' as const }];
    const maintenance = { cutoff: '30m', windows, exclusions: [] };
    const collectors = fleetOf(2, (index) => ({ timeZone: index === 0 ? 'Asia/Tokyo' : 'UTC' }));
    const { memberIndex } = new PolicyBench({ collectors, spec: { maintenance } });
    const nowMs = 4 * 60 * 60_000;
    const among = line(nowMs, 0, { windows: windowsOf({ maintenance }, memberIndex, nowMs), memberIndex });
    expect(refusalOf({ id: '1', because: 'pending' }, among)).toBeUndefined();
    expect(refusalOf({ id: '2', because: 'pending' }, among)).toMatchObject({
      reason: 'WaitingForWindow',
      untilMs: 12 * 60 * 60_000,
    });
  });

  test("after a user's retry, a collector does not wait for a back-off, but for a listing (U6)", () => {
    const again: Candidate = { ...failed, used: 0 };
    expect(refusalOf(again, line(graceMs, graceMs))).toBeUndefined();
    expect(refusalOf(again, line(graceMs - 1, 0))).toMatchObject({ untilMs: graceMs });
  });

  test('U8: a collector that seems to run its former version waits for a listing before its rollback', () => {
    const back: Candidate = { id: '1', because: 'rollback' };
    const entries = [endedEntry('updated', { sinceMs: 1_000 })];
    const pending = new PolicyBench({ collectors: fleetOf(2), entries }).pending();
    expect(refusalOf(back, line(2_000, 0, { pending }))).toEqual({
      cause: { kind: 'newerListing' },
      untilMs: 1_000 + graceMs,
    });
    expect(refusalOf(back, line(2 * graceMs, 0, { pending }))).toMatchObject({ unseenSinceMs: 1_000 + graceMs });
    expect(refusalOf(back, line(2 * graceMs, 1_000 + graceMs, { pending }))).toBeUndefined();
  });
});

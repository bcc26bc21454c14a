/** What may be started: each rule refuses with a reason for people, and of several the first one is told. */
import { describe, expect, test } from 'vitest';
import { LogfleetError } from '../../../src/base/errors.ts';
import type { Observation } from '../../../src/policy/decide.ts';
import type { RolloutStop } from '../../../src/policy/ledger.ts';
import { MaintenanceCalendar } from '../../../src/policy/maintenance-calendar.ts';
import {
  type Candidate,
  type KnownOfAll,
  type Line,
  refusalOf,
  refusalOfAll,
} from '../../../src/policy/start-rules.ts';
import { ending, moment, openEntry, type PolicyParts, policy, settings, spec, target } from './builders.ts';
import { fleetOf, PolicyBench, quietCourse } from './policy-bench.ts';

const problem = new LogfleetError({ code: 'x.y', message: 'No.', handling: { kind: 'backoff' } });

/** In the order in which they are told. */
const reasonsForAll: readonly (readonly [reason: string, PolicyParts, Partial<Observation>])[] = [
  ['the end of the pause by spec.paused', { spec: { paused: true } }, {}],
  ['the end of the policy, which is being deleted', { metadata: { deletionTimestamp: '2026-11-01T00:00:00Z' } }, {}],
  ['spec.mode to be Enforce', { spec: { mode: 'Observe' } }, {}],
  ['the service to offer the build that is wanted', {}, { notOffered: 'It offers none.' }],
  ['the service, which cannot be used', {}, { problem }],
  ['policy a/b to claim its collectors first', {}, { heldBy: 'policy a/b to claim its collectors first' }],
  ['room in the ledger', {}, { ledgerFull: true }],
];

const quiet = { notOffered: undefined, problem: undefined, heldBy: undefined, ledgerFull: false } as Observation;

const known = (observation: Observation = quiet, stop?: RolloutStop): KnownOfAll => ({
  observation,
  stop,
  calendar: new MaintenanceCalendar(undefined),
  now: moment(0),
});

describe('of all collectors', () => {
  test('any may start where nothing is in the way', () => {
    expect(refusalOfAll(policy(), known())).toBeUndefined();
  });

  test.each(reasonsForAll)('none: waiting for %s', (waitsFor, parts, seen) => {
    expect(refusalOfAll(policy(parts), known({ ...quiet, ...seen }))).toEqual({ waitsFor });
  });

  test.each(reasonsForAll.map(([reason], index) => [reason, index] as const))(
    'with all that come after it, "%s" is told',
    (waitsFor, index) => {
      const rest = reasonsForAll.slice(index);
      const parts = {
        spec: Object.assign({}, ...rest.map(([, { spec }]) => spec)),
        metadata: Object.assign({}, ...rest.map(([, { metadata }]) => metadata)),
      };
      const seen = Object.assign({}, quiet, ...rest.map(([, , observation]) => observation));
      expect(refusalOfAll(policy(parts), known(seen))?.waitsFor).toBe(waitsFor);
    },
  );
});

describe('of one collector', () => {
  const { graceMs, driftConfirmMs } = settings;
  const failed: Candidate = { id: '1', because: 'failed', ending: ending('failed', { sinceMs: 0 }), used: 1 };
  const backOffMs = 5 * 60_000;

  function line(nowMs: number, seenAtMs: number, more: Partial<Line> = {}): Line {
    const bench = new PolicyBench({ collectors: fleetOf(2), seenAtMs });
    return {
      spec: bench.spec,
      targetVersion: target,
      roster: bench.roster,
      draft: bench.draft(),
      attempts: 0,
      room: 20,
      flying: new Set(),
      now: moment(nowMs),
      settings,
      batched: 0,
      course: quietCourse,
      calendar: new MaintenanceCalendar(undefined),
      stagePlaces: () => undefined,
      ...more,
    };
  }

  const one = { strategy: { maxInProgress: 1, order: 'Name' } } as const;
  const oneOpen = () => new PolicyBench({ collectors: fleetOf(2), entries: [openEntry()] }).draft();

  test.each<[string, Candidate, Line, object | undefined]>([
    ['none, where nothing is in the way', { id: '1', because: 'pending' }, line(0, 0), undefined],
    [
      'a POST on its way, which is over in a moment',
      { id: '1', because: 'pending' },
      line(0, 0, { flying: new Set(['1']) }),
      { waitsFor: undefined },
    ],
    [
      'the back-off, until when',
      failed,
      line(backOffMs - 1, 0),
      { waitsFor: 'the back-off after a failed upgrade', untilMs: backOffMs },
    ],
    [
      'U6: then a look, since when',
      failed,
      line(backOffMs, graceMs - 1),
      { waitsFor: 'a look at what a failed upgrade left behind', unseenSinceMs: graceMs },
    ],
    ['none, once it was looked at', failed, line(backOffMs, graceMs), undefined],
    [
      'U8: a second look, until when',
      { id: '1', because: 'drifted', sinceMs: 10 },
      line(20, 10),
      { waitsFor: 'a second look at who left the target', untilMs: 10 + driftConfirmMs },
    ],
    [
      'a place, for all who come later',
      { id: '2', because: 'pending' },
      line(0, 0, { spec: spec(one), draft: oneOpen() }),
      { waitsFor: 'a place: strategy.maxInProgress allows no more than 1 at once', forAll: true },
    ],
    [
      'U1: room in the ledger, for all who come later',
      { id: '2', because: 'pending' },
      line(0, 0, { settings: { ...settings, maxOpen: 1 }, draft: oneOpen() }),
      { waitsFor: 'a place: no policy has more than 1 in flight', forAll: true },
    ],
    [
      'U2: the batch, which is over in a moment, for all who come later',
      { id: '1', because: 'pending' },
      line(0, 0, { room: 3, batched: 3 }),
      { waitsFor: undefined, forAll: true },
    ],
  ])('it waits for %s', (_, candidate, among, refusal) => {
    expect(refusalOf(candidate, among)).toEqual(refusal);
  });
});

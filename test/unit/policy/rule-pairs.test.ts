/** Tests pairs of rules that forbid the upgrade of web-9. The upgrade must start only once neither rule applies. */
import { describe, expect, test } from 'vitest';
import { annotations } from '../../../src/api/annotations.ts';
import { minuteMs } from '../../../src/base/time-units.ts';
import type { RolloutStop } from '../../../src/policy/ledger/ledger.ts';
import { waitText } from '../../../src/policy/status/wait-text.ts';
import { collector, endedEntry, newerVersion, oldVersion, openEntry, stageRecord, target } from './builders.ts';
import { PolicyBench } from './policy-bench.ts';
import {
  type Blocker,
  blockerNames,
  failedMs,
  formerTarget,
  type InForce,
  justNow,
  nowMs,
  outcome,
  outcomeOf,
  type StartRule,
} from './rule-fleet.ts';

const rules: readonly StartRule[] = [...blockerNames, 'rollback', "person's retry", 'age of the build'];
const pairs = rules.flatMap((one, index) => rules.slice(index + 1).map((other) => [one, other] as const));
const nameOf = ([one, other]: readonly [StartRule, StartRule]) => `${one} × ${other}`;
const isBlocker = (rule: StartRule): rule is Blocker => blockerNames.some((name) => name === rule);

/** Expects that the rule `by` forbids the upgrade of web-9, and that the status says so. */
function expectHeld(by: Blocker, inForce: InForce): void {
  const { posted, reported } = outcome(inForce);
  expect(posted).toBeUndefined();
  expect(reported).toContain(by);
}

describe('each rule alone', () => {
  test('no rule: web-9 is upgraded', () => {
    expect(outcome({ holds: [] }).posted).toBe(target);
  });

  test.each(blockerNames)('%s: web-9 is not upgraded and the status says why, until the rule has ended', (rule) => {
    expectHeld(rule, { holds: [rule] });
    expect(outcome({ holds: [], over: [rule] }).posted).toBe(target);
    expect(outcome({ holds: [], over: [rule] }).reported).not.toContain(rule);
  });
});

/** Pairs of rules that cannot forbid the same upgrade at the same time. Each pair has its own test. */
const apart: Readonly<Record<string, () => void>> = {
  'window × own window': () => {
    const fixed = (hour: number) => ({ schedule: `0 ${hour} * * *`, duration: '2h', timeZone: 'UTC' });
    const own = (hour: number) => ({
      schedule: `0 ${hour} * * *`,
      duration: '2h',
      timeZoneSource: 'Collector' as const,
    });
    const postedIn = (...windows: readonly (ReturnType<typeof fixed> | ReturnType<typeof own>)[]) => {
      const collectors = [collector('9', { timeZone: 'UTC' })];
      const spec = { maintenance: { cutoff: '30m', windows, exclusions: [] } };
      return outcomeOf(new PolicyBench({ spec, collectors, seenAtMs: nowMs }), {}).posted;
    };
    // Upgrades are allowed if either of the two maintenance windows is open at 1:30, the time of the test.
    expect(postedIn(fixed(12), own(1))).toBe(target);
    expect(postedIn(fixed(1), own(12))).toBe(target);
    expect(postedIn(fixed(12), own(12))).toBeUndefined();
  },

  'stage gate × soak': () => {
    const updated = endedEntry('updated');
    const inFlight = { ...openEntry(justNow), collectorId: '2' };
    const canary = (isOpen: boolean) =>
      new PolicyBench({
        spec: {
          strategy: {
            maxInProgress: 1_000,
            order: 'Name',
            stages: [
              { name: 'canary', selector: { matchNames: ['web-1', 'web-2'] }, soakDuration: '1h' },
              { name: 'rest', soakDuration: '0s' },
            ],
          },
        },
        header: { stages: [stageRecord('canary', { soakMs: 60 * minuteMs, upgraded: true })] },
        members: { canary: ['1', '2'] },
        entries: [updated, isOpen ? inFlight : { ...updated, collectorId: '2' }],
        collectors: [
          collector('1', { collectorVersion: target }),
          collector('2', { collectorVersion: isOpen ? oldVersion : target }),
          collector('9'),
        ],
        seenAtMs: nowMs - 1_000,
      });
    const held = outcomeOf(canary(true), {});
    expect(held.reported).toContain('stage gate');
    expect(held.reported).not.toContain('soak');
    expect(held.header.stages?.[0]?.updatedAtMs).toBeUndefined();
    const soaks = outcomeOf(canary(false), {});
    expect(soaks.reported).toContain('soak');
    expect(soaks.reported).not.toContain('stage gate');
  },

  'failure stop × abort': () => {
    expect(stopAfter('failures', 'Pause', annotations.abort).kind).toBe('abort');
    expect(stopAfter('abort', 'Pause').kind).toBe('abort');
  },

  'failure stop × rollback': () => {
    expect(stopAfter('failures', 'Rollback')).toEqual({ kind: 'failures', rolledBack: undefined });
    expect(stopAfter('rollback', 'Pause')).toEqual({ kind: 'rollback', rolledBack: formerTarget });
  },

  'abort × rollback': () => {
    expect(stopAfter('rollback', 'Rollback', annotations.abort)).toEqual({ kind: 'abort', rolledBack: undefined });
    expect(stopAfter('abort', 'Rollback')).toEqual({ kind: 'abort', rolledBack: undefined });
  },

  'back-off × drift': () => expectOneOfFailureAndDrift('back-off', failedMs),

  'listing after a failure × drift': () => expectOneOfFailureAndDrift('listing after a failure', 0),

  'back-off × target change': () => expectOnlyInFlight({ sinceMs: failedMs }, 'back-off'),

  'listing after a failure × target change': () => expectOnlyInFlight({ sinceMs: 0 }, 'listing after a failure'),

  'drift × target change': () => expectOnlyInFlight(undefined, 'drift'),
};

/**
 * Makes one decision. Returns the kind of stop in the resulting ledger, and the version to which web-9 is rolled back.
 */
function stopAfter(kind: RolloutStop['kind'], action: 'Pause' | 'Rollback', annotation?: string) {
  const bench = new PolicyBench({
    spec: { failurePolicy: { maxFailures: 0, minSamples: 1, action } },
    header: { stop: { kind, message: 'Too many failed', atMs: 1 }, tally: { number: 0, finished: 1, failed: 1 } },
    entries: [
      endedEntry('failed', {}, { used: 9 }),
      { ...endedEntry('updated', {}, { before: formerTarget }), collectorId: '9' },
    ],
    collectors: [collector('1'), collector('9', { collectorVersion: target })],
    seenAtMs: nowMs - 1_000,
  });
  const values = annotation === undefined ? {} : { [annotation]: `1-${target}` };
  const { header, posted } = outcomeOf(bench, { policy: { metadata: { annotations: values } } });
  return { kind: header.stop?.kind, rolledBack: posted };
}

function expectOneOfFailureAndDrift(failure: Blocker, sinceMs: number): void {
  const reportedOf = (versions: readonly string[], drifts: number) => {
    const known = { ...endedEntry('failed', { sinceMs }, { drifts }), collectorId: '9' };
    const bench = new PolicyBench({ entries: [known] });
    for (const [index, collectorVersion] of versions.entries()) {
      bench.listing.show(sinceMs + index, [collector('9', { collectorVersion })]);
      bench.sync();
    }
    const { reported, posted } = outcomeOf(bench, {});
    expect(posted).toBeUndefined();
    return reported;
  };
  const left = reportedOf([target, oldVersion], 0);
  expect(left).toContain('drift');
  expect(left).not.toContain(failure);
  const failed = reportedOf([oldVersion], 1);
  expect(failed).toContain(failure);
  expect(failed).not.toContain('drift');
}

/** Expects the status to count web-9 only as in progress while web-9 is being upgraded to another target. */
function expectOnlyInFlight(failed: { readonly sinceMs: number } | undefined, other: Blocker): void {
  const rest = failed ? endedEntry('failed', failed) : endedEntry('updated');
  const known = (isOpen: boolean) => ({
    ...rest,
    ...(isOpen && openEntry({ ...justNow, toVersion: formerTarget }, { ending: rest.ending })),
    collectorId: '9',
  });
  const reportedOf = (isOpen: boolean) => {
    const bench = new PolicyBench({ entries: [known(isOpen)] });
    const shown = failed ? [oldVersion] : [target, oldVersion];
    for (const [index, collectorVersion] of shown.entries()) {
      const seenAtMs = failed ? failed.sinceMs : nowMs - 2_000 + index * 1_000;
      bench.listing.show(seenAtMs, [collector('9', { collectorVersion })]);
      bench.sync();
    }
    return outcomeOf(bench, {}).reported;
  };
  expect(reportedOf(false)).toContain(other);
  expect(reportedOf(true)).toContain('target change');
  expect(reportedOf(true)).not.toContain(other);
}

/**
 * Pairs of rules that only simulations can test, because it takes several decisions until a new target ends a rollback.
 */
const inTimeAlone = ['target change × rollback'];

const meeting = pairs.filter((pair) => !(nameOf(pair) in apart) && !inTimeAlone.includes(nameOf(pair)));
const rowsOf = (of: readonly (readonly [StartRule, StartRule])[]) => of.map((pair) => [nameOf(pair), ...pair] as const);
const blockerPairs = meeting.filter(([one, other]) => isBlocker(one) && isBlocker(other));
const backPairs = meeting.filter(([one, other]) => isBlocker(one) && other === 'rollback');
const retryPairs = meeting.filter(([, other]) => other === "person's retry");
const agePairs = meeting.filter(([, other]) => other === 'age of the build');

test('the tables contain each pair of rules once', () => {
  expect(pairs).toHaveLength((rules.length * (rules.length - 1)) / 2);
  expect(new Set(pairs.map(nameOf)).size).toBe(pairs.length);
  const rows = [...blockerPairs, ...backPairs, ...retryPairs, ...agePairs].map(nameOf);
  expect([...rows, ...Object.keys(apart), ...inTimeAlone].sort()).toEqual(pairs.map(nameOf).sort());
});

describe('two rules that forbid the upgrade of web-9', () => {
  test.each(rowsOf(blockerPairs))('%s', (_, first, second) => {
    const [one, other] = [first as Blocker, second as Blocker];
    const { posted, reported } = outcome({ holds: [one, other] });
    expect(posted).toBeUndefined();
    expect(reported.includes(one) || reported.includes(other)).toBe(true);
    expectHeld(other, { holds: [other], over: [one] });
    expectHeld(one, { holds: [one], over: [other] });
    expect(outcome({ holds: [], over: [one, other] }).posted).toBe(target);
  });
});

/** Rules that forbid a rollback of web-9. */
const holdsBack: readonly Blocker[] = [
  'window',
  'own window',
  'exclusion',
  'pause',
  'kill switch',
  'deletion',
  'back-off',
  'listing after a failure',
  'maxInProgress of all',
  'offline',
  'overlap',
  'claims of others',
  'observe mode',
  'service unusable',
  'full ledger',
  'selection change',
];

describe('a rollback', () => {
  test('returns web-9 to its former version', () => {
    expect(outcome({ holds: ['rollback'] }).posted).toBe(formerTarget);
    expect(outcome({ holds: [], over: ['rollback'] }).posted).toBeUndefined();
  });

  test('does not start for a collector that may run its former version already, before a listing', () => {
    const sinceMs = nowMs - 2_000;
    const known = { ...endedEntry('updated', { sinceMs }, { before: formerTarget }), collectorId: '9' };
    const backAt = (collectorVersion: string) => {
      const bench = new PolicyBench({
        header: { stop: { kind: 'rollback', message: 'Too many failed', atMs: 1 } },
        entries: [known],
        collectors: [collector('9', { collectorVersion })],
        seenAtMs: nowMs - 1_000,
      });
      return outcomeOf(bench, {});
    };
    expect(backAt(formerTarget).posted).toBeUndefined();
    expect(backAt(formerTarget).waitingFor).toContain(waitText({ kind: 'newerListing' }));
    expect(backAt(target).posted).toBe(formerTarget);
  });

  test.each(rowsOf(backPairs))('%s', (_, first, rollback) => {
    const one = first as Blocker;
    const former = one === 'back-off' || one === 'listing after a failure' ? oldVersion : formerTarget;
    if (holdsBack.includes(one)) expectHeld(one, { holds: [one, rollback] });
    else expect(outcome({ holds: [one, rollback] }).posted).toBe(former);
    expect(outcome({ holds: [rollback], over: [one] }).posted).toBe(former);
    expect(outcome({ holds: [], over: [one, rollback] }).posted).toBeUndefined();
  });
});

/** Rules that no longer apply after a user's retry. */
const retried: readonly StartRule[] = ['failure stop', 'abort', 'back-off'];

describe("a user's retry", () => {
  test.each(rowsOf(retryPairs.filter(([one]) => retried.includes(one))))(
    '%s: the retry ends the other rule',
    (_, first, retry) => {
      expect(outcome({ holds: [first, retry] }).posted).toBe(target);
      expectHeld(first as Blocker, { holds: [first], over: [retry] });
    },
  );

  test("rollback × person's retry: the retry ends the rollback", () => {
    expect(outcome({ holds: ['rollback', "person's retry"] }).posted).toBeUndefined();
    expect(outcome({ holds: ['rollback'], over: ["person's retry"] }).posted).toBe(formerTarget);
  });

  const held = retryPairs.filter(([one]) => isBlocker(one) && !retried.includes(one));
  test.each(rowsOf(held))('%s: the retry ends the stop, but not the other rule', (_, first, retry) => {
    const one = first as Blocker;
    expectHeld(one, { holds: [one, 'failure stop', retry] });
    expect(outcome({ holds: ['failure stop', retry], over: [one] }).posted).toBe(target);
    expectHeld('failure stop', { holds: ['failure stop'], over: [one, retry] });
  });
});

describe('the age of a build: while a newer build is too young, the rollout to the older build follows its rules', () => {
  test('alone: web-9 is upgraded to the older build, and to the newer one when that build is old enough', () => {
    expect(outcome({ holds: ['age of the build'] }).posted).toBe(target);
    expect(outcome({ holds: [], over: ['age of the build'] }).posted).toBe(newerVersion);
  });

  const held = agePairs.filter(([one]) => isBlocker(one));
  test.each(rowsOf(held))('%s', (_, first, age) => {
    const one = first as Blocker;
    expectHeld(one, { holds: [one, age] });
    expect(outcome({ holds: [age], over: [one] }).posted).toBe(target);
    expectHeld(one, { holds: [one], over: [age] });
    expect(outcome({ holds: [], over: [one, age] }).posted).toBe(newerVersion);
  });

  test('rollback × age of the build: rollouts to both builds are rolled back', () => {
    for (const [inForce, version] of [
      [{ holds: ['rollback', 'age of the build'] }, target],
      [{ holds: ['rollback'], over: ['age of the build'] }, newerVersion],
    ] as const) {
      const { posted, header } = outcome(inForce);
      expect([posted, header.target]).toEqual([formerTarget, version]);
    }
    expect(outcome({ holds: ['age of the build'], over: ['rollback'] }).posted).toBeUndefined();
  });

  test("person's retry × age of the build: the rollout to the older build continues", () => {
    expect(outcome({ holds: ['failure stop', "person's retry", 'age of the build'] }).posted).toBe(target);
    expectHeld('failure stop', { holds: ['failure stop', 'age of the build'], over: ["person's retry"] });
  });
});

describe('rules that exclude each other', () => {
  test.each(Object.entries(apart))('%s: only one of them can apply', (_, show) => show());
});

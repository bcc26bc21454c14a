/**
 * Every pair of rules that a rollout goes by, in one matrix: what happens where both are in force.
 *
 * A rule keeps one collector, web-9, from being started, each in its own way; so do two at once, and status names one of them. Three rules
 * are of another kind, and have a row of their own: a rollback takes web-9 back, a person's retry lets go on what it can, and the age of a build
 * decides on the target alone. Pairs that take time are played through in `rule-histories.test.ts`.
 */
import { describe, expect, test } from 'vitest';
import { annotations } from '../../../src/api/annotations.ts';
import type {
  CollectorVersionPolicySpec,
  Maintenance,
  Stage,
} from '../../../src/api/generated/collector-version-policy.ts';
import { LogfleetError } from '../../../src/base/errors.ts';
import type { Entry, RolloutStop } from '../../../src/policy/ledger.ts';
import { claimant, endedEntry, epochMs, minuteMs, oldVersion, openEntry, settings, target } from './builders.ts';
import { decided, fleetOf, PolicyBench, type Seen } from './policy-bench.ts';

/** What keeps web-9 from being started, and what status says of it. */
const blockers = {
  window: /the maintenance window/,
  exclusion: /the end of the exclusion/,
  pause: /Paused by spec.paused/,
  'kill switch': /Paused by the settings/,
  'stage gate': /the end of stage canary/,
  approval: /the approval of stage rest/,
  soak: /the end of the soak of stage canary/,
  'failure stop': /Too many failed: nothing more is started/,
  abort: /Aborted by a person: nothing more is started/,
  'back-off': /the back-off after a failed upgrade/,
  'maxInProgress of all': /strategy.maxInProgress allows no more than 1/,
  'maxInProgress of a stage': /stage rest allows no more than 1/,
  offline: /offline|to come back/,
  overlap: /of other policies|of the selected collectors belong to policy/,
  'observe mode': /spec.mode (?:is Observe|to be Enforce)/,
  'build not offered': /It offers none/,
  'service unusable': /It is gone/,
  drift: /a second look at who left the target/,
  'target change': /being upgraded/,
  'selection change': /collectors run/,
} as const;

type Blocker = keyof typeof blockers;
type Rule = Blocker | 'rollback' | "person's retry" | 'age of the build';

const names = Object.keys(blockers) as readonly Blocker[];
const rules: readonly Rule[] = [...names, 'rollback', "person's retry", 'age of the build'];

/** Pairs that cannot meet, and why. */
const apart: Readonly<Record<string, string>> = {
  'stage gate × soak': 'a stage soaks once all of it have ended, and the gate before the next is one of the two',
  'failure stop × abort': 'a rollout is stopped in one way at a time: a person who aborts takes the place of the stop',
  'failure stop × rollback': 'a rollout is stopped in one way at a time: on the way back no failure is judged',
  'abort × rollback': 'a rollout is stopped in one way at a time: a person who aborts ends the way back',
  'back-off × drift': 'who failed was not at the target since, and who left it has not failed since',
  'back-off × target change': 'another target forgets failures: what is in flight from before has none',
  'drift × target change': 'who is in flight has left nothing: another target forgets who had arrived',
  'target change × rollback': 'another target ends the way back: what is in flight ends first, as any other',
};

const pairs = rules.flatMap((one, index) => rules.slice(index + 1).map((other) => [one, other] as const));
const nameOf = ([one, other]: readonly [Rule, Rule]) => `${one} × ${other}`;
const meeting = pairs.filter((pair) => !(nameOf(pair) in apart));
const isBlocker = (rule: Rule): rule is Blocker => rule in blockers;

const nowMs = 90 * minuteMs;
/** Of what is in flight. */
const justNow = { sinceMs: nowMs - 500 };
/** Long enough ago for a look at what it left behind (U6). */
const failedMs = nowMs - 2 * settings.graceMs;
const formerTarget = '19.150-1';
const problem = new LogfleetError({ code: 'x.y', message: 'It is gone.', handling: { kind: 'backoff' } });
const ofId = (collectorId: string, entry: Entry): Entry => ({ ...entry, collectorId });

interface Setting {
  readonly bench: PolicyBench;
  readonly seen: Seen;
}

/** A fleet of four, of which web-9 alone has something to do, under these rules. */
function setting(inForce: ReadonlySet<Rule>): Setting {
  const has = (...some: readonly Rule[]) => some.some((rule) => inForce.has(rule));
  const isBack = has('rollback');
  const stop = stopOf(inForce);
  const spec: Partial<CollectorVersionPolicySpec> = {
    paused: has('pause'),
    mode: has('observe mode') ? 'Observe' : 'Enforce',
    offlinePolicy: has('offline') ? 'Wait' : 'Skip',
    strategy: {
      maxInProgress: has('maxInProgress of all') ? 1 : 1_000,
      order: 'Name',
      ...(has('stage gate', 'approval', 'soak', 'maxInProgress of a stage') && { stages: stagesOf(inForce) }),
    },
    ...(has('window', 'exclusion') && { maintenance: maintenanceOf(inForce) }),
    ...(has('selection change') && { exclude: [{ matchNames: ['web-9'] }] }),
    ...(has('age of the build') && { target: { channel: 'Latest', minAge: '168h' } }),
  };
  const subject = entryOf(inForce);
  const entries = [
    ...(has('stage gate') ? [ofId('1', openEntry(justNow, { stage: 'canary' }))] : []),
    ...(has('soak') ? [ofId('1', endedEntry('updated', {}, { stage: 'canary' }))] : []),
    ...(has('maxInProgress of all') ? [ofId('2', openEntry(justNow))] : []),
    ...(has('maxInProgress of a stage') ? [ofId('3', openEntry(justNow, { stage: 'rest' }))] : []),
    ...(subject ? [ofId('9', subject)] : []),
  ];
  const upgrading = new Set(entries.filter(({ open }) => open).map(({ collectorId }) => collectorId));
  const collectors = fleetOf(9)
    .filter(({ id }) => ['1', '2', '3', '9'].includes(id))
    .map((one) => ({
      ...one,
      collectorVersion: (one.id === '9' ? isBack && !has('drift') : !upgrading.has(one.id)) ? target : oldVersion,
      alive: !(one.id === '9' && has('offline')),
    }));
  const header = {
    ...(stop && { stop }),
    ...(has('selection change') && { selection: 'another' }),
    stages: recordsOf(inForce),
  };
  const bench = new PolicyBench({ spec, header, entries, collectors, seenAtMs: nowMs - 1_000 });
  if (has('overlap')) {
    bench.ownership.introduce(claimant('policy-b', { priority: 1 }));
    bench.ownership.claim('policy-b', '9');
    bench.roster.sync();
  }
  const values = has("person's retry") ? { [annotations.retry]: `1-${target}` } : {};
  const seen: Seen = {
    nowMs,
    pausedForAll: has('kill switch') ? 'the settings' : undefined,
    notOffered: has('build not offered') ? 'It offers none.' : undefined,
    problem: has('service unusable') ? problem : undefined,
    overlap: has('overlap') ? { winner: 'logging/policy-b', collectors: 1 } : undefined,
    policy: { metadata: { annotations: values } },
  };
  return { bench, seen };
}

function stopOf(inForce: ReadonlySet<Rule>): RolloutStop | undefined {
  if (inForce.has('abort')) return { kind: 'abort', message: 'Aborted by a person.', atMs: 1 };
  if (inForce.has('failure stop')) return { kind: 'failures', message: 'Too many failed', atMs: 1 };
  return inForce.has('rollback') ? { kind: 'rollback', message: 'Too many failed', atMs: 1 } : undefined;
}

function stagesOf(inForce: ReadonlySet<Rule>): readonly Stage[] {
  return [
    {
      name: 'canary',
      selector: { matchNames: ['web-1'] },
      soakDuration: inForce.has('soak') ? '2h' : '0s',
      maxFailures: 0,
    },
    {
      name: 'rest',
      soakDuration: '0s',
      ...(inForce.has('approval') && { approval: 'Required' as const }),
      ...(inForce.has('maxInProgress of a stage') && { maxInProgress: 1 }),
    },
  ];
}

function recordsOf(inForce: ReadonlySet<Rule>) {
  const begun = { name: 'canary', startedAtMs: epochMs };
  if (inForce.has('stage gate')) return [begun];
  if (inForce.has('soak')) return [{ ...begun, updatedAtMs: epochMs }];
  return [{ ...begun, endedAtMs: epochMs }];
}

function maintenanceOf(inForce: ReadonlySet<Rule>): Maintenance {
  return {
    cutoff: '30m',
    windows: inForce.has('window') ? [{ schedule: '0 12 * * *', duration: '2h', timeZone: 'UTC' }] : [],
    exclusions: inForce.has('exclusion')
      ? [{ name: 'freeze', startTime: '2026-11-01T00:00:00Z', endTime: '2026-11-01T03:00:00Z' }]
      : [],
  };
}

/** Of web-9. */
function entryOf(inForce: ReadonlySet<Rule>): Entry | undefined {
  if (inForce.has('rollback')) {
    if (inForce.has('back-off'))
      return endedEntry('failed', { toVersion: oldVersion, sinceMs: failedMs }, { back: true });
    // It is elsewhere by now, but not where it was before.
    return endedEntry(inForce.has('drift') ? 'left' : 'updated', {}, { before: formerTarget });
  }
  if (inForce.has('target change'))
    return openEntry({ ...justNow, toVersion: formerTarget }, { used: 0, before: undefined });
  if (inForce.has('drift')) return endedEntry('updated', { sinceMs: 0 });
  if (inForce.has('back-off')) return endedEntry('failed', { sinceMs: failedMs }, { failures: 1 });
  return inForce.has('selection change') ? endedEntry('failed', {}, { failures: 1 }) : undefined;
}

function outcome(...inForce: readonly Rule[]) {
  const { bench, seen } = setting(new Set(inForce));
  const { post, health, essentials } = decided(bench, seen);
  const conditions = essentials.conditions?.map(({ message }) => message).join(' ') ?? '';
  return {
    posted: post.find(({ collectorId }) => collectorId === '9')?.open?.toVersion,
    told: `${health.message} ${conditions} ${essentials.rollout?.waitingFor ?? ''}`,
  };
}

test('the matrix names every pair, once', () => {
  expect(pairs).toHaveLength((rules.length * (rules.length - 1)) / 2);
  expect(new Set(pairs.map(nameOf)).size).toBe(pairs.length);
  expect(Object.keys(apart).filter((name) => !pairs.some((pair) => nameOf(pair) === name))).toEqual([]);
  const rows = [...blockerPairs, ...backPairs, ...retryPairs, ...agePairs];
  expect(rows.map(nameOf).sort()).toEqual(meeting.map(nameOf).sort());
});

const blockerPairs = meeting.filter(([one, other]) => isBlocker(one) && isBlocker(other));
const backPairs = meeting.filter(([one, other]) => isBlocker(one) && other === 'rollback');
const retryPairs = meeting.filter(([, other]) => other === "person's retry");
const agePairs = meeting.filter(([, other]) => other === 'age of the build');

describe('each alone', () => {
  test('none: web-9 is started', () => {
    expect(outcome().posted).toBe(target);
  });

  test.each(names)('%s: web-9 is not started, and status says why', (rule) => {
    const { posted, told } = outcome(rule);
    expect(posted).toBeUndefined();
    expect(told).toMatch(blockers[rule]);
  });
});

describe('two that keep web-9 from being started', () => {
  test.each(blockerPairs.map((pair) => [nameOf(pair), ...pair] as const))('%s', (_, one, other) => {
    const { posted, told } = outcome(one, other);
    expect(posted).toBeUndefined();
    const said = [one, other].some((rule) => isBlocker(rule) && blockers[rule].test(told));
    expect(said ? told : `${told} names neither`).toBe(told);
  });
});

/** What keeps web-9 from being taken back; nothing else does. */
const holdsBack: readonly Blocker[] = [
  'window',
  'exclusion',
  'pause',
  'kill switch',
  'back-off',
  'maxInProgress of all',
  'offline',
  'overlap',
  'observe mode',
  'service unusable',
  'selection change',
];

describe('a rollback', () => {
  test('takes web-9 back', () => {
    expect(outcome('rollback').posted).toBe(formerTarget);
  });

  test.each(backPairs.map((pair) => [nameOf(pair), ...pair] as const))('%s', (_, one, other) => {
    const former = one === 'back-off' ? oldVersion : formerTarget;
    expect(outcome(one, other).posted).toBe(holdsBack.includes(one as Blocker) ? undefined : former);
  });
});

/** What a person's retry ends. */
const retried: readonly Rule[] = ['failure stop', 'abort', 'back-off'];

describe("a person's retry", () => {
  test.each(retryPairs.map((pair) => [nameOf(pair), ...pair] as const))('%s', (_, one, other) => {
    const { posted } = outcome(one, other);
    if (one === 'rollback') expect(posted).toBeUndefined();
    else expect(posted).toBe(retried.includes(one) ? target : undefined);
  });

  test('of several that hold, it ends those that it can', () => {
    expect(outcome('failure stop', 'back-off', "person's retry").posted).toBe(target);
    expect(outcome('failure stop', 'pause', "person's retry").posted).toBeUndefined();
  });
});

describe('the age of a build: while a newer one is too young, the rollout of the one before goes by its rules', () => {
  test('alone: web-9 is started towards the one before', () => {
    expect(outcome('age of the build').posted).toBe(target);
  });

  test.each(agePairs.map((pair) => [nameOf(pair), ...pair] as const))('%s', (_, one, other) => {
    const former = one === 'rollback' ? formerTarget : undefined;
    expect(outcome(one, other).posted).toBe(one === "person's retry" ? target : former);
  });
});

test.each(Object.entries(apart))('cannot meet: %s, for %s', (name, reason) => {
  expect(meeting.map(nameOf)).not.toContain(name);
  expect(reason).not.toBe('');
});

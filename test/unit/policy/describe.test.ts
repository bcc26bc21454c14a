/** Tests the content of a policy's status, and its maximum size. */
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { maxMessageLength } from '../../../src/api/conditions.ts';
import type { CollectorVersionPolicyStatus } from '../../../src/api/generated/collector-version-policy.ts';
import { bounded } from '../../../src/base/short-text.ts';
import type { StructuralSchema } from '../../../src/base/structural-schema.ts';
import { minuteMs } from '../../../src/base/time-units.ts';
import type { Health } from '../../../src/controller/health.ts';
import type { Entry } from '../../../src/policy/ledger/ledger.ts';
import type { PendingChanges } from '../../../src/policy/members/pending-changes.ts';
import { describeVerdict, findOverlap } from '../../../src/policy/status/describe.ts';
import { countToExamine, describeCounts, describeFigures } from '../../../src/policy/status/describe-figures.ts';
import {
  attempt,
  claimant,
  collector,
  counts,
  endedEntry,
  ending,
  epochMs,
  newerVersion,
  oldVersion,
  openEntry,
  settings,
  target,
} from './builders.ts';
import { fleetOf, PolicyBench, quietState } from './policy-bench.ts';

const rolling: Health = {
  ready: 'False',
  reason: 'RollingOut',
  message: 'On its way.',
  reconciling: true,
  stalled: false,
};

const figuresOf = (bench: PolicyBench) => figuresWith(bench, bench.pending());

function figuresWith({ memberIndex, ledger, spec }: PolicyBench, pending: PendingChanges, health: Health = rolling) {
  const state = { ...quietState, header: ledger.header };
  const fleet = {
    counts: pending.counts(),
    matched: pending.matched,
    toExamine: countToExamine(memberIndex, pending),
  };
  return describeFigures({ memberIndex, pending, fleet, unsent: 0, rejected: new Set(), health, spec, state });
}

function misfits(value: unknown, schema: StructuralSchema, path = 'status'): readonly string[] {
  if (Array.isArray(value)) {
    const tooMany = value.length > (schema.maxItems ?? Infinity) ? [`${path}: ${value.length} items`] : [];
    return [...tooMany, ...value.flatMap((item, at) => misfits(item, schema.items ?? {}, `${path}[${at}]`))];
  }
  if (typeof value === 'string') {
    return [...value].length > (schema.maxLength ?? Infinity) ? [`${path}: ${[...value].length} characters`] : [];
  }
  if (typeof value !== 'object' || value === null) return [];
  const known = schema.properties ?? {};
  const unknown = Object.keys(value).filter((name) => !(name in known));
  const missing = (schema.required ?? []).filter((name) => (value as Record<string, unknown>)[name] === undefined);
  return [
    ...[...unknown, ...missing].map((name) => `${path}.${name}`),
    ...Object.entries(value).flatMap(([name, member]) => misfits(member, known[name] ?? {}, `${path}.${name}`)),
  ];
}

const crd = parse(readFileSync(new URL('../../../crds/collector-version-policy.yaml', import.meta.url), 'utf8'));
const statusSchema: StructuralSchema = crd.spec.versions[0].schema.openAPIV3Schema.properties.status;

test('a collector that waits for a retry or for a second listing is pending, and all counts add up to matched', () => {
  const all = counts({
    updated: 1,
    inProgress: 2,
    pending: 3,
    retrying: 4,
    drifting: 5,
    failed: 6,
    offline: 7,
    newer: 8,
    skipped: 9,
    foreign: 10,
  });
  const { matched, ...others } = describeCounts(all, 55);
  expect(others.pending).toBe(12);
  expect(Object.values(others).reduce((sum, count) => sum + count, 0)).toBe(matched);
});

test('the summary counts updated collectors among those that the policy owns and can upgrade', () => {
  const bench = new PolicyBench({
    collectors: fleetOf(4, (index) => ({ collectorVersion: index < 2 ? target : oldVersion })),
  });
  bench.ownership.register(claimant('b', { priority: 1 }));
  bench.ownership.claim('b', '4');
  bench.sync();
  expect(figuresOf(bench).summary).toEqual({ updated: '2/3', state: 'RollingOut' });
  expect(findOverlap(bench.memberIndex, bench.ownership)).toEqual({ winner: 'logging/b', collectors: 1 });
});

test('no overlap is reported if the policy owns all of its collectors', () => {
  const bench = new PolicyBench({ collectors: fleetOf(4) });
  expect(findOverlap(bench.memberIndex, bench.ownership)).toBeUndefined();
});

test('an overlap names the policy that owns most of the collectors', () => {
  const bench = new PolicyBench({ collectors: fleetOf(3) });
  for (const uid of ['b', 'c']) bench.ownership.register(claimant(uid, { priority: 1 }));
  bench.ownership.claim('b', '1');
  for (const id of ['2', '3']) bench.ownership.claim('c', id);
  bench.sync();
  expect(findOverlap(bench.memberIndex, bench.ownership)).toEqual({ winner: 'logging/c', collectors: 3 });
});

describe('versions', () => {
  test('are sorted by number of collectors, then by name', () => {
    const versions = [oldVersion, target, oldVersion, newerVersion];
    const bench = new PolicyBench({ collectors: fleetOf(4, (index) => ({ collectorVersion: versions[index] })) });
    expect(figuresOf(bench).versions).toEqual([
      { version: oldVersion, count: 2 },
      { version: target, count: 1 },
      { version: newerVersion, count: 1 },
    ]);
  });

  test('count a collector at the target as soon as its task has succeeded', () => {
    const entries = [endedEntry('updated', { sinceMs: 10 }), { ...endedEntry('failed'), collectorId: '2' }];
    const bench = new PolicyBench({ collectors: fleetOf(3), entries });
    expect(figuresOf(bench)).toMatchObject({
      collectors: { updated: 1 },
      versions: [
        { version: oldVersion, count: 2 },
        { version: target, count: 1 },
      ],
    });
    bench.listing.show(20, [collector('1', { collectorVersion: target })]);
    bench.sync();
    expect(figuresOf(bench).versions).toEqual([
      { version: oldVersion, count: 2 },
      { version: target, count: 1 },
    ]);
  });

  test('do not contain the former version when all collectors are updated', () => {
    const bench = new PolicyBench({ collectors: fleetOf(1), entries: [endedEntry('updated', { sinceMs: 10 })] });
    expect(figuresOf(bench).versions).toEqual([{ version: target, count: 1 }]);
  });

  test('count a collector that left the target at the version that a listing shows (U8)', () => {
    const bench = new PolicyBench({
      collectors: fleetOf(1),
      seenAtMs: settings.graceMs + 10,
      entries: [endedEntry('updated', { sinceMs: 10 })],
    });
    expect(figuresOf(bench).versions).toEqual([{ version: oldVersion, count: 1 }]);
  });

  test.each([
    ['the former version until a listing can show it', 10, oldVersion],
    ['the version that a later listing shows', settings.graceMs + 10, target],
  ])('count a collector after its rollback at %s', (_, seenAtMs, version) => {
    const bench = new PolicyBench({
      collectors: fleetOf(1, () => ({ collectorVersion: target })),
      seenAtMs,
      entries: [
        endedEntry('updated', { sinceMs: 10, toVersion: oldVersion }, { isRollback: true, before: oldVersion }),
      ],
    });
    expect(figuresOf(bench).versions).toEqual([{ version, count: 1 }]);
  });

  test('are at most 50', () => {
    const bench = new PolicyBench({ collectors: fleetOf(60, (index) => ({ collectorVersion: `19.${index}-1` })) });
    expect(figuresOf(bench).versions).toHaveLength(50);
  });

  test('that are equal after shortening become one', () => {
    const long = (end: string) => `${'9'.repeat(70)}${end}`;
    const bench = new PolicyBench({ collectors: fleetOf(2, (index) => ({ collectorVersion: long(String(index)) })) });
    expect(figuresOf(bench).versions).toEqual([{ version: '9'.repeat(64), count: 2 }]);
  });
});

describe('tasks', () => {
  test('have the known data of an attempt in flight', () => {
    const bench = new PolicyBench({ collectors: fleetOf(1), entries: [openEntry({ startedAtMs: epochMs + 1_500 })] });
    expect(figuresOf(bench).tasks).toEqual([
      {
        id: '77',
        collector: 'web-1',
        collectorId: '1',
        from: oldVersion,
        to: target,
        state: 'Running',
        startTime: '2026-11-01T00:00:01Z',
      },
    ]);
  });

  test.each([
    ['intended', 'Starting'],
    ['accepted', 'Running'],
    ['unknown', 'Unknown'],
    ['adopted', 'Adopted'],
  ] as const)('%s is %s', (state, word) => {
    const bench = new PolicyBench({ collectors: fleetOf(1), entries: [openEntry({ state })] });
    expect(figuresOf(bench).tasks[0]?.state).toBe(word);
  });

  test.each([
    ['updated', 'Succeeded'],
    ['failed', 'Failed'],
    ['timedOut', 'TimedOut'],
    ['refused', 'Refused'],
    ['offline', 'Offline'],
    ['invalid', 'Refused'],
    ['unobservable', 'NotObservable'],
  ] as const)('%s is %s', (kind, word) => {
    const bench = new PolicyBench({
      collectors: fleetOf(1),
      entries: [endedEntry(kind, { endedAtMs: epochMs + minuteMs })],
    });
    expect(figuresOf(bench).tasks[0]).toMatchObject({ state: word, endTime: '2026-11-01T00:01:00Z' });
  });

  test('are listed once, even if they ended in this decision', () => {
    const bench = new PolicyBench({ collectors: fleetOf(1), entries: [openEntry()] });
    const pending = bench.pending();
    pending.set('1', endedEntry('updated'));
    bench.ledger.apply(pending.changes());
    bench.place('1');
    const { tasks, versions } = figuresWith(bench, pending);
    expect(tasks).toHaveLength(1);
    expect(versions).toEqual([{ version: target, count: 1 }]);
  });

  test('have the message of a failure, if there is one', () => {
    const failed = new PolicyBench({ collectors: fleetOf(1), entries: [endedEntry('failed')] });
    expect(figuresOf(failed).tasks[0]?.message).toBe('disk full');
    const updated = new PolicyBench({ collectors: fleetOf(1), entries: [endedEntry('updated')] });
    expect(figuresOf(updated).tasks[0]).not.toHaveProperty('message');
  });

  test('name a collector without a listing row by its id, and omit an unknown former version', () => {
    const bench = new PolicyBench({ entries: [openEntry({}, { before: undefined })] });
    expect(figuresOf(bench).tasks[0]).toMatchObject({ collector: '1' });
    expect(figuresOf(bench).tasks[0]).not.toHaveProperty('from');
  });

  test('omit an id that is too long instead of shortening it', () => {
    const bench = new PolicyBench({ collectors: fleetOf(1), entries: [openEntry({ taskId: 'x'.repeat(33) })] });
    expect(figuresOf(bench).tasks[0]).not.toHaveProperty('id');
  });

  test('are 50 in flight, then the 50 that ended last, newest first', () => {
    const entries: Entry[] = [];
    for (let id = 1; id <= 80; id++) entries.push({ ...openEntry(), collectorId: String(id) });
    for (let id = 81; id <= 200; id++) {
      const endedAtMs = epochMs + ((id * 37) % 120) * minuteMs;
      entries.push({ ...endedEntry('failed', { endedAtMs }), collectorId: String(id) });
    }
    const { tasks } = figuresOf(new PolicyBench({ collectors: fleetOf(200), entries }));
    expect(tasks).toHaveLength(100);
    expect(tasks.slice(0, 50).every(({ endTime }) => endTime === undefined)).toBe(true);
    const ends = tasks.slice(50).map(({ endTime }) => Date.parse(endTime ?? ''));
    expect(ends).toEqual([...ends].sort((left, right) => right - left));
    expect(ends[0]).toBe(epochMs + 119 * minuteMs);
    expect(ends[49]).toBe(epochMs + 70 * minuteMs);
  });

  test('are listed only if the service created them, not if it refused them', () => {
    const bench = new PolicyBench({ collectors: fleetOf(1), entries: [endedEntry('refused', { taskId: undefined })] });
    expect(figuresOf(bench).tasks).toEqual([]);
  });

  test('include the changes of the current decision', () => {
    const bench = new PolicyBench({ collectors: fleetOf(2), entries: [openEntry()] });
    const pending = bench.pending();
    pending.set('1', endedEntry('failed'));
    pending.set('2', { ...openEntry(), collectorId: '2' });
    const { tasks, collectors } = figuresWith(bench, pending);
    expect(tasks.map(({ collectorId, state }) => [collectorId, state])).toEqual([
      ['2', 'Running'],
      ['1', 'Failed'],
    ]);
    expect(collectors).toMatchObject({ inProgress: 1, pending: 1 });
  });
});

describe('reasons', () => {
  test('group failures by the message of the service, the most frequent first, with up to five examples', () => {
    const entries = Array.from({ length: 9 }, (_, index) => ({
      ...endedEntry('failed', { message: index < 7 ? 'disk full' : '' }, { used: index % 2 === 0 ? 3 : 1 }),
      collectorId: String(index + 1),
    }));
    const { failureReasons } = figuresOf(new PolicyBench({ collectors: fleetOf(9), entries }));
    expect(failureReasons).toEqual([
      { reason: 'disk full', count: 7, examples: ['web-1', 'web-3', 'web-5', 'web-7', 'web-2'] },
      { reason: 'no reason given', count: 2, examples: ['web-9', 'web-8'] },
    ]);
  });

  test('say why collectors are skipped, with the message of a refusal', () => {
    const collectors = [
      collector('1', { collectorType: 'Hosted', collectorVersion: '' }),
      collector('2', { collectorVersion: 'nightly' }),
      collector('3'),
    ];
    const entries = [{ ...endedEntry('refused', { message: 'not today' }), collectorId: '3' }];
    expect(figuresOf(new PolicyBench({ collectors, entries })).skippedReasons).toEqual([
      { reason: 'HostedCollector', count: 1, examples: ['web-1'] },
      { reason: 'RefusedByService: not today', count: 1, examples: ['web-3'] },
      { reason: 'VersionUnreadable', count: 1, examples: ['web-2'] },
    ]);
  });

  test('are at most 20', () => {
    const entries = Array.from({ length: 30 }, (_, index) => ({
      ...endedEntry('failed', { message: `reason ${index}` }),
      collectorId: String(index + 1),
    }));
    const { failureReasons } = figuresOf(new PolicyBench({ collectors: fleetOf(30), entries }));
    expect(failureReasons).toHaveLength(20);
  });
});

describe('bounds', () => {
  test.each([
    ['short', 'short'],
    ['x'.repeat(10), 'x'.repeat(10)],
    ['x'.repeat(11), 'x'.repeat(10)],
    [`${'x'.repeat(9)}😀`, `${'x'.repeat(9)}\ufffd`],
  ])('of %j are at most %j', (text, cut) => {
    expect(bounded(text, 10)).toBe(cut);
  });

  test.each([
    ['plain', 'x'],
    ['three bytes each', '字'],
    ['escaped', '\u0001'],
  ])('the largest status fits its schema and 100 KB, in characters that are %s', (_, letter) => {
    const long = (length: number, end: unknown) => `${end}${letter.repeat(length)}`;
    const collectors = fleetOf(1_000, (index) => ({
      name: long(2_000, index),
      collectorVersion: index < 300 ? long(100, index) : `18.${index}-1`,
      alive: true,
    }));
    const entries = collectors.slice(200).map(({ id }, index): Entry => {
      const words = { before: long(100, index), collectorId: id };
      if (index < 300) return { ...openEntry({ taskId: String(index), toVersion: long(100, index) }), ...words };
      const kind = index % 2 === 0 ? 'failed' : 'refused';
      return {
        ...endedEntry(kind, { message: long(5_000, index), endedAtMs: epochMs + index }, { used: 9 }),
        ...words,
      };
    });
    const one = { id: '1'.repeat(20), name: letter.repeat(256), messages: 1e9, baseline: 1e9 };
    const outcome = { judged: 1e9, quiet: 1e9, unjudged: 1e9, scannedBytes: 1e15, quietest: Array(10).fill(one) };
    const recovery = { fromMs: epochMs, recovered: 1e15 };
    const analysis = { minRatio: 50, durationMs: 1, baseline: 'DayBefore', minMessages: 1, outcome, recovery } as const;
    const ended = { startedAtMs: epochMs, updatedAtMs: epochMs, endedAtMs: epochMs + 2, soakMs: 1 };
    const tally = { finished: 9, failed: 9 };
    const stages = Array.from({ length: 10 }, (_, at) => ({ name: `${at}`.repeat(63), ...ended, tally, analysis }));
    const bench = new PolicyBench({ collectors, entries, header: { stages } });
    const health = { ...rolling, message: long(5_000, 0) };
    const nowIso = '2026-11-01T00:00:00Z';
    const record = { targetVersion: target, startTime: nowIso, completionTime: nowIso, outcome: 'Completed' as const };
    const status: CollectorVersionPolicyStatus = {
      observedGeneration: 1,
      lastHandledReconcileAt: letter.repeat(256),
      targetVersion: target,
      rollout: {
        id: '1'.repeat(64),
        startTime: nowIso,
        estimatedCompletionTime: nowIso,
        waitingFor: letter.repeat(200),
      },
      history: Array.from({ length: 10 }, () => ({ ...record, id: '1'.repeat(64), updated: 1e9, failed: 1e9 })),
      conditions: describeVerdict(undefined, health, { winner: 'n'.repeat(316), collectors: 9 }, 1, nowIso).conditions,
      ...figuresWith(bench, bench.pending(), health),
    };
    expect(misfits(status, statusSchema)).toEqual([]);
    expect(Buffer.byteLength(JSON.stringify(status))).toBeLessThan(100_000);
    expect(status.tasks?.length).toBeGreaterThan(10);
    for (const { analysis } of status.stages ?? []) expect(analysis?.quietest?.length).toBeGreaterThan(0);
    expect(status.failureReasons?.length).toBeGreaterThan(0);
  });
});

describe('conditions', () => {
  const nowIso = '2026-11-01T00:00:00Z';
  const types = (health: Health, overlap?: { winner: string; collectors: number }) =>
    describeVerdict(undefined, health, overlap, 3, nowIso).conditions.map(({ type, status, reason }) => [
      type,
      status,
      reason,
    ]);

  test('of a rollout in progress', () => {
    expect(types(rolling)).toEqual([
      ['Ready', 'False', 'RollingOut'],
      ['Reconciling', 'True', 'RollingOut'],
    ]);
  });

  test('of a stalled policy', () => {
    expect(types({ ...rolling, reason: 'Forbidden', reconciling: false, stalled: true })).toEqual([
      ['Ready', 'False', 'Forbidden'],
      ['Stalled', 'True', 'Forbidden'],
    ]);
  });

  test('name the policies that own overlapping collectors', () => {
    const conditions = describeVerdict(
      undefined,
      rolling,
      { winner: 'logging/b', collectors: 3 },
      3,
      nowIso,
    ).conditions;
    expect(conditions.at(-1)).toMatchObject({ type: 'Overlapping', status: 'True', reason: 'Overlapping' });
    expect(conditions.at(-1)?.message).toBe(
      '3 of the selected collectors belong to policy logging/b, which takes precedence by mode, priority, age or name.',
    );
    const alone = describeVerdict(undefined, rolling, { winner: 'logging/b', collectors: 1 }, 3, nowIso).conditions;
    expect(alone.at(-1)?.message).toContain('1 of the selected collectors belongs to policy logging/b');
  });

  test('are removed when they no longer hold', () => {
    const before = describeVerdict(undefined, rolling, { winner: 'logging/b', collectors: 3 }, 3, nowIso).conditions;
    const health: Health = {
      ready: 'True',
      reason: 'AllUpdated',
      message: 'Done.',
      reconciling: false,
      stalled: false,
    };
    const after = describeVerdict({ conditions: before }, health, undefined, 4, '2026-11-01T01:00:00Z').conditions;
    expect(after.map(({ type }) => type)).toEqual(['Ready']);
    expect(after[0]).toMatchObject({ observedGeneration: 4, lastTransitionTime: '2026-11-01T01:00:00Z' });
  });

  test('have a maximum length', () => {
    const [ready] = describeVerdict(
      undefined,
      { ...rolling, message: 'x'.repeat(5_000) },
      undefined,
      3,
      nowIso,
    ).conditions;
    expect(ready?.message).toHaveLength(maxMessageLength);
  });
});

test('an attempt that has started again is not shown as ended', () => {
  const entry = { ...endedEntry('failed'), open: attempt({ number: 2, taskId: '78' }) };
  const bench = new PolicyBench({ collectors: fleetOf(1), entries: [entry] });
  expect(figuresOf(bench).tasks.map(({ id }) => id)).toEqual(['78']);
  expect(ending('failed').sinceMs).toBeLessThan(settings.graceMs);
});

/** Tests that all numbers in a policy's status come from the same reading of the collector list (H3). */
import { describe, expect, test } from 'vitest';
import { annotations } from '../../../src/api/annotations.ts';
import type { CollectorVersionPolicyStatus } from '../../../src/api/generated/collector-version-policy.ts';
import { hourMs, minuteMs } from '../../../src/base/time-units.ts';
import { recordReports } from '../../support/reports.ts';
import { before, canary, middle, rest, type StagedSetting, staged, target } from './staged-world.ts';

type PolicyStatus = CollectorVersionPolicyStatus;

/**
 * Returns the number of failures at the start of a message, such as 11 for `11 failures in ...`. Returns NaN if the
 * message does not start with a number.
 */
function failuresIn(text = ''): number {
  return Number(/^(\d+) failures?\b/.exec(text)?.[1]);
}

/**
 * Returns the current number of failures in a message. This is the number after the word `now`, or at the start of a
 * message without this word.
 */
function presentIn(text = ''): number {
  return failuresIn(/now (.*)/.exec(text)?.[1] ?? text);
}

const breaking = (duration: string, share = 0.5) => ({
  upgrade: {
    duration,
    outcomes: [
      { share, end: 'fail' as const, message: 'broken' },
      { share: 1 - share, end: 'succeed' as const },
    ],
  },
});

describe('H3: a rollout that failures stopped', () => {
  const spec = { failurePolicy: { maxFailures: 3, minSamples: 1, action: 'Pause' } };

  test('shows the numbers at the time of the stop and the current numbers, which equal those of its stage', async () => {
    const { world, status, stage, untilReason } = staged({
      count: 40,
      scenario: breaking('1m..10m'),
      stages: [{ name: 'all', maxFailures: 3, soakDuration: '0s' }],
      spec: { ...spec, failurePolicy: undefined },
    });
    const reported = recordReports<PolicyStatus>(world.api, 'production');
    world.start();
    expect(await untilReason('RolloutStopped')).toBe(true);
    const atStop = failuresIn(world.ready('production')?.message);
    const stopped = status()?.rollout?.stopped;
    await world.clock.advance(hourMs);
    const message = world.ready('production')?.message;
    expect(presentIn(message)).toBeGreaterThan(atStop);
    expect(presentIn(message)).toBe(stage('all')?.failedAttempts);
    expect(failuresIn(message)).toBe(atStop);
    expect(failuresIn(stopped?.message)).toBe(atStop);
    expect(status()?.rollout?.stopped).toEqual(stopped);
    for (const one of reported.statuses.filter(({ rollout }) => rollout?.stopped)) {
      const ready = one.conditions?.find(({ type }) => type === 'Ready');
      expect(presentIn(ready?.message)).toBe(one.stages?.[0]?.failedAttempts);
    }
  });

  test('keeps the current numbers when the ledger no longer has the attempts', async () => {
    const { world, patch, status, untilReason } = staged({
      count: 20,
      scenario: breaking('1m..10m'),
      stages: [],
      spec,
    });
    world.start();
    expect(await untilReason('RolloutStopped')).toBe(true);
    const stopped = status()?.rollout?.stopped;
    await world.clock.advance(hourMs);
    const reported = world.ready('production')?.message;
    patch({ spec: { selector: { matchNames: ['none'] } } });
    expect(await untilReason('NoCollectorsMatched')).toBe(true);
    patch({ spec: { selector: { matchNames: null } } });
    expect(await untilReason('RolloutStopped')).toBe(true);
    expect(presentIn(reported)).toBeGreaterThan(0);
    expect(presentIn(world.ready('production')?.message)).toBe(presentIn(reported));
    expect(status()?.rollout?.stopped).toEqual(stopped);
  });

  test('keeps the numbers of the stop in another process', async () => {
    const fleet = staged({ count: 20, scenario: breaking('1m..10m'), stages: [], spec });
    const { world, untilReason } = fleet;
    world.start();
    expect(await untilReason('RolloutStopped')).toBe(true);
    await world.clock.advance(hourMs);
    const before = world.ready('production')?.message;
    world.replicas[0]?.kill();
    world.start();
    await world.clock.advance(10 * minuteMs);
    expect(world.ready('production')?.message).toBe(before);
  });
});

describe('H3: while no upgrade starts', () => {
  test('the message counts as many upgrades in flight as were sent', async () => {
    const { world, tasks, patch } = staged({
      count: 60,
      stages: [],
      spec: { strategy: { maxInProgress: 1000, order: 'Name' } },
      scenario: { upgrade: { duration: '30m' } },
    });
    const reported = recordReports<PolicyStatus>(world.api, 'production');
    world.start();
    expect(await world.until(() => tasks().length >= 25, hourMs)).toBe(true);
    patch({ spec: { paused: true } });
    await world.clock.advance(minuteMs);
    const sent = tasks().length;
    const paused = reported.statuses.filter(({ summary }) => summary?.state === 'Paused');
    expect(paused.length).toBeGreaterThan(0);
    for (const { conditions, collectors } of paused) {
      const message = conditions?.find(({ type }) => type === 'Ready')?.message ?? '';
      const running = Number(/(\d+) upgrades? in progress/.exec(message)?.[1]);
      expect([running, collectors?.inProgress]).toEqual([sent, sent]);
    }
  });
});

describe('H3: versions and counts agree', () => {
  test.each([
    ['all is well', {}],
    [
      'responses are lost',
      { faults: { lost: { kind: 'reset', operations: ['createTask'], effect: true, share: 0.5 } } },
    ],
    ['tasks cannot be read', { faults: { lost: { kind: 'status', status: 503, operations: ['getTask'] } } }],
  ])('when %s', async (_, scenario) => {
    const { world, untilReason } = staged({
      count: 40,
      stages: [],
      spec: { strategy: { maxInProgress: 4, order: 'Name' } },
      scenario: { upgrade: { duration: '20s..4m' }, ...(scenario as object) },
    });
    const reported = recordReports<PolicyStatus>(world.api, 'production');
    world.start();
    expect(await untilReason('AllUpdated', 8 * hourMs)).toBe(true);
    await world.clock.advance(minuteMs);
    const counted = reported.statuses.filter(({ collectors }) => collectors !== undefined);
    expect(counted.length).toBeGreaterThan(5);
    for (const { collectors, versions, summary } of counted) {
      const there = versions?.find(({ version }) => version === target)?.count ?? 0;
      expect({ there, summary: summary?.updated }).toEqual({ there: collectors?.updated, summary: `${there}/40` });
      expect(versions?.reduce((sum, { count }) => sum + count, 0)).toBe(40);
    }
    expect(before).not.toBe(target);
  });
});

describe('H3: versions and counts agree with the target version after an edit and a restart', () => {
  test.each([
    ['all is well', {}, false],
    ['the service cannot list collectors', { kind: 'status', status: 503, operations: ['listCollectors'] }, false],
    ['the service cannot be reached', { kind: 'status', status: 503 }, false],
    ['the version is not offered', {}, true],
  ])('when %s', async (_, fault, isUnknown) => {
    const faults = 'kind' in fault ? { faults: { away: { ...fault, from: '3h', until: '5h' } } } : {};
    const { world, patch, status, untilReason } = staged({ stages: [], scenario: faults as object });
    world.start();
    expect(await untilReason('AllUpdated')).toBe(true);
    await world.clock.advance(3 * hourMs);
    world.replicas[0]?.kill();
    const version = isUnknown ? '19.999-9' : middle;
    patch({ spec: { target: { version }, allowDowngrade: true } });
    const reported = recordReports<PolicyStatus>(world.api, 'production');
    world.start();
    await world.clock.advance(hourMs);
    if (!isUnknown) expect(await untilReason('AllUpdated', 8 * hourMs)).toBe(true);
    await world.clock.advance(minuteMs);
    expect(reported.statuses.length).toBeGreaterThan(1);
    for (const { targetVersion, collectors, versions, summary } of reported.statuses) {
      const there = versions?.find((one) => one.version === targetVersion)?.count ?? 0;
      expect({ there, summary: summary?.updated }).toEqual({ there: collectors?.updated, summary: `${there}/30` });
    }
    expect(status()?.targetVersion).toBe(isUnknown ? target : middle);
  });
});

test('H3: a stage with failures that a user must examine is Failed, and does not soak', async () => {
  const { world, stage, status, untilReason } = staged({
    count: 10,
    scenario: breaking('2m', 1),
    stages: [{ ...canary, soakDuration: '1h' }, rest],
  });
  world.start();
  expect(await untilReason('CollectorsFailed')).toBe(true);
  await world.clock.advance(minuteMs);
  expect(stage('canary')).toMatchObject({ state: 'Failed', failed: 3 });
  expect(stage('canary')?.soakedUntil).toBeUndefined();
  expect(status()?.summary?.state).toBe('CollectorsFailed');
});

describe('the estimated end of a rollout that waited for ten minutes', () => {
  type Staged = ReturnType<typeof staged>;
  const nothing = () => undefined;
  const half = { name: 'half', size: '50%', soakDuration: '0s' };
  const always = { schedule: '0 0 * * *', duration: '24h', timeZone: 'UTC' };
  const iso = (wallMs: number) => new Date(wallMs).toISOString();

  test.each<[string, StagedSetting, (fleet: Staged) => unknown, (fleet: Staged) => unknown]>([
    [
      'for the end of a pause',
      {},
      ({ patch }) => patch({ spec: { paused: true } }),
      ({ patch }) => patch({ spec: { paused: false } }),
    ],
    [
      'for the end of a maintenance exclusion',
      {},
      ({ patch, world }) => {
        const [startTime, endTime] = [iso(world.clock.now()), iso(world.clock.now() + 12 * minuteMs)];
        patch({ spec: { maintenance: { windows: [always], exclusions: [{ name: 'freeze', startTime, endTime }] } } });
      },
      nothing,
    ],
    [
      'for an approval',
      { stages: [half, { ...rest, approval: 'Required' }] },
      nothing,
      ({ annotate, status }) => annotate(annotations.approve, `${status()?.rollout?.id}/rest`),
    ],
  ])('%s does not count this time', async (_, { stages = [] }, hold, resume) => {
    const fleet = staged({ count: 100, stages, spec: { strategy: { maxInProgress: 10, order: 'Name', stages } } });
    const { world, status } = fleet;
    world.start();
    await world.clock.advance(10 * minuteMs);
    hold(fleet);
    await world.clock.advance(12 * minuteMs);
    expect(status()?.collectors).toMatchObject({ inProgress: 0, updated: 50 });
    resume(fleet);
    await world.clock.advance(3 * minuteMs);
    const fromMs = world.clock.now();
    const estimatedMs = Date.parse(status()?.rollout?.estimatedCompletionTime ?? '') - fromMs;
    expect(await fleet.untilReason('AllUpdated')).toBe(true);
    const actualMs = world.clock.now() - fromMs;
    expect(estimatedMs / actualMs).toBeGreaterThan(0.7);
    expect(estimatedMs / actualMs).toBeLessThan(1.3);
  });
});

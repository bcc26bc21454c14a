/**
 * Tests what the operator does if the ledger and the policy's status disagree: it follows the one that permits fewer
 * upgrades (U1).
 */
import { describe, expect, test } from 'vitest';
import { annotations } from '../../../src/api/annotations.ts';
import type {
  CollectorVersionPolicyStatus,
  StoppedRollout,
  TaskSample,
} from '../../../src/api/generated/collector-version-policy.ts';
import { Ledger } from '../../../src/policy/ledger/ledger.ts';
import {
  adoptFromStatus,
  adoptLostRolloutState,
  adoptRolloutState,
  shownHistory,
} from '../../../src/policy/ledger/status-recovery.ts';
import { endedEntry, epochMs, header, newerVersion, oldVersion, openEntry, policy, target } from './builders.ts';

const sample = (more: Partial<TaskSample> = {}): TaskSample => ({
  id: '9',
  collector: 'web-1',
  collectorId: '1',
  from: oldVersion,
  to: target,
  state: 'Running',
  startTime: '2026-11-01T00:00:10Z',
  ...more,
});

test('U1: without a status there is nothing to restore', () => {
  expect(adoptFromStatus(undefined, new Ledger(header()), 5)).toEqual([]);
  expect(adoptFromStatus({}, new Ledger(header()), 5)).toEqual([]);
});

test('U1: a running task that is missing in the ledger counts as running from the takeover on', () => {
  const [change] = adoptFromStatus({ tasks: [sample()] }, new Ledger(header()), 5);
  expect(change).toEqual({
    collectorId: '1',
    entry: {
      collectorId: '1',
      before: oldVersion,
      used: 1,
      drifts: 0,
      isRollback: false,
      ending: undefined,
      open: {
        number: 0,
        toVersion: target,
        state: 'accepted',
        taskId: '9',
        ours: true,
        probe: false,
        startedAtMs: Date.UTC(2026, 10, 1, 0, 0, 10),
        sinceMs: 5,
        needsGrace: true,
      },
    },
  });
});

test('U1: a running task without an id has an unknown outcome', () => {
  const { id: _, ...nameless } = sample({ state: 'Starting' });
  const [change] = adoptFromStatus({ tasks: [nameless] }, new Ledger(header()), 5);
  expect(change?.entry?.open).toMatchObject({ state: 'unknown', taskId: undefined });
});

test('U10: an upgrade of another tool stays adopted, and does not count as an attempt', () => {
  const { id: _, ...adopted } = sample({ state: 'Adopted' });
  const [change] = adoptFromStatus({ tasks: [adopted] }, new Ledger(header()), 5);
  expect(change?.entry).toMatchObject({ used: 0, open: { state: 'adopted', ours: false } });
});

test('U1: a task that began after all attempts in the ledger is running, and counts in addition', () => {
  const known = endedEntry('failed', {}, { used: 1 });
  const endedAtMs = known.ending?.endedAtMs ?? 0;
  const later = sample({ startTime: new Date(endedAtMs + 1_000).toISOString() });
  const [change] = adoptFromStatus({ tasks: [later] }, new Ledger(header(), [known]), 5);
  expect(change?.entry).toMatchObject({ used: 2, ending: known.ending, open: { state: 'accepted', taskId: '9' } });
  const earlier = sample({ startTime: new Date(endedAtMs - 1_000).toISOString() });
  expect(adoptFromStatus({ tasks: [earlier] }, new Ledger(header(), [known]), 5)).toEqual([]);
});

test('U1: an ended task in the status is ignored', () => {
  const tasks = [sample({ state: 'Succeeded', endTime: '2026-11-01T00:03:00Z' })];
  expect(adoptFromStatus({ tasks }, new Ledger(header()), 5)).toEqual([]);
});

test.each([
  ['open', openEntry()],
  ['ended', endedEntry('failed', { endedAtMs: Date.UTC(2026, 10, 1, 0, 5) })],
])('U1: if the ledger has the attempt as %s, the ledger counts', (_, known) => {
  expect(adoptFromStatus({ tasks: [sample()] }, new Ledger(header(), [known]), 5)).toEqual([]);
});

describe('U1: a stop that the status shows and the ledger lacks', () => {
  const time = '2026-11-01T00:00:00Z';
  const stoppedBy = (reason: StoppedRollout['reason']): StoppedRollout => ({ reason, time, message: 'Too many.' });
  const statusOf = (number: number, stopped?: StoppedRollout): CollectorVersionPolicyStatus => ({
    targetVersion: target,
    rollout: { id: `${number}-${target}`, startTime: time, ...(stopped && { stopped }) },
  });
  const failed = stoppedBy('RolloutStopped');

  test.each([
    ['RolloutStopped', 'failures'],
    ['RollingBack', 'rollback'],
    ['Aborted', 'abort'],
  ] as const)('%s: the rollout stays stopped', (reason, kind) => {
    const { stop } = adoptRolloutState(policy({ status: statusOf(1, stoppedBy(reason)) }), header());
    expect(stop).toEqual({ kind, message: 'Too many.', atMs: epochMs });
  });

  test('keeps the stage in which the rollout stopped', () => {
    const { stop } = adoptRolloutState(policy({ status: statusOf(1, { ...failed, stage: 'canary' }) }), header());
    expect(stop?.stage).toBe('canary');
  });

  test.each<[string, CollectorVersionPolicyStatus | undefined, Parameters<typeof header>[0]]>([
    ['without a status', undefined, {}],
    ['while the rollout continues', statusOf(1), {}],
    ['from another rollout', statusOf(2, failed), {}],
    ['if the ledger has a stop', statusOf(1, failed), { stop: { kind: 'abort', message: 'x', atMs: 5 } }],
    ['if a user has ended it since', statusOf(1, failed), { handled: { liftedAtMs: epochMs + 900 } }],
    ['if a user has ended exactly this stop', statusOf(1, failed), { handled: { liftedAtMs: epochMs } }],
  ])('is not restored %s', (_, status, known) => {
    const before = header(known);
    expect(adoptRolloutState(policy(status ? { status } : {}), before)).toBe(before);
  });

  test('that follows one that was ended is restored', () => {
    const before = header({ handled: { liftedAtMs: epochMs - 1 } });
    expect(adoptRolloutState(policy({ status: statusOf(1, failed) }), before).stop).toBeDefined();
  });

  test('makes annotations of that time ineffective', () => {
    const values = { [annotations.retry]: `1-${target}/a`, [annotations.abort]: `1-${target}/b` };
    const { handled } = adoptRolloutState(
      policy({ status: statusOf(1, failed), metadata: { annotations: values } }),
      header(),
    );
    expect(handled).toEqual({ retry: `1-${target}/a`, abort: `1-${target}/b` });
  });

  describe('if the ledger was lost, or is older', () => {
    const begun = header({ rolloutId: `4-${target}`, rolloutNumber: 4 });

    test.each([
      ['lost', undefined],
      ['of before', header({ rolloutNumber: 2 })],
    ])('%s: the rollout that begins in its place is stopped, too', (_, before) => {
      expect(adoptLostRolloutState(policy({ status: statusOf(3, failed) }), before, begun).stop?.kind).toBe('failures');
    });

    test.each<[string, CollectorVersionPolicyStatus, ReturnType<typeof header> | undefined]>([
      [
        'the ledger contains this rollout, so the new one is its successor',
        statusOf(3, failed),
        header({ rolloutNumber: 3 }),
      ],
      ['the rollout had another target', { ...statusOf(3, failed), targetVersion: newerVersion }, undefined],
      ['it continued', statusOf(3), undefined],
    ])('nothing is restored if %s', (_, status, before) => {
      expect(adoptLostRolloutState(policy({ status }), before, begun)).toBe(begun);
    });
  });

  describe('ended rollouts in the history', () => {
    const shown = (id: string, outcome: 'Stopped' | 'Superseded' | 'Completed', failed = 0) =>
      ({ id, targetVersion: target, startTime: time, completionTime: time, outcome, updated: 3, failed }) as const;
    const ids = (known: Parameters<typeof shownHistory>[1]) =>
      shownHistory({ history: [shown('4-x', 'Superseded'), shown('3-x', 'Stopped')] }, known).map(({ id }) => id);

    test.each<[string, Parameters<typeof header>[0] | undefined, readonly string[]]>([
      ['all are kept if the ledger was lost', undefined, ['4-x', '3-x']],
      ['later ones are kept if the ledger is older', { rolloutId: '3-y', rolloutNumber: 3 }, ['4-x']],
      ['the current one is kept if it was stopped', { rolloutId: '3-x', rolloutNumber: 3 }, ['4-x', '3-x']],
      ['those in the ledger are not repeated', { rolloutId: '4-x', rolloutNumber: 4 }, []],
    ])('%s', (_, known, expected) => {
      expect(ids(known && header(known))).toEqual(expected);
    });

    test('with the number of failed collectors', () => {
      expect(shownHistory({ history: [shown('3-x', 'Superseded', 2)] }, undefined)).toEqual([
        {
          id: '3-x',
          targetVersion: target,
          startedAtMs: epochMs,
          endedAtMs: epochMs,
          outcome: 'Superseded',
          updated: 3,
          failed: 2,
        },
      ]);
    });
  });

  test.each(['Progressing', 'Soaking', 'Stopped'] as const)(
    'a stage that is %s and unknown to the ledger makes the rollout unproven',
    (state) => {
      const stages = [
        { name: 'done', members: 1, updated: 1, failed: 0, state: 'Completed', startTime: time },
        { name: 'canary', members: 1, updated: 1, failed: 0, state, startTime: time },
        { name: 'rest', members: 1, updated: 0, failed: 0, state: 'Pending' },
      ] as const;
      const adopted = adoptRolloutState(policy({ status: { ...statusOf(1), stages } }), header());
      expect(adopted.unproven).toBe(true);
      expect(adoptRolloutState(policy({ status: { ...statusOf(1), stages } }), adopted)).toBe(adopted);
    },
  );
});

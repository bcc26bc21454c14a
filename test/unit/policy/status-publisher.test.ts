/** Tests when a policy's status is written, and which Events are created with it. */
import { describe, expect, test } from 'vitest';
import type { CollectorVersionPolicy } from '../../../src/api/kinds.ts';
import { LogfleetError } from '../../../src/base/errors.ts';
import { isoSeconds } from '../../../src/base/time-text.ts';
import type { Health } from '../../../src/controller/health.ts';
import type { Host } from '../../../src/host/host.ts';
import { describeVerdict, type Essentials } from '../../../src/policy/status/describe.ts';
import { StatusPublisher } from '../../../src/policy/status/status-publisher.ts';
import { owner } from '../../support/memory-ledger-store.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';
import { policy, settings, target } from './builders.ts';

const { statusIntervalMs } = settings;

const rolling: Health = {
  ready: 'False',
  reason: 'RollingOut',
  message: 'On its way.',
  reconciling: true,
  stalled: false,
};
const done: Health = { ready: 'True', reason: 'AllUpdated', message: 'Done.', reconciling: false, stalled: false };
const stuck: Health = { ready: 'False', reason: 'Forbidden', message: 'No.', reconciling: false, stalled: true };

function world() {
  const clock = new VirtualClock();
  const written: CollectorVersionPolicy[] = [];
  const events: { readonly type: string; readonly reason: string }[] = [];
  const state: { error: Error | undefined; draining: boolean } = { error: undefined, draining: false };
  const host: Pick<Host, 'writeStatus' | 'events'> = {
    writeStatus: async (_, resource) => {
      if (state.error) throw state.error;
      written.push(resource as CollectorVersionPolicy);
      return resource;
    },
    events: { publish: (_, { type, reason }) => void events.push({ type, reason }) },
  };
  const publisher = new StatusPublisher({
    host: host as Host,
    clock,
    intervalMs: settings.statusIntervalMs,
    owner,
    draining: () => state.draining,
  });
  const last = () => written.at(-1)?.status;

  const essentials = (health: Health, more: Partial<Essentials> = {}): Essentials => ({
    observedGeneration: 3,
    targetVersion: target,
    rollout: { id: '1-x', startTime: '2026-11-01T00:00:00Z' },
    ...describeVerdict(last(), health, undefined, 3, isoSeconds(clock.now())),
    ...more,
  });
  const publish = (health: Health, updated: string, more: Partial<Essentials> = {}, of = policy()) =>
    publisher.publish(of, essentials(health, more), () => ({ summary: { updated } }), health);
  return { clock, written, events, state, publisher, publish, last };
}

test('U1: a status that was replaced by another writer, such as a restore, is written again', async () => {
  const { publish, written } = world();
  await publish(done, '2/2');
  const restored = { ...policy(), status: { summary: { updated: '1/2' } } };
  const metadata = { ...restored.metadata, resourceVersion: '99' };
  await publish(done, '2/2', {}, restored);
  expect(written).toHaveLength(1);
  await publish(done, '2/2', {}, { ...restored, metadata });
  expect(written).toHaveLength(2);
});

describe('a status is written immediately', () => {
  test('when the resource has none', async () => {
    const { publish, written, last } = world();
    expect(await publish(rolling, '0/10')).toBe(Infinity);
    expect(written).toHaveLength(1);
    expect(last()).toMatchObject({ targetVersion: target, summary: { updated: '0/10' } });
  });

  test.each<[string, Health, Partial<Essentials>]>([
    ['the verdict changed', done, {}],
    ['the generation changed', rolling, { observedGeneration: 4 }],
    ['the target changed', rolling, { targetVersion: 'x' }],
    ['a listing was requested', rolling, { lastHandledReconcileAt: 'now' }],
    ['another rollout began', rolling, { rollout: { id: '2-x', startTime: '2026-11-01T00:00:00Z' } }],
    ['a rollout ended', rolling, { history: [] }],
  ])('when %s', async (_, health, more) => {
    const { publish, written } = world();
    await publish(rolling, '0/10');
    expect(await publish(health, '1/10', more)).toBe(Infinity);
    expect(written).toHaveLength(2);
  });

  test('when an overlap begins or ends', async () => {
    const { publish, written, clock } = world();
    await publish(rolling, '0/10');
    const { conditions } = describeVerdict({}, rolling, { winner: 'a/b', collectors: 1 }, 3, isoSeconds(clock.now()));
    await publish(rolling, '0/10', { conditions });
    expect(written).toHaveLength(2);
  });
});

describe('figures are written at most once in ten seconds', () => {
  test('and later figures are due after these ten seconds', async () => {
    const { clock, publish, written, last } = world();
    await publish(rolling, '0/10');
    await clock.advance(4_000);
    expect(await publish(rolling, '1/10')).toBe(statusIntervalMs - 4_000);
    await clock.advance(statusIntervalMs - 4_001);
    expect(await publish(rolling, '2/10')).toBe(1);
    expect(written).toHaveLength(1);
    await clock.advance(1);
    expect(await publish(rolling, '2/10')).toBe(Infinity);
    expect(last()?.summary?.updated).toBe('2/10');
  });

  test('also if the message of the verdict repeats them', async () => {
    const { clock, publish, written } = world();
    await publish(rolling, '0/10');
    await clock.advance(1_000);
    await publish({ ...rolling, message: '1 of 10.' }, '1/10');
    expect(written).toHaveLength(1);
  });

  test('but immediately when the process shuts down', async () => {
    const { publisher, publish, state, last } = world();
    await publish(rolling, '0/10');
    await publish(rolling, '1/10');
    expect(publisher.heldBack).toBe(true);
    state.draining = true;
    expect(await publish(rolling, '1/10')).toBe(Infinity);
    expect(publisher.heldBack).toBe(false);
    expect(last()?.summary?.updated).toBe('1/10');
  });

  test('and are not computed earlier', async () => {
    const { publisher, publish } = world();
    await publish(rolling, '0/10');
    let made = 0;
    const { status } = publisher.latest(policy());
    await publisher.publish(policy(), status ?? {}, () => ({ summary: { updated: String(made++) } }), rolling);
    expect(made).toBe(0);
  });
});

describe('nothing is written', () => {
  test('when nothing changed, after any time', async () => {
    const { clock, publish, written } = world();
    await publish(rolling, '0/10');
    await clock.advance(60 * 60_000);
    expect(await publish(rolling, '0/10')).toBe(Infinity);
    expect(written).toHaveLength(1);
  });

  describe('when only the estimated end changed a little', () => {
    const minuteMs = 60_000;

    async function shifted(leftMs: number, byMs: number, updated = '0/10') {
      const { clock, publish, written, last } = world();
      const ending = (endMs: number) => ({
        rollout: { id: '1-x', startTime: '2026-11-01T00:00:00Z', estimatedCompletionTime: isoSeconds(endMs) },
      });
      const endMs = clock.now() + statusIntervalMs + leftMs;
      await publish(rolling, '0/10', ending(endMs));
      await clock.advance(statusIntervalMs);
      await publish(rolling, updated, ending(endMs + byMs));
      return { writes: written.length, end: last()?.rollout?.estimatedCompletionTime, moved: isoSeconds(endMs + byMs) };
    }

    test.each([
      ['a minute', 5 * minuteMs, minuteMs, 1],
      ['more than a minute', 5 * minuteMs, minuteMs + 1_000, 2],
      ['more than a minute, to an earlier time', 5 * minuteMs, -minuteMs - 1_000, 2],
      ['less than a tenth of the remaining time', 100 * minuteMs, 10 * minuteMs, 1],
      ['more than a tenth of the remaining time', 100 * minuteMs, 12 * minuteMs, 2],
    ])('by %s', async (_, leftMs, byMs, writes) => {
      expect(await shifted(leftMs, byMs)).toMatchObject({ writes });
    });

    test('but a small change is written together with others', async () => {
      const { writes, end, moved } = await shifted(5 * minuteMs, 1_000, '1/10');
      expect([writes, end]).toEqual([2, moved]);
    });
  });

  test('when the resource already has this status, as after a restart', async () => {
    const before = world();
    await before.publish(rolling, '0/10');
    const { summary, ...essentials } = before.last() ?? {};
    // Reverses the order of the fields, because an API server can also change their order.
    const rollout = Object.fromEntries(Object.entries(essentials.rollout ?? {}).toReversed());
    const status = { summary, ...essentials, rollout } as NonNullable<CollectorVersionPolicy['status']>;
    const { publish, written, publisher } = world();
    const of = policy({ status });
    await publisher.publish(of, essentials, () => ({ summary: { updated: '0/10' } }), rolling);
    expect(written).toHaveLength(0);
    await publish(done, '10/10', {}, of);
    expect(written).toHaveLength(1);
  });
});

describe('a write that fails', () => {
  const error = (code: string) => new LogfleetError({ code, message: 'no', handling: { kind: 'backoff' } });

  test.each(['host.conflict', 'host.gone'])('with %s writes nothing, and is left to the host', async (code) => {
    const { publish, written, events, state, last } = world();
    state.error = error(code);
    expect(await publish(rolling, '0/10')).toBe(1_000);
    expect([written, events]).toEqual([[], []]);
    state.error = undefined;
    await publish(rolling, '1/10');
    expect(last()?.summary?.updated).toBe('1/10');
    expect(events).toEqual([{ type: 'Normal', reason: 'RollingOut' }]);
  });

  test('otherwise may have taken effect, so the next status is compared with the cached status', async () => {
    const { publish, written, state, last } = world();
    await publish(rolling, '0/10');
    state.error = error('host.unreachable');
    await expect(publish(done, '10/10')).rejects.toMatchObject({ code: 'host.unreachable' });
    state.error = undefined;
    const { conditions } = describeVerdict({}, done, undefined, 3, isoSeconds(0));
    await publish(rolling, '0/10', {}, policy({ status: { ...last(), conditions } }));
    expect(written).toHaveLength(2);
  });

  test('otherwise is an error of the reconcile', async () => {
    const { publish, state } = world();
    state.error = error('host.unreachable');
    await expect(publish(rolling, '0/10')).rejects.toMatchObject({ code: 'host.unreachable' });
  });
});

describe('events', () => {
  test('report only transitions', async () => {
    const { publish, events, clock } = world();
    await publish(rolling, '0/10');
    await clock.advance(statusIntervalMs);
    await publish(rolling, '5/10');
    await publish(stuck, '5/10');
    await publish(done, '10/10');
    expect(events).toEqual([
      { type: 'Normal', reason: 'RollingOut' },
      { type: 'Warning', reason: 'Forbidden' },
      { type: 'Normal', reason: 'AllUpdated' },
    ]);
  });

  test.each<[string, Health, readonly string[]]>([
    ['work that has started', rolling, ['RollingOut']],
    ['an error', stuck, ['Forbidden']],
    ['nothing to do', done, []],
    ['nothing known yet', { ...rolling, reason: 'Progressing' }, []],
  ])('of a first status: %s (H1)', async (_, health, reasons) => {
    const { publish, events } = world();
    await publish(health, '0/10');
    expect(events.map(({ reason }) => reason)).toEqual(reasons);
  });

  test('are not repeated by a process that takes over', async () => {
    const before = world();
    await before.publish(rolling, '0/10');
    const { publish, events } = world();
    const status = before.last();
    await publish(rolling, '1/10', {}, policy(status === undefined ? {} : { status }));
    expect(events).toEqual([]);
  });
});

describe('a verdict without figures', () => {
  test('leaves the figures unchanged', async () => {
    const { publish, publisher, last, clock } = world();
    await publish(rolling, '3/10');
    await clock.advance(1_000);
    await publisher.publishHealth(policy(), stuck, undefined);
    expect(last()).toMatchObject({
      targetVersion: target,
      rollout: { id: '1-x' },
      summary: { updated: '3/10', state: 'Forbidden' },
    });
    expect(last()?.conditions?.map(({ type, status }) => [type, status])).toEqual([
      ['Ready', 'False'],
      ['Stalled', 'True'],
    ]);
  });

  test('removes the estimated end and the wait of the rollout unless the rollout continues', async () => {
    const { publish, publisher, last } = world();
    const rollout = { id: '1-x', startTime: '2026-11-01T00:00:00Z' };
    const figures = { estimatedCompletionTime: '2026-11-01T01:00:00Z', waitingFor: 'the next maintenance window' };
    await publish(rolling, '3/10', { rollout: { ...rollout, ...figures } });
    await publisher.publishHealth(policy(), { ...rolling, reason: 'Unavailable' }, undefined);
    expect(last()?.rollout).toEqual({ ...rollout, ...figures });
    await publisher.publishHealth(policy(), stuck, undefined);
    expect(last()?.rollout).toEqual(rollout);
  });

  test('keeps the target version with the figures, until both are counted for a new target (H3)', async () => {
    const { publish, publisher, last } = world();
    await publish(rolling, '3/10');
    await publisher.publishHealth(policy(), stuck, 'x');
    expect(last()).toMatchObject({ targetVersion: target, summary: { updated: '3/10' } });
    await publish(rolling, '0/10', { targetVersion: 'x' });
    expect(last()).toMatchObject({ targetVersion: 'x', summary: { updated: '0/10' } });
  });

  test('shows the target version of the spec if nothing is counted yet', async () => {
    const { publisher, last } = world();
    await publisher.publishHealth(policy(), stuck, 'x');
    await publisher.publishHealth(policy(), stuck, 'y');
    expect(last()?.targetVersion).toBe('y');
    await publisher.publishHealth(policy(), stuck, undefined);
    expect(last()).not.toHaveProperty('targetVersion');
  });

  test('is written if there was no status', async () => {
    const { publisher, last } = world();
    await publisher.publishHealth(policy({ metadata: { generation: 7 } }), stuck, 'x');
    expect(last()).toMatchObject({ observedGeneration: 7, targetVersion: 'x', summary: { state: 'Forbidden' } });
  });
});

test('the newest status is the one written last, whatever the cache contains', async () => {
  const { publish, publisher } = world();
  const stale = policy({ status: { targetVersion: 'old' } });
  expect(publisher.latest(stale)).toBe(stale);
  await publish(rolling, '0/10', {}, stale);
  expect(publisher.latest(stale).status?.targetVersion).toBe(target);
});

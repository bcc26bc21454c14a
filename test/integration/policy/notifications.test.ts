/** Tests that each stop, completion and wait for approval causes one notification. */
import { describe, expect, test } from 'vitest';
import { hourMs, minuteMs } from '../../../src/base/time-units.ts';
import { notificationOf } from '../../../src/notifications/notification.ts';
import { policiesPath } from '../../support/world.ts';
import { canary, middle, rest, type StagedSetting, staged } from './staged-world.ts';

const stopping = {
  spec: { failurePolicy: { maxFailures: 0, minSamples: 1, action: 'Pause' } },
  scenario: { upgrade: { duration: '2m', outcomes: [{ share: 1, end: 'fail' as const }] } },
};
const approving = { stages: [{ ...canary, approval: 'Required' }, rest] };
const states: readonly [string, StagedSetting][] = [
  ['AllUpdated', {}],
  ['RolloutStopped', stopping],
  ['AwaitingApproval', approving],
];

/**
 * Starts a policy with 10 collectors. After four hours, the lists of collectors and builds cannot be read for ten
 * minutes.
 */
function notified({ scenario, ...setting }: StagedSetting = {}) {
  const blip = {
    kind: 'status',
    status: 503,
    from: '4h',
    until: '4h10m',
    operations: ['listCollectors', 'listBuilds'],
  };
  const fleet = staged({ count: 10, ...setting, scenario: { ...scenario, faults: { blip: blip as never } } });
  const sent: string[] = [];
  const start = () =>
    fleet.world.start({
      onEvent: (owner, event) => {
        const notification = notificationOf(owner, event, 0);
        if (notification) sent.push(notification.reason);
      },
    });
  const restart = async () => {
    fleet.world.replicas[0]?.kill();
    start();
    await fleet.world.clock.advance(10 * minuteMs);
  };
  const pause = async (paused: boolean) => {
    fleet.patch({ spec: { paused } });
    await fleet.world.clock.advance(10 * minuteMs);
  };
  start();
  return { ...fleet, sent, restart, pause };
}

describe.each(states)('%s is notified once', (reason, setting) => {
  test.each([[false], [true]])('despite an outage; with a restart during the outage: %s', async (restarts) => {
    const { world, sent, restart, untilReason } = notified(setting);
    expect(await untilReason(reason)).toBe(true);
    expect(await untilReason('ServiceUnavailable', 5 * hourMs)).toBe(true);
    if (restarts) await restart();
    expect(await untilReason(reason)).toBe(true);
    await world.clock.advance(minuteMs);
    expect(sent).toEqual([reason]);
  });

  test.each([[false], [true]])('despite a pause; with a restart during the pause: %s', async (restarts) => {
    const { sent, restart, pause, untilReason } = notified(setting);
    expect(await untilReason(reason)).toBe(true);
    await pause(true);
    if (restarts) await restart();
    await pause(false);
    expect(await untilReason(reason)).toBe(true);
    expect(sent).toEqual([reason]);
  });
});

describe('a notification is sent', () => {
  test('again for the stop after a retry', async () => {
    const { world, sent, status, annotate, untilReason } = notified(stopping);
    expect(await untilReason('RolloutStopped')).toBe(true);
    annotate('logfleet.dev/retry', `${status()?.rollout?.id}/again`);
    expect(await untilReason('RollingOut')).toBe(true);
    expect(await untilReason('RolloutStopped')).toBe(true);
    await world.clock.advance(minuteMs);
    expect(sent).toEqual(['RolloutStopped', 'RolloutStopped']);
  });

  test('again for a new target, even if it is reached after a pause', async () => {
    const { sent, patch, pause, untilReason } = notified();
    expect(await untilReason('AllUpdated')).toBe(true);
    await pause(true);
    patch({ spec: { target: { version: middle }, allowDowngrade: true } });
    await pause(false);
    expect(await untilReason('AllUpdated')).toBe(true);
    expect(sent).toEqual(['AllUpdated', 'AllUpdated']);
  });

  test.each([
    ['earlier', false],
    ['later', true],
  ])('for an approval that is first needed during a pause; the operator restarts %s', async (_, restartsLater) => {
    const { world, sent, stage, patch, restart, pause, untilReason } = notified({
      stages: [canary, { ...rest, approval: 'Required' }],
      scenario: { upgrade: { duration: '15m' } },
    });
    expect(await world.until(() => stage('canary')?.inProgress === 3, hourMs)).toBe(true);
    patch({ spec: { paused: true } });
    await (restartsLater ? world.clock.advance(10 * minuteMs) : restart());
    expect(stage('rest')?.state).toBe('Pending');
    await world.clock.advance(20 * minuteMs);
    if (restartsLater) await restart();
    expect([stage('rest')?.state, sent]).toEqual(['AwaitingApproval', []]);
    await pause(false);
    expect(await untilReason('AwaitingApproval')).toBe(true);
    expect(sent).toEqual(['AwaitingApproval']);
  });

  test('for the approval of another target, although the former target waits for approval, too', async () => {
    const { world, sent, status, patch, untilReason } = notified(approving);
    expect(await untilReason('AwaitingApproval')).toBe(true);
    patch({ spec: { target: { version: middle } } });
    expect(await world.until(() => status()?.targetVersion === middle, hourMs)).toBe(true);
    await world.clock.advance(minuteMs);
    expect([status()?.conditions?.find(({ type }) => type === 'Ready')?.reason, sent]).toEqual([
      'AwaitingApproval',
      ['AwaitingApproval', 'AwaitingApproval'],
    ]);
  });

  test('again if the status loses the state before the pause', async () => {
    const { world, sent, status, restart, pause, untilReason } = notified(approving);
    expect(await untilReason('AwaitingApproval')).toBe(true);
    await pause(true);
    expect(status()?.interruptedState).toMatch(/^[0-9a-f]{32}$/);
    world.api.patch(`${policiesPath}/production/status`, { status: { interruptedState: null } });
    await restart();
    await pause(false);
    expect(await untilReason('AwaitingApproval')).toBe(true);
    expect(sent).toEqual(['AwaitingApproval', 'AwaitingApproval']);
    expect(status()?.interruptedState).toBeUndefined();
  });

  test.each([[false], [true]])('for a stop during a pause; with a restart during the pause: %s', async (restarts) => {
    const { world, sent, status, restart, pause, untilReason } = notified(stopping);
    expect(await world.until(() => (status()?.collectors?.inProgress ?? 0) > 0, hourMs)).toBe(true);
    await pause(true);
    if (restarts) await restart();
    expect([status()?.rollout?.stopped?.reason, sent]).toEqual(['RolloutStopped', []]);
    await pause(false);
    expect(await untilReason('RolloutStopped')).toBe(true);
    expect(sent).toEqual(['RolloutStopped']);
  });
});

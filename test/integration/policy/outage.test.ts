/** Tests an outage of the service, which the operator reports by an Event and a condition (H2). */
import { describe, expect, test } from 'vitest';
import { findCondition } from '../../../src/api/conditions.ts';
import type { CollectorVersionPolicyStatus } from '../../../src/api/generated/collector-version-policy.ts';
import { PrometheusMetrics } from '../../../src/base/prometheus-metrics.ts';
import { hourMs, minuteMs } from '../../../src/base/time-units.ts';
import { describeHealth } from '../../../src/controller/health.ts';
import { recordReports } from '../../support/reports.ts';
import { staged } from './staged-world.ts';

/** Starts an operator. An outage of the service begins 20 minutes later, and lasts until the time `until`. */
function withOutage(until: string, fault: object = { kind: 'reset' }) {
  const fleet = staged({ count: 10, scenario: { faults: { away: { from: '20m', until, ...fault } as never } } });
  const metrics = new PrometheusMetrics();
  fleet.world.start({ metrics });
  const reported = recordReports<CollectorVersionPolicyStatus>(fleet.world.api, 'production');
  const outage = () => findCondition(fleet.status()?.conditions, 'Outage');
  const reason = () => fleet.world.ready('production')?.reason;
  return { ...fleet, metrics, reported, outage, reason };
}

describe('H2: a service that does not respond', () => {
  test('is a Warning Event immediately, and a condition ten minutes later', async () => {
    const { world, reported, outage, reason, status } = withOutage('2h');
    expect(await world.until(() => reason() === 'ServiceUnreachable', hourMs)).toBe(true);
    const beganMs = world.clock.now();
    await world.clock.advance(1_000);
    expect(reported.events.at(-1)).toMatchObject({ type: 'Warning', reason: 'ServiceUnreachable' });
    expect(Date.parse(status()?.outageStartTime ?? '')).toBeGreaterThan(beganMs - 2_000);
    await world.clock.advance(9 * minuteMs);
    expect(outage()).toBeUndefined();
    await world.clock.advance(minuteMs + 1_000);
    expect(outage()).toMatchObject({ status: 'True', reason: 'ServiceUnreachable' });
    expect(findCondition(status()?.conditions, 'Reconciling')?.status).toBe('True');
    expect(findCondition(status()?.conditions, 'Stalled')).toBeUndefined();
    expect(reported.events.at(-1)).toMatchObject({ type: 'Warning', reason: 'Outage' });
  });

  test('ends the outage when it responds', async () => {
    const { world, outage, reason, status } = withOutage('2h');
    expect(await world.until(() => outage() !== undefined, 2 * hourMs)).toBe(true);
    expect(await world.until(() => reason() === 'AllUpdated', 2 * hourMs)).toBe(true);
    expect(outage()).toBeUndefined();
    expect(status()?.outageStartTime).toBeUndefined();
  });

  test('that responds within ten minutes causes no condition', async () => {
    const { world, reported, reason } = withOutage('28m');
    expect(await world.until(() => reason() === 'ServiceUnreachable', hourMs)).toBe(true);
    await world.clock.advance(hourMs);
    expect(reported.events.filter(({ type }) => type === 'Warning').map((one) => one.reason)).toEqual([
      'ServiceUnreachable',
    ]);
  });

  test('has an outage since its first failure, even with other failures and after a restart', async () => {
    const later = { kind: 'status', status: 503, from: '25m', until: '2h' };
    const fleet = staged({
      count: 10,
      scenario: { faults: { away: { kind: 'reset', from: '20m', until: '25m' }, broken: later as never } },
    });
    const { world, status } = fleet;
    world.start();
    const reason = () => world.ready('production')?.reason;
    expect(await world.until(() => reason() === 'ServiceUnreachable', hourMs)).toBe(true);
    const since = status()?.outageStartTime;
    expect(await world.until(() => reason() === 'ServiceUnavailable', hourMs)).toBe(true);
    world.replicas[0]?.kill();
    world.start();
    await world.clock.advance(6 * minuteMs);
    expect(status()?.outageStartTime).toBe(since);
    expect(findCondition(status()?.conditions, 'Outage')?.status).toBe('True');
  });

  test('is a state of the policy in the metrics', async () => {
    const { world, metrics, outage } = withOutage('2h');
    expect(await world.until(() => outage() !== undefined, 2 * hourMs)).toBe(true);
    await world.clock.advance(minuteMs);
    expect(await metrics.render()).toContain('logfleet_policies{state="Outage",reason="ServiceUnreachable"} 1');
  });
});

describe('H2: a service for which only some requests fail', () => {
  const failures = {
    503: { kind: 'status', status: 503 },
    429: { kind: 'status', status: 429 },
    reset: { kind: 'reset' },
  };
  // Duration of an upgrade in each case. The case `getTask` needs long upgrades, because the operator stops reading
  // task statuses once it knows the usual duration.
  const operations = { createTask: '3m', listCollectors: '3m', listBuilds: '3m', getTask: '33m' };
  const cases = Object.entries(operations).flatMap(([operation, duration]) =>
    Object.entries(failures).map(([name, failure]) => ({ operation, duration, name, failure })),
  );

  test.each(cases)('has one outage: $operation, $name', async ({ operation, duration, failure }) => {
    const fault = { from: '1m', until: '30m', operations: [operation], ...failure };
    const fleet = staged({
      stages: [],
      spec: { strategy: { maxInProgress: 5, order: 'Name' } },
      scenario: { upgrade: { duration }, faults: { partial: fault as never } },
    });
    const { world, status } = fleet;
    world.start();
    const reported = recordReports<CollectorVersionPolicyStatus>(world.api, 'production');
    const outage = () => findCondition(status()?.conditions, 'Outage');
    expect(await world.until(() => status()?.outageStartTime !== undefined, 10 * minuteMs)).toBe(true);
    const sinceMs = Date.parse(status()?.outageStartTime ?? '');
    await world.clock.advance(sinceMs + 10 * minuteMs + 1_000 - world.clock.now());
    expect(outage()?.status).toBe('True');
    await world.clock.advance(8 * minuteMs);
    expect(outage()?.status).toBe('True');
    const starts = reported.statuses.map(({ outageStartTime }) => outageStartTime);
    expect(new Set(starts.slice(starts.findIndex((start) => start !== undefined))).size).toBe(1);
    expect(reported.events.filter(({ reason }) => reason === 'Outage')).toHaveLength(1);
    await world.clock.advance(20 * minuteMs);
    expect([outage(), status()?.outageStartTime]).toEqual([undefined, undefined]);
  });

  test('has an outage only while the policy needs these requests', async () => {
    const fault = { kind: 'status', status: 503, from: '1m', operations: ['createTask'] };
    const fleet = staged({
      stages: [],
      spec: { strategy: { maxInProgress: 5, order: 'Name' } },
      scenario: { upgrade: { duration: '3m' }, faults: { partial: fault as never } },
    });
    const { world, status, annotate } = fleet;
    world.start();
    expect(await fleet.untilReason('ServiceUnavailable')).toBe(true);
    annotate('logfleet.dev/abort', status()?.rollout?.id ?? '');
    expect(await fleet.untilReason('Aborted', 2 * minuteMs)).toBe(true);
    expect(status()?.outageStartTime).toBeUndefined();
  });

  test('has no outage after single failures', async () => {
    const fault = { kind: 'status', status: 503, probability: 0.1 };
    const fleet = staged({ stages: [], scenario: { upgrade: { duration: '3m' }, faults: { rare: fault as never } } });
    fleet.world.start();
    const reported = recordReports<CollectorVersionPolicyStatus>(fleet.world.api, 'production');
    expect(await fleet.untilReason('AllUpdated')).toBe(true);
    expect(reported.events.filter(({ reason }) => reason === 'Outage')).toEqual([]);
  });
});

describe('H2: the start of an outage', () => {
  const health = { ready: 'False', reason: 'ServiceUnreachable', message: 'Away.' } as const;
  const outage = { ...health, reconciling: true, stalled: false, outage: true };
  const now = '2026-11-01T12:00:00Z';

  test.each([
    ['2026-11-01T11:59:00Z', '2026-11-01T11:59:00Z'],
    ['2036-11-01T12:00:00Z', now],
    ['yesterday', now],
  ])('%s in the status counts as %s', (shown, since) => {
    expect(describeHealth({ outageStartTime: shown }, outage, 3, now).outageStartTime).toBe(since);
  });
});

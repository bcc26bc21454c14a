/** Tests that a new process keeps the reason in a policy's status until it has evaluated the policy (H1). */
import { describe, expect, test } from 'vitest';
import { findCondition } from '../../../src/api/conditions.ts';
import type { CollectorVersionPolicyStatus } from '../../../src/api/generated/collector-version-policy.ts';
import { PrometheusMetrics } from '../../../src/base/prometheus-metrics.ts';
import { hourMs, minuteMs } from '../../../src/base/time-units.ts';
import { recordReports } from '../../support/reports.ts';
import { secretsPath } from '../../support/world.ts';
import { canary, middle, rest, staged } from './staged-world.ts';

const failing = { upgrade: { duration: '2m', outcomes: [{ share: 1, end: 'fail' as const }] } };
const stopsAtOnce = { failurePolicy: { maxFailures: 0, minSamples: 1, action: 'Pause' } };

type RestartSetting = NonNullable<Parameters<typeof staged>[0]>;
type Staged = ReturnType<typeof staged>;

function record({ world }: Staged, name = 'production') {
  return recordReports<CollectorVersionPolicyStatus>(world.api, name);
}

/** Starts a policy with 10 collectors. Resolves once the policy's status has shown this reason for a minute. */
async function reached(reason: string, setting: RestartSetting = {}): Promise<Staged> {
  const fleet = staged({ count: 10, ...setting });
  fleet.world.start();
  expect(await fleet.untilReason(reason)).toBe(true);
  await fleet.world.clock.advance(minuteMs);
  return fleet;
}

async function restart(fleet: Staged, forMs = 5 * minuteMs) {
  fleet.world.replicas[0]?.kill();
  const before = fleet.status();
  const reported = record(fleet);
  fleet.world.start();
  await fleet.world.clock.advance(forMs);
  return { before, reported };
}

const finished: readonly [string, RestartSetting][] = [
  ['AllUpdated', {}],
  ['RolloutStopped', { scenario: failing, spec: stopsAtOnce }],
  ['RolledBack', { scenario: failing, spec: { failurePolicy: { ...stopsAtOnce.failurePolicy, action: 'Rollback' } } }],
  ['CollectorsFailed', { scenario: failing }],
  ['Observing', { spec: { mode: 'Observe' } }],
  ['NoCollectorsMatched', { spec: { selector: { matchNames: ['nobody-*'] } } }],
  ['AwaitingApproval', { stages: [{ ...canary, approval: 'Required' }, rest] }],
  ['Soaking', { stages: [{ ...canary, soakDuration: '4h' }, rest] }],
  ['VersionNotOffered', { spec: { target: { version: '19.999-9' } } }],
  ['Paused', { spec: { paused: true } }],
];

describe('H1: after a restart', () => {
  test.each(finished)('%s stays with its times and figures, without an Event', async (reason, setting) => {
    const fleet = await reached(reason, setting);
    const { before, reported } = await restart(fleet);
    expect(reported.verdicts().length).toBeLessThan(2);
    expect(fleet.status()?.conditions).toEqual(before?.conditions);
    expect(fleet.status()?.collectors).toEqual(before?.collectors);
    expect(reported.events).toEqual([]);
  });

  test('the figures of a running rollout never decrease', async () => {
    const fleet = staged({ count: 30, spec: { strategy: { maxInProgress: 2, order: 'Name' } } });
    fleet.world.start();
    expect(await fleet.world.until(() => (fleet.status()?.collectors?.updated ?? 0) >= 6, hourMs)).toBe(true);
    const { before, reported } = await restart(fleet);
    const updated = reported.statuses.map(({ collectors }) => collectors?.updated ?? -1);
    expect(updated.length).toBeGreaterThan(2);
    expect(updated).toEqual(updated.toSorted((left, right) => left - right));
    expect(updated[0]).toBeGreaterThanOrEqual(before?.collectors?.updated ?? Infinity);
    expect(reported.verdicts()).toEqual(['False/RollingOut']);
    expect(reported.statuses.every(({ rollout }) => rollout?.estimatedCompletionTime !== undefined)).toBe(true);
    expect(fleet.status()?.conditions?.[0]?.lastTransitionTime).toBe(before?.conditions?.[0]?.lastTransitionTime);
    expect(reported.events).toEqual([]);
  });

  test('an edited policy is evaluated again', async () => {
    const fleet = await reached('AllUpdated');
    fleet.world.replicas[0]?.kill();
    fleet.patch({ spec: { strategy: { maxInProgress: 1 } } });
    const reported = record(fleet);
    fleet.world.start();
    await fleet.world.clock.advance(minuteMs);
    expect(reported.verdicts()).toEqual(['False/Progressing', 'True/AllUpdated']);
  });

  test('an unreachable service is reported with the first request', async () => {
    const fleet = await reached('AllUpdated', {
      scenario: { faults: { away: { kind: 'status', status: 503, from: '20m' } } },
    });
    fleet.world.replicas[0]?.kill();
    await fleet.world.clock.advance(20 * minuteMs);
    const { reported } = await restart(fleet);
    expect(reported.verdicts()).toEqual(['False/ServiceUnavailable']);
    expect(reported.statuses.every(({ collectors }) => collectors?.updated === 10)).toBe(true);
    expect(reported.events).toMatchObject([{ type: 'Warning', reason: 'ServiceUnavailable' }]);
  });
});

describe('H1: the status stays until new evidence contradicts it', () => {
  test('when a replica takes over', async () => {
    const fleet = staged({ count: 10 });
    fleet.world.start({ leaderElection: true });
    fleet.world.start({ leaderElection: true });
    expect(await fleet.untilReason('AllUpdated')).toBe(true);
    await fleet.world.clock.advance(minuteMs);
    const before = fleet.status();
    const reported = record(fleet);
    fleet.world.replicas.find(({ host }) => host.leadership.isLeader())?.kill();
    await fleet.world.clock.advance(5 * minuteMs);
    expect(reported.verdicts().length).toBeLessThan(2);
    expect(fleet.status()?.conditions).toEqual(before?.conditions);
    expect(reported.events).toEqual([]);
  });

  test('when the process is asked to end', async () => {
    const fleet = await reached('Soaking', { stages: [{ ...canary, soakDuration: '4h' }, rest] });
    const before = fleet.status();
    const reported = record(fleet);
    const ended = fleet.world.replicas[0]?.stop();
    await fleet.world.clock.advance(minuteMs);
    await ended;
    fleet.world.start();
    await fleet.world.clock.advance(minuteMs);
    expect(fleet.status()?.conditions).toEqual(before?.conditions);
    expect(reported.verdicts().length).toBeLessThan(2);
    expect(reported.events).toEqual([]);
  });

  test('when an access key is replaced', async () => {
    const fleet = await reached('AllUpdated');
    const before = fleet.status();
    const reported = record(fleet);
    fleet.world.api.patch(`${secretsPath}/log-service`, {
      data: { requestsPerSecond: Buffer.from('3').toString('base64') },
    });
    await fleet.world.clock.advance(20 * minuteMs);
    expect(reported.verdicts().length).toBeLessThan(2);
    expect(fleet.status()?.conditions).toEqual(before?.conditions);
    expect(reported.events).toEqual([]);
  });

  test('while policies with precedence have not claimed their collectors yet', async () => {
    const fleet = staged({ count: 10, spec: { selector: {} } });
    const { world } = fleet;
    world.addPolicy('first', { target: { version: middle }, selector: { matchNames: ['web-*1'] }, priority: 5 });
    world.start();
    expect(await fleet.untilReason('AllUpdated')).toBe(true);
    await world.clock.advance(10 * minuteMs);
    const before = fleet.status();
    expect(before?.collectors?.foreign).toBeGreaterThan(0);
    const others = record(fleet, 'first');
    const { reported } = await restart(fleet);
    const { conditions, collectors, summary } = before ?? {};
    for (const status of reported.statuses) expect(status).toMatchObject({ conditions, collectors, summary });
    expect(others.verdicts().length).toBeLessThan(2);
    expect([...reported.events, ...others.events]).toEqual([]);
  });

  test('except for a pause, which is shown before other policies have claimed their collectors', async () => {
    const fleet = await reached('AllUpdated', { spec: { selector: {} } });
    const { world } = fleet;
    // The API server does not answer the request that creates the second policy's ledger. Without this ledger, the
    // operator cannot tell how old builds are, so the second policy does not select any collectors. The first policy
    // stops waiting for the second one after four failures, which take more than 40 seconds.
    world.api.onRequest = ({ collection, method }) =>
      collection.endsWith('/ledgers') && method === 'POST' ? { kind: 'stall', when: 'before' } : undefined;
    world.addPolicy('second', { target: { channel: 'Latest', versionPattern: '19.*', minAge: '2h' } });
    await world.clock.advance(15_000);
    expect(world.ready('production')?.reason).toBe('AllUpdated');
    fleet.annotate('logfleet.dev/paused', 'true');
    await world.clock.advance(15_000);
    expect(world.ready('production')?.reason).toBe('Paused');
  });

  test('when the service cannot be used, for the collectors of another policy', async () => {
    const fleet = staged({
      count: 10,
      spec: { selector: {} },
      scenario: { faults: { away: { kind: 'status', status: 503, from: '20m' } } },
    });
    const { world } = fleet;
    world.addPolicy('first', { target: { version: middle }, selector: { matchNames: ['web-*1'] }, priority: 5 });
    world.start();
    expect(await fleet.untilReason('AllUpdated')).toBe(true);
    const overlapping = () => findCondition(fleet.status()?.conditions, 'Overlapping');
    const before = overlapping();
    expect(before?.status).toBe('True');
    world.replicas[0]?.kill();
    await world.clock.advance(20 * minuteMs);
    world.start();
    expect(await fleet.untilReason('ServiceUnavailable')).toBe(true);
    expect(overlapping()).toEqual(before);
  });
});

async function reconciles(metrics: PrometheusMetrics): Promise<number> {
  const lines = (await metrics.render()).matchAll(/^logfleet_reconciles_total\{.*\} (\d+)$/gm);
  return [...lines].reduce((sum, [, count]) => sum + Number(count), 0);
}

describe('H1 and H2: an outage that lasted ten minutes while no process ran', () => {
  test('is shown until the service responds, without a busy loop', async () => {
    const fleet = staged({
      count: 10,
      scenario: {
        faults: {
          away: { kind: 'status', status: 503, from: '20m', until: '30m' },
          slow: { kind: 'delay', delay: '5s', from: '31m' },
        },
      },
    });
    const { world } = fleet;
    world.start();
    expect(await fleet.untilReason('ServiceUnavailable')).toBe(true);
    world.replicas[0]?.kill();
    await world.clock.advance(hourMs);
    const metrics = new PrometheusMetrics();
    world.start({ metrics });
    await world.clock.advance(3_000);
    expect(world.ready('production')?.reason).toBe('ServiceUnavailable');
    expect(await reconciles(metrics)).toBeLessThan(50);
  });
});

describe('an Event about a status change', () => {
  test('is published once, even if the response to the status write is lost', async () => {
    const { world, untilReason } = staged({ stages: [canary, { ...rest, approval: 'Required' }] });
    let lost = 0;
    world.api.onRequest = ({ subresource, body }) => {
      const isWanted = subresource === 'status' && JSON.stringify(body).includes('AwaitingApproval');
      return isWanted && lost++ === 0 ? { kind: 'reset', when: 'after' } : undefined;
    };
    const reported = recordReports<CollectorVersionPolicyStatus>(world.api, 'production');
    world.start();
    expect(await untilReason('AwaitingApproval')).toBe(true);
    await world.clock.advance(10 * minuteMs);
    expect(lost).toBeGreaterThan(0);
    expect(reported.events.filter(({ reason }) => reason === 'AwaitingApproval')).toHaveLength(1);
  });
});

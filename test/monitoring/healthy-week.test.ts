/** Runs healthy rollouts, exports and a schedule for a week of virtual time, and expects no alerts. */
import { expect, test } from 'vitest';
import { annotations } from '../../src/api/annotations.ts';
import { PrometheusMetrics } from '../../src/base/prometheus-metrics.ts';
import { dayMs, hourMs, minuteMs } from '../../src/base/time-units.ts';
import { every, ScheduleWorld, startMs } from '../integration/schedule/schedule-world.ts';
import type { SimulatedProcess } from '../support/simulated-process.ts';
import { policiesPath } from '../support/world.ts';
import { firedWithin, testAlerts } from './alert-rules.ts';
import { RecordedSeries, type ScrapedOperator } from './recorded-series.ts';

/** Scrape interval in ms. A shorter interval would double the CPU time of the test. */
const stepMs = 10 * minuteMs;

/**
 * Creates a world without problems. The rollout of the policy `web` takes days, because of its maintenance windows and
 * soaks.
 */
function healthyWorld(): ScheduleWorld {
  const world = new ScheduleWorld({
    messages: every(20 * minuteMs, startMs - dayMs, startMs + 8 * dayMs),
    hidesFuture: true,
    scenario: {
      builds: ['19.100-1', '19.200-1'],
      groups: {
        web: { count: 30, version: '19.100-1', timeZone: 'Europe/Berlin' },
        db: { count: 10, version: '19.100-1' },
      },
      upgrade: { duration: '3m' },
    },
  });
  const stages = [
    { name: 'canary', size: 3, soakDuration: '24h', maxFailures: 0 },
    { name: 'half', size: '50%', soakDuration: '24h', approval: 'Required' },
    { name: 'rest', soakDuration: '1h' },
  ];
  const windows = [{ name: 'night', schedule: '0 2 * * *', duration: '3h', timeZone: 'Europe/Berlin' }];
  const target = { version: '19.200-1' };
  world.world.addPolicy('web', {
    target,
    selector: { matchNames: ['web*'] },
    strategy: { maxInProgress: 5, order: 'Name', stages },
    maintenance: { windows, exclusions: [], cutoff: '0s' },
  });
  world.world.addPolicy('db', {
    target,
    selector: { matchNames: ['db*'] },
    strategy: { maxInProgress: 1, order: 'Name' },
  });
  world.add({}, { settleDelay: '30m' });
  world.world.addExport('audit', {
    timeRange: { from: '2026-10-31T06:00:00', to: '2026-11-01T00:00:00', timeZone: 'UTC' },
  });
  return world;
}

/** Creates a policy that stalls because the service does not offer its target version. */
function addStalledPolicy(world: ScheduleWorld): void {
  world.world.addPolicy('stalled', { target: { version: '1.0-1' }, selector: { matchNames: ['none*'] } });
}

/** Approves the stage that is waiting for approval, as a user would. */
function approve(world: ScheduleWorld): void {
  const { status } = world.world.policy('web') ?? {};
  const stage = status?.stages?.find(({ state }) => state === 'AwaitingApproval')?.name;
  const value = `${status?.rollout?.id}/${stage}`;
  if (stage)
    world.world.api.patch(`${policiesPath}/web`, { metadata: { annotations: { [annotations.approve]: value } } });
}

test('no alert fires in a week of healthy rollouts, exports and a schedule, with a new pod each day', async () => {
  const world = healthyWorld();
  let operator: ScrapedOperator & { readonly replica: SimulatedProcess };
  // The operator runs without leader election, because simulating a lease renewal every 2 s would take most of the
  // test's time.
  const start = () => {
    const metrics = new PrometheusMetrics();
    const replica = world.world.start({ metrics });
    operator = { name: replica.name, metrics, replica };
  };
  start();
  await world.world.clock.advance(minuteMs);
  const recorded = new RecordedSeries(world.world.clock, stepMs);
  for (let hour = 0; hour < 7 * 24; hour++) {
    await recorded.record(hourMs, () => [operator]);
    approve(world);
    if (hour % 24 !== 12) continue;
    await world.world.clock.during(operator!.replica.stop());
    start();
  }
  addStalledPolicy(world);
  const stalled = new RecordedSeries(world.world.clock, stepMs);
  await stalled.record(hourMs, () => [operator]);
  expect(world.world.ready('web')).toMatchObject({ reason: 'AllUpdated' });
  expect(world.world.ready('db')).toMatchObject({ reason: 'AllUpdated' });
  expect(world.world.export('audit')?.status?.summary?.state).toBe('Exported');
  expect(world.records().length).toBeGreaterThan(7 * 24 - 3);
  // The stalled policy must cause an alert. This shows that the test can detect alerts.
  const only = (alerts: readonly string[]) => [
    { expr: firedWithin('8d'), expected: alerts.map((alertname) => `{alertname="${alertname}"}`) },
  ];
  const tests = [
    recorded.testAtEnd('week', only([])),
    stalled.testAtEnd('stalled policy', only(['LogfleetResourceStalled'])),
  ];
  expect(await testAlerts(tests, recorded.interval)).toEqual({ status: 0, output: expect.stringContaining('SUCCESS') });
});

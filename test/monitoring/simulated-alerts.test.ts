/** Tests alerts end to end: each one fires while the simulator causes its problem, and then stops firing. */
import { expect, test } from 'vitest';
import type { Scenario } from '../../simulator/scenario/scenario.ts';
import { annotations } from '../../src/api/annotations.ts';
import { systemClock } from '../../src/base/clock.ts';
import { silentLogger } from '../../src/base/log.ts';
import { PrometheusMetrics } from '../../src/base/prometheus-metrics.ts';
import { hourMs, minuteMs } from '../../src/base/time-units.ts';
import type { EventListener } from '../../src/host/kubernetes/event-recorder.ts';
import { Notifier } from '../../src/notifications/notifier.ts';
import { sendNotification } from '../../src/notifications/webhook.ts';
import { every, ScheduleWorld, schedulesPath, startMs } from '../integration/schedule/schedule-world.ts';
import { exportsPath, policiesPath, secretsPath } from '../support/world.ts';
import { firedWithin, firing, testAlerts } from './alert-rules.ts';
import { RecordedSeries, type ScrapedOperator } from './recorded-series.ts';

interface AlertedProblem {
  /** Names of all alerts that the problem must cause. */
  readonly alerts: readonly string[];
  readonly scenario?: Scenario;
  readonly withLease?: boolean;
  /** Starts the test: creates its resources, or causes the problem. */
  readonly begin: (world: ScheduleWorld) => void;
  readonly lastsMs: number;
  /** Corrects the problem. */
  readonly correct?: (world: ScheduleWorld) => void;
  /** Maximum time in ms from the correction of the problem until all alerts have stopped. Default: 40 minutes. */
  readonly endsMs?: number;
  /** Whether the operator has a webhook for notifications. */
  readonly notifies?: true;
  /** If false, Prometheus cannot scrape the operator. */
  readonly isScraped?: false;
}

const target = { version: '19.200-1' };
const groups = { web: { count: 6, version: '19.100-1' } };
const patchPolicy = (world: ScheduleWorld, change: object) => world.world.api.patch(`${policiesPath}/web`, change);
const failsToUpgrade: Scenario = { groups: { web: { ...groups.web, upgrade: { outcomes: [{ end: 'fail' }] } } } };

const problems: readonly AlertedProblem[] = [
  {
    alerts: ['LogfleetRolloutStopped'],
    scenario: failsToUpgrade,
    begin: (world) =>
      world.world.addPolicy('web', {
        target,
        failurePolicy: { maxFailures: 0, action: 'Stop' },
        retryPolicy: { limit: 0, backoff: { duration: '1m', factor: 1, cap: '1m' } },
      }),
    lastsMs: hourMs,
    correct: (world) => patchPolicy(world, { spec: { target: { version: '19.100-1' } } }),
  },
  {
    alerts: ['LogfleetApprovalWanted'],
    begin: (world) => {
      const stages = [{ name: 'all', soakDuration: '0s', approval: 'Required' }];
      world.world.addPolicy('web', { target, strategy: { maxInProgress: 10, order: 'Name', stages } });
    },
    lastsMs: 5 * hourMs,
    correct: (world) => {
      const approval = `${world.world.policy('web')?.status?.rollout?.id}/all`;
      patchPolicy(world, { metadata: { annotations: { [annotations.approve]: approval } } });
    },
  },
  {
    alerts: ['LogfleetResourceStalled'],
    begin: (world) => world.world.addPolicy('web', { target: { version: '18.1-1' } }),
    lastsMs: 30 * minuteMs,
    correct: (world) => patchPolicy(world, { spec: { target } }),
  },
  {
    alerts: ['LogfleetCredentialsRefused'],
    begin: (world) => {
      world.world.addSecret('other', { accessKey: 'wrong' });
      world.world.addPolicy('web', { target, credentialsSecretRef: { name: 'other' } });
    },
    lastsMs: 30 * minuteMs,
    correct: (world) => {
      world.world.api.remove(`${secretsPath}/other`);
      world.world.addSecret('other');
    },
  },
  {
    alerts: ['LogfleetOutage'],
    scenario: { faults: { away: { kind: 'reset', from: '5m', until: '40m' } } },
    begin: (world) => world.world.addPolicy('web', { target }),
    lastsMs: 40 * minuteMs,
  },
  {
    // A service that responds to every request with 429 counts as an outage.
    alerts: ['LogfleetOutage', 'LogfleetRequestsThrottled'],
    scenario: { faults: { busy: { kind: 'status', status: 429, from: '5m', until: '70m' } } },
    begin: (world) => world.world.addPolicy('web', { target }),
    lastsMs: 70 * minuteMs,
    endsMs: hourMs,
  },
  {
    alerts: ['LogfleetExportIncomplete'],
    scenario: { search: { messageLimit: 20 } },
    begin: (world) =>
      world.world.addExport('audit', {
        query: '* | limit 25',
        incompletePolicy: 'Keep',
        timeRange: { from: '2026-11-01T00:00:00', to: '2026-11-01T04:00:00', timeZone: 'UTC' },
      }),
    lastsMs: 2 * hourMs,
    correct: (world) => world.world.api.remove(`${exportsPath}/audit`),
  },
  {
    // The failed run is a stalled export, so the alert for stalled resources fires, too.
    alerts: ['LogfleetResourceStalled', 'LogfleetScheduleGaps'],
    scenario: { search: { duration: '30s' } },
    begin: (world) => world.add({}, { activeDeadlineSeconds: 1 }),
    lastsMs: 2 * hourMs,
    correct: (world) => {
      world.patch({ spec: { template: { spec: { activeDeadlineSeconds: null } } } });
      world.retry();
    },
  },
  {
    alerts: ['LogfleetScheduleLate'],
    scenario: { search: { duration: '6h' } },
    begin: (world) => world.add({ maxActive: 1 }),
    lastsMs: 6 * hourMs,
    correct: (world) => world.world.api.remove(`${schedulesPath}/hourly`),
  },
  {
    alerts: ['LogfleetNoLeader'],
    withLease: true,
    begin: (world) => {
      const beginMs = world.world.clock.now() + 5 * minuteMs;
      world.world.api.onRequest = ({ collection }) => {
        const isAway = world.world.clock.now() > beginMs && world.world.clock.now() < beginMs + 10 * minuteMs;
        return isAway && collection.endsWith('/leases') ? { kind: 'reset', when: 'before' } : undefined;
      };
    },
    lastsMs: 15 * minuteMs,
  },
  {
    alerts: ['LogfleetNotReconciling'],
    begin: (world) => {
      const endMs = world.world.clock.now() + 40 * minuteMs;
      world.world.api.onRequest = ({ method, collection }) =>
        method === 'PUT' && collection.endsWith('/collectorversionpolicies') && world.world.clock.now() < endMs
          ? { kind: 'status', status: 403, when: 'before' }
          : undefined;
      world.world.addPolicy('web', { target });
    },
    lastsMs: 40 * minuteMs,
  },
  {
    alerts: ['LogfleetLedgerUnusable'],
    begin: (world) => {
      world.world.api.onRequest = ({ collection }) =>
        collection.endsWith('/ledgers') ? { kind: 'status', status: 404, when: 'before' } : undefined;
      world.world.addPolicy('web', { target });
    },
    lastsMs: 30 * minuteMs,
    correct: (world) => {
      world.world.api.onRequest = () => undefined;
    },
  },
  {
    alerts: ['LogfleetInternalErrors'],
    begin: (world) => {
      world.strike = (call) => {
        if (call === 'finish') throw new TypeError('an error in the program');
        return undefined;
      };
      world.world.addExport('audit', {
        timeRange: { from: '2026-11-01T00:00:00', to: '2026-11-01T04:00:00', timeZone: 'UTC' },
      });
    },
    lastsMs: 30 * minuteMs,
    correct: (world) => {
      world.strike = () => undefined;
    },
  },
  {
    alerts: ['LogfleetOtherOperator'],
    begin: (world) => {
      world.world.addPolicy('web', { target });
      world.world.start({ operatorNamespace: 'elsewhere' });
    },
    lastsMs: 30 * minuteMs,
    correct: (world) => void world.world.replicas.at(-1)?.stop(),
  },
  {
    // The Secret with the webhook does not exist.
    alerts: ['LogfleetNotificationsFailing'],
    notifies: true,
    begin: (world) => world.world.addPolicy('web', { target }),
    lastsMs: 30 * minuteMs,
    endsMs: 2 * hourMs,
  },
  { alerts: ['LogfleetDown'], begin: () => {}, lastsMs: 15 * minuteMs, isScraped: false },
];

const named = problems.map((problem) => [problem.alerts.join(' and '), problem] as const);

test.each(named)('%s: fires during its problem, and ends afterwards', (_, problem) => expectAlerts(problem));

/** Situations in which no alert may fire for a schedule, even if a run takes hours. */
const harmless: readonly (AlertedProblem & { readonly name: string })[] = [
  {
    name: 'a daily run takes six hours',
    alerts: [],
    scenario: { search: { duration: '3h' } },
    begin: (world) => world.add({ schedule: '0 6 * * *' }),
    lastsMs: 30 * hourMs,
  },
  {
    name: 'logfleet is paused while a run is active',
    alerts: [],
    scenario: { search: { duration: '6h' } },
    begin: (world) => {
      world.add({ maxActive: 1 });
      world.world.clock.after(90 * minuteMs, () => {
        const metadata = { name: 'logfleet-settings', namespace: 'logfleet-system' };
        const settings = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { paused: 'true' } };
        world.world.api.create('/api/v1/namespaces/logfleet-system/configmaps', settings);
      });
    },
    lastsMs: 12 * hourMs,
  },
];

test.each(harmless)('no alert fires while $name', expectAlerts);

/**
 * Simulates a problem. Expects the problem's alerts to fire, and no others. Five minutes before the problem ends, all
 * of these alerts must be firing. At the end of the test, none may be firing.
 */
async function expectAlerts(problem: AlertedProblem): Promise<void> {
  const { alerts, scenario, withLease = false, begin, lastsMs, correct, endsMs = 40 * minuteMs, isScraped } = problem;
  const messages = every(7 * minuteMs, startMs - 6 * hourMs, startMs + 24 * hourMs);
  const world = new ScheduleWorld({
    messages,
    scenario: { builds: ['19.100-1', '19.200-1'], groups, upgrade: { duration: '1m' }, ...scenario },
  });
  const { clock } = world.world;
  const metrics = new PrometheusMetrics();
  const onEvent: EventListener = (owner, event) => {
    if (problem.notifies) notifier.announce(owner, event);
  };
  const { name, host } = world.world.start({ metrics, leaderElection: withLease, onEvent });
  const notifier = new Notifier({
    ...{ clock, metrics, random: world.world.random, log: silentLogger, secrets: host.secrets },
    secret: { namespace: 'logging', name: 'webhook' },
    // The clock of the simulation can advance by hours while the request waits for the test's real server.
    send: (webhook, notification, signal) =>
      sendNotification(webhook, notification, { environment: {}, clock: systemClock, signal }),
  });
  const operator: ScrapedOperator = { name, metrics };
  await clock.advance(minuteMs);
  const recorded = new RecordedSeries(clock, minuteMs);
  begin(world);
  await recorded.record(lastsMs, () => (isScraped === false ? [] : [operator]));
  correct?.(world);
  await recorded.record(endsMs, () => [operator]);
  const expected = alerts.map((alertname) => `{alertname="${alertname}"}`);
  const result = await testAlerts([
    recorded.testAtEnd(alerts.join(), [
      { expr: firedWithin('1d'), expected },
      { at: `${lastsMs / minuteMs - 5}m`, expr: `count by (alertname) (${firing}) ^ 0`, expected },
      { expr: firing, expected: [] },
    ]),
  ]);
  expect(result).toEqual({ status: 0, output: expect.stringContaining('SUCCESS') });
}

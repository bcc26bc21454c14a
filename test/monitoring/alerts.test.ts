/** Tests with promtool when each alert fires, and that it stops firing once the problem is over. */
import { describe, expect, test } from 'vitest';
import { reasons } from '../../src/api/conditions.ts';
import { metricDefinitions } from '../support/metric-catalogue.ts';
import { readText } from '../unit/house/source-file.ts';
import {
  type AlertTest,
  alertRules,
  checkAlerts,
  firing,
  type InputSeries,
  metricsIn,
  testAlerts,
} from './alert-rules.ts';

interface AlertCase {
  readonly series: InputSeries;
  /** Time at which the problem exists, but has not lasted long enough for the alert to fire. */
  readonly before?: string;
  /** Time at which the alert fires. */
  readonly fires: string;
  /** Labels of the firing alert, except its name and severity. */
  readonly labels: string;
  /** Time at which the problem is over and the alert no longer fires. */
  readonly ends: string;
}

const operator = 'namespace="logfleet"';
const policy = 'namespace="logging",policy="production"';
const search = 'namespace="logging",export="audit"';
const schedule = 'namespace="logging",schedule="hourly"';

const policyState = (state: string, reason: string) =>
  `logfleet_policy_state{${policy},state="${state}",reason="${reason}",pod="a"}`;

/** Metric series of a healthy operator. Each test case replaces some of them. */
const healthy: InputSeries = {
  'logfleet_build_info{namespace="logfleet",pod="a",version="0.1.0"}': '1x600',
  'logfleet_leader{namespace="logfleet",pod="a"}': '1x600',
  'logfleet_leader{namespace="logfleet",pod="b"}': '0x600',
};

const cases: Readonly<Record<string, AlertCase>> = {
  LogfleetDown: {
    series: { 'logfleet_build_info{namespace="logfleet",pod="a",version="0.1.0"}': '1x10 _x30 1x60' },
    before: '17m',
    ...{ fires: '30m', labels: '', ends: '50m' },
  },
  LogfleetNoLeader: {
    series: { 'logfleet_leader{namespace="logfleet",pod="a"}': '1x10 0x10 1x60' },
    before: '12m',
    ...{ fires: '15m', labels: operator, ends: '25m' },
  },
  LogfleetNotReconciling: {
    series: {
      'logfleet_oldest_unobserved_change_seconds{namespace="logfleet",controller="searchexport",pod="a"}':
        '0x5 60+60x30 0x30',
    },
    before: '20m',
    ...{ fires: '30m', labels: `${operator},controller="searchexport"`, ends: '40m' },
  },
  LogfleetInternalErrors: {
    series: {
      'logfleet_reconciles_total{namespace="logfleet",controller="searchexport",outcome="bug",pod="a"}': '0x5 2x60',
    },
    before: '5m',
    ...{ fires: '10m', labels: `${operator},controller="searchexport"`, ends: '30m' },
  },
  LogfleetOtherOperator: {
    series: { 'logfleet_other_operators{namespace="logfleet",pod="a"}': '0x5 1x20 0x60' },
    before: '8m',
    ...{ fires: '15m', labels: operator, ends: '30m' },
  },
  LogfleetRolloutStopped: {
    series: {
      [policyState('Reconciling', 'RollingOut')]: '1x10 _x60',
      [policyState('Stalled', 'RolloutStopped')]: '_x11 1x20 _x60',
    },
    before: '11m',
    ...{ fires: '15m', labels: `${policy},reason="RolloutStopped"`, ends: '45m' },
  },
  LogfleetApprovalWanted: {
    series: { [policyState('Reconciling', 'AwaitingApproval')]: '_x10 1x300 _x60' },
    before: '240m',
    ...{ fires: '255m', labels: policy, ends: '320m' },
  },
  LogfleetResourceStalled: {
    series: { [`logfleet_export_state{${search},state="Stalled",reason="QueryRefused",pod="a"}`]: '1x30 _x60' },
    before: '9m',
    ...{ fires: '15m', labels: `${search},reason="QueryRefused"`, ends: '40m' },
  },
  LogfleetCredentialsRefused: {
    series: { [`logfleet_schedule_state{${schedule},state="Stalled",reason="Unauthorized",pod="a"}`]: '1x30 _x60' },
    before: '1m',
    ...{ fires: '15m', labels: `${schedule},reason="Unauthorized"`, ends: '40m' },
  },
  LogfleetLedgerUnusable: {
    series: { [policyState('Stalled', 'LedgerUnreadable')]: '1x30 _x60' },
    before: '1m',
    ...{ fires: '15m', labels: `${policy},reason="LedgerUnreadable"`, ends: '40m' },
  },
  LogfleetOutage: {
    series: {
      [policyState('Reconciling', 'ServiceUnreachable')]: '1x10 _x60',
      [policyState('Outage', 'ServiceUnreachable')]: '_x11 1x20 _x60',
    },
    before: '10m',
    ...{ fires: '12m', labels: `${policy},reason="ServiceUnreachable"`, ends: '40m' },
  },
  LogfleetRequestsThrottled: {
    series: {
      'logfleet_service_requests_total{namespace="logfleet",operation="getJob",outcome="rateLimited",pod="a"}':
        '0x5 0+2x40 80x60',
    },
    before: '15m',
    ...{ fires: '40m', labels: operator, ends: '65m' },
  },
  LogfleetExportIncomplete: {
    series: {
      [`logfleet_export_state{${search},state="Ready",reason="ExportedIncomplete",pod="a"}`]: '1x30 _x60',
    },
    before: '0m',
    ...{ fires: '15m', labels: `${search},reason="ExportedIncomplete"`, ends: '40m' },
  },
  LogfleetScheduleGaps: {
    series: { [`logfleet_schedule_gaps{${schedule},pod="a"}`]: '0x10 2x20 0x60' },
    before: '10m',
    ...{ fires: '20m', labels: schedule, ends: '40m' },
  },
  LogfleetScheduleLate: {
    series: {
      [`logfleet_schedule_due_timestamp_seconds{${schedule},pod="a"}`]: '1800x300 _x60',
      [`logfleet_schedule_covered_seconds{${schedule},pod="a"}`]: '3600x300 7200x60',
      [`logfleet_schedule_state{${schedule},state="Reconciling",reason="Backfilling",pod="a"}`]: '1x360',
    },
    before: '209m',
    ...{ fires: '220m', labels: schedule, ends: '310m' },
  },
  LogfleetNotificationsFailing: {
    series: { 'logfleet_notifications_total{namespace="logfleet",outcome="failed",pod="a"}': '0x5 1x120' },
    before: '5m',
    ...{ fires: '30m', labels: operator, ends: '80m' },
  },
};

/** Alerts that do not use any leader-only metric. */
const ofOtherMetrics = [
  'LogfleetDown',
  'LogfleetNoLeader',
  'LogfleetRequestsThrottled',
  'LogfleetNotificationsFailing',
];

function alertTest(alert: string, { series, before, fires, labels, ends }: AlertCase): AlertTest {
  const severity = alertRules.find((rule) => rule.alert === alert)?.labels['severity'];
  const alertLabels = [`alertname="${alert}",alertstate="firing",severity="${severity}"`, labels].filter(Boolean);
  const none = (at: string) => ({ at, expr: firing, expected: [] });
  return {
    ...{ name: alert, interval: '1m', series: { ...healthy, ...series } },
    queries: [
      ...(before === undefined ? [] : [none(before)]),
      { at: fires, expr: firing, expected: [`ALERTS{${alertLabels.join(',')}}`] },
      none(ends),
    ],
  };
}

describe('the alerts', () => {
  test('each have a test', () => {
    expect(Object.keys(cases)).toEqual(alertRules.map(({ alert }) => alert));
  });

  test('are valid for promtool', async () => {
    expect(await checkAlerts()).toMatchObject({ status: 0 });
  });

  test('use existing metrics only', async () => {
    const known = await metricDefinitions();
    const used = alertRules.flatMap(({ expr }) => metricsIn(expr));
    expect(used.filter((name) => !known.has(name))).toEqual([]);
  });

  test.each(alertRules)(
    '$alert has a severity, texts, and a section of docs/alerts.md',
    ({ alert, labels, annotations }) => {
      expect(['critical', 'warning', 'info']).toContain(labels['severity']);
      expect(annotations).toEqual({
        summary: expect.stringMatching(/^\S.*[^.]$/),
        description: expect.stringMatching(/\.$/),
        runbook: `docs/alerts.md#${alert.toLowerCase()}`,
      });
      const [, section = ''] = readText('docs/alerts.md').split(`\n## ${alert}\n`);
      const parts = [...(section.split('\n## ')[0] ?? '').matchAll(/^\*\*(\w+)\.\*\*/gm)].map(([, part]) => part);
      expect(parts).toEqual(['Meaning', 'Cause', 'Check', 'Remedy']);
    },
  );

  test('are critical only if they are not about a single resource', () => {
    const critical = alertRules.filter(({ labels }) => labels['severity'] === 'critical');
    expect(critical.map(({ alert }) => alert)).toEqual(['LogfleetDown', 'LogfleetNoLeader', 'LogfleetNotReconciling']);
  });

  test('fire and end as expected', async () => {
    const tests = Object.entries(cases).map(([alert, each]) => alertTest(alert, each));
    expect(await testAlerts(tests)).toEqual({ status: 0, output: expect.stringContaining('SUCCESS') });
  });

  test('report each stalled resource once, whatever its reason is', async () => {
    const kinds = ['policy', 'export', 'schedule'];
    const all = kinds.flatMap((kind) => Object.values(reasons).map((reason) => ({ kind, reason })));
    const stalled = all.map(({ kind, reason }) => {
      const labels = `namespace="logging",${kind}="${reason}",state="Stalled",reason="${reason}"`;
      return [`logfleet_${kind}_state{${labels}}`, '1x60'] as const;
    });
    // A schedule with the reason `RunsFailed` also has gaps. The alert for gaps depends only on the metric
    // `logfleet_schedule_gaps`, so the test needs this metric, too.
    const gaps = { 'logfleet_schedule_gaps{namespace="logging",schedule="RunsFailed"}': '1x60' };
    const expected = all
      // No alert fires for a rollout that a user aborted.
      .filter(({ kind, reason }) => kind !== 'policy' || reason !== reasons.aborted)
      .map(({ kind, reason }) => `{${kind}="${reason}"}`);
    const queries = [{ at: '60m', expr: `count by (${kinds}) (${firing})`, expected }];
    const series = { ...healthy, ...Object.fromEntries(stalled), ...gaps };
    const result = await testAlerts([{ name: 'stalled', interval: '1m', series, queries }]);
    expect(result).toEqual({ status: 0, output: expect.stringContaining('SUCCESS') });
  });

  test('report a schedule with incomplete runs', async () => {
    const labels = `${schedule},state="Ready",reason="ExportedIncomplete"`;
    const series = { ...healthy, [`logfleet_schedule_state{${labels},pod="a"}`]: '1x60' };
    const alert = `ALERTS{alertname="LogfleetExportIncomplete",alertstate="firing",severity="warning",${schedule},reason="ExportedIncomplete"}`;
    const queries = [{ at: '15m', expr: firing, expected: [alert] }];
    expect(await testAlerts([{ name: 'incomplete', interval: '1m', series, queries }])).toMatchObject({ status: 0 });
  });

  test('report a schedule with a failed run as late if several of its other runs are active or due', async () => {
    const late = (name: string, active: number) => ({
      [`logfleet_schedule_state{${name},state="Stalled",reason="RunsFailed",pod="a"}`]: '1x300',
      [`logfleet_schedule_gaps{${name},pod="a"}`]: '1x300',
      [`logfleet_schedule_due_timestamp_seconds{${name},pod="a"}`]: '1800x300',
      [`logfleet_schedule_covered_seconds{${name},pod="a"}`]: '3600x300',
      [`logfleet_schedule_active_runs{${name},pod="a"}`]: `${active}x300`,
      [`logfleet_schedule_pending_runs{${name},pod="a"}`]: '0x300',
    });
    // The newest run of the daily schedule takes hours, but the next run is not due yet.
    const daily = 'namespace="logging",schedule="daily"';
    const series = { ...healthy, ...late(schedule, 2), ...late(daily, 1) };
    const alert = (alertname: string, name: string) =>
      `ALERTS{alertname="${alertname}",alertstate="firing",severity="warning",${name}}`;
    const expected = [
      alert('LogfleetScheduleGaps', schedule),
      alert('LogfleetScheduleGaps', daily),
      alert('LogfleetScheduleLate', schedule),
    ];
    const queries = [{ at: '220m', expr: firing, expected }];
    expect(await testAlerts([{ name: 'late with gaps', interval: '1m', series, queries }])).toEqual({
      status: 0,
      output: expect.stringContaining('SUCCESS'),
    });
  });

  test('report one of several operators as down until it has been down for six hours', async () => {
    const info = (namespace: string, pod: string) =>
      `logfleet_build_info{namespace="${namespace}",pod="${pod}",version="0.1.0"}`;
    const series = { ...healthy, [info('team-a', 'c')]: '1x20 _x500', [info('team-b', 'd')]: '1x20 _x30 1x450' };
    const down = (namespace: string) =>
      `ALERTS{alertname="LogfleetDown",alertstate="firing",severity="critical",namespace="${namespace}"}`;
    const queries = [
      { at: '25m', expr: firing, expected: [] },
      { at: '40m', expr: firing, expected: [down('team-a'), down('team-b')] },
      { at: '300m', expr: firing, expected: [down('team-a')] },
      { at: '400m', expr: firing, expected: [] },
    ];
    expect(await testAlerts([{ name: 'one of several', interval: '1m', series, queries }])).toEqual({
      status: 0,
      output: expect.stringContaining('SUCCESS'),
    });
  });

  test('no alert fires twice or ends when another replica becomes the leader', async () => {
    const states = [
      ...['RolloutStopped', 'QueryRefused', 'Unauthorized', 'LedgerUnreadable'].map((reason) => ['Stalled', reason]),
      ...[
        ['Reconciling', 'AwaitingApproval'],
        ['Outage', 'ServiceUnreachable'],
        ['Outage', 'InternalError'],
      ],
    ];
    const ofLeader = {
      ...Object.fromEntries(
        states.map(([state, reason]) => [`policy_state{policy="${reason}",state="${state}",reason="${reason}"`, 1]),
      ),
      [`export_state{${search},state="Ready",reason="ExportedIncomplete"`]: 1,
      [`schedule_gaps{${schedule}`]: 1,
      [`schedule_due_timestamp_seconds{${schedule}`]: 0,
      [`schedule_covered_seconds{${schedule}`]: 0,
      [`schedule_state{${schedule},state="Reconciling",reason="Backfilling"`]: 1,
      [`oldest_unobserved_change_seconds{${operator},controller="searchexport"`]: 900,
      [`other_operators{${operator}`]: 1,
    };
    // At 301 minutes, Prometheus marks the series of the former leader as stale. A minute later, it gets the series of
    // the new leader.
    const series = Object.entries(ofLeader).flatMap(([key, value]) => [
      [`logfleet_${key},pod="a"}`, `${value}x300 stale`],
      [`logfleet_${key},pod="b"}`, `_x302 ${value}x60`],
    ]);
    const alerts = alertRules.map(({ alert }) => alert).filter((alert) => !ofOtherMetrics.includes(alert));
    const expected = alerts.map((alertname) => `{alertname="${alertname}"}`);
    const expr = `count by (alertname) (${firing})`;
    const queries = ['300m', '301m', '302m', '320m'].map((at) => ({ at, expr, expected }));
    const takeover = {
      name: 'takeover',
      interval: '1m',
      series: { ...healthy, ...Object.fromEntries(series) },
      queries,
    };
    expect(await testAlerts([takeover])).toEqual({ status: 0, output: expect.stringContaining('SUCCESS') });
  });
});

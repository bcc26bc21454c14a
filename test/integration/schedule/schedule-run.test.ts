/** Tests export schedules with the whole operator: runs, backfill, gaps and restarts (S1 to S6). */
import { describe, expect, test } from 'vitest';
import { reasons } from '../../../src/api/conditions.ts';
import { PrometheusMetrics } from '../../../src/base/prometheus-metrics.ts';
import { dayMs, hourMs, minuteMs } from '../../../src/base/time-units.ts';
import type { EventListener } from '../../../src/host/kubernetes/event-recorder.ts';
import { notificationOf } from '../../../src/notifications/notification.ts';
import { recordReports } from '../../support/reports.ts';
import { every, exportsPath, ScheduleWorld, schedulesPath, startMs, textsIn } from './schedule-world.ts';

const messages = every(7 * minuteMs, startMs - 3 * dayMs, startMs + 3 * dayMs);

async function expectCovered(world: ScheduleWorld, fromMs: number, toMs: number): Promise<void> {
  const records = world.records();
  expect(records[0]?.fromMs).toBe(fromMs);
  expect(records.at(-1)?.toMs).toBe(toMs);
  for (const [index, { fromMs: start }] of records.entries()) {
    if (index > 0) expect(start).toBe(records[index - 1]?.toMs);
  }
  expect(world.rows()).toEqual(textsIn(messages, { fromMs, toMs }));
  const proven = { fromMs, toMs, runs: records.length, rows: world.rows().length };
  expect(await world.verify()).toMatchObject({ ...proven, gaps: [], overlaps: [], problems: [] });
}

describe('a schedule', () => {
  test('exports hour after hour, and keeps three completed runs', async () => {
    const world = new ScheduleWorld({ messages });
    world.add({ timeZone: 'America/New_York' });
    world.start();
    await world.world.clock.advance(6.5 * hourMs);
    // The clocks in New York go back when the test starts, so the first run covers two hours.
    expect(world.records().map(({ fromMs, toMs }) => (toMs - fromMs) / hourMs)).toEqual([2, 1, 1, 1, 1]);
    await expectCovered(world, startMs, startMs + 6 * hourMs);
    expect(world.runs()).toHaveLength(3);
    expect(world.status).toMatchObject({
      coveredUntil: '2026-11-01T11:00:00Z',
      nextScheduleTime: '2026-11-01T12:03:00Z',
      pendingRuns: 0,
      gaps: [],
    });
    expect(world.status?.runs).toHaveLength(5);
    expect(world.ready).toMatchObject({ status: 'True', reason: reasons.upToDate });
  });

  test('backfills older time, in at most two concurrent runs, and creates due runs first', async () => {
    const world = new ScheduleWorld({ messages });
    world.add({ startTime: '2026-10-30T05:00:00Z' });
    world.start();
    let max = 0;
    const isActive = (state: string | undefined) => state !== 'Exported';
    await world.until(() => {
      max = Math.max(max, world.runs().filter(({ status }) => isActive(status?.summary?.state)).length);
      return world.ready?.reason === reasons.upToDate;
    });
    expect(max).toBe(2);
    expect(world.ready?.reason).toBe(reasons.upToDate);
    await world.world.clock.advance(10 * minuteMs);
    await expectCovered(world, startMs - 2 * dayMs, Date.parse(world.status?.coveredUntil ?? ''));
  });

  test('reports a lost record of the first run as a gap, even with startTime (S2)', async () => {
    const world = new ScheduleWorld({ messages });
    world.add({ startTime: '2026-11-01T03:00:00Z' });
    world.start();
    expect(await world.until(() => world.records().length === 2)).toBe(true);
    const [first] = world.records();
    expect(first?.fromMs).toBe(startMs - 2 * hourMs);
    world.store.objects.delete('hourly/schedule/runs/20261101t030000z-040000z.json');
    expect(await world.verify()).toMatchObject({ fromMs: startMs - 2 * hourMs, gaps: [first] });
  });

  test.each([
    ['the spec', { startTime: '2026-11-01T03:00:00Z' }],
    ['only the status', {}],
  ])('does not need a stored start that is archived, if %s has a start (S2)', async (_, times) => {
    const world = new ScheduleWorld({ messages });
    world.add(times);
    const replica = world.start();
    expect(await world.until(() => world.records().length === 2)).toBe(true);
    world.kill(replica);
    world.strike = (call, name) =>
      call === 'read' && name.endsWith('/start.json') ? { failure: 'frozen' } : undefined;
    world.start();
    await world.world.clock.advance(2 * hourMs);
    expect(world.ready?.reason).toBe('UpToDate');
    expect(world.records().length).toBeGreaterThan(2);
  });

  test('creates a run within a minute if it became due while the machine slept', async () => {
    const world = new ScheduleWorld({ messages });
    world.add({ schedule: '0 0 * * *' });
    world.start();
    await world.world.clock.advance(hourMs);
    expect(world.runs()).toHaveLength(0);
    world.world.clock.skewMs = 19 * hourMs;
    await world.world.clock.advance(minuteMs);
    expect(world.runs()).toHaveLength(1);
  });

  test('has no lag before its start', async () => {
    const world = new ScheduleWorld({ messages });
    world.add({ startTime: '2026-11-01T08:00:00Z' });
    world.start();
    await world.world.clock.advance(hourMs);
    expect(world.status?.summary).toMatchObject({ state: 'UpToDate', active: 0 });
    expect(world.status?.summary?.lagSince).toBeUndefined();
    await world.world.clock.advance(3.5 * hourMs);
    expect(world.status?.summary?.lagSince).toBe('2026-11-01T09:00:00Z');
  });

  test('stores the start of a schedule whose destination has none yet (S2)', async () => {
    const world = new ScheduleWorld({ messages });
    world.add({ startTime: '2026-11-01T03:00:00Z' });
    const replica = world.start();
    expect(await world.until(() => world.records().length === 2)).toBe(true);
    world.kill(replica);
    expect(world.store.objects.delete('hourly/schedule/start.json')).toBe(true);
    world.start();
    await world.world.clock.advance(2 * hourMs);
    expect(world.store.objects.has('hourly/schedule/start.json')).toBe(true);
  });

  test('begins at its first start when startTime is removed, even if startTime was changed before (S2)', async () => {
    const world = new ScheduleWorld({ messages });
    world.add({ startTime: '2026-11-01T03:00:00Z', paused: true });
    world.start();
    await world.world.clock.advance(minuteMs);
    world.patch({ spec: { startTime: '2026-11-01T04:00:00Z' } });
    await world.world.clock.advance(minuteMs);
    expect(world.status?.startTime).toBe('2026-11-01T04:00:00Z');
    world.patch({ spec: { startTime: null } });
    await world.world.clock.advance(minuteMs);
    expect(world.status?.startTime).toBe('2026-11-01T03:00:00Z');
  });

  test("exports the time of a day's downtime, even if processes are killed", async () => {
    const world = new ScheduleWorld({ messages });
    world.add();
    const first = world.start();
    await world.world.clock.advance(2.05 * hourMs);
    world.kill(first);
    await world.world.clock.advance(dayMs);
    for (let round = 0; round < 40; round++) {
      const replica = world.start();
      await world.world.clock.advance(20_000 + round * 7_919);
      world.kill(replica);
    }
    world.start();
    expect(await world.until(() => world.ready?.reason === reasons.upToDate)).toBe(true);
    await world.world.clock.advance(10 * minuteMs);
    await expectCovered(world, startMs, Date.parse(world.status?.coveredUntil ?? ''));
  });

  test('restores its coverage from the destination when its status is lost or it is recreated', async () => {
    const world = new ScheduleWorld({ messages });
    world.add();
    const first = world.start();
    await world.world.clock.advance(4.5 * hourMs);
    world.kill(first);
    for (const { metadata } of world.runs()) {
      world.world.api.remove(`/apis/logfleet.dev/v1alpha1/namespaces/logging/searchexports/${metadata.name}`);
    }
    world.world.api.remove(`${schedulesPath}/hourly`);
    await world.world.clock.advance(2 * hourMs);
    const jobs = world.world.journal.filter(({ operation }) => operation === 'createJob').length;
    world.add({}, { query: '_raw=*' });
    world.start();
    expect(await world.until(() => world.ready?.reason === reasons.upToDate)).toBe(true);
    await world.world.clock.advance(10 * minuteMs);
    await expectCovered(world, startMs, startMs + 6 * hourMs);
    // Each hour needs two search jobs: one for the rows, and one to check them.
    expect(world.world.journal.filter(({ operation }) => operation === 'createJob').length - jobs).toBeLessThanOrEqual(
      6,
    );
  });

  test('reports a failed run as a gap, deletes it by the history limit, and exports it again on request', async () => {
    const world = new ScheduleWorld({ messages, scenario: { search: { duration: '30s' } } });
    world.add({ failedRunsHistoryLimit: 0 }, { activeDeadlineSeconds: 1 });
    world.start();
    expect(await world.until(() => (world.status?.gaps?.length ?? 0) === 2)).toBe(true);
    await world.world.clock.advance(5 * minuteMs);
    expect(world.ready).toMatchObject({ status: 'False', reason: reasons.runsFailed });
    expect(world.status?.gaps?.map(({ from, reason }) => [from, reason])).toEqual([
      ['2026-11-01T05:00:00Z', reasons.deadlineExceeded],
      ['2026-11-01T06:00:00Z', reasons.deadlineExceeded],
    ]);
    expect(world.runs()).toEqual([]);
    world.patch({ spec: { template: { spec: { activeDeadlineSeconds: null } } } });
    world.retry();
    expect(await world.until(() => world.ready?.reason === reasons.upToDate, hourMs)).toBe(true);
    await world.world.clock.advance(10 * minuteMs);
    await expectCovered(world, startMs, startMs + 2 * hourMs);
  });

  test('shows no failed run whose time a retry has exported in other runs', async () => {
    const world = new ScheduleWorld({ messages, scenario: { search: { duration: '30s' } } });
    world.add({}, { activeDeadlineSeconds: 1 });
    world.start();
    expect(await world.until(() => world.status?.gaps?.length === 1)).toBe(true);
    expect(world.status?.runs).toMatchObject([{ state: 'Failed' }]);
    world.patch({ spec: { schedule: '*/20 * * * *', template: { spec: { activeDeadlineSeconds: null } } } });
    world.retry();
    const failedRuns = () => world.status?.runs?.filter(({ state }) => state === 'Failed');
    expect(await world.until(() => world.status?.lastHandledReconcileAt !== undefined)).toBe(true);
    expect(failedRuns()).toEqual([]);
    expect(await world.until(() => world.ready?.reason === reasons.upToDate, hourMs)).toBe(true);
    await world.world.clock.advance(10 * minuteMs);
    expect(failedRuns()).toEqual([]);
    await expectCovered(world, startMs, Date.parse(world.status?.coveredUntil ?? ''));
  });

  test.each([
    ['before', '2026-11-01T04:00:00Z', 'False', reasons.invalidSpec, 0],
    ['after', '2026-11-01T05:30:00Z', 'True', reasons.scheduleEnded, 1],
  ])('reports an endTime %s its start, if it has no startTime', async (_, endTime, status, reason, count) => {
    const world = new ScheduleWorld({ messages });
    world.add({ endTime });
    world.start();
    await world.world.clock.advance(hourMs);
    expect(world.ready).toMatchObject({ status, reason });
    expect(world.records()).toHaveLength(count);
  });

  test('waits until the run of a deleted schedule with the same name is deleted', async () => {
    const world = new ScheduleWorld({ messages, scenario: { search: { duration: '30s' } } });
    const endTime = new Date(startMs + hourMs).toISOString();
    world.add({ endTime });
    world.start();
    expect(await world.until(() => world.runs().length === 1)).toBe(true);
    const [run] = world.runs();
    world.world.api.remove(`${schedulesPath}/hourly`);
    world.add({ endTime });
    await world.world.clock.advance(5 * minuteMs);
    expect(world.runs().map(({ metadata }) => metadata.uid)).toEqual([run?.metadata.uid]);
    expect(world.ready).toMatchObject({ status: 'True', reason: reasons.upToDate });
    world.world.api.remove(`${exportsPath}/${run?.metadata.name}`);
    expect(await world.until(() => world.ready?.reason === reasons.scheduleEnded, 5 * minuteMs)).toBe(true);
    expect(world.records()).toHaveLength(1);
  });

  test('recreates a run that a user deletes', async () => {
    const world = new ScheduleWorld({ messages, scenario: { search: { duration: '60s' } } });
    world.add();
    world.start();
    expect(await world.until(() => world.runs().length === 1)).toBe(true);
    const [run] = world.runs();
    await world.world.clock.advance(minuteMs / 2);
    world.world.api.remove(`/apis/logfleet.dev/v1alpha1/namespaces/logging/searchexports/${run?.metadata.name}`);
    expect(
      await world.until(() => world.runs()[0]?.metadata.uid !== run?.metadata.uid && world.runs().length === 1),
    ).toBe(true);
    await world.world.clock.advance(20 * minuteMs);
    await expectCovered(world, startMs, startMs + hourMs);
  });

  test('creates no run while it is paused, and all missed runs afterwards', async () => {
    const world = new ScheduleWorld({ messages });
    world.add({ paused: true });
    world.start();
    await world.world.clock.advance(3.5 * hourMs);
    expect(world.runs()).toEqual([]);
    expect(world.ready).toMatchObject({ status: 'Unknown', reason: reasons.paused });
    world.patch({ spec: { paused: false } });
    expect(await world.until(() => world.ready?.reason === reasons.upToDate)).toBe(true);
    await world.world.clock.advance(10 * minuteMs);
    await expectCovered(world, startMs, startMs + 3 * hourMs);
  });

  test('stalls when another export has the name of a run', async () => {
    const world = new ScheduleWorld({ messages });
    world.add();
    const name = 'hourly-20261101t050000z-060000z';
    world.world.addExport(name, { paused: true, timeRange: { from: '0', to: '1000' } });
    world.start();
    await world.world.clock.advance(1.5 * hourMs);
    expect(world.ready).toMatchObject({ status: 'False', reason: reasons.runNameTaken });
    world.world.api.remove(`${exportsPath}/${name}`);
    expect(await world.until(() => world.run(name) !== undefined, minuteMs)).toBe(true);
    expect(await world.until(() => world.ready?.reason === reasons.upToDate, 2 * hourMs)).toBe(true);
  });

  test('sends nothing to the API server while it waits for its next run', async () => {
    const world = new ScheduleWorld({ messages });
    world.add({ schedule: '0 5 * * *' });
    world.start();
    await world.world.clock.advance(hourMs);
    const before = world.world.api.requests.filter(({ method }) => method !== 'GET' && method !== 'WATCH').length;
    await world.world.clock.advance(20 * hourMs);
    expect(world.world.api.requests.filter(({ method }) => method !== 'GET' && method !== 'WATCH')).toHaveLength(
      before,
    );
  });

  test('stays ready while each due run is created and exported', async () => {
    const world = new ScheduleWorld({ messages });
    world.add();
    const { verdicts } = recordReports(world.world.api, 'hourly');
    world.start();
    await world.world.clock.advance(5.5 * hourMs);
    expect(world.records()).toHaveLength(5);
    expect(verdicts()).toEqual([`True/${reasons.upToDate}`]);
  });

  test('has metrics of its covered time, gaps and runs until it is deleted', async () => {
    const metrics = new PrometheusMetrics();
    const world = new ScheduleWorld({ messages, scenario: { search: { duration: '30s' } } });
    world.add({}, { activeDeadlineSeconds: 1 });
    world.world.start({ metrics });
    expect(await world.until(() => world.status?.gaps?.length === 1)).toBe(true);
    await world.world.clock.advance(minuteMs);
    const lines = async () =>
      (await metrics.render()).split('\n').filter((line) => line.startsWith('logfleet_schedule'));
    const labels = 'namespace="logging",schedule="hourly"';
    expect(await lines()).toEqual([
      `logfleet_schedule_covered_timestamp_seconds{${labels}} ${startMs / 1_000}`,
      `logfleet_schedule_covered_seconds{${labels}} 0`,
      `logfleet_schedule_gaps{${labels}} 1`,
      `logfleet_schedule_pending_runs{${labels}} 0`,
      `logfleet_schedule_active_runs{${labels}} 0`,
      `logfleet_schedules{state="Stalled",reason="${reasons.runsFailed}"} 1`,
      `logfleet_schedule_state{${labels},state="Stalled",reason="${reasons.runsFailed}"} 1`,
    ]);
    world.world.api.remove(`${schedulesPath}/hourly`);
    await world.world.clock.advance(minuteMs);
    expect(await lines()).toEqual([]);
  });

  test('reports a run that kept an incomplete interval until its SearchExport is deleted', async () => {
    const fromMs = startMs - 60 * hourMs;
    const scenario = { search: { messageLimit: 20 } };
    const world = new ScheduleWorld({ messages: every(minuteMs, fromMs, fromMs + hourMs), scenario });
    const limits = { successfulRunsHistoryLimit: 1, maxActive: 10 };
    const startTime = new Date(fromMs).toISOString().replace('.000', '');
    world.add({ startTime, ...limits }, { query: '* | limit 50', incompletePolicy: 'Keep' });
    world.start();
    expect(await world.until(() => world.records().length === 60)).toBe(true);
    await world.world.clock.advance(minuteMs);
    expect(world.status?.runs).toHaveLength(50);
    expect(world.status?.runs?.at(-1)).toMatchObject({ from: startTime, incomplete: true });
    const [run, ...others] = world.runs();
    expect([run?.status?.manifest?.complete, others]).toEqual([false, []]);
    expect(world.ready).toMatchObject({ status: 'True', reason: reasons.exportedIncomplete });
    expect(await world.verify()).toMatchObject({ gaps: [], problems: [{ kind: 'incomplete' }] });
    world.world.api.remove(`${exportsPath}/${run?.metadata.name}`);
    expect(await world.until(() => world.ready?.reason === reasons.upToDate)).toBe(true);
    expect(world.status?.runs?.at(-1)).toMatchObject({ incomplete: true });
  });

  test('reports a failed run and its recovery as Events', async () => {
    const world = new ScheduleWorld({ messages, scenario: { search: { duration: '30s' } } });
    world.add({}, { activeDeadlineSeconds: 1 });
    const { events } = recordReports(world.world.api, 'hourly');
    world.start();
    expect(await world.until(() => world.status?.gaps?.length === 1)).toBe(true);
    // Waits for more than ten minutes, because a message that is repeated earlier does not produce a second Event.
    await world.world.clock.advance(11 * minuteMs);
    world.patch({ spec: { template: { spec: { activeDeadlineSeconds: null } } } });
    world.retry();
    expect(await world.until(() => world.ready?.reason === reasons.upToDate, hourMs)).toBe(true);
    await world.world.clock.advance(minuteMs);
    const verdicts = events.map(({ type, reason }) => `${type}/${reason}`);
    expect(verdicts).toEqual([`Warning/${reasons.runsFailed}`, `Normal/${reasons.upToDate}`]);
  });

  test.each([
    [reasons.runsFailed, {}, { activeDeadlineSeconds: 1 }],
    [reasons.exportedIncomplete, {}, { query: '* | limit 50', incompletePolicy: 'Keep' }],
    [reasons.scheduleEnded, { endTime: new Date(startMs + hourMs).toISOString() }, {}],
  ])('sends one notification about %s, despite a restart during a pause', async (reason, spec, template) => {
    const scenario = { search: { duration: '30s', messageLimit: 20 } };
    const world = new ScheduleWorld({ messages: every(minuteMs, startMs, startMs + hourMs), scenario });
    world.add(spec, template);
    const sent: (string | undefined)[] = [];
    const onEvent: EventListener = (owner, event) => {
      if (owner.kind === 'SearchExportSchedule') sent.push(notificationOf(owner, event, 0)?.reason);
    };
    const replica = world.world.start({ onEvent });
    expect(await world.until(() => world.ready?.reason === reason)).toBe(true);
    world.patch({ spec: { paused: true } });
    await world.world.clock.advance(minuteMs);
    expect(world.ready?.reason).toBe(reasons.paused);
    world.kill(replica);
    world.world.start({ onEvent });
    await world.world.clock.advance(minuteMs);
    world.patch({ spec: { paused: false } });
    expect(await world.until(() => world.ready?.reason === reason, minuteMs)).toBe(true);
    await world.world.clock.advance(minuteMs);
    expect(sent.filter((reason) => reason !== undefined)).toEqual([reason]);
  });

  test('sends one notification about an incomplete run, despite a backfill', async () => {
    const scenario = { search: { duration: '30s', messageLimit: 20 } };
    const dense = [0, 5].flatMap((hour) => every(minuteMs, startMs + hour * hourMs, startMs + (hour + 1) * hourMs));
    const world = new ScheduleWorld({ messages: dense, scenario });
    world.add({ maxActive: 1 }, { query: '* | limit 50', incompletePolicy: 'Keep' });
    const sent: (string | undefined)[] = [];
    const states: string[] = [];
    const onEvent: EventListener = (owner, event) => {
      if (owner.kind !== 'SearchExportSchedule') return;
      states.push(event.reason);
      sent.push(notificationOf(owner, event, 0)?.reason);
    };
    world.world.start({ onEvent });
    const isIncomplete = () => world.ready?.reason === reasons.exportedIncomplete;
    expect(await world.until(isIncomplete)).toBe(true);
    const numbers: number[] = [];
    // Each pause delays three runs. One of the runs delayed by the second pause is incomplete.
    for (const _ of [1, 2]) {
      world.patch({ spec: { paused: true } });
      await world.world.clock.advance(3 * hourMs);
      world.patch({ spec: { paused: false } });
      expect(await world.until(isIncomplete)).toBe(true);
      await world.world.clock.advance(minuteMs);
      numbers.push(sent.filter((reason) => reason === reasons.exportedIncomplete).length);
    }
    expect(states.filter((state) => state === reasons.backfilling)).toHaveLength(2);
    expect(numbers).toEqual([1, 2]);
  });

  test('sends a notification about each incomplete run', async () => {
    const scenario = { search: { duration: '30s', messageLimit: 20 } };
    const world = new ScheduleWorld({ messages: every(minuteMs, startMs, startMs + 3 * hourMs), scenario });
    world.add({}, { query: '* | limit 50', incompletePolicy: 'Keep' });
    const sent: (string | undefined)[] = [];
    world.world.start({
      onEvent: (owner, event) => {
        const { reason } = notificationOf(owner, event, 0) ?? {};
        if (owner.kind === 'SearchExportSchedule' && reason !== undefined) sent.push(reason);
      },
    });
    await world.world.clock.advance(3.5 * hourMs);
    expect(sent).toEqual(Array.from({ length: 3 }, () => reasons.exportedIncomplete));
  });

  const late = messages.map((message, index) => ({ ...message, received: message.at + (index % 10) * 13 * minuteMs }));
  const untilMs = startMs + 12 * hourMs;

  test('misses no late message by receipt time', async () => {
    const world = new ScheduleWorld({ messages: late });
    world.add({}, { byReceiptTime: true });
    world.start();
    await world.world.clock.advance(12.5 * hourMs);
    const byReceipt = late.map(({ received, raw }) => ({ at: received, raw }));
    expect(world.rows()).toEqual(textsIn(byReceipt, { fromMs: startMs, toMs: untilMs }));
  });

  test('misses exactly the messages later than settleDelay by message time', async () => {
    const world = new ScheduleWorld({ messages: late, hidesFuture: true });
    world.add({}, { settleDelay: '30m' });
    world.start();
    await world.world.clock.advance(12.75 * hourMs);
    const hourEndMs = (at: number) => Math.floor(at / hourMs + 1) * hourMs;
    const inTime = late.filter(({ at, received }) => received <= hourEndMs(at) + 30 * minuteMs);
    expect(inTime.length).toBeLessThan(late.length);
    expect(world.rows()).toEqual(textsIn(inTime, { fromMs: startMs, toMs: untilMs }));
  });
});

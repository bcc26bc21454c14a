import { Cron } from 'croner';
import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import type { SearchExport, SearchExportSchedule } from '../../../src/api/kinds.ts';
import { type TimeRange, union } from '../../../src/base/time-range.ts';
import { dayMs, hourMs } from '../../../src/base/time-units.ts';
import { TimeZone, timeZone } from '../../../src/base/time-zone.ts';
import { runName, runTimes } from '../../../src/schedule/run-name.ts';
import {
  decideSchedule,
  type Gap,
  maxGaps,
  maxRunningOf,
  type Run,
  type RunState,
  type ScheduleDecision,
  type ScheduleSettings,
  type ScheduleSnapshot,
} from '../../../src/schedule/schedule-decision.ts';
import { TickCalendar } from '../../../src/schedule/tick-calendar.ts';
import { randomRuns } from '../../support/random-runs.ts';

const midnightMs = Date.parse('2026-11-22T00:00:00Z');
const zone = timeZone('UTC') as TimeZone;
const hourly = new TickCalendar('0 * * * *', zone);

const settings: ScheduleSettings = {
  name: 'errors',
  calendar: hourly,
  startMs: midnightMs,
  endMs: Number.POSITIVE_INFINITY,
  settleDelayMs: 0,
  maxActive: 2,
  maxRunning: Number.POSITIVE_INFINITY,
  backfillOrder: 'NewestFirst',
  successfulRunsHistoryLimit: 3,
  failedRunsHistoryLimit: 3,
};

function span(fromHour: number, toHour = fromHour + 1): TimeRange {
  return { fromMs: midnightMs + fromHour * hourMs, toMs: midnightMs + toHour * hourMs };
}

function run(hour: number, state: RunState, reason = 'Exporting'): Run {
  return { name: runName('errors', span(hour)), span: span(hour), state, reason };
}

function gap(hour: number): Gap {
  return { span: span(hour), run: runName('errors', span(hour)), reason: 'DeadlineExceeded' };
}

function decide(
  hour: number,
  given: Partial<Omit<ScheduleSnapshot, 'settings'>> & { settings?: Partial<ScheduleSettings> },
) {
  return decideSchedule({
    ...{
      isPaused: false,
      covered: given.recorded ?? [],
      shown: given.recorded ?? [],
      recorded: [],
      gaps: [],
      runs: [],
      isTaken: () => false,
      isRetryRequested: false,
    },
    ...given,
    nowMs: midnightMs + hour * hourMs,
    settings: { ...settings, ...given.settings },
  });
}

function created({ create }: ScheduleDecision): readonly number[] {
  return create.map(({ fromMs }) => (fromMs - midnightMs) / hourMs);
}

describe('decideSchedule', () => {
  it('creates nothing before the first tick after the start', () => {
    expect(decide(0.9, {})).toMatchObject({
      create: [],
      pending: 0,
      coveredUntilMs: midnightMs,
      nextDueMs: span(0).toMs,
    });
  });

  it('creates the run that has just become due', () => {
    expect(created(decide(1, {}))).toEqual([0]);
  });

  it('creates a run only once settleDelay has passed, so that an older run uses the slot until then', () => {
    const given = {
      settings: { settleDelayMs: hourMs / 4, startMs: midnightMs - hourMs, maxActive: 1 },
      covered: [span(-1)],
    };
    expect(decide(1, given)).toMatchObject({ create: [], pending: 0, nextDueMs: midnightMs + 1.25 * hourMs });
    expect(created(decide(1, { ...given, covered: [] }))).toEqual([-1]);
    expect(created(decide(1.25, given))).toEqual([0]);
  });

  it('does not compute the days of 1,000 pending daily runs again for the next decision', () => {
    // This test needs a time zone of its own, because `timeZone` returns a shared one, and other tests can fill its caches.
    const calendar = new TickCalendar('0 3 * * *', new TimeZone('Europe/Berlin'));
    const settings = { calendar, startMs: midnightMs - 3 * 365 * dayMs };
    const first = decide(10, { settings });
    const computed = [
      vi.spyOn(Intl.DateTimeFormat.prototype, 'formatToParts'),
      vi.spyOn(Cron.prototype, 'nextRun'),
    ] as const;
    const second = decide(10, { settings });
    const calls = computed.map(({ mock }) => mock.calls.length);
    for (const each of computed) each.mockRestore();
    expect(first.pending).toBe(1_000);
    expect(second).toEqual(first);
    expect(calls).toEqual([0, 0]);
  });

  it('ends only once settleDelay has passed since its endTime', () => {
    const settings = { settleDelayMs: hourMs / 4, endMs: span(0).toMs };
    expect(decide(1, { settings })).toMatchObject({ create: [], nextDueMs: midnightMs + 1.25 * hourMs });
    const later = decide(1.25, { settings });
    expect(created(later)).toEqual([0]);
    expect(later.nextDueMs).toBeUndefined();
  });

  it('has its first run due after a start in the future', () => {
    expect(decide(1, { settings: { startMs: span(5).fromMs } }).nextDueMs).toBe(span(5).toMs);
  });

  it('creates no more runs than can have a share of the request limits, apart from stalled runs', () => {
    const settings = { maxActive: 3, maxRunning: 1 };
    expect(created(decide(5.5, { settings }))).toEqual([4]);
    expect(created(decide(5.5, { settings, runs: [run(0, 'Active')] }))).toEqual([]);
    expect(created(decide(5.5, { settings, runs: [run(0, 'Stalled')] }))).toEqual([4]);
    expect(created(decide(5.5, { settings, runs: [run(0, 'Active', 'Paused')] }))).toEqual([4]);
  });

  it.each([
    ['one run per worker', { job: { workers: 1 } }, 3, 3],
    ['one more run for the share that is left', { job: { workers: 2 } }, 3, 2],
    ['one run', { job: { workers: 3 } }, 3, 1],
    ['only the shares of small request limits', { job: { workers: 1 } }, 1, 1],
    ['one run that reports that there is no share', { job: { workers: 1 } }, 0, 1],
    ['one worker per run with a row limit', { job: { workers: 3 }, limits: { maxMessages: 10 } }, 3, 3],
    ['one worker per run of records', { job: { workers: 3 }, results: 'Records' }, 3, 3],
    ['one worker per run of a query that cannot be split', { job: { workers: 3 }, query: '* | limit 5' }, 3, 3],
  ])('allows in Kubernetes Jobs %s', (_, { job, ...change }, shares, expected) => {
    const spec = { query: '*', results: 'Messages', limits: {}, execution: { mode: 'Job', job }, ...change };
    expect(maxRunningOf({ template: { spec } } as SearchExportSchedule['spec'], shares)).toBe(expected);
  });

  it('creates missed runs up to maxActive, the newest first', () => {
    const decision = decide(5.5, {});
    expect(created(decision)).toEqual([4, 3]);
    expect(decision.pending).toBe(5);
  });

  it('creates the due run before the oldest missed run with OldestFirst', () => {
    expect(created(decide(5.5, { settings: { backfillOrder: 'OldestFirst', maxActive: 3 } }))).toEqual([4, 0, 1]);
  });

  it('creates no run twice, whatever state the first one has', () => {
    const states: readonly RunState[] = ['Active', 'Stalled', 'Failed', 'Complete'];
    for (const state of states) expect(created(decide(1, { runs: [run(0, state)] }))).toEqual([]);
  });

  it('counts stalled runs as active, and failed runs as gaps that use no slot', () => {
    const runs = [run(4, 'Stalled'), run(3, 'Failed', 'IntervalIncomplete')];
    const decision = decide(5, { runs });
    expect(decision.unfinished).toEqual([run(4, 'Stalled')]);
    expect(created(decision)).toEqual([2]);
    expect(decision.gaps).toEqual([{ span: span(3), run: runName('errors', span(3)), reason: 'IntervalIncomplete' }]);
  });

  it('creates the newest due run even if stalled runs use all slots, but only one such run', () => {
    const runs = [run(0, 'Stalled'), run(1, 'Stalled')];
    expect(created(decide(5, { runs }))).toEqual([4]);
    expect(created(decide(5, { runs: [...runs, run(4, 'Active')] }))).toEqual([]);
    expect(created(decide(6, { runs: [...runs, run(4, 'Active')] }))).toEqual([]);
    expect(created(decide(6, { runs: [...runs, run(4, 'Complete')] }))).toEqual([5]);
    // While the newest run is being deleted, its slot is not used for an older run.
    expect(created(decide(5, { runs: [...runs, run(4, 'Deleting')] }))).toEqual([]);
    for (const state of ['Active', 'Stalled'] as const) {
      expect(created(decide(5, { runs: [run(0, state), run(1, 'Active')] }))).toEqual([]);
    }
  });

  it.each(['Active', 'Stalled', 'Failed'] as const)(
    'ignores a run that is %s if its time is exported, for example after a requested check',
    (state) => {
      const given = { runs: [run(0, state)], covered: [span(0)], settings: { maxActive: 1 } };
      expect(created(decide(2, given))).toEqual([1]);
      expect(decide(2, { ...given, isRetryRequested: true })).toMatchObject({ unfinished: [], repeat: [], gaps: [] });
    },
  );

  it('records complete runs before their time counts as covered', () => {
    const decision = decide(1, { runs: [run(0, 'Complete')] });
    expect(decision.record).toEqual([run(0, 'Complete')]);
    expect(decision.coveredUntilMs).toBe(midnightMs);
    expect(decide(1, { runs: [run(0, 'Complete')], recorded: [span(0)] })).toMatchObject({
      record: [],
      coveredUntilMs: span(0).toMs,
    });
  });

  it('records a complete run again if the status does not show its time as exported', () => {
    const runs = [run(0, 'Complete')];
    expect(decide(1, { runs, recorded: [span(0)], shown: [] }).record).toEqual(runs);
  });

  it('deletes the oldest recorded and the oldest failed runs beyond the history limits', () => {
    const runs = [run(0, 'Complete'), run(1, 'Complete'), run(2, 'Failed'), run(3, 'Failed'), run(4, 'Complete')];
    const limits = { successfulRunsHistoryLimit: 1, failedRunsHistoryLimit: 1 };
    const decision = decide(5, { runs, recorded: [span(0)], settings: limits });
    expect(decision.remove).toEqual([run(2, 'Failed')]);
    const later = decide(5, { runs, recorded: [span(0, 2), span(4)], settings: limits });
    expect(later.remove).toEqual([run(0, 'Complete'), run(1, 'Complete'), run(2, 'Failed')]);
  });

  it('deletes incomplete runs last, and the oldest of them first', () => {
    const resource = { status: { manifest: { complete: false } } } as SearchExport;
    const runs = [0, 1, 2, 3].map((hour) => ({ ...run(hour, 'Complete'), ...(hour < 2 && { resource }) }));
    const removed = (successfulRunsHistoryLimit: number) =>
      decide(4, { runs, recorded: [span(0, 4)], settings: { successfulRunsHistoryLimit } }).remove;
    expect(removed(2)).toEqual([runs[2], runs[3]]);
    expect(removed(1)).toEqual([runs[2], runs[3], runs[0]]);
  });

  it('keeps the gap of a failed run whose resource is deleted, and exports it again on request', () => {
    const decision = decide(2, { gaps: [gap(0)], recorded: [span(1)] });
    expect(decision.gaps).toEqual([gap(0)]);
    expect(created(decision)).toEqual([]);
    const repeated = decide(2, { gaps: [gap(0)], recorded: [span(1)], isRetryRequested: true });
    expect(repeated.gaps).toEqual([]);
    expect(created(repeated)).toEqual([0]);
  });

  it('deletes failed runs on request, so that they are recreated', () => {
    const decision = decide(2, { runs: [run(0, 'Failed'), run(1, 'Failed')], isRetryRequested: true });
    expect(decision.repeat).toEqual([run(0, 'Failed'), run(1, 'Failed')]);
    expect(created(decision)).toEqual([1, 0]);
  });

  it('deletes stalled runs on request, so that they are recreated with the current template', () => {
    const decision = decide(2, { runs: [run(0, 'Stalled'), run(1, 'Active')], isRetryRequested: true });
    expect(decision.repeat).toEqual([run(0, 'Stalled')]);
    expect(created(decision)).toEqual([0]);
  });

  it.each([
    [span(0, 2), true],
    [span(0, 1), false],
    [span(1, 2), false],
  ])('is complete when everything until the end is covered: %#', (covered, isComplete) => {
    const limits = { endMs: span(2).fromMs };
    expect(decide(5, { recorded: [covered], settings: limits }).isComplete).toBe(isComplete);
  });

  it('has no tick after the end of the schedule', () => {
    expect(decide(5, { settings: { endMs: span(2).fromMs } }).lastTickMs).toBe(span(2).fromMs);
    expect(decide(5, {}).lastTickMs).toBe(span(5).fromMs);
  });

  it('rewrites the record of a complete run whose time is covered, but whose record is lost', () => {
    const runs = [run(0, 'Complete'), run(1, 'Complete')];
    const decision = decide(2, { runs, covered: [span(0, 2)], recorded: [span(1)] });
    expect(decision.record).toEqual([run(0, 'Complete')]);
    expect(decision.create).toEqual([]);
  });

  it('ends a gap when its time is exported', () => {
    expect(decide(1, { gaps: [gap(0)], recorded: [span(0)] }).gaps).toEqual([]);
  });

  it('keeps a gap while its run seems active, because the cache of runs may be outdated', () => {
    expect(decide(1, { gaps: [gap(0)], runs: [run(0, 'Active')] }).gaps).toEqual([gap(0)]);
  });

  it('creates only as many runs as may still become gaps', () => {
    const gaps = Array.from({ length: maxGaps }, (_, hour) => gap(hour));
    expect(created(decide(maxGaps + 1, { gaps }))).toEqual([]);
    expect(created(decide(maxGaps + 1, { gaps: gaps.slice(1) }))).toEqual([maxGaps]);
    expect(created(decide(maxGaps + 1, { gaps: gaps.slice(1), runs: [run(0, 'Active')] }))).toEqual([]);
  });

  it('creates no run for the future after the clock was ahead, and future runs use no slot', () => {
    const runs = [run(30, 'Active'), run(29, 'Active')];
    expect(created(decide(2, { runs, recorded: [span(0)] }))).toEqual([1]);
    expect(decide(2.5, { runs, recorded: [span(0)] }).create).toEqual([span(1)]);
  });

  it('counts a failed run of covered time as no gap', () => {
    expect(decide(1, { runs: [run(0, 'Failed')], recorded: [span(0)] }).gaps).toEqual([]);
  });

  it('creates no run for the time of a run that is being deleted, and stores no gap for it', () => {
    const decision = decide(2, { runs: [run(1, 'Deleting')], recorded: [span(0)], settings: { maxActive: 1 } });
    expect(decision).toMatchObject({ create: [], gaps: [], unfinished: [] });
    expect(decide(1, { runs: [run(0, 'Deleting')], gaps: [gap(0)] }).gaps).toEqual([gap(0)]);
  });

  it('creates no run while paused, and all missed runs afterwards', () => {
    expect(decide(3, { isPaused: true })).toMatchObject({ create: [], pending: 3 });
  });

  it('skips a run whose name is used by another export', () => {
    const name = runName('errors', span(1));
    const decision = decide(2, { isTaken: (each) => each === name });
    expect(decision.taken).toEqual([name]);
    expect(created(decision)).toEqual([0]);
  });

  it('ends with a shorter run at endTime', () => {
    const end = { endMs: midnightMs + 1.5 * hourMs };
    expect(decide(1.2, { recorded: [span(0)], settings: end })).toMatchObject({ create: [], nextDueMs: end.endMs });
    const last = decide(1.5, { recorded: [span(0)], settings: end });
    expect(last.create).toEqual([span(1, 1.5)]);
    expect(last.nextDueMs).toBeUndefined();
  });

  it('divides the time that is not exported yet at the ticks of a changed schedule', () => {
    const daily = new TickCalendar('0 0 * * *', zone);
    const before = decide(23, { recorded: [span(0, 13)], settings: { calendar: daily } });
    expect(before.create).toEqual([]);
    expect(decide(24, { recorded: [span(0, 13)], settings: { calendar: daily } }).create).toEqual([span(13, 24)]);
  });

  it('covers every moment once, whatever happens to runs, resources, status and settings', () => {
    const steps = fc.array(fc.record({ kind: fc.constantFrom(...stepKinds), pick: fc.nat(1_000) }), { maxLength: 120 });
    fc.assert(
      fc.property(steps, fc.constantFrom('NewestFirst' as const, 'OldestFirst' as const), (list, backfillOrder) => {
        const world = new ScheduleModel(backfillOrder);
        for (const { kind, pick } of list) world.step(kind, pick);
        world.finish();
      }),
      { numRuns: randomRuns(60) },
    );
  });
});

const stepKinds = [
  ...['wait', 'wait', 'downtime', 'complete', 'complete', 'fail', 'stall', 'delete', 'lose status'],
  ...['retry', 'pause', 'change schedule', 'change settleDelay', 'crash'],
] as const;
type StepKind = (typeof stepKinds)[number];

const schedules = ['0 * * * *', '0 0 * * *', '*/30 * * * *', '15 */5 * * *'].map(
  (text) => new TickCalendar(text, zone),
);

/** Model of a schedule: its settings, runs, gaps and records, which random events change. */
class ScheduleModel {
  #nowMs = midnightMs;
  #isPaused = false;
  #settings: ScheduleSettings;
  #runs: readonly Run[] = [];
  #gaps: readonly Gap[] = [];
  readonly #records: TimeRange[] = [];

  constructor(backfillOrder: ScheduleSettings['backfillOrder']) {
    this.#settings = { ...settings, backfillOrder };
  }

  step(kind: StepKind, pick: number): void {
    const chosen = this.#runs[pick % this.#runs.length];
    switch (kind) {
      case 'wait':
        this.#nowMs += (pick % 180) * 60_000;
        break;
      case 'downtime':
        this.#nowMs += (pick % 72) * hourMs;
        break;
      case 'complete':
        this.#change(chosen, 'Complete');
        break;
      case 'fail':
        this.#change(chosen, 'Failed');
        break;
      case 'stall':
        this.#change(chosen, 'Stalled');
        break;
      case 'delete':
        this.#runs = this.#runs.filter((each) => each !== chosen);
        break;
      case 'lose status':
        this.#gaps = [];
        break;
      case 'retry':
        this.#reconcile(true);
        break;
      case 'pause':
        this.#isPaused = !this.#isPaused;
        break;
      case 'change schedule':
        this.#settings = { ...this.#settings, calendar: schedules[pick % schedules.length] as TickCalendar };
        break;
      case 'change settleDelay':
        this.#settings = { ...this.#settings, settleDelayMs: (pick % 180) * 60_000 };
        break;
      case 'crash':
        this.#reconcile(false, pick % 4);
        break;
    }
    this.#reconcile(false);
    this.#reconcile(false);
  }

  /** Completes all runs, and checks that the schedule records have no gap from the start to the last due cron time. */
  finish(): void {
    this.#isPaused = false;
    this.#nowMs += this.#settings.settleDelayMs;
    this.#reconcile(true);
    const decision = () => this.#decide(false);
    for (let round = 0; decision().pending > 0 || this.#runs.some(({ state }) => state !== 'Complete'); round++) {
      expect(round).toBeLessThan(10_000);
      for (const each of this.#runs) this.#change(each, 'Complete');
      this.#reconcile(true);
    }
    this.#reconcile(false);
    const { coveredUntilMs, lastTickMs } = decision();
    expect(coveredUntilMs).toBe(Math.max(midnightMs, union(this.#records).at(-1)?.toMs ?? 0));
    expect(coveredUntilMs).toBeGreaterThanOrEqual(lastTickMs ?? midnightMs);
  }

  #change(chosen: Run | undefined, state: RunState): void {
    if (!chosen || chosen.state === 'Complete') return;
    this.#runs = this.#runs.map((each) => (each === chosen ? { ...each, state } : each));
  }

  #decide(isRetryRequested: boolean): ScheduleDecision {
    return decideSchedule({
      nowMs: this.#nowMs,
      settings: this.#settings,
      isPaused: this.#isPaused,
      covered: union(this.#records),
      shown: union(this.#records),
      recorded: union(this.#records),
      gaps: this.#gaps,
      runs: this.#runs,
      isTaken: () => false,
      isRetryRequested,
    });
  }

  /**
   * Applies a decision in four parts, as the reconciler does. If `parts` is less than four, the process crashes after
   * this many parts.
   */
  #reconcile(isRetryRequested: boolean, parts = 4): void {
    for (const each of this.#decide(isRetryRequested).record) this.#record(each.span);
    const { gaps, repeat, remove, create } = this.#decide(isRetryRequested);
    if (parts > 0) this.#runs = this.#runs.filter((each) => !repeat.includes(each));
    if (parts > 1) this.#gaps = gaps;
    if (parts > 2) this.#runs = this.#runs.filter((each) => !remove.includes(each));
    if (parts > 3) for (const each of create) this.#create(each);
  }

  #record(covered: TimeRange): void {
    expect(this.#records.filter((known) => known.fromMs < covered.toMs && covered.fromMs < known.toMs)).toEqual([]);
    this.#records.push(covered);
  }

  #create(wanted: TimeRange): void {
    const others = [...this.#records, ...this.#runs.map((each) => each.span), ...this.#gaps.map((each) => each.span)];
    expect(others.filter((known) => known.fromMs < wanted.toMs && wanted.fromMs < known.toMs)).toEqual([]);
    expect(this.#runs.map(({ name }) => name)).not.toContain(`errors-${runTimes(wanted)}`);
    this.#runs = [...this.#runs, { ...run(0, 'Active'), name: runName('errors', wanted), span: wanted }];
  }
}

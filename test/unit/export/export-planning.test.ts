/** Tests the start of an export: its plan, its requests, and the search job that it leaves open. */
import { describe, expect, test } from 'vitest';
import type { Scenario } from '../../../simulator/scenario/scenario.ts';
import { RowData } from '../../../simulator/test/row-data.ts';
import { silentLogger } from '../../../src/base/log.ts';
import { hourMs } from '../../../src/base/time-units.ts';
import { readPlan, segmentsOf, storePlanOnce } from '../../../src/destination/plan-object.ts';
import { type PlannedExport, type PlanningWait, planExport } from '../../../src/export/plan/export-planning.ts';
import type { ExportDefinition, ExportRequest } from '../../../src/export/search/export-definition.ts';
import { JobSet } from '../../../src/export/search/job-set.ts';
import { ChosenFields } from '../../../src/export/search/search-tools.ts';
import { ServiceQuirks } from '../../../src/export/search/service-quirks.ts';
import { SearchJobs } from '../../../src/service/jobs/search-jobs.ts';
import type { SearchService } from '../../../src/service/jobs/search-service.ts';
import { ClientWorld } from '../../support/client-world.ts';
import { definitionOf, plainOutput } from '../../support/export-definition.ts';
import { MemoryDestination } from '../../support/memory-destination.ts';
import { testWriter } from '../../support/memory-exports.ts';

const settleDelayMs = 180_000;
const settledAgoMs = 10 * 60_000;

/** Times of messages, in ms before the end of the hour. */
type Times = readonly number[];

const evenly = (count: number): Times => Array.from({ length: count }, (_, index) => (index + 0.5) * (hourMs / count));

class PlanningWorld {
  readonly simulated: ClientWorld;
  readonly destination = new MemoryDestination();
  readonly quirks = new ServiceQuirks();
  readonly waits: PlanningWait[] = [];
  readonly purposes: string[] = [];
  readonly stop = new AbortController();
  jobs: JobSet | undefined;
  /** Time in ms by which the service's clock is slow. */
  serviceBehindMs = 0;
  readonly fromMs: number;
  readonly toMs: number;
  readonly atMs: readonly number[];
  readonly definition: ExportDefinition;

  constructor(times: Times, scenario: Scenario = {}, request: Partial<ExportRequest> = {}, endsAgoMs = settledAgoMs) {
    let atMs: readonly number[] = [];
    const logData = (startMs: number) => {
      atMs = times.map((agoMs) => Math.ceil(startMs - endsAgoMs - 1 - agoMs));
      return new RowData(atMs.map((at) => ({ at, raw: 'message' })));
    };
    this.simulated = new ClientWorld(scenario, { logData });
    this.atMs = atMs;
    this.toMs = this.simulated.model.startMs - endsAgoMs;
    this.fromMs = this.toMs - hourMs;
    const timeRange = { from: String(this.fromMs), to: String(this.toMs) };
    this.definition = definitionOf({ timeRange, ...request });
  }

  begin(): Promise<PlannedExport> {
    const { simulated, destination, quirks, definition } = this;
    const { client, clock, budget } = simulated;
    const service: SearchService = {
      createJob: async (...call) => {
        const response = await client.createJob(...call);
        return { ...response, dateMs: clock.now() - this.serviceBehindMs };
      },
    };
    const tools = {
      ...{ destination, quirks, definition, clock, log: silentLogger },
      jobs: new SearchJobs({ service, permits: budget.jobs, clock }),
      writer: testWriter(),
      describedFields: [],
      chosenFields: new ChosenFields([]),
      incompletePolicy: () => 'Fail' as const,
      settleDelayMs: () => 0,
      isScanLimitReached: () => false,
      searchesAtOnce: () => 4,
      failedBefore: () => 0,
      onProgress: () => {},
    };
    const onProgress = () => this.purposes.push(jobs.views.map(({ purpose }) => purpose).join(' and '));
    const jobs = new JobSet({ ...tools, signal: this.stop.signal, onProgress });
    this.jobs = jobs;
    return planExport(tools, { settleDelayMs, jobs, onWait: (wait) => this.waits.push(wait) }).catch(
      async (error: unknown) => {
        await jobs.closeAll();
        throw error;
      },
    );
  }

  plan(): Promise<PlannedExport> {
    return this.simulated.run(this.begin());
  }

  createdAtMs(): number {
    const { at } = this.simulated.requests('createJob').at(-1) as { readonly at: number };
    return at;
  }

  /** Number of rows in each segment, in chronological order. */
  rowsOf({ plan }: PlannedExport): number[] {
    return segmentsOf(plan).map(({ fromMs, toMs }) => this.atMs.filter((at) => at >= fromMs && at < toMs).length);
  }

  requests(): readonly string[] {
    return this.simulated.journal.map(({ operation }) => operation ?? 'other');
  }
}

const limitOf = (messageLimit: number): Scenario => ({ search: { duration: '1s', messageLimit } });

describe('a range with fewer rows than a search returns', () => {
  test('becomes one segment without additional requests', async () => {
    const world = new PlanningWorld(evenly(200), limitOf(250));
    const { plan, first } = await world.plan();
    expect(plan).toEqual({ boundariesMs: [world.fromMs, world.toMs] });
    expect(first?.order).toEqual({ segment: 0, fromMs: world.fromMs, toMs: world.toMs });
    expect(first).toMatchObject({ countedRows: undefined });
    expect(first?.job.progress).toMatchObject({ state: 'doneGatheringResults', messageCount: 200 });
    expect(world.requests()).toEqual(['createJob', 'getJob']);
    expect(world.jobs?.scannedBytes).toBe(0);
    expect(await readPlan(world.destination, world.definition.layout)).toEqual(plan);
  });

  test('becomes one segment when it has no rows', async () => {
    const world = new PlanningWorld([], limitOf(250));
    expect(world.rowsOf(await world.plan())).toEqual([0]);
  });
});

describe('a range with more rows than a search returns', () => {
  test.each(['forcePaused', 'doneWithWarning'] as const)(
    'is counted by slices, and cut into searches just below the limit (%s)',
    async (atMessageLimit) => {
      const world = new PlanningWorld(evenly(1_000), { search: { duration: '1s', messageLimit: 100, atMessageLimit } });
      const planned = await world.plan();
      const rows = world.rowsOf(planned);
      expect(rows).toEqual([10, ...Array(10).fill(99)]);
      expect(planned.first?.order).toEqual({
        segment: 10,
        fromMs: planned.plan.boundariesMs[10],
        toMs: world.toMs,
      });
      expect(planned.first?.countedRows).toBe(99);
      expect(world.requests()).toEqual(['createJob', 'getJob', 'createJob', 'getJob', 'listRecords', 'deleteJob']);
      expect(world.simulated.counters().jobsActive).toBe(1);
      expect(world.jobs?.scannedBytes).toBeGreaterThan(0);
    },
  );

  test('has one search for a slice with more rows than the limit', async () => {
    const crowded = Array.from({ length: 900 }, (_, index) => index / 2);
    const world = new PlanningWorld([...crowded, ...evenly(300)], limitOf(100));
    const rows = world.rowsOf(await world.plan());
    expect(rows.reduce((sum, count) => sum + count, 0)).toBe(1_200);
    expect(rows.filter((count) => count >= 100)).toHaveLength(1);
    expect(world.requests().filter((operation) => operation === 'createJob')).toHaveLength(2);
  });

  test('has one search for a millisecond with more rows than the limit', async () => {
    const world = new PlanningWorld([...Array<number>(300).fill(hourMs / 2), ...evenly(500)], limitOf(100));
    const rows = world.rowsOf(await world.plan());
    expect(rows.filter((count) => count >= 100)).toEqual([300]);
  });

  test('is not counted when the rest fits into one search', async () => {
    const world = new PlanningWorld(evenly(1_000), limitOf(600));
    const planned = await world.plan();
    expect(world.rowsOf(planned)).toEqual([1_000]);
    expect(world.requests()).toEqual(['createJob', 'getJob']);
    expect(planned.first?.order).toMatchObject({ segment: 0, fromMs: world.fromMs });
  });

  test.each([
    ['is refused', { kind: 'status', status: 400, code: 'parse.error', operations: ['createJob'] }],
    ['brings errors', { kind: 'pendingError', message: 'no such operator', operations: ['getJob'] }],
  ] as const)('is cut evenly where the count %s', async (_how, fault) => {
    const world = new PlanningWorld(evenly(1_000), {
      ...limitOf(100),
      faults: { count: { ...fault, operations: [...fault.operations], queries: ['*timeslice*'] } },
    });
    const planned = await world.plan();
    const rows = world.rowsOf(planned);
    expect(rows.length).toBeGreaterThan(8);
    expect(rows.every((count) => count < 120)).toBe(true);
    expect(planned.first?.countedRows).toBeUndefined();
    expect(planned.first?.order.fromMs).toBe(planned.plan.boundariesMs.at(-2));
    expect(rows.at(-1)).toBeLessThan(100);
    expect(world.simulated.counters().jobsActive).toBe(1);
  });

  test.each([
    ['by receipt time', { byReceiptTime: true }, []],
    ['when the histogram has gaps', {}, [1]],
  ])('is cut evenly where nothing shows how many rows there are: %s', async (_where, request, lostStatuses) => {
    const faults: Scenario['faults'] = {
      count: { kind: 'status', status: 400, code: 'no', operations: ['createJob'], queries: ['*timeslice*'] },
      lost: { kind: 'reset', effect: true, operations: ['getJob'], nth: lostStatuses },
    };
    const world = new PlanningWorld(evenly(1_000), { search: { duration: '20s', messageLimit: 100 }, faults }, request);
    const rows = world.rowsOf(await world.plan());
    expect(rows).toHaveLength(16);
    expect(rows.every((count) => count < 100)).toBe(true);
  });

  test('is counted again when the response to a status request was lost (E5)', async () => {
    const world = new PlanningWorld(evenly(1_000), {
      ...limitOf(100),
      faults: { lost: { kind: 'reset', effect: true, operations: ['getJob'], queries: ['*timeslice*'], nth: [1] } },
    });
    expect(world.rowsOf(await world.plan())).toEqual([10, ...Array(10).fill(99)]);
    expect(world.requests().filter((operation) => operation === 'createJob')).toHaveLength(3);
  });

  test('is divided by counts of message time, with an allowance, for a search by receipt time', async () => {
    const world = new PlanningWorld(evenly(1_000), limitOf(100), { byReceiptTime: true });
    const planned = await world.plan();
    expect(world.rowsOf(planned)).toEqual([21, ...Array(11).fill(89)]);
    expect(planned.first?.countedRows).toBeUndefined();
  });

  test('is divided into equal parts when no second search job can be created', async () => {
    const world = new PlanningWorld(evenly(1_000), { ...limitOf(100), limits: { activeJobs: 1 } });
    const planned = await world.plan();
    expect(world.rowsOf(planned).length).toBeGreaterThan(8);
    expect(world.simulated.clock.monotonic()).toBeLessThan(5 * 60_000);
    expect(world.simulated.counters()).toMatchObject({ jobsActive: 1, jobsLostToSilence: 0 });
  });

  test.each([
    ['by a query that cannot be split (E8)', { query: '* | limit 800' }],
    ['for records', { query: '* | count by _messageid', results: 'Records' }],
  ] satisfies [string, Partial<ExportRequest>][])('is one segment %s', async (_what, request) => {
    const world = new PlanningWorld(evenly(1_000), limitOf(100), request);
    expect(world.rowsOf(await world.plan())).toEqual([1_000]);
    expect(world.requests()).toEqual(['createJob', 'getJob']);
  });
});

describe('a range that is newer than the settle delay (E11)', () => {
  test('is waited for when only seconds are missing', async () => {
    const world = new PlanningWorld(evenly(100), limitOf(250), {}, settleDelayMs - 8_000);
    const planned = world.begin();
    await world.simulated.clock.advance(5_000);
    expect(world.requests()).toEqual([]);
    expect(world.waits.at(-1)?.settlesAtMs).toBeGreaterThanOrEqual(world.toMs + settleDelayMs);
    expect(world.rowsOf(await world.simulated.run(planned))).toEqual([100]);
    expect(world.createdAtMs()).toBeGreaterThanOrEqual(world.toMs + settleDelayMs);
    expect(world.waits.at(-1)?.settlesAtMs).toBeUndefined();
  });

  test('is waited for until half of it is settled, and the view shows the time', async () => {
    const world = new PlanningWorld(evenly(60), limitOf(250), {}, -45 * 60_000);
    const planned = world.begin();
    await world.simulated.clock.advance(1_000);
    expect(world.requests()).toEqual(['createJob', 'deleteJob']);
    const saidMs = world.waits.at(-1)?.settlesAtMs ?? 0;
    const { first } = await world.simulated.run(planned);
    expect(world.createdAtMs()).toBeGreaterThanOrEqual(saidMs);
    expect(world.createdAtMs()).toBeLessThan(saidMs + 5_000);
    expect(first?.order.toMs).toBeLessThan(world.toMs - 20 * 60_000);
  });

  test.each([
    ['a query that is refused', { query: '* | where' }, {}, { reason: 'QueryRefused' }],
    ['refused credentials', {}, { role: { kind: 'status', status: 401 } }, { reason: 'Unauthorized' }],
  ] as const)('is tested immediately, so that users learn of %s', async (_, request, faults, error) => {
    const world = new PlanningWorld([], { faults }, request, -24 * hourMs);
    await expect(world.plan()).rejects.toMatchObject(error);
    expect(world.simulated.clock.monotonic()).toBeLessThan(60_000);
  });

  test('shows the time also when no search job is free for the test search', async () => {
    const world = new PlanningWorld([], {}, {}, -45 * 60_000);
    const { jobs } = world.simulated.budget;
    const admit = jobs.admit.bind(jobs);
    jobs.admit = (signal) => new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)));
    void world.begin();
    await world.simulated.clock.advance(70_000);
    expect(world.waits.at(-1)?.settlesAtMs).toBeGreaterThan(world.toMs - 30 * 60_000);
    expect(world.waits.at(-1)?.isTried).toBe(false);
    expect(world.requests()).toEqual([]);
    jobs.admit = admit;
    await world.simulated.clock.advance(70_000);
    expect(world.requests()).toEqual(['createJob', 'deleteJob']);
    expect(world.waits.at(-1)?.isTried).toBe(true);
  });

  test('becomes a separate segment when at least half of the range is settled', async () => {
    const world = new PlanningWorld(evenly(60), limitOf(250), {}, -60_000);
    const { plan, first } = await world.plan();
    const settledMs = world.createdAtMs() - settleDelayMs;
    expect(plan.boundariesMs).toHaveLength(3);
    expect(first?.order.toMs).toBe(plan.boundariesMs[1]);
    expect(first?.order.toMs).toBeLessThanOrEqual(settledMs);
    expect(first?.order.toMs).toBeGreaterThan(settledMs - 5_000);
  });

  test('is waited for until half of it is settled, or all of it if the query cannot be split (E8)', async () => {
    const world = new PlanningWorld([], limitOf(250), {}, -hourMs);
    const { plan } = await world.plan();
    const [fromMs = 0, settledMs = 0, toMs = 0] = plan.boundariesMs;
    expect(settledMs - fromMs).toBeGreaterThanOrEqual(toMs - settledMs);
    expect(settledMs - fromMs).toBeLessThan(toMs - settledMs + 5 * 60_000);
    const whole = new PlanningWorld([], limitOf(250), { query: '* | limit 800' }, -hourMs);
    expect((await whole.plan()).plan.boundariesMs).toEqual([whole.fromMs, whole.toMs]);
    expect(whole.createdAtMs()).toBeGreaterThanOrEqual(whole.toMs + settleDelayMs);
  });

  test('follows the clock of the service when that clock is behind', async () => {
    const world = new PlanningWorld(evenly(60), limitOf(250));
    world.serviceBehindMs = 20 * 60_000;
    const { plan } = await world.plan();
    const [, settledMs = 0] = plan.boundariesMs;
    expect(plan.boundariesMs).toHaveLength(3);
    expect(settledMs).toBeLessThanOrEqual(world.createdAtMs() - world.serviceBehindMs - settleDelayMs);
    expect(world.requests()).toEqual(['createJob', 'deleteJob', 'createJob', 'getJob']);
    expect(world.quirks.clockBehindMs).toBeGreaterThanOrEqual(world.serviceBehindMs);
  });
});

describe('fields of messages are described in the plan, for files with columns', () => {
  const query = '* | parse regex "(?<word>\\w+)"';
  const csv: Partial<ExportRequest> = { query, output: { ...plainOutput, format: 'CSV' } };

  test('by a page with one row', async () => {
    const world = new PlanningWorld(evenly(1_000), limitOf(100), csv);
    const { plan } = await world.plan();
    expect(plan.describedFields).toContainEqual({ name: 'word', fieldType: 'string' });
    expect(plan.describedFields).toContainEqual({ name: '_messagetime', fieldType: 'long' });
    expect(world.requests().filter((operation) => operation === 'listMessages')).toHaveLength(1);
  });

  test('without a request when there is no row', async () => {
    const world = new PlanningWorld([], limitOf(100), csv);
    expect((await world.plan()).plan.describedFields).toEqual([]);
    expect(world.requests()).toEqual(['createJob', 'getJob']);
  });
});

describe('search jobs of the planning', () => {
  test('are closed when another process has written a different plan (E2)', async () => {
    const world = new PlanningWorld(evenly(1_000), limitOf(100));
    const existing = { boundariesMs: [world.fromMs, world.toMs - 1_000, world.toMs] };
    await storePlanOnce(world.destination, world.definition.layout, existing);
    const planned = await world.plan();
    expect(planned).toMatchObject({ plan: existing, first: undefined });
    expect(world.jobs?.scannedBytes).toBeGreaterThan(0);
    expect(world.simulated.counters()).toMatchObject({ jobsActive: 0, jobsLostToSilence: 0 });
  });

  test('are used when the plan at the destination has the same segments', async () => {
    const world = new PlanningWorld(evenly(10), limitOf(100));
    world.destination.strike = (call) => (call === 'create' ? { failure: 'exists', hasEffect: true } : undefined);
    const planned = await world.plan();
    expect(planned.first?.order).toMatchObject({ fromMs: world.fromMs, toMs: world.toMs });
    expect(world.simulated.counters().jobsActive).toBe(1);
  });

  test('are closed when the plan cannot be written', async () => {
    const world = new PlanningWorld(evenly(10), limitOf(100));
    world.destination.strike = (call) => (call === 'create' ? { failure: 'denied' } : undefined);
    expect(await world.simulated.failure(world.begin())).toMatchObject({ code: 'destination.denied' });
    expect(world.simulated.counters().jobsActive).toBe(0);
  });

  test.each([500, 2_030, 3_500])('are closed when the planning is aborted after %d ms', async (afterMs) => {
    const world = new PlanningWorld(evenly(1_000), limitOf(100));
    const failure = world.simulated.failure(world.begin());
    world.simulated.clock.after(afterMs, () => world.stop.abort(new Error('given up')));
    expect(await failure).toMatchObject({ message: 'given up' });
    expect(world.simulated.counters()).toMatchObject({ jobsActive: 0, jobsLostToSilence: 0 });
    expect(world.jobs?.views).toEqual([]);
  });

  test('are shown while they are open', async () => {
    const world = new PlanningWorld(evenly(1_000), limitOf(100));
    await world.plan();
    expect([...new Set(world.purposes)]).toEqual(['Rows', 'Rows and Count', '']);
  });

  test('become the only search of the range when they take very long', async () => {
    const world = new PlanningWorld(evenly(100), { search: { duration: '5h', messageLimit: 80 } });
    const planned = await world.plan();
    expect(world.rowsOf(planned)).toEqual([100]);
    expect(planned.first?.job.progress.state).toBe('gatheringResults');
    expect(world.simulated.clock.monotonic()).toBeLessThan(hourMs);
  });
});

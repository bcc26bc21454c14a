import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { LogfleetError } from '../../../src/base/errors.ts';
import { silentLogger } from '../../../src/base/log.ts';
import { hourMs } from '../../../src/base/time-units.ts';
import { type CommitRecord, commit, recordKind } from '../../../src/destination/commit-record.ts';
import { type Manifest, manifestKind, manifestSha256, totalsOf } from '../../../src/destination/manifest.ts';
import { storePlanOnce } from '../../../src/destination/plan-object.ts';
import type { Destination } from '../../../src/destination/store/destination.ts';
import { destinationError } from '../../../src/destination/store/destination-error.ts';
import type { ExportPlanOptions, PlannedExport, PlanningWait } from '../../../src/export/plan/export-planning.ts';
import type { JobSet } from '../../../src/export/search/job-set.ts';
import type { SearchTools } from '../../../src/export/search/search-tools.ts';
import { ServiceQuirks } from '../../../src/export/search/service-quirks.ts';
import { ExportWork } from '../../../src/export/work/export-work.ts';
import { rangeText } from '../../../src/export/work/figure-text.ts';
import type { WorkLimits, WorkView } from '../../../src/export/work/work-view.ts';
import { onlyWorker, type WorkerIndex } from '../../../src/export/work/worker-segments.ts';
import type { SearchJob } from '../../../src/service/jobs/search-job.ts';
import type { SearchJobs } from '../../../src/service/jobs/search-jobs.ts';
import { definitionOf } from '../../support/export-definition.ts';
import { MemoryDestination } from '../../support/memory-destination.ts';
import { testWriter } from '../../support/memory-exports.ts';
import { emptyRecord, ScriptedSearch } from '../../support/scripted-search.ts';
import { settle, VirtualClock } from '../../support/virtual-clock.ts';

const fromMs = Date.UTC(2026, 9, 1);

const definition = definitionOf({ timeRange: { from: String(fromMs), to: String(fromMs + 3 * hourMs) } });

const plan = { boundariesMs: [0, 1, 2, 3].map((hours) => fromMs + hours * hourMs) };
const order = (segment: number) => ({
  segment,
  fromMs: fromMs + segment * hourMs,
  toMs: fromMs + (segment + 1) * hourMs,
});

const limits: WorkLimits = {
  isPaused: false,
  parallelism: 2,
  settleDelayMs: 180_000,
  maxMessages: undefined,
  maxBytesScanned: undefined,
  deadlineMs: undefined,
  incompletePolicy: 'Fail',
  proof: 'Count',
};

function failure(kind: 'backoff' | 'stall' = 'backoff', reason = 'Failed'): LogfleetError {
  return new LogfleetError({ code: 'test.failed', message: 'It failed.', handling: { kind }, reason });
}

/** Clock that advances each time it is read, as a real clock does. */
class PassingClock extends VirtualClock {
  readingMs = 0;
  #passedMs = 0;

  override monotonic(): number {
    this.#passedMs += this.readingMs;
    return super.monotonic() + this.#passedMs;
  }
}

/** Export without real searches: the test decides how each search ends. */
class WorkWorld {
  readonly clock = new PassingClock();
  readonly destination = new MemoryDestination();
  readonly quirks = new ServiceQuirks();
  readonly searches: ScriptedSearch[] = [];
  readonly work: ExportWork;
  limits = limits;
  changes = 0;
  /** Error with which the next attempt to open the destination fails, or undefined if it succeeds. */
  openFails: LogfleetError | undefined;
  planning: (tools: SearchTools, options: ExportPlanOptions) => Promise<PlannedExport> = async ({ destination }) => ({
    plan: await storePlanOnce(destination, definition.layout, plan),
    first: undefined,
  });

  constructor(more: { readonly scannedBytes?: number; readonly worker?: WorkerIndex } = {}) {
    const { clock, quirks } = this;
    this.work = new ExportWork({
      ...{
        definition,
        quirks,
        clock,
        log: silentLogger,
        jobs: {} as SearchJobs,
        scannedBytes: 0,
        worker: onlyWorker,
        ...more,
      },
      writer: testWriter(),
      openDestination: async () => this.#open(),
      plan: (tools, options) => this.planning(tools, options),
      search: (searched, tools, opened) => {
        const search = new ScriptedSearch(searched, tools, opened);
        this.searches.push(search);
        return search;
      },
      onChange: () => {
        this.changes++;
      },
      onProgress: () => {},
    });
  }

  async advance(more: Partial<WorkLimits> = {}): Promise<WorkView> {
    this.limits = { ...this.limits, ...more };
    for (;;) {
      this.changes = 0;
      const view = this.work.advance(this.limits);
      await settle();
      if (this.changes === 0) return view;
    }
  }

  search(segment: number): ScriptedSearch {
    const search = this.searches.findLast((each) => each.segment === segment);
    if (!search) throw new Error(`segment ${segment} was not searched`);
    return search;
  }

  async commit(segment: number): Promise<WorkView> {
    const search = this.search(segment);
    const record = emptyRecord(search.order);
    await commit(this.destination, definition.layout, record);
    search.end({ kind: 'committed', record });
    return this.advance();
  }

  #open(): Destination {
    const error = this.openFails;
    this.openFails = undefined;
    if (error) throw error;
    return this.destination;
  }
}

function openJob() {
  const progress = { state: 'gatheringResults', messageCount: 0, warnings: [], scannedBytes: 0 };
  return { id: '1', order: order(0), progress, close: async () => {} } as unknown as SearchJob & {
    progress: { scannedBytes: number };
  };
}

const manifestName = definition.layout.manifest;

test('a waiting worker reads again what others have written, even if decisions take long', async () => {
  const { clock, work } = new WorkWorld({ worker: { index: 1, workers: 2 } });
  work.advance(limits);
  await settle();
  const { requeueAfterMs } = work.advance(limits);
  expect(requeueAfterMs).toBeLessThanOrEqual(1_000);
  // The timer fires slightly early, so it is not yet time to read the destination again.
  await clock.advance(requeueAfterMs - 0.05);
  clock.readingMs = 0.02;
  expect(work.advance(limits).requeueAfterMs).toBeLessThanOrEqual(1_000);
});

test.each([1, 2])('H2: one of %d workers reports a lasting outage of the service', async (workers) => {
  const world = new WorkWorld({ worker: { index: 0, workers } });
  await world.advance();
  await world.commit(0);
  const reported: boolean[] = [];
  const delaysMs: number[] = [];
  for (let failures = 1; failures <= 6; failures++) {
    for (const search of world.searches) search.end({ kind: 'failed', error: failure() });
    const { isTroubleLasting, trouble } = await world.advance();
    reported.push(isTroubleLasting);
    delaysMs.push((trouble?.untilMs ?? 0) - world.clock.monotonic());
    await world.clock.advance(delaysMs.at(-1) ?? 0);
    await world.advance();
  }
  expect(reported).toEqual([false, false, false, true, true, true]);
  expect(delaysMs).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 32_000]);
});

test.each([
  ['its files cannot be listed', (call: string) => call === 'list'],
  ['it cannot be used at all', () => true],
])('H2: a worker reports an outage of the destination while %s', async (_, isStruck) => {
  const world = new WorkWorld({ worker: { index: 0, workers: 2 } });
  await world.advance();
  const { length } = world.searches;
  world.destination.strike = (call) => (isStruck(call) ? { failure: 'away' } : undefined);
  await world.clock.advance(15_000);
  expect((await world.advance()).lastError?.code).toBe('destination.away');
  await world.clock.advance(1_000);
  expect((await world.advance()).lastError?.code).toBe('destination.away');
  world.destination.strike = () => undefined;
  await world.clock.advance(2_000);
  expect(await world.advance()).toMatchObject({ lastError: undefined, searches: length });
});

describe('an export', () => {
  test('is planned, searched in parallel, and ends with its manifest', async () => {
    const world = new WorkWorld();
    expect(world.work.advance(limits)).toMatchObject({ stage: 'loading', progress: undefined });
    expect(await world.advance()).toMatchObject({ stage: 'exporting', searches: 2, waitsFor: undefined });
    expect(world.searches.map((search) => search.order)).toEqual([order(0), order(1)]);
    expect(await world.commit(1)).toMatchObject({ searches: 2, progress: { intervalsDone: 1, intervalsPlanned: 3 } });
    await world.commit(2);
    const view = await world.commit(0);
    expect(view).toMatchObject({ stage: 'complete', searches: 0, progress: { coveredRatio: 1 } });
    const content = world.destination.objects.get(manifestName);
    expect(content && manifestKind.decode(manifestName, content)).toEqual(view.manifest?.manifest);
    expect(view.manifest?.url).toBe(`memory://test/${manifestName}`);
  });

  test('encodes its manifest only once', async () => {
    const world = new WorkWorld();
    await world.advance();
    onTestFinished(() => void vi.restoreAllMocks());
    const encode = vi.spyOn(manifestKind, 'encode');
    await world.commit(1);
    await world.commit(2);
    const { manifest } = await world.commit(0);
    expect(encode).toHaveBeenCalledTimes(1);
    expect(manifest?.sha256).toBe(manifestSha256(world.destination.objects.get(manifestName) ?? Buffer.of()));
  });

  test('E3: continues from the records at the destination, and from nothing else', async () => {
    const before = new WorkWorld();
    await before.advance();
    await before.commit(1);
    const world = new WorkWorld();
    for (const [name, content] of before.destination.objects) world.destination.objects.set(name, content);
    expect(await world.advance()).toMatchObject({ stage: 'exporting', progress: { intervalsDone: 1 } });
    expect(world.searches.map(({ segment }) => segment)).toEqual([0, 2]);
  });

  test('E3: starts no search before it has read all records', async () => {
    const before = new WorkWorld();
    await before.advance();
    await before.commit(1);
    const world = new WorkWorld();
    for (const [name, content] of before.destination.objects) world.destination.objects.set(name, content);
    const listed = Promise.withResolvers<void>();
    world.destination.strike = (call) => (call === 'list' ? { until: listed.promise } : undefined);
    expect(await world.advance()).toMatchObject({ stage: 'loading' });
    expect(await world.advance()).toMatchObject({ stage: 'loading', progress: undefined, searches: 0 });
    listed.resolve();
    await settle();
    await world.advance();
    expect(world.searches.map(({ segment }) => segment)).toEqual([0, 2]);
  });

  test('with a manifest is complete immediately, and files without a record are removed', async () => {
    const before = new WorkWorld();
    await before.advance();
    for (const segment of [0, 1, 2]) await before.commit(segment);
    const world = new WorkWorld();
    for (const [name, content] of before.destination.objects) world.destination.objects.set(name, content);
    const stray = definition.layout.within(
      'data/000001-20261101T000000000Z-001-w0123abcd-17-1-00112233aabbccdd.ndjson',
    );
    world.destination.objects.set(stray, Buffer.from('row'));
    expect(await world.advance({ isPaused: true })).toMatchObject({ stage: 'complete' });
    expect(world.searches).toEqual([]);
    expect(world.destination.objects.has(stray)).toBe(false);
  });

  test('E3: with a changed manifest is not complete, and keeps every file that a record names', async () => {
    const before = new WorkWorld();
    await before.advance();
    await before.commit(0);
    await before.commit(2);
    const file = { name: 'data/of-one', rows: 1, bytes: 3, encodedBytes: 3, misfits: 0, sha256: '0'.repeat(64) };
    const figures = { received: 1, written: 1, count: { rows: 1, source: 'Job' }, files: [file] } as const;
    const record = { ...emptyRecord(order(1)), ...figures };
    before.destination.objects.set(definition.layout.within(file.name), Buffer.from('row'));
    await commit(before.destination, definition.layout, record);
    before.search(1).end({ kind: 'committed', record });
    const { manifest } = (await before.advance()).manifest ?? {};
    if (!manifest) throw new Error('the export has no manifest');
    const [first, second, third] = manifest.intervals;
    const lacking = [
      [first, third],
      [first, { ...second, received: 0, written: 0, count: { rows: 0, source: 'Job' }, files: [] }, third],
    ];
    for (const intervals of lacking) {
      const world = new WorkWorld();
      for (const [name, content] of before.destination.objects) world.destination.objects.set(name, content);
      const changed = { ...manifest, intervals, totals: totalsOf(intervals as CommitRecord[]) } as Manifest;
      world.destination.objects.set(manifestName, manifestKind.encode(changed));
      const { stage, lastError } = await world.advance();
      expect([stage, lastError?.code]).toEqual(['loading', 'destination.damaged']);
      expect(world.destination.objects.has(definition.layout.within(file.name))).toBe(true);
      world.destination.objects.delete(manifestName);
      await world.clock.advance(30_000);
      expect(await world.advance()).toMatchObject({ stage: 'complete', manifest: { manifest } });
    }
  });

  async function almostDone(): Promise<{ readonly world: WorkWorld; readonly last: ScriptedSearch }> {
    const world = new WorkWorld();
    await world.advance({ parallelism: 3 });
    for (const segment of [0, 1, 2]) {
      const file = { name: fileOf(segment), rows: 1, bytes: 3, encodedBytes: 3, misfits: 0, sha256: '0'.repeat(64) };
      const figures = { received: 1, written: 1, count: { rows: 1, source: 'Job' }, files: [file] } as const;
      const record = { ...emptyRecord(order(segment)), ...figures };
      world.destination.objects.set(definition.layout.within(file.name), Buffer.from('row'));
      await commit(world.destination, definition.layout, record);
      if (segment === 2) continue;
      world.search(segment).end({ kind: 'committed', record });
    }
    await world.advance();
    return { world, last: world.search(2) };
  }
  const fileOf = (segment: number) => `data/of-${segment}`;
  const nameOf = (segment: number) => definition.layout.within(fileOf(segment));
  const commitOf = (segment: number) => definition.layout.commit(segment, order(segment).toMs);
  const recordOf = ({ destination }: WorkWorld, segment: number) =>
    recordKind.decode(commitOf(segment), destination.objects.get(commitOf(segment)) as Uint8Array);

  test('E15: aborts all uploads once before it lists its files, so that no upload becomes a file without a record', async () => {
    const { world, last } = await almostDone();
    const next = new WorkWorld();
    const looks = ({ destination }: WorkWorld) => {
      const calls: string[] = [];
      destination.strike = (call, name) => {
        if (call === 'abortLeftovers' || name === definition.layout.data) calls.push(call);
        return undefined;
      };
      return calls;
    };
    const atItsEnd = looks(world);
    last.end({ kind: 'committed', record: recordOf(world, 2) });
    expect(await world.advance()).toMatchObject({ stage: 'complete' });
    expect(atItsEnd).toEqual(['abortLeftovers', 'list']);
    for (const [name, content] of world.destination.objects) next.destination.objects.set(name, content);
    const atTheNextStart = looks(next);
    expect(await next.advance()).toMatchObject({ stage: 'complete' });
    expect(atTheNextStart).toEqual(['abortLeftovers', 'abortLeftovers', 'list']);
  });

  test('E3: with a missing file is not complete until a user restores the file, or removes its record for another search', async () => {
    for (const isPutBack of [true, false]) {
      const { world, last } = await almostDone();
      world.destination.objects.delete(nameOf(0));
      world.destination.objects.set(nameOf(1), Buffer.from('ro'));
      last.end({ kind: 'committed', record: recordOf(world, 2) });
      const { stage, lastError } = await world.advance();
      expect([stage, lastError?.reason]).toEqual(['finishing', 'DestinationDamaged']);
      expect(lastError?.message).toContain(
        `${nameOf(0)} is missing; ${nameOf(1)} has 2 bytes instead of 3; restore the files, or remove ${commitOf(0)}, ${commitOf(1)} `,
      );
      expect(world.destination.objects.has(manifestName)).toBe(false);
      world.destination.objects.set(nameOf(1), Buffer.from('row'));
      if (isPutBack) world.destination.objects.set(nameOf(0), Buffer.from('row'));
      else world.destination.objects.delete(commitOf(0));
      await world.clock.advance(30_000);
      const view = await world.advance();
      expect(view).toMatchObject(isPutBack ? { stage: 'complete' } : { stage: 'exporting', searches: 1 });
      if (isPutBack) continue;
      expect(world.searches.at(-1)?.order).toEqual(order(0));
      expect(await world.commit(0)).toMatchObject({ stage: 'complete', progress: { rows: 2 } });
    }
  });

  test('E3: is not complete if its manifest names a missing file or describes another export', async () => {
    const { world: before, last } = await almostDone();
    last.end({ kind: 'committed', record: recordOf(before, 2) });
    const { manifest } = (await before.advance()).manifest ?? {};
    if (!manifest) throw new Error('the export has no manifest');
    const described = { ...manifest, export: { ...manifest.export, query: 'another' } };
    const cases: readonly (readonly [(objects: Map<string, Uint8Array>) => unknown, string])[] = [
      [
        (objects) => objects.delete(nameOf(1)),
        `${nameOf(1)} is missing; restore the files, or remove ${manifestName}, ${commitOf(1)}`,
      ],
      [(objects) => objects.set(nameOf(1), Buffer.from('rows')), 'has 4 bytes instead of 3'],
      [
        (objects) => objects.set(manifestName, manifestKind.encode(described)),
        'the export manifest contradicts itself (fingerprint, manifest)',
      ],
      [
        (objects) => objects.set(manifestName, manifestKind.encode({ ...manifest, complete: false })),
        'the export manifest contradicts itself (completeness, manifest)',
      ],
    ];
    for (const [change, said] of cases) {
      const world = new WorkWorld();
      for (const [name, content] of before.destination.objects) world.destination.objects.set(name, content);
      change(world.destination.objects);
      const { stage, lastError } = await world.advance();
      expect([stage, lastError?.reason]).toEqual(['loading', 'DestinationDamaged']);
      expect(lastError?.message).toContain(said);
    }
  });

  test('E3: accepts a readable file that the store does not list yet', async () => {
    const { world, last } = await almostDone();
    const { destination } = world;
    const list = destination.list.bind(destination);
    destination.list = async function* (folder) {
      for await (const each of list(folder)) if (each.name !== nameOf(0)) yield each;
    };
    last.end({ kind: 'committed', record: recordOf(world, 2) });
    expect(await world.advance()).toMatchObject({ stage: 'complete' });
  });

  test('E3: takes over a record of another process, and reads the other records of that process', async () => {
    const world = new WorkWorld();
    await world.advance({ parallelism: 1 });
    const existing = emptyRecord(order(0));
    for (const record of [existing, emptyRecord(order(1))]) await commit(world.destination, definition.layout, record);
    world.search(0).end({ kind: 'taken', existing });
    expect(await world.advance()).toMatchObject({ progress: { intervalsDone: 2 } });
    await world.commit(2);
    expect(world.work.advance(limits).stage).toBe('complete');
  });

  test('E3: does not report an interval as unproven after another process has committed it', async () => {
    const world = new WorkWorld();
    await world.advance({ parallelism: 1 });
    world
      .search(0)
      .end({ kind: 'incomplete', reason: 'PendingErrors', message: 'it brought errors', figures: undefined });
    expect(await world.advance()).toMatchObject({ unproven: [{ order: order(0) }] });
    const existing = emptyRecord(order(1));
    for (const record of [emptyRecord(order(0)), existing]) await commit(world.destination, definition.layout, record);
    world.search(1).end({ kind: 'taken', existing });
    expect(await world.advance()).toMatchObject({ progress: { intervalsDone: 2 }, unproven: [] });
  });

  test('E15: reads the records before another search if another process has removed its upload', async () => {
    const world = new WorkWorld();
    await world.advance({ parallelism: 1 });
    for (const segment of [0, 1, 2]) await commit(world.destination, definition.layout, emptyRecord(order(segment)));
    world.search(0).end({ kind: 'failed', error: destinationError('lost', 'the upload is gone') });
    await world.advance();
    await world.clock.advance(1_000);
    expect(await world.advance()).toMatchObject({ stage: 'complete' });
    expect(world.searches).toHaveLength(1);
  });

  test('E15: removes leftovers of dead writers again once the uploads at the start are old enough', async () => {
    const world = new WorkWorld();
    const looks: number[] = [];
    world.destination.strike = (call) => {
      if (call === 'abortLeftovers') looks.push(world.clock.monotonic());
      return undefined;
    };
    const { requeueAfterMs } = await world.advance();
    expect(requeueAfterMs).toBeGreaterThan(15 * 60_000);
    expect(requeueAfterMs).toBeLessThan(20 * 60_000);
    await world.advance({ deadlineMs: 0 });
    await world.clock.advance(requeueAfterMs);
    await world.advance();
    expect(looks).toEqual([0, requeueAfterMs]);
    expect((await world.advance()).requeueAfterMs).toBe(Number.POSITIVE_INFINITY);
  });

  test('E15: continues without a report if the leftovers cannot be listed again', async () => {
    const world = new WorkWorld();
    world.clock.skewMs = fromMs - world.clock.now();
    await world.advance();
    let looks = 0;
    world.destination.strike = (call) => (call === 'abortLeftovers' && ++looks < 3 ? { failure: 'denied' } : undefined);
    world.clock.skewMs -= hourMs;
    for (let minutes = 0; minutes < 60; minutes++) {
      await world.clock.advance(60_000);
      const view = await world.advance();
      expect(view).toMatchObject({ lastError: undefined, waitsFor: { kind: 'settling' } });
    }
    expect(looks).toBe(3);
  });

  test('E2: reads the records before it uses a plan of another process', async () => {
    const world = new WorkWorld();
    const { planning } = world;
    world.planning = async (tools, options) => {
      const planned = await planning(tools, options);
      for (const segment of [0, 1]) await commit(world.destination, definition.layout, emptyRecord(order(segment)));
      return planned;
    };
    expect(await world.advance()).toMatchObject({ stage: 'exporting', progress: { intervalsDone: 2 } });
    expect(world.searches.map(({ segment }) => segment)).toEqual([2]);
  });

  test.each<[string, (world: WorkWorld) => Promise<void>]>([
    [
      'that a user has requested again',
      async ({ work, destination }) => {
        destination.objects.clear();
        work.tryAgain();
      },
    ],
    [
      'whose records contradicted each other before',
      async (world) => {
        const stray = { ...emptyRecord(order(2)), fromMs: order(2).fromMs + 1, toMs: order(2).fromMs + 2 };
        await commit(world.destination, definition.layout, stray);
        world.search(1).end({ kind: 'taken', existing: stray });
        expect(await world.advance()).toMatchObject({ waitsFor: { kind: 'disorder' } });
        world.destination.objects.clear();
        await world.clock.advance(30_000);
      },
    ],
  ])('E2: an export %s starts again with planning if its folder was moved away', async (_, look) => {
    const world = new WorkWorld();
    await world.advance({ parallelism: 1 });
    await world.commit(0);
    await look(world);
    expect(await world.advance()).toMatchObject({ progress: { intervalsDone: 0 } });
    expect([...world.destination.objects.keys()]).toEqual([definition.layout.plan]);
  });

  test('that is closed during its planning closes the search job of the planning, and starts no search', async () => {
    const world = new WorkWorld();
    const isPlanned = Promise.withResolvers<void>();
    let closed = 0;
    const job = { close: async () => void closed++ } as never;
    const planned = world.planning;
    world.planning = async (tools, options) => {
      const found = await planned(tools, options);
      await isPlanned.promise;
      return { ...found, first: { order: order(2), job, countedRows: undefined } };
    };
    await world.advance();
    const closing = world.work.close();
    isPlanned.resolve();
    await closing;
    expect([closed, world.searches]).toEqual([1, []]);
  });

  test('uses the job of its planning as its first search', async () => {
    const world = new WorkWorld();
    const first = { order: order(2), job: { close: async () => {} } as never, countedRows: undefined };
    const planned = world.planning;
    world.planning = async (tools, options) => {
      const counted = openJob();
      counted.progress.scannedBytes = 7;
      options.jobs.add(counted, 'Count');
      await options.jobs.close(counted);
      return { ...(await planned(tools, options)), first };
    };
    await world.advance();
    expect(world.searches[0]?.order).toEqual(order(2));
    expect(world.searches[0]?.opened).toBe(first);
    expect(world.work.advance(limits).progress?.scannedBytes).toBe(7);
  });
});

describe('a search', () => {
  test('that asks for a shorter range is followed by a search of this range (E4)', async () => {
    const world = new WorkWorld();
    await world.advance({ parallelism: 1 });
    const narrower = { ...order(0), fromMs: fromMs + 100 };
    world.search(0).end({ kind: 'narrowed', order: narrower });
    await world.advance();
    expect(world.search(0).order).toEqual(narrower);
    await world.commit(0);
    expect(world.search(0).order).toEqual({ ...order(0), toMs: fromMs + 100 });
  });

  test('that proved nothing counts as a failed search of its interval, until the interval is committed', async () => {
    const world = new WorkWorld();
    await world.advance({ parallelism: 1 });
    const causes = ['a status was lost', 'the service counts 3 rows, but the search found 2'] as const;
    const messages = causes.map((cause) => `${rangeText(order(0))} ${cause}`);
    world.search(0).end({ kind: 'again', isFailure: false, message: causes[0] });
    expect(await world.advance()).toMatchObject({ messages: messages.slice(0, 1) });
    expect(world.search(0).failedBefore).toBe(0);
    world.search(0).end({ kind: 'again', isFailure: true, message: causes[1] });
    expect(await world.advance()).toMatchObject({ messages: messages.toReversed() });
    expect(world.search(0).failedBefore).toBe(1);
    expect(await world.commit(0)).toMatchObject({ messages: [] });
  });

  test('that cannot be proven waits for a user, who can request another search', async () => {
    const world = new WorkWorld();
    await world.advance({ parallelism: 1 });
    const message = 'the service counts 3 rows, but the search found 2';
    world.search(0).end({ kind: 'incomplete', reason: 'CountDiffers', message, figures: undefined });
    await world.advance();
    await world.commit(1);
    const view = await world.commit(2);
    expect(view).toMatchObject({ searches: 0, waitsFor: { kind: 'people' }, unproven: [{ reason: 'CountDiffers' }] });
    // The work on this export cannot be dropped and restarted, because it would then report the same interval a second
    // time.
    expect(world.work.canBeginAgain).toBe(false);
    world.work.tryAgain();
    await world.advance();
    expect(await world.commit(0)).toMatchObject({ stage: 'complete', unproven: [] });
  });

  test('that runs when a user requests a retry counts as the first search again', async () => {
    const world = new WorkWorld();
    await world.advance({ parallelism: 1 });
    world
      .search(0)
      .end({ kind: 'again', isFailure: true, message: 'the service counts 3 rows, but the search found 2' });
    await world.advance();
    expect(world.search(0).failedBefore).toBe(1);
    world.work.tryAgain();
    expect(world.search(0).failedBefore).toBe(0);
  });

  test('that cannot be proven is repeated after the policy became Keep', async () => {
    const world = new WorkWorld();
    await world.advance({ parallelism: 1 });
    world.search(0).end({ kind: 'incomplete', reason: 'CountDiffers', message: 'differs', figures: undefined });
    await world.advance();
    expect(world.search(1).segment).toBe(1);
    await world.advance({ parallelism: 2, incompletePolicy: 'Keep' });
    expect(world.searches.map(({ segment }) => segment)).toEqual([0, 1, 0]);
  });

  test('that was judged before the policy became Keep is repeated', async () => {
    const world = new WorkWorld();
    await world.advance({ parallelism: 1 });
    await world.advance({ incompletePolicy: 'Keep' });
    const incomplete = { kind: 'incomplete', reason: 'PendingErrors', message: 'errors', figures: undefined } as const;
    world.search(0).end(incomplete);
    expect(await world.advance()).toMatchObject({ unproven: [], searches: 1 });
    expect(world.searches.map(({ segment }) => segment)).toEqual([0, 0]);
    world.search(0).end(incomplete);
    expect(await world.advance()).toMatchObject({ unproven: [{ message: 'errors' }] });
  });

  test('that fails delays the start of other searches', async () => {
    const world = new WorkWorld();
    await world.advance({ parallelism: 1 });
    world.search(0).end({ kind: 'failed', error: failure() });
    const view = await world.advance();
    expect(view).toMatchObject({ searches: 0, waitsFor: { kind: 'trouble' }, lastError: { code: 'test.failed' } });
    expect(view.requeueAfterMs).toBe(1_000);
    await world.clock.advance(1_000);
    expect(await world.advance()).toMatchObject({ searches: 1, lastError: { code: 'test.failed' } });
  });

  test('that fails is followed by one search at a time, until something succeeds', async () => {
    const world = new WorkWorld();
    await world.advance({ parallelism: 3 });
    for (const { segment } of [...world.searches])
      world.search(segment).end({ kind: 'failed', error: failure('stall') });
    await world.advance();
    await world.clock.advance(30_000);
    expect(await world.advance()).toMatchObject({ searches: 1, lastError: { code: 'test.failed' } });
    expect(await world.commit(0)).toMatchObject({ searches: 2, lastError: undefined });
  });

  test('starts after a failure of the destination only if a probe file can be written', async () => {
    const world = new WorkWorld();
    await world.advance();
    const { destination } = world;
    destination.strike = (call) => (call === 'finish' ? { failure: 'denied' } : undefined);
    world.search(0).end({ kind: 'failed', error: destinationError('denied', 'It is denied.') });
    world.search(1).end({ kind: 'failed', error: destinationError('denied', 'It is denied.') });
    for (let times = 0; times < 20; times++) {
      await world.clock.advance(30_000);
      expect(await world.advance()).toMatchObject({ searches: 0, lastError: { code: 'destination.denied' } });
    }
    expect(world.searches).toHaveLength(2);
    destination.strike = () => undefined;
    await world.clock.advance(30_000);
    expect(await world.advance()).toMatchObject({ searches: 1, lastError: { code: 'destination.denied' } });
    expect([...destination.objects.keys()].filter((name) => name.includes('/data/'))).toEqual([]);
    expect(await world.commit(0)).toMatchObject({ searches: 2, lastError: undefined });
  });

  test('E15: writes all probe files under one name', async () => {
    const world = new WorkWorld();
    await world.advance();
    const names: string[] = [];
    world.destination.strike = (call, name) => {
      if (call === 'open') names.push(name);
      return call === 'finish' || call === 'abort' ? { failure: 'denied' } : undefined;
    };
    world.search(0).end({ kind: 'failed', error: destinationError('denied', 'It is denied.') });
    world.search(1).end({ kind: 'failed', error: destinationError('denied', 'It is denied.') });
    for (let times = 0; times < 5; times++) {
      await world.clock.advance(30_000);
      await world.advance();
    }
    expect(names.length).toBeGreaterThan(3);
    expect(new Set(names).size).toBe(1);
  });

  test('E15: leaves at most one probe file if files can be written but not removed', async () => {
    const world = new WorkWorld();
    await world.advance();
    const { destination } = world;
    const files = () => [...destination.objects.keys()].filter((name) => name.includes('/data/'));
    destination.strike = (call) => (call === 'remove' ? { failure: 'denied' } : undefined);
    for (const segment of [0, 1]) {
      world.search(segment).end({ kind: 'failed', error: destinationError('denied', 'It is denied.') });
    }
    for (let times = 0; times < 5; times++) {
      await world.clock.advance(30_000);
      expect(await world.advance()).toMatchObject({ searches: 0, lastError: { code: 'destination.denied' } });
      expect(files()).toHaveLength(1);
    }
    destination.strike = () => undefined;
    await world.clock.advance(30_000);
    expect(await world.advance()).toMatchObject({ searches: 1 });
    expect(files()).toEqual([]);
  });

  test('E13: ends like a cut search shortly before eight hours', async () => {
    const world = new WorkWorld();
    await world.advance();
    await world.clock.advance(7.7 * hourMs);
    await world.advance();
    expect(world.searches.map(({ isEndedAsCut }) => isEndedAsCut)).toEqual([true, true]);
  });
});

describe('limits', () => {
  test('a pause prevents planning and aborts a running planning', async () => {
    const world = new WorkWorld();
    expect(await world.advance({ isPaused: true })).toMatchObject({ stage: 'planning', waitsFor: { kind: 'paused' } });
    expect([...world.destination.objects.keys()]).toEqual([]);
    let given: AbortSignal | undefined;
    world.planning = (_, { jobs: { signal } }) => {
      given = signal;
      return new Promise((__, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    };
    await world.advance({ isPaused: false });
    expect(given?.aborted).toBe(false);
    expect(await world.advance({ isPaused: true })).toMatchObject({ waitsFor: { kind: 'paused' }, trouble: undefined });
    expect(given?.aborted).toBe(true);
  });

  test('during a pause, searches with a job are read to the end and no other search starts', async () => {
    const world = new WorkWorld();
    await world.advance({ parallelism: 2 });
    world.search(1).createdAtMs = undefined;
    expect(await world.advance({ isPaused: true })).toMatchObject({ searches: 1, waitsFor: { kind: 'paused' } });
    expect(await world.commit(0)).toMatchObject({ searches: 0, progress: { intervalsDone: 1 } });
    expect(await world.advance({ isPaused: false })).toMatchObject({ searches: 2 });
  });

  test('E11: a range that is too new is reported during and after the test search of the planning', async () => {
    const world = new WorkWorld();
    world.clock.skewMs = fromMs - world.clock.now();
    let waits = () => {};
    world.planning = (_, { jobs: { signal }, onWait }) => {
      waits = () => onWait?.({ settlesAtMs: fromMs + hourMs, isTried: true });
      return new Promise((__, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    };
    const untilMs = fromMs + limits.settleDelayMs;
    expect(await world.advance()).toMatchObject({ waitsFor: { kind: 'settling', untilMs }, requeueAfterMs: 180_000 });
    waits();
    expect(await world.advance()).toMatchObject({ waitsFor: { kind: 'settling', untilMs: fromMs + hourMs } });
  });

  test.each([
    [true, undefined],
    [false, 'test.failed'],
  ])(
    'a failure of the planning is over after the test search of a range that is too new (%s)',
    async (isTried, code) => {
      const world = new WorkWorld();
      const down = failure();
      world.planning = () => Promise.reject(down);
      expect(await world.advance()).toMatchObject({ lastError: down });
      world.planning = (_, { jobs: { signal }, onWait }) => {
        onWait?.({ settlesAtMs: world.clock.now() + hourMs, isTried });
        return new Promise((__, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
      };
      await world.clock.advance(60_000);
      const { lastError, waitsFor } = await world.advance();
      expect([lastError?.code, waitsFor?.kind]).toEqual([code, 'settling']);
    },
  );

  test('a planning is costly to abort while its searches run, but not during a test search', async () => {
    const world = new WorkWorld();
    let waits: (wait: PlanningWait) => void = () => {};
    let jobs: JobSet | undefined;
    world.planning = (_, options) => {
      jobs = options.jobs;
      const { signal } = jobs;
      waits = options.onWait ?? waits;
      return new Promise((__, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    };
    await world.advance();
    const job = openJob();
    waits({ settlesAtMs: world.clock.now() + hourMs, isTried: false });
    jobs?.add(job, 'Rows');
    expect(world.work.isPlanning).toBe(false);
    await jobs?.close(job);
    waits({ settlesAtMs: undefined, isTried: true });
    expect(world.work.isPlanning).toBe(false);
    jobs?.add(job, 'Rows');
    expect(world.work.isPlanning).toBe(true);
  });

  test('searches without a job are reported as waiting after ten seconds', async () => {
    const world = new WorkWorld();
    await world.advance();
    for (const search of world.searches) search.createdAtMs = undefined;
    expect(await world.advance()).toMatchObject({ searches: 2, waitingSearches: 0, requeueAfterMs: 10_000 });
    await world.clock.advance(10_000);
    expect(await world.advance()).toMatchObject({ searches: 2, waitingSearches: 2 });
  });

  test.each<[string, Partial<WorkLimits>, object]>([
    ['is paused', { isPaused: true }, { kind: 'paused' }],
    ['waits for its range to settle', { settleDelayMs: 10 * hourMs }, { kind: 'settling' }],
  ])('the deadline also applies to an export without a plan that %s', async (_, more, waitsFor) => {
    const world = new WorkWorld();
    world.planning = (_, { jobs: { signal } }) =>
      new Promise((__, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    world.clock.skewMs = fromMs - world.clock.now();
    const deadlineMs = world.clock.now() + 60_000;
    expect(await world.advance({ ...more, deadlineMs })).toMatchObject({ waitsFor, requeueAfterMs: 60_000 });
    await world.clock.advance(60_000);
    const view = await world.advance();
    expect(view).toMatchObject({ stage: 'planning', waitsFor: { kind: 'deadline' } });
    expect(view.requeueAfterMs).toBeGreaterThan(60_000);
  });

  test('a planning that waits while the clock jumps is checked at most once a second', async () => {
    const world = new WorkWorld();
    world.planning = (_, { jobs: { signal }, onWait }) => {
      onWait?.({ settlesAtMs: world.clock.now() + 60_000, isTried: true });
      return new Promise((__, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    };
    expect(await world.advance()).toMatchObject({ waitsFor: { kind: 'settling' }, requeueAfterMs: 60_000 });
    world.clock.skewMs += hourMs;
    expect(await world.advance()).toMatchObject({ waitsFor: { kind: 'settling' }, requeueAfterMs: 1_000 });
  });

  test('E11: a planning that waits for its range to settle starts again when the delay changes', async () => {
    const world = new WorkWorld();
    const delaysMs: number[] = [];
    world.planning = (_, { jobs: { signal }, settleDelayMs }) => {
      delaysMs.push(settleDelayMs);
      return new Promise((__, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    };
    await world.advance();
    expect(await world.advance({ settleDelayMs: 240_000 })).toMatchObject({ stage: 'planning', trouble: undefined });
    expect(delaysMs).toEqual([180_000, 240_000]);
  });

  test('the maximum of scanned bytes ends the planning, whose scanned bytes count', async () => {
    const world = new WorkWorld();
    const { planning } = world;
    const job = openJob();
    world.planning = (_, { jobs }) => {
      const { signal } = jobs;
      jobs.add(job, 'Count');
      return new Promise((__, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    };
    expect(await world.advance({ maxBytesScanned: 100 })).toMatchObject({ stage: 'planning', waitsFor: undefined });
    job.progress.scannedBytes = 99;
    expect(await world.advance()).toMatchObject({ waitsFor: undefined, progress: { rows: 0, scannedBytes: 99 } });
    job.progress.scannedBytes = 101;
    expect(await world.advance()).toMatchObject({ waitsFor: { kind: 'maxBytesScanned' } });
    expect(await world.advance()).toMatchObject({ progress: { scannedBytes: 101 }, trouble: undefined });
    world.planning = planning;
    const view = await world.advance({ maxBytesScanned: 200 });
    expect(view).toMatchObject({ stage: 'exporting', progress: { scannedBytes: 101 } });
  });

  test('bytes that former processes scanned count', async () => {
    const world = new WorkWorld({ scannedBytes: 100 });
    expect(await world.advance({ maxBytesScanned: 100 })).toMatchObject({
      searches: 0,
      waitsFor: { kind: 'maxBytesScanned' },
    });
    await world.advance({ maxBytesScanned: 101, parallelism: 1 });
    world.search(0).scannedBytes = 5;
    world.search(0).end({ kind: 'again', isFailure: false, message: 'again' });
    expect(await world.advance()).toMatchObject({
      waitsFor: { kind: 'maxBytesScanned' },
      progress: { scannedBytes: 105 },
    });
  });
});

describe('a failure', () => {
  test('of the destination is retried with a growing delay', async () => {
    const world = new WorkWorld();
    world.openFails = failure();
    expect(await world.advance()).toMatchObject({ stage: 'loading', lastError: { code: 'test.failed' } });
    await world.clock.advance(1_000);
    world.openFails = failure();
    expect((await world.advance()).requeueAfterMs).toBe(2_000);
    await world.clock.advance(2_000);
    expect(await world.advance()).toMatchObject({ stage: 'exporting', lastError: undefined });
  });

  test('of the query during the planning is retried with a growing delay', async () => {
    const world = new WorkWorld();
    world.planning = () => Promise.reject(failure('stall', 'RawMessagesNotAvailable'));
    const waits: number[] = [];
    for (let times = 0; times < 5; times++) {
      const { requeueAfterMs } = await world.advance();
      waits.push(requeueAfterMs);
      await world.clock.advance(requeueAfterMs);
    }
    expect(waits).toEqual([30_000, 60_000, 120_000, 240_000, 300_000]);
  });

  test('a manifest that is too large is retried with a growing delay', async () => {
    const world = new WorkWorld();
    await world.advance({ parallelism: 3 });
    world.destination.strike = (call, name) =>
      call === 'create' && name === manifestName ? { failure: 'tooMuch' } : undefined;
    for (const segment of [0, 1, 2]) await world.commit(segment);
    const waits: number[] = [];
    for (let times = 0; times < 5; times++) {
      const { requeueAfterMs, lastError } = await world.advance();
      expect(lastError?.reason).toBe('InvalidSpec');
      waits.push(requeueAfterMs);
      await world.clock.advance(requeueAfterMs);
    }
    expect(waits).toEqual([30_000, 60_000, 120_000, 240_000, 300_000]);
  });

  test('a plan of another range is refused', async () => {
    const world = new WorkWorld();
    await storePlanOnce(world.destination, definition.layout, { boundariesMs: [fromMs, fromMs + hourMs] });
    expect(await world.advance()).toMatchObject({ stage: 'loading', lastError: { reason: 'DestinationDamaged' } });
  });

  test('contradicting records stop all searches, and are read again every 30 seconds', async () => {
    const world = new WorkWorld();
    await world.advance({ parallelism: 1 });
    const stray = emptyRecord({ ...order(2), toMs: order(2).toMs - 5 });
    await commit(world.destination, definition.layout, stray);
    world.work.tryAgain();
    expect(await world.advance()).toMatchObject({ searches: 1, waitsFor: { kind: 'disorder' } });
    const name = definition.layout.commit(stray.segment, stray.toMs);
    expect(recordKind.decode(name, world.destination.objects.get(name) as Uint8Array)).toEqual(stray);
    world.destination.objects.delete(name);
    await world.clock.advance(30_000);
    expect(await world.advance({ parallelism: 2 })).toMatchObject({ searches: 2, waitsFor: undefined });
  });

  test('most readings of contradicting records check only the names', async () => {
    const world = new WorkWorld();
    const [whole, stray] = [emptyRecord(order(1)), emptyRecord({ ...order(2), toMs: order(2).toMs - 5 })];
    await storePlanOnce(world.destination, definition.layout, plan);
    for (const record of [whole, stray]) await commit(world.destination, definition.layout, record);
    const { destination } = world;
    const read = destination.read.bind(destination);
    let reads = 0;
    destination.read = (name) => {
      if (name.startsWith(definition.layout.commits)) reads++;
      return read(name);
    };
    expect(await world.advance()).toMatchObject({ waitsFor: { kind: 'disorder' } });
    expect(reads).toBe(2);
    for (let looks = 1; looks < 20; looks++) {
      await world.clock.advance(30_000);
      await world.advance();
    }
    expect(reads).toBe(2);
    // The new commit record fills the gap between the other records. The records no longer contradict each other, so
    // the export rereads all of them.
    await commit(destination, definition.layout, { ...emptyRecord(order(2)), fromMs: stray.toMs });
    await world.clock.advance(30_000);
    expect(await world.advance()).toMatchObject({ waitsFor: undefined });
    expect(reads).toBeGreaterThan(3);
  });

  test('closed work has nothing in flight and starts nothing', async () => {
    const world = new WorkWorld();
    await world.advance();
    await world.work.close();
    expect(await Promise.all(world.searches.map(({ done }) => done))).toEqual([
      { kind: 'stopped' },
      { kind: 'stopped' },
    ]);
    expect(await world.advance()).toMatchObject({ searches: 0 });
    expect(world.searches).toHaveLength(2);
  });
});

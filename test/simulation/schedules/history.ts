/**
 * Simulates a schedule with two operator replicas, while requests fail, replicas are killed, and users change the
 * schedule.
 */
import { Cron } from 'croner';
import type { SearchExport, SearchExportSchedule } from '../../../src/api/kinds.ts';
import { type Random, seededRandom } from '../../../src/base/random.ts';
import type { TimeRange } from '../../../src/base/time-range.ts';
import { dayMs, hourMs, minuteMs } from '../../../src/base/time-units.ts';
import { ScheduleLayout } from '../../../src/destination/schedule-records.ts';
import { runStateOf } from '../../../src/schedule/run-index.ts';
import { readRunTimes } from '../../../src/schedule/run-name.ts';
import {
  every,
  exportsCollection,
  exportsPath,
  overlaps,
  ScheduleWorld,
  schedulesPath,
  startMs,
  textsIn,
} from '../../integration/schedule/schedule-world.ts';
import type { RequestFault, RequestInfo } from '../../support/memory-api-server.ts';
import type { DestinationFault } from '../../support/memory-destination.ts';
import type { WatchFault } from '../../support/memory-watch.ts';
import type { SimulatedProcess } from '../../support/simulated-process.ts';

const messages = every(31 * minuteMs, startMs - dayMs, startMs + 4 * dayMs);
const schedulesCollection = `${exportsCollection.slice(0, -1)}schedules`;
const startRecord = ScheduleLayout.of('hourly').start;
const steps = 10;
const replicas = 2;
/** Value of `activeDeadlineSeconds` that makes every run fail, because every run takes longer. */
const tooFewSeconds = 1;

/** Result of a simulation. */
interface ScheduleHistory {
  readonly violations: readonly string[];
  /** Number of runs that failed. */
  readonly failedRuns: number;
  /** Number of deleted runs whose time ranges the status still showed as gaps. */
  readonly storedGaps: number;
}

export async function scheduleHistory(seed: number): Promise<ScheduleHistory> {
  const history = new ScheduleRun(seed);
  await history.run();
  const { violations, failedRuns, storedGaps } = history;
  return { violations, failedRuns: failedRuns.size, storedGaps: storedGaps.size };
}

class ScheduleRun {
  readonly violations: string[] = [];
  /** Names of runs whose time ranges the status has shown as gaps. */
  readonly failedRuns = new Set<string>();
  /** Names of deleted runs whose time ranges the status still showed as gaps. */
  readonly storedGaps = new Set<string>();
  readonly #random: Random;
  readonly #world: ScheduleWorld;
  #isTroubled = true;
  readonly #doomed = new Set<SimulatedProcess>();
  /**
   * Whether this simulation removes schedule records from the destination. Otherwise, it deletes statuses and
   * schedules.
   */
  readonly #losesRecords: boolean;
  /** Removed schedule records, by name. The operator may rewrite a removed record with the same content. */
  readonly #removed = new Map<string, Uint8Array>();
  /** Whether an export manifest was removed, so that the rows of its run can no longer be read. */
  #hasLostManifests = false;
  /**
   * Times that the operator may store as the start of a schedule without `startTime` (S2). Each of these times is the
   * last tick of a cron schedule before the SearchExportSchedule was created. Only cron schedules that were set before
   * the start was stored count.
   */
  readonly #possibleStarts = new Set<number>();
  #before: SearchExportSchedule['status'];
  /** Time in ms until which watch events are delayed. */
  #lateUntilMs = 0;
  #maxActive = 2;

  constructor(seed: number) {
    this.#random = seededRandom(seed);
    this.#losesRecords = seed % 3 === 0;
    this.#world = new ScheduleWorld({ messages });
    const { api } = this.#world.world;
    api.onRequest = (info) => this.#faultOf(info);
    api.onWatchEvent = () => this.#watchFault();
    this.#world.strike = (call, name) =>
      name.includes('/schedule') && call !== 'read' ? this.#recordFault() : undefined;
    const { onEvent } = api.store;
    api.store.onEvent = (event) => {
      if (event.collection === exportsCollection && event.type === 'ADDED')
        this.#checkCreated(event.object.metadata.name);
      if (event.collection === schedulesCollection) {
        this.#addPossibleStart(event.object as unknown as SearchExportSchedule);
        if (event.type === 'MODIFIED') this.#checkGaps();
      }
      onEvent(event);
    };
  }

  async run(): Promise<void> {
    const world = this.#world;
    const { clock } = world.world;
    const hasStart = this.#happens(0.7);
    const fromMs = startMs - (hasStart ? this.#whole(6) * hourMs : 0);
    const times = hasStart ? { startTime: new Date(fromMs).toISOString().replace('.000', '') } : {};
    const hasFailures = this.#happens(0.4);
    const template = hasFailures ? { activeDeadlineSeconds: tooFewSeconds } : {};
    world.add({ ...times, failedRunsHistoryLimit: hasFailures ? 0 : 3 }, template);
    for (let step = 0; step < steps && this.violations.length === 0; step++) {
      this.#revive();
      await this.#pass(this.#random.next() * 12 * minuteMs);
      this.#disturb();
      if (this.#happens(0.8)) continue;
      for (const replica of [...world.world.replicas]) replica.kill();
      if (!this.#losesRecords && this.#happens(0.5)) await this.#recreate(times);
      await clock.advance(this.#random.next() * 5 * hourMs);
    }
    this.#isTroubled = false;
    this.#revive();
    world.patch({
      spec: { schedule: '0 * * * *', paused: false, template: { spec: { activeDeadlineSeconds: null } } },
    });
    await this.#pass(10 * minuteMs);
    world.retry();
    await this.#pass(10 * minuteMs);
    const isCovered = () => {
      const isRecorded = world.records().length + this.#removed.size > 0;
      const coveredMs = Date.parse(world.status?.coveredUntil ?? '');
      return this.violations.length > 0 || (isRecorded && coveredMs >= clock.now() - 70 * minuteMs);
    };
    if (!(await world.until(isCovered, dayMs))) {
      this.#violate('S1', `only the time until ${world.status?.coveredUntil} is covered: ${world.ready?.message}`);
    }
    this.#checkRecords(hasStart ? fromMs : this.#storedStart());
    for (const replica of [...world.world.replicas]) replica.kill();
  }

  async #pass(timeMs: number): Promise<void> {
    await this.#world.until(() => this.violations.length > 0, timeMs);
  }

  #violate(rule: string, problem: string): void {
    this.violations.push(`${rule}: ${problem}`);
  }

  /** Checks the time range of a new run. It must not overlap another run or a reported gap (S1, S5). */
  #checkCreated(name: string): void {
    const span = spanOf(name);
    const { status } = this.#world;
    const read = (list: readonly { readonly from: string; readonly to: string }[] = []) =>
      list.map(({ from, to }) => ({ fromMs: Date.parse(from), toMs: Date.parse(to) }));
    const others = this.#world.runs().map(({ metadata }) => metadata.name);
    const taken = {
      S1: [
        ...this.#world.records(),
        ...this.#timeOfRemoved(),
        ...read(status?.covered),
        ...others.filter((each) => each !== name).map(spanOf),
      ],
      S5: read(status?.gaps),
    };
    const unfinished = this.#world.runs().filter((run) => !hasEnded(run));
    const active = unfinished.length;
    // If a run is stalled, the newest due run may be active in addition to the maximum number of runs.
    if (active > this.#maxActive + Number(unfinished.some((run) => runStateOf(run) === 'Stalled')))
      this.#violate('S3', `${active} runs are active`);
    for (const [rule, spans] of Object.entries(taken)) {
      if (spans.some((each) => overlaps(each, span)))
        this.#violate(rule, `${name} is created for a time that another run or a gap contains`);
    }
  }

  /** Checks that the status shows a gap until a user requests a retry of its run (S5). */
  #checkGaps(): void {
    const { status } = this.#world;
    const isHandled = status?.lastHandledReconcileAt !== this.#before?.lastHandledReconcileAt;
    const gaps = new Set(status?.gaps?.map(({ run }) => run));
    for (const run of gaps) {
      this.failedRuns.add(run);
      if (!this.#world.run(run)) this.storedGaps.add(run);
    }
    for (const { run } of status && !isHandled ? (this.#before?.gaps ?? []) : []) {
      if (!gaps.has(run)) this.#violate('S5', `the gap of ${run} disappeared without a request`);
    }
    this.#before = status;
  }

  /**
   * Adds the start that the operator would store now for a schedule without `startTime`, unless a start is already
   * stored.
   */
  #addPossibleStart({ spec: { schedule }, metadata: { creationTimestamp } }: SearchExportSchedule): void {
    if (this.#world.store.objects.has(startRecord)) return;
    const nextSecond = new Date(Date.parse(creationTimestamp) + 1_000);
    for (const lastTick of new Cron(schedule, { utcOffset: 0 }).previousRuns(1, nextSecond))
      this.#possibleStarts.add(lastTick.getTime());
  }

  /** Returns the stored start of the schedule, in ms. Checks that it is a possible start (S2). */
  #storedStart(): number {
    const content = this.#world.store.objects.get(startRecord);
    const { fromMs } = content ? JSON.parse(Buffer.from(content).toString()) : { fromMs: Number.NaN };
    if (!this.#possibleStarts.has(fromMs)) this.#violate('S2', `the stored start is ${fromMs}`);
    return fromMs;
  }

  async #recreate(times: object): Promise<void> {
    const world = this.#world;
    for (const { metadata } of world.runs()) world.world.api.remove(`${exportsPath}/${metadata.name}`);
    world.world.api.remove(`${schedulesPath}/hourly`);
    await world.world.clock.advance(this.#random.next() * 3 * hourMs);
    this.#before = undefined;
    world.add(times);
  }

  /** Removes a schedule record, as a bucket's lifecycle rule would. */
  #loseRecord(): void {
    const names = [...this.#world.store.objects.keys()].filter((name) => name.startsWith('hourly/schedule/runs/'));
    const name = names[this.#whole(names.length)];
    const span = name && spanOfRecord(name);
    const isShown = this.#world.status?.covered?.some(
      ({ from, to }) => span && Date.parse(from) <= span.fromMs && span.toMs <= Date.parse(to),
    );
    if (!name || !span || !isShown) return;
    const { objects } = this.#world.store;
    this.#removed.set(name, objects.get(name) ?? new Uint8Array());
    objects.delete(name);
    const manifest = this.#happens(0.5) ? this.#manifestOf(name) : undefined;
    if (manifest === undefined) return;
    objects.delete(manifest);
    this.#hasLostManifests = true;
  }

  /**
   * Returns the name of a run's export manifest, or undefined if the manifest does not exist. `record` is the name of
   * the run's schedule record.
   */
  #manifestOf(record: string): string | undefined {
    const run = record.slice('hourly/schedule/runs/'.length, -'.json'.length);
    const { objects } = this.#world.store;
    return [...objects.keys()].find((name) => name.startsWith(`hourly-${run}/`) && name.endsWith('/manifest.json'));
  }

  /** Returns the time ranges of removed schedule records that the operator has not yet rewritten. */
  #timeOfRemoved(): readonly TimeRange[] {
    const { objects } = this.#world.store;
    return [...this.#removed.keys()].filter((name) => !objects.has(name)).map(spanOfRecord);
  }

  /**
   * Checks that removed schedule records are rewritten. If the status shows a run as complete, its record must be
   * rewritten with the same content (S1).
   */
  #checkRestored(): void {
    const { objects } = this.#world.store;
    for (const [name, content] of this.#removed) {
      const restored = objects.get(name);
      if (restored && Buffer.compare(restored, content) !== 0)
        this.#violate('S1', `${name} was written again with other content`);
    }
    const lost = new Set([...this.#removed.keys()].filter((name) => !objects.has(name)));
    for (const { name, state } of this.#world.status?.runs ?? []) {
      const record = `hourly/schedule/runs/${name.slice('hourly-'.length)}.json`;
      if (state === 'Complete' && lost.has(record) && this.#manifestOf(record) !== undefined)
        this.#violate('S1', `the lost record of ${name} was not written again`);
    }
  }

  /**
   * Checks that schedule records cover the whole time without gaps or overlaps, and that their files contain each
   * message once.
   */
  #checkRecords(fromMs: number): void {
    this.#checkRestored();
    const records = [...this.#world.records(), ...this.#timeOfRemoved()].sort((a, b) => a.fromMs - b.fromMs);
    if (records[0]?.fromMs !== fromMs) this.#violate('S2', `the first record begins at ${records[0]?.fromMs}`);
    for (const [index, record] of records.entries()) {
      if (index > 0 && record.fromMs !== records[index - 1]?.toMs) this.#violate('S1', 'records overlap, or have gaps');
    }
    const toMs = records.at(-1)?.toMs ?? 0;
    if (this.#timeOfRemoved().length > 0 || this.#hasLostManifests) return;
    const rows = this.#world.rowsOfRecords();
    if (rows.join() !== textsIn(messages, { fromMs, toMs }).join())
      this.#violate('S1', 'rows are missing or occur twice');
  }

  #revive(): void {
    const { world } = this.#world;
    while (world.replicas.length < replicas) world.start({ leaderElection: true, watchSeconds: 30 });
  }

  #faultOf({ client, method, collection: named, subresource }: RequestInfo): RequestFault | undefined {
    const isWrite = method === 'POST' || method === 'DELETE' || (method === 'PUT' && subresource === 'status');
    if (!this.#isTroubled || !named.startsWith('logfleet.dev/')) return undefined;
    if (method === 'POST' && this.#happens(0.1)) return this.#loseResponse();
    if (isWrite && this.#happens(0.04)) return this.#killAt(client);
    if (!this.#happens(isWrite ? 0.06 : 0.02)) return undefined;
    const when = this.#happens(0.5) ? 'before' : 'after';
    const faults: readonly RequestFault[] = [
      { kind: 'status', status: 500, when },
      { kind: 'status', status: 409, when: 'before' },
      { kind: 'status', status: 403, when: 'before' },
      { kind: 'status', status: 422, when: 'before' },
      { kind: 'reset', when },
      { kind: 'stall', when },
      { kind: 'delay', delayMs: this.#whole(12_000) },
    ];
    return faults[this.#whole(faults.length)];
  }

  /**
   * Returns a fault that loses the response to the creation of a run. Soon after this fault, the test changes the cron
   * schedule.
   */
  #loseResponse(): RequestFault {
    this.#lateUntilMs = this.#world.world.clock.monotonic() + 15_000;
    this.#world.world.clock.after(100, () => {
      const schedule = ['0 * * * *', '*/20 * * * *', '30 * * * *'][this.#whole(3)];
      if (this.#isTroubled && this.#world.schedule) this.#world.patch({ spec: { schedule } });
    });
    return { kind: 'reset', when: 'after' };
  }

  #watchFault(): WatchFault | undefined {
    if (this.#world.world.clock.monotonic() < this.#lateUntilMs) return { kind: 'delay', delayMs: 15_000 };
    if (!this.#isTroubled || !this.#happens(0.03)) return undefined;
    const faults = [{ kind: 'delay', delayMs: this.#whole(20_000) }, { kind: 'cut' }, { kind: 'silence' }] as const;
    return faults[this.#whole(faults.length)];
  }

  #recordFault(): DestinationFault | undefined {
    if (!this.#isTroubled || !this.#happens(0.08)) return undefined;
    const hasEffect = this.#happens(0.5);
    if (this.#happens(0.4)) {
      for (const { name } of this.#world.world.replicas) this.#killAt(name);
    }
    return { failure: 'away', hasEffect };
  }

  /** Kills a replica right before or right after one of its requests takes effect. */
  #killAt(client: string): RequestFault | undefined {
    const replica = this.#world.world.replicas.find(({ name }) => name === client);
    if (!replica || this.#doomed.has(replica)) return undefined;
    this.#doomed.add(replica);
    queueMicrotask(() => replica.kill());
    return this.#happens(0.5) ? { kind: 'reset', when: 'before' } : undefined;
  }

  #disturb(): void {
    const world = this.#world;
    const { api } = world.world;
    const runs = world.runs();
    const run = runs[this.#whole(runs.length)];
    const template = (spec: object) => world.patch({ spec: { template: { spec } } });
    const actions = [
      () => (this.#losesRecords ? this.#loseRecord() : this.#loseStatus()),
      () => run && api.remove(`${exportsPath}/${run.metadata.name}`),
      () => run && api.remove(`${exportsPath}/${run.metadata.name}`),
      () => template({ query: this.#happens(0.5) ? '*' : '_raw=*' }),
      () => world.patch({ spec: { schedule: this.#happens(0.5) ? '0 * * * *' : '20 */2 * * *' } }),
      () => world.patch({ spec: { schedule: this.#happens(0.5) ? '30 * * * *' : '*/20 * * * *' } }),
      () => world.patch({ spec: { backfillOrder: this.#happens(0.5) ? 'OldestFirst' : 'NewestFirst' } }),
      () => {
        const maxActive = 1 + this.#whole(4);
        this.#maxActive = Math.max(this.#maxActive, maxActive);
        world.patch({ spec: { maxActive } });
      },
      () => world.patch({ spec: { paused: this.#happens(0.3) } }),
      () =>
        world.patch({ spec: { failedRunsHistoryLimit: this.#whole(2), successfulRunsHistoryLimit: this.#whole(3) } }),
      () => template({ activeDeadlineSeconds: this.#happens(0.5) ? tooFewSeconds : null }),
      () => world.retry(),
      () => world.world.replicas[0]?.kill(),
    ];
    actions[this.#whole(actions.length)]?.();
  }

  #loseStatus(): void {
    this.#before = undefined;
    this.#world.world.api.patch(`${schedulesPath}/hourly/status`, { status: null });
  }

  #happens(probability: number): boolean {
    return this.#random.next() < probability;
  }

  #whole(count: number): number {
    return Math.floor(this.#random.next() * count);
  }
}

function hasEnded({ status }: SearchExport): boolean {
  return status?.conditions?.some(({ type }) => type === 'Complete' || type === 'Failed') ?? false;
}

function spanOf(name: string): TimeRange {
  return readRunTimes(name.slice('hourly-'.length)) ?? { fromMs: 0, toMs: 0 };
}

function spanOfRecord(name: string): TimeRange {
  return spanOf(`hourly-${name.slice('hourly/schedule/runs/'.length, -'.json'.length)}`);
}

/** Simulates the whole operator with one schedule and an in-memory destination. */
import type { Scenario } from '../../../simulator/scenario/scenario.ts';
import { type Message, RowData } from '../../../simulator/test/row-data.ts';
import { findCondition } from '../../../src/api/conditions.ts';
import type { SearchExport, SearchExportSchedule } from '../../../src/api/kinds.ts';
import type { TimeRange } from '../../../src/base/time-range.ts';
import { dayMs, hourMs } from '../../../src/base/time-units.ts';
import { ScheduleLayout } from '../../../src/destination/schedule-records.ts';
import { readRunTimes, runName, runTimes } from '../../../src/schedule/run-name.ts';
import { type ScheduleVerification, verifySchedule } from '../../../src/schedule/schedule-verification.ts';
import { MemoryDestination, type MemoryStore } from '../../support/memory-destination.ts';
import { MemoryExports } from '../../support/memory-exports.ts';
import type { SimulatedProcess } from '../../support/simulated-process.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';
import { exportDefaults, exportsCollection, exportsPath, World } from '../../support/world.ts';

export { exportsCollection, exportsPath };

/** Wall-clock time in ms at the start: 1 a.m. in New York, which occurs twice on this day. */
export const startMs = Date.UTC(2026, 10, 1, 5);

export const schedulesPath = '/apis/logfleet.dev/v1alpha1/namespaces/logging/searchexportschedules';

/** Schedule fields with the defaults set by the API server. */
const scheduleDefaults = {
  schedule: '0 * * * *',
  timeZone: 'UTC',
  paused: false,
  maxActive: 2,
  backfillOrder: 'NewestFirst',
  successfulRunsHistoryLimit: 3,
  failedRunsHistoryLimit: 3,
} as const;

/** Returns messages at regular intervals. The text of each message is its time. */
export function every(stepMs: number, fromMs: number, toMs: number): readonly Message[] {
  const count = Math.ceil((toMs - fromMs) / stepMs);
  return Array.from({ length: count }, (_, index) => {
    const at = fromMs + index * stepMs;
    return { at, raw: new Date(at).toISOString(), fields: { _messageid: String(index) } };
  });
}

export interface ScheduleWorldOptions {
  readonly messages?: readonly Message[];
  readonly scenario?: Scenario;
  readonly epochMs?: number;
  /**
   * Whether searches find only messages that the service has already received. Otherwise, searches also find messages
   * that arrive later.
   */
  readonly hidesFuture?: boolean;
  /** Container image for exports in Kubernetes Jobs. Without an image, a schedule's runs cannot be executed as Jobs. */
  readonly workerImage?: string;
}

/** Reports whether two time ranges overlap. */
export function overlaps(one: TimeRange, other: TimeRange): boolean {
  return one.fromMs < other.toMs && other.fromMs < one.toMs;
}

export class ScheduleWorld {
  readonly world: World;
  readonly exports = new MemoryExports({ places: { allowAmbientCredentials: true } });
  /** Destinations of processes that have not been killed. */
  readonly #destinations = new Set<MemoryDestination>();
  /** Called before each destination call. Returns the call's fault, if any. */
  strike: MemoryDestination['strike'] = () => undefined;

  constructor(options: ScheduleWorldOptions = {}) {
    const { messages = [], scenario = {}, epochMs = startMs, hidesFuture = false, workerImage } = options;
    const clock = new VirtualClock(epochMs);
    const data = new RowData(messages);
    const receivedData = () => new RowData(messages.filter(({ at, received = at }) => received <= clock.now()));
    const { fields } = data;
    this.exports.onOpen = (destination) => {
      destination.strike = (call, name) => this.strike(call, name);
      this.#destinations.add(destination);
    };
    this.world = new World({
      clock,
      ...(workerImage === undefined ? {} : { workerImage }),
      scenario: { builds: ['19.100-1'], ...scenario },
      logData: () => (hidesFuture ? { fields, search: (range, filter) => receivedData().search(range, filter) } : data),
      exports: this.exports.options,
    });
    this.world.addSecret();
  }

  get store(): MemoryStore {
    return this.exports.store;
  }

  get opened(): number {
    return this.exports.opened;
  }

  /** Creates a schedule. `template` replaces fields in the spec of its runs. */
  add(spec: object = {}, template: object = {}, name = 'hourly'): void {
    const { paused: _, ...runDefaults } = exportDefaults;
    this.world.api.create(schedulesPath, {
      apiVersion: 'logfleet.dev/v1alpha1',
      kind: 'SearchExportSchedule',
      metadata: { name, namespace: 'logging' },
      spec: { ...scheduleDefaults, template: { spec: { ...runDefaults, ...template } }, ...spec },
    });
  }

  start(): SimulatedProcess {
    return this.world.start();
  }

  kill(replica: SimulatedProcess): void {
    replica.kill();
    for (const destination of this.#destinations) destination.die();
    this.#destinations.clear();
  }

  get schedule(): SearchExportSchedule {
    return this.world.api.get(`${schedulesPath}/hourly`) as unknown as SearchExportSchedule;
  }

  get status() {
    return this.schedule?.status;
  }

  get ready() {
    return findCondition(this.status?.conditions, 'Ready');
  }

  patch(change: object): void {
    this.world.api.patch(`${schedulesPath}/hourly`, change);
  }

  /** Requests a retry of the failed runs, as `logfleet retry` does. */
  retry(): void {
    const requestedAt = String(this.world.clock.now());
    this.patch({ metadata: { annotations: { 'logfleet.dev/requestedAt': requestedAt } } });
  }

  /** Returns the existing runs, sorted by name. */
  runs(): readonly SearchExport[] {
    const all = this.world.api.store.objects(exportsCollection) as unknown as readonly SearchExport[];
    return all.toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
  }

  run(name: string): SearchExport | undefined {
    return this.world.api.get(`${exportsPath}/${name}`) as SearchExport | undefined;
  }

  records(): readonly TimeRange[] {
    const names = [...this.store.objects.keys()].filter((name) => name.startsWith('hourly/schedule/runs/'));
    return names
      .flatMap((name) => readRunTimes(name.slice('hourly/schedule/runs/'.length, -'.json'.length)) ?? [])
      .sort((a, b) => a.fromMs - b.fromMs);
  }

  /** Writes the schedule record of an earlier run, which covers one hour and has no files. */
  addRecord(fromMs: number): void {
    const toMs = fromMs + hourMs;
    const run = runName('hourly', { fromMs, toMs });
    const sha256 = '0'.repeat(64);
    const figures = { fingerprint: sha256, manifestSha256: sha256, rows: 0, bytes: 0, complete: true };
    const content = { kind: 'logfleet.dev/schedule-run', version: 1, run, fromMs, toMs, ...figures };
    const name = ScheduleLayout.of('hourly').run(runTimes({ fromMs, toMs }));
    this.store.objects.set(name, Buffer.from(JSON.stringify(content)));
  }

  /** Verifies the schedule as `logfleet verify --schedule` does. */
  verify(): Promise<ScheduleVerification | undefined> {
    const options = { schedule: 'hourly', manifestsOnly: false, onProgress: () => {} };
    const { signal } = new AbortController();
    return verifySchedule(new MemoryDestination(this.store), ScheduleLayout.of('hourly'), { ...options, signal });
  }

  /** Returns the texts of all exported rows, sorted. Only files listed in a manifest are read. */
  rows(): readonly string[] {
    return this.#rowsOf(this.exports.manifests());
  }

  /** Returns the row texts of all runs with a schedule record, sorted. */
  rowsOfRecords(): readonly string[] {
    const records = [...this.store.objects].filter(([name]) => name.startsWith('hourly/schedule/runs/'));
    const manifests = records.map(([, content]) => {
      const { run, fingerprint } = JSON.parse(Buffer.from(content).toString());
      return `${run}/${fingerprint}/manifest.json`;
    });
    return this.#rowsOf(manifests);
  }

  #rowsOf(manifests: readonly string[]): readonly string[] {
    return manifests
      .flatMap((name) => this.exports.rowsOf(name))
      .map((row) => row['_raw'] ?? '')
      .sort();
  }

  until(done: () => boolean, atMostMs = dayMs): Promise<boolean> {
    return this.world.until(done, atMostMs);
  }
}

/** Returns the texts of the messages in a time range, sorted. */
export function textsIn(messages: readonly Message[], { fromMs, toMs }: TimeRange): readonly string[] {
  return messages
    .filter(({ at }) => at >= fromMs && at < toMs)
    .map(({ raw }) => raw)
    .sort();
}

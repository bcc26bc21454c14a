/** Simulates the whole operator with one export to an in-memory destination. */
import type { Scenario } from '../../../simulator/scenario/scenario.ts';
import { type Message, RowData } from '../../../simulator/test/row-data.ts';
import { type ConditionType, findCondition } from '../../../src/api/conditions.ts';
import type { Metrics } from '../../../src/base/metrics.ts';
import { hourMs, minuteMs } from '../../../src/base/time-units.ts';
import type { Manifest } from '../../../src/destination/manifest.ts';
import type { ExportSettings } from '../../../src/export/resource/export-settings.ts';
import type { EventListener } from '../../../src/host/kubernetes/event-recorder.ts';
import type { MemoryDestination, MemoryStore } from '../../support/memory-destination.ts';
import { MemoryExports } from '../../support/memory-exports.ts';
import type { ServiceMaker } from '../../support/service-world.ts';
import type { SimulatedProcess } from '../../support/simulated-process.ts';
import { exportsPath, secretsPath, World } from '../../support/world.ts';

const secretPath = `${secretsPath}/log-service`;

/** Wall-clock time in ms at which the clocks start. */
export const startMs = Date.UTC(2026, 10, 1);

/** Returns messages at equal intervals in an hour that ended one hour before the test starts. */
export function evenly(count: number): readonly Message[] {
  return Array.from({ length: count }, (_, index) => ({
    at: startMs - 2 * hourMs + Math.floor((index * hourMs) / count),
    raw: `message ${index}`,
    fields: { _messageid: String(index) },
  }));
}

export interface ExportWorldOptions {
  readonly messages?: readonly Message[];
  readonly scenario?: Scenario;
  readonly settings?: Partial<ExportSettings>;
  readonly service?: ServiceMaker;
  readonly workerImage?: string;
  /** Environment of the operator. */
  readonly environment?: Readonly<Record<string, string>>;
}

export class ExportWorld {
  readonly world: World;
  readonly exports: MemoryExports;

  constructor(options: ExportWorldOptions = {}) {
    const { messages = evenly(600), scenario = {}, settings = {}, service, workerImage, environment = {} } = options;
    this.exports = new MemoryExports({ settings, places: { environment } });
    this.world = new World({
      ...(service && { service }),
      ...(workerImage === undefined ? {} : { workerImage }),
      scenario: { builds: ['19.100-1'], ...scenario },
      logData: () => new RowData(messages),
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

  set onOpen(listener: (destination: MemoryDestination) => void) {
    this.exports.onOpen = listener;
  }

  /** Creates an export of the hour that has messages. */
  add(spec: object = {}, metadata: object = {}): void {
    const timeRange = { from: String(startMs - 2 * hourMs), to: String(startMs - hourMs) };
    this.world.addExport('audit', { timeRange, ...spec }, metadata);
  }

  start(options?: {
    readonly leaderElection?: boolean;
    readonly metrics?: Metrics;
    readonly workerImage?: string;
    readonly onEvent?: EventListener;
  }): SimulatedProcess {
    return this.world.start(options);
  }

  get status() {
    return this.world.export('audit')?.status;
  }

  condition(type: ConditionType) {
    return findCondition(this.status?.conditions, type);
  }

  get reason(): string | undefined {
    return this.condition('Ready')?.reason;
  }

  untilReason(reason: string, atMostMs = 30 * minuteMs): Promise<boolean> {
    return this.world.until(() => this.reason === reason, atMostMs);
  }

  /** Applies a merge patch to the export, as a user would. */
  patch(change: object): void {
    this.world.api.patch(`${exportsPath}/audit`, change);
  }

  annotate(name: string, value: string | null): void {
    this.patch({ metadata: { annotations: { [name]: value } } });
  }

  /** Changes members of the Secret with the credentials for the log service. */
  changeSecret(members: Readonly<Record<string, string>>): void {
    const data = Object.fromEntries(
      Object.entries(members).map(([name, value]) => [name, Buffer.from(value).toString('base64')]),
    );
    this.world.api.patch(secretPath, { data });
  }

  removeSecret(): void {
    this.world.api.remove(secretPath);
  }

  /** Returns the texts of all exported rows, sorted. */
  rows(): readonly string[] {
    return this.writtenRows()
      .map((row) => row['_raw'] ?? '')
      .sort();
  }

  /** Returns all rows in the files that belong to the export. */
  writtenRows(): readonly Readonly<Record<string, string>>[] {
    const [manifest] = this.exports.manifests();
    return manifest === undefined ? [] : this.exports.rowsOf(manifest);
  }

  /** Returns the parsed export manifest. */
  manifest() {
    const [, content] = [...this.store.objects].find(([name]) => name.endsWith('/manifest.json')) ?? [];
    if (!content) throw new Error('there is no manifest');
    return JSON.parse(Buffer.from(content).toString()) as Pick<Manifest, 'complete' | 'proof' | 'intervals' | 'totals'>;
  }

  get jobsCreated(): number {
    return this.world.journal.filter(({ operation }) => operation === 'createJob').length;
  }

  jobsActive(): number {
    return this.world.counters().jobsActive;
  }
}

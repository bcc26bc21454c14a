/**
 * Reconciles SearchExportSchedules. For each schedule, a `ScheduleRuntime` object creates the runs. All these objects
 * are discarded when this process stops being the leader.
 */
import type { Accounts } from '../account/accounts.ts';
import type { SearchExportSchedule } from '../api/kinds.ts';
import { keyText } from '../base/key-text.ts';
import type { Ports } from '../base/ports.ts';
import { finished, type Reconciler, type Result, requeue } from '../controller/reconciler.ts';
import { type DestinationSettings, openDestination } from '../destination/open-destination.ts';
import type { Destination } from '../destination/store/destination.ts';
import type { Writer } from '../destination/store/writer.ts';
import { DestinationChoice } from '../export/resource/chosen-destination.ts';
import { type ExportPlaces, exportSettings } from '../export/resource/export-settings.ts';
import type { Host, ResourceKey } from '../host/host.ts';
import { RunIndex } from './run-index.ts';
import { measureSchedules } from './schedule-metrics.ts';
import { ScheduleRuntime, scheduleWaiterOf } from './schedule-runtime.ts';
import { TickCalendars } from './tick-calendar.ts';

export interface ScheduleReconcilerOptions extends Omit<Ports, 'random'> {
  readonly host: Host;
  readonly accounts: Accounts;
  /** Identity of this process as the writer of files. */
  readonly writer: () => Promise<Writer>;
  readonly places: ExportPlaces;
  /** Connects to a destination. Tests can replace this function. */
  readonly openDestination?: ((settings: DestinationSettings) => Promise<Destination>) | undefined;
  readonly enqueue: (key: ResourceKey) => void;
}

/** Delay in ms before the next reconcile if the cache does not contain all runs yet. */
const listDelayMs = 1_000;

export class ScheduleReconciler implements Reconciler {
  readonly #options: ScheduleReconcilerOptions;
  readonly #index: RunIndex;
  readonly #runtimes = new Map<string, ScheduleRuntime>();
  readonly #calendars = new TickCalendars();
  readonly #unsubscribe: readonly (() => void)[];
  #term = 0;
  #isDraining = false;

  constructor(options: ScheduleReconcilerOptions) {
    const { host, enqueue, metrics } = options;
    this.#options = options;
    measureSchedules(metrics, () => (host.leadership.isLeader() ? host.resources('SearchExportSchedule').list() : []));
    this.#index = new RunIndex(host.resources('SearchExport'), enqueue);
    this.#unsubscribe = [
      host.subscribeSettings(() => {
        for (const { metadata } of host.resources('SearchExportSchedule').list()) enqueue(metadata);
      }),
      host.leadership.subscribe(() => this.#followLeadership()),
    ];
  }

  async reconcile(key: ResourceKey, signal: AbortSignal): Promise<Result> {
    const { host } = this.#options;
    this.#followLeadership();
    if (this.#isDraining) return finished;
    const resource = host.resources('SearchExportSchedule').get(key);
    const id = keyText(key);
    if (resource?.metadata.uid !== this.#runtimes.get(id)?.uid) this.#runtimes.delete(id);
    if (!resource || resource.metadata.deletionTimestamp !== undefined) {
      this.#options.accounts.secrets.leave(scheduleWaiterOf(key));
      return finished;
    }
    // Without a list of the runs, the schedule could create a run twice.
    if (!host.resources('SearchExport').synced()) return requeue(listDelayMs, false);
    const writer = await this.#options.writer();
    const runtime = this.#runtimes.get(id) ?? this.#begin(resource, writer);
    this.#runtimes.set(id, runtime);
    return runtime.reconcile(resource, signal);
  }

  /** Called after this process has changed a run. */
  runReconciled(key: ResourceKey): void {
    this.#index.update(key);
  }

  drain(): void {
    this.#isDraining = true;
  }

  /** Always returns true: the process may exit at any time, even between two writes of a schedule (S6). */
  drained(): boolean {
    return true;
  }

  async close(): Promise<void> {
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
    this.#index.close();
  }

  #begin(resource: SearchExportSchedule, writer: Writer): ScheduleRuntime {
    const { host, clock, log, places, accounts, enqueue } = this.#options;
    const term = this.#term;
    const { namespace, name } = resource.metadata;
    const { secretMaxAgeMs } = exportSettings;
    const open = (settings: DestinationSettings) =>
      openDestination(settings, { clock, writer, environment: places.environment });
    return new ScheduleRuntime(resource, {
      ...{ host, clock, accounts },
      log: log.with({ namespace, schedule: name }),
      destination: new DestinationChoice({ secrets: accounts.secrets, places, clock, secretMaxAgeMs }),
      openDestination: this.#options.openDestination ?? open,
      enqueue: () => enqueue({ namespace, name }),
      runs: () => this.#index.runsOf({ namespace, name }),
      draining: () => this.#isDraining,
      calendars: this.#calendars,
      isLeading: () => host.leadership.isLeader() && host.leadership.term() === term,
    });
  }

  /** Drops the state of all schedules when the leader changes, because another leader may have created runs. */
  #followLeadership(): void {
    const { leadership } = this.#options.host;
    if (leadership.isLeader() && leadership.term() === this.#term) return;
    this.#term = leadership.term();
    this.#runtimes.clear();
  }
}

/**
 * The reconciler of SearchExport: one runtime for each export that is worked on. It is thrown away when it has nothing to do (C1), when the
 * resource is another, and when leadership was lost in between. A process that leads no longer ends its searches at once: their jobs are closed, and what they were writing is given up.
 */
import type { Accounts } from '../account/accounts.ts';
import type { SearchExport } from '../api/kinds.ts';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import type { Metrics } from '../base/metrics.ts';
import type { Random } from '../base/random.ts';
import type { Reconciler, Result } from '../controller/reconciler.ts';
import type { Destination } from '../destination/destination.ts';
import { type DestinationSettings, openDestination } from '../destination/open-destination.ts';
import { LeftUploads } from '../destination/s3/left-uploads.ts';
import { Writer } from '../destination/writer.ts';
import type { Host, ResourceKey } from '../host/host.ts';
import { ExportMetrics } from './export-metrics.ts';
import { ExportRuntime, waiterOf } from './export-runtime.ts';
import { type ExportPlaces, type ExportSettings, exportSettings } from './export-settings.ts';
import { TraitsOfServices } from './service-traits.ts';

export interface ExportReconcilerOptions {
  readonly host: Host;
  /** Shared with whoever else speaks to services. Its owner closes it. */
  readonly accounts: Accounts;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly places: ExportPlaces;
  readonly settings?: Partial<ExportSettings>;
  /** Who writes, as the names of files say; this process, where absent. */
  readonly writer?: () => Promise<Writer>;
  /** Opens what is there in truth, where absent. */
  readonly openDestination?: (settings: DestinationSettings) => Promise<Destination>;
  /** Asks the controller for another reconcile of this key. */
  readonly enqueue: (key: ResourceKey) => void;
}

export class ExportReconciler implements Reconciler {
  readonly #options: ExportReconcilerOptions;
  readonly #settings: ExportSettings;
  readonly #traits = new TraitsOfServices();
  /** Outlives the credentials by which they were begun. */
  readonly #left = new LeftUploads();
  readonly #runtimes = new Map<string, ExportRuntime>();
  /** Of runtimes that were thrown away, while something of them is under way. */
  readonly #endings = new Set<Promise<void>>();
  readonly #metrics: ExportMetrics;
  readonly #unsubscribe: readonly (() => void)[];
  #writer: Promise<Writer> | undefined;
  #term = 0;
  #isDraining = false;

  constructor(options: ExportReconcilerOptions) {
    this.#options = options;
    this.#settings = { ...exportSettings, ...options.settings };
    this.#metrics = new ExportMetrics(options.metrics);
    const { host, enqueue } = options;
    this.#unsubscribe = [
      host.subscribeSettings(() => {
        for (const { metadata } of this.#source.list()) enqueue(metadata);
      }),
      host.leadership.subscribe(() => this.#followLeadership()),
    ];
  }

  async reconcile(key: ResourceKey): Promise<Result> {
    const { host, accounts, random, writer: writerOf = () => Writer.ours(random) } = this.#options;
    this.#followLeadership();
    this.#writer ??= writerOf();
    const writer = await this.#writer;
    const name = nameOf(key);
    if (this.#isDraining && !this.#runtimes.has(name)) return { kind: 'settled' };
    const resource = this.#source.get(key);
    if (resource?.metadata.uid !== this.#runtimes.get(name)?.uid) this.#retire(name);
    if (!resource) {
      accounts.secrets.leave(waiterOf(key));
      this.#metrics.forget(key);
      return { kind: 'settled' };
    }
    const runtime = this.#runtimes.get(name) ?? this.#begin(name, resource, writer);
    try {
      return await runtime.reconcile(resource);
    } finally {
      // Thousands of exports that are complete, paused or stalled cost no more than their resources.
      if (runtime.isDormant && this.#runtimes.get(name) === runtime) this.#runtimes.delete(name);
      const newest = this.#source.get(key);
      if (newest && host.leadership.isLeader()) this.#metrics.measure(newest);
    }
  }

  /** From now on nothing is begun, and what runs is ended. */
  drain(): void {
    this.#isDraining = true;
    for (const { key } of this.#runtimes.values()) this.#options.enqueue(key);
  }

  /** Whether nothing is under way any more, and every status says so. */
  drained(): boolean {
    return this.#endings.size === 0 && [...this.#runtimes.values()].every(({ isLeft }) => isLeft);
  }

  /** Ends what is under way, and waits for none of it. */
  async close(): Promise<void> {
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
    this.#endAll();
  }

  get #source() {
    return this.#options.host.resources('SearchExport');
  }

  /** What was learnt in an earlier term is stale, and whoever leads now works on the same exports. */
  #followLeadership(): void {
    const { leadership } = this.#options.host;
    if (leadership.isLeader() && leadership.term() === this.#term) return;
    this.#term = leadership.term();
    this.#metrics.clear();
    this.#options.accounts.secrets.leaveAll();
    this.#endAll();
  }

  #begin(name: string, resource: SearchExport, writer: Writer): ExportRuntime {
    const { host, clock, random, log, places } = this.#options;
    const open = (settings: DestinationSettings) =>
      openDestination(settings, { clock, random, environment: places.environment, left: this.#left });
    const { namespace, name: exportName } = resource.metadata;
    const runtime = new ExportRuntime(resource, {
      ...this.#options,
      ...{ host, writer, traits: this.#traits, settings: this.#settings },
      openDestination: this.#options.openDestination ?? open,
      log: log.with({ namespace, export: exportName }),
      draining: () => this.#isDraining,
    });
    this.#runtimes.set(name, runtime);
    return runtime;
  }

  #retire(name: string): void {
    const runtime = this.#runtimes.get(name);
    if (!runtime) return;
    this.#runtimes.delete(name);
    const ending = runtime
      .close()
      .catch((error: unknown) => this.#options.log.warn('the work on an export did not end well', { error }))
      .finally(() => this.#endings.delete(ending));
    this.#endings.add(ending);
  }

  #endAll(): void {
    for (const name of [...this.#runtimes.keys()]) this.#retire(name);
  }
}

function nameOf({ namespace, name }: ResourceKey): string {
  return `${namespace}/${name}`;
}

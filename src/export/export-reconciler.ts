/**
 * Reconciles SearchExports. Each export with work to do has a runtime object that does this work (C1). When the process
 * loses leadership, all runtimes end their work.
 */
import type { Accounts } from '../account/accounts.ts';
import type { WorkerShares } from '../account/worker-shares.ts';
import type { SearchExport } from '../api/kinds.ts';
import { keyText } from '../base/key-text.ts';
import type { Ports } from '../base/ports.ts';
import { proxyVariables } from '../base/proxy-environment.ts';
import { finished, type Reconciler, type Result } from '../controller/reconciler.ts';
import { type DestinationSettings, openDestination } from '../destination/open-destination.ts';
import type { Destination } from '../destination/store/destination.ts';
import { Writer } from '../destination/store/writer.ts';
import type { Host, ResourceKey } from '../host/host.ts';
import { ExportRuntime } from './export-runtime.ts';
import { JobRuntime } from './jobs/job-runtime.ts';
import { JobShares } from './jobs/job-shares.ts';
import { DestinationChoice } from './resource/chosen-destination.ts';
import { waiterOf } from './resource/export-resource.ts';
import { type ExportPlaces, type ExportSettings, exportSettings } from './resource/export-settings.ts';
import { QuirksOfServices } from './search/service-quirks.ts';
import { measureExports } from './status/export-metrics.ts';
import { type ExportWording, resourceWording } from './status/export-wording.ts';
import { onlyWorker, type WorkerIndex } from './work/worker-segments.ts';

export interface ExportReconcilerOptions extends Ports {
  readonly host: Host;
  /** Accounts of the log service, shared with other reconcilers. */
  readonly accounts: Accounts;
  /** Divides the request budget between the operator and Kubernetes Jobs (B8). */
  readonly shares?: WorkerShares;
  readonly places: ExportPlaces;
  readonly settings?: Partial<ExportSettings>;
  /** Returns the identity of this process, which becomes part of file names. Tests can replace this function. */
  readonly writer?: () => Promise<Writer>;
  /** Opens a destination. Tests can replace this function. */
  readonly openDestination?: (settings: DestinationSettings) => Promise<Destination>;
  /** Wording of user-facing messages. The default is the wording for SearchExports. */
  readonly wording?: ExportWording;
  /** Index of this process among the export's workers, and the number of workers. */
  readonly worker?: WorkerIndex;
  /** Called after each reconcile, when the export's new status can be read. */
  readonly onReconciled?: (key: ResourceKey) => void;
  readonly enqueue: (key: ResourceKey, isActive?: boolean) => void;
}

export class ExportReconciler implements Reconciler {
  readonly #options: ExportReconcilerOptions;
  readonly #settings: ExportSettings;
  readonly #quirks = new QuirksOfServices();
  readonly #runtimes = new Map<string, ExportRuntime | JobRuntime>();
  readonly #jobShares: JobShares | undefined;
  /** Promises for the work of dropped runtimes. Each promise resolves when the work of one runtime has ended. */
  readonly #endings = new Set<Promise<void>>();
  readonly #unsubscribe: readonly (() => void)[];
  #writer: Promise<Writer> | undefined;
  #term = 0;
  #isDraining = false;

  constructor(options: ExportReconcilerOptions) {
    this.#options = options;
    this.#settings = { ...exportSettings, ...options.settings };
    measureExports(options.metrics, () => (options.host.leadership.isLeader() ? this.#source.list() : []));
    const { host, enqueue, shares } = options;
    const { workerJobs: store } = host;
    const enqueueJobs = (isAffected: (runtime: JobRuntime) => boolean) => {
      for (const runtime of this.#runtimes.values()) {
        if (runtime instanceof JobRuntime && isAffected(runtime)) enqueue(runtime.key);
      }
    };
    const onFree = () => enqueueJobs(({ waitsForShare }) => waitsForShare);
    this.#jobShares = store && shares && new JobShares({ ...options, store, shares, onFree });
    this.#unsubscribe = [
      ...(store ? [store.subscribe((exportUid) => enqueueJobs(({ uid }) => uid === exportUid))] : []),
      host.subscribeSettings(() => {
        for (const { metadata } of this.#source.list()) enqueue(metadata);
      }),
      host.leadership.subscribe(() => this.#followLeadership()),
    ];
  }

  async reconcile(key: ResourceKey): Promise<Result> {
    const { accounts, random, writer: writerOf = () => Writer.ours(random) } = this.#options;
    this.#followLeadership();
    this.#writer ??= writerOf();
    const writer = await this.#writer;
    const name = keyText(key);
    if (this.#isDraining && !this.#runtimes.has(name)) return finished;
    const resource = this.#source.get(key);
    if (resource?.metadata.uid !== this.#runtimes.get(name)?.uid) this.#retire(name);
    if (!resource) {
      accounts.secrets.leave(waiterOf(key));
      return finished;
    }
    const runtime = this.#runtimes.get(name) ?? this.#newRuntime(resource, writer);
    this.#runtimes.set(name, runtime);
    try {
      return await runtime.reconcile(resource);
    } finally {
      // To save memory, drops a runtime that has no work.
      if (runtime.isDormant && this.#runtimes.get(name) === runtime) this.#runtimes.delete(name);
      this.#options.onReconciled?.(key);
    }
  }

  /** Ends all work, and prevents new work. */
  drain(): void {
    this.#isDraining = true;
    for (const { key } of this.#runtimes.values()) this.#options.enqueue(key);
  }

  /** Returns true if no work is left, and no status lists search jobs. */
  drained(): boolean {
    return this.#endings.size === 0 && [...this.#runtimes.values()].every(({ isLeft }) => isLeft);
  }

  async close(): Promise<void> {
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
    this.#jobShares?.close();
    this.#endAll();
  }

  get #source() {
    return this.#options.host.resources('SearchExport');
  }

  /**
   * Drops the runtimes of all exports when leadership changes, because another leader may work on these exports in the
   * meantime.
   */
  #followLeadership(): void {
    const { leadership } = this.#options.host;
    if (leadership.isLeader() && leadership.term() === this.#term) return;
    this.#term = leadership.term();
    this.#options.accounts.secrets.leaveAll();
    this.#endAll();
  }

  #newRuntime(resource: SearchExport, writer: Writer): ExportRuntime | JobRuntime {
    const { accounts, clock, log, places, wording = resourceWording, worker = onlyWorker } = this.#options;
    const { namespace, name } = resource.metadata;
    const options = {
      ...this.#options,
      settings: this.#settings,
      log: log.with({ namespace, export: name }),
      draining: () => this.#isDraining,
    };
    if (resource.spec.execution.mode === 'Job') {
      // An export in a Kubernetes Job may access the object store as the pod's ServiceAccount. In that case, the export
      // needs no Secret for the store.
      const ofPod = { ...places, allowAmbientCredentials: true };
      const choice = { ...options, ...this.#settings, secrets: accounts.secrets, places: ofPod };
      const destination = new DestinationChoice(choice);
      const proxy = proxyVariables(places.environment);
      return new JobRuntime(resource, { ...options, shares: this.#jobShares, destination, proxy });
    }
    const open = (settings: DestinationSettings) =>
      openDestination(settings, { clock, writer, environment: places.environment });
    const tools = {
      wording,
      worker,
      writer,
      quirks: this.#quirks,
      openDestination: this.#options.openDestination ?? open,
    };
    return new ExportRuntime(resource, { ...options, ...tools });
  }

  #retire(name: string): void {
    const runtime = this.#runtimes.get(name);
    if (!runtime) return;
    this.#runtimes.delete(name);
    const ending = runtime
      .close()
      .catch((error: unknown) => this.#options.log.warn('the work on an export ended with an error', { error }))
      .finally(() => this.#endings.delete(ending));
    this.#endings.add(ending);
  }

  #endAll(): void {
    for (const name of [...this.#runtimes.keys()]) this.#retire(name);
  }
}

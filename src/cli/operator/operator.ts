/**
 * The operator consists of a host, which gives access to the resources, and of a reconciler and a controller for each
 * kind of resource. It runs in a cluster, on directories of manifests, and in simulations.
 */
import { Accounts } from '../../account/accounts.ts';
import { type RequestLimits, WorkerShares } from '../../account/worker-shares.ts';
import type { KindName } from '../../api/kinds.ts';
import { sleep, systemClock } from '../../base/clock.ts';
import type { Logger } from '../../base/log.ts';
import type { Metrics } from '../../base/metrics.ts';
import type { Ports } from '../../base/ports.ts';
import { Controller } from '../../controller/controller.ts';
import type { Reconciler } from '../../controller/reconciler.ts';
import { Writer } from '../../destination/store/writer.ts';
import { ExportReconciler, type ExportReconcilerOptions } from '../../export/export-reconciler.ts';
import { noPlaces } from '../../export/resource/export-settings.ts';
import type { Host, ResourceKey } from '../../host/host.ts';
import { notificationCounter } from '../../notifications/notifier.ts';
import type { PolicySettings } from '../../policy/attempts/settings.ts';
import { PolicyReconciler, type PolicyReconcilerOptions } from '../../policy/policy-reconciler.ts';
import { ScheduleReconciler } from '../../schedule/schedule-reconciler.ts';
import { type Connect, connectOverTls } from '../../service/connect.ts';
import type { CommandContext } from '../command/context.ts';
import { packageVersion } from '../command/package-folder.ts';

export interface OperatorOptions extends Ports, Pick<PolicyReconcilerOptions, 'decide'> {
  readonly host: Host;
  readonly connect: Connect;
  readonly settings?: Partial<PolicySettings>;
  /** Request limits of this process. Default: the limits of the log service. */
  readonly limits?: RequestLimits;
  /** In a worker: the only user whose credentials this process may use (B8). */
  readonly onlyUser?: string;
  readonly exports?: Partial<
    Pick<ExportReconcilerOptions, 'places' | 'settings' | 'writer' | 'openDestination' | 'wording' | 'worker'>
  >;
}

/** Maximum time in ms that a shutdown waits for the log service's responses to requests in flight. */
const drainMs = 5_000;
const drainPollMs = 50;
/** Maximum number of concurrent reconciles of each kind. */
const workers = 16;

type DrainableReconciler = Reconciler & Pick<ExportReconciler, 'drain' | 'drained' | 'close'>;
type Enqueue = (key: ResourceKey, isActive?: boolean) => void;

export class Operator {
  readonly #options: OperatorOptions;
  readonly #accounts: Accounts;
  readonly #reconcilers: DrainableReconciler[] = [];
  readonly #controllers: Controller[] = [];
  readonly #stop = new AbortController();
  #running: Promise<unknown> | undefined;

  constructor(options: OperatorOptions) {
    this.#options = options;
    const { host, connect, clock, random, log, metrics } = options;
    metrics
      .gauge('logfleet_build_info', 'Version of logfleet, as a label. The value is always 1.', ['version'])
      .set({ version: packageVersion() }, 1);
    notificationCounter(metrics);
    const ports = { clock, random, log, metrics, leadership: host.leadership };
    const { limits, onlyUser } = options;
    const shares = new WorkerShares();
    const ofWorker = { ...(limits && { limits }), ...(onlyUser !== undefined && { onlyUser }) };
    const accounts = new Accounts({ ...ports, secrets: host.secrets, connect, shares, ...ofWorker });
    this.#accounts = accounts;
    const { places = noPlaces, openDestination, writer: writerOf = () => Writer.ours(random) } = options.exports ?? {};
    let identity: Promise<Writer> | undefined;
    const writer = () => (identity ??= writerOf());
    this.#add('CollectorVersionPolicy', (enqueue) => new PolicyReconciler({ ...options, accounts, enqueue }));
    this.#add('SearchExport', (enqueue) => {
      const onReconciled = (key: ResourceKey) => schedules.runReconciled(key);
      return new ExportReconciler({
        ...{ ...ports, host, accounts, shares, places, ...options.exports, writer },
        ...{ onReconciled, enqueue },
      });
    });
    const schedules = this.#add('SearchExportSchedule', (enqueue) => {
      return new ScheduleReconciler({ ...ports, host, places, openDestination, writer, accounts, enqueue });
    });
  }

  #add<R extends DrainableReconciler>(kind: KindName, create: (enqueue: Enqueue) => R): R {
    const { host, clock, random, log, metrics } = this.#options;
    const reconciler = create((key, isActive) => controller.enqueue(key, isActive));
    const controller = new Controller({
      ...{ clock, random, log, metrics, leadership: host.leadership },
      ...{ name: kind.toLowerCase(), workers, reconciler, source: host.resources(kind) },
    });
    this.#reconcilers.push(reconciler);
    this.#controllers.push(controller);
    return reconciler;
  }

  start(): void {
    const { signal } = this.#stop;
    this.#running = Promise.all(this.#controllers.map((controller) => controller.run(signal)));
  }

  /** Resolves when the operator has no work left for any resource. */
  async whenFinished(): Promise<void> {
    while (!this.#controllers.every((controller) => controller.idle())) {
      for (const controller of this.#controllers) await controller.whenFinished();
    }
  }

  /**
   * Stops the operator. Waits up to `drainMs` for the log service's responses, writes them to the ledger (stored
   * rollout state), and closes all connections. After that, the caller may give up leadership.
   */
  async stop(): Promise<void> {
    const { clock } = this.#options;
    const deadlineMs = clock.monotonic() + drainMs;
    for (const reconciler of this.#reconcilers) reconciler.drain();
    while (!this.#reconcilers.every((reconciler) => reconciler.drained()) && clock.monotonic() < deadlineMs) {
      await sleep(clock, drainPollMs);
    }
    await this.kill();
  }

  /** Stops the operator without waiting for responses. */
  async kill(): Promise<void> {
    this.#stop.abort(new Error('the operator stops'));
    await Promise.all(this.#reconcilers.map((reconciler) => reconciler.close()));
    await this.#accounts.close();
    await this.#running;
  }
}

export function serviceConnect(metrics: Metrics, log: Logger, environment: CommandContext['env']): Connect {
  const userAgent = `logfleet/${packageVersion()}`;
  return connectOverTls({ clock: systemClock, metrics, log, userAgent, environment });
}

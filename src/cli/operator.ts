/**
 * The operator: a host, the reconcilers of all kinds, and their controllers. In a cluster, on a directory and in simulations, the same
 * operator runs with different hosts, clocks and connections.
 */
import { Accounts } from '../account/accounts.ts';
import { type Clock, sleep, systemClock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import type { Metrics } from '../base/metrics.ts';
import type { Random } from '../base/random.ts';
import { Controller } from '../controller/controller.ts';
import { Writer } from '../destination/writer.ts';
import { ExportReconciler, type ExportReconcilerOptions } from '../export/export-reconciler.ts';
import { noPlaces } from '../export/export-settings.ts';
import type { Host, ResourceKey } from '../host/host.ts';
import { PolicyReconciler } from '../policy/policy-reconciler.ts';
import type { PolicySettings } from '../policy/settings.ts';
import { ScheduleReconciler } from '../schedule/schedule-reconciler.ts';
import { type Connect, connectOverTls } from '../service/connect.ts';
import type { CommandContext } from './context.ts';
import { packageVersion } from './version.ts';

export interface OperatorOptions {
  readonly host: Host;
  readonly connect: Connect;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly settings?: Partial<PolicySettings>;
  /** Volumes and settings of exports. */
  readonly exports?: Partial<
    Pick<ExportReconcilerOptions, 'places' | 'settings' | 'writer' | 'openDestination' | 'wording'>
  >;
}

/** Maximum time in ms for which a shutdown waits for answers to requests in flight. */
const drainMs = 5_000;
const drainPollMs = 50;
const policyWorkers = 16;
const exportWorkers = 16;
const scheduleWorkers = 16;

export class Operator {
  readonly #options: OperatorOptions;
  readonly #accounts: Accounts;
  readonly #policies: Controller;
  readonly #exports: Controller;
  readonly #schedules: Controller;
  readonly #policyReconciler: PolicyReconciler;
  readonly #exportReconciler: ExportReconciler;
  readonly #scheduleReconciler: ScheduleReconciler;
  readonly #stop = new AbortController();
  #running: Promise<unknown> | undefined;

  constructor(options: OperatorOptions) {
    this.#options = options;
    const { host, connect, clock, random, log, metrics } = options;
    const { leadership, secrets } = host;
    const ports = { clock, random, log, metrics, leadership };
    const accounts = new Accounts({ ...ports, secrets, connect });
    this.#accounts = accounts;
    this.#policyReconciler = new PolicyReconciler({
      ...options,
      accounts,
      enqueue: (key: ResourceKey) => this.#policies.enqueue(key),
    });
    this.#policies = new Controller({
      ...{ ...ports, name: 'collectorversionpolicy', workers: policyWorkers },
      reconciler: this.#policyReconciler,
      source: host.resources('CollectorVersionPolicy'),
    });
    const { places = noPlaces, openDestination, writer: writerOf = () => Writer.ours(random) } = options.exports ?? {};
    let identity: Promise<Writer> | undefined;
    const writer = () => (identity ??= writerOf());
    this.#exportReconciler = new ExportReconciler({
      ...{ ...ports, host, accounts, places, ...options.exports, writer },
      onReconciled: (key) => this.#scheduleReconciler.runReconciled(key),
      enqueue: (key: ResourceKey, isUnderWay?: boolean) => this.#exports.enqueue(key, isUnderWay),
    });
    this.#exports = new Controller({
      ...{ ...ports, name: 'searchexport', workers: exportWorkers },
      reconciler: this.#exportReconciler,
      source: host.resources('SearchExport'),
    });
    this.#scheduleReconciler = new ScheduleReconciler({
      ...{ ...ports, host, places, openDestination, writer, secrets: accounts.secrets },
      enqueue: (key: ResourceKey) => this.#schedules.enqueue(key),
    });
    this.#schedules = new Controller({
      ...{ ...ports, name: 'searchexportschedule', workers: scheduleWorkers },
      reconciler: this.#scheduleReconciler,
      source: host.resources('SearchExportSchedule'),
    });
  }

  get #controllers(): readonly Controller[] {
    return [this.#policies, this.#exports, this.#schedules];
  }

  get #reconcilers() {
    return [this.#policyReconciler, this.#exportReconciler, this.#scheduleReconciler];
  }

  start(): void {
    const { signal } = this.#stop;
    this.#running = Promise.all(this.#controllers.map((controller) => controller.run(signal)));
  }

  /** Resolves when every resource is settled. */
  async whenSettled(): Promise<void> {
    while (!this.#controllers.every((controller) => controller.idle())) {
      for (const controller of this.#controllers) await controller.whenSettled();
    }
  }

  /**
   * Stops the operator. It starts no new work, waits a short time for answers to requests in flight, writes these answers to the ledger,
   * and closes all connections to the service. The caller may release the leadership afterwards.
   */
  async stop(): Promise<void> {
    const { clock } = this.#options;
    const deadlineMs = clock.monotonic() + drainMs;
    const reconcilers = this.#reconcilers;
    for (const reconciler of reconcilers) reconciler.drain();
    while (!reconcilers.every((reconciler) => reconciler.drained()) && clock.monotonic() < deadlineMs) {
      await sleep(clock, drainPollMs);
    }
    await this.kill();
  }

  /** Stops the operator immediately, without waiting for answers. */
  async kill(): Promise<void> {
    this.#stop.abort(new Error('the operator stops'));
    await Promise.all(this.#reconcilers.map((reconciler) => reconciler.close()));
    await this.#accounts.close();
    await this.#running;
  }
}

/** Connects to the log service over TLS, with the proxy settings of the environment. */
export function serviceConnect(metrics: Metrics, log: Logger, environment: CommandContext['env']): Connect {
  const userAgent = `logfleet/${packageVersion()}`;
  return connectOverTls({ clock: systemClock, metrics, log, userAgent, environment });
}

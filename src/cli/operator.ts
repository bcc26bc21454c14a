/**
 * The operator put together: a host, the kinds' reconcilers, and the controllers around them. The same in a cluster, on a directory
 * and in a simulation, which give other hosts, clocks and connections.
 */
import { Accounts } from '../account/accounts.ts';
import type { Clock } from '../base/clock.ts';
import { sleep } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import type { Metrics } from '../base/metrics.ts';
import type { Random } from '../base/random.ts';
import { Controller } from '../controller/controller.ts';
import { ExportReconciler, type ExportReconcilerOptions } from '../export/export-reconciler.ts';
import { noPlaces } from '../export/export-settings.ts';
import type { Host, ResourceKey } from '../host/host.ts';
import { PolicyReconciler } from '../policy/policy-reconciler.ts';
import type { PolicySettings } from '../policy/settings.ts';
import type { Connect } from '../service/connection.ts';

export interface OperatorOptions {
  readonly host: Host;
  readonly connect: Connect;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly settings?: Partial<PolicySettings>;
  /** What exports are lent; nothing where absent. */
  readonly exports?: Partial<Pick<ExportReconcilerOptions, 'places' | 'settings' | 'writer' | 'openDestination'>>;
}

/** How long a shutdown waits for the answers to what was sent. */
const drainMs = 5_000;
const drainLookMs = 50;
const policyWorkers = 16;
const exportWorkers = 16;

export class Operator {
  readonly #options: OperatorOptions;
  readonly #accounts: Accounts;
  readonly #policies: Controller;
  readonly #exports: Controller;
  readonly #policyReconciler: PolicyReconciler;
  readonly #exportReconciler: ExportReconciler;
  readonly #stop = new AbortController();
  #running: Promise<unknown> | undefined;

  constructor(options: OperatorOptions) {
    this.#options = options;
    const { host, connect, clock, random, log, metrics } = options;
    this.#accounts = new Accounts({
      ...{ secrets: host.secrets, leadership: host.leadership },
      connect,
      clock,
      log,
      metrics,
    });
    const accounts = this.#accounts;
    this.#policyReconciler = new PolicyReconciler({
      ...options,
      accounts,
      enqueue: (key: ResourceKey) => this.#policies.enqueue(key),
    });
    this.#policies = new Controller({
      ...options,
      name: 'collectorversionpolicy',
      reconciler: this.#policyReconciler,
      source: host.resources('CollectorVersionPolicy'),
      workers: policyWorkers,
      leadership: host.leadership,
    });
    this.#exportReconciler = new ExportReconciler({
      ...{ host, accounts, clock, random, log, metrics, places: noPlaces, ...options.exports },
      enqueue: (key: ResourceKey) => this.#exports.enqueue(key),
    });
    this.#exports = new Controller({
      ...{ clock, random, log, metrics, workers: exportWorkers },
      name: 'searchexport',
      reconciler: this.#exportReconciler,
      source: host.resources('SearchExport'),
      leadership: host.leadership,
    });
  }

  get #controllers(): readonly Controller[] {
    return [this.#policies, this.#exports];
  }

  start(): void {
    const { signal } = this.#stop;
    this.#running = Promise.all(this.#controllers.map((controller) => controller.run(signal)));
  }

  /** Resolves once every resource has settled. */
  async whenSettled(): Promise<void> {
    while (!this.#controllers.every((controller) => controller.idle())) {
      for (const controller of this.#controllers) await controller.whenSettled();
    }
  }

  /**
   * Starts nothing more, waits a little for the answers to what was sent, writes them down, and closes every connection to the
   * service. Afterwards leadership may be given back.
   */
  async stop(): Promise<void> {
    const { clock } = this.#options;
    const deadlineMs = clock.monotonic() + drainMs;
    const reconcilers = [this.#policyReconciler, this.#exportReconciler];
    for (const reconciler of reconcilers) reconciler.drain();
    while (!reconcilers.every((reconciler) => reconciler.drained()) && clock.monotonic() < deadlineMs) {
      await sleep(clock, drainLookMs);
    }
    await this.kill();
  }

  /** Ends at once, wherever everything stands. */
  async kill(): Promise<void> {
    this.#stop.abort(new Error('the operator stops'));
    await Promise.all([this.#policyReconciler.close(), this.#exportReconciler.close()]);
    await this.#accounts.close();
    await this.#running;
  }
}

/**
 * The operator put together: a host, the kinds' reconcilers, and the controllers around them. The same in a cluster, on a directory
 * and in a simulation, which give other hosts, clocks and connections.
 */
import type { Clock } from '../base/clock.ts';
import { sleep } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import type { Metrics } from '../base/metrics.ts';
import type { Random } from '../base/random.ts';
import { Controller } from '../controller/controller.ts';
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
}

/** How long a shutdown waits for the answers to what was sent. */
const drainMs = 5_000;
const drainLookMs = 50;
const policyWorkers = 16;

export class Operator {
  readonly #options: OperatorOptions;
  readonly #policies: Controller;
  readonly #reconciler: PolicyReconciler;
  readonly #stop = new AbortController();
  #running: Promise<void> | undefined;

  constructor(options: OperatorOptions) {
    this.#options = options;
    const { host } = options;
    this.#reconciler = new PolicyReconciler({
      ...options,
      enqueue: (key: ResourceKey) => this.#policies.enqueue(key),
    });
    this.#policies = new Controller({
      ...options,
      name: 'collectorversionpolicy',
      reconciler: this.#reconciler,
      source: host.resources('CollectorVersionPolicy'),
      workers: policyWorkers,
      leadership: host.leadership,
    });
  }

  start(): void {
    this.#running = this.#policies.run(this.#stop.signal);
  }

  /** Resolves once every resource has settled. */
  whenSettled(): Promise<void> {
    return this.#policies.whenSettled();
  }

  /**
   * Starts nothing more, waits a little for the answers to what was sent, writes them down, and closes every connection to the
   * service. Afterwards leadership may be given back.
   */
  async stop(): Promise<void> {
    const { clock } = this.#options;
    const deadlineMs = clock.monotonic() + drainMs;
    this.#reconciler.drain();
    while (!this.#reconciler.drained() && clock.monotonic() < deadlineMs) await sleep(clock, drainLookMs);
    await this.kill();
  }

  /** Ends at once, wherever everything stands. */
  async kill(): Promise<void> {
    this.#stop.abort(new Error('the operator stops'));
    await this.#reconciler.close();
    await this.#running;
  }
}

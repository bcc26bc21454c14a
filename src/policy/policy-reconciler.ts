/**
 * Reconciler of CollectorVersionPolicy. Each policy has one runtime. The runtime is discarded when the resource was replaced or
 * leadership was lost in between.
 */

import type { Accounts } from '../account/accounts.ts';
import type { CollectorVersionPolicy } from '../api/kinds.ts';
import type { Clock } from '../base/clock.ts';
import { keyText } from '../base/key-text.ts';
import type { Logger } from '../base/log.ts';
import type { Metrics } from '../base/metrics.ts';
import type { Reconciler, Result } from '../controller/reconciler.ts';
import { Fleets } from '../fleet/fleets.ts';
import type { Host, ResourceKey } from '../host/host.ts';
import { ClaimTurns } from './members/claim-turns.ts';
import { type OnlyLook, PolicyRuntime } from './policy-runtime.ts';
import { type PolicySettings, policySettings } from './settings.ts';
import { PolicyMetrics } from './status/policy-metrics.ts';

export interface PolicyReconcilerOptions {
  readonly host: Host;
  /** Accounts shared with all other users of services, so that all requests of one user share one budget. The owner closes them. */
  readonly accounts: Accounts;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly settings?: Partial<PolicySettings>;
  /** Asks the controller for another reconcile of this key. */
  readonly enqueue: (key: ResourceKey) => void;
  /** When set, decisions about policies are reported and not applied. */
  readonly onlyLook?: OnlyLook;
}

export class PolicyReconciler implements Reconciler {
  readonly #options: PolicyReconcilerOptions;
  readonly #settings: PolicySettings;
  readonly #fleets: Fleets;
  readonly #runtimes = new Map<string, PolicyRuntime>();
  readonly #turns: ClaimTurns;
  readonly #metrics: PolicyMetrics;
  readonly #unsubscribe: readonly (() => void)[];
  #term = 0;
  #draining = false;

  constructor(options: PolicyReconcilerOptions) {
    this.#options = options;
    const { host, clock, log, metrics } = options;
    this.#settings = { ...policySettings, ...options.settings };
    this.#fleets = new Fleets({
      clock,
      log,
      active: () => host.leadership.isLeader(),
      onOwnersChanged: ({ namespace, name }) => options.enqueue({ namespace, name }),
    });
    this.#unsubscribe = [
      host.subscribeSettings(() => {
        for (const runtime of this.#runtimes.values()) options.enqueue(runtime.key);
      }),
      this.#source.subscribe((key) => {
        const policy = this.#source.get(key);
        if (policy) this.#turns.expect(policy);
      }),
      host.leadership.subscribe(() => {
        if (!host.leadership.isLeader()) this.#metrics.clear();
      }),
    ];
    this.#turns = new ClaimTurns({
      policies: () => this.#source.list(),
      policy: (key) => this.#source.get(key),
      enqueue: options.enqueue,
    });
    this.#metrics = new PolicyMetrics(metrics);
  }

  async reconcile(key: ResourceKey): Promise<Result> {
    this.#followLeadership();
    const policy = this.#source.get(key);
    const name = keyText(key);
    if (policy?.metadata.uid !== this.#runtimes.get(name)?.uid) this.#retire(key);
    if (!policy) return { kind: 'settled' };
    const runtime = this.#runtimes.get(name) ?? this.#begin(name, policy);
    try {
      return await runtime.reconcile(policy);
    } catch (error) {
      // After an error, memory and host may differ.
      runtime.doubt();
      throw error;
    } finally {
      this.#measure(key);
    }
  }

  /** Stops new POSTs. Figures of a status are no longer held back. */
  drain(): void {
    this.#draining = true;
    for (const runtime of this.#runtimes.values()) if (!runtime.quiet()) this.#options.enqueue(runtime.key);
  }

  /** Whether every POST was answered and its outcome is written. */
  drained(): boolean {
    return [...this.#runtimes.values()].every((runtime) => runtime.quiet());
  }

  async close(): Promise<void> {
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
    for (const runtime of this.#runtimes.values()) runtime.close();
    this.#runtimes.clear();
    this.#fleets.reset();
  }

  get #source() {
    return this.#options.host.resources('CollectorVersionPolicy');
  }

  /** Knowledge from an earlier term is stale, because another process may have acted since. */
  #followLeadership(): void {
    const { leadership } = this.#options.host;
    if (leadership.term() === this.#term) return;
    this.#term = leadership.term();
    this.#metrics.clear();
    for (const runtime of this.#runtimes.values()) runtime.close();
    this.#runtimes.clear();
    this.#turns.reset();
    this.#fleets.reset();
  }

  #begin(name: string, policy: CollectorVersionPolicy): PolicyRuntime {
    const { host, clock, log, enqueue, accounts, onlyLook } = this.#options;
    const { namespace, name: policyName } = policy.metadata;
    const runtime = new PolicyRuntime(policy, {
      host,
      clock,
      enqueue,
      accounts,
      fleets: this.#fleets,
      log: log.with({ namespace, policy: policyName }),
      settings: this.#settings,
      turns: this.#turns,
      draining: () => this.#draining,
      onlyLook,
    });
    this.#runtimes.set(name, runtime);
    this.#turns.expect(policy);
    return runtime;
  }

  #retire(key: ResourceKey): void {
    const name = keyText(key);
    const runtime = this.#runtimes.get(name);
    if (runtime) {
      runtime.close();
      this.#fleets.retire(runtime.uid);
      this.#runtimes.delete(name);
    }
    this.#metrics.forget(key);
    this.#turns.forget(key, runtime?.uid);
  }

  #measure(key: ResourceKey): void {
    const policy = this.#source.get(key);
    if (policy && this.#options.host.leadership.isLeader()) this.#metrics.measure(policy);
  }
}

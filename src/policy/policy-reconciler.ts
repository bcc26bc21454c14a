/**
 * The reconciler of CollectorVersionPolicy: one runtime for each policy, thrown away when the resource is another, when
 * leadership was lost in between, or when what it remembers may not be what stands in the host.
 */
import { Accounts } from '../account/accounts.ts';
import type { CollectorVersionPolicy } from '../api/kinds.ts';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import type { Gauge, Metrics } from '../base/metrics.ts';
import type { Reconciler, Result } from '../controller/reconciler.ts';
import { Fleets } from '../fleet/fleets.ts';
import type { Host, ResourceKey } from '../host/host.ts';
import type { Connect } from '../service/connection.ts';
import { PolicyRuntime } from './policy-runtime.ts';
import { type PolicySettings, policySettings } from './settings.ts';

export interface PolicyReconcilerOptions {
  readonly host: Host;
  readonly connect: Connect;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly settings?: Partial<PolicySettings>;
  /** Asks the controller for another reconcile of this key. */
  readonly enqueue: (key: ResourceKey) => void;
}

export class PolicyReconciler implements Reconciler {
  readonly #options: PolicyReconcilerOptions;
  readonly #settings: PolicySettings;
  readonly #accounts: Accounts;
  readonly #fleets: Fleets;
  readonly #runtimes = new Map<string, PolicyRuntime>();
  /** Whose claims stand, by name: a runtime may have been thrown away when its policy goes. */
  readonly #uids = new Map<string, string>();
  /**
   * How far each policy (by uid) has come with claiming its collectors: the service where it still does, that it is done, or for as
   * long as what it cannot. Nobody of a service starts anything before all of it have claimed what they can (U13).
   */
  readonly #claims = new Map<
    string,
    { readonly claimingAt: string } | { readonly excusedWhile: () => boolean } | 'claimed'
  >();
  /** Spares looking at every policy once all have claimed. */
  #allClaimed = false;
  /** Policies that wait for others to claim. */
  readonly #held = new Map<string, ResourceKey>();
  readonly #collectors: Gauge;
  #term = 0;
  #draining = false;

  constructor(options: PolicyReconcilerOptions) {
    this.#options = options;
    const { host, clock, log, metrics, connect } = options;
    this.#settings = { ...policySettings, ...options.settings };
    this.#accounts = new Accounts({ secrets: host.secrets, clock, log, metrics, connect });
    this.#fleets = new Fleets({
      clock,
      log,
      active: () => host.leadership.isLeader(),
      onOwnersChanged: ({ namespace, name }) => options.enqueue({ namespace, name }),
    });
    this.#collectors = metrics.gauge('logfleet_policy_collectors', 'Collectors of a policy by where they stand.', [
      'namespace',
      'policy',
      'state',
    ]);
  }

  async reconcile(key: ResourceKey): Promise<Result> {
    this.#followLeadership();
    const policy = this.#source.get(key);
    const name = nameOf(key);
    if (policy?.metadata.uid !== this.#uids.get(name)) this.#retire(key);
    if (!policy) return { kind: 'settled' };
    const runtime = this.#runtimes.get(name) ?? this.#begin(name, policy);
    try {
      return await runtime.reconcile(policy);
    } catch (error) {
      // What it holds in memory may not be what stands in the host: the next one reads it anew.
      runtime.close();
      this.#runtimes.delete(name);
      throw error;
    } finally {
      this.#measure(key);
    }
  }

  /** From now on nothing new is posted. */
  drain(): void {
    this.#draining = true;
  }

  /** Whether every POST was answered and what became of it is written. */
  drained(): boolean {
    return [...this.#runtimes.values()].every((runtime) => runtime.quiet());
  }

  async close(): Promise<void> {
    for (const runtime of this.#runtimes.values()) runtime.close();
    this.#runtimes.clear();
    this.#fleets.reset();
    await this.#accounts.close();
  }

  get #source() {
    return this.#options.host.resources('CollectorVersionPolicy');
  }

  /** What was learnt in an earlier term is stale: another process may have acted since. */
  #followLeadership(): void {
    const { leadership } = this.#options.host;
    if (leadership.term() === this.#term) return;
    this.#term = leadership.term();
    for (const runtime of this.#runtimes.values()) runtime.close();
    this.#runtimes.clear();
    this.#uids.clear();
    this.#claims.clear();
    this.#allClaimed = false;
    this.#fleets.reset();
    this.#accounts.takeover(leadership.tookOverByForce());
  }

  #begin(name: string, policy: CollectorVersionPolicy): PolicyRuntime {
    const { host, clock, log, enqueue } = this.#options;
    const { uid, namespace, name: policyName } = policy.metadata;
    const runtime: PolicyRuntime = new PolicyRuntime(policy, {
      host,
      clock,
      enqueue,
      accounts: this.#accounts,
      fleets: this.#fleets,
      log: log.with({ namespace, policy: policyName }),
      settings: this.#settings,
      heldBy: (serviceId) => this.#heldBy(runtime.key, serviceId),
      onClaiming: (serviceId) => {
        if (!this.#claims.has(uid)) this.#claims.set(uid, { claimingAt: serviceId });
      },
      onClaimed: () => this.#claim(uid),
      onExcused: (excusedWhile) => this.#excuse(uid, excusedWhile),
    });
    this.#runtimes.set(name, runtime);
    this.#uids.set(name, uid);
    if (!this.#claims.has(uid)) this.#allClaimed = false;
    return runtime;
  }

  #retire(key: ResourceKey): void {
    const name = nameOf(key);
    const uid = this.#uids.get(name);
    this.#runtimes.get(name)?.close();
    if (uid !== undefined) {
      this.#fleets.retire(uid);
      this.#claims.delete(uid);
      for (const state of states) this.#collectors.remove({ namespace: key.namespace, policy: key.name, state });
    }
    this.#runtimes.delete(name);
    this.#uids.delete(name);
    this.#held.delete(name);
    this.#releaseHeld();
  }

  #claim(uid: string): void {
    if (this.#claims.get(uid) === 'claimed') return;
    this.#claims.set(uid, 'claimed');
    this.#releaseHeld();
  }

  #excuse(uid: string, excusedWhile: () => boolean): void {
    if (this.#claims.get(uid) === 'claimed') return;
    this.#claims.set(uid, { excusedWhile });
    this.#releaseHeld();
  }

  #heldBy(key: ResourceKey, serviceId: string): string | undefined {
    if (this.#draining) return 'the next start: logfleet is shutting down';
    if (this.#allClaimed) return undefined;
    let all = true;
    for (const { metadata } of this.#source.list()) {
      const claim = this.#claims.get(metadata.uid);
      if (claim === 'claimed') continue;
      all = false;
      if (
        claim &&
        ('claimingAt' in claim ? new URL(claim.claimingAt).host !== new URL(serviceId).host : claim.excusedWhile())
      )
        continue;
      this.#held.set(nameOf(key), key);
      return `policy ${metadata.namespace}/${metadata.name} to claim its collectors first`;
    }
    this.#allClaimed = all;
    return undefined;
  }

  #releaseHeld(): void {
    const held = [...this.#held.values()];
    this.#held.clear();
    for (const key of held) this.#options.enqueue(key);
  }

  #measure({ namespace, name }: ResourceKey): void {
    const counts = this.#source.get({ namespace, name })?.status?.collectors;
    if (!counts) return;
    for (const state of states) this.#collectors.set({ namespace, policy: name, state }, counts[state]);
  }
}

const states = ['updated', 'inProgress', 'pending', 'failed', 'offline', 'newer', 'skipped', 'foreign'] as const;

function nameOf({ namespace, name }: ResourceKey): string {
  return `${namespace}/${name}`;
}

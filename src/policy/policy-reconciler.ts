/** Reconciler of CollectorVersionPolicy resources. Each policy has one runtime, which is its state in memory. */
import { reasons } from '../api/conditions.ts';
import type { CollectorVersionPolicy } from '../api/kinds.ts';
import { LogfleetError, mayPass } from '../base/errors.ts';
import { keyText } from '../base/key-text.ts';
import type { Metrics } from '../base/metrics.ts';
import { finished, type Reconciler, type Result, requeue } from '../controller/reconciler.ts';
import { Fleets } from '../fleet/fleets.ts';
import type { ResourceKey, ResourceSource } from '../host/host.ts';
import { applyDecision, reportUnready } from './apply.ts';
import { type PolicySettings, policySettings } from './attempts/settings.ts';
import { decide } from './decide.ts';
import { Gatherer, type Ready, type Unready } from './gather.ts';
import { ClaimTurns } from './members/claim-turns.ts';
import { AttemptCounter, type PolicyEnvironment } from './policy-environment.ts';
import { PolicyRuntime } from './policy-runtime.ts';
import { measurePolicies } from './status/policy-metrics.ts';

/**
 * Callback that receives the data gathered about a policy. A process with this callback makes no decisions: it starts
 * no upgrades and writes no status.
 */
export type GatheredListener = (policy: CollectorVersionPolicy, gathered: Ready | Unready) => void;

/** Delay in ms before `onGathered` is called again for a policy whose data is still incomplete. */
const repeatMs = 1_000;
/** Number of consecutive failures that are tolerated before the status shows a ledger problem that may be temporary. */
const toleratedErrors = 3;
/** Reasons of ledger problems that this reconciler shows in the status. `Gatherer` shows all other ledger problems. */
const ledgerProblems: readonly string[] = [reasons.ledgerInaccessible, reasons.ledgerNotInstalled, reasons.ledgerFull];

interface Running {
  readonly runtime: PolicyRuntime;
  readonly gatherer: Gatherer;
  /** Number of consecutive reconciles that have failed. */
  failures: number;
}

export interface PolicyReconcilerOptions
  extends Pick<PolicyEnvironment, 'host' | 'accounts' | 'clock' | 'log' | 'enqueue'> {
  readonly metrics: Metrics;
  readonly settings?: Partial<PolicySettings>;
  /** If this callback is set, the process changes nothing: it calls the callback instead of applying decisions. */
  readonly onGathered?: GatheredListener;
  /** Replaces `decide` in tests that check its input and output. */
  readonly decide?: typeof decide;
}

export class PolicyReconciler implements Reconciler {
  readonly #options: PolicyReconcilerOptions;
  readonly #environment: PolicyEnvironment;
  readonly #source: ResourceSource<CollectorVersionPolicy>;
  readonly #running = new Map<string, Running>();
  readonly #unsubscribe: readonly (() => void)[];
  #term = 0;
  #draining = false;

  constructor(options: PolicyReconcilerOptions) {
    this.#options = options;
    const { host, clock, log, metrics } = options;
    const { enqueue } = options;
    this.#source = host.resources('CollectorVersionPolicy');
    const turns = new ClaimTurns({
      policies: () => this.#source.list(),
      policy: (key) => this.#source.get(key),
      enqueue,
    });
    this.#environment = {
      ...options,
      settings: { ...policySettings, ...options.settings },
      turns,
      attempts: new AttemptCounter(metrics),
      draining: () => this.#draining,
      fleets: new Fleets({ clock, log, active: () => host.leadership.isLeader(), onOwnersChanged: enqueue }),
    };
    this.#unsubscribe = [
      host.subscribeSettings(() => {
        for (const { runtime } of this.#running.values()) enqueue(runtime.owner);
      }),
      this.#source.subscribe((key) => {
        const policy = this.#source.get(key);
        if (policy) turns.expect(policy);
      }),
    ];
    measurePolicies(metrics, () => (host.leadership.isLeader() ? this.#source.list() : []));
  }

  async reconcile(key: ResourceKey): Promise<Result> {
    this.#followLeadership();
    const policy = this.#source.get(key);
    const name = keyText(key);
    if (policy?.metadata.uid !== this.#running.get(name)?.runtime.owner.uid) this.#retire(key);
    if (!policy) return finished;
    const running = this.#running.get(name) ?? this.#begin(name, policy);
    try {
      const result = await this.#decide(policy, running);
      running.failures = 0;
      return result;
    } catch (error) {
      // After an error, the ledger in memory may differ from the stored ledger, so the stored ledger is read again.
      running.runtime.doubt();
      running.failures++;
      if (isLedgerProblem(error)) await this.#reportProblem(policy, running, error);
      throw error;
    }
  }

  /**
   * Shows a problem with the policy's ledger in the status (H2). Other policies then stop waiting for this policy to
   * claim its collectors. Ignores the first few errors if they may be temporary.
   */
  async #reportProblem(
    policy: CollectorVersionPolicy,
    { runtime, failures }: Running,
    problem: LogfleetError,
  ): Promise<void> {
    const isTolerated = mayPass(problem) && failures <= toleratedErrors;
    if (isTolerated || this.#options.onGathered) return;
    this.#environment.turns.exempt(policy);
    await reportUnready(runtime, policy, { kind: 'unready', problem, notOffered: undefined });
  }

  async #decide(policy: CollectorVersionPolicy, { runtime, gatherer }: Running): Promise<Result> {
    const { onGathered, decide: decideWith = decide } = this.#options;
    const bound = await gatherer.prepare(policy);
    // There is no `await` between this line and the end of `decide`, so the data for the decision cannot change.
    const gathered = 'kind' in bound ? bound : gatherer.gather(policy, bound);
    if (onGathered) {
      onGathered(policy, gathered);
      // This process makes no decisions, so it must ask to be called again when the other policies have claimed their
      // collectors.
      if (gathered.kind === 'ready' && gathered.awaitsClaims) {
        this.#environment.turns.wait(runtime.owner, gathered.bound.account.serviceId);
      }
      return requeue(gathered.kind === 'unready' ? repeatMs : Infinity, true);
    }
    if (gathered.kind === 'unready') return reportUnready(runtime, policy, gathered);
    return applyDecision(runtime, policy, gathered, decideWith(gathered.input));
  }

  /** Prepares for shutdown: no new upgrades are requested, and delayed status writes are made immediately. */
  drain(): void {
    this.#draining = true;
    for (const { runtime } of this.#running.values()) if (!runtime.isIdle()) this.#options.enqueue(runtime.owner);
  }

  /** Reports whether every upgrade request has been answered and all responses have been stored. */
  drained(): boolean {
    return [...this.#running.values()].every(({ runtime }) => runtime.isIdle());
  }

  async close(): Promise<void> {
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
    this.#closeAll();
  }

  /** Discards all runtimes after a change of leadership, because another process may have acted. */
  #followLeadership(): void {
    const { leadership } = this.#options.host;
    if (leadership.term() === this.#term) return;
    this.#term = leadership.term();
    this.#environment.turns.reset();
    this.#closeAll();
  }

  #closeAll(): void {
    for (const { runtime } of this.#running.values()) runtime.close();
    this.#running.clear();
    this.#environment.fleets.reset();
  }

  #begin(name: string, policy: CollectorVersionPolicy): Running {
    const runtime = new PolicyRuntime(policy, this.#environment);
    const running = { runtime, gatherer: new Gatherer(runtime, policy), failures: 0 };
    this.#running.set(name, running);
    this.#environment.turns.expect(policy);
    return running;
  }

  #retire(key: ResourceKey): void {
    const name = keyText(key);
    const { runtime } = this.#running.get(name) ?? {};
    if (runtime) {
      runtime.close();
      this.#environment.fleets.retire(runtime.owner.uid);
      this.#running.delete(name);
    }
    this.#environment.turns.forget(key, runtime?.owner.uid);
  }
}

function isLedgerProblem(error: unknown): error is LogfleetError {
  return error instanceof LogfleetError && ledgerProblems.includes(error.reason);
}

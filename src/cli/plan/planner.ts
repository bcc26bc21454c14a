/**
 * Plans policies with the operator's own reconciler, but writes nothing. A policy in `wanted` that is not planned
 * before the timeout gets an error as its result.
 */
import type { Accounts } from '../../account/accounts.ts';
import { reasons } from '../../api/conditions.ts';
import type { CollectorVersionPolicy } from '../../api/kinds.ts';
import { unlessAborted } from '../../base/aborted.ts';
import { assert } from '../../base/assert.ts';
import { asLogfleetError, type LogfleetError } from '../../base/errors.ts';
import { keyText } from '../../base/key-text.ts';
import { silentLogger } from '../../base/log.ts';
import { noMetrics } from '../../base/metrics.ts';
import type { Ports } from '../../base/ports.ts';
import { Controller } from '../../controller/controller.ts';
import type { Reconciler } from '../../controller/reconciler.ts';
import type { Host, ResourceKey } from '../../host/host.ts';
import type { Ready, Unready } from '../../policy/gather.ts';
import { planRollout, type RolloutPlan } from '../../policy/plan/rollout-plan.ts';
import { PolicyReconciler } from '../../policy/policy-reconciler.ts';
import type { NextBuild } from '../../policy/rollout/target.ts';
import { maxFailureMs } from '../operator/service-reading.ts';

export interface PlanningOptions extends Pick<Ports, 'clock' | 'random'> {
  readonly host: Host;
  readonly accounts: Accounts;
  /** Policies to plan. The planner also reads the other policies, because they can select the same collectors. */
  readonly wanted: readonly ResourceKey[];
  /** Assumed duration of an upgrade in ms. Default: the measured duration. */
  readonly upgradeMs: number | undefined;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** Called each time an attempt to plan a policy has failed and will be repeated. */
  readonly onTrouble: (policy: CollectorVersionPolicy, error: LogfleetError) => void;
}

export interface Problem<R> {
  readonly kind: 'problem';
  readonly resource: R;
  readonly reason: string;
  readonly message: string;
}

/** Plan of one policy. `waiting`: no build has reached `minAge` yet, so the policy has no target. */
export type Outlook = { readonly resource: CollectorVersionPolicy } & (
  | { readonly kind: 'plan'; readonly plan: RolloutPlan }
  | { readonly kind: 'waiting'; readonly nextBuild: NextBuild; readonly message: string }
  | Problem<CollectorVersionPolicy>
);

export interface Planned {
  /** Results of planning, in the order of `wanted`. */
  readonly outlooks: readonly Outlook[];
  /** Problems with policies that are not planned. */
  readonly others: readonly Problem<CollectorVersionPolicy>[];
}

const workers = 16;

/** Plans the policies. Rejects if the signal is aborted, and after unexpected errors. */
export async function planPolicies(options: PlanningOptions): Promise<Planned> {
  return new PlanSession(options).run();
}

class PlanSession {
  readonly #options: PlanningOptions;
  readonly #reconciler: PolicyReconciler;
  readonly #controller: Controller;
  readonly #outlooks = new Map<string, Outlook>();
  readonly #troubles = new Map<string, { readonly sinceMs: number; readonly error: LogfleetError }>();
  readonly #ended = Promise.withResolvers<void>();

  constructor(options: PlanningOptions) {
    this.#options = options;
    const { host, clock, random, accounts } = options;
    const common = { clock, random, log: silentLogger, metrics: noMetrics };
    this.#reconciler = new PolicyReconciler({
      ...common,
      host,
      accounts,
      enqueue: (key) => this.#controller.enqueue(key),
      onGathered: (policy, gathered) => this.#record(this.#outlook(policy, gathered)),
    });
    this.#controller = new Controller({
      ...common,
      name: 'collectorversionpolicy',
      reconciler: this.#watched(this.#reconciler),
      source: host.resources('CollectorVersionPolicy'),
      workers,
      leadership: host.leadership,
    });
  }

  async run(): Promise<Planned> {
    const { clock, timeoutMs, signal, wanted } = this.#options;
    if (wanted.length === 0) return { outlooks: [], others: [] };
    const stop = new AbortController();
    const timer = clock.after(timeoutMs, () => this.#ended.resolve());
    const running = this.#controller.run(stop.signal);
    try {
      await unlessAborted(signal, this.#ended.promise);
    } finally {
      timer.cancel();
      stop.abort(new Error('the plan is made'));
      await this.#reconciler.close();
      await running;
    }
    const names = new Set(wanted.map(keyText));
    const others = [...this.#options.host.resources('CollectorVersionPolicy').list()].flatMap((policy) => {
      const name = keyText(policy.metadata);
      const error = this.#troubles.get(name)?.error;
      return error && !names.has(name) ? [problemOf(policy, error)] : [];
    });
    return { outlooks: wanted.map((key) => this.#outlookOf(key)), others };
  }

  /** Returns the plan of a policy, or the problem that prevents a plan. Returns undefined while neither is known. */
  #outlook(policy: CollectorVersionPolicy, gathered: Ready | Unready): Outlook | undefined {
    if (gathered.kind === 'ready') {
      const { heldBy, notOffered } = gathered.input.observation;
      if (notOffered !== undefined) return notOfferedOf(policy, notOffered);
      if (heldBy !== undefined) return undefined;
      this.#troubles.delete(keyText(policy.metadata));
      return { kind: 'plan', resource: policy, plan: planRollout(policy, gathered, this.#options.upgradeMs) };
    }
    const { problem, notOffered, tooYoung } = gathered;
    if (problem) return this.#recordFailure(policy, problem);
    if (tooYoung)
      return { kind: 'waiting', resource: policy, nextBuild: tooYoung.nextBuild, message: tooYoung.message };
    return notOffered === undefined ? undefined : notOfferedOf(policy, notOffered);
  }

  /**
   * Records an error that prevents the plan of a policy. If a user must act, or if planning has failed for
   * `maxFailureMs`, returns the error as the policy's result. Otherwise returns undefined, and the policy is planned
   * again.
   */
  #recordFailure(policy: CollectorVersionPolicy, error: LogfleetError): Outlook | undefined {
    const name = keyText(policy.metadata);
    const nowMs = this.#options.clock.monotonic();
    const sinceMs = this.#troubles.get(name)?.sinceMs ?? nowMs;
    this.#troubles.set(name, { sinceMs, error });
    const isOver = error.handling.kind === 'stall' || nowMs - sinceMs >= maxFailureMs;
    if (!isOver) this.#options.onTrouble(policy, error);
    return isOver ? problemOf(policy, error) : undefined;
  }

  /** Wraps a reconciler, so that the planner learns of each error that the reconciler throws for a policy. */
  #watched(reconciler: Reconciler): Reconciler {
    return {
      reconcile: async (key, signal) => {
        try {
          return await reconciler.reconcile(key, signal);
        } catch (thrown) {
          const error = asLogfleetError(thrown);
          const policy = this.#options.host.resources('CollectorVersionPolicy').get(key);
          if (error.handling.kind === 'bug') this.#ended.reject(thrown);
          if (policy) this.#record(this.#recordFailure(policy, error));
          throw error;
        }
      },
    };
  }

  #record(outlook: Outlook | undefined): void {
    if (!outlook) return;
    this.#outlooks.set(keyText(outlook.resource.metadata), outlook);
    if (this.#options.wanted.every((key) => this.#outlooks.has(keyText(key)))) this.#ended.resolve();
  }

  #outlookOf(key: ResourceKey): Outlook {
    const known = this.#outlooks.get(keyText(key));
    if (known) return known;
    const policy = this.#options.host.resources('CollectorVersionPolicy').get(key);
    assert(policy !== undefined, 'the host contains each policy to plan');
    const trouble = this.#troubles.get(keyText(key));
    return trouble ? problemOf(policy, trouble.error) : timedOut(policy, this.#options.timeoutMs);
  }
}

export function problemOf<R>(resource: R, { reason, message }: Pick<LogfleetError, 'reason' | 'message'>): Problem<R> {
  return { kind: 'problem', resource, reason, message };
}

export function timedOut<R>(resource: R, timeoutMs: number): Problem<R> {
  const message = `The log service did not answer all requests that the plan needs within ${timeoutMs / 1_000} s. Allow more time with --timeout.`;
  return problemOf(resource, { reason: 'TimedOut', message });
}

function notOfferedOf(policy: CollectorVersionPolicy, message: string): Outlook {
  return problemOf(policy, { reason: reasons.versionNotOffered, message });
}

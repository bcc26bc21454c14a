/**
 * Request budgets. Each user of the log service has one budget, because the service counts requests per user. If a
 * user's Secrets set different limits, the limit of a namespace is the smallest limit in its Secrets. The limit of the
 * user is the largest limit of any namespace, so a Secret cannot lower the limits of another namespace. This matters
 * because anyone who can create a Secret can name any user in it.
 */
import { createHash } from 'node:crypto';
import type { Clock } from '../base/clock.ts';
import { getOrAdd } from '../base/get-or-add.ts';
import type { Metrics } from '../base/metrics.ts';
import type { Leadership } from '../host/host.ts';
import { RequestBudget, serviceLimits } from '../service/budget/request-budget.ts';
import type { KeyBudget } from '../service/budget/request-slot.ts';
import type { SendRight, Term } from '../service/budget/send-right.ts';
import { type JobShare, limitsWithout, type RequestLimits, startedShares, type WorkerShares } from './worker-shares.ts';

/** User and access key in one Secret, and the request limits that the Secret sets. */
export interface Spender {
  /** Identity of the user, from `userIdOf`. */
  readonly user: string;
  /** Namespace of the Secret. */
  readonly namespace: string;
  readonly accessId: string;
  readonly requestsPerSecond: number | undefined;
  readonly maxConcurrentRequests: number | undefined;
}

interface UserBudget {
  readonly budget: RequestBudget;
  /**
   * Budgets indexed by access id. Includes each of the user's access keys that is in a Secret or still has requests in
   * flight.
   */
  readonly keys: Map<string, KeyBudget>;
  limits: RequestLimits;
}

export interface BudgetsOptions {
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly right: SendRight;
  /** Request limits that are reserved for each user's worker pods (B8). The operator does not use them. */
  readonly shares?: WorkerShares;
  /** Request limits of this process. Defaults to the service's limits. */
  readonly limits?: RequestLimits;
}

export class Budgets {
  readonly #options: BudgetsOptions;
  /**
   * Budgets of all users who have had a Secret since this process started. A budget is kept after the user's last
   * Secret is gone: if the user soon gets another Secret, the service still counts the user's earlier requests.
   */
  readonly #users = new Map<string, UserBudget>();

  constructor(options: BudgetsOptions) {
    this.#options = options;
    this.#observe(options.metrics);
  }

  /** Returns the request budget for one of a user's access keys. */
  of({ user, accessId }: Pick<Spender, 'user' | 'accessId'>): KeyBudget {
    const create = () => ({ budget: new RequestBudget(this.#options), keys: new Map(), limits: serviceLimits });
    const { budget, keys } = getOrAdd<string, UserBudget>(this.#users, user, create);
    return getOrAdd(keys, accessId, () => budget.key(accessId));
  }

  /**
   * Sets the limits of each user's budget from the user's Secrets. A user who has neither a Secret nor requests in
   * flight is removed from the metrics.
   * @param leaving credentials that are no longer in any Secret, but that still have requests in flight; their limits
   * apply only if the user has no other Secret
   * @param only user whose limits are set; undefined means all users
   */
  share(spenders: readonly Spender[], leaving: readonly Spender[] = [], only?: string): void {
    const byUser = (all: readonly Spender[]) => Map.groupBy(all, ({ user }) => user);
    const [own, ended] = [byUser(spenders), byUser(leaving)];
    const jobs = this.#options.shares?.byUser();
    for (const [id, user] of this.#users) {
      if (only !== undefined && id !== only) continue;
      this.#shareOut(user, own.get(id) ?? [], ended.get(id) ?? [], jobs?.get(id) ?? []);
    }
  }

  /**
   * Returns the request limits that the user's Secrets set. These limits also cover the requests of the user's workers.
   */
  limitsOf(user: string): RequestLimits {
    return this.#users.get(user)?.limits ?? serviceLimits;
  }

  /** Reports whether the user's requests in flight and search jobs are within the current limits of this process. */
  isWithinLimits(user: string): boolean {
    return this.#users.get(user)?.budget.isWithinLimits() ?? true;
  }

  /** Creates the metrics for the request budgets, summed over all users. */
  #observe(metrics: Metrics): void {
    const observe = (name: string, help: string, read: (budget: RequestBudget) => number) =>
      metrics.observedGauge(`logfleet_service_budget_${name}`, help, [], () => [
        [{}, [...this.#users.values()].reduce((sum, { budget, keys }) => sum + (keys.size > 0 ? read(budget) : 0), 0)],
      ]);
    const rate =
      'Number of requests per second that logfleet may currently send to the log service. After a 429 response, logfleet lowers this number for a while.';
    observe('requests_per_second', rate, ({ requestsPerSecond }) => requestsPerSecond);
    observe(
      'waiting_requests',
      'Requests to the log service that are waiting until the rate limits allow them.',
      ({ waiting }) => waiting,
    );
    observe(
      'requests_in_flight',
      'Requests to the log service that have not yet received a response.',
      ({ inFlight }) => inFlight,
    );
    observe('search_jobs', 'Search jobs that are active at the log service.', ({ jobs }) => jobs.active);
    observe('search_jobs_limit', 'Search jobs that may be active at the same time.', ({ jobs }) => jobs.limit);
  }

  #shareOut(
    user: UserBudget,
    spenders: readonly Spender[],
    leaving: readonly Spender[],
    jobs: readonly Readonly<JobShare>[],
  ): void {
    const { limits: max = serviceLimits } = this.#options;
    const { budget, keys } = user;
    user.limits = limitsOf(effective(spenders, leaving), max);
    const held = jobs.map((job) => job.held);
    const rate = limitsWithout(user.limits, startedShares(jobs)).requestsPerSecond;
    budget.setRequestsPerSecond(rate, limitsWithout(user.limits, held).requestsPerSecond);
    for (const accessId of keys.keys()) {
      const of = (all: readonly Spender[]) => all.filter((spender) => spender.accessId === accessId);
      const own = effective(of(spenders), of(leaving));
      if (own.length === 0) keys.delete(accessId);
      // Subtracts the workers' shares from the limit of every access key of the user, because the operator does not
      // know which key a worker uses.
      else budget.setMaxConcurrent(accessId, limitsWithout(limitsOf(own, max), held).maxConcurrentRequests);
    }
  }
}

/**
 * Returns the identity of a user: a digest of the service's hostname and the user's name. A change to the URL's path
 * does not change the identity.
 */
export function userIdOf({ serviceId, user }: { readonly serviceId: string; readonly user: string }): string {
  const name = `${new URL(serviceId).host} ${user}`;
  return createHash('sha256').update(name).digest('hex').slice(0, 32);
}

/**
 * Returns the request limits of a user: the largest limit of any namespace. The limit of a namespace is the smallest
 * limit in its Secrets.
 */
function limitsOf(spenders: readonly Spender[], max: RequestLimits): RequestLimits {
  const namespaces = [...Map.groupBy(spenders, ({ namespace }) => namespace).values()];
  const limitOf = (limit: keyof RequestLimits) => {
    const smallest = namespaces.map((all) =>
      Math.min(max[limit], ...all.map((spender) => spender[limit] ?? max[limit])),
    );
    return smallest.length === 0 ? max[limit] : Math.max(...smallest);
  };
  return {
    requestsPerSecond: limitOf('requestsPerSecond'),
    maxConcurrentRequests: limitOf('maxConcurrentRequests'),
  };
}

function effective(spenders: readonly Spender[], leaving: readonly Spender[]): readonly Spender[] {
  return spenders.length > 0 ? spenders : leaving;
}

/** Allows this process to send requests to the service only while the process is the leader (L1). */
export class LeadershipRight implements SendRight {
  readonly #leadership: Leadership;
  readonly #clock: Clock;
  #term: Term | undefined;
  readonly #unsubscribe: () => void;

  constructor(leadership: Leadership, clock: Clock) {
    this.#leadership = leadership;
    this.#clock = clock;
    // Reads the leadership now, so that `sinceMs` is the start of the leadership, and not the time of the first
    // request.
    this.#unsubscribe = leadership.subscribe(() => void this.current());
    this.current();
  }

  current(): Term | undefined {
    const leadership = this.#leadership;
    if (!leadership.isLeader()) return undefined;
    const number = leadership.term();
    if (this.#term?.number === number) return this.#term;
    this.#term = { number, sinceMs: this.#clock.monotonic(), tookOverByForce: leadership.tookOverByForce() };
    return this.#term;
  }

  close(): void {
    this.#unsubscribe();
  }
}

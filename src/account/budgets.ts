/**
 * The request budgets of the process: one for each user of a service, whatever Secrets and namespaces its keys come from, since
 * the service counts so (chapter 8). Where they name different shares, the smaller one holds.
 *
 * Invariant: a budget lives as long as a Secret that spends it; what it knows of the last second is never lost while requests
 * of its user may be under way.
 */
import type { Clock } from '../base/clock.ts';
import type { Metrics } from '../base/metrics.ts';
import { defaultBudgetSettings, type KeyBudget, RequestBudget } from '../service/request-budget.ts';
import type { SendRight } from '../service/send-right.ts';

/** What a Secret says about whose budget its requests spend, and how much of it. */
export interface Spender {
  readonly serviceId: string;
  readonly accessId: string;
  readonly user: string;
  readonly requestsPerSecond: number | undefined;
  readonly maxConcurrentRequests: number | undefined;
}

interface UserBudget {
  readonly budget: RequestBudget;
  readonly keys: Map<string, KeyBudget>;
}

export interface BudgetsOptions {
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly right: SendRight;
}

export class Budgets {
  readonly #options: BudgetsOptions;
  readonly #users = new Map<string, UserBudget>();

  constructor({ clock, metrics, right }: BudgetsOptions) {
    this.#options = { clock, metrics, right };
  }

  /** The budget of one access key. What share of it may be used is said by `share`. */
  of(spender: Spender): KeyBudget {
    const user = this.#user(spender);
    const known = user.keys.get(spender.accessId);
    if (known) return known;
    const key = user.budget.key(spender.accessId);
    user.keys.set(spender.accessId, key);
    return key;
  }

  /**
   * All who spend now: each budget gets the smallest share that they name, and a budget that none of them spends is forgotten. `leaving`
   * are those whose Secret says something else by now, or is asked for no longer: what they name counts where nobody else names anything.
   */
  share(spenders: readonly Spender[], leaving: readonly Spender[] = []): void {
    for (const [name, user] of this.#users) {
      const of = (all: readonly Spender[]) => all.filter((spender) => nameOf(spender) === name);
      const [own, ended] = [of(spenders), of(leaving)];
      if (own.length + ended.length > 0) shareOut(user, own, ended);
      else this.#users.delete(name);
    }
  }

  #user(spender: Spender): UserBudget {
    const name = nameOf(spender);
    const known = this.#users.get(name);
    if (known) return known;
    const user: UserBudget = {
      budget: new RequestBudget(this.#options),
      keys: new Map(),
    };
    this.#users.set(name, user);
    return user;
  }
}

function shareOut({ budget, keys }: UserBudget, spenders: readonly Spender[], leaving: readonly Spender[]): void {
  const { requestsPerSecond, maxConcurrentRequests } = defaultBudgetSettings;
  budget.setRequestsPerSecond(
    smallest(
      requestsPerSecond,
      heard(spenders, leaving).map((spender) => spender.requestsPerSecond),
    ),
  );
  for (const accessId of keys.keys()) {
    const of = (all: readonly Spender[]) => all.filter((spender) => spender.accessId === accessId);
    const own = heard(of(spenders), of(leaving));
    if (own.length === 0) keys.delete(accessId);
    else
      budget.setMaxConcurrent(
        accessId,
        smallest(
          maxConcurrentRequests,
          own.map((spender) => spender.maxConcurrentRequests),
        ),
      );
  }
}

function heard(spenders: readonly Spender[], leaving: readonly Spender[]): readonly Spender[] {
  return spenders.length > 0 ? spenders : leaving;
}

/** Of what the service allows and what is named. */
function smallest(limit: number, named: readonly (number | undefined)[]): number {
  return Math.min(limit, ...named.map((value) => value ?? limit));
}

/** By host alone: a Secret whose path was mended speaks to the same service, which goes on counting. */
function nameOf({ serviceId, user }: Spender): string {
  return `${new URL(serviceId).host} ${user}`;
}

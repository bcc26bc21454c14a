/**
 * The request budgets of the process: one for each user of a service, whatever Secrets and namespaces its keys come from, since
 * the service counts so (chapter 8). Where they name different shares, the smaller one holds.
 *
 * Invariant: a budget lives as long as a Secret that spends it; what it knows of the last second is never lost while requests
 * of its user may be under way.
 */
import type { Clock } from '../base/clock.ts';
import type { Metrics } from '../base/metrics.ts';
import { type KeyBudget, RequestBudget } from '../service/request-budget.ts';

/** What a Secret says about whose budget its requests spend, and how much of it. */
export interface Spender {
  readonly serviceId: string;
  readonly accessId: string;
  readonly user: string;
  readonly requestsPerSecond: number | undefined;
  readonly maxConcurrentRequests: number | undefined;
}

/** A forced takeover concerns keys first used within this time after it: any request of the one before us has ended then. */
const forcedTakeoverMs = 60_000;
/** A released one concerns those used within the second that a new leader waits. */
const releasedTakeoverMs = 1_000;

interface Takeover {
  readonly forced: boolean;
  readonly atMs: number;
}

interface UserBudget {
  readonly budget: RequestBudget;
  readonly keys: Map<string, KeyBudget>;
  requestsPerSecond: number | undefined;
}

export class Budgets {
  readonly #clock: Clock;
  readonly #metrics: Metrics;
  readonly #users = new Map<string, UserBudget>();
  #takeover: Takeover | undefined;

  constructor(options: { readonly clock: Clock; readonly metrics: Metrics }) {
    this.#clock = options.clock;
    this.#metrics = options.metrics;
  }

  /** The budget of one access key; asking again with a smaller share makes it smaller for all. */
  of(spender: Spender): KeyBudget {
    const user = this.#user(spender);
    const key = user.budget.key(spender.accessId, spender.maxConcurrentRequests);
    if (!user.keys.has(spender.accessId)) {
      user.keys.set(spender.accessId, key);
      this.#tell(key);
    }
    return key;
  }

  takeover(forced: boolean): void {
    this.#takeover = { forced, atMs: this.#clock.monotonic() };
    for (const { keys } of this.#users.values()) {
      for (const key of keys.values()) key.takeover(forced);
    }
  }

  /** Forgets the budgets that none of `spenders` spends. */
  retain(spenders: Iterable<Spender>): void {
    const spent = new Set([...spenders].map(nameOf));
    for (const name of this.#users.keys()) {
      if (!spent.has(name)) this.#users.delete(name);
    }
  }

  #user(spender: Spender): UserBudget {
    const name = nameOf(spender);
    const known = this.#users.get(name);
    if (known) return known;
    const { requestsPerSecond } = spender;
    const budget = new RequestBudget({
      clock: this.#clock,
      metrics: this.#metrics,
      ...(requestsPerSecond === undefined ? {} : { requestsPerSecond }),
    });
    const user: UserBudget = { budget, keys: new Map(), requestsPerSecond };
    this.#users.set(name, user);
    return user;
  }

  /** Keys are often first used right after a takeover, when it has been announced already. */
  #tell(key: KeyBudget): void {
    if (!this.#takeover) return;
    const ageMs = this.#clock.monotonic() - this.#takeover.atMs;
    if (ageMs < (this.#takeover.forced ? forcedTakeoverMs : releasedTakeoverMs)) key.takeover(this.#takeover.forced);
  }
}

function nameOf(spender: Spender): string {
  return `${spender.serviceId} ${spender.user}`;
}

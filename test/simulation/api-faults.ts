/** Chooses random faults for requests and watch events between the operator and the API server. */
import type { RequestFault } from '../support/memory-api-server.ts';
import type { WatchFault } from '../support/memory-watch.ts';
import type { Chance } from './chance.ts';
import type { ApiFaultPlan } from './planned-faults.ts';

export class ApiFaults {
  readonly #plan: ApiFaultPlan;
  readonly #chance: Chance;

  constructor(plan: ApiFaultPlan, chance: Chance) {
    this.#plan = plan;
    this.#chance = chance;
  }

  ofRequest(nowMs: number): RequestFault | undefined {
    if (!this.#strikes(this.#plan.requests, nowMs)) return undefined;
    const when = this.#chance.one(['before', 'after'] as const);
    return this.#chance.one<RequestFault>([
      { kind: 'status', status: 500, when },
      { kind: 'status', status: 409, when: 'before' },
      { kind: 'status', status: 429, when: 'before', retryAfterSeconds: 1 },
      { kind: 'reset', when },
      { kind: 'stall', when },
      { kind: 'delay', delayMs: this.#chance.whole(10, 4_000) },
    ]);
  }

  ofWatch(nowMs: number): WatchFault | undefined {
    if (!this.#strikes(this.#plan.watches, nowMs)) return undefined;
    return this.#chance.one<WatchFault>([
      { kind: 'drop' },
      { kind: 'delay', delayMs: this.#chance.whole(10, 5_000) },
      { kind: 'cut' },
      { kind: 'silence' },
      { kind: 'badLine' },
      { kind: 'expired' },
    ]);
  }

  #strikes(probability: number, nowMs: number): boolean {
    return probability > 0 && nowMs < this.#plan.untilMs && this.#chance.happens(probability);
  }
}

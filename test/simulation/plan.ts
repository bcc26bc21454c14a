/** Derives the plan of one simulated run from a seed. Upgrades are ten times as fast as in reality. */

import type { Scenario } from '../../simulator/scenario/scenario.ts';
import type { PolicySettings } from '../../src/policy/attempts/settings.ts';
import { Chance } from './chance.ts';
import { type ApiFaultPlan, planApiFaults, planServiceFaults } from './planned-faults.ts';
import { type FleetPlan, planFleet } from './planned-fleet.ts';
import { type PlannedPersonAction, planPeople } from './planned-people.ts';
import { type PolicyAction, type PolicySpec, planPolicies, planPolicyActions } from './planned-policies.ts';
import {
  type DeathPlan,
  planDeaths,
  planReturns,
  planRolloutChanges,
  withBadBuild,
  withRollout,
  withZones,
} from './planned-rollouts.ts';

export const pace = 10;

export const fastSettings: Partial<PolicySettings> = {
  graceMs: 60_000 / pace,
  openLimitMs: (35 * 60_000) / pace,
  driftConfirmMs: (10 * 60_000) / pace,
  firstReadMs: 3_000,
  pageWaitMs: 6_000,
  statusIntervalMs: 5_000,
};

/** Kill, freeze or stop of a process. `replica` modulo the number of processes is the index of the process. */
export type ProcessAction =
  | { readonly kind: 'kill'; readonly atMs: number; readonly replica: number; readonly againAfterMs: number }
  | { readonly kind: 'stop'; readonly atMs: number; readonly replica: number; readonly againAfterMs: number }
  | { readonly kind: 'freeze'; readonly atMs: number; readonly replica: number; readonly forMs: number }
  /** The process is killed right before or right after its nth request. */
  | {
      readonly kind: 'killAtRequest';
      readonly atMs: number;
      readonly replica: number;
      readonly request: number;
      readonly when: 'before' | 'after';
      readonly againAfterMs: number;
    };

/** Backs up all ledgers, or restores the last backup. */
export type BackupAction = { readonly kind: 'backup' | 'restore'; readonly atMs: number };

export type Action =
  | ProcessAction
  | PolicyAction
  | PlannedPersonAction
  | BackupAction
  | { readonly kind: 'compact'; readonly atMs: number };

export interface HistoryPlan {
  readonly seed: number;
  readonly fleet: FleetPlan;
  readonly scenario: Scenario;
  readonly settings: Partial<PolicySettings>;
  readonly policies: readonly PolicySpec[];
  readonly actions: readonly Action[];
  readonly deaths: readonly DeathPlan[];
  readonly apiFaults: ApiFaultPlan;
  /** Fraction (0 to 1) of status requests that get the status of another task as their response. */
  readonly mixedUpTasks: number;
  readonly replicas: number;
  readonly leaderElection: boolean;
  /** Offset of each replica's wall clock, in ms. */
  readonly skewMs: number;
  readonly latencyMs: number;
  readonly jitterMs: number;
  readonly calmAtMs: number;
}

/**
 * Returns the plan of a simulation. For even seeds, rollouts have stages, windows and user actions. For odd seeds,
 * rollouts have no stages.
 */
export function planHistory(seed: number): HistoryPlan {
  const plan = planBasics(seed);
  return seed % 2 === 0 ? withRollouts(plan) : plan;
}

function withRollouts(plan: HistoryPlan): HistoryPlan {
  const { seed, calmAtMs } = plan;
  const chance = new Chance(seed ^ 0x57a6e);
  const fleet = withBadBuild(chance, withZones(chance, plan.fleet));
  const policies = plan.policies.map((policy) => withRollout(chance, fleet, policy));
  const changes = [
    ...planPeople(chance, policies, calmAtMs),
    ...planRolloutChanges(chance, fleet, policies, calmAtMs),
    ...(chance.happens(0.08) ? planRestore(chance, calmAtMs) : []),
    ...planReturns(new Chance(seed ^ 0xa6a), fleet, policies, calmAtMs),
  ];
  return {
    ...plan,
    fleet,
    scenario: { ...fleet.scenario, faults: plan.scenario.faults ?? {}, events: fleet.events },
    policies,
    actions: inOrder([...plan.actions, ...changes]),
    deaths: planDeaths(chance, fleet),
  };
}

function planRestore(chance: Chance, calmAtMs: number): BackupAction[] {
  const atMs = chance.whole(2_000, calmAtMs - 1);
  return [
    { kind: 'backup', atMs },
    { kind: 'restore', atMs: chance.whole(atMs, calmAtMs) },
  ];
}

function inOrder(actions: readonly Action[]): readonly Action[] {
  return [...actions].sort((left, right) => left.atMs - right.atMs);
}

function planBasics(seed: number): HistoryPlan {
  const chance = new Chance(seed);
  const calmAtMs = chance.whole(60, 300) * 1_000;
  const fleet = planFleet(chance, calmAtMs);
  const policies = planPolicies(chance, fleet);
  const faulty = chance.happens(0.75);
  const faults = faulty ? planServiceFaults(chance, calmAtMs) : {};
  const replicas = chance.happens(0.3) ? 2 : 1;
  const processActions = chance.happens(0.5) ? planProcessActions(chance, calmAtMs, replicas) : [];
  const policyActions = chance.happens(0.6) ? planPolicyActions(chance, fleet, policies, calmAtMs) : [];
  return {
    seed,
    fleet,
    scenario: { ...fleet.scenario, faults, events: fleet.events },
    settings: fastSettings,
    policies,
    actions: inOrder([...processActions, ...policyActions]),
    deaths: [],
    apiFaults: chance.happens(0.5) ? planApiFaults(chance, calmAtMs) : { untilMs: 0, requests: 0, watches: 0 },
    mixedUpTasks: chance.happens(0.1) ? 0.3 : 0,
    replicas,
    leaderElection: replicas > 1 || chance.happens(0.3),
    skewMs: chance.happens(0.3) ? chance.whole(-600, 600) * 1_000 : 0,
    latencyMs: chance.one([5, 20, 80]),
    jitterMs: chance.one([0, 0, 10]),
    calmAtMs,
  };
}

function planProcessActions(chance: Chance, calmAtMs: number, replicas: number): Action[] {
  const actions: Action[] = [];
  const times = chance.whole(1, 3);
  for (let time = 0; time < times; time++) {
    const atMs = chance.whole(1, calmAtMs - 1);
    const replica = chance.whole(0, 1);
    const againAfterMs = chance.one([50, 500, 2_000, 20_000]);
    const kind = chance.one(['kill', 'killAtRequest', 'killAtRequest', 'stop', 'freeze'] as const);
    if (kind === 'freeze') {
      // A freeze can outlast the lease only if another replica can become the leader.
      actions.push({ kind, atMs, replica, forMs: chance.whole(1, replicas > 1 ? 60 : 20) * 1_000 });
    } else if (kind === 'killAtRequest') {
      actions.push({
        kind,
        atMs,
        replica,
        request: chance.whole(1, 20),
        when: chance.one(['before', 'after']),
        againAfterMs,
      });
    } else {
      actions.push({ kind, atMs, replica, againAfterMs });
    }
  }
  if (chance.happens(0.2)) actions.push({ kind: 'compact', atMs: chance.whole(1, calmAtMs) });
  return actions;
}

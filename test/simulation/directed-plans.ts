/** Histories that lead to where one rule decides: like any other, drawn from a seed, but with what the rule is about in each. */
import type { Scenario } from '../../src/simulator/scenario.ts';
import { Chance } from './chance.ts';
import { fastSettings, type HistoryPlan, type ProcessAction } from './plan.ts';
import { newestVersion } from './planned-fleet.ts';
import type { PolicySpec } from './planned-policies.ts';

const old = '19.300-2';
const builds = ['19.100-1', '19.200-5', old, '19.404-12', newestVersion];
const calmAtMs = 120_000;

interface Direction {
  readonly count?: number;
  readonly scenario?: Scenario;
  readonly policies?: readonly PolicySpec[];
  readonly actions?: HistoryPlan['actions'];
  readonly offer?: 'plain' | 'everyBuildRun' | 'single';
  readonly events?: Scenario['events'];
  readonly touched?: readonly string[];
  readonly cannotFail?: boolean;
  readonly mixedUpTasks?: number;
  readonly replicas?: number;
  readonly latencyMs?: number;
  readonly apiRequestFaults?: number;
  readonly selector?: object;
  readonly limit?: number;
  readonly width?: number;
  readonly deaths?: HistoryPlan['deaths'];
}

function plan(seed: number, direction: Direction): HistoryPlan {
  const { count = 6, scenario = {}, events = {}, offer = 'plain', cannotFail = false, touched = [] } = direction;
  const policies = direction.policies ?? [policy('first', direction)];
  const whole: Scenario = {
    seed,
    timeScale: 10,
    aliveFor: '60s',
    groups: { app: { count, name: 'app-##', osName: 'Linux', version: old } },
    builds: offer === 'single' ? [newestVersion] : builds,
    upgrade: { duration: '3m', lockDelay: '4s' },
    ...scenario,
    events,
  };
  return {
    seed,
    fleet: {
      scenario: whole,
      events: events as HistoryPlan['fleet']['events'],
      groups: [{ name: 'app', count, osName: 'Linux' }],
      builds: offer === 'single' ? [newestVersion] : builds,
      offer,
      cannotFail,
      touched: new Set(touched),
    },
    scenario: whole,
    settings: fastSettings,
    policies,
    actions: direction.actions ?? [],
    deaths: direction.deaths ?? [],
    apiFaults: { untilMs: calmAtMs, requests: direction.apiRequestFaults ?? 0, watches: 0 },
    mixedUpTasks: direction.mixedUpTasks ?? 0,
    replicas: direction.replicas ?? 1,
    leaderElection: (direction.replicas ?? 1) > 1,
    skewMs: 0,
    latencyMs: direction.latencyMs ?? 20,
    jitterMs: 0,
    calmAtMs,
  };
}

function policy(name: string, { selector = {}, limit = 1, width = 1_000 }: Direction, spec: object = {}): PolicySpec {
  return {
    name,
    spec: {
      target: { version: newestVersion },
      selector,
      resyncInterval: '20s',
      strategy: { maxInProgress: width, order: 'OldestVersionFirst' },
      retryPolicy: { limit, backoff: { duration: '1s', factor: 2, cap: '30s' } },
      ...spec,
    },
  };
}

const upgrade = { duration: '3m', lockDelay: '4s' } as const;

function killAtRequest(seed: number): ProcessAction {
  const when = seed % 2 === 0 ? 'before' : 'after';
  return { kind: 'killAtRequest', atMs: 0, replica: 0, request: Math.ceil(seed / 2), when, againAfterMs: 50 };
}

function silence(running: boolean): Scenario {
  return { collectors: Object.fromEntries(['app-04', 'app-05', 'app-06'].map((name) => [name, { running }])) };
}

const directions: Readonly<Record<string, (seed: number, chance: Chance) => HistoryPlan>> = {
  /** Somebody pauses while requests wait for the budget. */
  paused: (seed, chance) =>
    plan(seed, {
      count: 20,
      actions: [
        { kind: 'patchPolicy', atMs: chance.whole(1_500, 5_500), name: 'first', patch: { spec: { paused: true } } },
      ],
    }),
  /** A leader sleeps past its lease. */
  frozen: (seed, chance) =>
    plan(seed, {
      count: 30,
      replicas: 2,
      actions: [{ kind: 'freeze', atMs: chance.whole(1_500, 9_000), replica: 0, forMs: 40_000 }],
    }),
  /** Killed at one of its requests; the next starts at once. */
  killed: (seed) => plan(seed, { count: 3, cannotFail: true, actions: [killAtRequest(seed)] }),
  killedLagging: (seed) =>
    plan(seed, {
      count: 3,
      cannotFail: true,
      scenario: { upgrade, list: { lag: '5s' } },
      actions: [killAtRequest(seed)],
    }),
  killedFailing: (seed) =>
    plan(seed, {
      count: 3,
      scenario: { upgrade: { ...upgrade, outcomes: [{ share: 0.7, end: 'fail', attempts: 2 }] }, list: { lag: '5s' } },
      actions: [killAtRequest(seed)],
    }),
  /** Answers to requests for tasks are lost after their effect. */
  lost: (seed, chance) =>
    plan(seed, {
      cannotFail: true,
      scenario: {
        upgrade,
        faults: {
          lost: {
            kind: 'reset',
            effect: chance.happens(0.7),
            operations: ['createTask'],
            probability: 0.6,
            until: '60s',
          },
        },
      },
    }),
  lostFailing: (seed, chance) =>
    plan(seed, {
      scenario: {
        upgrade: { ...upgrade, outcomes: [{ share: 0.5, end: 'fail' }] },
        list: { lag: chance.one(['0s', '5s']) },
        faults: {
          lost: {
            kind: 'truncate',
            effect: chance.happens(0.7),
            operations: ['createTask'],
            probability: 0.5,
            until: '60s',
          },
        },
      },
    }),
  /** Writes to the API server fail now and then, while the service answers everything. */
  unwritten: (seed) =>
    plan(seed, {
      count: 20,
      cannotFail: true,
      scenario: { upgrade: { ...upgrade, duration: '8m' }, list: { lag: '5s' } },
      apiRequestFaults: 0.3,
    }),
  /** A service that answers about other tasks than it was asked for. */
  mixedUp: (seed) => plan(seed, { count: 12, mixedUpTasks: 0.6, scenario: { upgrade: { duration: ['1m', '20m'] } } }),
  /** Tasks that never end in a way that is documented. */
  endless: (seed) =>
    plan(seed, { count: 4, scenario: { upgrade: { ...upgrade, outcomes: [{ share: 0.5, end: 'fail', status: 4 }] } } }),
  /** Upgrades that succeed after their time-out, seen late. */
  late: (seed) =>
    plan(seed, {
      limit: 2,
      scenario: {
        upgrade: {
          ...upgrade,
          lockUntil: 'end',
          outcomes: [
            { share: 0.7, end: 'succeed', duration: ['30m5s', '31m'] },
            { share: 0.3, end: 'hang' },
          ],
        },
        list: { lag: '5s' },
      },
    }),
  /** Only the target is offered, so that nobody at it is ever listed. */
  single: (seed) =>
    plan(seed, {
      offer: 'single',
      scenario: { upgrade: { ...upgrade, outcomes: [{ share: 0.3, end: 'succeed', status: 5 }] } },
    }),
  /** Every upgrade has ended before the list shows it. */
  lagging: (seed) =>
    plan(seed, { count: 12, cannotFail: true, scenario: { upgrade: { duration: ['1m', '3m'] }, list: { lag: '5s' } } }),
  /** A service whose answers take so long that a sweep takes longer than the resync. */
  slow: (seed) =>
    plan(seed, {
      count: 60,
      cannotFail: true,
      scenario: { upgrade: { duration: '1m' }, latency: '1s', list: { maxLimit: 50 } },
    }),
  /** Somebody installs another version by hand, long after the rollout. */
  drifting: (seed) =>
    plan(seed, {
      scenario: { upgrade: { duration: '1m' } },
      events: { hand: { at: '60s', collectors: ['app-01'], setVersion: '19.404-12' } },
      touched: ['app-01'],
    }),
  /** Somebody else upgrades some at the same moment, to another version. */
  foreign: (seed, chance) =>
    plan(seed, {
      count: 8,
      limit: 0,
      scenario: { upgrade: { duration: '3m' } },
      events: {
        tool: {
          at: `${chance.whole(0, 1_400)}ms`,
          collectors: ['app-0?'],
          upgrade: { toVersion: '19.404-12', duration: '5m' },
        },
      },
      touched: Array.from({ length: 8 }, (_, index) => `app-0${index + 1}`),
    }),
  /** Some fall silent when it is their turn, and talk again later. */
  silent: (seed, chance) =>
    plan(seed, {
      scenario: { upgrade: { duration: '2m' }, aliveFor: '1s', list: { lag: '5s' } },
      events: {
        falls: { at: `${chance.whole(100, 1_200)}ms`, patch: silence(false) },
        talks: { at: '110s', patch: silence(true) },
      },
    }),
  /** The selector no longer matches whoever was upgraded. */
  selected: (seed) =>
    plan(seed, {
      count: 10,
      cannotFail: true,
      selector: { matchExpressions: [{ key: 'collectorVersion', operator: 'Lt', values: ['19.404-12'] }] },
    }),
  /** Two policies want different versions of the same fleet. */
  overlapping: (seed, chance) =>
    plan(seed, {
      count: 8,
      policies: [
        policy('first', {}, { priority: chance.whole(0, 1) }),
        policy('second', {}, { priority: 2, target: { version: '19.404-12' } }),
      ],
      apiRequestFaults: chance.one([0, 0.1]),
    }),
  /** Three policies want different versions, and their credentials are refused for a while, now and then. */
  refused: (seed, chance) =>
    plan(seed, {
      count: 8,
      policies: [
        policy('first', {}, { target: { version: '19.404-12' } }),
        policy('second', {}, { priority: 1, target: { version: '19.200-5' }, allowDowngrade: true }),
        policy('third', {}, { priority: 2 }),
      ],
      scenario: {
        upgrade: { duration: '3m' },
        faults: { refused: { kind: 'status', status: 401, probability: chance.between(0.5, 0.8), until: '110s' } },
      },
    }),
  /** A policy is deleted and made again while its tasks have only just been accepted. */
  remade: (seed, chance) => {
    const atMs = chance.whole(1_800, 4_000);
    return plan(seed, {
      count: 12,
      cannotFail: true,
      actions: [
        { kind: 'deletePolicy', atMs, name: 'first' },
        { kind: 'createPolicy', atMs: atMs + 20, policy: policy('first', {}) },
      ],
    });
  },
};

export const directionNames = Object.keys(directions);

export function directed(name: string, seed: number): HistoryPlan {
  const direction = directions[name];
  if (!direction) throw new Error(`no direction is called ${name}; there are ${directionNames.join(', ')}`);
  return direction(seed, new Chance(seed));
}

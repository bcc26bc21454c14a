/** Plans for simulated runs. Each plan triggers one special case of a rule. The details depend on the seed. */

import type { Scenario } from '../../simulator/scenario/scenario.ts';
import { annotations } from '../../src/api/annotations.ts';
import { Chance } from './chance.ts';
import { fastSettings, type HistoryPlan, type ProcessAction } from './plan.ts';
import { newestVersion } from './planned-fleet.ts';
import type { PolicySpec } from './planned-policies.ts';
import { epochMs } from './planned-rollouts.ts';

const old = '19.300-2';
const builds = ['19.100-1', '19.200-5', old, '19.404-12', newestVersion];
const calmAtMs = 120_000;

interface RolloutDirection {
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
  readonly spec?: object;
  readonly stages?: readonly object[];
  /** Time zone of all collectors. */
  readonly zone?: string;
  readonly deaths?: HistoryPlan['deaths'];
}

function plan(seed: number, direction: RolloutDirection): HistoryPlan {
  const { count = 6, scenario = {}, events = {}, offer = 'plain', cannotFail = false, touched = [], zone } = direction;
  const policies = direction.policies ?? [policy('first', direction)];
  const whole: Scenario = {
    seed,
    timeScale: 10,
    aliveFor: '60s',
    groups: { app: { ...group(count), version: old, ...(zone === undefined ? {} : { timeZone: zone }) } },
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
      groups: [{ name: 'app', count, osName: 'Linux', ...(zone === undefined ? {} : { timeZone: zone }) }],
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

function policy(name: string, direction: RolloutDirection, spec: object = direction.spec ?? {}): PolicySpec {
  const { selector = {}, limit = 1, width = 1_000, stages } = direction;
  return {
    name,
    spec: {
      target: { version: newestVersion },
      selector,
      resyncInterval: '20s',
      strategy: { maxInProgress: width, order: 'OldestVersionFirst', ...(stages && { stages }) },
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
  /** A user pauses the policy while upgrade requests are waiting for the request budget. */
  paused: (seed, chance) =>
    plan(seed, {
      count: 20,
      actions: [
        { kind: 'patchPolicy', atMs: chance.whole(1_500, 5_500), name: 'first', patch: { spec: { paused: true } } },
      ],
    }),
  /** The leader is frozen for longer than its lease. */
  frozen: (seed, chance) =>
    plan(seed, {
      count: 30,
      replicas: 2,
      actions: [{ kind: 'freeze', atMs: chance.whole(11_000, 18_000), replica: chance.whole(0, 1), forMs: 40_000 }],
    }),
  /** The process is killed at one of its requests, and is immediately replaced by a new one. */
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
  /** The service accepts upgrade requests, but its responses are lost. */
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
  /** Some writes to the API server fail. */
  unwritten: (seed) =>
    plan(seed, {
      count: 20,
      cannotFail: true,
      scenario: { upgrade: { ...upgrade, duration: ['40s', '90s'] }, list: { lag: '50s' } },
      apiRequestFaults: 0.3,
    }),
  /** The service responds to some status requests with the status of another task. */
  mixedUp: (seed) => plan(seed, { count: 12, mixedUpTasks: 0.6, scenario: { upgrade: { duration: ['1m', '20m'] } } }),
  /** Upgrade tasks report an undocumented status code, and never end. */
  endless: (seed) =>
    plan(seed, { count: 4, scenario: { upgrade: { ...upgrade, outcomes: [{ share: 0.5, end: 'fail', status: 4 }] } } }),
  /** Upgrades succeed so late that the operator has already marked them as timed out. */
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
  /** The service offers only one build, so no list shows which collectors run it (U7). */
  single: (seed) =>
    plan(seed, {
      offer: 'single',
      scenario: { upgrade: { ...upgrade, outcomes: [{ share: 0.3, end: 'succeed', status: 5 }] } },
    }),
  /** Every upgrade ends before a collector list shows the new version. */
  lagging: (seed) =>
    plan(seed, { count: 12, cannotFail: true, scenario: { upgrade: { duration: ['1m', '3m'] }, list: { lag: '5s' } } }),
  /** Reading the whole collector list takes longer than the interval between two reads. */
  slow: (seed) =>
    plan(seed, {
      count: 60,
      cannotFail: true,
      scenario: { upgrade: { duration: '1m' }, latency: '2s', list: { maxLimit: 50 } },
    }),
  /** Long after the rollout, a user installs another version on a collector. */
  drifting: (seed) =>
    plan(seed, {
      scenario: { upgrade: { duration: '1m' } },
      events: { hand: { at: '60s', collectors: ['app-01'], setVersion: '19.404-12' } },
      touched: ['app-01'],
    }),
  /** Another tool upgrades some collectors while the operator is upgrading them. */
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
  /** Some collectors go offline just before their upgrade, and return later. */
  silent: (seed, chance) =>
    plan(seed, {
      scenario: { upgrade: { duration: '2m' }, aliveFor: '1s', list: { lag: '5s' } },
      events: {
        falls: { at: `${chance.whole(100, 1_200)}ms`, patch: silence(false) },
        talks: { at: '110s', patch: silence(true) },
      },
    }),
  /** The policy selects collectors by their old version, so an upgraded collector no longer matches. */
  selected: (seed) =>
    plan(seed, {
      count: 10,
      cannotFail: true,
      selector: { matchExpressions: [{ key: 'collectorVersion', operator: 'Lt', values: ['19.404-12'] }] },
    }),
  /**
   * A user deselects collectors after their upgrade, and selects them again before the collector list shows their new
   * version.
   */
  reselected: (seed, chance) => {
    const atMs = chance.whole(16_000, 30_000);
    const select = (when: number, name: string) =>
      ({
        kind: 'patchPolicy',
        atMs: when,
        name: 'first',
        patch: { spec: { selector: { matchNames: [name] } } },
      }) as const;
    return plan(seed, {
      cannotFail: true,
      scenario: { upgrade: { duration: ['1m', '2m'] } },
      spec: { resyncInterval: '90s' },
      actions: [select(atMs, 'none-*'), select(atMs + 2_000, 'app-*')],
    });
  },
  /** Two policies with different targets select the same collectors. */
  overlapping: (seed, chance) =>
    plan(seed, {
      count: 8,
      policies: [
        policy('first', {}, { priority: chance.whole(0, 1) }),
        policy('second', {}, { priority: 2, target: { version: '19.404-12' } }),
      ],
      apiRequestFaults: chance.one([0, 0.1]),
    }),
  /** Three policies with different targets are created, and the service rejects their credentials. */
  refused: (seed, chance) => {
    const later = [
      policy('second', {}, { priority: 1, target: { version: '19.200-5' }, allowDowngrade: true }),
      policy('third', {}, { priority: 2 }),
    ];
    const probability = chance.between(0.5, 0.8);
    return plan(seed, {
      count: 8,
      policies: [policy('first', {}, { target: { version: '19.404-12' } })],
      actions: later.map((one) => ({ kind: 'createPolicy', atMs: chance.whole(1_000, 25_000), policy: one })),
      scenario: {
        upgrade: { duration: '3m' },
        faults: { refused: { kind: 'status', status: 401, probability, until: '110s' } },
      },
    });
  },
  /** The target is set back to the former version while the upgrades of two collectors run, or soon after their end. */
  setBack: (seed, chance) =>
    plan(seed, {
      count: 2,
      cannotFail: true,
      spec: { allowDowngrade: true, resyncInterval: '10m' },
      actions: [
        {
          kind: 'patchPolicy',
          atMs: chance.whole(3_000, 60_000),
          name: 'first',
          patch: { spec: { target: { version: old } } },
        },
      ],
    }),
  /** A policy is deleted and recreated right after the service has accepted its upgrades. */
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

const rolloutDirections: typeof directions = {
  /** A maintenance exclusion begins while upgrade requests are waiting for the request budget. */
  excluded: (seed, chance) => {
    const startMs = epochMs + chance.whole(1_500, 9_000);
    const exclusion = { name: 'frozen', startTime: iso(startMs), endTime: iso(startMs + 90_000) };
    return plan(seed, { count: 40, spec: { maintenance: { exclusions: [exclusion], cutoff: '0s' } } });
  },
  /** The policy has maintenance windows in the time zones of its collectors. */
  windows: (seed, chance) =>
    plan(seed, {
      count: 12,
      width: 2,
      cannotFail: true,
      scenario: { upgrade: { duration: ['4m', '8m'] } },
      zone: chance.one(['Asia/Kathmandu', 'Europe/Berlin']),
      spec: {
        maintenance: {
          windows: [
            { schedule: '1-59/10 * * * *', duration: '150s', timeZoneSource: 'Collector' },
            { schedule: '*/6 * * * *', duration: '75s' },
          ],
          cutoff: chance.one(['0s', '30s']),
        },
      },
    }),
  /** A user sets the kill switch while upgrade requests are waiting for the request budget. */
  killSwitch: (seed, chance) =>
    plan(seed, {
      count: 40,
      actions: [
        { kind: 'settings', atMs: chance.whole(1_500, 7_000), paused: true },
        { kind: 'settings', atMs: 60_000, paused: false },
      ],
    }),
  /**
   * The rollout has three stages. The first is defined by size, the second by a selector, and the third requires
   * approval.
   */
  staged: (seed, chance) =>
    plan(seed, {
      count: 14,
      cannotFail: true,
      scenario: { upgrade: { duration: '1m' } },
      stages: [
        { name: 'canary', size: 2, soakDuration: '20s' },
        { name: 'second', selector: { matchNames: ['app-0*'] }, soakDuration: '0s' },
        { name: 'rest', approval: 'Required', soakDuration: '0s' },
      ],
      actions: [
        { kind: 'approver', atMs: 0, name: 'first', everyMs: 20_000 },
        { kind: 'kill', atMs: chance.whole(2_000, 60_000), replica: 0, againAfterMs: 50 },
      ],
    }),
  /** Collectors in the first stage go offline during the soak, and never return. */
  dying: (seed, chance) =>
    plan(seed, {
      count: 8,
      scenario: { upgrade: { duration: '1m' }, aliveFor: '5s' },
      stages: [
        { name: 'canary', size: 4, soakDuration: '60s', ...(chance.happens(0.5) ? { maxFailures: 0 } : {}) },
        { name: 'rest', soakDuration: '0s' },
      ],
      deaths: ['app-01', 'app-02', 'app-03', 'app-04', 'app-05', 'app-06'].map((name) => ({
        name,
        afterMs: 2_000,
        againAfterMs: chance.happens(0.5) ? 200_000 : undefined,
      })),
    }),
  /** New collectors are installed during the first stage, during its soak, and after the rollout. */
  growing: (seed, chance) =>
    plan(seed, {
      cannotFail: true,
      width: chance.one([3, 1_000]),
      scenario: { upgrade: { duration: ['30s', '2m'] } },
      events: {
        early: { at: `${chance.whole(2, 20)}s`, patch: { groups: { app: { count: 12 } } } },
        late: { at: `${chance.whole(30, 110)}s`, patch: { groups: { app: { count: 20 } } } },
      },
      stages: [
        { name: 'canary', size: chance.one([3, '40%']), soakDuration: '30s' },
        { name: 'second', selector: { matchNames: ['app-0*'] }, soakDuration: '10s' },
        { name: 'rest', soakDuration: '20s' },
      ],
    }),
  /**
   * Collectors leave the first stage because they are removed from the service, or because the policy no longer selects
   * them.
   */
  leaving: (seed, chance) => {
    const exclude = (atMs: number, matchNames: readonly string[]) =>
      ({ kind: 'patchPolicy', atMs, name: 'first', patch: { spec: { exclude: [{ matchNames }] } } }) as const;
    const atMs = chance.whole(2_000, 40_000);
    const away = chance.happens(0.5)
      ? [exclude(atMs, ['*-01', '*-02', '*-03']), exclude(atMs + chance.one([3_000, 30_000]), ['*-none'])]
      : [];
    const count = chance.whole(2, 5);
    return plan(seed, {
      cannotFail: true,
      scenario: { upgrade: { duration: ['30s', '2m'] } },
      events: { shrinks: { at: `${chance.whole(2, 60)}s`, patch: { groups: { app: { count } } } } },
      touched: ['app-01', 'app-02', 'app-03', 'app-04', 'app-05', 'app-06'],
      stages: [
        { name: 'canary', size: 3, soakDuration: '30s' },
        { name: 'rest', soakDuration: '0s' },
      ],
      actions: [...away, { kind: 'approver', atMs: 60_000, name: 'first', everyMs: 20_000 }],
    });
  },
  /** No collector in the first stage reaches the target, so the stage is inconclusive until a user acts. */
  inconclusive: (seed, chance) => {
    const outcome = { end: 'fail' as const, ...(chance.happens(0.5) ? { attempts: 1 } : {}) };
    const person = chance.one([
      { kind: 'retry', atMs: 60_000, name: 'first', mark: 'again' } as const,
      { kind: 'approver', atMs: 60_000, name: 'first', everyMs: 20_000 } as const,
      undefined,
    ]);
    const stages = [
      { name: 'canary', size: 2, soakDuration: '20s' },
      { name: 'rest', soakDuration: '0s' },
    ];
    return plan(seed, {
      limit: 0,
      scenario: { upgrade: { duration: '1m', outcomes: [outcome] } },
      spec: {
        failurePolicy: chance.one([{ maxFailures: 50 }, { action: 'Continue' }]),
        strategy: { maxInProgress: 10, stages },
      },
      actions: person ? [person] : [],
    });
  },
  /** One stage has a selector that matches no collector. */
  empty: (seed, chance) => {
    const stages = [
      { name: 'canary', size: 2, soakDuration: '0s' },
      { name: 'second', selector: { matchNames: ['none-*'] }, soakDuration: '0s' },
      { name: 'rest', soakDuration: '0s' },
    ];
    const strategy = { maxInProgress: 10, stages: stages.filter(({ name }) => name !== 'second') };
    const person = chance.one([
      { kind: 'approver', atMs: 60_000, name: 'first', everyMs: 20_000 } as const,
      { kind: 'patchPolicy', atMs: 60_000, name: 'first', patch: { spec: { strategy } } } as const,
    ]);
    return plan(seed, { cannotFail: true, scenario: { upgrade: { duration: '1m' } }, stages, actions: [person] });
  },
  /** During the rollout, a user edits the stages in the spec. Stages that have already started must not change. */
  edited: (seed, chance) => {
    const stage = (name: string) => ({
      name,
      size: chance.one([1, 3, 5, '50%']),
      soakDuration: chance.one(['0s', '10s', '40s']),
      ...(chance.happens(0.5) ? { maxFailures: chance.one([0, 2]) } : {}),
    });
    const rest = { name: 'rest', soakDuration: '0s' };
    const texts = [
      [stage('canary'), stage('second'), rest],
      [stage('canary'), rest],
      [stage('second'), stage('canary'), rest],
      [stage('third'), stage('canary'), rest],
    ];
    const edit = (atMs: number) => {
      const strategy = { maxInProgress: 10, stages: chance.one(texts) };
      return { kind: 'patchPolicy', atMs, name: 'first', patch: { spec: { strategy } } } as const;
    };
    const kill = { kind: 'kill', atMs: chance.whole(2_000, 60_000), replica: 0, againAfterMs: 50 } as const;
    return plan(seed, {
      count: 14,
      cannotFail: true,
      scenario: { upgrade: { duration: ['30s', '90s'] } },
      stages: texts[0] ?? [],
      actions: [edit(chance.whole(2_000, 20_000)), edit(chance.whole(20_000, 60_000)), kill],
    });
  },
  /** The rollout stops in its last stage. A user then sets another target, and later the first target again. */
  stoppedAndReturned: (seed, chance) => {
    const patch = (atMs: number, version: string) =>
      ({ kind: 'patchPolicy', atMs, name: 'first', patch: { spec: { target: { version } } } }) as const;
    const fails = { upgrade: { duration: '1m', outcomes: [{ end: 'fail' as const }] } };
    return plan(seed, {
      count: 14,
      limit: 0,
      scenario: {
        upgrade: { duration: '1m' },
        aliveFor: '5s',
        collectors: { 'app-10': fails, 'app-11': fails, 'app-12': fails },
      },
      stages: [
        { name: 'canary', selector: { matchNames: ['app-0*'] }, soakDuration: '60s' },
        { name: 'rest', soakDuration: '0s' },
      ],
      spec: { failurePolicy: { maxFailures: 0 } },
      deaths: chance.happens(0.5)
        ? [{ name: 'app-03', afterMs: chance.whole(125_000, 132_000), againAfterMs: undefined }]
        : [],
      actions: [
        patch(95_000, '19.300-2'),
        patch(95_000 + chance.one([1_000, 8_000]), newestVersion),
        ...(chance.happens(0.7) ? [{ kind: 'retry', atMs: 105_000, name: 'first', mark: 'again' } as const] : []),
      ],
    });
  },
  /** Some collectors are offline when their stage starts, and return later. */
  returned: (seed, chance) =>
    plan(seed, {
      cannotFail: true,
      scenario: { upgrade: { duration: '1m' }, aliveFor: '1s', ...silence(false) },
      events: { talks: { at: `${chance.whole(5, 110)}s`, patch: silence(true) } },
      touched: ['app-04', 'app-05', 'app-06'],
      stages: [
        { name: 'canary', size: chance.one([3, 5]), soakDuration: '20s' },
        { name: 'rest', soakDuration: '20s' },
      ],
    }),
  /** More collectors fail than `maxFailures` allows. */
  failing: (seed, chance) => failing(seed, chance, { maxFailures: chance.whole(0, 2) }),
  /** More collectors fail than `maxFailures` allows, and some writes to the ledger fail. */
  failingUnwritten: (seed, chance) =>
    plan(seed, {
      ...fails(chance, { limit: 0, width: 20, spec: { failurePolicy: { maxFailures: chance.whole(0, 1) } } }),
      scenario: { upgrade: { duration: ['10s', '1m'], outcomes: [{ share: 0.5, end: 'fail' }] } },
      apiRequestFaults: 0.5,
    }),
  failingStage: (seed, chance) =>
    plan(seed, {
      ...fails(chance, { limit: 0 }),
      stages: [
        { name: 'canary', size: 10, soakDuration: '0s', maxFailures: chance.one([0, '10%']) },
        { name: 'rest', soakDuration: '0s' },
      ],
    }),
  /** The number of upgrades that never end exceeds `maxFailures`. */
  failingEndless: (seed, chance) =>
    plan(seed, {
      ...fails(chance, { limit: 0, width: 6, spec: { failurePolicy: { maxFailures: chance.whole(0, 2) } } }),
      count: 30,
      scenario: { upgrade: { ...upgrade, outcomes: [{ share: 0.7, end: 'fail', status: 4 }] } },
    }),
  /** The target changes during the rollout, and changes back while the policy is paused. */
  returning: (seed, chance) => {
    const awayMs = chance.one([500, 5_000, 40_000]);
    const atMs = chance.whole(5_000, 40_000);
    const patch = (when: number, paused: boolean, version: string) =>
      ({ kind: 'patchPolicy', atMs: when, name: 'first', patch: { spec: { paused, target: { version } } } }) as const;
    const canary = chance.happens(0.5) ? { maxFailures: 0 } : {};
    const broken = { outcomes: [{ share: chance.one([0, 0.5]), end: 'fail' as const }] };
    return plan(seed, {
      ...fails(chance, { limit: 0 }),
      scenario: { upgrade: { duration: ['30s', '2m'], ...broken }, aliveFor: '5s' },
      stages: [
        { name: 'canary', size: 3, soakDuration: '60s', ...canary },
        { name: 'rest', soakDuration: '0s' },
      ],
      deaths: chance.happens(0.5) ? dyingOf(40, 30_000) : [],
      actions: [patch(atMs, true, '19.404-12'), patch(atMs + awayMs, false, newestVersion)],
    });
  },
  /** Many new collectors appear after the rollout, and more of them fail than `maxFailures` allows. */
  failingLate: (seed, chance) => {
    const count = chance.one([4, 12]);
    const broken = { duration: '1m', outcomes: [{ share: chance.between(0.3, 0.8), end: 'fail' as const }] };
    return plan(seed, {
      ...fails(chance, { limit: 0, width: 4, spec: { failurePolicy: { maxFailures: chance.one([1, '20%']) } } }),
      count,
      scenario: { upgrade: { duration: '1m' }, groups: { app: { ...group(count), version: old } } },
      events: { grows: { at: '50s', patch: { groups: { app: { count: count + 36 } }, upgrade: broken } } },
    });
  },
  /** Many new collectors appear after a staged rollout, and more of them fail than `maxFailures` allows. */
  failingLateStage: (seed, chance) =>
    plan(seed, {
      ...fails(chance, { limit: 0 }),
      count: 4,
      scenario: { upgrade: { duration: '1m' }, groups: { app: { ...group(4), version: old } } },
      events: {
        grows: {
          at: '50s',
          patch: { groups: { app: { count: 40 } }, upgrade: { outcomes: [{ share: 0.6, end: 'fail' }] } },
        },
      },
      spec: {
        strategy: {
          maxInProgress: 4,
          stages: [
            { name: 'canary', selector: { matchNames: ['app-*'] }, soakDuration: '0s', maxFailures: 1 },
            { name: 'rest', soakDuration: '0s' },
          ],
        },
      },
    }),
  failingShare: (seed, chance) => failing(seed, chance, { maxFailures: '10%', minSamples: 4 }),
  /** The process restarts during a rollback. In some runs, a user then retries the rollout. */
  rolledBack: (seed, chance) => {
    const again = chance.happens(0.5) ? [{ kind: 'retry', atMs: 110_000, name: 'first', mark: 'again' } as const] : [];
    const kill = { kind: 'kill', atMs: chance.whole(8_000, 60_000), replica: 0, againAfterMs: 50 } as const;
    return failing(seed, chance, { maxFailures: 1, action: 'Rollback' }, [kill, ...again]);
  },
  /** Responses to the rollback's requests are lost. */
  rolledBackLost: (seed, chance) => {
    const direction = fails(chance, { limit: 0, spec: { failurePolicy: { maxFailures: 1, action: 'Rollback' } } });
    const faults = {
      lost: { kind: 'reset', effect: false, operations: ['createTask'], probability: 0.3, until: '60s' },
    } as const;
    return plan(seed, { ...direction, scenario: { ...direction.scenario, faults } });
  },
  /** A user aborts the rollout while upgrade requests are waiting for the request budget. */
  aborted: (seed, chance) =>
    plan(seed, {
      count: 40,
      cannotFail: true,
      scenario: { upgrade: { duration: '1m' } },
      spec: { allowDowngrade: true },
      apiRequestFaults: chance.one([0, 0.3]),
      actions: [
        { kind: 'abort', atMs: chance.whole(1_500, 9_000), name: 'first', mark: 'now' },
        {
          kind: 'patchPolicy',
          atMs: chance.whole(40_000, 90_000),
          name: 'first',
          patch: { spec: { target: { version: '19.404-12' } } },
        },
      ],
    }),
  /** A user retries a stopped rollout, and some collectors fail again. */
  retried: (seed, chance) =>
    plan(seed, {
      ...fails(chance, { limit: 0, width: 20, spec: { failurePolicy: { maxFailures: chance.whole(0, 2) } } }),
      scenario: { upgrade: { duration: '1m', outcomes: [{ share: 0.5, end: 'fail' }] } },
      actions: [{ kind: 'retry', atMs: 30_000, name: 'first', mark: 'first' }],
    }),
  /** The ledger of a stopped or aborted rollout is restored from an older backup. */
  restored: (seed, chance) => {
    const pause = (paused: boolean, atMs: number) => ({ kind: 'settings', atMs, paused }) as const;
    const forgotten = { metadata: { annotations: { [annotations.abort]: null } } };
    return plan(seed, {
      ...fails(chance, { limit: 0, width: 4 }),
      scenario: { upgrade: { duration: '1m', outcomes: [{ share: 0.2, end: 'fail', attempts: 1 }] } },
      spec: { failurePolicy: { maxFailures: chance.one([0, 100]), action: chance.one(['Pause', 'Rollback']) } },
      actions: [
        { kind: 'backup', atMs: chance.whole(2_000, 8_000) },
        { kind: 'abort', atMs: 40_000, name: 'first', mark: 'now' },
        { kind: 'patchPolicy', atMs: 45_000, name: 'first', patch: forgotten },
        ...(chance.happens(0.5) ? [pause(true, 60_000), pause(false, 110_000)] : []),
        { kind: 'restore', atMs: 80_000 },
      ],
    });
  },
};

function fails(chance: Chance, direction: RolloutDirection): RolloutDirection {
  return {
    count: 40,
    width: 8,
    scenario: {
      groups: { app: { ...group(40), versions: ['19.200-5', old] } },
      upgrade: { duration: '1m', outcomes: [{ share: chance.between(0.2, 0.6), end: 'fail' }] },
    },
    ...direction,
  };
}

function failing(
  seed: number,
  chance: Chance,
  failurePolicy: object,
  actions: HistoryPlan['actions'] = [],
): HistoryPlan {
  return plan(seed, fails(chance, { limit: 0, spec: { failurePolicy }, actions }));
}

/** Makes each of the first `count` collectors go offline `afterMs` after its upgrade. */
function dyingOf(count: number, afterMs: number): HistoryPlan['deaths'] {
  const names = Array.from({ length: count }, (_, index) => `app-${String(index + 1).padStart(2, '0')}`);
  return names.map((name) => ({ name, afterMs, againAfterMs: undefined }));
}

function group(count: number) {
  return { count, name: 'app-##', osName: 'Linux' } as const;
}

function iso(wallMs: number): string {
  return new Date(wallMs).toISOString();
}

const all = { ...directions, ...rolloutDirections };

export const directionNames = Object.keys(all);

export function directed(name: string, seed: number): HistoryPlan {
  const direction = all[name];
  if (!direction) throw new Error(`there is no plan ${name}; use one of ${directionNames.join(', ')}`);
  return direction(seed, new Chance(seed));
}
